"""Copies that stand for views: the stores by which one could tell them apart are refused.

In: a function with notes of such copies (`Detached`). Out: the same without the notes, or the error at a store.

Where numba has no view of the memory, as of a column that goes through `ravel`, the front end makes a copy, which is as
good as a view until one of the two is stored into and the other one read. Whether that may happen is asked along the
paths of the program: what was stored where, since a copy was made.

    r = a[:, 0].ravel()
    a[0, 0] = x                    Unsupported: NumPy's r may be a view, and is read afterwards
    return r[0]

A view stands for a copy, too, where an array may lie in another order in NumPy, whose arrays take the order of others;
here all are in C order. The front end notes what each is made like (`Ordered`).

    b = a * 2.0        with `a` in Fortran order, so is NumPy's b
    c = b + 1.0        and c
    d = a[:, [0, 1]]   in whatever order
    r = c.ravel()      a view here, a copy there
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Names
from adjit.transform.frontend.values.frame import ITEM
from adjit.transform.ir.types import array_type_of

# What is true of a note on some path, and the store that made it so. Of the copies that one note has made, the last one
# is told apart from those before, which only variables that go round a loop can name.
_MADE, _HAD, _STALE, _OLD_STALE, _BASE_STALE = "made", "had", "stale", "old stale", "base stale"
# Beside these, of memory that a note's base may name: whether some copy may have been made since that was made last.
_State = dict[tuple[ir.Detached, str | ir.Operand], ir.Op]


def without_detached(
    function: ir.Function, fixed: Mapping[ir.Operand, str]
) -> tuple[ir.Function, dict[ir.Var, ir.Operand]]:
    """The function without its notes, and what stands for views that were there for a note alone.

    Raises Unsupported at a store that a view would see and the copy does not, or the other way round; ReadOnly at one
    that NumPy does not let one make. `fixed`: arrays in arguments that are read-only, with the names of these.
    """
    found = [op for op in ir.walk(function.body) if isinstance(op, ir.Detached | ir.Ordered | ir.Passed)]
    if not found:
        return function, {}
    notes = [note for note in found if isinstance(note, ir.Detached)]
    views = [note for note in notes if note.is_view]
    passed = [note for note in found if isinstance(note, ir.Passed)]
    doubtful: set[ir.Detached] = set()
    if views or passed:
        orders = _Orders(function)
        doubtful = {view for view in views if view.by == "type" or orders.is_in_doubt(view.base)}
        for note in passed:
            others = {k for k, leaf in enumerate(note.leaves) if ir.is_array(leaf) and orders.is_in_doubt(leaf)}
            if others:
                note.refuse(others)
    asked = [note for note in notes if not note.is_view or note in doubtful]
    if asked:
        _Paths(function, asked, fixed).function_body()
    # whether a view or a copy, nobody can tell
    noted = {note.copy for note in views}
    slices = (op for op in ir.walk(function.body) if isinstance(op, ir.Slice) and op.out in noted)
    whole = [op for op in slices if all(selector == ir.Span() for selector in op.selectors)]
    same: dict[ir.Var, ir.Operand] = {}
    for op in whole:
        same[op.out] = ir.substituted_operand(op.base, same)
    body = ir.replaced(function.body, dict.fromkeys([*found, *whole], ()))
    return dataclasses.replace(function, body=ir.substituted_region(body, same) if same else body), same


class _Paths:
    """A walk along all paths, with what may be true of each note on one of them."""

    def __init__(self, function: ir.Function, notes: list[ir.Detached], fixed: Mapping[ir.Operand, str]):
        self.body, self.notes, self.fixed = function.body, [note for note in notes if not note.is_kept], fixed
        self.names = Names(function)
        for note in notes:
            if note.is_view:
                # as if it were a copy: which of the two it is in NumPy nobody knows
                self.names.sources.pop(note.copy, None)
        self.base = {note: self.names.memory(note.base) for note in notes}
        # where lists keep arrays
        self.lists = {note: self.names.memory(note.copy) for note in notes if note.is_kept}

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
            state.update({(op, memory): op for memory in self.base.get(op, ())})
            return
        self.read([*op.memory_read, *(o for o in op.operands if not ir.is_array(o))], state)
        for note in self.notes:
            if note.copy in op.results:
                _make_way(note, state)
            if isinstance(op, ir.Alloc | ir.Copy) and op.out in self.base[note]:
                state.pop((note, op.out), None)
        for note in self.lists:
            if not self.base[note].isdisjoint(op.results) and (note, _MADE) in state:
                state.setdefault((note, _HAD), state.pop((note, _MADE)))
        target = op.memory_written
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
        # where it is what was made last, copies of what was made there before do not see it
        last = {memory for memory in written if self.names.is_last(target, memory)}

        def is_linked(note: ir.Detached) -> bool:
            of_base = self.base[note] & shared
            return any(m not in last or (note, m) in state for m in of_base) or self.is_there(
                note, target, shared, state
            )

        # a copy of a copy is a view of the first array
        while linked := list(filter(is_linked, waiting)):
            waiting = [n for n in waiting if n not in linked]
            for note in linked:
                self.stored_near(note, op, target, shared, state)
                shared |= {note.copy, *self.base[note]}
                last.clear()
        lists = [n for n in self.lists if (n, _MADE) in state or self.is_of_before(n, target, state)]
        # and a list may have been put together of the items of another one; who has an item alone has it still where
        # the list takes another one
        listed: set[ir.Operand] = set()
        while kept := [note for note in lists if self.base[note] & (listed if note.by == ITEM else listed | shared)]:
            lists = [note for note in lists if note not in kept]
            for note in kept:
                state[note, _STALE] = op
                listed |= self.lists[note]

    def is_of_before(self, note: ir.Detached, target: ir.Operand, state: _State) -> bool:
        """Whether a store may be one into an array that a list kept before the last one of it was made."""
        return (note, _HAD) in state and not all(self.names.is_last(target, m) for m in self.names.memory(target))

    def stored_near(
        self, note: ir.Detached, op: ir.Store, target: ir.Operand, shared: set[ir.Operand], state: _State
    ) -> None:
        if self.is_there(note, target, shared, state):
            if note.readonly:
                raise _readonly(note, op)
            named = [self.fixed[memory] for memory in self.base[note] if memory in self.fixed]
            if named and note.always:
                raise read_only(named[0], op)
            if named or any(isinstance(memory, ir.Const) for memory in self.base[note]):
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
            for note, kept in self.lists.items():
                if (note, _STALE) in state and memory & kept:
                    raise _told_apart(note, state[note, _STALE])
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
    place = ir.place_of(note.origin)
    where = f" at {place.lines()[0]}" if place is not None else ""
    verb = "is" if note.what.startswith(("a ", "an ")) else "returns"
    kind = "a view" if note.always else f"a view or a copy, depending on its {note.by}"
    own = "a view" if note.is_view else "a copy"
    fault = errors.Unsupported(
        f"a store into memory that {note.what} shares",
        ir.place_of(store.origin),
        f"In NumPy {note.what}{where} {verb} {kind}.\n"
        f"Compiled code takes {own}, and the other one is read after this store.",
        "Take a copy there, with .copy(), or store before it.",
    )
    fault.wants_constant = True  # where lists do not grow, their items are no copies
    return fault


def _readonly(note: ir.Detached, store: ir.Op) -> errors.ReadOnly:
    return errors.ReadOnly(
        f"a store into the result of {note.what}",
        ir.place_of(store.origin),
        "NumPy returns a view that is read-only.",
        "Take a copy first, with .copy().",
    )


def read_only(name: str, store: ir.Op) -> errors.ReadOnly:
    """What is raised of a store into an argument, or a part of it, that is read-only."""
    return errors.ReadOnly(
        f"a store into the argument `{name}`, which is read-only",
        ir.place_of(store.origin),
        "NumPy raises an error where it is made.",
        f"Pass a copy, or take one first: {name} = {name}.copy().",
    )


# ----------------------------------------------------------------------------------------------------- NumPy's order


class _Orders:
    """What is known of the order of each array; `loose`: the fresh ones that may not be in C order."""

    def __init__(self, function: ir.Function):
        self.names = Names(function)
        self.notes = [op for op in ir.walk(function.body) if isinstance(op, ir.Ordered)]
        # whatever numba says, and whatever they are views of
        self.in_c_order = {note.array for note in self.notes if not note.like and not note.is_free}
        for array in self.in_c_order:
            self.names.sources.pop(array, None)
        self.turned = {op.out for op in ir.walk(function.body) if isinstance(op, ir.Transpose)}
        self.loose: set[ir.Operand] = set()
        while any(self.look_at(note) for note in self.notes):
            pass

    def is_in_doubt(self, array: ir.Operand) -> bool:
        """Whether the array, or what it is a view of, may lie in another order than C."""
        return bool(self.names.memory(array) & self.loose)

    def look_at(self, note: ir.Ordered) -> bool:
        """Whether the note tells of another array."""
        if not note.is_free and all(map(self.is_sorted, note.like)):
            return False
        # what a function gives back of its arguments is not made by it
        made = self.names.memory(note.array).difference(*map(self.names.memory, note.like)) - self.loose
        self.loose |= made
        return bool(made)

    def is_sorted(self, operand: ir.Operand) -> bool:
        """Whether the strides are those of C order, perhaps with gaps or backwards: what is made like it is C."""
        seen, waiting = {operand}, [operand]
        while waiting:
            here = waiting.pop()
            type_ = array_type_of(here)
            if type_.layout == "C":
                if self.names.memory(here) & self.loose:
                    return False
            elif here not in self.in_c_order and type_.ndim > 1:
                sources = self.names.sources.get(here)
                if sources is None or here in self.turned:
                    return False
                waiting += [s for s in sources if s not in seen]
                seen.update(sources)
        return True
