"""Nests become kernels; what is left is the function of the host that launches them.

In: a function. Out: a `Plan`: kernels, in the order of their launches, and the host's function.

    total = 0.0                               blocks = spread(x.size)
    for i in range(x.size):                   sum_parts = parts(1, blocks)
        total += x[i] * x[i]                  f_L3[blocks](x, sum_parts)
    y[0] += total                             f_L3_tail[one_block](sum_parts, y)

A number that a kernel makes stays on the device, in an array of shape (), its *cell*; the host reads it only where its
own control flow needs it. Statements on such numbers, and on elements, go to the *tail* of the launch before them: a
kernel of one block, which adds up the parts of sums in the order of the blocks, and of which the first thread does the
statements.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections import Counter
from collections.abc import Collection, Sequence

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.trip_counts import count_trips
from adjit.transform.gpu import callees
from adjit.transform.gpu.block_body import BlockBody
from adjit.transform.gpu.blocks.barriers import with_barriers
from adjit.transform.gpu.blocks.block_operations import launches_in, refuse, stored_by_threads
from adjit.transform.gpu.blocks.conflicts import with_atomics
from adjit.transform.gpu.blocks.tile_refill import with_refills
from adjit.transform.gpu.bounded_tapes import with_bounded_tapes
from adjit.transform.gpu.kernel_body import Axis, KernelBody, Sum
from adjit.transform.gpu.mapping import Mapping, Nest
from adjit.transform.gpu.memory_order import in_memory_order
from adjit.transform.gpu.memory_spaces import BlockNest, Home, check_size, private
from adjit.transform.gpu.ordered_sums import in_order
from adjit.transform.gpu.parameters import Parameters
from adjit.transform.gpu.plan import Launched, Plan, cell_type
from adjit.transform.gpu.preparation import prepared
from adjit.transform.gpu.row_body import RowBody
from adjit.transform.gpu.sums.double_precision import as_type, widened
from adjit.transform.gpu.sums.gathers import gather_additions
from adjit.transform.gpu.sums.inner_sums import added_by_terms
from adjit.transform.gpu.sums.loop_sums import extreme
from adjit.transform.gpu.sums.pairwise import by_pairs
from adjit.transform.gpu.sums.uniform_sums import sum_uniform
from adjit.transform.gpu.unroll_limits import rolled
from adjit.transform.ir.printing import callee_name
from adjit.transform.ir.types import array_type_of, is_scalar, typed_const
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.rewrite.invariant_integers import made_before
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked

_EACH, _SEVERAL, _TOGETHER = "a thread a trip", "several trips a thread", "several threads a trip"
_SHAPE = types.intp  # of what the host passes to launches: no kernel sees it, so any type of a number will do


def planned(
    function: ir.Function,
    on_device: Collection[ir.Var] = (),
    of_kernel: bool = False,
    deterministic: bool = False,
    wide: bool = False,
    with_rows: bool = True,
) -> Plan:
    """The function for a GPU; raises Unsupported for what neither a kernel nor the host can do.

    on_device: parameters that are numbers, and are given as arrays of shape () on the device.
    of_kernel: it is made of a kernel, of which the host does nothing.
    deterministic: what threads would add up atomically is added up in the order of the trips.
    wide: sums in single precision are added up in double precision.
    with_rows: several threads share a trip with long loops inside.
    """
    function = with_bounded_tapes(prepared(function))
    function = checked(by_pairs(checked(made_before(function), "made before")), "by pairs")
    function = checked(added_by_terms(function), "by terms")
    function = sum_uniform(gather_additions(simplify(function)))
    function = checked(widened(function), "wide sums") if wide else function
    function = _with_blocks(function)
    return _Outline(in_order(function) if deterministic else function, on_device, of_kernel, wide, with_rows).plan()


def _with_blocks(function: ir.Function) -> ir.Function:
    """The function with what its blocks store stored by their threads, atomic additions, and barriers."""
    launches = list(launches_in(function.body))
    if not launches:
        return function
    for loop in launches:
        refuse(loop.body)
    function = checked(stored_by_threads(checked(with_refills(function), "refilled")), "by threads")
    function = checked(with_atomics(function), "atomic")
    return checked(with_barriers(function, functools.partial(private, function)), "barriers")


class _Tail:
    """What waits for the next launch: sums whose parts are there, and statements for one thread."""

    def __init__(self) -> None:
        self.sums: list[Sum] = []
        self.ops: list[ir.Op] = []
        self.origin: ir.Origin | None = None
        self.after: str = ""  # the kernel that made the parts

    def __bool__(self) -> bool:
        return bool(self.sums or self.ops)


class _Outline:
    def __init__(
        self, function: ir.Function, on_device: Collection[ir.Var], of_kernel: bool, wide: bool, with_rows: bool
    ):
        self.function, self.of_kernel, self.wide = function, of_kernel, wide
        self.with_rows = with_rows and not of_kernel
        self.given = frozenset(on_device)
        self.aliases = function.analysis(Aliases)
        self.made = function.body.made
        self.bounds = function.analysis(Iterations).bounds
        self.cells: dict[ir.Var, ir.Var] = {}  # of each number on the device
        self.kernels: list[ir.Function] = []
        self.apart: dict[str, tuple[bool, ...]] = {}
        self.launches: list[Launched] = []
        self.reads: list[tuple[str, ir.Origin | None]] = []
        self.names: set[str] = {function.name}
        self.is_reverse = False
        self.tail = _Tail()
        self.mapping: Mapping
        self.tapes: set[ir.Operand] = set()  # those of numbers on the device, by alias class
        self.readers: dict[ir.Operand, set[ir.Op | None]] = {}
        self._note_readers(function.body, None)
        self.mapping = Mapping(function, (), self.with_rows)
        self.loads = self._fixed_loads()
        self.mapping, self.on_device = self._places()

    def _note_readers(self, region: ir.Region, holder: ir.Op | None) -> None:
        for op in region.ops:
            for operand in op.operands:
                self.readers.setdefault(operand, set()).add(op)
            for inner in op.regions:
                self._note_readers(inner, op)
        for operand in region.yields:
            self.readers.setdefault(operand, set()).add(holder)

    # ---------------------------------------------------------------------------------------------- places of numbers

    def _fixed_loads(self) -> dict[ir.Var, ir.Load]:
        """Elements that nothing changes, which kernels alone need."""
        launched: set[ir.Op | None] = set()
        for op in self.function.body.ops:
            if self.mapping.kind(op) == "launch":
                launched.update(inner for region in op.regions for inner in region.inside)
        return {
            op.out: op
            for op in self.function.body.ops
            if isinstance(op, ir.Load)
            and isinstance(op.array, ir.Var)
            and all(isinstance(i, ir.Const) for i in op.index)
            and not self.aliases.is_written(op.array)
            and launched.issuperset(self.readers.get(op.out, ()))
        }

    def _places(self) -> tuple[Mapping, set[ir.Operand]]:
        """What the host and the device do, and which numbers are on the device."""
        kept = self.mapping.of_integers()
        while True:
            self.mapping = Mapping(self.function, kept, self.with_rows) if kept else self.mapping
            found = self._on_device()
            stores = (op for op in self.function.body.inside if isinstance(op, ir.Load | ir.Store))
            moved = {
                self.aliases.find(op.array)
                for op in stores
                if self.aliases.find(op.array) in kept and any(o in found for o in op.operands)
            }
            if not moved:
                return self.mapping, found
            kept = self.mapping.without_half_copies(kept - moved)

    def _on_device(self) -> set[ir.Operand]:
        """The numbers that kernels make and the host's regions name."""
        found: set[ir.Operand] = set(self.given)
        self.tapes = set()
        count = -1
        while count < len(found) + len(self.tapes):
            count = len(found) + len(self.tapes)
            self._find_on_device(self.function.body, found)
        return found

    def _find_on_device(self, region: ir.Region, found: set[ir.Operand]) -> None:
        for op in region.ops:
            kind = self.mapping.kind(op)
            numbers = [out for out in op.results if is_scalar(out.type)]
            if isinstance(op, ir.Load) and op.out in self.loads:
                continue
            if kind == "launch" or (kind == "thread" and self._is_devices(op, found)):
                found.update(numbers)
            elif kind == "host" and op.regions:
                for inner in op.regions:
                    self._find_on_device(inner, found)
                for name, *sources in ir.joined(op):
                    if is_scalar(name.type) and any(source in found for source in sources):
                        found.add(name)
            elif isinstance(op, ir.Push) and op.value in found:
                self.tapes.add(self.aliases.find(op.tape))
            elif isinstance(op, ir.Pull) and self.aliases.find(op.tape) in self.tapes:
                found.update(numbers)

    def _is_devices(self, op: ir.Op, found: set[ir.Operand]) -> bool:
        """Whether something that one thread can do needs to be done on the device."""
        inside = list(ir.with_inner(op))
        accesses = (o for o in inside if isinstance(o, ir.Load | ir.Store))
        if any(self.aliases.find(o.array) not in self.mapping.on_host for o in accesses):
            return True
        return any(operand in found for operand in op.reads)

    # ---------------------------------------------------------------------------------------------- the host's regions

    def plan(self) -> Plan:
        builder = Writer()
        body = self.function.body
        for var in self.given:
            self.new_cell(var)
        with builder.region() as ops:
            self.region(body, builder)
            yields = [self.result(y, builder) for y in body.yields]
        # what is yielded may be in the last tail
        host = _without_unread(ir.Region(tuple(map(self.parameter, body.args)), tuple(ops), tuple(yields)))
        params = tuple(ir.map_tree(self.parameter, tree) for tree in self.function.params)
        allocs = (op.out for op in host.inside if isinstance(op, (ir.Alloc, ir.Copy, *ir.VIEWS)))
        kept = frozenset(out for out in allocs if self.aliases.find(out) in self.mapping.on_host)
        comments = () if self.of_kernel else self.function.comments
        made = dataclasses.replace(self.function, params=params, body=host, comments=comments)
        return Plan(made, tuple(self.kernels), kept, tuple(self.launches), tuple(self.reads), self.apart)

    def parameter(self, leaf: ir.Var) -> ir.Var:
        return self.cells[leaf] if leaf in self.given else leaf

    def result(self, operand: ir.Operand, builder: Writer) -> ir.Operand:
        """What the function returns for a number: a device array of shape ()."""
        return self.cell(operand, builder) if isinstance(operand.type, types.Float) else self.host(operand, builder)

    def region(self, region: ir.Region, builder: Writer) -> None:
        for op in region.ops:
            self.op(op, builder)
        self.flush(builder)

    def op(self, op: ir.Op, builder: Writer) -> None:
        if isinstance(op, ir.Comment):
            self.is_reverse |= op.text == ir.REVERSE_SWEEP
            builder.emit(op)
            return
        kind = self.mapping.kind(op)
        if kind == "launch":
            self.flush(builder)
            if op in self.mapping.launches:
                self.launch_blocks(self.mapping.launches[op], builder)
            else:
                self.launch(self.mapping.nests[op], builder)
        elif isinstance(op, ir.Load) and op.out in self.loads:
            pass  # kernels load it
        elif kind == "thread" and self._is_devices(op, self.on_device):
            self.tail.ops.append(op)
        elif op.regions:
            self.flush(builder)
            self.control(op, builder)
        else:
            self.plain(op, builder)

    def plain(self, op: ir.Op, builder: Writer) -> None:
        """An operation that the host does itself."""
        if isinstance(op, ir.Copy) or _is_launched(op) or any(o in self.on_device for o in op.operands):
            self.flush(builder)
        self.refuse(op)
        if isinstance(op, ir.Push) and self.aliases.find(op.tape) in self.tapes:
            operands = [op.tape, self.host(op.index, builder), self.cell(op.value, builder)]
            builder.emit(ir.with_parts(op, operands, [], ()))
        elif isinstance(op, ir.Pull) and self.aliases.find(op.tape) in self.tapes:
            operands = [op.tape, self.host(op.index, builder)]
            builder.emit(ir.with_parts(op, operands, [], [self.new_cell(op.out)]))
        else:
            operands = [self.host(o, builder, op.origin) for o in op.operands]
            builder.emit(ir.with_parts(op, operands, [], op.results))

    def refuse(self, op: ir.Op) -> None:
        """Unsupported for what the host does not do on a device."""
        if not isinstance(op, ir.Call) or is_check(op) or _is_launched(op):
            return
        if op.callee in callees.ON_HOST and not set(dict(op.options)) - {"dtype"}:
            return
        place, name = ir.place_of(op.origin), callee_name(op.callee)
        if isinstance(op.callee, ir.Said):
            if any(ir.is_reference(o) or o in self.on_device for o in op.args):
                what = f"{name} of a value on the device"
                raise Unsupported(
                    what,
                    place,
                    "The host would have to wait for the value.",
                    "Return the value, and call the function outside.",
                )
            return
        if op.effect and not _is_ours(op.callee):
            raise Unsupported(
                f"{name}, which draws random numbers, for a GPU",
                place,
                "Kernels have no state to draw from.",
                "Draw the numbers outside of the function, and pass them.",
            )
        if any(map(ir.is_reference, (*op.args, *op.outs))):
            raise Unsupported(
                f"{name} of whole arrays, for a GPU", place, "", "Write it as loops, or compute it outside."
            )
        if any(o in self.on_device for o in op.args):
            raise Unsupported(
                f"{name} of a number that a kernel makes",
                place,
                "A kernel cannot call it, and the host would have to wait for the number.",
                "Write it with operators and functions of math, or compute it outside.",
            )

    def refuse_trips(self, loop: ir.For) -> None:
        """Unsupported, of trips that are a kernel's threads, and cannot be here."""
        refuse(loop.body)
        for op in loop.body.inside:
            if isinstance(op, ir.Alloc | ir.Copy):
                check_size(op, loop, self.function.analysis(Iterations))
        said = next((op for op in loop.body.inside if isinstance(op, ir.Call) and isinstance(op.callee, ir.Said)), None)
        if said is not None:
            name, place = callee_name(said.callee), ir.place_of(said.origin)
            raise Unsupported(
                f"{name} in a kernel that is differentiated",
                place,
                "",
                "Leave it out while you differentiate the kernel.",
            )
        serial = self.mapping.serial.get(loop)
        why = "A thread would need data that only the host has."
        if serial is not None:
            names = (ir.name_of(v, "an array") for v in serial.about)
            why = f"Between its threads: {serial.why.format(*names)}."
        origin = next((op.origin for op in (loop, *loop.body.inside) if op.origin is not None), None)
        raise Unsupported(
            f"the work of a thread of {self.function.name} in a generated kernel",
            ir.place_of(origin),
            why,
            'Use target="cpu", or write the kernel differently.',
        )

    def control(self, op: ir.Op, builder: Writer) -> None:
        """A loop or a branch of the host; the numbers on the device that it hands on are their cells."""

        def handed(var: ir.Operand, name: ir.Var) -> ir.Operand:
            return self.cell(var, builder) if name in self.on_device else self.host(var, builder)

        def named(name: ir.Var) -> ir.Var:
            return self.new_cell(name) if name in self.on_device else name

        def inner(region: ir.Region, args: Sequence[ir.Var], names: Sequence[ir.Var]) -> ir.Region:
            with builder.region() as ops:
                self.region(region, builder)
                carried = [handed(y, name) for y, name in zip(region.yields, names, strict=False)]
                rest = [self.host(y, builder, op.origin) for y in region.yields[len(names) :]]
            return ir.Region(tuple(args), tuple(ops), (*carried, *rest))

        if self.of_kernel and isinstance(op, ir.For) and op.parallel:
            self.refuse_trips(op)
        if isinstance(op, ir.If):
            condition = self.host(op.condition, builder, op.origin)
            regions = [inner(region, (), op.outs) for region in op.regions]
            builder.emit(ir.with_parts(op, (condition,), regions, [named(out) for out in op.outs]))
            return
        assert isinstance(op, ir.For | ir.While)
        carried = [slot.arg for slot in op.slots]
        inits = [handed(slot.init, slot.arg) for slot in op.slots]
        if isinstance(op, ir.For):
            bounds = [self.host(o, builder, op.origin) for o in (op.start, op.stop, op.step)]
            args = (op.body.args[0], *map(named, carried))
            regions, operands = [inner(op.body, args, carried)], [*bounds[:2], bounds[2], *inits]
        else:
            test = inner(op.test, [named(arg) for arg in op.test.args], ())
            regions, operands = [test, inner(op.body, [named(arg) for arg in carried], carried)], inits
        builder.emit(ir.with_parts(op, operands, regions, [named(out) for out in op.outs]))

    # ---------------------------------------------------------------------------------------------- numbers

    def new_cell(self, number: ir.Var) -> ir.Var:
        made = self.cells[number] = dataclasses.replace(number, type=cell_type(number.type))
        return made

    def cell(self, operand: ir.Operand, builder: Writer) -> ir.Operand:
        """Where a number is on the device; the host's own are put there. Arrays are as they are."""
        if not is_scalar(operand.type):
            return operand
        if operand in self.on_device:
            self.flush(builder)
            assert isinstance(operand, ir.Var)
            return self.cells[operand]
        name = ir.name_of(operand, "number")
        options = (("dtype", operand.type),)
        return builder.call(callees.NUMBER, operand, type=cell_type(operand.type), name=name, options=options)

    def host(self, operand: ir.Operand, builder: Writer, origin: ir.Origin | None = None) -> ir.Operand:
        """The operand as the host has it; a number on the device is read, which waits for the kernels before."""
        if operand not in self.on_device:
            return operand
        assert isinstance(operand, ir.Var)
        self.flush(builder)
        self.reads.append((operand.name, origin))
        out = dataclasses.replace(operand)
        builder.emit(ir.Call(callee=callees.READ, args=(self.cells[operand],), outs=(out,), effect=True))
        return out

    # ---------------------------------------------------------------------------------------------- launches

    def name(self, origin: ir.Origin | None, ending: str = "") -> str:
        line = "" if origin is None else f"_L{origin.line}"
        ending = ending or ("" if line else "_kernel")
        base = f"{self.function.name}{line}{'_reverse' if self.is_reverse else ''}{ending}"
        found, count = base, 1
        while found in self.names:
            count += 1
            found = f"{base}_{count}"
        self.names.add(found)
        return found

    def launch(self, nest: Nest, builder: Writer) -> None:
        shared = self.shared_trips(nest, builder)
        if shared:
            self.launch_rows(nest, shared, builder)
            return
        name = self.name(nest.outer.origin)
        axes = [self.axis(nest.loops[k], builder) for k in nest.axes]
        is_spread = bool(nest.outer.slots) or any(not place.is_local for place in nest.places)
        callee = callees.SHARE if nest.split else callees.SPREAD if is_spread else callees.COVER
        shape = builder.call(callee, *(axis.trips for axis in axes), type=_SHAPE, name="blocks")
        found = self.parts(nest.outer, shape, builder)
        slots = {
            p: self.slots(p.made, p.shape, p.type, callees.THREAD_COUNT, p.is_first, shape, builder)
            for p in nest.places
            if not p.is_local
        }
        rows = [] if nest.split is None else [self.rows(s, axes, shape, builder) for s in nest.split.stores]
        body = KernelBody(nest, axes, found, slots, rows, is_spread, self.aliases)
        additions = nest.additions(self.aliases)
        self.emit_kernel(name, [_note(additions), *body.ops], shape, nest.outer.origin, builder)
        how = _SEVERAL if nest.split or is_spread else _EACH
        trips = tuple(axis.trips for axis in axes)
        self.launches.append(Launched(self.kernels[-1], nest.outer.origin, how, trips, tuple(additions)))
        for s, parts in zip(nest.split.stores if nest.split else (), rows, strict=True):
            self.add_rows(s, parts, axes[:-1], builder)
        self.tail.sums += found
        self.tail.origin, self.tail.after = nest.outer.origin, name

    def shared_trips(self, nest: Nest, builder: Writer) -> list[ir.Operand]:
        """How many trips threads of a row share, as far as the host knows; nothing if a trip has one thread."""
        if nest.rows is None:
            return []
        found = [n for n in nest.rows.trips if not any(s in self.on_device for s in n.terms if isinstance(s, ir.Var))]
        return [builder.integer(n) for n in found] or [builder.extent(array, 0) for array in nest.rows.listed]

    def launch_rows(self, nest: Nest, shared: Sequence[ir.Operand], builder: Writer) -> None:
        """A launch in which several threads have a trip together."""
        rows = nest.rows
        assert rows is not None
        name = self.name(nest.outer.origin)
        axes = [self.axis(nest.loops[k], builder) for k in nest.axes]
        trips = tuple(axis.trips for axis in axes)
        is_spread = bool(nest.outer.slots or nest.places)
        said = {"along": rows.along, "apart": not rows.together, "spread": is_spread}
        said["listed"] = bool(rows.listed)
        options = (*((("axes", len(axes)),) if len(axes) > 1 else ()), *(item for item in said.items() if item[1]))
        shape = builder.call(callees.ROWS, *trips, *shared, type=_SHAPE, name="blocks", options=options)
        found = self.parts(nest.outer, shape, builder)
        count = callees.ROWS_ALONG if rows.along else callees.ROWS_ACROSS
        slots = {
            p: self.slots(p.made, p.shape, p.type, count, rows.along or p.is_first, shape, builder) for p in nest.places
        }
        body = RowBody(nest, rows, axes, found, slots, is_spread, self.aliases)
        additions = nest.additions(self.aliases, by_rows=True)
        self.emit_kernel(name, [_note(additions), *body.ops], shape, nest.outer.origin, builder)
        self.launches.append(Launched(self.kernels[-1], nest.outer.origin, _TOGETHER, trips, tuple(additions)))
        self.tail.sums += found
        self.tail.origin, self.tail.after = nest.outer.origin, name

    def launch_blocks(self, nest: BlockNest, builder: Writer) -> None:
        """A launch with the blocks and threads that the loops are over."""
        name = self.name(nest.outer.origin)
        counts = [self.host(loop.stop, builder, loop.origin) for loop in reversed(nest.blocks)]
        options = (("block", nest.threads),)
        shape = builder.call(callees.IN_BLOCKS, *counts, type=_SHAPE, name="shape", options=options)
        found = self.parts(nest.outer, shape, builder)
        slots: dict[Home, ir.Var] = {}
        for home in nest.homes.values():
            if home.kind in ("of threads", "of blocks"):
                is_first = home.kind == "of blocks"
                callee = callees.BLOCK_COUNT if is_first else callees.THREAD_COUNT
                slots[home] = self.slots(home.made, home.shape, home.type, callee, is_first, shape, builder)
        additions = nest.additions(self.aliases)
        body = BlockBody(nest, found, slots)
        self.emit_kernel(name, [_note(additions), *body.ops], shape, nest.outer.origin, builder)
        how = f"blocks of {' by '.join(map(str, nest.threads))}"
        threads = math.prod(nest.threads)
        self.launches.append(
            Launched(self.kernels[-1], nest.outer.origin, how, tuple(counts), tuple(additions), threads)
        )
        self.tail.sums += found
        self.tail.origin, self.tail.after = nest.outer.origin, name

    def axis(self, loop: ir.For, builder: Writer) -> Axis:
        is_natural = self.is_natural(loop.start)
        ends = [self.host(o, builder, loop.origin) for o in (loop.start, loop.stop, loop.step)]
        if not ir.same(ends, (loop.start, loop.stop, loop.step)):
            # how many threads there are is for the host to know
            start, stop, step = ends
            loop = dataclasses.replace(loop, start=start, stop=stop, step=step)
        elif (bounds := self.backwards(loop)) is not None:
            first, last = (builder.integer(end) for end in bounds)
            trips = builder.integer(bounds[1].plus(bounds[0], -1))
            return Axis(loop, first, last, trips, is_natural=bounds[0].is_natural)
        trips = count_trips(builder, loop)
        if loop.step != ir.integer(1):
            return Axis(loop, ir.integer(0), trips, trips, True)
        trips = loop.stop if loop.start == ir.integer(0) else trips
        return Axis(loop, loop.start, loop.stop, trips, is_natural=is_natural)

    def is_natural(self, operand: ir.Operand) -> bool:
        """Whether a number is known not to be below zero."""
        value = self.function.analysis(Iterations).value(operand)
        return value is not None and value.is_natural

    def backwards(self, loop: ir.For) -> tuple[Affine, Affine] | None:
        """The bounds of a loop that counts down by one, as the host knows them: its trips may as well ascend."""
        found = self.bounds(loop) if loop.step == ir.integer(-1) else None
        symbols = [] if found is None else [symbol for end in found for symbol in end.terms]
        return None if any(isinstance(s, ir.Var) and s in self.on_device for s in symbols) else found

    def rows(self, store: ir.Store, axes: Sequence[Axis], shape: ir.Operand, builder: Writer) -> ir.Var:
        """Room for what each thread along the last axis adds to the elements."""
        count = builder.call(callees.ROW_COUNT, shape, type=types.intp, name="rows")
        extents = [axis.stop for axis in axes[:-1]]
        name = f"{ir.name_of(store.array, 'sums')}_parts"
        dtype = types.float64 if self.wide and store.value.type == types.float32 else store.value.type
        made = ir.Var(name, types.Array(dtype, len(axes), "C"))
        builder.emit(ir.Alloc(shape=(count, *extents), out=made, origin=store.origin))
        return made

    def add_rows(self, store: ir.Store, parts: ir.Var, axes: Sequence[Axis], builder: Writer) -> None:
        """A launch of its own, which adds up those rows in their order."""
        inner = ir.Builder(store.origin)
        counters = {axis.counter: ir.Var(axis.counter.name, types.int64) for axis in axes}
        type_ = array_type_of(parts).dtype

        def added(row: ir.Var, total: ir.Var) -> Sequence[ir.Operand]:
            part = inner.load(parts, (row, *counters.values()))
            return [inner.call(operator.add, total, part, type=type_, name=total.name)]

        (total,) = inner.fold(inner.extent(parts, 0), "row", [typed_const(0, type_)], [ir.Var("total", type_)], added)
        index = [ir.substituted_operand(i, counters) for i in store.index]
        inner.store(store.array, index, as_type(inner, total, store.value.type), add=True)
        ops: Sequence[ir.Op] = inner.ops
        loops: list[ir.For] = []
        for axis in axes:
            body = ir.Region((counters[axis.counter],), tuple(ops), ())
            loops.insert(0, ir.For(start=axis.start, stop=axis.stop, body=body, origin=store.origin))
            ops = [loops[0]]
        nest = Nest(tuple(loops), ((),) * (len(loops) - 1), frozenset(), (), ())
        # these count up from numbers that are no negative ones
        found = [Axis(loops[k], loops[k].start, loops[k].stop, loops[k].stop) for k in nest.axes]
        shape = builder.call(callees.COVER, *(axis.trips for axis in found), type=_SHAPE, name="blocks")
        made = KernelBody(nest, found, [], {}, [], False, self.aliases)
        self.emit_kernel(self.name(store.origin, "_sums"), made.ops, shape, store.origin, builder)
        trips = tuple(axis.trips for axis in found)
        self.launches.append(Launched(self.kernels[-1], store.origin, _EACH, trips))

    def slots(
        self,
        made: ir.Alloc | ir.Copy,
        extents_of_one: Sequence[Affine],
        type_: types.Array,
        callee: ir.External,
        is_first: bool,
        shape: ir.Operand,
        builder: Writer,
    ) -> ir.Var:
        """Room for an array of each thread or block, which `callee` counts; that axis is the first or the last."""
        many = "blocks" if callee is callees.BLOCK_COUNT else "threads"
        count = builder.call(callee, shape, type=types.intp, name=many)
        known = {
            symbol: self.host(symbol, builder, made.origin)
            for extent in extents_of_one
            for symbol in extent.terms
            if isinstance(symbol, ir.Var)
        }
        extents = [
            builder.integer(extent.substituted({s: Affine({o: 1}) for s, o in known.items() if isinstance(o, ir.Var)}))
            for extent in extents_of_one
        ]
        room = ir.Var(f"{made.out.name}_slots", type_)
        shapes = (count, *extents) if is_first else (*extents, count)
        builder.emit(ir.Alloc(shape=shapes, out=room, origin=made.origin))
        return room

    def parts(self, outer: ir.For, shape: ir.Operand, builder: Writer) -> list[Sum]:
        """Room for the parts of the sums, an array for each type."""
        by_type: dict[ir.Type, list[ir.Slot]] = {}
        for slot in outer.slots:
            by_type.setdefault(slot.arg.type, []).append(slot)
        found: dict[ir.Var, Sum] = {}
        for type_, slots in by_type.items():
            name = f"{slots[0].out.name}_parts"
            made = ir.Var(name, types.Array(type_, 2, "C"))
            call = ir.Call(
                callee=callees.PARTS,
                args=(ir.integer(len(slots)), shape),
                outs=(made,),
                options=(("dtype", type_),),
                effect=True,
            )
            builder.emit(call)
            for row, slot in enumerate(slots):
                found[slot.out] = Sum(slot.out, slot.init, made, row, extreme(outer))
        return [found[slot.out] for slot in outer.slots]

    def flush(self, builder: Writer) -> None:
        """Launches what waits for one thread."""
        tail, self.tail = self.tail, _Tail()
        if not tail:
            return
        inside = {inner for op in tail.ops for inner in ir.with_inner(op)}
        first = tail.ops[0].origin if tail.ops else None
        name = self.name(tail.origin, "_tail") if tail.sums else self.name(first)
        before: list[ir.Op] = []
        ops: list[ir.Op] = []
        for s in tail.sums:
            is_zero = s.extreme is not None or ir.is_literal(s.init, 0)
            total = s.out if is_zero else dataclasses.replace(s.out)
            heading = ir.Builder()
            args = (s.own_parts(heading),)
            heading.emit(ir.Call(callee=callees.OF_PARTS[s.extreme], args=args, outs=(total,), effect=True))
            before += heading.ops
            if not is_zero:
                ops.append(ir.Call(callee=operator.add, args=(s.init, total), outs=(s.out,)))
        ops += tail.ops
        results = [s.out for s in tail.sums] + [out for op in tail.ops for out in op.results]
        for out in results:
            if self.readers.get(out, set()) - inside and is_scalar(out.type):
                cell = self.new_cell(out)
                builder.emit(ir.Alloc(shape=(), out=cell))
                ops.append(ir.Store(array=cell, index=(), value=out))
        if before:
            thread = ir.Var("thread", types.int32)
            test = ir.Var("is_first", types.boolean)
            first_ops = [
                ir.Call(callee=callees.THREAD, args=(), outs=(thread,)),
                ir.Call(callee=operator.eq, args=(thread, ir.integer(0)), outs=(test,)),
            ]
            ops = [*before, *first_ops, ir.If(condition=test, then=ir.Region((), tuple(ops), ()))]
        callee = callees.ONE_BLOCK if before else callees.ONE_THREAD
        shape = builder.call(callee, type=_SHAPE, name="blocks")
        self.emit_kernel(name, ops, shape, tail.origin or first, builder)
        how = "one block" if before else "one thread"
        self.launches.append(Launched(self.kernels[-1], tail.origin or first, how, (), block=0 if before else 1))

    def emit_kernel(
        self, name: str, ops: Sequence[ir.Op], shape: ir.Operand, origin: ir.Origin | None, builder: Writer
    ) -> None:
        # what is left of loops in a kernel is a thread's own
        serial = [ir.with_loops(op, parallel=False) for op in ops]
        own, counts = rolled(in_memory_order(serial, self.aliases))
        parameters = Parameters(self.function, self.cells, self.loads, counts, own)
        heading = [ir.Comment(text=ir.REVERSE_SWEEP)] if self.is_reverse else []
        body = ir.Region(tuple(parameters.vars), (*heading, *parameters.head, *parameters.ops), ())
        params = tuple(parameters.vars)
        # what the user says of a kernel is said in the first one
        comments = self.function.comments if self.of_kernel and not self.kernels else ()
        kernel = ir.Function(name, parameters.names, params, body, None, origin=self.function.origin, comments=comments)
        self.kernels.append(kernel)
        self.apart[name] = self.are_apart(parameters.arguments)
        args = [self.argument(a, builder) for a in parameters.arguments]
        builder.emit(ir.Launch(kernel=kernel, shape=shape, args=tuple(args), origin=origin))

    def are_apart(self, arguments: Sequence[ir.Operand]) -> tuple[bool, ...]:
        """Of each array among the arguments of a kernel, whether it shares no memory with another one."""
        classes = [self.aliases.find(a) for a in arguments if ir.is_array(a)]
        counts = Counter(classes)
        return tuple(counts[own] == 1 for own in classes)

    def argument(self, operand: ir.Operand, builder: Writer) -> ir.Operand:
        """What the host passes: a global array is on the device once for all calls."""
        if isinstance(operand, ir.Const) and ir.is_array(operand):
            return builder.call(callees.CONSTANT, operand, type=operand.type, name="constant")
        return operand


