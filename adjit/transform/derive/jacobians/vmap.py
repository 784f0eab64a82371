"""A function mapped over a new axis of some of its arguments: a loop, each trip of which is a call.

In: the function of single elements, the parameters with the axis, and which axis of each it is. Out: the function of
those, whose results have the axis, too.

    y = f(x, w)         for i in range(x.shape[0]):
                            y[i] = f(x[i], w)

The loop is a `prange` if that is asked for; nothing else tells it from one that a user writes, so all that makes or
speeds up derivatives takes it as such.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.derive.directions import extents
from adjit.transform.derive.jacobians.jacobian import unheard
from adjit.transform.frontend.walk.entry import without_comments
from adjit.transform.ir.types import array_type, array_type_of, slice_type

Axes = tuple[int | None, ...]

OTHER_EXTENT = "the arguments of vmap differ in length along the mapped axis"
NO_ELEMENTS = "the mapped axis has no elements, so the shapes of the results are not known"


def element_type(type_: types.Type, axis: int) -> types.Type:
    """The type of an element along an axis, of an array or of each array in a tuple; raises IndexError without one."""
    if isinstance(type_, types.BaseTuple):
        return types.Tuple([element_type(part, axis) for part in type_.types])  # type: ignore[attr-defined, no-untyped-call]
    if not isinstance(type_, types.Array) or not -type_.ndim <= axis < type_.ndim:
        raise IndexError(axis)
    return type_.dtype if type_.ndim == 1 else slice_type(type_, _selectors(type_, axis, ir.integer(0)))


def _selectors(type_: types.Array, axis: int, at: ir.Operand) -> list[ir.Selector]:
    selectors: list[ir.Selector] = [ir.Span() for _ in range(type_.ndim)]
    selectors[axis] = ir.At(at)
    return selectors


def mapped(
    function: ir.Function, params: Sequence[ir.Tree], axes: Axes, out_axis: int, is_parallel: bool
) -> ir.Function:
    """The function mapped; `params`: its parameters, as trees of Vars, those with an axis in `axes` with one axis more
    than the function's own have."""
    return _Mapped(without_comments(function), params, axes, out_axis, is_parallel).function()


class _Mapped:
    def __init__(
        self, single: ir.Function, params: Sequence[ir.Tree], axes: Axes, out_axis: int, is_parallel: bool
    ) -> None:
        self.single, self.params, self.is_parallel, self.out_axis = single, params, is_parallel, out_axis
        self.leaves: list[tuple[ir.Var, ir.Var, int | None]] = [
            (own, leaf, axis)
            for tree, of, axis in zip(single.params, params, axes, strict=True)
            for own, leaf in zip(ir.leaves(tree), ir.leaves(of), strict=True)
        ]
        aliases = single.analysis(Aliases)
        self.written = {aliases.find(array) for array in single.body.memory_written}
        self.find = aliases.find
        self.builder = ir.Builder()

    def function(self) -> ir.Function:
        b = self.builder
        extents = [b.extent(leaf, axis % array_type_of(leaf).ndim) for _, leaf, axis in self.leaves if axis is not None]
        count, *others = extents
        for other in others:
            self.check(operator.eq, other, count, OTHER_EXTENT)
        outs = self.allocated(count)
        with b.loop(count, "sample", parallel=self.is_parallel) as trip:
            for out, value in zip(outs, self.call(trip, self.single.body), strict=True):
                self.store(out, trip, value)
        body = ir.Region(tuple(ir.leaves(tuple(self.params))), tuple(b.ops), tuple(outs))
        return dataclasses.replace(self.single, params=tuple(self.params), body=body, overlapping=(), counts=())

    def check(self, comparison: Callable[..., bool], left: ir.Operand, right: ir.Operand, message: str) -> None:
        holds = self.builder.call(comparison, left, right, type=types.boolean, name="holds")
        self.builder.emit(ir.Raise(exception=ValueError, args=(message,), condition=holds))

    def call(self, trip: ir.Operand, body: ir.Region) -> Sequence[ir.Operand]:
        """What the function gives for the elements that belong to this trip."""
        mapping: dict[ir.Var, ir.Operand] = {}
        for own, leaf, axis in self.leaves:
            mapping[own] = self.element(own, leaf, axis, trip)
        cloned = ir.Cloner(mapping).region(dataclasses.replace(body, args=()))
        self.builder.ops.extend(cloned.ops)
        return cloned.yields

    def element(self, own: ir.Var, leaf: ir.Var, axis: int | None, trip: ir.Operand) -> ir.Operand:
        found: ir.Var = leaf
        if axis is not None and not ir.is_array(own):
            return self.builder.load(leaf, (trip,), own.name)
        if axis is not None:
            found = self.builder.slice(leaf, _selectors(array_type_of(leaf), axis, trip), own.name)
        is_written = ir.is_array(own) and self.find(own) in self.written
        if found.type == own.type and not is_written:
            return found
        # what a trip writes the next one does not see
        copied = dataclasses.replace(own)
        self.builder.emit(ir.Copy(source=found, out=copied))
        return copied

    def allocated(self, count: ir.Operand) -> list[ir.Var]:
        """The arrays of the results; the shapes of what one call returns are what is left of a first one."""
        yields = self.single.body.yields
        shapes: list[Sequence[ir.Operand]] = [()] * len(yields)
        if any(map(ir.is_array, yields)):
            self.check(operator.gt, count, ir.integer(0), NO_ELEMENTS)
            first = self.call(ir.integer(0), ir.rewritten(self.single.body, unheard))
            shapes = [extents(self.builder, value) for value in first]
        outs = []
        for value, shape in zip(yields, shapes, strict=True):
            kind = value.type.dtype if isinstance(value.type, types.Array) else value.type
            whole = list(shape)
            whole.insert(self.place(len(shape)), count)
            outs.append(ir.Var(ir.name_of(value, "result"), array_type(kind, len(whole))))
            self.builder.emit(ir.Alloc(shape=tuple(whole), out=outs[-1]))
        return outs

    def place(self, rank: int) -> int:
        """Where the new axis is among those of a result, of which one call gives this many; raises IndexError."""
        if not -rank - 1 <= self.out_axis <= rank:
            raise IndexError(self.out_axis)
        return self.out_axis % (rank + 1)

    def store(self, out: ir.Var, trip: ir.Operand, value: ir.Operand) -> None:
        shape = extents(self.builder, value)
        place = self.place(len(shape))

        def one(index: tuple[ir.Var, ...]) -> None:
            element = self.builder.load(value, index) if shape else value
            self.builder.store(out, (*index[:place], trip, *index[place:]), element)

        self.builder.nest(shape, one)
