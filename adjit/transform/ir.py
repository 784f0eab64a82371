"""The intermediate representation: structured, in single-assignment form, typed with numba's types.

In: nothing. Out: the node classes that every pass reads and makes, and the helpers that all passes share.
A `Region` is a list of operations with arguments and yields; control flow is regions inside operations, so there is no
control-flow graph. Scalars are values; arrays are references to mutable memory. Tuples, modules and other static
things are resolved by the front end and do not occur here.

    y = x * x            %y:float64 = call mul(%x, %x)
    for i in range(n):   %s1 = for %i in (0, %n, 1) carrying %s0 = (0.0,) {
        s += a[i]            %e = load %a[%i];  %s2 = call add(%s0, %e);  yield %s2 }
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

Type = types.Type


@dataclass(frozen=True)
class Origin:
    """Where an operation comes from: the span of its statement in the user's file, its text, the comments above it."""

    filename: str
    function: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Var:
    """A value. `name` is the name it would like in emitted source (not unique); `user` if the user calls it so."""

    name: str
    type: Type
    user: bool = False

    def __repr__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True)
class Const:
    """A literal operand: a Python bool, int, float, a NumPy scalar, or (for reads of a global array) a frozen array."""

    value: Any
    type: Type

    def __repr__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.type == other.type and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.type, self._key()))

    def _key(self) -> object:
        # 0.0 and -0.0 differ, nan equals itself: literals are compared as they are written; arrays by identity
        return id(self.value) if isinstance(self.type, types.Array) else repr(self.value)


Operand = Var | Const


@dataclass(frozen=True, eq=False)
class Region:
    """Operations in order. `args` are bound by the operation that holds the region; `yields` are what it hands back."""

    args: tuple[Var, ...]
    ops: tuple[Op, ...]
    yields: tuple[Operand, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Op:
    """An operation. Subclasses list their operands; regions and results are the same for all."""

    origin: Origin | None = None

    @property
    def results(self) -> tuple[Var, ...]:
        return ()

    @property
    def regions(self) -> tuple[Region, ...]:
        return ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of this operation itself, without those inside its regions."""
        return ()

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        """The same operation on other parts, given in the order in which the properties list them."""
        raise NotImplementedError


# --------------------------------------------------------------------------------------------------- calls and scalars

# Callees that Python has no function for. Resolved callees are otherwise Python objects such as operator.mul or np.sin.


def cast(value: Any) -> Any:
    """Conversion to the type of the result."""
    raise NotImplementedError


def select(condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, both already computed."""
    return yes if condition else no


@dataclass(frozen=True, eq=False, kw_only=True)
class Call(Op):
    """A call of a resolved callee. It writes no memory that others can see, and an array it returns is fresh.

    `options` are static keyword arguments. `effect`: it draws random numbers or the like, so it runs exactly once, in
    order.
    """

    callee: Any
    args: tuple[Operand, ...]
    outs: tuple[Var, ...]
    options: tuple[tuple[str, Any], ...] = ()
    effect: bool = False

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.args

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, args=tuple(operands), outs=tuple(results))


@dataclass(frozen=True, eq=False, kw_only=True)
class Undefined(Op):
    """A variable that this path does not assign. Reading it is the user's error, as in Python."""

    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, out=results[0])


# -------------------------------------------------------------------------------------------------------------- memory


@dataclass(frozen=True, eq=False, kw_only=True)
class Alloc(Op):
    """A fresh C-ordered array of the result's type and the given shape; `fill` None leaves it unwritten (np.empty).

    With `like`, the layout and shape of that array are taken and `shape` is empty (np.zeros_like).
    """

    shape: tuple[Operand, ...]
    out: Var
    fill: Const | None = None
    like: Var | None = None

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.shape if self.like is None else (self.like,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        if self.like is not None:
            assert isinstance(operands[0], Var)
            return dataclasses.replace(self, like=operands[0], out=results[0])
        return dataclasses.replace(self, shape=tuple(operands), out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Copy(Op):
    """A fresh array with the contents of `source` (numba's x.copy())."""

    source: Operand
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.source,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, source=operands[0], out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Extent(Op):
    """`array.shape[axis]`."""

    array: Operand
    axis: int
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.array,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, array=operands[0], out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Load(Op):
    """`array[index]`, one integer an axis; negative ones count from the end. A scalar."""

    array: Operand
    index: tuple[Operand, ...]
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.array, *self.index)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, array=operands[0], index=tuple(operands[1:]), out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Store(Op):
    """`array[index] = value`; `add` makes it `array[index] += value` without a Load of its own."""

    array: Operand
    index: tuple[Operand, ...]
    value: Operand
    add: bool = False

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.array, *self.index, self.value)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, array=operands[0], index=tuple(operands[1:-1]), value=operands[-1])


