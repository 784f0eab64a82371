"""Order of evaluation: what is evaluated first is what it was before anything that is evaluated after it.

In: values, and where the operations begin that came after them. Out: the same values; one that is still an expression,
and would read what those operations store, is computed before them.

    (x + 1.0) * grow(x)      values = x + 1.0, in a loop;  the call, which writes into x;  values * its result

Arrays are references, as in Python: in `x + grow(x)` the sum is that of the elements that `grow` left in x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from adjit.transform import ir
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.numbers import Lazy
from adjit.transform.frontend.values.ranges import NdIndex, Zip
from adjit.transform.frontend.values.statics import Method
from adjit.transform.frontend.values.values import Value


def in_order(ctx: Context, evaluations: Sequence[Callable[[], Value]]) -> list[Value]:
    """What the evaluations give, one after the other."""
    values: list[Value] = []
    marks: list[int] = []
    for evaluation in evaluations:
        values.append(evaluation())
        marks.append(len(ctx.builder.ops))
    # from the last one, since what is put in moves all that stands behind it
    for k in range(len(values) - 2, -1, -1):
        values[k] = settled(ctx, values[k], marks[k])
    return values


def settled(ctx: Context, value: Value, mark: int) -> Value:
    """`value`, which was evaluated before the operations from `mark` on."""
    if not is_overwritten(ctx, _sources(value), mark):
        return value
    return inserted(ctx, mark, lambda: materialise(ctx, value))


def inserted(ctx: Context, mark: int, make: Callable[[], Value]) -> Value:
    """What `make` gives, whose operations come before those from `mark` on."""
    with ctx.builder.region() as ops:
        value = make()
    ctx.builder.ops[mark:mark] = ops
    return value


def is_overwritten(ctx: Context, arrays: Iterable[ir.Operand], mark: int) -> bool:
    """Whether the operations from `mark` on may store into one of `arrays`, which were there before."""
    arrays = list(arrays)
    return bool(arrays) and any(ctx.may_alias(a, w) for w in stored_to(ctx, ctx.builder.ops[mark:]) for a in arrays)


def stored_to(ctx: Context, ops: Iterable[ir.Op]) -> list[ir.Operand]:
    """The arrays into which `ops` store and that they did not make themselves."""
    inside = [each for op in ops for each in ir.with_inner(op)]
    made = {result for op in inside for result in op.results}
    return [w for op in inside for w in _written(op) if not ctx.roots_of(w) <= made]


def _written(op: ir.Op) -> Iterator[ir.Operand]:
    target = op.memory_written
    if target is not None:
        yield target
    elif isinstance(op, ir.Call) and op.effect:
        yield from filter(ir.is_reference, op.args)


def _sources(value: Value | None) -> Iterator[ir.Operand]:
    """The arrays that a value will read when it is computed; an array itself is a reference, and reads nothing."""
    if isinstance(value, Lazy):
        yield from value.sources
    elif isinstance(value, Method):
        yield from _sources(value.owner)
    elif isinstance(value, Zip):
        for part in value.parts:
            yield from _sources(part)
    elif isinstance(value, NdIndex):
        for array in value.arrays:
            yield from _sources(array)
