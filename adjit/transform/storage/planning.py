"""Which values of the forward sweep are computed again in the reverse sweep, and which are kept: a minimum cut.

In: the primal and its mirror. Out: a `Plan`.

    e = exp(x);  y = e * e + x      e is kept, the product and the sum are made again from it

Every value that the mirror reads has to be there; it is kept, at the price of a memory slot, or its operation is run
again, at the price of its cycles, and then what that operation reads has to be there too. A load can be made again if
nothing overwrote the element, or if the stores that did are undone on the way back, which costs a slot each. The
cheapest choice that satisfies all this is a minimum cut of the graph

    source --inf--> value needed --slot--> operation --cycles--> sink          operation --inf--> what it reads

An operation inside a loop weighs as often as the loop runs, which is not known: a fixed factor a loop is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.cost import ENTRY, KEPT, LAUNCHED_SLOT, LOAD, SLOT, cost, is_cheap
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.derive.mirror import Mirror, MirroredIf, MirroredLoop
from adjit.transform.storage.min_cut import source_side
from adjit.transform.storage.primal import Primal
from adjit.transform.storage.reversible_updates import retraceable
from adjit.transform.strategy import Strategy

TRIPS, MOST_DEPTH = 8, 4  # what is taken for the trips of a loop, and how many loops count
UNLIMITED = 2**28


@dataclass(frozen=True)
class Plan:
    """`again`: for each operation that was weighed, whether it is run again."""

    again: dict[ir.Op, bool]
    strategy: Strategy

    def is_again(self, op: ir.Op) -> bool:
        """Whether an operation is run again; one that nobody weighed is if that alone costs less than a slot."""
        if self.strategy.values == "kept" or cost(op) is None:
            # views and the like cannot be kept
            return cost(op) == 0
        if self.strategy.values == "again":
            return True
        return self.again.get(op, is_cheap(op))


def plan(primal: Primal, mirror: Mirror, strategy: Strategy) -> Plan:
    """The cheapest way to have all that the mirror reads. Scratch arrays are taken to have axes of their own."""
    if strategy.values != "cheapest":
        return Plan({}, strategy)
    if strategy.uses("expand"):
        primal.expand_to(primal.scratch)
    again = _Planning(primal, mirror, strategy.machine == "cuda").solved()
    primal.expand_to({})
    return Plan(again, strategy)


class _Planning:
    def __init__(self, primal: Primal, mirror: Mirror, is_launched: bool):
        self.primal = primal
        self.is_launched = is_launched
        self.sharings = primal.function.analysis(LoopDependences)
        self.stored_at = primal.stored_values()
        # the values that the mirror reads, and how far the stores of their region are undone when it first does
        self.needed: dict[ir.Var, int] = {}
        self.free: set[ir.Operand] = set()
        self._read_by(mirror)
        # the earliest point of the reverse sweep at which a value may be made again, for whatever reads it there
        self.bounds = dict(self.needed)
        for op in filter(is_cheap, reversed(primal.top.inside)):
            undone = self._bound(op)
            for operand in ir.reads(op) if undone >= 0 else ():
                self._need(self.bounds, operand, primal.region_of[op], undone)
        self.network = _Network()
        self.weighed: dict[ir.Op, int] = {}

    # ------------------------------------------------------------------------------------------------ what is needed

    def _read_by(self, mirror: Mirror) -> None:
        for group in mirror.groups:
            undone = len(mirror.region.ops) if group.op is None else self.primal.undone_at(group.op)
            for item in group.ops:
                for operand in self._reads(item):
                    self._need(self.needed, operand, mirror.region, undone)
        for y in mirror.yields:
            self._need(self.needed, y, mirror.region, 0)

    def _reads(self, item: ir.Op | MirroredLoop | MirroredIf) -> Iterator[ir.Operand]:
        if isinstance(item, MirroredLoop):
            for k in retraceable(item.op):
                _, arg, yielded, out = item.op.slots[k]
                self.free.update((arg, yielded))
                yield out
            if isinstance(item.op, ir.For):
                self.free.add(item.op.body.args[0])
                yield from (item.op.start, item.op.stop, item.op.step)
            yield from item.inits
            self._read_by(item.body)
            yield from ir.free_vars(item.body.region)
        elif isinstance(item, MirroredIf):
            yield item.op.condition
            self._read_by(item.then)
            self._read_by(item.orelse)
        else:
            yield from ir.reads(item)

    def _need(self, found: dict[ir.Var, int], operand: ir.Operand, region: ir.Region, undone: int) -> None:
        """Notes that a value is read, in the mirror of its own region or inside an operation of that."""
        if not isinstance(operand, ir.Var) or operand not in self.primal.made:
            return
        home, _ = self.primal.made[operand]
        place = self.primal.place_in(home, region, undone)
        if place is not None:
            found[operand] = max(place, found.get(operand, -1))

    def _bound(self, op: ir.Op) -> int:
        """That of what an operation makes, once those of all values made after it are known."""
        return max((self.bounds.get(out, -1) for out in op.results), default=-1)

    # ------------------------------------------------------------------------------------------------- the network

    def solved(self) -> dict[ir.Op, bool]:
        pending = list(self.needed)
        met = set(pending)
        for value in pending:
            self.network.edge(_Network.SOURCE, self.network.node(value), UNLIMITED)
        while pending:
            for operand in self._weigh(pending.pop()):
                if operand not in met:
                    met.add(operand)
                    pending.append(operand)
        chosen = self.network.source_side()
        return {op: node in chosen for op, node in self.weighed.items()}

    def _weigh(self, value: ir.Var) -> Iterator[ir.Var]:
        """Puts a value and the operation that makes it into the network; gives what that reads."""
        if value not in self.primal.made or value in self.free:
            return
        region, k = self.primal.made[value]
        if region is self.primal.top:
            return
        node, weight = self.network.node(value), self.weight(region)
        slot = self.slot(value, region) * weight
        op = region.ops[k] if k >= 0 else None
        cycles = None if op is None or value not in op.results else self.cycles(op)
        run = _Network.SINK if op is None or cycles is None else self.network.node(op)
        self.network.edge(node, run, slot)
        if op is None or cycles is None or op in self.weighed:
            return
        self.weighed[op] = run
        self.network.edge(run, _Network.SINK, cycles * weight)
        yield from self._require(run, ir.reads(op))
        for inner in ir.with_inner(op):
            if isinstance(inner, ir.Load):
                yield from self._undo(run, inner)

    def _require(self, node: int, operands: Iterable[ir.Operand]) -> Iterator[ir.Var]:
        """Values that have to be there too, if what the node stands for is done."""
        for operand in dict.fromkeys(operands):
            if isinstance(operand, ir.Var):
                self.network.edge(node, self.network.node(operand), UNLIMITED)
                yield operand

    def _undo(self, run: int, load: ir.Load) -> Iterator[ir.Var]:
        """A load that is made again needs the stores after it undone."""
        for store in self.primal.overwriters(load):
            is_new = store not in self.network.numbers
            undoing = self.network.node(store)
            self.network.edge(run, undoing, UNLIMITED)
            if is_new:
                region = self.primal.region_of[store]
                price = (self.memory(region) + 2 * LOAD) * self.weight(region)
                price = UNLIMITED if self.primal.is_shared_addition(store) else price
                self.network.edge(undoing, _Network.SINK, price)
                yield from self._require(undoing, store.index)

    def cycles(self, op: ir.Op) -> int | None:
        """What it costs to run an operation again, None where that is out of the question."""
        cycles = cost(op)
        if cycles is None:
            return None
        region, place = self.primal.region_of[op], self.primal.position[op]
        loads = (inner for inner in ir.with_inner(op) if isinstance(inner, ir.Load))
        is_gone = any(self.primal.is_stored_between(load, region, place, self._bound(op)) for load in loads)
        return None if is_gone else cycles

    def slot(self, value: ir.Var, region: ir.Region) -> int:
        if value in self.stored_at:
            return LOAD + 1
        return ENTRY if isinstance(value.type, types.Array | types.List) else self.memory(region)

    def memory(self, region: ir.Region) -> int:
        if not self.primal.is_in_loop(region):
            return KEPT
        if self.primal.nest(region) is None:
            return ENTRY
        return LAUNCHED_SLOT if self.is_launched and self.is_in_launch(region) else SLOT

    def is_in_launch(self, region: ir.Region) -> bool:
        """Whether what a region makes is read in a launch that comes after others: it is in a loop of the host.

        What independent trips keep for themselves is not: they will run back to back.
        """
        outer, *inner = self.primal.chain(region)
        has_levels = any(isinstance(op, ir.For) and op.level for op in (outer, *inner))
        return not has_levels and isinstance(outer, ir.For) and isinstance(self.sharings.of(outer), Serial)

    def weight(self, region: ir.Region) -> int:
        depth = sum(isinstance(op, ir.For | ir.While) for op in self.primal.chain(region))
        return int(TRIPS ** min(depth, MOST_DEPTH))


# ------------------------------------------------------------------------------------------------------ minimum cuts


@dataclass
class _Network:
    """A flow network whose nodes stand for objects; nodes and edges are in the order in which they came."""

    SOURCE, SINK = 0, 1
    numbers: dict[object, int] = field(default_factory=dict)
    edges: dict[tuple[int, int], int] = field(default_factory=dict)

    def node(self, what: object) -> int:
        return self.numbers.setdefault(what, 2 + len(self.numbers))

    def edge(self, start: int, end: int, capacity: int) -> None:
        self.edges[start, end] = min(UNLIMITED, self.edges.get((start, end), 0) + capacity)

    def source_side(self) -> set[int]:
        """The nodes on the source's side of a minimum cut; of several cuts the one with most nodes there."""
        return source_side(self.edges, 2 + len(self.numbers), self.SOURCE, self.SINK) if self.edges else set()
