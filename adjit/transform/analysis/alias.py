"""Which array references may name the same memory.

In: a function. Out: `Aliases`, which gives each array and each tape its class, without regard to where in the function
one stands; memory of two classes is disjoint. Arguments are taken to be disjoint, as the runtime checks where one of
them is written, but for those that the function says may overlap.

    v = u[1:]            u and v are one class
    for ...: u, w = w, u     u and w are one class, but never one array: `are_distinct`, by induction over the trips
    c = u.copy()         c is a class of its own

`named_by` and `Names` follow names in the direction in which they are handed on.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.analysis.uses import Uses

FRESH = (ir.Alloc, ir.Copy, ir.Call)


class _Name(NamedTuple):
    """Where a reference comes from: a result of `op` or an argument of its regions, inside of what is `around`."""

    op: ir.Op | None
    is_arg: bool
    around: tuple[ir.Op, ...]
    order: int

    @property
    def is_fresh(self) -> bool:
        return isinstance(self.op, FRESH)

    def is_older_than(self, other: _Name) -> bool:
        """Whether it is carried by a loop in which the other is made anew, so that it was there before."""
        return self.is_arg and other.is_fresh and self.op in other.around


class Aliases:
    """A union-find forest over the references of a function."""

    def __init__(self, function: ir.Function):
        self._function = function
        self._touched: dict[ir.Op, frozenset[ir.Operand]] = {}
        self._above: dict[ir.Operand, ir.Operand] = {}
        for first, *others in function.overlapping:
            self._above.update(dict.fromkeys(others, first))
        for op in function.body.inside:
            if type(op) not in _NAME_NOTHING:
                self.note(op)
        self.written = frozenset(map(self.find, function.body.memory_written))

    def note(self, op: ir.Op) -> None:
        """Takes in one more operation, such as a view made in a pass; what it looks at keeps its representative."""
        for name, memory in names_given(op):
            if ir.is_reference(name):
                self._above[self.find(name)] = self.find(memory)

    def find(self, operand: ir.Operand) -> ir.Operand:
        """The representative of the operand's class."""
        above = self._above
        top = operand
        while (step := above.get(top, top)) is not top:
            top = step
        while (step := above.get(operand, operand)) is not operand:
            above[operand] = top
            operand = step
        return top

    def stores(self) -> dict[ir.Operand, list[ir.Store]]:
        """The stores of the function, in order, by class."""
        found: dict[ir.Operand, list[ir.Store]] = {}
        for op in ir.walk(self._function.body):
            if isinstance(op, ir.Store):
                found.setdefault(self.find(op.array), []).append(op)
        return found

    def may_share(self, left: ir.Operand, right: ir.Operand) -> bool:
        return self.find(left) == self.find(right)

    def is_written(self, operand: ir.Operand) -> bool:
        """Whether anything in the function stores into memory that `operand` may name."""
        return self.find(operand) in self.written

    def is_named(self, memory: ir.Operand, operands: Iterable[ir.Operand]) -> bool:
        """Whether any of the operands is of the class `memory`."""
        return any(ir.is_reference(o) and self.find(o) == memory for o in operands)

    def touches(self, op: ir.Op, memory: ir.Operand) -> bool:
        """Whether the operation itself has to do with what a class holds; to ask for extents has not."""
        if isinstance(op, ir.Extent | ir.Alloc):
            return False
        return self.is_named(memory, (*op.operands, *(y for region in op.regions for y in region.yields)))

    def touching(self, ops: Iterable[ir.Op], memory: ir.Operand) -> Iterator[ir.Op]:
        """Those of the operations, and of what is inside them, that have to do with what a class holds, in order."""
        for op in ops:
            if self.has_inside(op, memory):
                if not op.regions or self.touches(op, memory):
                    yield op
                for region in op.regions:
                    yield from self.touching(region.ops, memory)

    def has_inside(self, op: ir.Op, memory: ir.Operand) -> bool:
        """Whether the operation, or one inside it, has to do with what a class holds."""
        return memory in self._inside(op)

    def _inside(self, op: ir.Op) -> frozenset[ir.Operand]:
        """The classes that an operation and those inside it have to do with."""
        found = self._touched.get(op)
        if found is None:
            inner = (self._inside(one) for region in op.regions for one in region.ops)
            named = () if isinstance(op, ir.Extent | ir.Alloc) else op.operands
            own = (*named, *(y for region in op.regions for y in region.yields))
            found = frozenset(map(self.find, filter(ir.is_reference, own))).union(*inner)
            self._touched[op] = found
        return found

    def may_access(self, op: ir.Op, array: ir.Operand) -> bool:
        """Whether the operation itself may look at the array's memory or change it."""
        arrays = [*op.memory_read, op.array] if isinstance(op, ir.Store) else op.memory_read
        return any(ir.is_array(o) and not self.are_distinct(o, array) for o in arrays)

    def base(self, array: ir.Operand) -> ir.Operand:
        """The array that a view looks into."""
        return ir.base_of(array, self._function.body.made)

    def are_distinct(self, one: ir.Operand, other: ir.Operand) -> bool:
        """Whether the two are disjoint for certain, wherever both are in scope."""
        return not self.may_share(one, other) or self._differ(one, other, frozenset())

    def may_be_views(self, arrays: Sequence[ir.Operand], has_names: bool) -> bool:
        """Whether any two of these may share memory, of which, if an array `has_names`, those of one type are one."""
        pairs = itertools.combinations(arrays, 2)
        return any(not (has_names and a.type == b.type) and not self.are_distinct(a, b) for a, b in pairs)

    def _differ(self, one: ir.Operand, other: ir.Operand, assumed: frozenset[frozenset[ir.Operand]]) -> bool:
        one, other = self.base(one), self.base(other)
        pair = frozenset((one, other))
        if pair in assumed:
            return True
        a, b = self._names.get(one), self._names.get(other)
        if one is other or a is None or b is None:
            return False
        assumed |= {pair}
        comes_from = self._function.analysis(_sources)
        if a.op is b.op and a.is_arg == b.is_arg and isinstance(a.op, ir.For | ir.While | ir.If):
            before = zip(comes_from[one], comes_from[other], strict=True)
            return all(self._differ(x, y, assumed) for x, y in before)
        if a.is_older_than(b) or b.is_older_than(a):
            return True
        if (len(a.around), a.order) < (len(b.around), b.order):
            one, other, a, b = other, one, b, a
        # the inner one first, of two in one region the later: what it is made of is then in scope beside the other
        for name, found, rest in ((one, a, other), (other, b, one)):
            if isinstance(found.op, ir.For | ir.While | ir.If):
                return all(self._differ(x, rest, assumed) for x in comes_from[name])
            if not found.is_fresh and found.op is not None:
                return False
        return True

    @functools.cached_property
    def _names(self) -> Mapping[ir.Operand, _Name]:
        names: dict[ir.Operand, _Name] = {p: _Name(None, False, (), 0) for p in self._function.body.args}
        around = self._function.analysis(Uses).around
        for op in ir.walk(self._function.body):
            for out in op.results:
                names[out] = _Name(op, False, around[op], len(names))
            for arg in (arg for inner in op.regions for arg in inner.args):
                names[arg] = _Name(op, True, (*around[op], op), len(names))
        return names


