"""Values that a trip of a loop either hands on or replaces: running extrema, the last element that fits.

In: a function. Out: the same, with the place, the counter of the trip that replaced it last, beside each such value;
and of a loop, these values with their places, for its mirror.

    for j in range(n):                        for j in range(n):
        largest = max(largest, x[j])              place = j if x[j] > largest else place
                                                  largest = max(largest, x[j])
                                              ...
                                              for j in range(n):
                                                  x_bar[j] += largest_bar if j == place else 0.0

The adjoint goes whole to what the place tells, so that of all trips nothing else is kept, and no trip of the mirror
waits for another. Ties are decided by the comparison itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.choices import COMPARISONS, Choice, choice_of


@dataclass(frozen=True)
class Placed:
    """A choice, its place after the loop, and what that is where no trip replaced anything."""

    choice: Choice
    place: ir.Var
    nowhere: ir.Const


def with_places(function: ir.Function) -> ir.Function:
    """The function with the place of each choice among what its loop carries."""

    aliases = function.analysis(Aliases)

    def made(op: ir.Op) -> ir.Op:
        return _with_places(op, aliases) if isinstance(op, ir.For) else op

    body = ir.rewritten(function.body, made)
    return function if body is function.body else dataclasses.replace(function, body=body)


def _with_places(given: ir.For, aliases: Aliases) -> ir.For:
    nowhere = _nowhere(given)
    if nowhere is None or not any(isinstance(arg.type, types.Float) for arg in given.body.args):
        return given
    loop = _with_elements_before(given, aliases)
    choices = list(_choices(loop))
    if not choices:
        return given
    slots: list[ir.Slot] = []
    before: dict[ir.Op, list[ir.Op]] = {}
    for choice in choices:
        name = f"{choice.slot.arg.name}_place"
        arg, out = ir.Var(name, types.intp), ir.Var(name, types.intp)
        builder = ir.Builder(choice.op.origin)
        is_taken = choice.operands[0]
        if choice.test is not None:
            is_taken = builder.call(choice.test, *choice.operands, type=types.boolean, name="is_taken")
        sides = (arg, loop.body.args[0]) if choice.is_negated else (loop.body.args[0], arg)
        place = builder.call(ir.select, is_taken, *sides, type=types.intp, name=name)
        before.setdefault(choice.op, []).extend(builder.ops)
        slots.append(ir.Slot(nowhere, arg, place, out))
    ops = [inner for op in loop.body.ops for inner in (*before.get(op, ()), op)]
    return ir.with_slots(loop, slots, ops)


def _with_elements_before(loop: ir.For, aliases: Aliases) -> ir.For:
    """The loop whose branches read what the trip loaded before them, in the place of loading it once more.

    if x[j] > largest: largest = x[j]           the value is there before the branch, as what is compared
    """
    stored = set(map(aliases.find, loop.body.memory_written))
    known: dict[tuple[ir.Operand, tuple[ir.Operand, ...]], ir.Var] = {}
    ops: list[ir.Op] = []
    for op in loop.body.ops:
        if isinstance(op, ir.Load) and aliases.find(op.array) not in stored:
            known.setdefault((op.array, op.index), op.out)
        elif isinstance(op, ir.If) and known:
            regions = []
            for region in op.regions:
                loads = [inner for inner in region.ops if isinstance(inner, ir.Load)]
                again = {load.out: known[load.array, load.index] for load in loads if (load.array, load.index) in known}
                left = [inner for inner in region.ops if not (isinstance(inner, ir.Load) and inner.out in again)]
                regions.append(ir.substituted_region(ir.with_ops(region, left), again) if again else region)
            op = ir.with_regions(op, regions)
        ops.append(op)
    return ir.with_regions(loop, [ir.with_ops(loop.body, ops)])


def places_in(loop: ir.For | ir.While) -> list[Placed]:
    """The choices of a loop that carries their places."""
    nowhere = _nowhere(loop) if isinstance(loop, ir.For) else None
    if nowhere is None:
        return []
    assert isinstance(loop, ir.For)
    integers = [slot for slot in loop.slots if isinstance(slot.arg.type, types.Integer) and slot.init == nowhere]
    found: list[Placed] = []
    for choice in _choices(loop) if integers else ():
        place = next((slot.out for slot in integers if _tells(loop, slot, choice)), None)
        if place is not None:
            found.append(Placed(choice, place, nowhere))
    return found


def _nowhere(loop: ir.For) -> ir.Const | None:
    """What the counter of the loop never is: one step before the first trip; None if that is not known."""
    is_plain = not (loop.stops or loop.parallel or loop.over_chunks or loop.snapshots is not None)
    if not is_plain or loop.level is not None:
        return None
    if not isinstance(loop.start, ir.Const) or not isinstance(loop.step, ir.Const):
        return None
    return ir.integer(loop.start.value - loop.step.value)


def _choices(loop: ir.For) -> Iterator[Choice]:
    for slot in loop.slots:
        if not isinstance(slot.arg.type, types.Float) or not isinstance(slot.yielded, ir.Var):
            continue
        choice = choice_of(loop, slot)
        # nobody else reads it, but to compare it
        if choice is not None and isinstance(choice.value, ir.Var) and _is_only_handed_on(loop, slot, choice):
            yield choice


def _is_only_handed_on(loop: ir.For, slot: ir.Slot, choice: Choice) -> bool:
    if sum(y is slot.arg or y is slot.yielded for y in loop.body.yields) != 1:
        return False
    for op in loop.body.ops:
        reads = list(ir.reads(op))
        if slot.yielded in reads:
            return False
        if slot.arg in reads and op is not choice.op and not _compares(op):
            return False
    inside = (inner for region in choice.op.regions for inner in ir.walk(region))
    return not any(slot.arg in ir.reads(inner) for inner in inside)


def _compares(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) and op.callee in COMPARISONS


def _tells(loop: ir.For, slot: ir.Slot, choice: Choice) -> bool:
    """Whether an integer that a loop carries is the place of a choice."""
    op = loop.body.made.get(slot.yielded)
    if not isinstance(op, ir.Call) or op.callee is not ir.select:
        return False
    is_taken, *sides = op.args
    counter = loop.body.args[0]
    if tuple(sides) != ((slot.arg, counter) if choice.is_negated else (counter, slot.arg)):
        return False
    if choice.test is None:
        return is_taken == choice.operands[0]
    made = loop.body.made.get(is_taken)
    return isinstance(made, ir.Call) and made.callee is choice.test and made.args == choice.operands
