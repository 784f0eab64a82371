"""Launches in a program are of arrays that share no memory, as their kernels were read.

In: a program with marks around each launch, of which the second says what each array is called in the kernel. Out: the
same without marks; Unsupported where an array that the launch stores to may overlap with another one.

    step[blocks, 64](p, p)          refused
    dot[blocks, 64](r, r, total)    not: what is only loaded may be one array
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases, stored_in
from adjit.transform.elaborate import apart, begun


def launched_apart(function: ir.Function) -> ir.Function:
    """The program without the marks of its launches."""
    aliases = function.analysis(Aliases)
    marks: list[ir.Op] = []
    for region in (function.body, *(r for op in function.body.inside for r in op.regions)):
        begins = [k for k, op in enumerate(region.ops) if _is_mark(op, begun)]
        ends = [k for k, op in enumerate(region.ops) if _is_mark(op, apart)]
        for first, last in zip(begins, ends, strict=True):
            _check(region.ops[last], stored_in(region.ops[first:last]), aliases)
        marks += [region.ops[k] for k in (*begins, *ends)]
    gone: dict[ir.Op, Sequence[ir.Op]] = dict.fromkeys(marks, ())
    return ir.with_body(function, ir.replaced(function.body, gone))


def _is_mark(op: ir.Op, callee: object) -> bool:
    return isinstance(op, ir.Call) and op.callee is callee


def _check(mark: ir.Op, stored: set[ir.Operand], aliases: Aliases) -> None:
    """Unsupported if one of the arrays that the launch stores to may overlap with another one."""
    assert isinstance(mark, ir.Call)
    names = dict(mark.options)["names"]
    for k, one in enumerate(mark.args):
        for j, other in enumerate(mark.args[:k]):
            if not stored.isdisjoint((one, other)) and not aliases.are_distinct(one, other):
                raise errors.Unsupported(
                    f"a launch whose arrays `{names[j]}` and `{names[k]}` may be the same memory",
                    ir.place_of(mark.origin),
                    "The kernel stores to one of them.",
                    "Launch it with a copy: cuda.to_device(x), or x.copy().",
                )
