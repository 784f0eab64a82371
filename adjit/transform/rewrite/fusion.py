"""Array statements over one index space become one loop, and the arrays between them scalars.

In: a function whose array statements are nests of loops. Out: the same with neighbouring nests in one, where each
element is made before it is read as it was in two; what then is only read where it was just stored is no array any
more.

    for i in range(n): d[i] = a[i] - b[i]        for i in range(n):
    for i in range(n): s += d[i] * d[i]              t = a[i] - b[i]; s += t * t

Whether a trip of the second loop may touch what a later trip of the first touches is asked of isl. Loops that the user
wrote are only fused with array statements, and only where an array goes away. Loops over the rows of a matrix
(`fuse_rows`) are fused where they share an array.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable, Mapping

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import is_cheap
from adjit.transform.analysis.effects import Effects, needed_before
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.trip_counts import mirrored_range
from adjit.transform.analysis.uses import Uses
from adjit.transform.rewrite.invariant_integers import has_launches
from adjit.transform.rewrite.simplify import renamed, simplify

MOST_ARRAYS = 16  # beyond that LLVM gives up on checking at run time that they do not overlap


Fits = Callable[[ir.Function, ir.For, ir.For], bool]


def fuse_maps(function: ir.Function, launched: bool = False, fits: Fits | None = None) -> ir.Function:
    """The function with its array statements fused. `launched`: a loop with launches in it, which the host runs, takes
    up no array statement, as that would be one more launch in each of its trips. `fits`: asked of two loops first."""
    refused: set[tuple[ir.Op, ir.Op]] = set()
    names: dict[ir.Var, ir.Var] = {}
    while (fused := _Fusion(function, refused, names, launched, fits).once()) is not None:
        function = simplify(fused)
    return _named(function, names)


def fuse_rows(
    function: ir.Function,
    counters: Collection[ir.Var],
    updates: Collection[ir.Var],
    joined: Callable[[ir.Var, ir.Var, bool], None],
    is_joint: bool = True,
) -> ir.Function:
    """The function with loops over rows, whose counters these are, fused with others that touch the same arrays.

    updates: the counters of loops that add to rows, which are fused with others for the sake of a matrix alone.
    `joined` is told of the counters of two loops that have become one, of which the first stays, and whether both
    touch the elements of some matrix. `is_joint`: the two sweeps stay together.
    """
    rows = _Rows(set(counters), set(updates), joined, is_joint)
    refused: set[tuple[ir.Op, ir.Op]] = set()
    while True:
        # those that share a matrix first: with what shares a vector they may get out of each other's reach
        steps = (_RowFusion(function, refused, rows, is_of_matrices).once() for is_of_matrices in (True, False))
        fused = next((step for step in steps if step is not None), None)
        if fused is None:
            return function
        function = simplify(fused)


def _named(function: ir.Function, names: Mapping[ir.Var, ir.Var]) -> ir.Function:
    """The function with the user's names of arrays that went away on the numbers that were stored in them."""
    defined = function.body.made.keys()
    gone: dict[ir.Operand, ir.Var] = {
        value: ir.Var(array.name, value.type, user=True)
        for value, array in names.items()
        if value in defined and array not in defined
    }
    return ir.with_body(function, renamed(function.body, gone)) if gone else function