def _note(additions: Sequence[tuple[str, tuple[ir.Var, ...]]]) -> ir.Comment:
    """What is done about each array, as a comment over the kernel."""
    text = "; ".join(f"{', '.join(['{}'] * len(about))}: {what}" for what, about in additions)
    return ir.Comment(text=text, about=tuple(v for _, about in additions for v in about))


def _is_launched(op: ir.Op) -> bool:
    """Whether it is a call that launches kernels itself."""
    return isinstance(op, ir.Call) and op.callee is callees.ADD_IN_ORDER


def _is_ours(callee: object) -> bool:
    """Whether it is a function of this library, which checks something."""
    return str(getattr(callee, "__module__", "")).partition(".")[0] == "adjit"


def _without_unread(region: ir.Region) -> ir.Region:
    """The host's operations without numbers that nobody reads: kernels work them out for themselves."""
    read = {o for op in region.inside for o in op.reads} | set(region.yields)

    def is_unread(op: ir.Op) -> bool:
        is_pure = isinstance(op, ir.Extent | ir.Alloc) or (
            isinstance(op, ir.Call) and not op.effect and not is_check(op)
        )
        return is_pure and not read.intersection(op.results)

    made = ir.rewritten(region, lambda op: () if is_unread(op) else op)
    return made if made is region else _without_unread(made)
