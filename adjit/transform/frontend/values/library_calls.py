"""Calls that stay calls: matrix products, solves, sorts and everything else that numba has and no loop is written for.

In: a callee and operands. Out: its results as new variables.

    whole_call(ctx, np.linalg.solve, (%A, %b))  ->  %x, an array of the type that numba infers
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types

from adjit import errors
from adjit.rules.python.integers import product_of_integers
from adjit.transform import ir
from adjit.transform.frontend.values.checks import is_checked, require_elements, require_equal
from adjit.transform.frontend.values.elementwise import converted, operand
from adjit.transform.frontend.values.frame import Context, wrap
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import dtype, is_array, ndim
from adjit.transform.frontend.values.scalars import Options, name_of, no_such_call, wider
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value
from adjit.transform.ir.types import call_type, tuple_parts, unliteral
from adjit.transform.source.callables import spoken
from adjit.transform.source.parameters import listed, misfit


@functools.cache
def compiled(callee: Any) -> Any:
    """What numba can call: a plain Python function as a dispatcher."""
    return njit(callee) if isinstance(callee, FunctionType) else callee


def with_options(
    ctx: Context, callee: Any, args: Sequence[Value], named: Mapping[str, Value]
) -> tuple[list[ir.Operand], Options]:
    """The arguments of a call that stays one: operands by position, and what is known at compile time by name.

    A name before the last operand becomes a position; what is left out in between has its default written.
    """
    if not named and not any(isinstance(a, Static) for a in args):
        return [operand(ctx, a) for a in args], ()
    name = getattr(callee, "__name__", str(callee))
    try:
        signature = inspect.signature(callee)
    except (TypeError, ValueError):
        raise ctx.unsupported(
            f"keyword arguments of {name}",
            "Pass them by position.",
            why="The names of its arguments are not known.",
        ) from None
    parameters = signature.parameters
    given = dict(zip(parameters, args, strict=False)) | dict(named)
    if not given.keys() <= parameters.keys():
        raise ctx.unsupported(
            f"argument `{min(given.keys() - parameters.keys())}` of {name}",
            "Leave it out.",
            why=listed(signature),
        )
    problem = misfit(name, signature, len(args), named)
    if problem:
        raise ctx.fail(errors.WrongCall, problem, listed(signature), "Give each argument only once.")
    order = list(parameters)
    count = 1 + max((order.index(n) for n, v in given.items() if not isinstance(v, Static | ir.Const)), default=-1)
    operands = [operand(ctx, given.pop(n) if n in given else wrap(ctx, parameters[n].default)) for n in order[:count]]
    for n in order[count:]:
        if not isinstance(given.get(n), ir.Const):
            break
        operands.append(operand(ctx, given.pop(n)))
    return operands, tuple((n, _option(v.value)) for n, v in given.items() if isinstance(v, Static | ir.Const))


def _option(value: Any) -> Any:
    """What is written for an argument that is known: a type of Python's is a dtype."""
    return np.dtype(value).type if value in (float, int, bool) and isinstance(value, type) else value


def whole_call(
    ctx: Context, callee: Any, args: Sequence[ir.Operand], name: str = "", effect: bool = False, options: Options = ()
) -> Value:
    """A call on whole arrays (or numbers); tuples of results come back as such."""
    if callee in _PRODUCTS:
        if len(args) == 2 and all(is_array(a) and isinstance(dtype(a), types.Integer) for a in args):
            return ctx.inline(product_of_integers, args, {}, False, False)
        args = _of_one_type(ctx, args)
    _require_shapes(ctx, callee, args)
    given = tuple(a.type for a in args)
    callee = callee if call_type(callee, given, options) is not None else compiled(callee)
    type_ = call_type(callee, given, options)
    if type_ is None:
        raise no_such_call(ctx, callee, given, options)
    if callee is np.linalg.norm:
        args = [_forwards(ctx, args[0]), *args[1:]]
    name = name or name_of(callee)
    parts = tuple_parts(type_) if isinstance(type_, types.BaseTuple) else (type_,)
    if type_ == types.none:
        if any(isinstance(a.type, types.Array) for a in args):
            # what it does to the array nobody could undo or differentiate
            raise ctx.unsupported(
                f"{spoken(callee)}, which changes its argument", "Write the change as stores into the array."
            )
        ctx.builder.emit(ir.Call(callee=callee, args=tuple(args), outs=(), options=options, effect=True))
        return Static(None)
    outs = tuple(
        ir.Var(name if len(parts) == 1 else f"{name}_{k}", _result_type(callee, t, args)) for k, t in enumerate(parts)
    )
    for out in outs:
        if isinstance(getattr(out.type, "dtype", out.type), types.Complex):
            raise ctx.no_rule(f"{name}, which returns complex numbers,")
        if not isinstance(out.type, types.Array | types.Number | types.Boolean):
            raise ctx.unsupported(
                f"{spoken(callee)}, which returns {out.type}",
                "Write its operations out, with arrays.",
                why="It only takes numbers, arrays and tuples of them.",
            )
    ctx.builder.emit(ir.Call(callee=callee, args=tuple(args), outs=outs, options=options, effect=effect))
    for out in outs:
        if isinstance(out.type, types.Array):
            ctx.new_array(out, _known_shape(callee, args))
            ctx.ordered(out, () if is_in_c_order(callee) else args)
    return TupleValue(outs) if isinstance(type_, types.BaseTuple) else outs[0]