class _Fusion:
    nearest_first = True  # of the loops that one may be fused with

    def __init__(
        self,
        function: ir.Function,
        refused: set[tuple[ir.Op, ir.Op]],
        names: dict[ir.Var, ir.Var],
        launched: bool,
        fits: Fits | None,
    ):
        self.function = function
        self.refused = refused
        self.launched, self.fits = launched, fits
        self.names = names  # by number: the user's array that it was stored in
        self.model = function.analysis(IndexModel)
        self.aliases = function.analysis(Aliases)
        self.effects_of = functools.cache(functools.partial(Effects, aliases=self.aliases))
        self.conflict = functools.cache(self._conflict)
        self.uses = function.analysis(Uses)
        self.made = function.body.made

    def once(self) -> ir.Function | None:
        """The function with more pairs fused; None if there are none."""
        body = self.region(self.function.body)
        return None if body is self.function.body else ir.with_body(self.function, body)

    def region(self, region: ir.Region) -> ir.Region:
        known = set(region.ops)
        # what is fused in one of these has nothing to do with the others
        return ir.with_ops(region, [self.inside(op) if op in known else op for op in self.side_by_side(region.ops)])

    def inside(self, op: ir.Op) -> ir.Op:
        return ir.with_regions(op, [self.region(inner) for inner in op.regions])

    def side_by_side(self, ops: tuple[ir.Op, ...]) -> tuple[ir.Op, ...]:
        """The operations with pairs of loops fused, each with one before it; none twice."""
        places: dict[Hashable, list[int]] = {}  # of the loops so far, by what they run over
        b = 0
        while b < len(ops):
            loop = ops[b]
            if isinstance(loop, ir.For):
                earlier = places.setdefault(self.range_of(loop), [])
                pairs = (self.pair(ops, a, b) for a in earlier[:: -1 if self.nearest_first else 1])
                made = next(filter(None, pairs), None)
                earlier.append(b)
                if made is not None:
                    # what those that are fused are made of is known of the function that comes of this one
                    if not self.nearest_first:
                        return made
                    known = set(ops)
                    b += len(made) - len(ops)
                    last = max(k for k, op in enumerate(made[: b + 1]) if op not in known)
                    places.clear()
                    for k, op in enumerate(made[last + 1 : b + 1], last + 1):
                        if isinstance(op, ir.For):
                            places.setdefault(self.range_of(op), []).append(k)
                    ops = made
            b += 1
        return ops

    def pair(self, ops: tuple[ir.Op, ...], a: int, b: int) -> tuple[ir.Op, ...] | None:
        first, second = ops[a], ops[b]
        assert isinstance(first, ir.For)
        assert isinstance(second, ir.For)
        if (first, second) in self.refused or not self.is_candidate(first, second):
            return None
        moved = self.movable(ops, a, b)
        backwards = self.direction(first, second) if moved is not None else None
        if moved is None or backwards is None:
            self.refused.add((first, second))
            return None
        self.note(first, second)
        builder, made = ir.Builder(), self.fused(first, second)
        if backwards:
            start, stop, step = mirrored_range(builder, first, True)
            made = dataclasses.replace(made, start=start, stop=stop, step=step)
        before = (*ops[:a], *(ops[k] for k in sorted(moved)), *builder.ops)
        return (*before, made, *(op for k, op in enumerate(ops) if k > a and k != b and k not in moved))

    def note(self, first: ir.For, second: ir.For) -> None:
        """Is told of two loops that are to be one."""

    # ------------------------------------------------------------------------------------------- is it worth while

    def is_candidate(self, first: ir.For, second: ir.For) -> bool:
        return self.may_be_one(first, second) and self.is_worth_while(first, second)

    def may_be_one(self, first: ir.For, second: ir.For) -> bool:
        if first.stops or second.stops or (first.parallel, first.level) != (second.parallel, second.level):
            return False
        if not (first.order_free or second.order_free):
            return False
        if self.launched and has_launches(first) != has_launches(second):
            return False
        return self.fits is None or self.fits(self.function, first, second)

    def range_of(self, loop: ir.For) -> Hashable:
        """What is equal for loops with equal ranges."""
        return loop.start, loop.stop, loop.step

    def is_worth_while(self, first: ir.For, second: ir.For) -> bool:
        if self.saves_array(first, second):
            return True
        if not (first.order_free and second.order_free) or _is_map(first) != _is_map(second):
            return False
        one, other = self.arrays(first), self.arrays(second)
        return bool(one & other) and len(one | other) <= MOST_ARRAYS and not self.may_cross(first, second, "!=")

    def arrays(self, loop: ir.For) -> set[ir.Operand]:
        return {op.array for op in ir.with_inner(loop) if isinstance(op, ir.Load | ir.Store)}

    def saves_array(self, first: ir.For, second: ir.For) -> bool:
        """Whether some array is stored in the first loop, read in the second, and of no use to anyone else."""
        inside = {*ir.with_inner(first), *ir.with_inner(second)}
        stored = {op.array for op in ir.with_inner(first) if isinstance(op, ir.Store)}
        stored = {array for array in stored if isinstance(self.made.get(array), ir.Alloc)}
        loaded = {op.array for op in ir.with_inner(second) if isinstance(op, ir.Load)}
        loaded |= {op.base for op in ir.with_inner(second) if isinstance(op, ir.Slice)}
        elements = (ir.Load, ir.Store, ir.Slice)
        return any(
            all(isinstance(op, elements) and op in inside for op in self.uses.users[array])
            for array in stored & loaded - self.uses.held
        )

    # ------------------------------------------------------------------------------------------- is it right

    def movable(self, ops: tuple[ir.Op, ...], a: int, b: int) -> set[int] | None:
        """The operations in between that have to run before both loops; None if one of them cannot."""
        first, second = self.effects_of(ops[a]), self.effects_of(ops[b])
        if first.makes & second.uses or (first.is_ordered and second.is_ordered):
            return None

        def conflict(one: int, other: int) -> bool:
            return self.conflict(ops[one], ops[other])

        wanted: set[int] = set()
        for k in needed_before(a, b, lambda k: self.effects_of(ops[k]), in_any_order=False, conflict=conflict):
            if conflict(k, a):
                return None
            wanted.add(k)
        return wanted

    def _conflict(self, one: ir.Op, other: ir.Op) -> bool:
        """Whether two may not change places: one needs what the other makes, or changes what it touches."""
        left, right = self.effects_of(one), self.effects_of(other)
        return left.is_tied_to(right) or (
            left.may_clash(right, in_any_order=False) and self.model.any_meet(left.touching, right.touching, one)
        )

    def direction(self, first: ir.For, second: ir.For) -> bool | None:
        """Whether the trips of both have to run from last to first; None if they cannot be run together."""
        if not self.may_cross(first, second, ">"):
            return False
        may_turn = first.order_free and second.order_free and first.step == ir.integer(1)
        return True if may_turn and not self.may_cross(first, second, "<") else None

    def may_cross(self, first: ir.For, second: ir.For, relation: str) -> bool:
        """Whether a trip of the first loop may have to do with one of the second that is so related to it."""
        ours, theirs = (self.effects_of(loop).touching for loop in (first, second))
        return self.model.any_meet(ours, theirs, first, (first, relation, second))

    # ------------------------------------------------------------------------------------------- fusing

    def fused(self, first: ir.For, second: ir.For) -> ir.For:
        for op in ir.with_inner(first):
            if isinstance(op, ir.Store) and isinstance(op.value, ir.Var) and not op.value.user:
                alloc = self.made.get(op.array)
                if isinstance(alloc, ir.Alloc) and alloc.fill is None and alloc.out.user:
                    self.names.setdefault(op.value, alloc.out)
        is_free = not self.may_cross(first, second, "!=") and all(
            loop.order_free or (not loop.outs and not self.may_cross(loop, loop, "!=")) for loop in (first, second)
        )
        return ir.with_trips_of(first, second, order_free=is_free)


