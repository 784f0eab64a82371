"""Places where a derivative asks for nan or infinity, which fast math may take there to be none of.

In: the derivative's IR. Out: a row for each statement: its line, its text, what is asked for.

    s = np.sqrt(x)      L3      an adjoint of zero, times an infinite partial, is zero
    s[0] = 1.0
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping

import numpy as np

from adjit.transform import ir
from adjit.transform.analysis.uses import Uses

_ASKED = {np.isnan: "nan", math.isnan: "nan", np.isinf: "inf", math.isinf: "inf", np.isfinite: "both"}
_ASKED |= {math.isfinite: "both"}
_WORDS = {
    "guard": "zero times a derivative that is not finite is zero",
    "nan": "the program tests for nan",
    "inf": "the program tests for infinity",
    "both": "the program tests for nan and infinity",
}


def guards(function: ir.Function) -> tuple[tuple[int, str, str], ...]:
    """The line, the text and what is asked for there, in the order of lines."""
    uses = function.analysis(Uses)
    found: dict[tuple[int, str, str], None] = {}
    for op in function.body.inside:
        if not isinstance(op, ir.Call) or op.origin is None:
            continue
        kind = _ASKED.get(op.callee) if callable(op.callee) and op.callee.__hash__ else None
        if kind is not None:
            kind = "guard" if _is_guard(op, uses, function.body.made) else kind
            found[op.origin.line, op.origin.text.strip(), _WORDS[kind]] = None
    return tuple(sorted(found))


def _is_guard(asked: ir.Call, uses: Uses, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether it is asked of a product whose first factor may be zero, as `derive/nan_safe.py` writes it."""
    users = uses.users.get(asked.outs[0], [])
    tests = [made.get(op.args[0]) for op in users if isinstance(op, ir.Call) and op.callee is operator.and_]
    are_of_zero = (isinstance(t, ir.Call) and t.callee is operator.eq and ir.is_literal(t.args[1], 0) for t in tests)
    return bool(users) and len(tests) == len(users) and all(are_of_zero)
