"""What is a function's own, where decorators copy what another one has onto it.

In: a function, or an object that is called. Out: what it is, whatever `functools.wraps` says.

    @functools.wraps(np.mean)
    def doubled(x): ...                   home_of(doubled) is the user's module, though its `__module__` is NumPy's
"""

from __future__ import annotations

import gc
from types import FunctionType
from typing import Any


def own_attribute(thing: Any, name: str) -> Any:
    """`thing.name`; None where there is none, or where it is that of what it wraps."""
    found = getattr(thing, name, None)
    if found is None:
        return None
    return None if getattr(getattr(thing, "__wrapped__", None), name, None) is found else found


def home_of(callee: Any) -> str:
    """The module that a function says it is from, if it is from that package; the one that anything else gives."""
    callee = getattr(callee, "__func__", callee)
    said = str(getattr(callee, "__module__", None) or "")
    real = str(callee.__globals__.get("__name__") or "") if isinstance(callee, FunctionType) else said
    return said if said.partition(".")[0] == real.partition(".")[0] else real


def under_cache(cached: Any) -> Any:
    """The function under `functools.cache` or `lru_cache`."""
    held = [each for each in gc.get_referents(cached) if callable(each) and not isinstance(each, type)]
    return held[0] if len(held) == 1 else cached.__wrapped__