@dataclass(frozen=True)
class At:
    """An integer in an index: the axis goes away."""

    index: Operand


@dataclass(frozen=True)
class Span:
    """A slice in an index; None where the user leaves the end out."""

    start: Operand | None = None
    stop: Operand | None = None
    step: Operand | None = None


@dataclass(frozen=True)
class NewAxis:
    """`np.newaxis` in an index."""


Selector = At | Span | NewAxis


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice(Op):
    """Basic indexing that leaves an array: a view of `base`. Every axis of the base has its selector (no Ellipsis)."""

    base: Operand
    selectors: tuple[Selector, ...]
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        found: list[Operand] = [self.base]
        for s in self.selectors:
            if isinstance(s, At):
                found.append(s.index)
            elif isinstance(s, Span):
                found.extend(e for e in (s.start, s.stop, s.step) if e is not None)
        return tuple(found)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        rest = iter(operands)
        base = next(rest)
        made: list[Selector] = []
        for s in self.selectors:
            if isinstance(s, At):
                made.append(At(next(rest)))
            elif isinstance(s, Span):
                made.append(Span(*(None if e is None else next(rest) for e in (s.start, s.stop, s.step))))
            else:
                made.append(s)
        return dataclasses.replace(self, base=base, selectors=tuple(made), out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Transpose(Op):
    """A view of `base` with its axes permuted: axis k of the result is axis `axes[k]` of the base."""

    base: Operand
    axes: tuple[int, ...]
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.base,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, base=operands[0], out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Reshape(Op):
    """A view of the contiguous array `base` with another shape."""

    base: Operand
    shape: tuple[Operand, ...]
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.base, *self.shape)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, base=operands[0], shape=tuple(operands[1:]), out=results[0])


# ------------------------------------------------------------------------------------------------------ growable tapes


@dataclass(frozen=True, eq=False, kw_only=True)
class NewTape(Op):
    """An empty growable tape (a list) of scalars or array references. Entries are appended and never changed."""

    out: Var  # of type types.List(element)

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, out=results[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Push(Op):
    """`tape.append(value)`. `index`, an operand that counts the entries, says where it lands."""

    tape: Operand
    index: Operand
    value: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.tape, self.index, self.value)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, tape=operands[0], index=operands[1], value=operands[2])


@dataclass(frozen=True, eq=False, kw_only=True)
class Pull(Op):
    """`tape[index]`: an entry, left where it is."""

    tape: Operand
    index: Operand
    out: Var

    @property
    def results(self) -> tuple[Var, ...]:
        return (self.out,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.tape, self.index)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, tape=operands[0], index=operands[1], out=results[0])


# -------------------------------------------------------------------------------------------------------- control flow


@dataclass(frozen=True, eq=False, kw_only=True)
class If(Op):
    """Both regions have no arguments and yield one operand a result."""

    condition: Operand
    then: Region
    orelse: Region
    outs: tuple[Var, ...]

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.condition,)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.then, self.orelse)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, condition=operands[0], then=regions[0], orelse=regions[1], outs=tuple(results))


