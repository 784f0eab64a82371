"""The switches of adjit in the environment: `ADJIT_VERIFY=1` turns one on, `ADJIT_CACHE=0` turns one off.

In: a variable's name. Out: whether the switch is on. Where the variable is not set or is empty: as it usually is.
"""

from __future__ import annotations

import os

_OFF = ("0", "off", "false", "no")


def is_on(name: str, usually: bool = False) -> bool:
    """Whether the switch `name` is on; `usually`: whether it is if the environment does not say."""
    given = os.environ.get(name, "").strip().lower()
    return given not in _OFF if given else usually
