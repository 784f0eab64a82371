"""What one thread of a kernel does, as a function that the kernel calls.

In: a function. Out: the same, in which arrays of literal shape are the thread's own, and nothing raises, grows or
calls what a kernel cannot; Unsupported, at its line, where that is not so.

    tape = np.empty(3)           tape = cuda.local.array(3, np.float64)
    return tape                  refused: whose memory would it be?
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

from adjit.errors import Unsupported
from adjit.runtime.library import check_apart, check_output, check_separate
from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check
from adjit.transform.gpu.bounded_tapes import with_bounded_tapes
from adjit.transform.gpu.callees import in_kernel
from adjit.transform.gpu.preparation import prepared
from adjit.transform.ir.printing import callee_name
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.verified import checked

MOST_LOCAL = 4096  # bytes of an array of a thread's own
_WHERE = "in a function that kernels call"


def in_a_thread(function: ir.Function) -> ir.Function:
    """The function for one thread. What is stored into may not overlap with what is read: nothing checks that."""
    function = with_bounded_tapes(prepared(function), of_thread=True)
    _check_results(function)
    own = functools.partial(_own, function, function.analysis(Iterations))
    return checked(ir.with_body(function, ir.rewritten(function.body, own)), "in a thread")


def _check_results(function: ir.Function) -> None:
    """Unsupported where an array is returned that the function makes."""
    aliases = function.analysis(Aliases)
    made = {aliases.find(op.out): op for op in function.body.inside if isinstance(op, ir.Alloc | ir.Copy)}
    for y in function.body.yields:
        if ir.is_array(y) and (op := made.get(aliases.find(y))) is not None:
            raise Unsupported(
                f"an array that {function.name} returns, {_WHERE}",
                ir.place_of(_origin(function, op)),
                "Its memory is freed when the function returns.",
                "Return a tuple of numbers, or pass an array for the gradient and call `.into` of grad.",
            )


def _origin(function: ir.Function, op: ir.Op) -> ir.Origin | None:
    """Where an operation is from, or, if it is of the derivative alone, the first that uses what it makes."""
    users = (other for other in function.body.inside if any(o in op.results for o in other.operands))
    return next((each.origin for each in (op, *users) if each.origin is not None), function.origin)


def _own(function: ir.Function, iterations: Iterations, op: ir.Op) -> ir.Op | Sequence[ir.Op]:
    if isinstance(op, ir.Alloc | ir.Copy):
        return _local(op, _literal(function, op, iterations))
    if isinstance(op, ir.For) and op.parallel:
        return dataclasses.replace(op, parallel=False)
    if isinstance(op, ir.NewTape | ir.Push | ir.Pull):
        raise Unsupported(
            f"a loop with an unknown number of iterations whose reverse needs its values, {_WHERE}",
            ir.place_of(_origin(function, op)),
            "Kernels cannot allocate memory for the values.",
            "Give the loop a literal number of iterations, or use forward mode: adjit.jacfwd.",
        )
    if isinstance(op, ir.Raise):
        raise Unsupported(f"`raise` {_WHERE}", ir.place_of(op.origin), "", "Return nan instead.")
    if isinstance(op, ir.Call):
        if op.callee in (check_apart, check_output, check_separate):
            return []
        _check_call(function, op)
    return op


def _check_call(function: ir.Function, op: ir.Call) -> None:
    """Unsupported for calls that no thread can make."""
    place, name = ir.place_of(_origin(function, op)), callee_name(op.callee)
    if is_check(op):
        raise Unsupported(
            f"an array statement whose shapes may not fit, {_WHERE}",
            place,
            "It would have to raise an error, and kernels cannot.",
            "Write a loop over indices.",
        )
    if any(map(ir.is_reference, (*op.args, *op.outs))):
        raise Unsupported(f"{name} of whole arrays, {_WHERE}", place, "", "Write it as loops.")
    if op.effect or in_kernel(op.callee, len(op.args)) is None:
        raise Unsupported(
            f"{name} {_WHERE}", place, "Kernels do not support it.", "Use operators and functions of math."
        )


def _literal(function: ir.Function, op: ir.Alloc | ir.Copy, iterations: Iterations) -> tuple[int, ...]:
    """The extents of an array that the function makes; Unsupported where they are no literals, or too many."""
    own = array_type_of(op.out)
    if isinstance(op, ir.Alloc) and op.like is None:
        given = [iterations.value(extent) for extent in op.shape]
    else:
        given = [iterations.extent(op.out, axis) for axis in range(own.ndim)]
    shown = [None if extent is None else iterations.in_variables(extent) for extent in given]
    literal = tuple(extent.constant for extent in shown if extent is not None and extent.is_constant)
    if len(literal) < own.ndim:
        role = op.role if isinstance(op, ir.Alloc) else None
        is_tape = role is not None and role.kind == "tape"
        raise Unsupported(
            f"{'values of a loop for its reverse' if is_tape else f'the array `{op.out.name}`'}, whose number is "
            f"not known at compile time, {_WHERE}",
            ir.place_of(_origin(function, op)),
            "A thread allocates no memory.",
            "Give the loop a literal number of iterations, or use forward mode: adjit.jacfwd."
            if is_tape
            else "Give it a literal shape, or use a tuple of numbers.",
        )
    size = math.prod(literal) * getattr(own.dtype, "bitwidth", 8) // 8
    if size > MOST_LOCAL:
        raise Unsupported(
            f"an array of {size:,} bytes, {_WHERE}",
            ir.place_of(_origin(function, op)),
            f"A thread has at most {MOST_LOCAL:,} bytes of local memory.",
            "Make it smaller, or write a kernel that keeps it in an array with an axis for the threads.",
        )
    return literal


def _local(op: ir.Alloc | ir.Copy, shape: Sequence[int]) -> Sequence[ir.Op]:
    """The array in the thread's own memory, with what it holds at first."""
    builder = ir.Builder(op.origin)
    builder.emit(ir.Alloc(shape=tuple(map(ir.integer, shape)), out=op.out))
    if isinstance(op, ir.Copy):
        source = op.source
        builder.nest(builder.shape(op.out), lambda at: builder.store(op.out, at, builder.load(source, at)))
    elif op.fill is not None:
        fill = op.fill
        builder.nest(builder.shape(op.out), lambda at: builder.store(op.out, at, fill))
    return builder.ops
