"""Affine forms as operations.

In: sums of variables and extents times integers. Out: operands, for which operations are emitted.

    n - 2 + 1        sub(%n, 1)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Symbol


class Writer(ir.Builder):
    """A builder that writes affine forms in variables, see `Iterations.in_variables`. `name`: of all that it makes."""

    def __init__(self, origin: ir.Origin | None = None, name: str = ""):
        super().__init__(origin)
        self.name = name

    def integer(self, value: Affine) -> ir.Operand:
        """The operand that has the value of an affine form."""
        found: ir.Operand | None = None
        for symbol, factor in sorted(value.terms.items(), key=lambda item: item[1] < 0):
            operand = self.symbol(symbol)
            if abs(factor) != 1:
                operand = self._made(operator.mul, "scaled", ir.integer(abs(factor)), operand)
            if found is not None:
                found = self._sum(found, operand, factor)
            else:
                found = operand if factor > 0 else self._made(operator.neg, "negated", operand)
        if found is None:
            return ir.integer(value.constant)
        return self._sum(found, ir.integer(abs(value.constant)), value.constant) if value.constant else found

    def symbol(self, symbol: Symbol) -> ir.Operand:
        """The operand that a symbol stands for."""
        if isinstance(symbol, tuple):
            return self.extent(*symbol)
        assert isinstance(symbol, ir.Var)
        return symbol

    def box(
        self,
        loops: Sequence[ir.For],
        bounds: Sequence[tuple[Affine, Affine]],
        body: Callable[[tuple[ir.Var, ...]], None],
        with_threads: bool = True,
        counters: tuple[ir.Var, ...] = (),
    ) -> None:
        """A nest with these bounds, named as `loops` are, and parallel as those; `counters`: of the loops around."""
        if len(counters) == len(loops):
            body(counters)
            return
        like, (start, stop) = loops[len(counters)], map(self.integer, bounds[len(counters)])
        parallel = like.parallel and with_threads
        with self.loop(stop, like.body.args[0].name, start=start, order_free=True, parallel=parallel) as counter:
            self.box(loops, bounds, body, with_threads, (*counters, counter))

    def _sum(self, left: ir.Operand, right: ir.Operand, sign: int) -> ir.Operand:
        return self._made(operator.add if sign > 0 else operator.sub, "sum", left, right)

    def _made(self, callee: object, name: str, *args: ir.Operand) -> ir.Operand:
        return self.call(callee, *args, type=types.intp, name=self.name or name)
