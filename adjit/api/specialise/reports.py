"""Pages about derivatives, from what is known of them.

In: a derived function, and the arguments of a call. Out: a page of HTML, as `adjit/report` makes it.

    report(grad(diffuse, wrt="alpha"), (u, 0.1, 50))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjit.api.specialise.explain import Explanation
from adjit.report.page import Text, page
from adjit.runtime.backend.dispatcher import compiler_lock
from adjit.transform.source.derivative import root
from adjit.transform.source.parsing import read_source


def report(derived: Any, arguments: Sequence[Any]) -> str:
    """The page for arguments given as to `source`."""
    explained: Explanation = derived.explain(*arguments)
    texts = derived._asked(arguments, _texts)
    first = read_source(root(derived.derivative)).first_line
    given = ", ".join(f"{name}: {type_}" for name, type_ in explained.arguments)
    return page(explained.title, given, (first.filename, first.function), texts, explained, explained.launches)


def _texts(asked: Any, taken: Sequence[Any]) -> list[Text]:
    given = asked._types_of(taken)
    with compiler_lock:
        found = [
            (label, asked._shown(given, tuned).whole) for label, tuned in (("Derivative", False), ("As compiled", True))
        ]
    return [Text(label, emitted.text, emitted.places) for label, emitted in found]
