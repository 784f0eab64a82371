"""Affine forms as operations.

In: sums of variables and extents times integers. Out: operands, for which operations are emitted.

    n - 2 + 1        sub(%n, 1)
"""

from __future__ import annotations

import operator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine


class Writer(ir.Builder):
    """A builder that writes affine forms in variables, see `Iterations.in_variables`."""

    def __init__(self, origin: ir.Origin | None = None):
        super().__init__()
        self.origin = origin

    def integer(self, value: Affine) -> ir.Operand:
        """The operand that has the value of an affine form."""
        found: ir.Operand | None = None
        for symbol, factor in sorted(value.terms.items(), key=lambda item: item[1] < 0):
            operand = self.extent(*symbol) if isinstance(symbol, tuple) else symbol
            assert isinstance(operand, ir.Var)
            if abs(factor) != 1:
                operand = self.call(operator.mul, ir.integer(abs(factor)), operand, type=types.intp, name="scaled")
            if found is None:
                found = operand if factor > 0 else self.call(operator.neg, operand, type=types.intp, name="negated")
            else:
                callee = operator.add if factor > 0 else operator.sub
                found = self.call(callee, found, operand, type=types.intp, name="sum")
        if found is None:
            return ir.integer(value.constant)
        if value.constant:
            callee = operator.add if value.constant > 0 else operator.sub
            found = self.call(callee, found, ir.integer(abs(value.constant)), type=types.intp, name="sum")
        return found
