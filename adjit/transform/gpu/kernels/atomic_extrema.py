"""What threads raise or lower together, `cuda.atomic.max` and `min`, as a plain store of the thread that wins.

In: a kernel as a nest. Out: nests, of which the last is the kernel's own. Those before it find out what each element
will be, and which thread makes it that:

    for t: m[k] = max(m[k], x[t])      ──►    top = m.copy(); by = np.full(m.shape, LAST)
                                              for t: top[k] = max(top[k], x[t])
                                              for t: if x[t] == top[k] > m[k]: by[k] = min(by[k], t)
                                              for t: if x[t] == top[k] and by[k] == t: m[k] = x[t]

Of global memory a round is a launch, of shared memory a stretch. No two threads store to one element in the last, so
its mirror is that of any other store: what flows into the element goes to the value that it took, whole. Of threads
with equal values the first has it, by the place that `cuda.grid` gives it; an element that was as great keeps its own.
A round does of the kernel what that value, its place and its conditions hang on.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.extremes import extreme_in
from adjit.transform.frontend import Launched
from adjit.transform.ir.types import array_type, array_type_of
from adjit.transform.rewrite.simplify import simplify

_LAST = ir.integer(int(np.iinfo(np.int64).max))  # of no thread
_BETTER = {"max": operator.gt, "min": operator.lt}

_Levels = tuple[ir.For, ...]
_Do = Callable[[ir.Builder, ir.Store, ir.Operand], None]


def in_rounds(function: ir.Function, launched: Launched, then: Callable[[ir.Function], ir.Function]) -> ir.Function:
    """The function with its launch in rounds, to each of which `then` is done."""
    if not any(isinstance(op, ir.Store) and op.extreme for op in function.body.inside):
        return then(function)
    return _Rounds(function, launched).made(then)


@dataclasses.dataclass(frozen=True)
class _Found:
    """What is found out about an array: what its elements will be, and by which threads."""

    top: ir.Var
    by: ir.Var


def _room(array: ir.Var) -> _Found:
    type_ = array_type_of(array)
    top = ir.Var(f"{array.name}_top", array_type(type_.dtype, type_.ndim))
    return _Found(top, ir.Var(f"{array.name}_by", array_type(types.intp, type_.ndim)))


class _Rounds:
    """Of one kernel. `made_inside`: the arrays that its blocks and threads make."""

    def __init__(self, function: ir.Function, launched: Launched):
        self.function, self.launched = function, launched
        self.aliases = function.analysis(Aliases)
        self.outer = function.body.ops[-1]
        self.made_inside = {op.out for op in self.outer.regions[0].inside if isinstance(op, ir.Alloc | ir.Copy)}

    def made(self, then: Callable[[ir.Function], ir.Function]) -> ir.Function:
        given = [array for array in self.raised(self.outer) if array not in self.made_inside]
        for array in given:
            if array not in self.function.body.args:
                raise self.refused(self.outer, array, "a part of an array", "Pass that part as a separate array.")
            self.check(self.outer, array)
        found = {array: _room(array) for array in given}
        (last,) = self.in_blocks(self.outer)
        if not found:
            return then(ir.with_body(self.function, ir.with_ops(self.function.body, (*self.before, last))))
        builder = ir.Builder(self.outer.origin)
        for array, own in found.items():
            builder.emit(ir.Copy(source=array, out=own.top))
            builder.emit(ir.Alloc(shape=builder.shape(array), out=own.by, fill=_LAST))
        tops, owners = [own.top for own in found.values()], [own.by for own in found.values()]
        rounds = [
            self.part(self.round(self.outer, found, _raise(found), set(self.made_inside)), tops, [*tops, *owners]),
            self.part(self.round(self.outer, found, _claim(found), set(self.made_inside)), owners, [*tops, *owners]),
            self.part(self.round(last, found, _store(found), None), self.function.body.yields, [*tops, *owners]),
        ]
        ops = list(builder.ops)
        for part in rounds:
            ops += then(part).body.ops
        return ir.with_body(self.function, ir.with_ops(self.function.body, ops))

    @property
    def before(self) -> tuple[ir.Op, ...]:
        return self.function.body.ops[:-1]

    def part(self, launch: ir.Op, yields: Sequence[ir.Operand], more: Sequence[ir.Var]) -> ir.Function:
        """A round as a function, of the arrays that are found as well."""
        cloner = ir.Cloner()
        ops = [cloner.op(op) for op in (*self.before, launch)]
        args = (*self.function.body.args, *more)
        made = dataclasses.replace(
            self.function,
            names=(*self.function.names, *(v.name for v in more)),
            params=(*self.function.params, *more),
            body=ir.Region(args, tuple(ops), tuple(yields)),
        )
        return simplify(made)

    # -------------------------------------------------------------------------------------------------------- asking

    def raised(self, op: ir.Op) -> list[ir.Var]:
        """The arrays of which elements are raised, or lowered, inside."""
        stores = [s for s in ir.with_inner(op) if isinstance(s, ir.Store) and s.extreme]
        return list(dict.fromkeys(s.array for s in stores if isinstance(s.array, ir.Var)))

    def check(self, unit: ir.Op, array: ir.Var) -> None:
        """Unsupported where the threads that raise an element do something else with the array."""
        memory, kinds = self.aliases.find(array), set[str]()
        inside = list(ir.with_inner(unit))
        readers: dict[ir.Operand, list[ir.Op]] = {}
        for op in inside:
            for o in (*op.operands, *(y for region in op.regions for y in region.yields)):
                readers.setdefault(o, []).append(op)

        def is_test(value: ir.Operand) -> bool:
            """Whether nothing hangs on it but which elements are raised."""
            return all(
                extreme_in(op) is not None
                or (isinstance(op, ir.Call) and op.outs[0].type == types.boolean and is_test(op.outs[0]))
                for op in readers.get(value, ())
            )

        for op in inside:
            if isinstance(op, ir.Load | ir.Store) and self.aliases.find(op.array) == memory:
                if isinstance(op, ir.Store) and op.extreme and op.array is array:
                    kinds.add(op.extreme)
                elif not (isinstance(op, ir.Load) and is_test(op.out)):
                    what = "which the same threads load, or store to" if op.array is array else "under two names"
                    raise self.refused(unit, array, what, _APART)
        if len(kinds) > 1:
            raise self.refused(unit, array, "while others lower its elements", _APART)

    def refused(self, unit: ir.Op, array: ir.Operand, what: str, instead: str) -> errors.AdjitError:
        store = next(s for s in ir.with_inner(unit) if isinstance(s, ir.Store) and s.extreme and s.array is array)
        name = ir.name_of(array, "an array")
        return errors.Unsupported(
            f"cuda.atomic.{store.extreme} to `{name}`, {what}",
            ir.place_of(store.origin),
            "adjit computes the final value of an element before the kernel runs.",
            instead,
        )

    def check_values(self, unit: ir.Op, round_: ir.Op, found: Collection[ir.Var]) -> None:
        """Unsupported where a value, its place or its conditions hang on what the unit itself stored before."""
        stored, suspect = set[ir.Operand](), set[ir.Operand]()
        around: list[ir.Op] = [op for op in ir.with_inner(unit) if isinstance(op, ir.For | ir.While)]
        repeated = {inner for op in around if op is not unit and not _has_level(op) for inner in op.regions[-1].inside}
        inside = unit.regions[0].inside
        later = {
            self.aliases.find(op.array)
            for op in inside
            if isinstance(op, ir.Store) and not op.extreme and op in repeated
        }
        for op in inside:
            if isinstance(op, ir.Store) and not op.extreme:
                stored.add(self.aliases.find(op.array))
            elif isinstance(op, ir.Load):
                memory = self.aliases.find(op.array)
                if memory in stored or (op in repeated and memory in later):
                    suspect.add(memory)
        if not suspect:
            return
        free = ir.free_vars(ir.Region((), (round_,), ()))
        own = ir.Function("", tuple(v.name for v in free), tuple(free), ir.Region(tuple(free), (round_,), ()), None)
        kept = simplify(dataclasses.replace(own, body=ir.with_ops(own.body, own.body.ops, free)))
        for op in kept.body.inside:
            if isinstance(op, ir.Load) and op.array in free and self.aliases.find(op.array) in suspect:
                name = ir.name_of(op.array, "an array")
                what = f"of a value that depends on `{name}`, to which the same threads stored before"
                raise self.refused(
                    unit, next(iter(found)), what, "Keep the stored value in a variable, and use the variable."
                )

    # ------------------------------------------------------------------------------------------------------- writing

    def round(self, unit: ir.Op, found: Mapping[ir.Var, _Found], do: _Do, own: Collection[ir.Operand] | None) -> ir.Op:
        """What a unit does with something else in the place of what raises these arrays; of what it stores besides only
        to arrays of its `own`, if they are given."""

        def make(op: ir.Op, levels: _Levels) -> Sequence[ir.Op]:
            store = extreme_in(op)
            if store is not None and store.array in found:
                builder = ir.Builder(store.origin)
                do(builder, store, self.number(builder, levels))
                return builder.ops
            if own is not None and isinstance(op, ir.Store) and self._base(op.array) not in own:
                return ()
            if not op.regions:
                return [op]
            inner = (*levels, op) if _has_level(op) else levels
            regions = [ir.with_ops(r, [o for one in r.ops for o in make(one, inner)]) for r in op.regions]  # type: ignore[arg-type]
            return [ir.with_regions(op, regions)]

        (made,) = make(unit, ())
        if own is not None:
            self.check_values(unit, made, found)
        return made

    def _base(self, array: ir.Operand) -> ir.Operand:
        return ir.base_of(array, self.function.body.made)

    def number(self, builder: ir.Builder, levels: _Levels) -> ir.Operand:
        """Which thread it is, of those in these loops, by its place along x first."""
        blocks = [loop for loop in reversed(levels) if loop.level == "blocks"]
        threads = iter([loop for loop in reversed(levels) if loop.level == "threads"])
        found: ir.Operand | None = None
        axes = []
        for axis, size in enumerate(self.launched.block):
            block = blocks[axis] if axis < len(blocks) else None
            axes.append((block, next(threads) if size > 1 else None, ir.integer(size)))
        for around, inside, count in reversed(axes):
            index, extent = _place(builder, around, inside, count)
            if index is None or extent is None:
                continue
            if found is not None:
                first = builder.call(operator.mul, found, extent, type=types.intp, name="first")
                index = builder.call(operator.add, first, index, type=types.intp, name="number")
            found = index
        return ir.integer(0) if found is None else found

    def in_blocks(self, op: ir.Op) -> Sequence[ir.Op]:
        """What a block does, in which stretches that raise elements of shared memory are in rounds."""
        if not isinstance(op, ir.For | ir.While | ir.If):
            return [op]
        if isinstance(op, ir.For) and op.level == "threads":
            return self.stretch(op)
        regions = [ir.with_ops(r, [o for inner in r.ops for o in self.in_blocks(inner)]) for r in op.regions]
        return [ir.with_regions(op, regions)]

    def stretch(self, loop: ir.For) -> Sequence[ir.Op]:
        shared = [a for a in self.raised(loop) if a in self.made_inside and a not in loop.body.defines]
        if not shared:
            return [loop]
        found = {array: _room(array) for array in shared}
        own = set(loop.body.defines) & self.made_inside
        builder = ir.Builder(loop.origin)
        for array, room in found.items():
            self.check(loop, array)
            alloc = self.function.body.made[array]
            assert isinstance(alloc, ir.Alloc)
            for out in (room.top, room.by):
                builder.emit(ir.Alloc(shape=alloc.shape, out=out))
        rounds = [
            self.started(loop, found),
            self.round(loop, found, _raise(found), own),
            self.round(loop, found, _claim(found), own),
        ]
        return [*builder.ops, *(ir.Cloner().op(r) for r in rounds), self.round(loop, found, _store(found), None)]

    def started(self, loop: ir.For, found: Mapping[ir.Var, _Found]) -> ir.Op:
        """A stretch in which the threads fill what is found out, each its share."""
        axes = [loop]
        while len(axes[-1].body.ops) == 1 and _has_level(inner := axes[-1].body.ops[0]):
            axes.append(inner)  # type: ignore[arg-type]
        builder = ir.Builder(loop.origin)
        number, count = self.number(builder, tuple(axes)), int(np.prod(self.launched.block))
        for array, room in found.items():
            _fill(builder, array, room, number, ir.integer(count))
        made: Sequence[ir.Op] = builder.ops
        for axis in reversed(axes):
            made = [dataclasses.replace(axis, body=ir.Region(axis.body.args, tuple(made), ()))]
        return made[0]


def _fill(builder: ir.Builder, array: ir.Var, room: _Found, start: ir.Operand, step: ir.Const) -> None:
    """What is found out about an array starts from what it holds, and from no thread."""
    first, *others = builder.shape(array)
    counter = ir.Var("k", types.intp)

    def fill(at: tuple[ir.Var, ...]) -> None:
        builder.store(room.top, (counter, *at), builder.load(array, (counter, *at)))
        builder.store(room.by, (counter, *at), _LAST)

    with builder.region() as ops:
        builder.nest(others, fill)
    body = ir.Region((counter,), tuple(ops), ())
    builder.emit(ir.For(start=start, stop=first, step=step, body=body))


_APART = "Put a barrier between them if the array is shared, or launch a separate kernel for one of them."


def _has_level(op: ir.Op) -> bool:
    return isinstance(op, ir.For) and op.level is not None


def _place(
    builder: ir.Builder, block: ir.For | None, thread: ir.For | None, size: ir.Const
) -> tuple[ir.Operand | None, ir.Operand | None]:
    """The place along an axis as `cuda.grid` has it, and how many there are."""
    if block is None:
        return (None, None) if thread is None else (thread.body.args[0], size)
    if thread is None:
        return block.body.args[0], block.stop
    first = builder.call(operator.mul, block.body.args[0], size, type=types.intp, name="first")
    index = builder.call(operator.add, first, thread.body.args[0], type=types.intp, name="i")
    return index, builder.call(operator.mul, block.stop, size, type=types.intp, name="extent")


def _test(builder: ir.Builder, callee: object, left: ir.Operand, right: ir.Operand) -> ir.Var:
    return builder.call(callee, left, right, type=types.boolean, name="holds")


def _raise(found: Mapping[ir.Var, _Found]) -> _Do:
    """The first round: what the elements will be."""

    def do(builder: ir.Builder, store: ir.Store, number: ir.Operand) -> None:
        top = found[store.array].top  # type: ignore[index]
        with builder.when(_test(builder, _BETTER[store.extreme], store.value, builder.load(top, store.index))):
            builder.emit(dataclasses.replace(store, array=top))

    return do


def _claim(found: Mapping[ir.Var, _Found]) -> _Do:
    """The second round: which thread makes it that."""

    def do(builder: ir.Builder, store: ir.Store, number: ir.Operand) -> None:
        own = found[store.array]  # type: ignore[index]
        is_top = _test(builder, operator.eq, store.value, builder.load(own.top, store.index))
        before = builder.load(store.array, store.index)
        with builder.when(is_top), builder.when(_test(builder, _BETTER[store.extreme], store.value, before)):
            is_first = _test(builder, operator.lt, number, builder.load(own.by, store.index))
            with builder.when(is_first):
                builder.emit(ir.Store(array=own.by, index=store.index, value=number, extreme="min"))

    return do


def _store(found: Mapping[ir.Var, _Found]) -> _Do:
    """The last round: that thread stores it."""

    def do(builder: ir.Builder, store: ir.Store, number: ir.Operand) -> None:
        own = found[store.array]  # type: ignore[index]
        is_top = _test(builder, operator.eq, store.value, builder.load(own.top, store.index))
        with builder.when(is_top):
            is_mine = _test(builder, operator.eq, builder.load(own.by, store.index), number)
            with builder.when(is_mine):
                builder.emit(dataclasses.replace(store, extreme="", promised="surely"))

    return do
