"""Values as the interface takes them: numbers, arrays, and nested tuples of those.

In: an argument or a result. Out: its `Template` (what a tangent or a seed of it looks like), and values made after it.

    template((2, np.ones(3)))      (Leaf(int), Leaf(float64, shape (3,)))
    conform((0, [..]), template, "the seed")      the seed with the right types, or TypeMismatch
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from adjit.errors import TypeMismatch
from adjit.runtime.library.gpus import dtype_of, is_on_device
from adjit.transform.source.structures import ARRAYS


@dataclass(frozen=True)
class Leaf:
    """A number or an array. `zero` is the tangent of one that carries no derivative, of the value's own type.

    on_device: an array on a GPU, whose tangents are there, too.
    """

    is_active: bool
    is_array: bool
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    order: str
    zero: Any
    on_device: bool = False

    @property
    def is_real(self) -> bool:
        return self.dtype is None or self.dtype.kind != "c"


# a leaf, or nested tuples of leaves, of the classes that the value's have
Template = Any


def template(value: Any) -> Template:
    """What a tangent or a seed of this value looks like."""
    return map_leaves(_leaf, value)


def _leaf(value: Any) -> Leaf:
    if isinstance(value, np.ndarray):
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        active = value.dtype.kind in "fc"
        return Leaf(active, True, value.dtype, value.shape, order, None if active else np.zeros_like(value))
    if is_on_device(value):
        dtype = dtype_of(value)
        active = dtype.kind in "fc"
        return Leaf(active, True, dtype, tuple(value.shape), "C", None if active else value, True)
    if isinstance(value, np.inexact | float | complex):
        return Leaf(True, False, np.dtype(type(value)), (), "C", None)
    if isinstance(value, np.generic | int):
        return Leaf(False, False, None, (), "C", type(value)(0))
    return Leaf(False, False, None, (), "C", value)


def conform(given: Any, wanted: Template, what: str) -> Any:
    """A fresh copy of a seed or tangent with the types of `wanted`; raises TypeMismatch, in which `what` names it."""
    if isinstance(wanted, tuple):
        given = parts_of(given, len(wanted), f"{what} is", "Build it like the argument or result that it belongs to.")
        parts = zip(given, wanted, strict=True)
        return _tuple_like(wanted, [conform(g, w, f"{what}[{k}]") for k, (g, w) in enumerate(parts)])
    if not wanted.is_active:
        _check_still(given, wanted, what)
        return wanted.zero
    return _array(given, wanted, what) if wanted.is_array else _number(given, wanted, what)


def _check_still(given: Any, wanted: Leaf, what: str) -> None:
    """TypeMismatch for floats, not all zero, as a tangent of integers: nothing would come of it."""
    is_whole = isinstance(wanted.zero, int | np.integer | np.ndarray) and not isinstance(wanted.zero, bool)
    is_moving = isinstance(given, float | complex | np.inexact) or getattr(given, "dtype", np.dtype(int)).kind in "fc"
    if is_whole and is_moving and np.any(given):
        of = "an array of integers" if wanted.is_array else "an integer"
        raise TypeMismatch(
            f"{what} is not zero, but it belongs to {of}",
            why="Integers have no derivative.",
            instead="Give 0, or pass floats: 3.0 for 3, x.astype(np.float64).",
        )


def _number(given: Any, wanted: Leaf, what: str) -> Any:
    assert wanted.dtype is not None
    if is_on_device(given) and not given.shape:
        # a number that a kernel made stays where it is
        return _array(given, replace(wanted, on_device=True), what)
    is_number = isinstance(given, int | float | complex | np.integer | np.inexact) and not isinstance(given, bool)
    if not is_number and not (type(given) in ARRAYS and given.ndim == 0 and given.dtype.kind in "fiuc"):
        raise TypeMismatch(f"{what} is {described(given)}, not a number", instead="Give a float.")
    if np.iscomplexobj(given) and wanted.dtype.kind == "f":
        raise TypeMismatch(f"{what} is complex, but it belongs to a real number", instead="Give its real part.")
    own = {np.dtype(np.float64): float, np.dtype(np.complex128): complex}.get(wanted.dtype, wanted.dtype.type)
    return own(given)


def _array(given: Any, wanted: Leaf, what: str) -> Any:
    if wanted.on_device:
        return _array_on_device(given, wanted, what)
    if not isinstance(given, np.ndarray) or given.shape != wanted.shape:
        raise TypeMismatch(
            f"{what} is {described(given)}, not an array of shape {wanted.shape}",
            instead="Give a NumPy array of that shape.",
        )
    if type(given) not in ARRAYS:
        raise TypeMismatch(
            f"{what} is an array of type {type(given).__name__}; a plain NumPy array is needed",
            instead="Give x.filled(0.0) of a masked array, np.asarray(x) of another.",
        )
    if given.dtype.kind not in ("fiuc" if wanted.dtype is not None and wanted.dtype.kind == "c" else "fiu"):
        raise TypeMismatch(
            f"{what} is an array of {given.dtype}, not of {wanted.dtype}", instead=f"Give one of {wanted.dtype}."
        )
    # a copy always: one array may be given as two tangents, or be an argument as well
    return np.array(given, dtype=wanted.dtype, order=wanted.order)  # type: ignore[call-overload]


def _array_on_device(given: Any, wanted: Leaf, what: str) -> Any:
    from adjit.runtime.cuda import arrays, memory

    given = arrays.taken(given) if is_on_device(given) else given
    if not wanted.shape and isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool):
        return memory.number(given, wanted.dtype)
    if not is_on_device(given) or tuple(given.shape) != wanted.shape or dtype_of(given) != wanted.dtype:
        kind = "a number" if not wanted.shape else f"an array of shape {wanted.shape}"
        raise TypeMismatch(
            f"{what} is {described(given)}, not {kind} of {wanted.dtype} on the device",
            instead="Give one with the shape and type of the argument or result that it belongs to.",
        )
    return memory.copy(given)


def several_of(given: Any, wanted: Template, what: str) -> tuple[int, Template]:
    """How many seeds or tangents are given at once, along a first axis, and what they all look like; TypeMismatch where
    that is not to be told."""
    parts = zip(_parts(given, wanted), leaves(wanted), strict=False)
    counts = {part.shape[0] if np.ndim(part) else None for part, leaf in parts if leaf.is_active}
    count = counts.pop() if len(counts) == 1 else None
    if not isinstance(count, int) or count == 0:
        raise TypeMismatch(
            f"{what} differ in the length of their first axis, or have none",
            why="With several=True each has one more axis, the first, which counts the seeds or tangents.",
            instead="Stack them: np.stack([first, second]), or np.array([1.0, 0.0]) for numbers.",
        )
    return count, several_like(wanted, count)


def _parts(given: Any, wanted: Template) -> list[Any]:
    """What is given for each leaf; None where it is not built like them."""
    if not isinstance(wanted, tuple):
        return [given]
    own = given if isinstance(given, tuple | list) and len(given) == len(wanted) else [None] * len(wanted)
    return [part for g, w in zip(own, wanted, strict=True) for part in _parts(g, w)]


def several_like(wanted: Template, count: int) -> Template:
    """What so many at once look like, along a first axis; what carries no derivative is there once."""

    def wide(leaf: Leaf) -> Leaf:
        return replace(leaf, is_array=True, shape=(count, *leaf.shape), order="C") if leaf.is_active else leaf

    return map_leaves(wide, wanted)


def parts_of(given: Any, count: int, what: str, instead: str) -> Sequence[Any]:
    """The parts of a tuple or list of so many; TypeMismatch, in which `what` says what is one, for anything else."""
    if not isinstance(given, tuple | list) or len(given) != count:
        raise TypeMismatch(f"{what} {described(given)}, not a tuple of {count}", instead=instead)
    return given


def described(value: Any) -> str:
    """What a value is, for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if is_on_device(value):
        return f"an array of shape {tuple(value.shape)} and type {value.dtype} on the device"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"of type {type(value).__name__}"


