"""Whether an extent is the same in all trips of the loops around, as far as the operations of a trip tell.

In: an extent, and how many loops were around already where its list was made. Out: whether trips differ in it.

    out.append(x * t)              x.size, the same
    out.append(x[a[i] : b[i]])     b[i] - a[i], another one each time
    out.append(x[i : i + k])       k, the same

What is known while compiling of an array that a loop carries stays known where a trip leaves it as it is.

What is not known (the extent of an array that a loop carries) counts as the same: where it is not, the store raises
ValueError when it runs.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values.cells import Poison
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import is_tuple
from adjit.transform.frontend.values.numbers import Number
from adjit.transform.frontend.values.values import Value, leaves_of
from adjit.transform.ir.types import array_type_of

Terms = Mapping[tuple[object, ...], int]  # a sum of products of symbols, and how often each is in it
_Symbol = ir.Var | tuple[ir.Operand, int]  # an integer; an array's extent along an axis


def varies(ctx: Context, extent: ir.Operand, loops_before: int) -> bool:
    """Whether an extent differs between trips of the loops that are around now, and were not before."""
    bodies = ctx.loop.bodies[loops_before:]
    if not bodies or isinstance(extent, ir.Const):
        return False
    trip = _Trip(ctx, bodies[0][0], frozenset().union(*(carried for _, carried in ctx.loop.bodies[:loops_before])))
    terms = trip.terms(extent)
    # that of an array that the loop carries is that which it had before
    is_changed = len(terms) > 1 and any(trip.is_carried(symbol) for product in terms for symbol in product)
    return is_changed or not trip.is_fixed(terms)


class _Trip:
    """What a trip has computed so far."""

    def __init__(self, ctx: Context, body: list[ir.Op], carried_around: frozenset[ir.Operand]):
        self.ctx = ctx
        inside, outside = ctx.builder.parted(body)
        self.made: dict[ir.Operand, ir.Op] = {out: op for op in inside for out in op.results}
        self.known = {out for op in outside for out in op.results} | ctx.arrays.given | carried_around

    def is_carried(self, symbol: object) -> bool:
        """Whether it is an extent of an array that a trip gets or makes."""
        if isinstance(symbol, ir.Var) or not isinstance(symbol, tuple):
            return False
        return not isinstance(symbol[0], ir.Const) and symbol[0] not in self.known

    def is_fixed(self, terms: Terms) -> bool:
        return all(self._is_fixed(symbol) for product in terms for symbol in product)

    def _is_fixed(self, symbol: object) -> bool:
        if not isinstance(symbol, ir.Var):
            return True
        op = self.made.get(symbol)
        if isinstance(op, ir.Call):
            return all(isinstance(a.type, types.Integer) and self.is_fixed(self.terms(a)) for a in op.args)
        return op is None and symbol in self.known

    def terms(self, value: ir.Operand) -> Terms:
        """An integer as a sum of products."""
        if isinstance(value, ir.Const):
            return {(): int(value.value)}
        op = self.made.get(value)
        if isinstance(op, ir.Call):
            found = _computed(op.callee, [self.terms(a) for a in op.args if isinstance(a.type, types.Integer)])
            return {(value,): 1} if found is None else found
        if isinstance(op, ir.Extent):
            return self._extent(op.array, op.axis)
        if isinstance(op, ir.For):
            return self._counted(op, value)
        return {(value,): 1}

    def _extent(self, array: ir.Operand, axis: int) -> Terms:
        op = self.made.get(array)
        if isinstance(op, ir.Slice):
            spans = [(k, s) for k, s in enumerate(op.selectors) if not isinstance(s, ir.At)]
            base_axis, span = spans[axis]
            assert isinstance(span, ir.Span)
            if span.step not in (None, ir.integer(1)):
                return {(array,): 1} if span.start or span.stop else self._extent(op.base, base_axis)
            whole = self._extent(op.base, base_axis)
            start, stop = self._end(span.start, {}, whole), self._end(span.stop, whole, whole)
            return _sum(stop, start, -1)
        if isinstance(op, ir.Alloc) and op.shape:
            return self.terms(op.shape[axis])
        if op is not None and array in self.ctx.arrays.shapes:
            extent = self.ctx.arrays.shapes[array][axis]
            of = self.made.get(extent)
            if not (isinstance(of, ir.Extent) and of.array == array):
                return self.terms(extent)
        return {((array, axis),): 1}

    def _end(self, end: ir.Operand | None, default: Terms, whole: Terms) -> Terms:
        """An end of a slice, counted from the start."""
        found = default if end is None else self.terms(end)
        return _sum(whole, found, 1) if isinstance(end, ir.Const) and end.value < 0 else found

    def _counted(self, loop: ir.For, out: ir.Var) -> Terms:
        """What a loop counts: as many as it has trips, where each adds one."""
        place = next(k for k, each in enumerate(loop.outs) if each is out)
        arg, given = loop.body.args[1 + place], loop.body.yields[place]
        made = next((op for op in loop.body.ops if given in op.results), None)
        one = ir.integer(1)
        adds = isinstance(made, ir.Call) and made.callee is operator.add and set(made.args) == {arg, one}
        if not adds or loop.step != one or loop.stops:
            return {(out,): 1}
        return _sum(self.terms(loop.inits[place]), _sum(self.terms(loop.stop), self.terms(loop.start), -1), 1)


def _computed(callee: object, values: list[Terms]) -> Terms | None:
    match ir.canonical(callee), values:
        case operator.add, [left, right]:
            return _sum(left, right, 1)
        case operator.sub, [left, right]:
            return _sum(left, right, -1)
        case operator.mul, [left, right]:
            found: Terms = {}
            for a, m in left.items():
                for b, n in right.items():
                    found = _sum(found, {tuple(sorted((*a, *b), key=id)): m * n}, 1)
            return found
        case operator.neg, [only]:
            return _sum({}, only, -1)
    return None


def _sum(left: Terms, right: Terms, factor: int) -> Terms:
    """left + factor * right."""
    found = dict(left)
    for product, count in right.items():
        found[product] = found.get(product, 0) + factor * count
    return {product: count for product, count in found.items() if count}


# ----------------------------------------------------------------------------------- what is known of extents

Extents = tuple[ir.Const | None, ...]  # of an array, those that are known


def known_extents(ctx: Context, leaf: ir.Operand) -> Extents:
    """The extents of an array that are known while compiling; of a number, none."""
    if not isinstance(leaf.type, types.Array):
        return ()
    shape = ctx.shape(leaf) if isinstance(leaf, ir.Const) else ctx.arrays.shapes.get(leaf, (None,) * leaf.type.ndim)
    return tuple(extent if isinstance(extent, ir.Const) else None for extent in shape)


def in_common(one: Extents, other: Extents) -> Extents:
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True)) if len(one) == len(other) else ()


def of_extents(ctx: Context, array: ir.Var, known: Extents) -> Sequence[ir.Operand]:
    """The shape of an array of which these are known."""
    if not any(known) or len(known) != array_type_of(array).ndim:
        return ctx.builder.shape(array)
    return tuple(extent or ctx.builder.extent(array, k) for k, extent in enumerate(known))


def fixed_extents(ctx: Context, names: Iterable[str], env: Mapping[str, Value]) -> dict[str, list[Extents]]:
    """Of the variables that a loop carries, the extents of arrays that are known before it."""
    values = {name: env[name] for name in names if name in env and not isinstance(env[name], Poison)}
    plain = {n: v for n, v in values.items() if isinstance(v, Number) or is_tuple(v)}
    found = {name: [known_extents(ctx, leaf) for leaf in leaves_of(value)] for name, value in plain.items()}
    return {name: known for name, known in found.items() if any(map(any, known))}


def still_fixed(ctx: Context, fixed: dict[str, list[Extents]], env: Mapping[str, Value]) -> dict[str, list[Extents]]:
    """Those of them that a trip leaves as they are."""
    found: dict[str, list[Extents]] = {}
    for name, known in fixed.items():
        value = env.get(name)
        leaves = [] if value is None or isinstance(value, Poison) else leaves_of(value)
        if len(leaves) == len(known):
            found[name] = [in_common(a, known_extents(ctx, leaf)) for a, leaf in zip(known, leaves, strict=True)]
    return {name: known for name, known in found.items() if any(map(any, known))}
