"""A kernel as a nest: blocks around stretches of threads, from one barrier to the next.

In: a function with loops over blocks and threads around what one thread does, in which barriers and shared arrays are
calls. Out: the same without: for each stretch a loop over the threads of its own, and shared arrays made in the block.

    for b: for t:                        for b:
        tile = shared(16)                    tile = np.empty(16)
        i = b * 16 + t                       for t: tile[t] = x[b * 16 + t]
        tile[t] = x[i]                       for t:
        barrier()                                i = b * 16 + t                  made again
        y[i] = tile[15 - t]                      y[i] = tile[15 - t]

An `if` or a loop with a barrier inside stands around such loops, and what it depends on has to be the same in all
threads. What is made in one stretch and read in another is made again there if it is an integer that follows from
indices and from arrays that the kernel does not change; else it is kept, in an array with an element for each thread.
What is the same in all threads is done once, by the block.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeGuard

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.frontend.library.cuda import barrier, counted, shared
from adjit.transform.gpu.kernels.induction_variables import solve_induction_variables
from adjit.transform.gpu.kernels.thread_uniformity import Varying
from adjit.transform.ir.types import array_type, array_type_of, slice_type

_DIVISIONS = (operator.floordiv, operator.mod)
_ONE_THREAD = "Let one thread do it: `if cuda.threadIdx.x == 0:`."


def nest(function: ir.Function) -> ir.Function:
    """The function with its threads cut into stretches; Unsupported where some threads may not reach a barrier."""
    function = solve_induction_variables(function)
    *before, outermost = function.body.ops
    chain = list(_chain(outermost))
    blocks = [loop for loop in chain if loop.level == "blocks"]
    threads = [loop for loop in chain if loop.level == "threads"]
    cut = _Cut(function, threads, chain[-1].body)
    builder = ir.Builder()
    with builder.region() as ops:
        cut.run(builder)
    for loop in reversed(blocks):
        ops = [dataclasses.replace(loop, body=ir.Region(loop.body.args, tuple(ops), ()))]
    early, late = _before_blocks(blocks, ops)
    return ir.with_body(function, ir.with_ops(function.body, (*before, *early, *late)))


def _chain(op: ir.Op) -> Iterator[ir.For]:
    """The loops over blocks and threads, from the outside in."""
    while isinstance(op, ir.For) and op.level is not None:
        yield op
        if len(op.body.ops) != 1:
            return
        (op,) = op.body.ops


def _before_blocks(blocks: Sequence[ir.For], ops: Sequence[ir.Op]) -> tuple[list[ir.Op], Sequence[ir.Op]]:
    """Integers that are the same for all blocks, and the nest without them."""
    (outermost,) = ops
    assert isinstance(outermost, ir.For)
    *_, innermost = _chain_of_blocks(outermost)
    early, late = list[ir.Op](), list[ir.Op]()
    inside = innermost.body.defines | {b.body.args[0] for b in blocks}
    moved: set[ir.Operand] = set()
    for op in innermost.body.ops:
        is_outside = all(o not in inside or o in moved for o in op.operands)
        if is_outside and (isinstance(op, ir.Extent) or _is_harmless(op)):
            early.append(op)
            moved.update(op.results)
        else:
            late.append(op)
    return early, _with_innermost(outermost, innermost, late)


def _chain_of_blocks(op: ir.For) -> Iterator[ir.For]:
    while True:
        yield op
        inner = op.body.ops
        if len(inner) != 1 or not isinstance(inner[0], ir.For) or inner[0].level != "blocks":
            return
        op = inner[0]


def _with_innermost(outermost: ir.Op, innermost: ir.For, ops: Sequence[ir.Op]) -> Sequence[ir.Op]:
    """A nest with other operations in its innermost loop."""
    made = dataclasses.replace(innermost, body=ir.with_ops(innermost.body, ops))
    return ir.replaced(ir.Region((), (outermost,), ()), {innermost: [made]}).ops


def _is_harmless(op: ir.Op) -> TypeGuard[ir.Call]:
    """Whether it computes an integer or a boolean, and cannot fail."""
    if not isinstance(op, ir.Call) or op.effect or any(map(ir.is_reference, op.args)):
        return False
    is_whole = all(isinstance(out.type, types.Integer | types.Boolean) for out in op.outs)
    divides = op.callee in _DIVISIONS and not (isinstance(op.args[1], ir.Const) and op.args[1].value != 0)
    return is_whole and not divides


# --------------------------------------------------------------------------------------------------------- the skeleton


@dataclasses.dataclass(eq=False)
class _Stretch:
    """What threads do between two barriers; `ops` are theirs."""

    ops: list[ir.Op]


@dataclasses.dataclass(eq=False)
class _Once:
    """What the block does."""

    op: ir.Op


@dataclasses.dataclass(eq=False)
class _Count:
    """A count of the threads of which something holds."""

    op: ir.Call


@dataclasses.dataclass(eq=False)
class _Around:
    """An `if` or a loop with a barrier inside: what is in each of its regions, those of tests aside."""

    op: ir.If | ir.For | ir.While
    inside: list[list[_Item]]


_Item = _Stretch | _Once | _Count | _Around


class _Cut:
    """The body of a thread, cut. `kept`: the array that a value of each thread's is in between stretches."""

    def __init__(self, function: ir.Function, threads: Sequence[ir.For], body: ir.Region):
        self.function, self.threads, self.body = function, threads, body
        self.aliases = function.analysis(Aliases)
        self.made = function.body.made
        self.counters = tuple(loop.body.args[0] for loop in threads)
        self.varying = Varying(body, self.counters)
        self.shared: list[ir.Alloc] = []
        self.has_barrier = {op: _has_barrier(op) for op in body.inside if op.regions}
        self.of_block: set[ir.Operand] = set()  # values that the block makes
        self.home: dict[ir.Var, _Stretch] = {}  # the stretch in which a value of a thread's is made
        self.kept: dict[ir.Var, ir.Var] = {}
        self.builder = ir.Builder()
        self.written: ir.Op | None = None  # the last loop over threads

    def run(self, builder: ir.Builder) -> None:
        self.builder = builder
        if not self.threads:
            for op in ir.rewritten(self.body, _of_one_thread).ops:
                builder.emit(op)
            return
        items = self.placed(self.body.ops)
        self._find_homes(items)
        self._find_kept(items)
        for alloc in self.shared:
            builder.emit(alloc)
        for value, array in self._arrays().items():
            extents = tuple(loop.stop for loop in self.threads)
            inner = self._local_shape(value)
            builder.emit(ir.Alloc(shape=(*extents, *inner), out=array, role=ir.Role("kept", value)))
        self.emit(items)

    def _arrays(self) -> dict[ir.Var, ir.Var]:
        """Each array in which values are kept, by the first of these."""
        found: dict[ir.Var, ir.Var] = {}
        for value, array in self.kept.items():
            if array not in found.values():
                found[value] = array
        return found

    # ------------------------------------------------------------------------------------------------------- placing

    def placed(self, ops: Sequence[ir.Op]) -> list[_Item]:
        """What the threads do, all of them, cut at barriers."""
        items: list[_Item] = []
        current: list[ir.Op] = []

        def flush() -> None:
            if current:
                items.append(_Stretch(list(current)))
                current.clear()

        for op in ops:
            if isinstance(op, ir.Call) and op.callee is shared:
                self.shared.append(ir.Alloc(shape=op.args, out=op.outs[0], origin=op.origin))
                self.of_block.add(op.outs[0])
            elif isinstance(op, ir.Call) and op.callee is barrier:
                flush()
            elif isinstance(op, ir.Call) and op.callee is counted:
                flush()
                items.append(_Count(op))
                self.of_block.update(op.outs)
            elif self.has_barrier.get(op):
                flush()
                items.append(self._around(op))
            elif self._is_of_block(op):
                items.append(_Once(op))
                self.of_block.update(op.results)
            elif self._is_stored_by_all(op):
                flush()
                current += self._by_first_thread(op)
                flush()
            else:
                current.append(op)
        flush()
        return items

    def _is_of_block(self, op: ir.Op) -> bool:
        """Whether the block can do it at any time: it is the same in all threads, and pure."""
        if isinstance(op, ir.Undefined):
            return True
        if op.regions or not op.results or any(map(self.varying, op.results)):
            return False
        if not all(map(self.is_there, op.operands)):
            return False
        return isinstance(op, (ir.Extent, *ir.VIEWS)) or _is_pure(op) or self._loads_what_stays(op)

    def is_there(self, operand: ir.Operand) -> bool:
        """Whether the block has the value: it makes it, or it is there before."""
        if not isinstance(operand, ir.Var) or operand in self.of_block:
            return True
        return operand not in self.body.defines and operand not in self.counters

    def _loads_what_stays(self, op: ir.Op) -> bool:
        return isinstance(op, ir.Load) and not self.aliases.is_written(op.array)

    def _is_stored_by_all(self, op: ir.Op) -> TypeGuard[ir.Store]:
        """Whether all threads store one value to one element."""
        if not isinstance(op, ir.Store) or op.add or self.varying.is_own(op.array) or not self.counters:
            return False
        return not any(map(self.varying, op.operands))

    def _by_first_thread(self, op: ir.Store) -> list[ir.Op]:
        builder = ir.Builder(op.origin)
        with contextlib.ExitStack() as stack:
            for counter in self.counters:
                is_first = builder.call(operator.eq, counter, ir.integer(0), type=types.boolean, name="is_first")
                stack.enter_context(builder.when(is_first))
            builder.emit(op)
        return builder.ops

    def _around(self, op: ir.Op) -> _Around:
        assert isinstance(op, ir.If | ir.For | ir.While)
        if self.varying.steers(op):
            what = "branch" if isinstance(op, ir.If) else "loop"
            raise errors.Unsupported(
                f"a barrier in a {what} that some threads may not reach",
                ir.place_of(_first_barrier(op).origin),
                f"The {what} depends on the thread{_where(op)}. An early return counts, too.",
                "Move the barrier out of it. Only the code between barriers may depend on the thread.",
            )
        if isinstance(op, ir.For):
            self.of_block.add(op.body.args[0])
        for name in self._of_block_in(op):
            self.of_block.add(name)
        regions = [op.body] if isinstance(op, ir.While) else op.regions
        inside = [self.placed(region.ops) for region in regions]
        self.of_block.update(out for out in op.results if not self.varying(out))
        return _Around(op, inside)

    def _of_block_in(self, op: ir.Op) -> Iterator[ir.Var]:
        """The names that a loop has inside for what the block carries."""
        if isinstance(op, ir.For | ir.While):
            for slot, names in zip(op.slots, ir.names_of_slots(op), strict=True):
                if not self.varying(slot.arg):
                    yield from names

    # ------------------------------------------------------------------------------------ what is read across a barrier

    def _find_homes(self, items: Sequence[_Item]) -> None:
        for item in items:
            if isinstance(item, _Stretch):
                self.home.update((out, item) for op in item.ops for out in _results(op))
            elif isinstance(item, _Around):
                for inside in item.inside:
                    self._find_homes(inside)

    def _find_kept(self, items: Sequence[_Item]) -> None:
        for item in items:
            if isinstance(item, _Stretch):
                for v in _free(item.ops):
                    if self.home.get(v) is not item:
                        self._want(v)
            elif isinstance(item, _Count):
                self._want_in_memory(item.op.args[0])
            elif isinstance(item, _Once):
                for o in item.op.operands:
                    self._want_in_block(o)
            else:
                self._find_kept_around(item)

    def _find_kept_around(self, item: _Around) -> None:
        op = item.op
        bounds = op.operands[: 3 if isinstance(op, ir.For) else 1 if isinstance(op, ir.If) else 0]
        for o in bounds:
            self._want_in_block(o)
        names = [(out,) for out in op.results] if isinstance(op, ir.If) else ir.names_of_slots(op)
        handed = list(zip(*self._handed_on(op), strict=True))
        for own, incoming in zip(names, handed, strict=True):
            if self.varying(own[-1]):
                array = self._room(own[-1])
                self.kept.update((name, array) for name in own)
                for value in incoming:
                    if self._may_stay_in_place(item, own, value):
                        assert isinstance(value, ir.Var)
                        self.kept[value] = array
                    self._want(value)
            else:
                for value in incoming:
                    self._want_in_block(value)
        if isinstance(op, ir.While):
            for v in ir.free_vars(op.test):
                self._want_in_block(v)
        for inside in item.inside:
            self._find_kept(inside)

    def _may_stay_in_place(self, item: _Around, names: Sequence[ir.Var], value: ir.Operand) -> bool:
        """Whether what a trip hands on may be kept where the trip found it: nobody looks there any more."""
        op = item.op
        if isinstance(op, ir.If) or value in self.kept or value not in self.home or value in op.inits:
            return False
        (inside,) = item.inside
        place = next((k for k, one in enumerate(inside) if one is self.home[value]), None)  # type: ignore[index]
        if place is None or op.body.yields.count(value) > 1 or any(name in op.body.yields for name in names):
            return False
        return not any(name in _read(one) for one in inside[place + 1 :] for name in names)

    def _handed_on(self, op: ir.If | ir.For | ir.While) -> list[Sequence[ir.Operand]]:
        """What the results are made of: the yields of each branch, or what a loop starts from and a trip leaves."""
        if isinstance(op, ir.If):
            return [region.yields for region in op.regions]
        return [op.inits, op.body.yields[: len(op.outs)]]

    def _room(self, value: ir.Var) -> ir.Var:
        """A new array for a value of each thread's."""
        if ir.is_reference(value):
            raise errors.Unsupported(
                f"`{value.name}`, a choice between arrays of a thread, across a barrier",
                None if self.made.get(value) is None else ir.place_of(self.made[value].origin),
                "",
                "Copy its elements.",
            )
        return ir.Var(f"{value.name}_kept", array_type(value.type, len(self.threads)), user=value.user)

    def _want(self, value: ir.Operand) -> None:
        """A value is wanted by the threads in a stretch that does not make it."""
        if self.is_there(value) or value in self.counters or value in self.kept:
            return
        assert isinstance(value, ir.Var)
        if self._is_made_again(value):
            for o in self.made[value].reads:
                if isinstance(o, ir.Var) and o not in _inside(self.made[value]):
                    self._want(o)
            return
        self._keep(value)

    def _want_in_memory(self, value: ir.Operand) -> None:
        if isinstance(value, ir.Var) and value not in self.kept and value in self.home:
            self._keep(value)

    def _want_in_block(self, value: ir.Operand) -> None:
        if not self.is_there(value):
            self._want_in_memory(value)

    def _keep(self, value: ir.Var) -> None:
        if ir.is_array(value):
            alloc = self.made[value]
            if not isinstance(alloc, ir.Alloc) or alloc.fill is not None:
                self._room(value)
            type_ = array_type_of(value)
            self.kept[value] = ir.Var(value.name, array_type(type_.dtype, type_.ndim + len(self.threads)), value.user)
            return
        self.kept[value] = self._room(value)

    def _is_made_again(self, value: ir.Var) -> bool:
        """Whether it is made again where it is read: it costs little and is the same then."""
        op = self.made.get(value)
        if op is None or value not in self.home:
            return False
        if isinstance(op, ir.VIEWS):
            return True
        if isinstance(op, ir.If):
            return all(map(_is_whole, op.outs)) and all(map(self._is_cheap, (*op.then.inside, *op.orelse.inside)))
        return self._is_cheap(op)

    def _is_cheap(self, op: ir.Op) -> bool:
        if isinstance(op, ir.Extent):
            return True
        if not all(map(_is_whole, op.results)):
            return False
        return _is_pure(op) or self._loads_what_stays(op)

    def _local_shape(self, value: ir.Var) -> tuple[ir.Operand, ...]:
        if not ir.is_array(value):
            return ()
        alloc = self.made[value]
        assert isinstance(alloc, ir.Alloc)
        return alloc.shape

    # ------------------------------------------------------------------------------------------------------ emitting

    def emit(self, items: Sequence[_Item]) -> None:
        for item in items:
            if isinstance(item, _Once):
                self.builder.emit(ir.substituted(item.op, self._for_block(item.op.operands)))
            elif isinstance(item, _Stretch):
                self.in_threads(lambda threads, item=item: threads.run(item.ops), item.ops[0].origin)  # type: ignore[misc]
            elif isinstance(item, _Count):
                self._count(item.op)
            elif isinstance(item.op, ir.If):
                self._branch(item.op, item.inside)
            else:
                self._loop(item.op, item.inside)

    def in_threads(self, work: Callable[[_Threads], None], origin: ir.Origin | None, may_join: bool = False) -> None:
        """A loop over the threads, in which `work` emits; `may_join`: or the one before."""
        last = self.builder.ops[-1] if self.builder.ops else None
        if may_join and last is not None and last is self.written:
            # it is about elements of each thread's own alone
            *_, innermost = _chain(last)
            around = {loop.body.args[0]: loop for loop in _chain(last)}
            with self.builder.region(list(innermost.body.ops)) as ops:
                work(_Threads(self, dict(zip(self.counters, around, strict=True))))
            (self.written,) = self.builder.ops[-1:] = _with_innermost(last, innermost, ops)
            return
        counters = tuple(dataclasses.replace(c) for c in self.counters)
        with self.builder.region() as ops:
            work(_Threads(self, dict(zip(self.counters, counters, strict=True))))
        for loop, counter in zip(reversed(self.threads), reversed(counters), strict=True):
            ops = [dataclasses.replace(loop, body=ir.Region((counter,), tuple(ops), ()), origin=origin)]
        for op in ops:
            self.written = self.builder.emit(op)

    def _for_block(self, operands: Iterable[ir.Operand]) -> dict[ir.Var, ir.Operand]:
        """What the block has for values that threads made, which are the same in all."""
        found: dict[ir.Var, ir.Operand] = {}
        for o in operands:
            if isinstance(o, ir.Var) and not self.is_there(o):
                first = [ir.integer(0)] * len(self.counters)
                found[o] = self.builder.load(self.kept[o], first, o.name)
        return found

    def _in_block(self, operand: ir.Operand) -> ir.Operand:
        return ir.substituted_operand(operand, self._for_block([operand]))

    def _count(self, op: ir.Call) -> None:
        """How many threads there are of which the condition holds, by a loop over all."""
        (condition,) = op.args
        if not isinstance(condition, ir.Var) or condition not in self.kept:
            total = 1
            for loop in self.threads:
                assert isinstance(loop.stop, ir.Const)
                total *= loop.stop.value
            args = (self._in_block(condition), ir.integer(total), ir.integer(0))
            self.builder.emit(ir.Call(callee=ir.select, args=args, outs=op.outs, origin=op.origin))
            return
        array, index = self.kept[condition], list[ir.Var]()

        def level(depth: int, value: ir.Operand) -> ir.Operand:
            if depth == len(self.threads):
                holds = self.builder.load(array, index)
                one = self.builder.call(ir.cast, holds, type=types.intp, name="one")
                return self.builder.call(operator.add, value, one, type=types.intp, name="count")
            loop = self.threads[depth]

            def step(counter: ir.Var, so_far: ir.Var) -> Sequence[ir.Operand]:
                index.append(counter)
                return (level(depth + 1, so_far),)

            outs = op.outs if depth == 0 else ()
            arg = ir.Var("count", types.intp)
            return self.builder.fold(loop.stop, loop.body.args[0].name, [value], [arg], step, outs)[0]

        level(0, ir.integer(0))

    def _branch(self, op: ir.If, inside: Sequence[Sequence[_Item]]) -> None:
        own = [k for k, out in enumerate(op.outs) if not self.varying(out)]
        condition = self._in_block(op.condition)
        regions: list[ir.Region] = []
        for region, items in zip(op.regions, inside, strict=True):
            with self.builder.region() as ops:
                self.emit(items)
                self._hand_on([(out, y) for out, y in zip(op.outs, region.yields, strict=True)])
                yields = [self._in_block(region.yields[k]) for k in own]
            regions.append(ir.Region((), tuple(ops), tuple(yields)))
        outs = tuple(op.outs[k] for k in own)
        self.builder.emit(op.rebuilt((condition,), regions, outs))

    def _loop(self, op: ir.For | ir.While, inside: Sequence[Sequence[_Item]]) -> None:
        own = [k for k, slot in enumerate(op.slots) if not self.varying(slot.arg)]
        self._hand_on([(slot.arg, slot.init) for slot in op.slots])
        narrow = ir.with_results(op, own)
        mapping = self._for_block(narrow.operands)
        operands = [ir.substituted_operand(o, mapping) for o in narrow.operands]
        with self.builder.region() as ops:
            self.emit(inside[0])
            self._hand_on([(slot.arg, slot.yielded) for slot in op.slots])
            yields = [self._in_block(y) for y in narrow.body.yields]
        body = ir.Region(narrow.body.args, tuple(ops), tuple(yields))
        if isinstance(narrow, ir.While):
            with self.builder.region() as tests:
                around = self._for_block(ir.free_vars(narrow.test))
                for inner in narrow.test.ops:
                    self.builder.emit(ir.substituted(inner, around))
            test = ir.Region(narrow.test.args, tuple(tests), narrow.test.yields)
            self.builder.emit(narrow.rebuilt(operands, [test, body], narrow.results))
        else:
            self.builder.emit(narrow.rebuilt(operands, [body], narrow.results))

    def _hand_on(self, pairs: Sequence[tuple[ir.Var, ir.Operand]]) -> None:
        """Keeps values under other names: all are read before any is stored."""
        given = [(name, value) for name, value in pairs if self.varying(name)]
        moved = [(name, v) for name, v in given if not (isinstance(v, ir.Var) and self.kept.get(v) is self.kept[name])]
        if not moved:
            return

        def work(threads: _Threads) -> None:
            values = [threads.value(value) for _, value in moved]
            for (name, _), value in zip(moved, values, strict=True):
                self.builder.store(self.kept[name], threads.index, value)

        self.in_threads(work, None, may_join=True)


