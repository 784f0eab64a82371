"""Values, regions, functions and calls: what every other node of the IR is made of.

In: operands and callees. Out: nodes, which know their operands, regions and results.

    y = x * x            %y:float64 = call mul(%x, %x)
"""

from __future__ import annotations

import dataclasses
import functools
import linecache
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from numba import types

from adjit.errors import Place
from adjit.transform.ir.nodes import node, once, operands, quick, result, results

Type = types.Type
_Analysis = TypeVar("_Analysis")


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


@dataclass(frozen=True)
class UserComment:
    """A comment of the user's, `# ...`: above, beside or, at the end of a block, below the statement on a line.

    `code`: that statement, if it is on one line. `block`: the first and the last line of the block that the statement
    stands in; None for that of the function.
    """

    text: str
    line: int
    code: str
    block: tuple[int, int] | None
    where: Literal["above", "beside", "below"]


@quick
@dataclass(frozen=True, eq=False)
class Var:
    """A value. `name` is the name it would like in emitted source (not unique); `user` if the user calls it so."""

    name: str
    type: Type
    user: bool = False

    def __repr__(self) -> str:
        return f"%{self.name}"


@quick
@dataclass(frozen=True)
class Const:
    """A literal operand: a Python bool, int, float, a NumPy scalar, or (for reads of a global array) a frozen array."""

    value: Any
    type: Type

    def __repr__(self) -> str:
        return repr(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.type == other.type and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @once
    def _key(self) -> object:
        # 0.0 and -0.0 differ, nan equals itself: literals are compared as they are written; arrays by identity
        return id(self.value) if is_array(self) else repr(self.value)


Operand = Var | Const


# an instance check of numba's types, which have a metaclass, is slow
is_kind: Callable[[type, type], bool] = functools.cache(issubclass)


def of_kinds(*kinds: type) -> Callable[[Operand], bool]:
    """What tells whether an operand is of one of these types."""
    known: dict[type, bool] = {}

    def is_of_kind(operand: Operand) -> bool:
        kind = type(operand.type)
        if kind not in known:
            known[kind] = issubclass(kind, kinds)
        return known[kind]

    return is_of_kind


is_array = of_kinds(types.Array)
is_reference = of_kinds(types.Array, types.List)  # whether the operand names memory: an array, or a tape


def integer(value: int) -> Const:
    return Const(value, types.intp)


def boolean(value: bool) -> Const:
    return Const(value, types.boolean)


def is_literal(operand: Operand, value: float) -> bool:
    """Whether the operand is this number."""
    return isinstance(operand, Const) and not isinstance(operand.type, types.Array) and bool(operand.value == value)


@quick
@dataclass(frozen=True, eq=False)
class Region:
    """Operations in order. `args` are bound by the operation that holds the region; `yields` are what it hands back."""

    args: tuple[Var, ...]
    ops: tuple[Op, ...]
    yields: tuple[Operand, ...]

    @once
    def inside(self) -> tuple[Op, ...]:
        """Every operation in it, outer before inner, in order."""
        found: list[Op] = []
        for op in self.ops:
            found.append(op)
            for inner in op.regions:
                found += inner.inside
        return tuple(found)

    @once
    def kinds(self) -> frozenset[type]:
        """Which kinds of operations there are in it."""
        return frozenset(map(type, self.inside))

    @once
    def memory_written(self) -> tuple[Operand, ...]:
        """The arrays and tapes whose contents operations in it change."""
        return tuple(dict.fromkeys(op.memory_written for op in self.inside if op.memory_written is not None))

    @once
    def made(self) -> Mapping[Operand, Op]:
        """What the operations in it give, and which does; without what regions are handed."""
        return {out: op for op in self.inside for out in op.results}

    @once
    def defines(self) -> frozenset[Operand]:
        """All variables that stand for something in it alone: results, its arguments, and those of regions in it."""
        inner = (arg for op in self.inside for region in op.regions for arg in region.args)
        return frozenset((*self.args, *self.made, *inner))


class Analysed:
    """What never changes, and keeps what was found out about it."""

    def analysis(self, kind: Callable[[Any], _Analysis]) -> _Analysis:
        """What `kind` makes of it, made once; an analysis that is shared may not change either."""
        known: dict[Any, Any] = self.__dict__.setdefault("_known", {})
        if kind not in known:
            known[kind] = kind(self)
        found: _Analysis = known[kind]
        return found


@node
class Op(Analysed):
    """An operation. Subclasses declare their operands, regions and results, which are looked up once."""

    origin: Origin | None = None

    if TYPE_CHECKING:
        # `node` writes these, from the fields of each class
        @property
        def operands(self) -> tuple[Operand, ...]:
            """The operands of this operation itself, without those inside its regions."""

        @property
        def regions(self) -> tuple[Region, ...]: ...

        @property
        def results(self) -> tuple[Var, ...]: ...

        def rebuilt(self, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> Self:
            """The same operation on other parts, given in the order in which the properties list them."""

    def at(self, origin: Origin | None) -> Self:
        """The same operation, written at another place."""
        made = object.__new__(type(self))
        made.__dict__.update((name, self.__dict__[name]) for name in self.__dataclass_fields__)
        made.__dict__["origin"] = origin
        return made

    @once
    def reads(self) -> tuple[Operand, ...]:
        """Its operands, those of what is inside it, and what regions yield."""
        if not self.regions:
            return self.operands
        found = list(self.operands)
        for region in self.regions:
            for inner in region.ops:
                found += inner.reads
            found += region.yields
        return tuple(found)

    @once
    def memory_read(self) -> tuple[Operand, ...]:
        """The arrays and tapes whose contents it reads itself, its regions aside."""
        return ()

    @once
    def memory_written(self) -> Operand | None:
        """The array or tape whose contents it changes itself."""
        return None


# Callees that Python has no function for. Resolved callees are otherwise Python objects such as operator.mul or np.sin.


def cast(value: Any) -> Any:
    """Conversion to the type of the result."""
    raise NotImplementedError


def select(condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, both already computed."""
    return yes if condition else no


_IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_SAME: dict[Any, Any] = {
    **{getattr(operator, f"i{name}"): getattr(operator, name) for name in _IN_PLACE},
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.logical_not: operator.not_,
    float: cast,
    int: cast,
}


def canonical(callee: Any) -> Any:
    """The operator that the callee is another name of on scalars, or itself: operator.add for np.add, operator.iadd."""
    return _SAME.get(callee, callee)


class Subprogram:
    """A callee that is no function of Python's: one of the program, whose text stands above that of its caller."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name


@node
class Call(Op):
    """A call of a resolved callee. It writes no memory that others can see, and an array it returns is fresh.

    `options` are static keyword arguments. `effect`: it draws random numbers or the like, so it runs exactly once, in
    order.
    """

    callee: Any
    args: tuple[Operand, ...] = operands()
    outs: tuple[Var, ...] = results()
    options: tuple[tuple[str, Any], ...] = ()
    effect: bool = False

    @once
    def memory_read(self) -> tuple[Operand, ...]:
        return tuple(a for a in self.args if is_reference(a))


@node
class Undefined(Op):
    """A variable that this path does not assign. Reading it is the user's error, as in Python."""

    out: Var = result()


@dataclass(frozen=True, eq=False)
class Function(Analysed):
    """A function. `params` has a tree of Vars a parameter (`body.args` are their leaves, in order), `names` its names.

    `result` is the tree of the returned value: an integer k stands for `body.yields[k]`, None for None.
    `overlapping`: groups of parameters that may be names of one memory; others never are. `comments`: the user's, in
    order. `counts`: integers among the parameters that are never below zero, such as the counter of a loop of which the
    function is one trip.
    """

    name: str
    names: tuple[str, ...]
    params: tuple[Tree, ...]
    body: Region
    result: Tree
    doc: str = ""
    origin: Origin | None = None
    overlapping: tuple[tuple[Var, ...], ...] = ()
    comments: tuple[UserComment, ...] = ()
    counts: tuple[Var, ...] = ()


Tree = Any  # nested tuples; the leaves of a parameter are Vars, those of a result integers into `body.yields`


class Pair(tuple[Any, ...]):
    """The parts of a complex number or array in a tree: one number or array to the caller, two leaves here."""


def leaves(tree: Tree) -> list[Any]:
    """The leaves of nested tuples, in order."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def map_tree(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """The same nesting with `function` applied to each leaf."""
    if isinstance(tree, tuple):
        parts = (map_tree(function, part) for part in tree)
        return Pair(parts) if isinstance(tree, Pair) else tuple(parts)
    return function(tree)


def pairs(tree: Tree) -> list[Pair]:
    """What is complex in a tree, in order."""
    if isinstance(tree, Pair):
        return [tree]
    return [pair for part in tree for pair in pairs(part)] if isinstance(tree, tuple) else []


def axis_at(origin: Origin | None, array: Operand, axis: int) -> str:
    """What an error says of an index: the axis and the array, and the line of the user's."""
    called = f" of `{array.name}`" if isinstance(array, Var) else ""
    return said_at(origin, f"axis {axis}{called}")


def said_at(origin: Origin | None, what: str) -> str:
    """What an error says, and the line of the user's."""
    place = place_of(origin)
    lines = [] if place is None else dataclasses.replace(place, column=0, end_column=0).lines()[:2]
    return "\n  ".join((what, *lines))


def place_of(origin: Origin | None) -> Place | None:
    """The place that an error about an operation names."""
    if origin is None:
        return None
    line = linecache.getline(origin.filename, origin.line).rstrip("\n")
    end = origin.end_column if origin.end_line == origin.line else len(line)
    return Place(origin.filename, origin.function, origin.line, origin.column, end, line)
