"""Copies that stand for views: the stores by which one could tell them apart are refused.

In: a function with notes of such copies (`Detached`). Out: the same without the notes, or the error at a store.

Where numba has no view of the memory, as of a column that goes through `ravel`, the front end makes a copy, which is as
good as a view until one of the two is stored into and the other one read. Whether that may happen is asked along the
paths of the program: what was stored where, since a copy was made.

    r = a[:, 0].ravel()
    a[0, 0] = x                    Unsupported: NumPy's r may be a view, and is read afterwards
    return r[0]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from adjit import errors
from adjit.transform import ir
from adjit.transform.alias import memory_read, memory_written
from adjit.transform.source import place_of

# What is true of a note on some path, and the store that made it so. Of the copies that one note has made, the last one
# is told apart from those before, which only variables that go round a loop can name.
_MADE, _HAD, _STALE, _OLD_STALE, _BASE_STALE = "made", "had", "stale", "old stale", "base stale"
_State = dict[tuple[ir.Detached, str], ir.Op]


def without_detached(function: ir.Function) -> ir.Function:
    """The function without its notes; raises Unsupported at a store that a view would see and the copy does not."""
    notes = [op for op in ir.walk(function.body) if isinstance(op, ir.Detached)]
    if not notes:
        return function
    _Paths(function, notes).function_body()
    return dataclasses.replace(function, body=ir.replaced(function.body, dict.fromkeys(notes, ())))


class _Names:
    """Which memory an operand may name, by the operation results, arguments and constants that memory began as."""

    def __init__(self, function: ir.Function):
        self.sources: dict[ir.Operand, list[ir.Operand]] = {}
        self.carried: set[ir.Operand] = set()
        self.known: dict[ir.Operand, frozenset[ir.Operand]] = {}
        for op in ir.walk(function.body):
            self.note(op)

    def note(self, op: ir.Op) -> None:
        if isinstance(op, ir.VIEWS):
            self.sources[op.out] = [op.base]
        elif isinstance(op, ir.Push):
            self.sources.setdefault(op.tape, []).append(op.value)
        elif isinstance(op, ir.Pull):
            self.sources[op.out] = [op.tape]
        elif isinstance(op, ir.If):
            for out, *both in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
                self.sources[out] = list(both)
        elif isinstance(op, ir.For | ir.While):
            self.carried.update(op.body.args)
            columns = [op.outs, op.body.args[1:]] if isinstance(op, ir.For) else [op.outs, op.body.args, op.test.args]
            if isinstance(op, ir.While):
                self.carried.update(op.test.args)
            # the boolean that a loop with `stops` yields last has no partner
            for init, after, *names in zip(op.inits, op.body.yields, *columns, strict=False):
                self.sources.update((name, [init, after]) for name in names)

    def memory(self, operand: ir.Operand) -> frozenset[ir.Operand]:
        if operand not in self.known:
            seen, waiting = {operand}, [operand]
            while waiting:
                for source in self.sources.get(waiting.pop(), ()):
                    if source not in seen:
                        seen.add(source)
                        waiting.append(source)
            self.known[operand] = frozenset(o for o in seen if o not in self.sources or isinstance(o, ir.Const))
        return self.known[operand]

    def is_last(self, operand: ir.Operand, made: ir.Operand) -> bool:
        """Whether the memory, if it was made as `made`, is what was made there last: no loop has handed it on."""
        if operand in self.carried:
            return False
        naming = [s for s in self.sources.get(operand, ()) if made in self.memory(s)]
        return all(self.is_last(s, made) for s in naming)


class _Paths:
    """A walk along all paths, with what may be true of each note on one of them."""

    def __init__(self, function: ir.Function, notes: list[ir.Detached]):
        self.body, self.notes = function.body, notes
        self.names = _Names(function)
        self.base = {note: self.names.memory(note.base) for note in notes}

    def function_body(self) -> None:
        state: _State = {}
        self.region(self.body, state)
        self.read(self.body.yields, state)

    def region(self, region: ir.Region, state: _State) -> None:
        for op in region.ops:
            self.operation(op, state)

    def operation(self, op: ir.Op, state: _State) -> None:
        if isinstance(op, ir.Detached):
            state[op, _MADE] = op
            return
        self.read([*memory_read(op), *(o for o in op.operands if not ir.is_array(o))], state)
        for note in self.notes:
            if note.copy in op.results:
                _make_way(note, state)
        target = memory_written(op)
        if isinstance(op, ir.Store) and target is not None:
            self.stored(op, target, state)
        if isinstance(op, ir.If):
            self.branches(op, state)
        elif op.regions:
            self.loop(op, state)

    def branches(self, op: ir.If, state: _State) -> None:
        before = dict(state)
        state.clear()
        for side in op.regions:
            after = dict(before)
            self.region(side, after)
            # a number that a branch hands on is no read of it yet
            state.update((key, value) for key, value in after.items() if key not in state)

    def loop(self, op: ir.Op, state: _State) -> None:
        """The trips: what is true after one may be true before the next."""
        while True:
            after = dict(state)
            for region in op.regions:
                self.region(region, after)
            new = {key: value for key, value in after.items() if key not in state}
            state.update(new)
            if not new:
                return

    def stored(self, op: ir.Store, target: ir.Operand, state: _State) -> None:
        """What the store does to memory that NumPy's views have in common with the target, and copies have not."""
        written = self.names.memory(target)
        shared, waiting = set(written), [n for n in self.notes if (n, _MADE) in state or (n, _HAD) in state]
        # a copy of a copy is a view of the first array
        while linked := [n for n in waiting if self.base[n] & shared or self.is_there(n, target, shared, state)]:
            waiting = [n for n in waiting if n not in linked]
            for note in linked:
                self.stored_near(note, op, target, shared, state)
                shared |= {note.copy, *self.base[note]}

    def stored_near(
        self, note: ir.Detached, op: ir.Store, target: ir.Operand, shared: set[ir.Operand], state: _State
    ) -> None:
        if self.is_there(note, target, shared, state):
            if note.readonly:
                raise _readonly(note, op)
            if any(isinstance(memory, ir.Const) for memory in self.base[note]):
                raise _told_apart(note, op)
            state[note, _BASE_STALE] = op
        if (note, _HAD) in state:
            state[note, _OLD_STALE] = op
        if (note, _MADE) in state and not self.is_last_copy(note, target):
            state[note, _STALE] = op

    def is_there(self, note: ir.Detached, target: ir.Operand, shared: set[ir.Operand], state: _State) -> bool:
        """Whether a store into the target may be one into a finished copy that the note has made."""
        if note.copy in self.names.memory(target):
            return (note, _MADE) in state or not self.is_last_copy(note, target)
        return note.copy in shared

    def is_last_copy(self, note: ir.Detached, operand: ir.Operand) -> bool:
        """Whether the operand can be no other memory but that of the last copy."""
        return self.names.memory(operand) == {note.copy} and self.names.is_last(operand, note.copy)

    def read(self, operands: Iterable[ir.Operand], state: _State) -> None:
        if not state:
            return
        for operand in operands:
            memory = self.names.memory(operand)
            for note in self.notes:
                facts = [_BASE_STALE] if memory & self.base[note] else []
                if note.copy in memory:
                    facts.append(_STALE)
                    if not self.names.is_last(operand, note.copy):
                        facts.append(_OLD_STALE)
                for fact in facts:
                    if (note, fact) in state:
                        raise _told_apart(note, state[note, fact])


def _make_way(note: ir.Detached, state: _State) -> None:
    """What is known of the last copy is now known of an earlier one."""
    for new, old in ((_MADE, _HAD), (_STALE, _OLD_STALE)):
        if (note, new) in state:
            state.setdefault((note, old), state.pop((note, new)))


def _told_apart(note: ir.Detached, store: ir.Op) -> errors.Unsupported:
    place = place_of(note.origin)
    where = f" at {place.lines()[0]}" if place is not None else ""
    kind = "a view" if note.always else "a view or a copy, by its layout when it runs"
    return errors.Unsupported(
        f"a store into memory that {note.what} shares",
        place_of(store.origin),
        f"What {note.what} gives{where} is {kind}, in NumPy.\n"
        "Here it is a copy, and the other of the two is read after this store.",
        "Take a copy there, with .copy(), or do this store before.",
    )


def _readonly(note: ir.Detached, store: ir.Op) -> errors.Unsupported:
    return errors.Unsupported(
        f"a store into what {note.what} gives",
        place_of(store.origin),
        "It is a view that NumPy does not let one write to.",
        "Take a copy first, with .copy().",
    )
