"""Launches in a program are of arrays that share no memory, as their kernels were read.

In: a program with a mark before each launch. Out: the same without marks; Unsupported where arrays may overlap and the
launch stores to one of them.

    step[blocks, 64](p, p)          refused
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.elaborate import apart


def launched_apart(function: ir.Function) -> ir.Function:
    """The program without the marks of its launches."""
    marks = [op for op in function.body.inside if isinstance(op, ir.Call) and op.callee is apart]
    aliases = function.analysis(Aliases)
    for mark in marks:
        names = dict(mark.options)["names"]
        for k, one in enumerate(mark.args):
            for j, other in enumerate(mark.args[:k]):
                if aliases.is_written(one) and not aliases.are_distinct(one, other):
                    raise errors.Unsupported(
                        f"a launch whose arrays `{names[j]}` and `{names[k]}` may be the same memory",
                        ir.place_of(mark.origin),
                        "What a kernel stores may not be what another of its arguments holds.",
                        "Launch it with a copy: cuda.to_device(x), or x.copy().",
                    )
    gone: dict[ir.Op, Sequence[ir.Op]] = dict.fromkeys(marks, ())
    return ir.with_body(function, ir.replaced(function.body, gone))
