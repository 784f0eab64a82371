"""Values, regions, functions and calls: what every other node of the IR is made of.

In: operands and callees. Out: nodes, which know their operands, regions and results.

    y = x * x            %y:float64 = call mul(%x, %x)
"""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numba import types

from adjit.errors import Place

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


def integer(value: int) -> Const:
    return Const(value, types.intp)


def boolean(value: bool) -> Const:
    return Const(value, types.boolean)


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


@dataclass(frozen=True, eq=False)
class Function:
    """A function. `params` has a tree of Vars a parameter (`body.args` are their leaves, in order), `names` its names.

    `result` is the tree of the returned value: an integer k stands for `body.yields[k]`, None for None.
    `overlapping`: groups of parameters that may be names of one memory; others never are. `comments`: the user's, in
    order.
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


Tree = Any  # nested tuples; the leaves of a parameter are Vars, those of a result integers into `body.yields`


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


def place_of(origin: Origin | None) -> Place | None:
    """The place that an error about an operation names."""
    if origin is None:
        return None
    line = linecache.getline(origin.filename, origin.line).rstrip("\n")
    end = origin.end_column if origin.end_line == origin.line else len(line)
    return Place(origin.filename, origin.function, origin.line, origin.column, end, line)
