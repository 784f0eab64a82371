"""Both sweeps in one function, and what the passes after storage want to know of the primal.

`storage.py` makes it; `back_to_back.py` and `sums_in_variables.py` read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.storage.overwriting import Primal


@dataclass(frozen=True)
class Joint:
    """Both sweeps in one function: the value's leaves if asked for, then the adjoints.

    `shadows` has the shadow of each array that has one, `scratch` the arrays of which a trip of these loops has a part
    to itself, `tapes` how many axes the tapes of the loops of the outermost level have.
    """

    function: ir.Function
    shadows: dict[ir.Operand, ir.Var]
    scratch: dict[ir.Operand, Sequence[ir.For]]
    primal: Primal
    tapes: dict[ir.Op, int]