class _Threads:
    """One loop over threads while it is written: what it calls the values that others make."""

    def __init__(self, cut: _Cut, counters: dict[ir.Var, ir.Var]):
        self.cut = cut
        self.index = list(counters.values())
        self.names: dict[ir.Var, ir.Operand] = dict(counters.items())

    def run(self, ops: Sequence[ir.Op]) -> None:
        cut, own = self.cut, {out for op in ops for out in op.results}
        for op in ops:
            wanted = [v for v in op.reads if isinstance(v, ir.Var) and v not in own and v not in _inside(op)]
            for v in wanted:
                self.value(v)
            if isinstance(op, ir.Alloc) and op.out in cut.kept:
                self.value(op.out)
                continue
            cut.builder.emit(ir.substituted(op, self.names))
            for out in op.results:
                if out in cut.kept:
                    cut.builder.store(cut.kept[out], self.index, out)

    def value(self, value: ir.Operand) -> ir.Operand:
        """What this loop calls a value that is made elsewhere."""
        cut = self.cut
        if not isinstance(value, ir.Var) or cut.is_there(value):
            return value
        if value in self.names:
            return self.names[value]
        if value in cut.kept and ir.is_array(value):
            rank = array_type_of(value).ndim
            selectors: tuple[ir.Selector, ...] = (*map(ir.At, self.index), *[ir.Span()] * rank)
            out = dataclasses.replace(value, type=slice_type(array_type_of(cut.kept[value]), selectors))
            cut.builder.emit(ir.Slice(base=cut.kept[value], selectors=selectors, out=out))
            self.names[value] = out
        elif value in cut.kept:
            self.names[value] = cut.builder.load(cut.kept[value], self.index, value.name)
        else:
            op = cut.made[value]
            for o in op.reads:
                if isinstance(o, ir.Var) and o not in _inside(op):
                    self.value(o)
            cloner = ir.Cloner(self.names)
            cut.builder.emit(cloner.op(op))
            self.names.update((out, cloner.mapping[out]) for out in op.results)
        return self.names[value]


