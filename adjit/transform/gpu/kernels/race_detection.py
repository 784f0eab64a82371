"""Races that can be seen: two threads of a block at one element between two barriers, one of them storing.

In: a kernel as a nest. Out: nothing, or Unsupported at the line of the store.

    for t: x[0] += 1.0                         a race
    for t: part[t] = x[t]; y[t] = part[7 - t]      a race
    for t: y[k[t]] = x[t]                      not known: the kernel has none, or is wrong already

A kernel is taken to have no races, which its mirror rests on: within a stretch, what a thread stores to is its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.elements import IndexModel


def check_races(function: ir.Function) -> None:
    """Raises Unsupported where two threads of a block are sure to touch one element, which one of them stores to."""
    model = function.analysis(IndexModel)
    for axes in _stretches(function.body):
        inside = [op for op in axes[-1].body.inside if isinstance(op, ir.Load | ir.Store)]
        made = axes[-1].body.defines
        for store in inside:
            if not isinstance(store, ir.Store) or _is_atomic(store) or store.array in made:
                continue
            for op in inside:
                if _names_same(op, store) and model.surely_meet(axes, op, store):
                    raise _race(store, op)


def _stretches(region: ir.Region) -> Iterator[list[ir.For]]:
    """The loops over threads, those of the axes of one block together."""
    for op in region.ops:
        if isinstance(op, ir.For) and op.level == "threads":
            axes = [op]
            while len(inner := axes[-1].body.ops) == 1 and isinstance(inner[0], ir.For) and inner[0].level == "threads":
                axes.append(inner[0])
            yield axes
        else:
            for inside in op.regions:
                yield from _stretches(inside)


def _is_atomic(op: ir.Op) -> bool:
    return isinstance(op, ir.Store) and ((op.add and not op.promised) or bool(op.extreme))


def _names_same(op: ir.Load | ir.Store, store: ir.Store) -> bool:
    """Whether it is about the array that is stored to, by its name, and not a note of what the other does already."""
    return op.array is store.array


def _race(store: ir.Store, other: ir.Op) -> errors.AdjitError:
    name = ir.name_of(store.array, "an array")
    if other is store:
        what = f"all threads store to one element of `{name}`"
        instead = "To add up, use cuda.atomic.add. Otherwise let one thread store: if cuda.threadIdx.x == 0: ..."
    else:
        verb = "loads" if isinstance(other, ir.Load) else "stores to"
        line = "" if other.origin is None else f" (L{other.origin.line}: {other.origin.text})"
        what = f"a thread stores to an element of `{name}` that another one {verb}{line}"
        instead = "Put cuda.syncthreads() between the two."
    why = "There is no barrier between the two, so the result depends on the order of the threads."
    return errors.Unsupported(what, ir.place_of(store.origin), why, instead)