@dataclass(frozen=True, eq=False, kw_only=True)
class For(Op):
    """`for i in range(start, stop, step)`; the body's arguments are (i, *carried) and it yields the carried values.

    stops:      the body yields one more operand, a boolean, last: true ends the loop after this trip (`break`).
    order_free: the trips may run in any order (up to rounding of sums), as those of whole-array statements may.
    parallel:   the user wrote prange.
    pair:       what a loop of the forward sweep and its mirror in the reverse sweep (`is_mirror`) have in common.
    """

    start: Operand
    stop: Operand
    step: Operand
    inits: tuple[Operand, ...]
    body: Region
    outs: tuple[Var, ...]
    stops: bool = False
    order_free: bool = False
    parallel: bool = False
    pair: object = None
    is_mirror: bool = False

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.start, self.stop, self.step, *self.inits)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.body,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        start, stop, step, *inits = operands
        return dataclasses.replace(
            self, start=start, stop=stop, step=step, inits=tuple(inits), body=regions[0], outs=tuple(results)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class While(Op):
    """`test` and `body` take the carried values; `test` yields one boolean, `body` the carried values.

    stops: the body yields one more operand, a boolean, last: true ends the loop without another test (`break`).
    """

    inits: tuple[Operand, ...]
    test: Region
    body: Region
    outs: tuple[Var, ...]
    stops: bool = False

    @property
    def results(self) -> tuple[Var, ...]:
        return self.outs

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.inits

    @property
    def regions(self) -> tuple[Region, ...]:
        return (self.test, self.body)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, inits=tuple(operands), test=regions[0], body=regions[1], outs=tuple(results))


@dataclass(frozen=True, eq=False, kw_only=True)
class Raise(Op):
    """`raise exception(*args)`. `condition` None raises always; else only where it is false (`assert`)."""

    exception: type[BaseException]
    args: tuple[Operand | str, ...] = ()
    condition: Operand | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return () if self.condition is None else (self.condition,)

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return dataclasses.replace(self, condition=operands[0] if operands else None)


# The headings of the two sweeps, and of the second half of a trip that does both.
FORWARD_SWEEP, REVERSE_SWEEP, REVERSE_TRIP = "---- forward sweep", "---- reverse sweep", "---- reverse of the trip"


@dataclass(frozen=True, eq=False, kw_only=True)
class Comment(Op):
    """`# text` on a line of its own."""

    text: str

    def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Op:
        return self


# ----------------------------------------------------------------------------------------------------------- functions

Tree = Any  # nested tuples; the leaves of a parameter are Vars, those of a result integers into `body.yields`


@dataclass(frozen=True, eq=False)
class Function:
    """A function. `params` has a tree of Vars a parameter (`body.args` are their leaves, in order), `names` its names.

    `result` is the tree of the returned value: an integer k stands for `body.yields[k]`, None for None.
    """

    name: str
    names: tuple[str, ...]
    params: tuple[Tree, ...]
    body: Region
    result: Tree
    doc: str = ""
    origin: Origin | None = None


def leaves(tree: Tree) -> list[Any]:
    """The leaves of nested tuples, in order."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def map_tree(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """The same nesting with `function` applied to each leaf."""
    if isinstance(tree, tuple):
        return tuple(map_tree(function, part) for part in tree)
    return function(tree)


# ----------------------------------------------------------------------------------------------------- walking, cloning

VIEWS = (Slice, Transpose, Reshape)


def walk(region: Region) -> Iterator[Op]:
    """Every operation, outer before inner, in order."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from walk(inner)


def reads(op: Op) -> Iterator[Operand]:
    """Every operand of `op` and of what is inside it, yields included."""
    yield from op.operands
    for region in op.regions:
        for inner in region.ops:
            yield from reads(inner)
        yield from region.yields


def free_vars(region: Region) -> list[Var]:
    """Variables that are read inside and defined outside, in order of first reading."""
    defined = set(region.args)
    for op in walk(region):
        defined.update(op.results)
        for inner in op.regions:
            defined.update(inner.args)
    found: dict[Var, None] = {}
    for op in region.ops:
        for operand in reads(op):
            if isinstance(operand, Var) and operand not in defined:
                found[operand] = None
    for operand in region.yields:
        if isinstance(operand, Var) and operand not in defined:
            found[operand] = None
    return list(found)


