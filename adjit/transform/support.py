"""The few functions that generated code calls. Each is plain Python that numba compiles.

In: the extents of axes, or arrays. Out: an extent, or an error that NumPy would raise too.

    n = broadcast_extent(a.shape[0], b.shape[0])     the loop bound of `a + b`
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as llvm
from numba import njit, types
from numba.extending import lower_builtin, type_callable

from adjit.errors import Aliased, Stretched, TypeMismatch

_UNFIT = "operands could not be broadcast together"
_UNSTORED = "could not broadcast the value into the shape of the target"
_STRETCHED = "two axes differ in length where this code takes them to be the same"


def broadcast_extent(left: int, right: int) -> int:
    """The extent of an axis that two operands share: one of them may be 1. ValueError if they do not fit."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    raise ValueError(_UNFIT)


def stored_extent(target: int, value: int) -> int:
    """The extent of an axis of an array that a value of extent `value` is stored into; ValueError if it does not."""
    if value != target and value != 1:
        raise ValueError(_UNSTORED)
    return target


@njit
def checkpoint_distance(trips: int, snapshots: int) -> int:
    """How many trips after a snapshot the next is taken, where `trips` are to be reversed with so many snapshots.

    The first of them is the one that there is. `trips` itself if no more are worth taking. After Griewank and Walther
    (2000), with which the number of trips that are run again is the smallest possible: with s snapshots and every trip
    run at most r times, C(s + r, s) trips can be reversed.
    """
    if snapshots <= 1 or trips <= 1:
        return trips
    repeats, reach = 0, 1
    while reach < trips:
        repeats += 1
        reach = reach * (snapshots + repeats) // repeats
    # C(s - 1 + r, s - 1), C(s + r - 1, s) and C(s + r - 2, s)
    fewer_snapshots = reach * snapshots // (snapshots + repeats)
    fewer_repeats = reach - fewer_snapshots
    fewest = fewer_repeats * (repeats - 1) // (snapshots + repeats - 1)
    return max(fewest, trips - fewer_snapshots, 1)


@njit
def default_snapshots(trips: int) -> int:
    """The fewest snapshots with which no trip is run again more than twice."""
    snapshots = 1
    while (snapshots + 1) * (snapshots + 2) // 2 < trips:
        snapshots += 1
    return snapshots


@njit
def fitting_snapshots(trips: int, limit: int, snapshot_bytes: int) -> int:
    """The snapshots that fit into `limit` bytes, one at least, and no more than there are trips."""
    return max(1, min(trips, limit // snapshot_bytes))


def same_extent(left: int, right: int) -> None:
    """Stretched if two axes are not of one length, as the code that follows takes them to be."""
    if left != right:
        raise Stretched(_STRETCHED)


@njit
def slice_inside(start: int, stop: int, extent: int) -> None:
    """Stretched if a slice is not as long as its bounds say, as the code that follows takes it to be."""
    if not 0 <= start <= stop <= extent:
        raise Stretched("a slice goes beyond its array where this code takes it not to")


@njit
def some_elements(extent: int) -> None:
    """ValueError if there are none of which one could be the greatest or the least."""
    if extent == 0:
        raise ValueError("zero-size array to reduction operation which has no identity")


@njit
def overlaps(left: Any, right: Any) -> bool:
    """Whether the memory from the first to the last element of `left` meets that of `right`."""
    if left.size == 0 or right.size == 0:
        return False
    left_low = left_high = left.ctypes.data
    for axis in range(left.ndim):
        reach = (left.shape[axis] - 1) * left.strides[axis]
        if reach > 0:
            left_high += reach
        else:
            left_low += reach
    right_low = right_high = right.ctypes.data
    for axis in range(right.ndim):
        reach = (right.shape[axis] - 1) * right.strides[axis]
        if reach > 0:
            right_high += reach
        else:
            right_low += reach
    return bool(left_low < right_high + right.itemsize and right_low < left_high + left.itemsize)


@njit
def check_separate(left: Any, right: Any) -> None:
    """Aliased if two arguments share memory of which one is written."""
    if overlaps(left, right):
        raise Aliased("two arguments share memory and the function writes into one of them")


@njit
def check_output(output: Any, argument: Any) -> None:
    """TypeMismatch if an array that takes the gradient has another shape than the argument."""
    if output.shape != argument.shape:
        raise TypeMismatch(_ANOTHER_SHAPE)


_ANOTHER_SHAPE = "an array in `out` has another shape than its argument\n  Give one of the argument's shape."


def opaque(index: int) -> int:
    """index, of which the compiler is to know nothing but that it is an integer (`hidden_counters.py` says why)."""
    return index


@type_callable(opaque)
def _type_of_opaque(context: Any) -> Any:
    return lambda index: index if isinstance(index, types.Integer) else None


@lower_builtin(opaque, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def _opaque(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    (index,) = args
    return builder.asm(llvm.FunctionType(index.type, [index.type]), "", "=r,0", [index], False)


def reassociable_add(total: float, term: float) -> float:
    """total + term, in a sum that the compiler may add up in any order, and so in SIMD lanes."""
    return total + term


def reassociable_sub(total: float, term: float) -> float:
    """total - term, in such a sum."""
    return total - term


@type_callable(reassociable_add)
@type_callable(reassociable_sub)
def _type_of_sum(context: Any) -> Any:
    def typer(total: types.Type, term: types.Type) -> types.Type | None:
        return total if isinstance(total, types.Float) and total == term else None

    return typer


@lower_builtin(reassociable_add, types.Float, types.Float)  # type: ignore[no-untyped-call, untyped-decorator]
def _add_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc", "contract"))


@lower_builtin(reassociable_sub, types.Float, types.Float)  # type: ignore[no-untyped-call, untyped-decorator]
def _subtract_in_any_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fsub(*args, flags=("reassoc", "contract"))


# numba would compile these three as functions of their own, 40 ms each


def _type_of_extents(result: types.Type) -> Any:
    def of_context(context: Any) -> Any:
        def typer(left: types.Type, right: types.Type) -> types.Type | None:
            return result if isinstance(left, types.Integer) and isinstance(right, types.Integer) else None

        return typer

    return of_context


type_callable(broadcast_extent)(_type_of_extents(types.intp))
type_callable(stored_extent)(_type_of_extents(types.intp))
type_callable(same_extent)(_type_of_extents(types.none))


def _extents(context: Any, builder: Any, signature: Any, args: Any) -> list[Any]:
    return [context.cast(builder, a, t, types.intp) for a, t in zip(args, signature.args, strict=True)]


@lower_builtin(broadcast_extent, types.Integer, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def _shared_extent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    left, right = _extents(context, builder, signature, args)
    takes_left = builder.or_(builder.icmp_signed("==", left, right), builder.icmp_signed("==", right, right.type(1)))
    is_one = builder.icmp_signed("==", left, left.type(1))
    with builder.if_then(builder.not_(builder.or_(takes_left, is_one)), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (_UNFIT,))
    return builder.select(takes_left, left, right)


@lower_builtin(stored_extent, types.Integer, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def _target_extent(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    target, value = _extents(context, builder, signature, args)
    fits = builder.or_(builder.icmp_signed("==", value, target), builder.icmp_signed("==", value, value.type(1)))
    with builder.if_then(builder.not_(fits), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (_UNSTORED,))
    return target


@lower_builtin(same_extent, types.Integer, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def _equal_extents(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    left, right = _extents(context, builder, signature, args)
    with builder.if_then(builder.icmp_signed("!=", left, right), likely=False):
        context.call_conv.return_user_exc(builder, Stretched, (_STRETCHED,))
    return context.get_dummy_value()
