"""Whether the blocks that `statements.py` wrote mean what the text says, whichever way is taken.

In: blocks, and where among their statements the text sets and reads its names, by which variables. Out: the first
fault, or None.

    k = j           $5 holds j, and now k
    jump            $7 = $5                on this way $7 holds k; where k is not set, $7 has to stay as it was
    h[k]            reads $7: it has to hold k on every way on which k is set

A variable holds a name if its value is the name's, on all ways to that place on which the name is set. That is found by
following what is assigned and copied through the blocks until nothing changes, from the events and the jumps alone: by
which rule variables were chosen where ways meet is not asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks

from adjit.runtime.backend.reading.expressions import Event

_NO_NAMES: frozenset[str] = frozenset()


class _Held(NamedTuple):
    """What is so on all ways to a place. unset: names that no way has set. by: the names that a variable holds."""

    unset: frozenset[str]
    by: dict[str, frozenset[str]]

    def names_of(self, variable: str) -> frozenset[str]:
        return self.by.get(variable, _NO_NAMES)

    def met(self, other: _Held) -> _Held:
        """What is so on the ways to here and on other ways. Of a name that is not set every variable is right."""
        unset = self.unset & other.unset
        found = {}
        for variable in self.by.keys() | other.by.keys():
            here, there = self.names_of(variable), other.names_of(variable)
            names = (here & there) | (here & other.unset) | (there & self.unset)
            if names:
                found[variable] = names
        return _Held(unset, found)


class _Fault(Exception):
    """Says what is wrong."""


def fault_of(blocks: Mapping[int, Any], called: Collection[str], events: Sequence[Event]) -> str | None:
    """What is wrong: a name is read by a variable that does not hold it, or a variable before it is set.

    `called`: variables that hold functions, which are set nowhere.
    """
    try:
        _verify_set(blocks, called)
        steps = _steps(blocks, events)
        names = frozenset(event.name for event in events)
        at_start = _followed(blocks, lambda held, label: _after(steps[label], held), _Held(names, {}), _Held.met)
        for label, held in at_start.items():
            _after(steps[label], held, checks=True)
    except _Fault as fault:
        return str(fault)
    return None


def _verify_set(blocks: Mapping[int, Any], called: Collection[str]) -> None:
    uses = {label: _uses(block) for label, block in blocks.items()}
    start = frozenset(called)
    at_start = _followed(blocks, lambda found, label: found | uses[label].set, start, frozenset.intersection)
    for label, found in at_start.items():
        missing = uses[label].read - found
        if missing:
            raise _Fault(f"block {label} reads {', '.join(sorted(missing))}, which some way to it does not set")


class _Uses(NamedTuple):
    """The variables that a block reads before it sets them, and those that it sets."""

    read: frozenset[str]
    set: frozenset[str]


def _uses(block: Any) -> _Uses:
    read, assigned = set[str](), set[str]()
    for statement in block.body:
        read.update(one.name for one in _read_by(statement) if one.name not in assigned)
        if isinstance(statement, ir.Assign):
            assigned.add(statement.target.name)
    return _Uses(frozenset(read), frozenset(assigned))


def _read_by(statement: Any) -> Sequence[ir.Var]:
    if not isinstance(statement, ir.Assign):
        return statement.list_vars()  # type: ignore[no-any-return]
    value = statement.value
    if isinstance(value, ir.Var):
        return [value]
    return value.list_vars() if isinstance(value, ir.Expr) else ()


def _followed(blocks: Mapping[int, Any], after: Any, start: Any, met: Any) -> dict[int, Any]:
    """What is so where each block begins that a way leads to."""
    flow = compute_cfg_from_blocks(blocks)
    first = next(iter(blocks))
    at_start = {first: start}
    pending = deque([first])
    while pending:
        label = pending.popleft()
        found = after(at_start[label], label)
        for out, _ in flow.successors(label):
            new = met(at_start[out], found) if out in at_start else found
            if out not in at_start or new != at_start[out]:
                at_start[out] = new
                if out not in pending:
                    pending.append(out)
    return at_start


# A step: an event, or a variable that is assigned, with what it is a copy of, if it is one.
_Step = Event | tuple[str, str | None]


def _steps(blocks: Mapping[int, Any], events: Sequence[Event]) -> dict[int, list[_Step]]:
    by_place: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        by_place.setdefault((id(event.body), event.position), []).append(event)
    found: dict[int, list[_Step]] = {}
    for label, block in blocks.items():
        steps: list[_Step] = []
        for position, statement in enumerate(block.body):
            steps += by_place.get((id(block.body), position), ())
            if isinstance(statement, ir.Assign):
                value = statement.value
                steps.append((statement.target.name, value.name if isinstance(value, ir.Var) else None))
        found[label] = steps
    return found


def _after(steps: Sequence[_Step], held: _Held, checks: bool = False) -> _Held:
    """What is so after the steps. `checks`: raises where a name is read by another variable than one that holds it."""
    unset, by = held.unset, dict(held.by)
    for step in steps:
        if not isinstance(step, Event):
            target, source = step
            names = by.get(source, _NO_NAMES) if source is not None else _NO_NAMES
            if names:
                by[target] = names
            else:
                by.pop(target, None)
            continue
        name, variable = step.name, step.variable
        if step.is_set:
            unset -= {name}
            by = {one: rest for one, held_by in by.items() if (rest := held_by - {name})}
            same = by.get(variable, _NO_NAMES)
            alike = [one for one, held_by in by.items() if not held_by.isdisjoint(same)]
            for one in {variable, *alike}:
                by[one] = by.get(one, _NO_NAMES) | {name}
        elif checks and name not in unset and name not in by.get(variable, _NO_NAMES):
            raise _Fault(f"{name} is read by {variable}, which has another value on some way")
    return _Held(unset, by)
