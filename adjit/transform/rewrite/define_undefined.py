"""Variables that some path leaves undefined, where the derivative reads them on that path.

In: operations, and what is read of them. Out: the same, with an empty array, an empty tape or a zero for `Undefined`.

    while c: f = ...                 f = np.empty(0)
    if d: s = f[0]                   while c: f = ...
    f_bar = np.zeros_like(f)         f_bar = np.zeros_like(f)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import followed
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import typed_const

# The conditions of the branches around an operation, with which of them is taken.
_Path = Mapping[ir.Operand, bool]


def define_undefined(function: ir.Function) -> ir.Function:
    """A program, where the arrays that are asked for their extents are there: it asks ahead of a branch that reads."""
    ops = function.body.ops
    return _with_defined(function, ops, ops, lambda op: (op.array,) if isinstance(op, ir.Extent) else ())


def defined_between_sweeps(function: ir.Function) -> ir.Function:
    """Both sweeps, where the arrays that the reverse sweep reads on a path are there on that path."""
    ops = function.body.ops
    middle = next((k for k, op in enumerate(ops) if isinstance(op, ir.Comment) and op.text == ir.REVERSE_SWEEP), 0)
    return _with_defined(function, ops[:middle], ops[middle:], lambda op: tuple(filter(ir.is_reference, op.operands)))


def _with_defined(
    function: ir.Function,
    users: Sequence[ir.Op],
    reading: Sequence[ir.Op],
    asked: Callable[[ir.Op], Sequence[ir.Operand]],
) -> ir.Function:
    """The function, where what is `asked` of operations of ours is there, unless those of the user's read it anyway."""
    ops = function.body.ops
    doubtful = _Doubtful(ops)
    if not doubtful.undefined:
        return function
    sure = _Sure(users)
    wanted = {
        operand
        for op, path in _with_paths(reading, {})
        for operand in asked(op)
        if doubtful.on(operand, path) and not sure.on(operand, path)
    }
    return ir.with_body(function, ir.with_ops(function.body, all_defined(ops, wanted))) if wanted else function


def _with_paths(ops: Sequence[ir.Op], path: _Path, through_loops: bool = True) -> Iterator[tuple[ir.Op, _Path]]:
    """The operations, and those inside them, each with its path."""
    for op in ops:
        yield op, path
        if isinstance(op, ir.If):
            for side, taken in ((op.then, True), (op.orelse, False)):
                yield from _with_paths(side.ops, {**path, op.condition: taken}, through_loops)
        elif through_loops:
            for region in op.regions:
                yield from _with_paths(region.ops, path, through_loops)


class _Sure:
    """What the user's program reads for sure on a path, so that it would fail there were that undefined.

    The body of a loop may not run at all. But one over all elements of an array reads that, whatever its extents are.
    """

    def __init__(self, ops: Sequence[ir.Op]) -> None:
        self._read: dict[ir.Operand, list[_Path]] = {}
        measured: dict[ir.Operand, ir.Operand] = {}
        for op, path in _with_paths(ops, {}, through_loops=False):
            if isinstance(op, ir.Extent):
                measured[op.out] = op.array
                continue
            through = {measured[o] for o in op.operands if o in measured} if isinstance(op, ir.For) else ()
            inner = {o for region in op.regions for one in ir.walk(region) for o in one.operands} if through else set()
            for operand in (*op.operands, *inner.intersection(through)):
                self._read.setdefault(operand, []).append(path)

    def on(self, operand: ir.Operand, path: _Path) -> bool:
        return any(known.items() <= path.items() for known in self._read.get(operand, ()))


class _Doubtful:
    """Which variables may be undefined: a branch or a loop without trips leaves them so."""

    def __init__(self, ops: Sequence[ir.Op]) -> None:
        # what each may be, with the branch that it is then: (condition, whether it holds) or None
        self._may_be: dict[ir.Operand, list[tuple[ir.Operand, tuple[ir.Operand, bool] | None]]] = {}
        self.undefined: set[ir.Operand] = set()
        for op in (inner for top in ops for inner in ir.with_inner(top)):
            if isinstance(op, ir.Undefined):
                self.undefined.add(op.out)
            elif isinstance(op, ir.If):
                for out, then, orelse in ir.joined(op):
                    self._may_be[out] = [(then, (op.condition, True)), (orelse, (op.condition, False))]
            elif isinstance(op, ir.For | ir.While):
                runs = isinstance(op, ir.For) and bool(literal_trips(op))
                for init, arg, yielded, out in op.slots:
                    self._may_be[arg] = [(init, None), (yielded, None)]
                    self._may_be[out] = self._may_be[arg][runs:]

    def on(self, operand: ir.Operand, path: _Path) -> bool:
        """Whether it may be undefined on a path."""
        todo, seen = [operand], {operand}
        while todo:
            one = todo.pop()
            if one in self.undefined:
                return True
            for other, branch in self._may_be.get(one, ()):
                if other not in seen and (branch is None or path.get(branch[0], branch[1]) == branch[1]):
                    seen.add(other)
                    todo.append(other)
        return False


def all_defined(ops: Sequence[ir.Op], saved: Collection[ir.Operand]) -> list[ir.Op]:
    """The operations with something in place of what a path leaves undefined, where `saved` may come to be that."""
    # what a loop carries is read in it, whether or not its last value is
    sources: dict[ir.Operand, list[ir.Operand]] = {}
    for op in (inner for top in ops for inner in ir.with_inner(top)):
        sources.update((name, joined) for name, *joined in ir.joined(op))
    wanted = followed(sources, saved)
    return list(ir.rewritten(ir.Region((), tuple(ops), ()), lambda op: _defined(op, wanted)).ops)


def _defined(op: ir.Op, wanted: set[ir.Operand]) -> ir.Op:
    if isinstance(op, ir.Undefined) and op.out in wanted:
        type_ = op.out.type
        if isinstance(type_, types.Array):
            return ir.Alloc(shape=(ir.integer(0),) * type_.ndim, out=op.out)
        if isinstance(type_, types.List):
            return ir.NewTape(out=op.out)
        return ir.Call(callee=ir.cast, args=(typed_const(0, type_),), outs=(op.out,))
    return op
