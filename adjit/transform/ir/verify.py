"""The grammar of the intermediate representation, stated once and checked after each pass.

In: a function. Out: nothing, or an InternalError that names the operation and shows its region.

    %y = call mul(%x, %z)        InternalError: %z is read before it is defined, in: %y:float64 = call mul(%x, %z)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numba import types

from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.ir.printing import op_text, region_text
from adjit.transform.ir.types import slice_type, transposed_type


def verify(function: ir.Function) -> None:
    """Check `function` against the grammar; raises InternalError at the first breach."""
    leaves = [leaf for tree in function.params for leaf in ir.leaves(tree)]
    if len(function.names) != len(function.params):
        raise InternalError(f"{function.name} has {len(function.names)} names for {len(function.params)} parameters")
    if leaves != list(function.body.args):
        raise InternalError(f"the parameters of {function.name} are not the arguments of its body")
    count = len(function.body.yields)
    for leaf in ir.leaves(function.result):
        if leaf is not None and not (isinstance(leaf, int) and 0 <= leaf < count):
            raise InternalError(f"the result of {function.name} names {leaf!r}, but its body yields {count}")
    _Verifier().region(function.body)


class _Verifier:
    def __init__(self) -> None:
        self._defined: set[ir.Var] = set()  # anywhere so far
        self._visible: set[ir.Var] = set()  # in this region and those around it
        self._region: ir.Region | None = None
        self._op: ir.Op | None = None

    def fail(self, problem: str) -> NoReturn:
        where = "" if self._op is None else f", in: {op_text(self._op)}"
        raise InternalError(problem + where, why="" if self._region is None else region_text(self._region))

    def check(self, holds: bool, problem: str) -> None:
        if not holds:
            self.fail(problem)

    # -------------------------------------------------------------------------------------------- scopes

    def region(self, region: ir.Region) -> None:
        outside = self._region, self._op, self._visible
        self._region, self._op, self._visible = region, None, set(self._visible)
        for arg in region.args:
            self.define(arg)
        for op in region.ops:
            self._op = op
            for operand in op.operands:
                self.read(operand)
            _RULES[type(op)](self, op)
            for inner in op.regions:
                self.region(inner)
            for out in op.results:
                self.define(out)
        self._op = None
        for operand in region.yields:
            self.read(operand)
        self._region, self._op, self._visible = outside

    def define(self, var: ir.Var) -> None:
        self.check(var not in self._defined, f"{var} is defined twice")
        self._defined.add(var)
        self._visible.add(var)

    def read(self, operand: ir.Operand) -> None:
        if isinstance(operand, ir.Var):
            if operand not in self._visible:
                place = "out of its region" if operand in self._defined else "before it is defined"
                self.fail(f"{operand} is read {place}")
        else:
            self.check(_fits(operand), f"the literal {operand!r} is no {operand.type}")

    # -------------------------------------------------------------------------------------------- types

    def same_types(self, what: str, left: Sequence[ir.Operand], right: Sequence[ir.Operand]) -> None:
        self.check(len(left) == len(right), f"{what}: {len(left)} against {len(right)}")
        for a, b in zip(left, right, strict=True):
            self.check(a.type == b.type, f"{what}: {a!r} is {a.type}, {b!r} is {b.type}")

    def integers(self, what: str, operands: Sequence[ir.Operand]) -> None:
        for operand in operands:
            self.check(isinstance(operand.type, types.Integer), f"{what} {operand!r} is {operand.type}, not an integer")

    def boolean(self, what: str, operand: ir.Operand) -> None:
        self.check(isinstance(operand.type, types.Boolean), f"{what} {operand!r} is {operand.type}, not a boolean")

    def array(self, operand: ir.Operand) -> types.Array:
        if not isinstance(operand.type, types.Array):
            self.fail(f"{operand!r} is {operand.type}, not an array")
        return operand.type

    def element(self, array: ir.Operand, index: Sequence[ir.Operand], value: ir.Operand) -> None:
        type_ = self.array(array)
        self.check(len(index) == type_.ndim, f"{len(index)} indices for {type_.ndim} axes")
        self.integers("the index", index)
        self.check(value.type == type_.dtype, f"{value!r} is {value.type}, the elements are {type_.dtype}")

    def entry(self, tape: ir.Operand, index: ir.Operand, value: ir.Operand) -> None:
        self.integers("the index", [index])
        if not isinstance(tape.type, types.List):
            self.fail(f"{tape!r} is {tape.type}, not a tape")
        self.check(value.type == tape.type.dtype, f"{value!r} is {value.type}, the entries are {tape.type.dtype}")

    def view(self, base: ir.Operand, out: ir.Var, ndim: int) -> None:
        taken, made = self.array(base), self.array(out)
        self.check(made.dtype == taken.dtype, f"a view of {taken.dtype} as {made.dtype}")
        self.check(made.ndim == ndim, f"the view has {ndim} axes, its type has {made.ndim}")

    def layout(self, out: ir.Var, made: types.Array) -> None:
        """What libraries and views are told of an array is what numba makes of the text."""
        claimed = self.array(out).layout
        self.check(claimed in ("A", made.layout) or made.ndim == 0, f"{out} is {made}, and said to be {out.type}")

    def stripped(self, yields: Sequence[ir.Operand], stops: bool) -> Sequence[ir.Operand]:
        """The carried values among what a loop body yields."""
        if not stops:
            return yields
        self.check(len(yields) > 0, "a body that can break yields no boolean")
        self.boolean("what ends the loop", yields[-1])
        return yields[:-1]


def _fits(literal: ir.Const) -> bool:
    value, type_ = literal.value, literal.type
    if isinstance(type_, types.Boolean):
        return isinstance(value, (bool, np.bool_))
    if isinstance(type_, types.Integer):
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(type_, types.Float):
        return isinstance(value, (float, np.floating))
    if isinstance(type_, types.Array):
        return isinstance(value, np.ndarray) and value.ndim == type_.ndim
    return True


def _anything(v: _Verifier, op: Any) -> None:
    """Operands of any type; the callee's typing is the front end's affair."""


def _alloc(v: _Verifier, op: ir.Alloc) -> None:
    made = v.array(op.out)
    if op.like is not None:
        v.check(v.array(op.like).ndim == made.ndim, "an array like one of another rank")
        v.check(not op.shape, "both a shape and an array to be like")
    else:
        v.integers("the extent", op.shape)
        v.check(len(op.shape) == made.ndim, f"{len(op.shape)} extents for {made.ndim} axes")
    if op.fill is not None:
        v.read(op.fill)
        v.check(op.fill.type == made.dtype, f"{op.fill!r} is {op.fill.type}, the elements are {made.dtype}")


def _copy(v: _Verifier, op: ir.Copy) -> None:
    v.view(op.source, op.out, v.array(op.source).ndim)


def _extent(v: _Verifier, op: ir.Extent) -> None:
    v.check(0 <= op.axis < v.array(op.array).ndim, f"axis {op.axis} of {op.array.type}")
    v.integers("the extent", [op.out])


def _slice(v: _Verifier, op: ir.Slice) -> None:
    taken = [s for s in op.selectors if not isinstance(s, ir.NewAxis)]
    v.check(len(taken) == v.array(op.base).ndim, f"{len(taken)} selectors for {op.base.type}")
    v.integers("the selector", op.operands[1:])
    v.view(op.base, op.out, sum(not isinstance(s, ir.At) for s in op.selectors))
    if any(not isinstance(s, ir.At) for s in op.selectors):
        v.layout(op.out, slice_type(v.array(op.base), op.selectors))


def _transpose(v: _Verifier, op: ir.Transpose) -> None:
    ndim = v.array(op.base).ndim
    v.check(sorted(op.axes) == list(range(ndim)), f"{op.axes} is no order of {ndim} axes")
    v.view(op.base, op.out, ndim)
    v.layout(op.out, transposed_type(v.array(op.base), op.axes))


def _reshape(v: _Verifier, op: ir.Reshape) -> None:
    v.integers("the extent", op.shape)
    v.view(op.base, op.out, len(op.shape))
    v.check(v.array(op.base).layout == "C", f"{op.base!r} is not contiguous, but {op.base.type}")


def _new_tape(v: _Verifier, op: ir.NewTape) -> None:
    v.check(isinstance(op.out.type, types.List), f"the tape {op.out} is {op.out.type}")


def _if(v: _Verifier, op: ir.If) -> None:
    v.boolean("the condition", op.condition)
    v.check(not op.then.args and not op.orelse.args, "a branch has arguments")
    v.same_types("branch and result", op.then.yields, op.outs)
    v.same_types("other branch and result", op.orelse.yields, op.outs)


def _for(v: _Verifier, op: ir.For) -> None:
    v.integers("the bound", (op.start, op.stop, op.step))
    v.check(len(op.body.args) > 0, "the body has no counter")
    v.integers("the counter", op.body.args[:1])
    v.same_types("initial value and argument", op.inits, op.body.args[1:])
    v.same_types("argument and result", op.body.args[1:], op.outs)
    v.same_types("carried value and result", v.stripped(op.body.yields, op.stops), op.outs)


def _while(v: _Verifier, op: ir.While) -> None:
    v.same_types("initial value and argument", op.inits, op.body.args)
    v.same_types("arguments of test and body", op.test.args, op.body.args)
    v.same_types("argument and result", op.body.args, op.outs)
    v.same_types("carried value and result", v.stripped(op.body.yields, op.stops), op.outs)
    v.check(len(op.test.yields) == 1, f"the test yields {len(op.test.yields)} values")
    v.boolean("the test", op.test.yields[0])


def _raise(v: _Verifier, op: ir.Raise) -> None:
    if op.condition is not None:
        v.boolean("the condition", op.condition)
    # passes see variables through `operands`, which the arguments of an exception are not among
    v.check(not any(isinstance(a, ir.Var) for a in op.args), "an exception has a variable as argument")


_RULES: dict[type[ir.Op], Callable[[_Verifier, Any], None]] = {
    ir.Call: _anything,
    ir.Undefined: _anything,
    ir.Alloc: _alloc,
    ir.Copy: _copy,
    ir.Extent: _extent,
    ir.Load: lambda v, op: v.element(op.array, op.index, op.out),
    ir.Store: lambda v, op: v.element(op.array, op.index, op.value),
    ir.Slice: _slice,
    ir.Transpose: _transpose,
    ir.Reshape: _reshape,
    ir.NewTape: _new_tape,
    ir.Push: lambda v, op: v.entry(op.tape, op.index, op.value),
    ir.Pull: lambda v, op: v.entry(op.tape, op.index, op.out),
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.Raise: _raise,
    ir.Comment: _anything,
}
