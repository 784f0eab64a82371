"""Calls with lists, dictionaries and objects: taken apart at the boundary, and gradients put together like them.

In: the arguments of a call. Out: the same with tuples of leaves in their place, and what puts a gradient together.

    grad(loss)({"w": W, "b": 0.5})      the gradient {"w": W_bar, "b": b_bar}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjit.api.arguments.types import as_given, told_of, unread
from adjit.errors import TypeMismatch
from adjit.runtime.library.gpus import is_on_device
from adjit.transform.source.derivative import Derivative, shown
from adjit.transform.source.structures import (
    ARRAY,
    HELD,
    Layout,
    NotTaken,
    held,
    in_several_places,
    is_structure,
    put_together,
    sized,
    static,
    taken_apart,
)

Layouts = tuple[Layout | None, ...]


def laid_out(
    spec: Any, names: Sequence[str], arguments: Sequence[Any], constants: bool = False, extents: bool = False
) -> tuple[Layouts, tuple[Any, ...]] | None:
    """The layouts of arguments, and what stands for these; None if they are all plain. `constants`: integers are part
    of what is compiled; `extents`: and so are those of arrays. TypeMismatch where one is made of something that has no
    layout."""
    if not any(is_laid_out(argument, constants, extents) for argument in arguments):
        return None
    layouts: list[Layout | None] = []
    given: list[Any] = []
    same = in_several_places(arguments)
    for k, argument in enumerate(arguments):
        if constants and is_integer(argument):
            layouts.append(static(argument))
            given.append(())
            continue
        if extents and is_on_device(argument) and is_of_extents(argument):
            layouts.append(Layout("array", keys=tuple(argument.shape)))
            given.append(argument)
            continue
        if not is_laid_out(argument, constants, extents):
            layouts.append(None)
            given.append(argument)
            continue
        leaves: list[Any] = []
        try:
            layouts.append(taken_apart(argument, leaves, same, unread))
        except NotTaken as fault:
            what, instead = told_of(fault)
            raise TypeMismatch(
                f"argument `{names[k]}` of {shown(spec)} contains a value that is not a number, an array or a constant",
                why=f"That value is {what}.",
                instead=instead,
            ) from None
        found = layouts[k] or ARRAY
        if extents:
            layouts[k] = sized(found, iter(leaves))
        given.append(argument if found.kind == "array" else tuple(leaves))
    return tuple(layouts), tuple(given)


def is_laid_out(value: Any, constants: bool, extents: bool) -> bool:
    """Whether an argument is a structure or, as `constants` and `extents` say, something that is part of what is
    compiled, or has parts that are."""
    return is_structure(value) or (constants and is_integer(value)) or (extents and is_of_extents(value))


def is_of_extents(value: Any) -> bool:
    """Whether it is an array with extents, NumPy's or one on a device."""
    return (type(value) is np.ndarray or is_on_device(value)) and len(value.shape) > 0


def has_extents(value: Any) -> bool:
    """Whether it is an array with extents, or a structure, which may have some in it."""
    return is_of_extents(value) or is_structure(value)


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


Patterns = Mapping[int, Mapping[int, Any]]  # by argument and place, the indices of sparse matrices


def patterns_in(layouts: Layouts, given: Sequence[Any]) -> Patterns:
    """Copies of the indices of sparse matrices among the arguments, which their gradients have, too."""
    built = {k: layout for k, layout in enumerate(layouts) if layout is not None and layout.kind != "array"}
    found = {k: held(layout, given[k]) for k, layout in built.items()}
    return {k: {place: leaf.copy() for place, leaf in own.items()} for k, own in found.items() if own}


def like(layout: Layout | None, leaves: Any, own: Mapping[int, Any]) -> Any:
    """The gradient with respect to an argument, put together as that is, of which it has `own`; 0 where none flows."""
    if layout is None or leaves is None or layout.kind == "array":
        return leaves
    return put_together(layout, iter([own.get(k, 0 if leaf is None else leaf) for k, leaf in enumerate(leaves)]))


def result_of(derivative: Derivative, layouts: Layouts, given: Sequence[Any], found: Any) -> Any:
    """What a call of `grad` or `value_and_grad` returns, whose arguments are taken apart to these."""
    assert derivative.wrt is not None
    found = typed(derivative, given, found)
    of, own = derivative.wrt, patterns_in(layouts, given)

    def together(bars: Any) -> Any:
        if derivative.single:
            return like(layouts[of[0]], bars, own.get(of[0], {}))
        return tuple(like(layouts[p], bar, own.get(p, {})) for p, bar in zip(of, bars, strict=True))

    if derivative.kind == "value_and_grad":
        return found[0], together(found[1])
    return (together(found[0]), found[1]) if derivative.has_aux else together(found)


def typed(derivative: Derivative, arguments: Sequence[Any], found: Any) -> Any:
    """What a call returns, with gradients that have the types of their arguments: NumPy's numbers, or Python's."""
    if derivative.kind not in ("grad", "value_and_grad", "hvp") or derivative.wrt is None:
        return found
    own = [arguments[p] for p in derivative.wrt]
    like_own = own[0] if derivative.single else tuple(own)
    if derivative.kind == "value_and_grad":
        return found[0], as_given(found[1], like_own)
    return (as_given(found[0], like_own), found[1]) if derivative.has_aux else as_given(found, like_own)


def taken(layout: Layout | None, given: Any, what: str, argument: Sequence[Any]) -> Any:
    """A tangent of an argument, which is put together like that, as the tuple of its leaves."""
    if layout is not None and layout.kind == "static":
        return ()
    if layout is None or given is None or layout.kind == "array":
        return given
    leaves: list[Any] = []
    try:
        found = taken_apart(given, leaves, unread=unread)
    except NotTaken:
        found = None
    if found is None or _skeleton(found) != _skeleton(layout):
        raise TypeMismatch(f"{what} is not structured like the argument", instead="Build it like the argument.")
    if not all(np.array_equal(leaves[place], index) for place, index in held(layout, argument).items()):
        raise TypeMismatch(
            f"{what} is a sparse matrix whose pattern differs from the argument's",
            instead="Build it from the argument's indices, with zeros in its data where needed.",
        )
    return tuple(leaves)


def has_tables(layout: Layout | None) -> bool:
    """Whether there are lists in it that stand for one array, or for several."""
    return layout is not None and (layout.kind in ("table", "records") or any(map(has_tables, layout.parts)))


def _skeleton(layout: Layout) -> Any:
    if layout.kind in ("number", "array", "static", "unread"):
        return None
    is_sparse = HELD in layout.parts
    return layout.kind, layout.keys, tuple(map(_skeleton, layout.parts)), layout if is_sparse else None