_OF_ROWS = (ir.Call, ir.Load, ir.Store, ir.Extent, ir.For, ir.Comment)


def _is_of_rows(loop: ir.For) -> bool:
    """Whether there are no elementary functions to each row, which vectors have cheaper, and all else is simple."""
    is_simple = all(isinstance(op, _OF_ROWS) for op in loop.body.inside)
    return is_simple and all(is_cheap(op) for op in loop.body.ops if isinstance(op, ir.Call))


@dataclasses.dataclass
class _Rows:
    counters: set[ir.Var]
    updates: set[ir.Var]
    joined: Callable[[ir.Var, ir.Var, bool], None]
    is_joint: bool


class _RowFusion(_Fusion):
    """Fusion of loops over rows, and of those in a row, for the sake of what they share."""

    nearest_first = False  # sums that wait for nothing are together, and what waits for them is

    def __init__(self, function: ir.Function, refused: set[tuple[ir.Op, ir.Op]], rows: _Rows, is_of_matrices: bool):
        super().__init__(function, refused, {}, False, None)
        self.rows = rows
        self.is_of_matrices = is_of_matrices

    def range_of(self, loop: ir.For) -> Hashable:
        # what was checked to be as long as each other still goes by two names
        return loop.start, self.model.iterations.value(loop.stop) or loop.stop, loop.step

    def movable(self, ops: tuple[ir.Op, ...], a: int, b: int) -> set[int] | None:
        is_between = any(isinstance(op, ir.Comment) and op.text == ir.REVERSE_SWEEP for op in ops[a:b])
        return None if is_between and not self.rows.is_joint else super().movable(ops, a, b)

    def are_rows(self, loop: ir.For) -> bool:
        counter = loop.body.args[0]
        return counter in self.rows.counters or (self.is_of_matrices and counter in self.rows.updates)

    def is_worth_while(self, first: ir.For, second: ir.For) -> bool:
        around = self.uses.around.get(first, ())
        in_row = any(isinstance(op, ir.For) and self.are_rows(op) for op in around)
        if not (in_row or self.are_rows(first) or self.are_rows(second)):
            return False
        one, other = self.arrays(first), self.arrays(second)
        if len(one | other) > MOST_ARRAYS or not one & other:
            return False
        if self.is_of_matrices and not self.matrices(first) & self.matrices(second):
            return False
        return in_row or (_is_of_rows(first) and _is_of_rows(second))

    def direction(self, first: ir.For, second: ir.For) -> bool | None:
        """From first to last, or not at all."""
        return None if self.may_cross(first, second, ">") else False

    def note(self, first: ir.For, second: ir.For) -> None:
        if self.are_rows(first) or self.are_rows(second):
            one, other = (self.matrices(loop) for loop in (first, second))
            kept, gone = first.body.args[0], second.body.args[0]
            (self.rows.counters if {kept, gone} & self.rows.counters else self.rows.updates).add(kept)
            self.rows.joined(kept, gone, bool(one & other))

    def matrices(self, loop: ir.For) -> set[ir.Operand]:
        inside = (op for op in ir.with_inner(loop) if isinstance(op, ir.Load | ir.Store))
        return {op.array for op in inside if len(op.index) > 1}


def _is_map(loop: ir.For) -> bool:
    """Whether nothing is summed up in the loop, so that it can be vectorised as it stands."""
    return not any(isinstance(op, ir.For) and op.outs for op in ir.with_inner(loop))