def is_float(type_: Type) -> bool:
    """Whether values of this type carry a derivative: a float, or an array of floats."""
    if isinstance(type_, types.Array):
        type_ = type_.dtype
    return isinstance(type_, types.Float)


def is_array(operand: Operand) -> bool:
    return isinstance(operand.type, types.Array)


class Cloner:
    """Copies of operations with fresh results; operands are looked up in `mapping` and otherwise kept."""

    def __init__(self, mapping: Mapping[Var, Operand] | None = None):
        self.mapping: dict[Var, Operand] = dict(mapping or {})

    def operand(self, operand: Operand) -> Operand:
        return self.mapping.get(operand, operand) if isinstance(operand, Var) else operand

    def fresh(self, var: Var) -> Var:
        made = dataclasses.replace(var)
        self.mapping[var] = made
        return made

    def op(self, op: Op) -> Op:
        operands = [self.operand(o) for o in op.operands]
        regions = [self.region(r) for r in op.regions]
        return op.rebuilt(operands, regions, [self.fresh(r) for r in op.results])

    def region(self, region: Region) -> Region:
        args = tuple(self.fresh(a) for a in region.args)
        ops = tuple(self.op(o) for o in region.ops)
        return Region(args, ops, tuple(self.operand(y) for y in region.yields))


def substituted_operand(operand: Operand, mapping: Mapping[Var, Operand]) -> Operand:
    return mapping.get(operand, operand) if isinstance(operand, Var) else operand


def substituted(op: Op, mapping: Mapping[Var, Operand]) -> Op:
    """The same operation, results included, with other operands, inside its regions too."""
    if not mapping:
        return op
    operands = [substituted_operand(o, mapping) for o in op.operands]
    regions = [
        Region(
            r.args,
            tuple(substituted(inner, mapping) for inner in r.ops),
            tuple(substituted_operand(y, mapping) for y in r.yields),
        )
        for r in op.regions
    ]
    return op.rebuilt(operands, regions, op.results)


class Builder:
    """Collects operations. `region()` opens a nested list: `with b.region() as ops: ...; Region((), (*ops,), ())`."""

    def __init__(self) -> None:
        self._stack: list[list[Op]] = [[]]
        self.origin: Origin | None = None

    @property
    def ops(self) -> list[Op]:
        return self._stack[-1]

    def emit(self, op: Op) -> Op:
        if op.origin is None and self.origin is not None:
            op = dataclasses.replace(op, origin=self.origin)
        self._stack[-1].append(op)
        return op

    def region(self) -> _Nested:
        return _Nested(self)

    def call(
        self, callee: Any, *args: Operand, type: Type, name: str = "", options: tuple[tuple[str, Any], ...] = ()
    ) -> Var:
        out = Var(name or getattr(callee, "__name__", "value"), type)
        self.emit(Call(callee=callee, args=args, outs=(out,), options=options))
        return out

    def load(self, array: Operand, index: Sequence[Operand], name: str = "") -> Var:
        assert isinstance(array.type, types.Array)
        out = Var(name or element_name(array), array.type.dtype)
        self.emit(Load(array=array, index=tuple(index), out=out))
        return out

    def store(self, array: Operand, index: Sequence[Operand], value: Operand, add: bool = False) -> None:
        self.emit(Store(array=array, index=tuple(index), value=value, add=add))

    def extent(self, array: Operand, axis: int) -> Var:
        out = Var("n", types.intp)
        self.emit(Extent(array=array, axis=axis, out=out))
        return out


class _Nested:
    def __init__(self, builder: Builder):
        self.builder = builder
        self.ops: list[Op] = []

    def __enter__(self) -> list[Op]:
        self.builder._stack.append(self.ops)
        return self.ops

    def __exit__(self, *exc: object) -> None:
        self.builder._stack.pop()


def element_name(array: Operand) -> str:
    """A name for an element of an array."""
    return f"{array.name}_item" if isinstance(array, Var) else "item"


def integer(value: int) -> Const:
    return Const(value, types.intp)


def boolean(value: bool) -> Const:
    return Const(value, types.boolean)
