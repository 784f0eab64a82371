"""What is looked at between the steps of the road.

In: a function after a step. Out: the same function, verified or printed where the environment asks for that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from numba import types

from adjit import switches
from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.analysis.sums import is_sum
from adjit.transform.ir.printing import to_text
from adjit.transform.ir.verify import verify


def checked(function: ir.Function, step: str) -> ir.Function:
    """Passes a function on; with ADJIT_VERIFY=1 it is verified first, with ADJIT_DUMP=1 it is printed."""
    dump(step, lambda: to_text(function))
    if switches.is_on("ADJIT_VERIFY"):
        verify(function)
        _verify_orders(function, step)
    return function


def dump(step: str, text: Callable[[], str]) -> None:
    """With ADJIT_DUMP=1, prints what a step made."""
    if switches.is_on("ADJIT_DUMP"):
        print(f"---- {step}", text(), sep="\n", file=sys.stderr)


def _verify_orders(function: ir.Function, step: str) -> None:
    """A loop whose trips may run in any order adds to the numbers that it carries, and does no more."""
    for op in ir.walk(function.body):
        if isinstance(op, ir.For) and op.order_free and not op.is_mirror:
            for arg, made in zip(op.body.args[1:], op.body.yields, strict=True):
                if isinstance(arg.type, types.Float) and not is_sum(arg, made, op.body):
                    raise InternalError(f"{step}: iterations in any order carry `{arg.name}`, which is not a sum")
