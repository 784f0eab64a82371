"""Questions about array elements and the order in which they are read and written, answered by isl.

In: a function. Out: `IndexModel`, which says for a read and a store whether the store may be the first to overwrite
what was read. Loops and subscripts that are affine give exact answers; for whatever is not, or is too big, the answer
is the safe one: yes.

    for i in range(1, n):
        out[i] = out[i - 1] * x          no: out[i - 1] is never stored to again
        a[i] = a[i] * x                  yes: the store in the same trip
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.accesses import Access, Accesses, Text
from adjit.transform.analysis.affine import Affine, Chain, Constraint, Iterations, Loop, loops_in
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integer_sets import TRUE, Condition, both, either, is_empty

MOST_LOOPS = 8
MOST_STORES_BETWEEN = 12
SOME = 8  # what sizes are at least where only many elements and trips count


class IndexModel:
    """The memory accesses of one function. Answers are kept, so a question costs isl's time once.

    `expanded`: arrays taken to have one axis more for each of some loops, indexed by their counters.
    """

    def __init__(self, function: ir.Function, expanded: Mapping[ir.Operand, Sequence[ir.For]] | None = None):
        self._function = function
        self._expanded = expanded or {}
        self._aliases = function.analysis(Aliases)
        self._answers: dict[tuple[ir.Op | ir.Operand, ...], bool] = {}

    @functools.cached_property
    def _accesses(self) -> Accesses:
        # most functions are asked nothing
        return Accesses(self._function, self._expanded)

    @property
    def iterations(self) -> Iterations:
        return self._accesses.iterations

    @property
    def _text(self) -> Text:
        return self._accesses.text

    @functools.cached_property
    def _stores(self) -> Mapping[ir.Operand, Sequence[ir.Store]]:
        return self._aliases.stores()

    def _stores_to(self, memory: ir.Operand) -> Sequence[ir.Store]:
        """The stores, in order, to arrays that may share memory with this one."""
        return self._stores.get(self._aliases.find(memory), ())

    def may_overwrite(self, read: ir.Op, write: ir.Op) -> bool:
        """Whether `write` may overwrite an element after `read` has read it, and before any other store does."""
        key = (read, write)
        if key not in self._answers:
            self._answers[key] = isinstance(write, ir.Store) and any(
                self._overwrites(access, self._accesses.write(write)) for access in self._accesses.read(read)
            )
        return self._answers[key]

    def may_overwrite_in(self, place: ir.Op, array: ir.Operand, write: ir.Store) -> bool:
        """Whether `write` may be the first to overwrite an element of an array, or of a view, after `place`."""
        key = (place, array, write)
        if key not in self._answers:
            if not set(self.iterations.scope(array)) <= set(self.iterations.places[place].loops):
                return True
            self._answers[key] = self._overwrites(self._accesses.all_of(place, array), self._accesses.write(write))
        return self._answers[key]

    def may_reach(self, store: ir.Store, op: ir.Op) -> bool:
        """Whether `op` may read or overwrite an element that `store` has written, before any other store does."""
        written = self._accesses.write(store)
        return any(self._overwrites(written, access) for access in self._accesses.touched(op))

    def may_be_lost(self, store: ir.Store, reads: Sequence[ir.Op]) -> bool:
        """Whether an element may be overwritten after `store` has written it, and before any of `reads` reads it.

        False where it is not known which arrays are stored to.
        """
        written = self._accesses.write(store)
        ends = [self._accesses.write(op) for op in self._stores_to(store.array) if not op.add]
        known = [end for end in ends if end.is_root and end.root == written.root]
        return written.is_root and any(self._is_unread(written, self._of(written, reads), end) for end in known)

    def may_stay_unread(self, store: ir.Store, reads: Sequence[ir.Op]) -> bool:
        """Whether none of `reads` may ever read an element after `store` has written it, of arrays of some size.

        False where it is not known which array is stored to.
        """
        written = self._accesses.write(store)
        return written.is_root and self._is_unread(written, self._of(written, reads), None)

    def is_private(self, memory: ir.Operand, loop: ir.For | ir.While) -> bool:
        """Whether all that a trip of the loop reads of an alias class was stored in that trip before."""
        touching = self._aliases.touching(loop.body.ops, memory)
        reads = (access for op in touching for access in self._accesses.read(op))
        return all(self._is_stored(read, loop) for read in reads if self._aliases.find(read.root) == memory)

    def reads_older(
        self, array: ir.Operand, loop: ir.For, changes: Sequence[ir.Store], places: Sequence[ir.Operand]
    ) -> bool:
        """Whether a trip of the loop reads of an array what it has not stored there, and one of `changes` may store.

        places: the arrays that stores may be to that are meant.
        """

        def is_meant(access: Access, arrays: Sequence[ir.Operand]) -> bool:
            if access.is_root:
                return access.root in arrays
            return any(self._aliases.may_share(access.root, other) for other in arrays)

        stores = [access for op in changes if is_meant(access := self._accesses.write(op), places)]
        if not stores:
            return False
        reads = (access for op in loop.body.inside for access in self._accesses.read(op))
        return not all(self._is_stored(read, loop, of=stores) for read in reads if is_meant(read, [array]))

    def is_own(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip of the loop touches elements of its own: along some axis the index tells the trip."""
        touching = self._aliases.touching(loop.body.ops, memory)
        touched = [access for op in touching for access in self._accesses.touched(op)]
        indices = [self._own_index(access) for access in touched if self._aliases.find(access.root) == memory]
        axes = [{(k, entry) for k, entry in enumerate(index) if entry.terms.keys() == {loop}} for index in indices]
        return bool(axes) and bool(set.intersection(*axes))

    def is_cleared(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether a trip of the loop stores zero last to each element of an alias class that it changes."""
        touching = list(self._aliases.touching(loop.body.ops, memory))
        calls = (op for op in touching if isinstance(op, ir.AddProduct | ir.OfRows))
        if any(self._aliases.find(op.target) == memory for op in calls):
            return False
        changes = (self._accesses.write(op) for op in touching if isinstance(op, ir.Store) and not is_clear(op))
        return all(self._is_stored(access, loop, after=True) for access in changes)

    def is_inside(self, op: ir.Op, access: ir.Load | ir.Store) -> bool:
        """Whether the element of `access`, of which nothing changes in `op`, is there wherever `op` is run."""
        chain = self.iterations.places[op].chain
        for axis, operand in enumerate(access.index):
            index, extent = self.iterations.value(operand), self.iterations.extent(access.array, axis)
            if index is None or extent is None:
                return False
            ends = (index, ">="), (index.plus(extent, -1), "<")
            if not all(self._accesses.holds(chain, value, relation) for value, relation in ends):
                return False
        return True

    def is_natural(self, op: ir.Op, value: Affine) -> bool:
        """Whether the integer is not below zero wherever the operation is run."""
        return self._accesses.holds(self.iterations.places[op].chain, value, ">=")

    def may_change(self, read: ir.Op, store: ir.Store, around: ir.Op) -> bool:
        """Whether `store` may change an element after `read` has read it, in one trip of the loops around `around`."""
        write = self._accesses.write(store)
        return any(self._changes(access, write, around) for access in self._accesses.read(read))

    def _changes(self, read: Access, write: Access, around: ir.Op) -> bool:
        text = self._text
        later = text.before(read.op, "r", write.op, "w")
        if later is None or not self._aliases.may_share(read.root, write.root):
            return False
        if read.root is not write.root:
            return not (read.is_root and write.is_root)
        conditions = [later, text.equal(self.iterations.places[around].loops, "r", "w")]
        dimensions, known = self._known(r=read, w=write)
        return self._is_possible(dimensions, [*conditions, *text.same_element(read, "r", write, "w"), *known])

    def may_meet(self, one: ir.Op, other: ir.Op, around: ir.Op, trips: tuple[ir.Op, str, ir.Op] | None = None) -> bool:
        """Whether both may touch one element, which one of them changes, in one trip of the loops around `around`.

        trips: two loops and how their counters are to be related, by <, > or !=. Sums may be added up in any order, and
        so do not meet; but for !=, since what is saved of them and put back depends on the order.
        """
        are_sums = isinstance(one, ir.Store) and isinstance(other, ir.Store) and one.add and other.add
        if are_sums and (trips is None or trips[1] != "!="):
            return False
        if not (isinstance(one, ir.Store | ir.Push) or isinstance(other, ir.Store | ir.Push)):
            return False
        pairs = ((access, against) for access in self._touched(one) for against in self._touched(other))
        return any(self._meet(access, against, around, trips) for access, against in pairs)

    def any_meet(
        self,
        ones: Iterable[ir.Op],
        others: Iterable[ir.Op],
        around: ir.Op,
        trips: tuple[ir.Op, str, ir.Op] | None = None,
    ) -> bool:
        """Whether `may_meet` is true of any of these operations and any of those; asked of those with one memory."""
        by_memory: dict[ir.Operand | None, list[ir.Op]] = {}
        for other in others:
            for memory in self._memory(other):
                by_memory.setdefault(memory, []).append(other)
        return any(
            self.may_meet(one, other, around, trips)
            for one in ones
            for memory in self._memory(one)
            for other in by_memory.get(memory, ())
        )

    def _memory(self, op: ir.Op) -> Iterable[ir.Operand | None]:
        """The alias classes that an operation reads or writes; None for all tapes."""
        if isinstance(op, ir.Push | ir.Pull):
            return (None,)
        return dict.fromkeys(map(self._aliases.find, (op.array,) if isinstance(op, ir.Store) else op.memory_read))

    def _touched(self, op: ir.Op) -> list[Access | None]:
        """The elements that an operation reads or writes; None for the entries of a tape."""
        return [None] if isinstance(op, ir.Push | ir.Pull) else [*self._accesses.touched(op)]

    def _meet(
        self, one: Access | None, other: Access | None, around: ir.Op, trips: tuple[ir.Op, str, ir.Op] | None
    ) -> bool:
        if one is None or other is None:
            return one is other
        shared = self.iterations.places[around].loops
        if one.root is not other.root:
            # what is distinct in one trip of a loop may be one in two
            scopes = (*self.iterations.scope(one.root), *self.iterations.scope(other.root))
            are_there = all(loop in shared for loop in scopes)
            is_apart = (one.is_root and other.is_root) or not self._aliases.may_share(one.root, other.root)
            return not (is_apart or (are_there and self._aliases.are_distinct(one.root, other.root)))
        text = self._text
        conditions = [text.equal(shared, "r", "w"), *text.same_element(one, "r", other, "w")]
        if trips is not None:
            left, relation, right = trips
            conditions.append(text.counters(left, "r", relation, right, "w"))
        dimensions, known = self._known(r=one, w=other)
        return self._is_possible(dimensions, conditions + known)

    def may_meet_beside(self, store: ir.Store, op: ir.Op, loop: ir.For, relation: str, bound: Affine) -> bool:
        """Whether `op` may touch, later in the same trip of `loop` or in a later one, an element that `store` writes.

        Of elements whose first index is so related, by < or >=, to what the bound is in the trip of `op`.
        """
        write = self._accesses.write(store)
        later = self._text.before(store, "r", op, "w")
        if later is None:
            return False
        around = self._text.equal(self.iterations.places[loop].loops, "r", "w")
        beside = self._text.related(write.index[0], "r", relation, bound, "w")
        for access in self._accesses.touched(op):
            if access.root is not write.root:
                if (access.is_root and write.is_root) or not self._aliases.may_share(access.root, write.root):
                    continue
                return True
            dimensions, known = self._known(r=write, w=access)
            same = self._text.same_element(write, "r", access, "w")
            if self._is_possible(dimensions, [later, around, beside, *same, *known]):
                return True
        return False

    def may_meet_in_other_trip(self, loop: ir.For, op: ir.Op, store: ir.Store, beyond: int = 0) -> bool:
        """Whether `op` may touch an element in one trip of `loop` that `store` writes in another one.

        Both are inside the loop. Arrays that come from different places are taken to be the same memory.
        `beyond`: trips so many places apart, and nearer ones, do not count.
        """
        write = self._accesses.write(store)
        return any(self._meets_in_other_trip(loop, access, write, beyond) for access in self._accesses.touched(op))

    def holds_at(self, op: ir.Op, constraint: Constraint) -> bool:
        """Whether a constraint, `>=` or `<`, holds wherever an operation is run."""
        chain = self.iterations.places[op].chain
        return self._accesses.holds(chain, constraint.value, constraint.relation)

    def surely_meet(self, loops: Sequence[ir.For], one: ir.Op, other: ir.Op) -> bool:
        """Whether two trips of nested loops touch one element, in one trip of the loops around, whatever the sizes are.

        Arrays have at least a few elements. False where something is not known, or it depends on sizes.
        """
        pairs = ((a, b) for a in self._accesses.touched(one) for b in self._accesses.touched(other))
        return any(self._surely_meet(loops, a, b) for a, b in pairs)

    def _surely_meet(self, loops: Sequence[ir.For], one: Access, other: Access) -> bool:
        if one.root is not other.root or not one.is_root or one.unknowns or other.unknowns:
            return False
        places, text = self.iterations.places, self._text
        chains = (places[one.op].chain, places[other.op].chain)
        if not all(self.iterations.is_certain(*inside) for chain in chains for inside in chain):
            return False
        apart = either(*(text.counters(loop, "r", "!=", loop, "w") for loop in loops))
        conditions = [text.equal(places[loops[0]].loops, "r", "w"), apart]
        conditions += text.same_element(one, "r", other, "w")
        conditions += self._known(r=one, w=other)[1]
        # for some values of the counters
        return is_empty(text.set([], text.at_least(SOME, conditions)), text.set([], conditions))

    def element(self, store: ir.Store) -> tuple[ir.Operand, tuple[Affine, ...]] | None:
        """The array where its memory is named first, and the element of it, counted from the front, if affine."""
        access = self._accesses.write(store)
        return None if access.unknowns else (access.root, access.index)

    def has_elements(self, array: ir.Operand, axis: int, first: Affine, last: Affine) -> bool:
        """Whether the array has all elements from first to last along the axis, or there are none to have."""
        extent = self.iterations.extent(array, axis)
        if extent is None:
            return False
        some = Constraint(last.plus(first, -1), ">=")
        beyond = (Constraint(first, "<"), Constraint(last.plus(extent, -1), ">="))
        return all(is_empty(self._text.set([], self._text.all((some, end), "r"))) for end in beyond)

    # ------------------------------------------------------------------------------------------- the question

    def _overwrites(self, read: Access, write: Access) -> bool:
        exact = read.is_root and write.is_root
        if exact and read.root != write.root:
            return False
        if not self._aliases.may_share(read.root, write.root):
            return False
        text = self._text
        later = text.before(read.op, "r", write.op, "w")
        if later is None:
            return False
        dimensions, known = self._known(r=read, w=write)
        conditions = [later, *known, *(text.same_element(read, "r", write, "w") if exact else ())]
        if not self._is_possible(dimensions, conditions):
            return False
        others = [store for store in self._stores_to(read.root) if store is not write.op] if exact else []
        between = (self._between(read, self._accesses.write(store), write) for store in others)
        return not self._is_covered(dimensions, conditions, between)

    def _is_possible(self, dimensions: Sequence[str], conditions: Sequence[Condition]) -> bool:
        return len(dimensions) > 2 * MOST_LOOPS or not is_empty(self._text.set(dimensions, conditions))

    def _is_covered(
        self, dimensions: Sequence[str], conditions: Sequence[Condition], cases: Iterable[Condition | None]
    ) -> bool:
        """Whether one of the cases holds wherever the conditions do. None: a case of which nothing is known."""
        if len(dimensions) > 2 * MOST_LOOPS:
            return False
        first = itertools.islice((case for case in cases if case is not None), MOST_STORES_BETWEEN)
        return is_empty(*(self._text.set(dimensions, inside) for inside in (conditions, *([case] for case in first))))

    def _known(self, **accesses: Access) -> tuple[list[str], list[Condition]]:
        """The counters of accesses, which are given by prefix, and what is known of them."""
        text, dimensions, conditions = self._text, list[str](), list[Condition]()
        for prefix, access in accesses.items():
            dimensions += text.names((*self.iterations.places[access.op].loops, *access.unknowns), prefix)
            conditions.append(text.domain(access, prefix))
        return dimensions, conditions

    def _own_index(self, access: Access) -> Sequence[Affine]:
        """The index without the axes that the array is taken to have beside its own."""
        return access.index[len(self._expanded.get(access.root, ())) :]

    def _bounds(self, access: Access) -> list[Constraint]:
        """That the indices are in bounds, as far as the extents of the array are known."""
        own = self._own_index(access)
        extents = [self.iterations.extent(access.root, axis) for axis in range(len(own))]
        pairs = zip(own, extents, strict=True)
        return [Constraint(index.plus(extent, -1), "<") for index, extent in pairs if extent is not None]

    def _of(self, written: Access, reads: Sequence[ir.Op]) -> list[Access]:
        return [access for op in reads for access in self._accesses.read(op) if access.root == written.root]

    def _is_unread(self, written: Access, readers: Sequence[Access], end: Access | None) -> bool:
        """Whether an element may be written, and not be read until `end` overwrites it, or ever."""
        text = self._text
        accesses = {"r": written} if end is None else {"r": written, "w": end}
        dimensions, conditions = self._known(**accesses)
        conditions += text.all(self._bounds(written), "r")
        if end is not None:
            later = text.before(written.op, "r", end.op, "w")
            if later is None:
                return False
            conditions += [later, *text.same_element(written, "r", end, "w")]
        if not self._is_possible(dimensions, conditions):
            return False
        found = (self._between(written, reader, end) for reader in readers)
        read = list(itertools.islice((between for between in found if between is not None), MOST_STORES_BETWEEN))
        # arrays without elements are not what makes a number go unread
        least = SOME if end is None else 1
        conditions += text.at_least(least, (*conditions, *read), extents=end is not None)
        return not self._is_covered(dimensions, conditions, read)

    def _meets_in_other_trip(self, loop: ir.For, one: Access, write: Access, beyond: int) -> bool:
        if one.root != write.root:
            return True
        if loop in self.iterations.scope(one.root):
            return not one.is_root  # each trip makes an array of its own
        text = self._text
        outer = self.iterations.places[loop].loops
        before, after = (
            text.counters(loop, "r", relation, loop, "w", apart) for relation, apart in (("<", beyond), (">", -beyond))
        )
        apart = either(before, after)
        conditions = [text.equal(outer, "r", "w"), apart, *text.same_element(one, "r", write, "w")]
        dimensions, known = self._known(r=one, w=write)
        return self._is_possible(dimensions, conditions + known)

    def _between(self, read: Access, kill: Access, write: Access | None) -> Condition | None:
        """When `kill` is sure to touch the element after `read` and before `write`; None if nothing is sure."""
        is_whole = not isinstance(kill.op, ir.Load | ir.Store) and kill.root in kill.op.memory_read
        if not kill.is_root or kill.root != read.root or (kill.unknowns and not is_whole):
            return None
        text = self._text
        after = text.before(read.op, "r", kill.op, "k")
        before = TRUE if write is None else text.before(kill.op, "k", write.op, "w")
        if after is None or before is None:
            return None
        return self._surely(kill, [after, before], 0, **({"r": read} if write is None else {"r": read, "w": write}))

    def _surely(
        self, access: Access, conditions: Sequence[Condition], depth: int, **others: Access
    ) -> Condition | None:
        """That the access is made to the element of the first of others; None if it is not sure to be run.

        It is if `others`, by prefix, show that, as far as it is inside of `depth` loops and branches.
        """
        text, chain = self._text, self.iterations.places[access.op].chain
        prefix, first = next(iter(others.items()))
        conditions = [*conditions, text.domain(access, "k"), *text.same_element(first, prefix, access, "k")]
        for k in range(depth, len(chain)):
            if not self.iterations.is_certain(*chain[k]):
                runs = (self._shared_run(chain[: k + 1], other, prefix) for prefix, other in others.items())
                shown = [run for found in runs for run in found]
                if not shown:
                    return None
                conditions.append(either(*shown))
        return both(*conditions)

    def _is_stored(self, read: Access, loop: Loop, after: bool = False, of: Sequence[Access] | None = None) -> bool:
        """Whether each element that is read was stored in the same trip of the loop, in operations that surely ran.

        after: whether zero is surely stored to each element later in the trip.
        of: only elements in the places of these accesses count.
        """
        text, chain = self._text, self.iterations.places[read.op].chain
        if not read.is_root or len(loops_in(chain)) > MOST_LOOPS:
            return False
        if loop in self.iterations.scope(read.root) and not after:
            return True
        dimensions, conditions = self._known(r=read)
        conditions += text.all(self._bounds(read), "r")
        if of is not None:
            conditions.append(either(*(self._in_place_of(read, other) for other in of)))
        stores = [store for store in self._stores_to(read.root) if (is_clear(store) if after else not store.add)]
        stored = (self._stored_in_trip(self._accesses.write(store), read, loop, after) for store in stores)
        return self._is_covered(dimensions, conditions, stored)

    def _in_place_of(self, read: Access, other: Access) -> Condition:
        """That what is read stands where another access, maybe to another array, gets to."""
        text = self._text
        if not other.is_root:
            return TRUE
        pairs = zip(read.index, other.index, strict=True)
        return both(text.domain(other, "w"), *(text.related(a, "r", "=", b, "w") for a, b in pairs))

    def _stored_in_trip(self, store: Access, read: Access, loop: Loop, after: bool) -> Condition | None:
        """When `store` is sure to store to what is read, earlier or later in the trip; None if nothing is sure."""
        chain = self.iterations.places[store.op].chain
        if not store.is_root or store.root != read.root or store.unknowns or loop not in loops_in(chain):
            return None
        text = self._text
        order = text.before(read.op, "r", store.op, "k") if after else text.before(store.op, "k", read.op, "r")
        if order is None:
            return None
        depth = next(k for k, (op, _) in enumerate(chain) if op is loop) + 1
        return self._surely(store, [order, text.equal(loops_in(chain[:depth]), "k", "r")], depth, r=read)

    def _shared_run(self, chain: Chain, access: Access, prefix: str) -> list[Condition]:
        """That the run of the chain's innermost region by `k` is one that `access`, which was run, shows to be run.

        A branch is run where the access in it was. A loop whose trips are not known makes the trip of the read, and
        all trips before that of the write.
        """
        around, number = chain[-1]
        numbers = dict(self.iterations.places[access.op].chain)
        if around not in numbers:
            return []
        if isinstance(around, ir.If) or prefix == "r":
            same_trip = self._text.equal(loops_in(chain), "k", prefix)
            return [same_trip] if numbers[around] == number else []
        return [self._text.equal(loops_in(chain[:-1]), "k", prefix)]


def is_clear(op: ir.Store) -> bool:
    """Whether the store puts zero into an element."""
    return not op.add and isinstance(op.value, ir.Const) and bool(op.value.value == 0)
