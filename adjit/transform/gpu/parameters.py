"""What a kernel is given, and what it works out for itself.

In: the operations of a kernel. Out: its parameters, the arguments that the host passes, operations at its head.

    q[i] = p[i] * c          parameters q, p, c; if c is on the device, its cell, and c = cell[()] at the head; if it is
                             an element of an array that nothing changes, that array, and c = a[0]
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

from numba import types

from adjit.transform import ir


class Parameters:
    """What a kernel is given: the arrays and numbers that its operations read and do not make.

    cells: of the numbers on the device. loads: of elements that nothing changes, which kernels load themselves.
    literals: integers that the host knows, and kernels do not. head: operations before all others, which load those,
    or work integers out of extents.
    """

    def __init__(
        self,
        function: ir.Function,
        cells: Mapping[ir.Var, ir.Var],
        loads: Mapping[ir.Var, ir.Load],
        literals: Mapping[ir.Var, ir.Const],
        ops: Sequence[ir.Op],
    ):
        self._made, self._cells = function.body.made, cells
        self.constants: dict[ir.Const, ir.Var] = {}
        self.ops = [self._without_constants(op) for op in ops]
        self.head: list[ir.Op] = []
        self.vars: list[ir.Var] = []
        self.arguments: list[ir.Operand] = []
        free = ir.free_vars(ir.Region((), tuple(self.ops), ()))
        given = {var: k for k, var in enumerate(function.body.args)}
        arrays = [v for v in free if ir.is_array(v)]
        arrays.sort(key=lambda v: given.get(v, len(given)))
        by_var = {var: const for const, var in self.constants.items()}
        for v in arrays:
            self._give(v, by_var.get(v, v))
        known = set(arrays)
        for v in free:
            if v in known:
                continue
            if v in cells:
                self._load(v)
            elif v in loads:
                array = loads[v].array
                if array not in self.vars:
                    assert isinstance(array, ir.Var)
                    self._give(array, array)
                self.head.append(loads[v])
            elif v in literals:
                self._give(v, literals[v])
            elif not self._again(v, known):
                self._give(v, v)
                known.add(v)
        self.names = _unique(v.name for v in self.vars)

    def _without_constants(self, op: ir.Op) -> ir.Op:
        def array(operand: ir.Operand) -> ir.Operand:
            if not isinstance(operand, ir.Const) or not ir.is_array(operand):
                return operand
            return self.constants.setdefault(operand, ir.Var("constant", operand.type))

        def made(inner: ir.Op) -> ir.Op:
            return ir.with_parts(inner, [array(o) for o in inner.operands], inner.regions, inner.results)

        return ir.rewritten_op(op, made)

    def _give(self, var: ir.Var, argument: ir.Operand) -> None:
        self.vars.append(var)
        self.arguments.append(argument)

    def _load(self, number: ir.Var) -> None:
        cell = self._cells[number]
        if cell not in self.vars:
            self._give(cell, cell)
        self.head.append(ir.Load(array=cell, index=(), out=number))

    def _again(self, var: ir.Var, known: set[ir.Var]) -> bool:
        """Whether an integer is worked out in the kernel, from the extents of its arrays."""
        ops: list[ir.Op] = []
        if not self._made_of_extents(var, known, ops):
            return False
        self.head += ops
        known.update(out for op in ops for out in op.results)
        return True

    def _made_of_extents(self, operand: ir.Operand, known: set[ir.Var], ops: list[ir.Op]) -> bool:
        if isinstance(operand, ir.Const) or operand in known or any(operand in op.results for op in ops):
            return True
        op = self._made.get(operand)
        is_known = False
        if isinstance(op, ir.Extent):
            is_known = op.array in known
        elif isinstance(op, ir.Call) and op.callee in (operator.add, operator.sub):
            is_integer = isinstance(op.outs[0].type, types.Integer)
            is_known = is_integer and all(self._made_of_extents(a, known, ops) for a in op.args)
        if op is not None and is_known:
            ops.append(op)
        return is_known


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        own, count = name, 1
        while own in found:
            count += 1
            own = f"{name}_{count}"
        found.append(own)
    return tuple(found)