_PRODUCTS = (operator.matmul, np.dot, np.vdot)
_EXTREMES = (np.max, np.min, np.argmax, np.argmin)


def _require_shapes(ctx: Context, callee: Any, args: Sequence[ir.Operand]) -> None:
    """Checks the shapes of a call's arrays, as NumPy does. A product that nothing needs is not made, but checked."""
    if not is_checked(ctx):
        return
    if callee in _PRODUCTS and len(args) == 2 and all(is_array(a) and ndim(a) > 0 for a in args):
        left, right = map(ctx.shape, args)
        require_equal(ctx, left[-1], right[-2:][0], "the factors of a product do not fit: axes of length {} and {}")
    elif callee is np.linalg.solve and all(is_array(a) and ndim(a) > 0 for a in args):
        what = "the right side does not fit the matrix: axes of length {} and {}"
        require_equal(ctx, ctx.shape(args[0])[0], ctx.shape(args[1])[0], what)
    elif callee is np.interp and all(is_array(a) and ndim(a) == 1 for a in args[1:3]):
        what = "the points of np.interp and their values differ in length: {} and {}"
        require_equal(ctx, ctx.shape(args[1])[0], ctx.shape(args[2])[0], what)
    elif callee in _EXTREMES and is_array(args[0]):
        require_elements(ctx, ctx.shape(args[0]), f"{spoken(callee)} of an array without elements")


def _known_shape(callee: Any, args: Sequence[ir.Operand]) -> tuple[ir.Operand, ...] | None:
    """The shape of a grid, or of a unit matrix, that is known while compiling."""
    shape: tuple[ir.Operand, ...]
    if callee in (np.linspace, np.geomspace):
        shape = (args[2] if len(args) > 2 else ir.integer(50),)
    elif callee in (np.eye, np.identity):
        shape = (args[0], args[1] if len(args) > 1 else args[0])
    else:
        return None
    return shape if all(_is_extent(n) for n in shape) else None


def _is_extent(number: ir.Operand) -> bool:
    return isinstance(number, ir.Const) and isinstance(number.type, types.Integer) and number.value >= 0


def _of_one_type(ctx: Context, args: Sequence[ir.Operand]) -> list[ir.Operand]:
    """Factors with numbers of one type, a float, as BLAS multiplies them."""
    found = [dtype(a) for a in args]
    if (
        len(args) < 2
        or not all(is_array(a) for a in args)
        or (found[0] == found[1] and isinstance(found[0], types.Float))
    ):
        return list(args)
    if any(isinstance(kind, types.Float) for kind in found):
        kind = functools.reduce(wider, found)
        return [a if dtype(a) == kind else operand(ctx, converted(ctx, a, kind)) for a in args]
    return list(args)


def _forwards(ctx: Context, vector: ir.Operand) -> ir.Operand:
    """The vector, or a contiguous copy: numba's norm is wrong for vectors that run backwards through memory."""
    type_ = vector.type
    if not isinstance(type_, types.Array) or type_.ndim != 1 or type_.layout == "C":
        return vector
    out = ir.Var(ir.name_of(vector, "vector"), type_.copy(layout="C", readonly=False))
    ctx.builder.emit(ir.Copy(source=vector, out=out))
    return ctx.new_array(out, ctx.shape(vector))


def is_in_c_order(callee: Any) -> bool:
    """Whether NumPy's results are in C order whatever the order of the arguments."""
    return callee in (operator.matmul, np.dot) or getattr(callee, "__module__", "") == "numpy.linalg"


def _result_type(callee: Any, type_: types.Type, args: Sequence[ir.Operand]) -> types.Type:
    """The type of a result; where NumPy may have another order than numba, neither is promised."""
    made = unliteral(type_)
    if not isinstance(made, types.Array) or made.ndim < 2:
        return made
    is_like_another = not is_in_c_order(callee) and any(
        isinstance(a.type, types.Array) and a.type.ndim > 1 and a.type.layout != "C" for a in args
    )
    return made.copy(layout="A") if made.layout == "F" or is_like_another else made
