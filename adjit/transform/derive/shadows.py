"""Shadow arrays that have to be made in the forward sweep: those of arrays whose name does not tell which memory it is.

A loop that swaps two arrays, a branch that picks one, a tape of arrays: there the shadow goes the way of its array.
In: a function and its activity. Out: the function with these shadows beside their arrays, and the map from array to
shadow.

    for _ in range(n): u, v = v, u      for _ in range(n): u, v, u_bar, v_bar = v, u, v_bar, u_bar
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from numba import types

from adjit.transform import ir
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.renewed_arrays import renewed
from adjit.transform.ir.types import typed_const, writable


def is_array_tape(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.List) and isinstance(operand.type.dtype, types.Array)


def _joined(op: ir.Op, renewed: set[ir.Var]) -> Iterator[ir.Operand]:
    """References that `op` lets stand for one another; what a loop makes anew in each trip stands for itself."""
    if isinstance(op, ir.For | ir.While):
        for slot in op.slots:
            if ir.is_reference(slot.out) and slot.out not in renewed:
                yield from slot
    elif isinstance(op, ir.If):
        for out, *sources in ir.joined(op):
            if ir.is_reference(out):
                yield from (*sources, out)
    elif isinstance(op, ir.Push) and ir.is_reference(op.value):
        yield from (op.tape, op.value)
    elif isinstance(op, ir.Pull) and ir.is_reference(op.out):
        yield from (op.tape, op.out)


class Shadows:
    """`forward`: the function with shadows; `of`: the shadow of each array that has one in it.

    `renewed`: results of loops whose shadows the reverse loop makes anew.
    """

    def __init__(self, function: ir.Function, activity: Activity, suffix: str):
        self._activity = activity
        self._suffix = suffix
        self.of: dict[ir.Operand, ir.Var] = {}
        self.renewed = renewed(function, activity.aliases)
        while not self._collect(function):
            self.of.clear()
        entry = [_zeros(p, self.of[p]) for p in function.body.args if p in self.of]
        body = self._region(function.body)
        self.forward = dataclasses.replace(function, body=ir.Region(body.args, (*entry, *body.ops), body.yields))

    def _collect(self, function: ir.Function) -> bool:
        """Finds the arrays; False if one taken to be made anew is among them, and from now on is not."""
        made = function.body.made
        pending = [o for op in ir.walk(function.body) for o in _joined(op, self.renewed)]
        while pending:
            operand = pending.pop()
            if operand in self.of or not self._is_shadowed(operand):
                continue
            self.of[operand] = ir.Var(ir.name_of(operand, "array") + self._suffix, writable(operand.type))
            op = made.get(operand) if isinstance(operand, ir.Var) else None
            if isinstance(op, ir.VIEWS):
                pending.append(op.base)
        loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For | ir.While)]
        slots = [slot for op in loops for slot in op.slots if slot.out in self.renewed]
        met = {out for _, arg, new, out in slots if any(o in self.of for o in (out, arg, new))}
        self.renewed -= met
        return not met

    def _is_shadowed(self, operand: ir.Operand) -> bool:
        if isinstance(operand, ir.Const):
            return self._activity.aliases.find(operand) in self._activity.varied
        return ir.is_reference(operand) and self._activity.is_active(operand) and not is_scalar_tape(operand)

    def _shadow(self, operand: ir.Operand, ops: list[ir.Op]) -> ir.Operand:
        if isinstance(operand, ir.Const):
            # a global array where an active one might be: its shadow is fresh and nobody looks at it
            out = self.of[operand]
            shape = tuple(ir.integer(int(n)) for n in operand.value.shape)
            fresh = dataclasses.replace(out)
            ops.append(ir.Alloc(shape=shape, fill=_zero(out), out=fresh, role=ir.Role("shadow", operand)))
            return fresh
        return self.of[operand]

    def _region(self, region: ir.Region) -> ir.Region:
        ops: list[ir.Op] = []
        for op in region.ops:
            self._op(op, ops)
        return ir.Region(region.args, tuple(ops), region.yields)

    def _op(self, op: ir.Op, ops: list[ir.Op]) -> None:
        if isinstance(op, ir.For | ir.While):
            ops.append(self._loop(op, ops))
            return
        if isinstance(op, ir.If):
            ops.append(self._if(op))
            return
        ops.append(op)
        if isinstance(op, ir.Push) and op.tape in self.of:
            ops.append(dataclasses.replace(op, tape=self.of[op.tape], value=self._shadow(op.value, ops)))
            return
        for out in op.results:
            if out not in self.of:
                continue
            own = self.of[out]
            if isinstance(op, ir.VIEWS):
                ops.append(op.rebuilt((self.of[op.base], *op.operands[1:]), (), (own,)))
            elif isinstance(op, ir.Pull):
                ops.append(dataclasses.replace(op, tape=self.of[op.tape], out=own))
            elif isinstance(op, ir.NewTape | ir.Undefined):
                ops.append(op.rebuilt((), (), (own,)))
            else:
                ops.append(_zeros(out, own, op.origin))

    def _if(self, op: ir.If) -> ir.If:
        extra = [k for k, out in enumerate(op.outs) if out in self.of]
        sides: list[ir.Region] = []
        for side in op.regions:
            region = self._region(side)
            ops = list(region.ops)
            yields = [self._shadow(side.yields[k], ops) for k in extra]
            sides.append(ir.Region((), tuple(ops), (*region.yields, *yields)))
        outs = (*op.outs, *(self.of[op.outs[k]] for k in extra))
        return dataclasses.replace(op, then=sides[0], orelse=sides[1], outs=outs)

    def _loop(self, op: ir.For | ir.While, before: list[ir.Op]) -> ir.Op:
        extra = [slot for slot in op.slots if slot.out in self.of]
        inits = [self._shadow(slot.init, before) for slot in extra]
        ops = list(self._region(op.body).ops)
        more = [
            ir.Slot(init, self.of[slot.arg], self._shadow(slot.yielded, ops), self.of[slot.out])
            for init, slot in zip(inits, extra, strict=True)
        ]
        return ir.with_slots(op, more, ops)


def is_scalar_tape(operand: ir.Operand) -> bool:
    return isinstance(operand.type, types.List) and not isinstance(operand.type.dtype, types.Array)


def _zeros(like: ir.Var, out: ir.Var, origin: ir.Origin | None = None) -> ir.Alloc:
    return ir.Alloc(shape=(), like=like, fill=_zero(out), out=out, role=ir.Role("shadow", like), origin=origin)


def _zero(array: ir.Operand) -> ir.Const:
    assert isinstance(array.type, types.Array)
    return typed_const(0, array.type.dtype)