def zero(wanted: Template) -> Any:
    """The zero tangent."""
    return map_leaves(_zero_of, wanted)


def _zero_of(leaf: Leaf) -> Any:
    if not leaf.is_active:
        return leaf.zero
    if leaf.on_device:
        from adjit.runtime.cuda import memory

        return memory.zeros(leaf.shape, leaf.dtype)
    if leaf.is_array:
        return np.zeros(leaf.shape, leaf.dtype, order=leaf.order)  # type: ignore[call-overload]
    return _number(0, leaf, "")


def leaves(tree: Any) -> list[Any]:
    """The leaves of nested tuples, in order."""
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same nesting, in tuples of the same classes, with a value in place of each leaf."""
    if isinstance(tree, tuple):
        return _tuple_like(tree, [map_leaves(function, part) for part in tree])
    return function(tree)


def _tuple_like(given: tuple[Any, ...], parts: Sequence[Any]) -> Any:
    return tuple(parts) if type(given) is tuple else type(given)(*parts)


def nested(wanted: Any, values: Iterable[Any]) -> Any:
    """Values, one a leaf and in order, with the nesting of `wanted`."""
    rest = iter(values)
    return map_leaves(lambda leaf: next(rest), wanted)


# ---------------------------------------------------------------------------------------------------------- snapshots


def snapshot(values: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of arguments that share memory among themselves, and are read-only, as the originals."""
    arrays = {id(a): a for a in leaves(tuple(values)) if isinstance(a, np.ndarray)}
    copies: dict[int, Any] = {}
    for group in sharing(list(arrays.values())):
        if len(group) == 1:
            copies[id(group[0])] = _copied(group[0])
        else:
            copies |= _copied_together(group)
    for key, copy in copies.items():
        copy.flags.writeable = arrays[key].flags.writeable
    return tuple(map_leaves(lambda leaf: copies.get(id(leaf), leaf), value) for value in values)


