"""Which arguments each number depends on: the pattern of a Jacobian, from a run that propagates sets of columns.

In: a function, the arguments to differentiate with respect to. Out: a function of the same arguments and a table of
unions (`runtime/library/sets.py`), which returns the set of each element of the results, and of each parameter
whether the sets depend on its values.

    y = x[i] * w - x[i - 1]         y_set = united(table, x_set[i], x_set[i - 1])

It is forward mode with unions for the tangents: a number depends on what the arguments of its operation do, whatever
their values, so the pattern has every entry that is ever not zero on this path through the program. Branches, trip
counts and subscripts are those of the run. What they need is all of the primal that stays once this is simplified, so
where no value of a parameter is read any more, the pattern is the same for all that it may hold.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numba import types

from adjit.rules.registry import lookup
from adjit.runtime.library import united, united_all
from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.derive.activity import is_constant
from adjit.transform.derive.directions import Directions, Tangent, extents
from adjit.transform.derive.forward import Tangents
from adjit.transform.derive.rule_bodies import no_rule
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.frontend.walk.entry import BuildDerivative, without_comments
from adjit.transform.ir.types import array_type, array_type_of, list_type
from adjit.transform.rewrite.simplify import simplify

_PRODUCTS = (np.dot, operator.matmul, np.matmul)


def index_sets(function: ir.Function, wrt: Sequence[ir.Tree], table: ir.Var, build: BuildDerivative) -> ir.Function:
    """The function that returns (the sets of the elements of each result, a boolean a parameter).

    `wrt`: parameters, as trees of Vars; `table`: the parameter that comes last.
    """
    primal = without_comments(function)
    made = simplify(_Run(primal, wrt, table, build).made())
    settled = simplify(ir.with_body(made, _without_raises(made.body)))
    read = _read(settled)
    flags = [ir.boolean(any(leaf in read for leaf in ir.leaves(tree))) for tree in function.params]
    count = len(made.body.yields)
    body = dataclasses.replace(made.body, yields=(*made.body.yields, *flags))
    return dataclasses.replace(made, body=body, result=(made.result, tuple(range(count, count + len(flags)))))


class _Run:
    """The program whose result is the sets, beside all of the primal."""

    def __init__(self, primal: ir.Function, wrt: Sequence[ir.Tree], table: ir.Var, build: BuildDerivative) -> None:
        self.primal, self.table, self.build = primal, table, build
        self.arguments = [var for var in ir.leaves(tuple(wrt)) if ir.is_float(var.type)]
        self.builder = ir.Builder()

    def made(self) -> ir.Function:
        first: ir.Operand = ir.integer(1)
        given: dict[ir.Var, Tangent] = {}
        for var in self.arguments:
            given[var], first = self.columns(var, first)
        ops, sets = Sets(self.primal, [given.get(p) for p in self.primal.body.args], self.table, self.build).run()
        self.builder.ops.extend(ops)
        region = ir.Region((*self.primal.body.args, self.table), tuple(self.builder.ops), tuple(own for (own,) in sets))
        names, params = (*self.primal.names, self.table.name), (*self.primal.params, self.table)
        return dataclasses.replace(self.primal, names=names, params=params, body=_quiet(region))

    def columns(self, var: ir.Var, first: ir.Operand) -> tuple[Tangent, ir.Operand]:
        """The sets of the elements of an argument, one column each, and the number of the next column."""
        if not ir.is_array(var):
            return (first,), self.integer(operator.add, first, ir.integer(1))
        shape = extents(self.builder, var)
        size: ir.Operand = ir.integer(1)
        for extent in shape:
            size = self.integer(operator.mul, size, extent)
        flat = ir.Var(f"{var.name}_columns", array_type(types.intp, 1))
        self.builder.emit(ir.Alloc(shape=(size,), out=flat))

        def number(index: tuple[ir.Var, ...]) -> None:
            element = self.flat_index(index, shape)
            self.builder.store(flat, (element,), self.integer(operator.add, first, element))

        self.builder.nest(shape, number)
        made = self.reshaped(flat, shape, var.name)
        return (made,), self.integer(operator.add, first, size)

    def reshaped(self, flat: ir.Var, shape: Sequence[ir.Operand], name: str) -> ir.Var:
        if len(shape) == 1:
            return flat
        made = ir.Var(f"{name}_set", array_type(types.intp, len(shape)))
        self.builder.emit(ir.Reshape(base=flat, shape=tuple(shape), out=made))
        return made

    def flat_index(self, index: Sequence[ir.Operand], shape: Sequence[ir.Operand]) -> ir.Operand:
        found: ir.Operand = ir.integer(0)
        for at, extent in zip(index, shape, strict=True):
            found = self.integer(operator.add, self.integer(operator.mul, found, extent), at)
        return found

    def integer(self, callee: Callable[..., int], left: ir.Operand, right: ir.Operand) -> ir.Operand:
        return emit_integer(self.builder, callee, left, right, "at")


class Kinds(Directions):
    """How sets are laid out: an integer beside a number, an array of them beside an array."""

    def type_of(self, primal: ir.Type) -> ir.Type:
        if isinstance(primal, types.List):
            return list_type(self.type_of(primal.dtype))
        if isinstance(primal, types.Array):
            return primal.copy(dtype=types.intp, readonly=False)
        return types.intp

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        return (ir.Var(f"{out.name}_set", self.type_of(out.type)),)

    def number(self, value: float, type_: ir.Type) -> Tangent:
        return (ir.integer(0),)

    def zeros(self, builder: ir.Builder, like: ir.Operand, name: str) -> ir.Var:
        type_ = self.type_of(like.type)
        assert isinstance(type_, types.Array)
        out = ir.Var(name, type_.copy(layout="C") if type_.layout == "A" else type_)
        self._empty(builder, extents(builder, like), out)
        return out

    def alloc(self, builder: ir.Builder, op: ir.Alloc, out: ir.Var) -> None:
        self._empty(builder, op.shape if op.like is None else extents(builder, op.like), out)

    @staticmethod
    def _empty(builder: ir.Builder, shape: Sequence[ir.Operand], out: ir.Var) -> None:
        """Empty sets, in the order of memory that `out` is of."""
        if array_type_of(out).layout != "F":
            builder.emit(ir.Alloc(shape=tuple(shape), fill=ir.integer(0), out=out))
            return
        turned = ir.Var(out.name, array_type(types.intp, len(shape)))
        builder.emit(ir.Alloc(shape=tuple(shape[::-1]), fill=ir.integer(0), out=turned))
        builder.emit(ir.Transpose(base=turned, axes=tuple(range(len(shape)))[::-1], out=out))


class Sets(Tangents):
    """The sets beside the values of a function; `given`: those of its arguments, None where one is held fixed."""

    def __init__(
        self, function: ir.Function, given: Sequence[Tangent | None], table: ir.Var, build: BuildDerivative
    ) -> None:
        super().__init__(function, given, Kinds(), build)
        self.table = table

    def typed(self, dot: ir.Operand, p: ir.Var) -> ir.Operand:
        return self.laid_out(dot, p.type) if isinstance(p.type, types.Array) else dot

    def store(self, op: ir.Store) -> None:
        if not op.add:
            super().store(op)
        elif op.value in self.dots:
            shadow = self.shadow(op.array)
            before = self.builder.load(shadow, op.index)
            self.builder.store(shadow, op.index, self.united(before, self.dots[op.value][0]))

    def call(self, op: ir.Call) -> None:
        active = [out for out in op.outs if self.activity.is_active(out)]
        if not active:
            return
        if is_constant(op.callee):
            super().call(op)
            return
        if op.callee not in (ir.cast, ir.select) and lookup(op.callee) is None:
            raise no_rule(op, self.activity.is_active)
        if op.callee in _PRODUCTS and self.product(op):
            return
        found: ir.Operand = ir.integer(0)
        for argument in op.args:
            if argument in self.dots:
                found = self.united(found, self.of_all(argument))
        for out in active:
            self.dots[out] = (self.spread(found, out),)

    def united(self, left: ir.Operand, right: ir.Operand) -> ir.Operand:
        if left == right or ir.is_literal(right, 0):
            return left
        if ir.is_literal(left, 0):
            return right
        return self.builder.call(united, self.table, left, right, type=types.intp, name="set")

    def of_all(self, operand: ir.Operand) -> ir.Operand:
        """The columns that any element depends on."""
        (own,) = self.dots[operand]
        if not is_array(operand):
            return own
        return self.builder.call(united_all, self.table, own, type=types.intp, name="set")

    def spread(self, found: ir.Operand, out: ir.Var) -> ir.Operand:
        """The same set for each element of a result."""
        if is_number(out):
            return found
        (made,) = self.new(out)
        self.directions.alloc(self.builder, ir.Alloc(shape=tuple(extents(self.builder, out)), out=out), made)
        self.builder.nest(extents(self.builder, out), lambda index: self.builder.store(made, index, found))
        return made

    def product(self, op: ir.Call) -> bool:
        """A product of a matrix: a row depends on its row of the left one, a column on its column of the right one."""
        (out,), (left, right) = op.outs, op.args
        if not is_array(out) or array_type_of(left).ndim > 2 or array_type_of(right).ndim > 2:
            return False
        (made,) = self.new(out)
        shape = extents(self.builder, out)
        self.directions.alloc(self.builder, ir.Alloc(shape=tuple(shape), out=out), made)
        for operand, axis, is_matrix in (
            (left, 0, array_type_of(left).ndim == 2),
            (right, 1, array_type_of(right).ndim == 2),
        ):
            if operand in self.dots:
                self.lines(made, shape, operand, axis, is_matrix)
        return True

    def lines(self, made: ir.Var, shape: Sequence[ir.Operand], operand: ir.Operand, axis: int, is_matrix: bool) -> None:
        """Adds to each element of a product the columns of its row, or column, of one of the factors."""
        if not is_matrix:
            found = self.of_all(operand)
            self.builder.nest(shape, lambda index: self.add(made, index, found))
            return
        (sets,) = self.dots[operand]
        along = min(axis, len(shape) - 1)
        with self.builder.loop(shape[along], "i") as line:
            selectors: list[ir.Selector] = [ir.Span(), ir.Span()]
            selectors[axis] = ir.At(line)
            view = self.builder.slice(sets, selectors, "line")
            found = self.builder.call(united_all, self.table, view, type=types.intp, name="set")
            others = [extent for k, extent in enumerate(shape) if k != along]

            def add(index: tuple[ir.Var, ...]) -> None:
                self.add(made, (*index[:along], line, *index[along:]), found)

            self.builder.nest(others, add, "jk")

    def add(self, made: ir.Var, index: Sequence[ir.Operand], found: ir.Operand) -> None:
        self.builder.store(made, index, self.united(self.builder.load(made, index), found))


def _quiet(region: ir.Region) -> ir.Region:
    """Without what the program says, which it says where the derivative is made."""
    return ir.rewritten(region, lambda op: () if isinstance(op, ir.Call) and isinstance(op.callee, ir.Said) else op)


def _without_raises(region: ir.Region) -> ir.Region:
    """Where these raise there is no derivative either."""
    return ir.rewritten(region, lambda op: () if isinstance(op, ir.Raise) else op)


def _read(function: ir.Function) -> set[ir.Operand]:
    """The leaves of the parameters of which more is read than their extents."""
    made = function.body.made
    operands: list[ir.Operand] = [o for region in ir.regions(function.body) for o in region.yields]
    for op in function.body.inside:
        # of what is looked at through a view, what reads the view counts
        operands += op.operands[1:] if isinstance(op, (*ir.VIEWS, ir.Extent)) else op.operands
    return {ir.base_of(operand, made) for operand in operands}
