"""Shadow arrays that have to be made in the forward sweep: those of arrays whose name does not tell which memory it is.

A loop that swaps two arrays, a branch that picks one, a tape of arrays: there the shadow goes the way of its array.
In: a function and its activity. Out: the function with these shadows beside their arrays, and the map from array to
shadow.

    for _ in range(n): u, v = v, u      for _ in range(n): u, v, u_bar, v_bar = v, u, v_bar, u_bar
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from numba import types

from adjit.transform import ir
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.reallocated_shadows import renewed
from adjit.transform.ir.types import array_type_of, typed_const, writable


def is_array_tape(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.List) and isinstance(operand.type.dtype, types.Array)


def _joined(op: ir.Op, renewed: set[ir.Var]) -> list[ir.Operand]:
    """References that `op` lets stand for one another; what a loop makes anew in each trip stands for itself."""
    joined: list[tuple[ir.Operand, ...]] = []
    if isinstance(op, ir.For | ir.While):
        joined += (slot for slot in op.slots if slot.out not in renewed)
    elif isinstance(op, ir.If):
        joined += ir.joined(op)
    elif isinstance(op, ir.Push | ir.Pull):
        joined.append((op.tape, op.value if isinstance(op, ir.Push) else op.out))
    return [o for names in joined if ir.is_reference(names[-1]) for o in names]


class Beside:
    """What goes beside values, tangents or shadows, through control flow and tapes; each value may have several.

    Each operation is emitted, and after it, in `op`, what it does to what is beside its operands.
    """

    builder: ir.Builder

    def has(self, operand: ir.Operand) -> bool:
        raise NotImplementedError

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        """Variables for what is beside a result."""
        raise NotImplementedError

    def handed_on(self, operand: ir.Operand, to: ir.Type) -> tuple[ir.Operand, ...]:
        """What is beside an operand, of the type that this has beside what the operand becomes."""
        raise NotImplementedError

    def op(self, op: ir.Op) -> None:
        raise NotImplementedError

    def region(self, region: ir.Region) -> None:
        for op in region.ops:
            self.builder.origin = op.origin
            self.beside(op)
        self.builder.origin = None

    def beside(self, op: ir.Op) -> None:
        if isinstance(op, ir.If):
            self.conditional(op)
            return
        if isinstance(op, ir.For | ir.While):
            self.loop(op)
            return
        self.builder.emit(op)
        if isinstance(op, ir.Push):
            if self.has(op.tape):
                assert isinstance(op.tape.type, types.List)
                values = self.handed_on(op.value, op.tape.type.dtype)
                for tape, value in zip(self.handed_on(op.tape, op.tape.type), values, strict=True):
                    self.builder.emit(dataclasses.replace(op, tape=tape, value=value))
        elif isinstance(op, ir.Pull | ir.NewTape | ir.Undefined):
            if self.has(op.out):
                tapes = self.handed_on(op.tape, op.tape.type) if isinstance(op, ir.Pull) else ()
                for k, out in enumerate(self.new(op.out)):
                    self.builder.emit(op.rebuilt((*tapes[k : k + 1], *op.operands[1:]), (), (out,)))
        else:
            self.op(op)

    def conditional(self, op: ir.If) -> None:
        """A branch that yields what is beside its results as well."""
        own = [k for k, out in enumerate(op.outs) if self.has(out)]
        sides: list[ir.Region] = []
        for side in op.regions:
            with self.builder.region() as ops:
                self.region(side)
                more = [dot for k in own for dot in self.handed_on(side.yields[k], op.outs[k].type)]
            sides.append(ir.Region((), tuple(ops), (*side.yields, *more)))
        outs = [dot for k in own for dot in self.new(op.outs[k])]
        self.builder.emit(op.rebuilt(op.operands, sides, (*op.outs, *outs)))

    def loop(self, op: ir.For | ir.While) -> None:
        """A loop that carries what is beside the values that it carries as well."""
        own = [slot for slot in op.slots if self.has(slot.out) or self.has(slot.arg)]
        inits = [dot for slot in own for dot in self.handed_on(slot.init, slot.arg.type)]
        args = [dot for slot in own for dot in self.new(slot.arg)]
        with self.builder.region() as ops:
            self.region(op.body)
            yields = [dot for slot in own for dot in self.handed_on(slot.yielded, slot.out.type)]
        outs = [dot for slot in own for dot in self.new(slot.out)]
        self.builder.emit(ir.with_slots(op, list(map(ir.Slot, inits, args, yields, outs)), ops))


class Shadows(Beside):
    """`forward`: the function with shadows; `of`: the shadow of each array that has one in it.

    `renewed`: results of loops whose shadows the reverse loop makes anew.
    """

    def __init__(
        self,
        function: ir.Function,
        activity: Activity,
        suffix: str,
        given: Mapping[ir.Var, ir.Var] = MappingProxyType({}),
    ):
        self._activity = activity
        self._suffix = suffix
        self.of: dict[ir.Operand, ir.Var] = {}
        self.renewed = renewed(function, activity.aliases)
        while not self._collect(function):
            self.of.clear()
        self.builder = ir.Builder()
        body = function.body
        for p in body.args:
            if p in given and p in self.of:
                self.of[p] = given[p]
            elif p in self.of:
                self.builder.emit(zeros_like(p, self.of[p]))
        self.region(body)
        self.forward = ir.with_body(function, ir.with_ops(body, self.builder.ops))

    def _collect(self, function: ir.Function) -> bool:
        """Finds the arrays; False if one taken to be made anew is among them, and from now on is not."""
        made = function.body.made
        pending = [o for op in ir.walk(function.body) for o in _joined(op, self.renewed)]
        while pending:
            operand = pending.pop()
            if operand in self.of or not self._is_shadowed(operand):
                continue
            name = ir.name_of(operand, "array")
            self.of[operand] = ir.Var(name + self._suffix, writable(operand.type))
            op = made.get(operand) if isinstance(operand, ir.Var) else None
            if isinstance(op, ir.VIEWS):
                pending.append(op.base)
        slots = [s for op in ir.walk(function.body) if isinstance(op, ir.For | ir.While) for s in op.slots]
        met = {s.out for s in slots if s.out in self.renewed and any(o in self.of for o in (s.arg, s.yielded, s.out))}
        self.renewed -= met
        return not met

    def _is_shadowed(self, operand: ir.Operand) -> bool:
        if isinstance(operand, ir.Const):
            return self._activity.aliases.find(operand) in self._activity.varied
        return ir.is_reference(operand) and self._activity.is_active(operand) and not is_scalar_tape(operand)

    def has(self, operand: ir.Operand) -> bool:
        return operand in self.of

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        return (self.of[out],)

    def handed_on(self, operand: ir.Operand, to: ir.Type) -> tuple[ir.Operand, ...]:
        out = self.of[operand]
        if isinstance(operand, ir.Const):
            # a global array where an active one might be: its shadow is fresh and nobody looks at it
            out = dataclasses.replace(out)
            shape = tuple(ir.integer(int(n)) for n in operand.value.shape)
            self.builder.emit(ir.Alloc(shape=shape, fill=_zero(out), out=out, role=ir.Role("shadow", operand)))
        return (out,)

    def op(self, op: ir.Op) -> None:
        for out in filter(self.has, op.results):
            if isinstance(op, ir.VIEWS):
                self.builder.emit(op.rebuilt((self.of[op.base], *op.operands[1:]), (), (self.of[out],)))
            else:
                self.builder.emit(zeros_like(out, self.of[out]))


def is_scalar_tape(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.List) and not isinstance(operand.type.dtype, types.Array)


def zeros_like(like: ir.Var, out: ir.Var) -> ir.Alloc:
    """What makes the shadow of an array into which nothing has flowed."""
    return ir.Alloc(shape=(), like=like, fill=_zero(out), out=out, role=ir.Role("shadow", like))


def _zero(array: ir.Operand) -> ir.Const:
    return typed_const(0, array_type_of(array).dtype)
