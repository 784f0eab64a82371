"""A gradient that is stored into arrays of the caller's.

In: a gradient, and a parameter for each array that it returns. Out: the function that stores there, and returns them.

    def energy_grad(x):                      def energy_grad_into(x, x_bar):
        x_bar = np.zeros_like(x)                 check_output(x_bar, x)
        ...                                      x_bar[:] = 0.0, as a loop; ...
        return x_bar                             return x_bar

An adjoint that the function allocates for itself is accumulated in the caller's array at once, others (a product, say)
are copied there at the end. What is given may not overlap with an argument, which is checked at run time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from numba import types

from adjit.errors import TypeMismatch
from adjit.notation import to_text
from adjit.runtime.library import check_apart, check_output, check_separate
from adjit.transform import ir
from adjit.transform.ir.types import array_type_of


class _Target(NamedTuple):
    """`output` takes the yield at `place`, which is the adjoint of `argument`."""

    place: int
    argument: ir.Var
    output: ir.Var


def into(
    function: ir.Function, arguments: Sequence[ir.Tree], outputs: Sequence[ir.Tree], names: Sequence[str], offset: int
) -> ir.Function:
    """The function with parameters `outputs`, called `names`, which it returns in place of arrays of its own.

    From `offset` on, the yields are the adjoints of the floats in `arguments`, in order. TypeMismatch if an output is
    not built like its argument.
    """
    body = function.body
    targets = list(_targets(arguments, outputs, names, offset))
    yields, taken, last = list(body.yields), dict[ir.Var, ir.Operand](), list[ir.Op]()
    for place, _, output in targets:
        made = yields[place]
        if isinstance(made, ir.Var) and made.type == output.type and _is_allocated(body, made):
            taken[made] = output
        else:
            last += _filled(output, made)
        yields[place] = output
    ops = _checks(body, targets)
    for op in body.ops:
        if isinstance(op, ir.Alloc) and op.out in taken:
            ops += [] if op.fill is None else _filled(taken[op.out], op.fill)
        else:
            ops.append(ir.substituted(op, taken))
    parameters = (*body.args, *ir.leaves(tuple(outputs)))
    return dataclasses.replace(
        function,
        names=(*function.names, *names),
        params=(*function.params, *outputs),
        body=ir.Region(parameters, (*ops, *last), tuple(yields)),
    )


def _targets(
    arguments: Sequence[ir.Tree], outputs: Sequence[ir.Tree], names: Sequence[str], offset: int
) -> Iterator[_Target]:
    place = offset
    for argument, output, name in zip(arguments, outputs, names, strict=True):
        if _nesting(argument) != _nesting(output):
            raise TypeMismatch(
                f"`{name}`, in `out`, is not structured like its argument",
                instead="Give a tuple where the argument is one.",
            )
        for leaf, taker in zip(ir.leaves(argument), ir.leaves(output), strict=True):
            has_adjoint = ir.is_float(leaf.type)
            has_array = has_adjoint and ir.is_array(leaf)
            if not (_takes(taker.type, leaf.type) if has_array else isinstance(taker.type, types.NoneType)):
                wanted = leaf.type if has_array else types.none
                raise TypeMismatch(
                    f"`{name}`, in `out`, is of type {to_text(taker.type)}, not {to_text(wanted)}",
                    instead="Pass a writable array like the argument for an array, and None for a number.",
                )
            if has_array:
                yield _Target(place, leaf, taker)
            place += has_adjoint


def _nesting(tree: ir.Tree) -> ir.Tree:
    return ir.map_tree(lambda leaf: None, tree)


def _takes(output: ir.Type, argument: types.Array) -> bool:
    """Whether an output has the type for the adjoint of an argument; the layout is its own."""
    if not isinstance(output, types.Array) or not output.mutable:
        return False
    return output.dtype == argument.dtype and output.ndim == argument.ndim


def _is_allocated(body: ir.Region, made: ir.Var) -> bool:
    """Whether the body allocates the array itself, and returns it once."""
    is_own = any(isinstance(op, ir.Alloc) and op.out is made for op in body.ops)
    return is_own and sum(y is made for y in body.yields) == 1


def _checks(body: ir.Region, targets: Sequence[_Target]) -> list[ir.Op]:
    """Each output has the shape of its argument, and shares memory with no argument and no other output."""
    arrays = [p for p in body.args if isinstance(p.type, types.Array)]
    checks: list[ir.Op] = []
    for _, argument, output in targets:
        checks.append(ir.Call(callee=check_output, args=(output, argument), outs=(), effect=True))
        if array_type_of(output).layout == "A":
            checks.append(ir.Call(callee=check_apart, args=(output,), outs=(), effect=True))
        checks += [ir.Call(callee=check_separate, args=(output, other), outs=(), effect=True) for other in arrays]
        arrays.append(output)
    return checks


def _filled(output: ir.Operand, source: ir.Operand) -> list[ir.Op]:
    """The array filled with a number, or with the elements of another array."""
    builder = ir.Builder()

    def fill(index: tuple[ir.Var, ...]) -> None:
        builder.store(output, index, builder.load(source, index) if ir.is_array(source) else source)

    builder.nest(builder.shape(output), fill)
    return builder.ops