def _of_one_thread(op: ir.Op) -> Sequence[ir.Op]:
    """What a block of one thread does."""
    if not isinstance(op, ir.Call) or op.callee not in (barrier, counted, shared):
        return (op,)
    if op.callee is shared:
        return (ir.Alloc(shape=op.args, out=op.outs[0], origin=op.origin),)
    return () if op.callee is barrier else (dataclasses.replace(op, callee=ir.cast, effect=False),)


def _read(item: _Item) -> set[ir.Operand]:
    """What is read in it."""
    ops = item.ops if isinstance(item, _Stretch) else [item.op]
    return {o for op in ops for o in op.reads}


def _is_whole(value: ir.Var) -> bool:
    return isinstance(value.type, types.Integer | types.Boolean)


def _is_pure(op: ir.Op) -> TypeGuard[ir.Call]:
    return isinstance(op, ir.Call) and not op.effect and not any(map(ir.is_reference, (*op.args, *op.outs)))


def _has_barrier(op: ir.Op) -> bool:
    return any(isinstance(inner, ir.Call) and inner.callee in (barrier, counted) for inner in ir.with_inner(op))


def _first_barrier(op: ir.Op) -> ir.Op:
    return next(i for i in ir.with_inner(op) if isinstance(i, ir.Call) and i.callee in (barrier, counted))


def _where(op: ir.Op) -> str:
    return "" if op.origin is None else f" (L{op.origin.line}: {op.origin.text})"


def _results(op: ir.Op) -> Sequence[ir.Var]:
    return op.results


def _inside(op: ir.Op) -> set[ir.Operand]:
    """What is defined inside an operation."""
    return {v for region in op.regions for v in region.defines}


def _free(ops: Sequence[ir.Op]) -> list[ir.Var]:
    return ir.free_vars(ir.Region((), tuple(ops), ()))
