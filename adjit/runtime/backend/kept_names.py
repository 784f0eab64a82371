"""The names around a function whose values numba has compiled into it.

In: a dispatcher. Out: for each way that it is compiled, the types of its arguments, and what the names had then.

    G = 2.0; f(3.0); G = 5.0      kept_names(f)      [((float64,), code of f, {"G": 2.0})]
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from numba import typeof
from numba.core import ir, types

Kept = tuple[tuple[types.Type, ...], CodeType, Mapping[str, Any]]


def kept_names(dispatcher: Any) -> Iterator[Kept]:
    """What is known of that: nothing of what numba has loaded from its cache on disk."""
    for kinds, made in tuple(getattr(dispatcher, "overloads", {}).items()):
        annotation: Any = getattr(made, "type_annotation", None)
        if hasattr(annotation, "blocks"):
            if annotation not in _known:
                _known[annotation] = _names_in(annotation, made.metadata.get("parfor_diagnostics"))
            yield tuple(getattr(kinds, "args", kinds)), annotation.func_id.code, _known[annotation]


_known: weakref.WeakKeyDictionary[Any, Mapping[str, Any]] = weakref.WeakKeyDictionary()


def _names_in(annotation: Any, diagnostics: Any) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    hoists = getattr(diagnostics, "hoist_info", {}).values()
    before_loops = (statement for hoist in hoists for statement in hoist["hoisted"])
    for statement in itertools.chain(_statements(annotation.blocks.values()), before_loops):
        value = statement.value if isinstance(statement, ir.Assign) else None
        if not isinstance(value, ir.Global | ir.FreeVar):
            continue
        # what numba has inlined has names of its own; a function that calls itself was not there yet
        if statement.loc.filename == annotation.func_id.filename and value.value is not ir.UNDEFINED:
            found.setdefault(value.name, value.value)
    return found


def _statements(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        for statement in block.body:
            yield statement
            # of loops in threads
            yield from _statements(getattr(statement, "loop_body", {}).values())
            start = getattr(statement, "init_block", None)
            yield from _statements(() if start is None else (start,))


def is_as(given: types.Type, kind: types.Type, has_order: bool) -> bool:
    """Whether numba calls what it has compiled for one type with the other, whatever may be written to aside.
    has_order: whether it compiles anew for arrays in another order, as it does not for ufuncs."""
    return bool(_plain(given, has_order) == _plain(kind, has_order))


def _plain(kind: types.Type, has_order: bool) -> Any:
    if isinstance(kind, types.Omitted):
        return _plain(typeof(kind.value), has_order)
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False) if has_order else kind.copy(readonly=False, layout="A")
    if isinstance(kind, types.BaseTuple):
        return tuple(_plain(part, has_order) for part in kind)  # type: ignore[attr-defined]
    return types.unliteral(kind)
