"""The grammar of the intermediate representation, stated once and checked after each pass.

In: a function. Out: nothing, or an InternalError that names the operation and shows its region.

    %y = call mul(%x, %z)        InternalError: %z is read before it is defined, in: %y:float64 = call mul(%x, %z)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numba import types

from adjit.errors import InternalError
from adjit.runtime.library.hints import IN_ANY_ORDER
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
        self._levels: list[str] = []  # of the loops around

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
            self.memory(op)
            self.control(op)
            levels = self._levels
            self._levels = self.levels(op)
            for inner in op.regions:
                self.region(inner)
            self._levels = levels
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

    # -------------------------------------------------------------------------------------------- operations

    def memory(self, op: ir.Op) -> None:
        """Arrays, views and tapes."""
        match op:
            case ir.Alloc(shape=shape, like=like, fill=fill):
                made = self.array(op.out)
                if like is not None:
                    self.check(self.array(like).ndim == made.ndim, "an array like one of another rank")
                    self.check(not shape, "both a shape and an array to be like")
                else:
                    self.integers("the extent", shape)
                    self.check(len(shape) == made.ndim, f"{len(shape)} extents for {made.ndim} axes")
                if fill is not None:
                    self.read(fill)
                    self.check(fill.type == made.dtype, f"{fill!r} is {fill.type}, the elements are {made.dtype}")
            case ir.Copy(source=source):
                self.view(source, op.out, self.array(source).ndim)
            case ir.Extent(array=array, axis=axis):
                self.check(0 <= axis < self.array(array).ndim, f"axis {axis} of {array.type}")
                self.integers("the extent", [op.out])
            case ir.Call(callee=ir.select, args=(_, yes, no), outs=(out,)):
                self.same_types("a choice", (yes, no), (out, out))
            case ir.Call(callee=callee, args=(one, other), outs=(out,)) if callee in IN_ANY_ORDER:
                self.same_types("a sum in any order", (one, other), (out, out))
            case ir.Load():
                self.element(op.array, op.index, op.out)
            case ir.Store():
                self.element(op.array, op.index, op.value)
            case ir.AddProduct():
                kinds = {(matrix.ndim, matrix.dtype) for matrix in map(self.array, op.operands)}
                self.check(len(kinds) == 1 and kinds.pop()[0] == 2, "no matrices of one type")
            case ir.OfRows(target=target, source=source, less=less):
                found = [(array.ndim, array.dtype) for array in map(self.array, (target, source, less))]
                dtype = self.array(target).dtype
                self.check(found == [(2, dtype), (2, dtype), (1, dtype)], "no rows of one type, with a number each")
                self.check(self.array(target).layout == "C", f"{target!r} is not contiguous, but {target.type}")
            case ir.Slice(base=base, selectors=selectors):
                taken = [s for s in selectors if not isinstance(s, ir.NewAxis)]
                self.check(len(taken) == self.array(base).ndim, f"{len(taken)} selectors for {base.type}")
                self.integers("the selector", op.operands[1:])
                left = sum(not isinstance(s, ir.At) for s in selectors)
                self.view(base, op.out, left)
                if left:
                    self.layout(op.out, slice_type(self.array(base), selectors))
            case ir.Transpose(base=base, axes=axes):
                ndim = self.array(base).ndim
                self.check(sorted(axes) == list(range(ndim)), f"{axes} is no order of {ndim} axes")
                self.view(base, op.out, ndim)
                self.layout(op.out, transposed_type(self.array(base), axes))
            case ir.Reshape(base=base, shape=shape):
                self.integers("the extent", shape)
                self.view(base, op.out, len(shape))
                self.check(self.array(base).layout == "C", f"{base!r} is not contiguous, but {base.type}")
            case ir.NewTape(out=out):
                self.check(isinstance(out.type, types.List), f"the tape {out} is {out.type}")
            case ir.Push():
                self.entry(op.tape, op.index, op.value)
            case ir.Pull():
                self.entry(op.tape, op.index, op.out)

    def control(self, op: ir.Op) -> None:
        """Branches, loops and errors. What a call gets and gives is the front end's affair."""
        match op:
            case ir.If(then=then, orelse=orelse):
                self.boolean("the condition", op.condition)
                self.check(not then.args and not orelse.args, "a branch has arguments")
                self.same_types("branch and result", then.yields, op.outs)
                self.same_types("other branch and result", orelse.yields, op.outs)
            case ir.For(body=body):
                self.integers("the bound", (op.start, op.stop, op.step))
                self.check(len(body.args) > 0, "the body has no counter")
                self.integers("the counter", body.args[:1])
                self.carried(op, body.args[1:])
            case ir.While(test=test, body=body):
                self.same_types("arguments of test and body", test.args, body.args)
                self.carried(op, body.args)
                self.check(len(test.yields) == 1, f"the test yields {len(test.yields)} values")
                self.boolean("the test", test.yields[0])
            case ir.Raise(args=args, condition=condition, values=values):
                wanted = sum(a.count for a in args if isinstance(a, ir.Made))
                self.check(wanted == len(values), "an exception whose values are not those of its arguments")
                if condition is not None:
                    self.boolean("the condition", condition)
                # passes see variables through `operands`, which the arguments of an exception are not among
                self.check(not any(isinstance(a, ir.Var) for a in args), "an exception has a variable as argument")

    def levels(self, op: ir.Op) -> list[str]:
        """The levels of the loops around what is inside an operation: threads in blocks, up to three axes of each.

        What a block does may be a function of its own, and so have threads alone.
        """
        if not isinstance(op, ir.For) or op.level is None:
            return self._levels
        self.check(not op.stops, f"a loop over {op.level} that stops")
        self.check(op.level == "threads" or "threads" not in self._levels, "blocks in a thread")
        self.check(self._levels.count(op.level) < 3, f"{op.level} of more than three axes")
        return [*self._levels, op.level]

    def carried(self, op: ir.For | ir.While, args: Sequence[ir.Var]) -> None:
        """What a loop starts from, its body calls and hands on, and what is left in the end."""
        self.same_types("initial value and argument", op.inits, args)
        self.same_types("argument and result", args, op.outs)
        yields = op.body.yields
        if op.stops:
            self.check(len(yields) > 0, "a body that can break yields no boolean")
            self.boolean("what ends the loop", yields[-1])
            yields = yields[:-1]
        self.same_types("carried value and result", yields, op.outs)


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