def named_by(function: ir.Function, names: Iterable[ir.Operand]) -> set[ir.Operand]:
    """The references whose memory these names may stand for, themselves among them.

    Unlike a class it has a direction. Of what a loop hands on it has what was there before, not what has the same name
    at another time:

        for ...: y = a - x; y[0] = 1; x = y      y names what is made here, x also what was x before the loop
    """
    return followed(function.analysis(_sources), names)


def stored_in(ops: Sequence[ir.Op]) -> set[ir.Operand]:
    """The references to memory that operations store to, by all the names that these know it by."""
    region = ir.Region((), tuple(ops), ())
    return followed(_sources_in(region), [op.memory_written for op in region.inside if op.memory_written is not None])


def _sources(function: ir.Function) -> dict[ir.Operand, list[ir.Operand]]:
    """What each reference may be a name of."""
    return _sources_in(function.body)


def _sources_in(region: ir.Region) -> dict[ir.Operand, list[ir.Operand]]:
    found: dict[ir.Operand, list[ir.Operand]] = {}
    for op in ir.walk(region):
        for name, memory in names_given(op):
            found.setdefault(name, []).append(memory)
    return found


def followed(sources: Mapping[ir.Operand, list[ir.Operand]], names: Iterable[ir.Operand]) -> set[ir.Operand]:
    """The names, what they are names of, what those are names of, and so on."""
    found = set(names)
    pending = list(found)
    while pending:
        more = [memory for memory in sources.get(pending.pop(), ()) if memory not in found]
        found.update(more)
        pending.extend(more)
    return found


class Names:
    """Which memory an operand may name, by the operation results, arguments and constants that memory began as.

    if c: b = np.zeros(3)         memory(v) is {%zeros, %a}
    else: b = a
    v = b[1:]
    """

    def __init__(self, function: ir.Function):
        self.sources = dict(function.analysis(_sources))
        self.carried: set[ir.Operand] = set()
        self.known: dict[ir.Operand, frozenset[ir.Operand]] = {}
        for op in ir.walk(function.body):
            if isinstance(op, ir.For | ir.While):
                self.carried.update(arg for region in op.regions for arg in region.args)
            elif isinstance(op, ir.Push) and not ir.is_reference(op.value):
                self.sources[op.tape] = [*self.sources.get(op.tape, ()), op.value]

    def memory(self, operand: ir.Operand) -> frozenset[ir.Operand]:
        if operand not in self.known:
            seen = followed(self.sources, [operand])
            self.known[operand] = frozenset(o for o in seen if o not in self.sources or isinstance(o, ir.Const))
        return self.known[operand]

    def is_last(self, operand: ir.Operand, made: ir.Operand) -> bool:
        """Whether the memory, if it was made as `made`, is what was made there last: no loop has handed it on."""
        if operand in self.carried:
            return False
        naming = [s for s in self.sources.get(operand, ()) if made in self.memory(s)]
        return all(self.is_last(s, made) for s in naming)


def names_given(op: ir.Op) -> Iterable[tuple[ir.Operand, ir.Operand]]:
    """Pairs of operands of which `op` may make the first a name for memory of the second."""
    if type(op) in _NAME_NOTHING:
        return ()
    return _names_given(op)


# most operations, which are asked by the million
_NAME_NOTHING = frozenset((ir.Call, ir.Load, ir.Store, ir.Extent, ir.Alloc, ir.Copy, ir.Comment, ir.Raise))


def _names_given(op: ir.Op) -> Iterator[tuple[ir.Operand, ir.Operand]]:
    if isinstance(op, ir.VIEWS):
        yield op.out, op.base
    elif isinstance(op, ir.Push):
        if ir.is_reference(op.value):
            yield op.tape, op.value
    elif isinstance(op, ir.Pull):
        yield op.out, op.tape
    else:
        for name, *sources in ir.joined(op):
            for source in sources:
                yield name, source
