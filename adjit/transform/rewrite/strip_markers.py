"""What was held fixed while derivatives were made is itself again once there are no more to be made.

In: a function. Out: the same without `held`, without marks of places and, but for a GPU, without `distinct`.

    %y = call held(%x); return %y * %x         return %x * %x
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection

from adjit.runtime.library import distinct, held
from adjit.transform import ir
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked


def without_stop_gradient(function: ir.Function, for_gpu: bool = False) -> ir.Function:
    """The function without calls of `held`; `for_gpu`: what is promised of indices is still to be asked."""
    gone = (held,) if for_gpu else (held, distinct)
    body = ir.rewritten(function.body, functools.partial(_released, gone))
    return function if body is function.body else checked(simplify(ir.with_body(function, body)), "released")


def _released(gone: tuple[object, ...], op: ir.Op) -> ir.Op:
    if isinstance(op, ir.Call) and op.callee in gone:
        return dataclasses.replace(op, callee=ir.cast)
    return passed(op)


def without_places(function: ir.Function) -> ir.Function:
    """The function without marks of places, once their adjoints are there."""
    body = ir.rewritten(function.body, passed)
    return function if body is function.body else checked(simplify(ir.with_body(function, body)), "unmarked places")


def drop_unrequested_intermediates(function: ir.Function, asked: Collection[str]) -> ir.Function:
    """The function without the names of places, but for those that are asked for."""

    def without(op: ir.Op) -> ir.Op:
        is_place = isinstance(op, ir.Call) and isinstance(op.callee, ir.Place)
        return passed(op) if is_place and op.callee.adjit_rules is None and op.callee.name not in asked else op  # type: ignore[attr-defined]

    return ir.with_body(function, ir.rewritten(function.body, without))


def counting(function: ir.Function) -> ir.Function:
    """The function without `held` of integers and booleans, which never carry a derivative: it said that what they
    decide is meant to be fixed."""

    def without(op: ir.Op) -> ir.Op:
        if isinstance(op, ir.Call) and op.callee is held and not ir.is_float(op.outs[0].type):
            return dataclasses.replace(op, callee=ir.cast)
        return op

    return ir.with_body(function, ir.rewritten(function.body, without))


def names_of_places(function: ir.Function) -> list[str]:
    """The names of the places in it, in order."""
    calls = (op.callee for op in function.body.inside if isinstance(op, ir.Call))
    return list(dict.fromkeys(place.name for place in calls if isinstance(place, ir.Place) and place.name))


def passed(op: ir.Op) -> ir.Op:
    """A call that only marks a place, as what it does: it gives what it takes."""
    if not isinstance(op, ir.Call) or not isinstance(op.callee, ir.Place):
        return op
    if ir.is_array(op.outs[0]):
        return ir.Copy(source=op.args[0], out=op.outs[0], origin=op.origin)
    return dataclasses.replace(op, callee=ir.cast, args=op.args[:1])
