"""Where the arrays live that a block makes, and its threads.

In: a launch. Out: a `Home` for each array; Unsupported where one has none.

    for block:                                    shared: cuda.shared.array(16, float64)
        part = np.empty(16)
        tape = np.empty((4, 16))                  the threads' own: cuda.local.array(4, float64), as each touches
        for level in range(4):                    elements of its own only
            for t: tape[level, t] = ...
        kept = np.empty((n, 16))                  the same in an array of all threads: kept_slots[:, thread]
        wide = np.empty(m)                        of the block, of no literal shape: wide_slots[block, :]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numba import types

from adjit.errors import InternalError, Unsupported
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.gpu.allocation import MOST_LOCAL, shape_before
from adjit.transform.gpu.blocks.block_operations import around_block, axes_of_threads, extent, is_threads, shared_bytes
from adjit.transform.ir.types import array_type, array_type_of

MOST_SHARED = 48 * 1024  # bytes of arrays of literal shape that a block may have

Kind = Literal["local", "shared", "of threads", "of blocks"]


@dataclass(frozen=True, eq=False)
class Home:
    """`made`: what makes the array. `shape`: in what is known before the launch, without the axes `dropped`, which are
    those of the threads. local: an array in each thread; shared: one in each block; of threads, of blocks: a global
    array with an axis for them, the last and the first one.
    """

    kind: Kind
    made: ir.Alloc | ir.Copy
    shape: tuple[Affine, ...]
    dropped: tuple[int, ...] = ()

    @property
    def own_type(self) -> types.Array:
        """That of the array as threads name it."""
        own = array_type_of(self.made.out)
        rank = max(1, own.ndim - len(self.dropped)) if self.kind == "local" else own.ndim - len(self.dropped)
        if self.kind == "of threads":
            return types.Array(own.dtype, rank, "A")
        return array_type(own.dtype, rank)

    @property
    def type(self) -> types.Array:
        """That of the global array."""
        return array_type(array_type_of(self.made.out).dtype, len(self.shape) + 1)

    def selectors(self, place: ir.Operand) -> tuple[ir.Selector, ...]:
        """The part of a thread or a block."""
        spans = (ir.Span(),) * len(self.shape)
        return (ir.At(place), *spans) if self.kind == "of blocks" else (*spans, ir.At(place))

    @property
    def literal(self) -> tuple[ir.Operand, ...]:
        """The extents of an array of literal shape; numbers are in an array of one element."""
        return tuple(ir.integer(extent.constant) for extent in self.shape) or (ir.integer(1),)


@dataclass(frozen=True, eq=False)
class BlockNest:
    """A launch: its outermost loop over blocks, and where its arrays live."""

    outer: ir.For
    homes: Mapping[ir.Op, Home]

    @property
    def blocks(self) -> tuple[ir.For, ...]:
        """The loops over blocks, the outermost first."""
        return around_block(self.outer)

    @property
    def body(self) -> ir.Region:
        """What a block does."""
        return self.blocks[-1].body

    @property
    def threads(self) -> tuple[int, ...]:
        """How many threads a block has, along x, y, z."""
        return tuple(extent(axis) for axis in reversed(axes_of_threads(self.body))) or (1,)

    def additions(self, aliases: Aliases) -> list[tuple[str, tuple[ir.Var, ...]]]:
        """What is done about each array and sum that the launch changes, and which those are."""
        stores = [op for op in self.outer.body.inside if isinstance(op, ir.Store)]
        given = {aliases.find(v): v for v in ir.free_vars(self.outer.body) if ir.is_array(v)}
        atomic = [aliases.find(op.array) for op in stores if op.atomic and not op.extreme]
        raised = [aliases.find(op.array) for op in stores if op.extreme]
        changed = [aliases.find(op.array) for op in stores]
        inside = {aliases.find(op.out): op.out for op in self.homes}  # type: ignore[attr-defined]
        found = [
            ("own elements", [given[m] for m in changed if m in given and m not in (*atomic, *raised)]),
            ("raised or lowered, atomically", [given[m] for m in raised if m in given]),
            ("sums, a part for each block", [slot.out for slot in self.outer.slots]),
            ("atomic additions", [given[m] for m in atomic if m in given]),
            ("atomic additions in the block's memory", [inside[m] for m in atomic if m in inside and m not in given]),
        ]
        return [(text, tuple(dict.fromkeys(arrays))) for text, arrays in found if arrays]


def homes(function: ir.Function, loop: ir.For) -> dict[ir.Op, Home]:
    """Those of the arrays that the blocks of a launch make."""
    found = _Homes(function, loop)
    return {op: found.home(op) for op in loop.body.inside if isinstance(op, ir.Alloc | ir.Copy)}


def private(function: ir.Function, loop: ir.For) -> set[ir.Operand]:
    """The memory, by alias class, of which each thread touches its own elements only."""
    aliases = function.analysis(Aliases)
    found = homes(function, loop)
    own = {aliases.find(op.out) for op, home in found.items() if home.kind in ("local", "of threads")}  # type: ignore[attr-defined]
    return own - {aliases.find(op.out) for op, home in found.items() if home.kind in ("shared", "of blocks")}  # type: ignore[attr-defined]


def check_size(op: ir.Alloc | ir.Copy, loop: ir.For, iterations: Iterations) -> tuple[Affine, ...]:
    """The extents of an array that a launch makes; Unsupported where nobody knows them before."""
    shape = shape_before(op, loop, iterations)
    if shape is not None:
        return shape
    users = (other for other in loop.body.inside if any(o is op.out for o in other.operands))
    origin = next((other.origin for other in (op, *users) if other.origin is not None), None)
    role = op.role if isinstance(op, ir.Alloc) else None
    if role is not None and role.kind == "tape" and isinstance(role.of, ir.Var):
        raise Unsupported(
            f"a loop with an unknown number of iterations, whose reverse needs `{role.of.name}` of each iteration",
            ir.place_of(origin),
            "Memory for the values is allocated before the launch.",
            "Bound the iterations by an argument of the kernel, as in `range(min(steps[i], most))`.",
        )
    raise Unsupported(
        f"the array `{op.out.name}`, whose size is not known before the launch",
        ir.place_of(origin),
        "Kernels allocate no memory.",
        "Give it a shape that depends only on the kernel's arguments.",
    )


class _Homes:
    def __init__(self, function: ir.Function, loop: ir.For):
        self.loop = loop
        self.iterations = function.analysis(Iterations)
        self.axes = axes_of_threads(loop.body)
        self.users: dict[ir.Operand, list[ir.Op]] = {}
        self.held: set[ir.Operand] = set()
        for op in loop.body.inside:
            for o in dict.fromkeys(op.operands):
                if ir.is_reference(o):
                    self.users.setdefault(o, []).append(op)
            self.held.update(y for region in op.regions for y in region.yields)
        self.shared = 0

    def home(self, op: ir.Alloc | ir.Copy) -> Home:
        shape = check_size(op, self.loop, self.iterations)
        chain = [around for around, _ in self.iterations.places[op].chain]
        inside = [axis for axis in chain if is_threads(axis)]
        if not self.axes or len(inside) == len(self.axes):
            return self.own(op, shape, ())
        dropped = None if inside or isinstance(op, ir.Copy) else self.own_axes(op)
        if dropped is not None:
            return self.own(op, tuple(extent for k, extent in enumerate(shape) if k not in dropped), dropped)
        self.check_apart(op)
        size = shared_bytes(op) if isinstance(op, ir.Alloc) else None
        if inside or size is None or self.shared + size > MOST_SHARED:
            if inside:
                raise Unsupported(
                    f"the array `{op.out.name}` of some of the threads of a block",
                    ir.place_of(op.origin),
                    "Neither one thread nor the block can hold it.",
                    "Create it in every thread, or as a shared array of the block.",
                )
            return Home("of blocks", op, shape)
        self.shared += size
        return Home("shared", op, shape)

    def own(self, op: ir.Alloc | ir.Copy, shape: Sequence[Affine], dropped: tuple[int, ...]) -> Home:
        size = getattr(array_type_of(op.out).dtype, "bitwidth", 8) // 8
        is_literal = all(extent.is_constant for extent in shape)
        is_small = is_literal and math.prod(extent.constant for extent in shape) * size <= MOST_LOCAL
        return Home("local" if is_small else "of threads", op, tuple(shape), dropped)

    def check_apart(self, op: ir.Alloc | ir.Copy) -> None:
        """InternalError where threads would keep values of their own in one place."""
        if not isinstance(op, ir.Alloc) or op.role is None or op.role.kind not in ("tape", "kept"):
            return
        for user in self.users.get(op.out, ()):
            if isinstance(user, ir.Store) and user.array is op.out:
                threads = [loop for loop in self.iterations.places[user].loops if is_threads(loop)]
                # what is the same in all threads they may all store
                threads = [loop for loop in threads if user.value in loop.body.defines]
                index = [self.iterations.value(i) for i in user.index]
                if None not in index and not all(
                    any(loop in i.terms for i in index if i is not None) for loop in threads
                ):
                    raise InternalError(f"threads that keep values in one place of {op}")

    def own_axes(self, op: ir.Alloc) -> tuple[int, ...] | None:
        """The axes along which each thread touches its own place, one for each of the block's; None if others do."""
        if op.out in self.held:
            return None
        found: tuple[int, ...] | None = None
        for user in self.users.get(op.out, ()):
            places = self.places(user, op.out)
            if places is None or (found is not None and places != found):
                return None
            found = places
        return found

    def places(self, user: ir.Op, array: ir.Var) -> tuple[int, ...] | None:
        """The axes that an access indexes with the thread's counters."""
        if isinstance(user, ir.Load | ir.Store) and user.array is array:
            index: Sequence[ir.Operand | None] = user.index
        elif isinstance(user, ir.Slice) and not any(isinstance(s, ir.NewAxis) for s in user.selectors):
            index = [s.index if isinstance(s, ir.At) else None for s in user.selectors]
        else:
            return None
        around = self.iterations.places[user].loops
        counters = [loop.body.args[0] for loop in around if isinstance(loop, ir.For) and is_threads(loop)]
        if len(counters) != len(self.axes):
            return None
        axes = [next((k for k, i in enumerate(index) if i is counter), None) for counter in counters]
        return None if None in axes else tuple(k for k in axes if k is not None)
