"""What was held fixed while derivatives were made is itself again once there are no more to be made.

In: a function. Out: the same without `held`.

    %y = call held(%x); return %y * %x         return %x * %x
"""

from __future__ import annotations

import dataclasses

from adjit.runtime.library import held
from adjit.transform import ir
from adjit.transform.rewrite.checked import checked
from adjit.transform.rewrite.simplify import simplify


def released(function: ir.Function) -> ir.Function:
    """The function without calls of `held`."""
    body = ir.rewritten(function.body, _released)
    return function if body is function.body else checked(simplify(ir.with_body(function, body)), "released")


def _released(op: ir.Op) -> ir.Op:
    if isinstance(op, ir.Call) and op.callee is held:
        return dataclasses.replace(op, callee=ir.cast)
    return op
