"""Conditions on elements and on the order of execution, as isl reads them.

In: affine forms, accesses and operations. Out: text, in which a prefix tells the counters of several accesses apart.

    text.set(["r0", "w0"], ["r0 + 1 = w0", "w0 - n0 < 0"])      "[n0] -> { [r0, w0] : r0 + 1 = w0 and w0 - n0 < 0 }"
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Constraint, Iterations, Symbol

TRUE = "0 = 0"
MOST_OPERATIONS = 200_000  # of isl, a question: some ten milliseconds


@dataclass(frozen=True, eq=False)
class Unknown:
    """An index of which nothing is known but that it is in bounds; `number` counts those of one access."""

    number: int


@dataclass(frozen=True, eq=False)
class Access:
    """The elements of `root` that an operation touches: `index` has an entry an axis of the root, none below zero.

    is_root: `root` is where the array is made, so that other roots are other memory; else it may be any of its class.
    """

    op: ir.Op
    root: ir.Operand
    is_root: bool
    index: tuple[Affine, ...]
    constraints: tuple[Constraint, ...]
    unknowns: tuple[Unknown, ...]


class Text:
    """Writes conditions as isl reads them. A prefix tells the counters of several accesses apart: r0, r1, w0, ..."""

    def __init__(self, iterations: Iterations):
        self._iterations = iterations
        self._sizes: dict[Symbol, str] = {}

    def at_least(self, least: int, conditions: Iterable[str], extents: bool = False) -> list[str]:
        """That all sizes in the conditions, or the extents of arrays among them, are at least so large."""
        inside = " ".join(conditions)
        sizes = [name for symbol, name in self._sizes.items() if not extents or isinstance(symbol, tuple)]
        return [f"{name} >= {least}" for name in sizes if re.search(rf"\b{name}\b", inside)]

    def set(self, dimensions: Sequence[str], conditions: Sequence[str]) -> str:
        inside = " and ".join(conditions)
        sizes = [(symbol, name) for symbol, name in self._sizes.items() if re.search(rf"\b{name}\b", inside)]
        extents = "".join(f" and {name} >= 0" for symbol, name in sizes if isinstance(symbol, tuple))
        names = ", ".join(name for _, name in sizes)
        return f"[{names}] -> {{ [{', '.join(dimensions)}] : {inside or TRUE}{extents} }}"

    def name(self, symbol: Symbol, prefix: str) -> str:
        if isinstance(symbol, (ir.For, ir.While)):
            return f"{prefix}{len(self._iterations.places[symbol].loops)}"
        if isinstance(symbol, Unknown):
            return f"{prefix}u{symbol.number}"
        return self._sizes.setdefault(symbol, f"n{len(self._sizes)}")

    def names(self, symbols: Iterable[Symbol], prefix: str) -> list[str]:
        return [self.name(symbol, prefix) for symbol in symbols]

    def value(self, value: Affine, prefix: str) -> str:
        terms = [f"{factor} {self.name(symbol, prefix)}" for symbol, factor in value.terms.items()]
        return " + ".join([*terms, str(value.constant)])

    def all(self, constraints: Iterable[Constraint], prefix: str) -> list[str]:
        return [f"{self.value(c.value, prefix)} {c.relation} 0" for c in constraints]

    def domain(self, access: Access, prefix: str) -> list[str]:
        chain = self._iterations.places[access.op].chain
        known = self.all((*self._iterations.domain(chain), *access.constraints), prefix)
        return known + [f"{name} >= 0" for name in self.names(access.unknowns, prefix)]

    def equal(self, symbols: Iterable[Symbol], left: str, right: str) -> str:
        pairs = zip(self.names(symbols, left), self.names(symbols, right), strict=True)
        return " and ".join(f"{a} = {b}" for a, b in pairs) or TRUE

    def same_element(self, one: Access, left: str, other: Access, right: str) -> list[str]:
        """That both touch one element; of an array made in loops, the one made in the same trips of them."""
        pairs = zip(one.index, other.index, strict=True)
        indices = [f"{self.value(a, left)} = {self.value(b, right)}" for a, b in pairs]
        return [self.equal(self._iterations.scope(one.root), left, right), *indices]

    def before(self, one: ir.Op, left: str, other: ir.Op, right: str) -> str | None:
        """That `one` is run before `other`; None if it never is."""
        places = self._iterations.places
        shared: list[Symbol] = []
        same_trip = places[one].order < places[other].order
        for (a, number), (b, other_number) in zip(places[one].chain, places[other].chain, strict=False):
            if a is not b:
                break
            if not isinstance(a, ir.If):
                shared.append(a)
            if number != other_number:
                # of two branches one is run; the test of a while loop comes before its body
                same_trip = same_trip and not isinstance(a, ir.If)
                break
        cases = [
            f"({self.equal(shared[:k], left, right)} and {self.name(loop, left)} < {self.name(loop, right)})"
            for k, loop in enumerate(shared)
        ]
        if same_trip:
            cases.append(f"({self.equal(shared, left, right)})")
        return f"({' or '.join(cases)})" if cases else None


@functools.lru_cache(maxsize=2**14)
def is_empty(first: str, *others: str) -> bool:
    """Whether the first set without all others is empty; false if that takes too long to find out.

    Passes ask much the same of a program before and after their changes, and so does the next derivative of it.
    """
    context = isl.Context()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        rest = isl.Set.read_from_str(context, first)
        for other in others:
            rest = rest.subtract(isl.Set.read_from_str(context, other))
            if rest.is_empty():
                return True
        return bool(rest.is_empty())
    except isl.Error:
        return False
