"""What was held fixed while derivatives were made is itself again once there are no more to be made.

In: a function. Out: the same without `held`, and, but for a GPU, without `distinct`.

    %y = call held(%x); return %y * %x         return %x * %x
"""

from __future__ import annotations

import dataclasses
import functools

from adjit.runtime.library import distinct, held
from adjit.transform import ir
from adjit.transform.rewrite.checked import checked
from adjit.transform.rewrite.simplify import simplify


def released(function: ir.Function, for_gpu: bool = False) -> ir.Function:
    """The function without calls of `held`; `for_gpu`: what is promised of indices is still to be asked."""
    gone = (held,) if for_gpu else (held, distinct)
    body = ir.rewritten(function.body, functools.partial(_released, gone))
    return function if body is function.body else checked(simplify(ir.with_body(function, body)), "released")


def _released(gone: tuple[object, ...], op: ir.Op) -> ir.Op:
    if isinstance(op, ir.Call) and op.callee in gone:
        return dataclasses.replace(op, callee=ir.cast)
    return op