def sharing(arrays: list[np.ndarray[Any, Any]]) -> list[list[np.ndarray[Any, Any]]]:
    """Groups of arrays whose extents in memory meet, directly or through others."""
    groups: list[list[np.ndarray[Any, Any]]] = []
    end = -1
    for array in sorted(arrays, key=lambda a: byte_bounds(a)[0]):
        low, high = byte_bounds(array)
        if low < end:
            groups[-1].append(array)
        else:
            groups.append([array])
        end = max(end, high)
    return groups


def _copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that is contiguous exactly if the original is: of what is not, ravel and its kin make copies."""
    if array.flags.contiguous or array.flags.f_contiguous:
        return array.copy(order="K")
    *outer, last = array.shape
    is_in_rows = math.prod(outer) > 1
    memory = np.empty((*outer, last + 1) if is_in_rows else (*outer, last, 2), array.dtype)
    copied: np.ndarray[Any, Any] = memory[..., :last] if is_in_rows else memory[..., 0]
    copied[...] = array
    return copied


def _copied_together(group: list[np.ndarray[Any, Any]]) -> dict[int, Any]:
    """Extents that meet belong to one allocation: copy its bytes, and make the same views of the copy."""
    low = min(byte_bounds(a)[0] for a in group)
    high = max(byte_bounds(a)[1] for a in group)
    # eight-byte words from an aligned address on, so that the copies are aligned where the originals are
    shift = low % 8
    memory = np.empty((high - low + shift + 7) // 8).view(np.uint8)
    copies = {}
    for array in group:
        offset = array.__array_interface__["data"][0] - low + shift
        copies[id(array)] = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    for array in group:
        copies[id(array)][...] = array
    return copies
