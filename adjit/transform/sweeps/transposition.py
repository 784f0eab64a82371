"""The adjoint of an op from its tangent equation, which is linear in the tangents: reverse mode transposes it.

In: a call, the rule for its tangent, the arguments that are active. Out: a function from the adjoint of the result to
those of the arguments.

    x_dot = solve(A, b_dot - A_dot @ x)     ->     w = solve(A.T, x_bar);  b_bar = w;  A_bar = -outer(w, x)
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.adjoints import Compiler
from adjit.transform.derive.reverse import reverse
from adjit.transform.derive.rule_bodies import tangent_body
from adjit.transform.frontend.values.numbers import is_array
from adjit.transform.ir.types import array_type_of, writable
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.storage import join
from adjit.transform.strategy import CHEAPEST

_KEPT: dict[Any, ir.Function] = {}


def transposed_tangent(
    op: ir.Call, rule: Any, active: tuple[int, ...], flowing: tuple[int, ...], compiler: Compiler
) -> ir.Function:
    """A function of (arguments, results, adjoints of the results `flowing`): the adjoints of the arguments `active`.

    Arguments that are literals stay so and are no parameters.
    """
    given = tuple(a if isinstance(a, ir.Const) else a.type for a in op.args)
    key = (rule, given, tuple(o.type for o in op.outs), active, flowing)
    if key not in _KEPT:
        _KEPT[key] = _transpose(op, rule, active, flowing, compiler)
    return _KEPT[key]


def _transpose(
    op: ir.Call, rule: Any, active: tuple[int, ...], flowing: tuple[int, ...], compiler: Compiler
) -> ir.Function:
    args: list[ir.Operand] = [a if isinstance(a, ir.Const) else ir.Var(f"a{k}", a.type) for k, a in enumerate(op.args)]
    outs = [ir.Var(o.name, o.type) for o in op.outs]
    bars = {k: ir.Var(f"{op.outs[k].name}_bar", writable(op.outs[k].type)) for k in flowing}
    dots = {k: ir.Var(f"a{k}_dot", writable(op.args[k].type)) for k in active}
    builder = ir.Builder()
    wanted = [k in flowing for k in range(len(outs))]
    values = tangent_body(builder, rule, args, dict(dots), outs, compiler.derivative, wanted)
    yields = [value for value in values if isinstance(value, ir.Var | ir.Const)]
    if len(yields) < len(values):
        raise InternalError(f"the tangent rule {rule.__name__} returns something that is neither a number nor an array")
    params = (*(a for a in args if isinstance(a, ir.Var)), *outs, *dots.values())
    body = ir.Region(params, tuple(builder.ops), tuple(yields))
    function = simplify(_function(rule, body, tuple(range(len(yields)))))
    sweeps = reverse(function, tuple(dots.values()), [bars.get(k) for k in range(len(outs))], compiler)
    joint = join(sweeps, extra_params=tuple(bars.values()), with_value=False, strategy=CHEAPEST).function
    # the equation is linear: of a tangent nothing is left in its transpose but its shape, which is that of its argument
    shapes: dict[ir.Var, ir.Operand] = {dot: args[k] for k, dot in dots.items()}
    region = _shapes_alone(joint.body, Activity(function, dots.values(), function.body.yields).is_varied)
    body = ir.Region(
        tuple(p for p in region.args if p not in dots.values()),
        tuple(ir.unpaired(ir.substituted(o, shapes)) for o in region.ops if not isinstance(o, ir.Comment)),
        tuple(ir.substituted_operand(y, shapes) for y in region.yields),
    )
    return simplify(_function(rule, body, joint.result))


def _function(rule: Any, body: ir.Region, result: ir.Tree) -> ir.Function:
    return ir.Function(rule.__name__, tuple(p.name for p in body.args), body.args, body, result)


def _shapes_alone(region: ir.Region, is_varied: Callable[[ir.Operand], bool]) -> ir.Region:
    """The same region, in which matrices made of tangents have shapes but no elements: nothing reads those."""
    builder = ir.Builder()
    shapes: dict[ir.Var, tuple[ir.Operand, ...]] = {}
    for op in region.ops:
        if isinstance(op, ir.Call) and len(op.outs) == 1 and is_varied(op.outs[0]) and (axes := _axes_of(op)):
            (out,) = op.outs
            assert isinstance(out.type, types.Array)
            shapes[out] = tuple(builder.extent(array, axis) for array, axis in axes)
            if out.type.layout == "C":
                builder.emit(ir.Alloc(shape=shapes[out], out=out))
            else:
                turned = ir.Var(out.name, out.type.copy(layout="C"))
                builder.emit(ir.Alloc(shape=shapes[out][::-1], out=turned))
                builder.emit(ir.Transpose(base=turned, axes=tuple(reversed(range(out.type.ndim))), out=out))
        elif isinstance(op, ir.Alloc):
            if op.like in shapes and array_type_of(op.out).layout == "C":
                op = dataclasses.replace(op, like=None, shape=shapes[op.like])
            if op.like is None:
                shapes[op.out] = op.shape
            builder.emit(op)
        else:
            builder.emit(ir.with_regions(op, [_shapes_alone(r, is_varied) for r in op.regions]))
    return ir.Region(region.args, tuple(builder.ops), region.yields)


def _axes_of(op: ir.Call) -> list[tuple[ir.Operand, int]]:
    """For each axis of an op's result the array and the axis that it is as long as; none if that is not known."""
    if not is_array(op.outs[0]) or op.callee not in (np.dot, operator.matmul, np.linalg.solve):
        return []
    left, right = op.args
    assert isinstance(left.type, types.Array)
    assert isinstance(right.type, types.Array)
    if op.callee is np.linalg.solve:
        return [(right, axis) for axis in range(right.type.ndim)]
    return [(left, 0)] * (left.type.ndim == 2) + [(right, 1)] * (right.type.ndim == 2)
