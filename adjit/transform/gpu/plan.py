"""What a function for a GPU is made of, and which of its arguments are numbers on the device.

In: a function, and types of arguments. Out: a `Plan`, which `outline.py` makes.

    float64, array(float64, 0d)     both are numbers to the program; the second is given as its cell
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import is_scalar, tuple_parts, tuple_type


@dataclass(frozen=True, eq=False)
class Plan:
    """The host's function, the kernels that it launches, in order, and the arrays that it keeps for itself.

    reads: the numbers that the host waits for, with the place of what needs them.
    apart: of each kernel, by name, which of its arrays share no memory with another one of its.
    """

    host: ir.Function
    kernels: tuple[ir.Function, ...]
    on_host: frozenset[ir.Var]
    launches: tuple[Launched, ...]
    reads: tuple[tuple[str, ir.Origin | None], ...]
    apart: Mapping[str, tuple[bool, ...]]


@dataclass(frozen=True, eq=False)
class Launched:
    """A launch, for whoever asks: by how many threads, for trips of these counts, x first, and what is added how.

    block: how many threads a block has; 0 for as many as those have of which adjit chooses the grid
    """

    kernel: ir.Function
    origin: ir.Origin | None
    threads: str
    trips: tuple[ir.Operand, ...]
    additions: tuple[tuple[str, tuple[ir.Var, ...]], ...] = ()
    block: int = 0


def numbers(function: ir.Function, given: Sequence[types.Type]) -> list[ir.Var]:
    """The parameters that are numbers and are given as arrays of shape ()."""
    found: list[ir.Var] = []
    for tree, type_ in zip(function.params, given, strict=True):
        parts = [type_] if not isinstance(type_, types.BaseTuple) else _leaves(type_)
        own = ir.leaves(tree)
        if len(own) == len(parts):
            found += [leaf for leaf, part in zip(own, parts, strict=True) if _is_cell(part) and is_scalar(leaf.type)]
    return found


def as_numbers(type_: types.Type) -> types.Type:
    """The type of an argument as the program has it: an array of shape () is a number."""
    if isinstance(type_, types.BaseTuple):
        parts = [as_numbers(part) for part in tuple_parts(type_)]
        named = getattr(type_, "instance_class", None)
        return tuple_type(parts) if named is None else types.NamedTuple(parts, named)  # type: ignore[no-untyped-call]
    return type_.dtype if _is_cell(type_) else type_  # type: ignore[attr-defined]


def _leaves(type_: types.Type) -> list[types.Type]:
    if isinstance(type_, types.BaseTuple):
        return [leaf for part in tuple_parts(type_) for leaf in _leaves(part)]
    return [type_]


def _is_cell(type_: types.Type) -> bool:
    return isinstance(type_, types.Array) and type_.ndim == 0


def cell_type(type_: ir.Type) -> types.Array:
    return types.Array(type_, 0, "C")
