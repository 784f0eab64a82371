"""Names around a function that numba has compiled already, which have other values there than they have now.

In: what numba compiles a function by. Out: the names, with the values that compiled code has for them.

    G = 2.0; f(3.0); G = 5.0      kept_by(f, (float64,)) == {"G": 2.0}, until f.recompile()
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from numba import types

from adjit.runtime.backend.objects import Compiled, is_as, kept_names
from adjit.transform.source.code_names import values_of_names
from adjit.transform.source.external_reads import MISSING, is_same, read_by


class Kept(NamedTuple):
    """What numba keeps for arguments of some types."""

    kinds: tuple[types.Type, ...]
    name: str
    value: Any


_CODE = "__code__"


class OtherCode(Exception):
    """numba runs other code than the function has now."""


def all_kept(dispatcher: Any) -> Sequence[Kept]:
    """All names that have other values in compiled code than they have now."""
    return read_by(dispatcher, _all_kept)


def _all_kept(dispatcher: Any, default: Any = MISSING) -> tuple[Kept, ...]:
    function = dispatcher.py_func
    found: list[Kept] = []
    now: dict[str, Any] = {}
    for kinds, code, names in kept_names(dispatcher):
        if code is not function.__code__:
            found.append(Kept(kinds, _CODE, code))
            continue
        now = now or {name: value for _, name, value in values_of_names(function)}
        found += (Kept(kinds, n, v) for n, v in names.items() if n in now and not is_same(v, now[n]))
    return tuple(found)


def kept_by(dispatcher: Any, kinds: Collection[types.Type | None]) -> Mapping[str, Any]:
    """The names that have other values where it is called with arguments of these types; None: of one not known.
    Raises OtherCode, and LookupError for a name that has several."""
    has_order = not isinstance(dispatcher, Compiled)
    found: dict[str, Any] = {}
    for own, name, value in all_kept(dispatcher):
        is_for_these = len(own) == len(kinds) and all(
            kind is None or is_as(a, kind, has_order) for a, kind in zip(own, kinds, strict=True)
        )
        if not is_for_these:
            continue
        if name == _CODE:
            raise OtherCode
        if not is_same(found.setdefault(name, value), value):
            raise LookupError(name)
    return found
