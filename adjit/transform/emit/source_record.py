"""A record of all sources that are emitted, by which a change of the compiler shows what it changes in them.

In: an emitted source. Out: the same. With ADJIT_RECORD=FILE it adds a line to the file: a digest, the number of lines,
and the name. Two records of the same programs, sorted, differ where sources do:

    ADJIT_RECORD=before make test;  ...;  ADJIT_RECORD=after make test;  diff <(sort before) <(sort after)
"""

from __future__ import annotations

import hashlib
import os

from adjit.transform.emit.emit import Emitted


def recorded(emitted: Emitted) -> Emitted:
    """Appends a line for the source to the file that ADJIT_RECORD names; nothing if it names none."""
    path = os.environ.get("ADJIT_RECORD")
    if path:
        digest = hashlib.blake2b(emitted.text.encode(), digest_size=12).hexdigest()
        line = f"{digest} {emitted.text.count(chr(10))} {emitted.name}\n"
        # one write, so that lines of processes that run at once stay whole
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)
    return emitted
