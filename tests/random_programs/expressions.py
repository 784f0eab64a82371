"""Random expressions over the variables in scope: numbers, integers, conditions, arrays of a given shape, and views.

In: a source of choices (`random.Random`, or hypothesis's), and a `Scope`. Out: source text. Values stay of the order
of one, and are smooth but for branches, whose ties the checks stay away from.

    scope with s, u (5 elements) and i     ->     0.5 * (np.sin(s) + u[(i + 2) % 5])
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass
class Scope:
    """What is defined where a statement is written; `counters` are integers with their least and greatest value."""

    floats: list[str] = field(default_factory=list)
    ints: list[str] = field(default_factory=list)
    counters: dict[str, tuple[int, int]] = field(default_factory=dict)
    arrays: dict[str, Shape] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)  # integer arrays of values below 3, and their lengths
    helpers: list[tuple[str, str]] = field(default_factory=list)  # functions and what they take

    def copy(self) -> Scope:
        return Scope(*(getattr(self, f.name).copy() for f in dataclasses.fields(self)))


class Expressions:
    def __init__(self, draw: random.Random):
        self.draw = draw
        self.scope = Scope()

    def chance(self, percent: int) -> bool:
        """Seldom for a small number; False is the simpler case that shrinking aims at."""
        return self.draw.randrange(100) >= 100 - percent

    def one_of(self, *makers: Callable[[], str]) -> str:
        return self.draw.choice(makers)()

    # ------------------------------------------------------------------------------------------------------ integers

    def integer(self) -> str:
        """Any small integer."""
        s, d = self.scope, self.draw
        known = [*s.ints, *s.counters]
        options = [lambda: str(d.randrange(5))]
        if known:
            options += [lambda: d.choice(known)] * 3
            options.append(lambda: f"({d.choice(known)} * {d.randrange(2, 4)} + {d.choice(known)}) % 5")
            options.append(lambda: f"{d.choice(known)} // 2")
        if s.indices:
            name = d.choice(list(s.indices))
            options.append(lambda: f"{name}[{self.index(s.indices[name])}]")
        return self.one_of(*options)

    def index(self, extent: int) -> str:
        """An integer that is an index of an axis."""
        d = self.draw
        fitting = [n for n, (low, high) in self.scope.counters.items() if -extent <= low and high < extent]
        before = [n for n, (low, high) in self.scope.counters.items() if 1 - extent <= low and high <= extent]
        options = [lambda: str(d.randrange(extent))]
        options.append(lambda: str(-1 - d.randrange(extent)))
        options.append(lambda: f"({self.integer()} + {d.randrange(3)}) % {extent}")
        if fitting:
            options += [lambda: d.choice(fitting)] * 6
        if before:
            options += [lambda: f"{d.choice(before)} - 1"] * 3
        if extent >= 3 and self.scope.indices:
            name = d.choice(list(self.scope.indices))
            options.append(lambda: f"{name}[{self.index(self.scope.indices[name])}]")
        return self.one_of(*options)

    def bound(self, largest: int) -> str:
        """A number of trips, at most `largest`, often one that is not known before the program runs."""
        d = self.draw
        counters = [n for n, (low, high) in self.scope.counters.items() if high <= largest]
        options = [lambda: str(d.randrange(1, largest + 1)), lambda: f"({self.integer()}) % {largest + 1}"]
        if counters:
            options.append(lambda: d.choice(counters))
        return self.one_of(*options)

    # ---------------------------------------------------------------------------------------------------- conditions

    def condition(self, depth: int = 1) -> str:
        d = self.draw
        known = [*self.scope.ints, *self.scope.counters] or ["2"]
        options = [
            lambda: f"{d.choice(known)} {d.choice(('<', '>', '==', '!=', '<=', '>='))} {d.randrange(4)}",
            lambda: f"{d.choice(known)} % {d.randrange(2, 4)} == {d.randrange(2)}",
            lambda: f"{self.number(0)} {d.choice('<>')} {d.choice(('0.1237', '-0.2718', '0.4142'))}",
        ]
        if depth:
            options.append(lambda: f"{self.condition(0)} {d.choice(('and', 'or'))} {self.condition(0)}")
            options.append(lambda: f"not ({self.condition(0)})")
            options.append(lambda: f"{d.randrange(2)} <= {d.choice(known)} < {d.randrange(2, 5)}")
        return self.one_of(*options)

    # ------------------------------------------------------------------------------------------------------- numbers

    def number(self, depth: int = 2) -> str:
        d = self.draw
        if depth <= 0 or not self.chance(85):
            return self.leaf()
        one, two = lambda: self.number(depth - 1), lambda: self.number(depth - 1)
        options: list[Callable[[], str]] = [
            lambda: f"{d.choice(('np.sin', 'np.tanh', 'math.cos', 'np.arctan'))}({one()})",
            lambda: f"{d.choice(('0.5', '0.3', '-0.7'))} * ({one()} {d.choice('+-')} {two()})",
            lambda: f"np.sin(0.5 * {one()} * {two()})",
            lambda: f"{one()} / (1.7 + np.cos({two()}))",
            lambda: f"np.exp(0.3 * np.sin({one()}))",
            lambda: f"np.log(2.0 + np.tanh({one()}))",
            lambda: f"math.sqrt(1.0 + 0.2 * ({one()}) ** 2)",
            lambda: f"(1.3 + 0.2 * np.cos({one()})) ** {d.choice(('2', '3', '1.5', '-1'))}",
            lambda: f"({one()} if {self.condition(0)} else {two()})",
            lambda: f"{d.choice(('min', 'max', 'np.minimum', 'np.maximum'))}({one()}, {two()})",
            lambda: f"abs({one()} - 0.31)",
            lambda: f"({one()} - {self.integer()}) * 0.2",
        ]
        if self.scope.arrays:
            options += [self.reduction] * 3
        scalar_helpers = [name for name, takes in self.scope.helpers if takes == "number"]
        if scalar_helpers:
            options += [lambda: f"{d.choice(scalar_helpers)}({one()}, {self.integer()})"] * 2
        return self.one_of(*options)

    def leaf(self) -> str:
        s, d = self.scope, self.draw
        options: list[Callable[[], str]] = [lambda: d.choice(("0.4", "-0.8", "1.1"))]
        if s.floats:
            options += [lambda: d.choice(s.floats)] * 4
        if s.counters or s.ints:
            options.append(lambda: f"0.3 * {d.choice([*s.counters, *s.ints])}")
        if s.arrays:
            options += [self.element] * 4
        return self.one_of(*options)

    def element(self) -> str:
        name = self.draw.choice(list(self.scope.arrays))
        shape = self.scope.arrays[name]
        if len(shape) == 2 and self.chance(15):
            return f"{name}[{self.index(shape[0])}][{self.index(shape[1])}]"
        if len(shape) == 2 and self.chance(15):
            return f"{name}.T[{self.index(shape[1])}, {self.index(shape[0])}]"
        return f"{name}[{', '.join(self.index(n) for n in shape)}]"

    def reduction(self) -> str:
        d = self.draw
        shape = d.choice(((3,), (4,), (5,), (4, 3)))
        part = d.choice(sorted(self.scope.arrays))
        options: list[Callable[[], str]] = [
            lambda: f"0.2 * np.sum({self.array(shape, 1)})",
            lambda: f"0.2 * {self.view(shape)}.sum()",
            lambda: f"np.mean({self.array(shape, 1)})",
            lambda: f"0.2 * np.dot({self.view((3,))}, {self.view((3,))})",
            lambda: f"0.2 * {part}[{self.bound(3)}:].sum()",
            lambda: f"0.3 * {self.view(shape)}.max()",
        ]
        return self.one_of(*options)

    # -------------------------------------------------------------------------------------------------------- arrays

    def array(self, shape: Shape, depth: int = 2) -> str:
        """An expression of this shape, or one that broadcasts to it only together with one that has it."""
        d = self.draw
        if depth <= 0 or not self.chance(80):
            return self.view(shape)
        one, two = lambda: self.array(shape, depth - 1), lambda: self.operand(shape, depth - 1)
        options: list[Callable[[], str]] = [
            lambda: f"{d.choice(('np.sin', 'np.tanh', 'np.cos'))}({one()})",
            lambda: f"0.5 * ({one()} {d.choice('+-')} {two()})",
            lambda: f"0.5 * ({two()} {d.choice('+-')} {one()})",
            lambda: f"np.sin({one()} * {two()})",
            lambda: f"{one()} / (1.6 + np.sin({two()}))",
            lambda: f"np.where({self.mask(shape)}, {one()}, {two()})",
            lambda: f"0.4 * ({one()}) ** 2",
            lambda: f"{self.view(shape)}.copy()",
        ]
        if len(shape) == 1:
            gathered = [n for n, size in self.scope.indices.items() if size == shape[0]]
            if gathered:
                options += [lambda: f"{self.any_vector()}[{d.choice(gathered)}]"] * 3
            if shape[0] in (3, 4):
                options.append(lambda: f"0.3 * {self.view((4, 3))}.sum(axis={1 if shape[0] == 4 else 0})")
            options.append(lambda: f"0.3 * np.cumsum({one()})")
            if shape == (4,):
                options.append(lambda: f"0.3 * ({self.view((4, 3))} @ {self.view((3,))})")
                options.append(lambda: f"np.concatenate(({self.view((3,))}, {self.view((1,))}))")
        else:
            options.append(lambda: f"0.5 * ({self.view((shape[0],))}[:, None] * {self.view((shape[1],))})")
            options.append(lambda: f"np.outer({self.view((shape[0],))}, {self.view((shape[1],))})")
        return self.one_of(*options)

    def operand(self, shape: Shape, depth: int) -> str:
        """What broadcasts to this shape."""
        options: list[Callable[[], str]] = [lambda: self.array(shape, depth), lambda: self.number(depth)]
        if len(shape) == 2:
            options.append(lambda: self.view((shape[1],)))
            options.append(lambda: f"{self.view((shape[0],))}[:, None]")
        return self.one_of(*options)

    def mask(self, shape: Shape) -> str:
        return f"{self.view(shape)} {self.draw.choice('<>')} {self.draw.choice(('0.1237', '-0.2718'))}"

    def any_vector(self) -> str:
        return self.view((self.draw.choice((3, 4, 5)),))

    def view(self, shape: Shape) -> str:
        """A view of a known array that has this shape; every shape in use has one."""
        fitting = [text for name, known in self.scope.arrays.items() for text in self.views(name, known, shape)]
        return self.draw.choice(fitting) if fitting else f"np.ones({shape})"

    def views(self, name: str, known: Shape, shape: Shape) -> list[str]:
        d = self.draw
        if len(known) == len(shape) == 1:
            return [f"{name}{part}" for part in _spans(known[0], shape[0], d)]
        if len(known) == 2 and len(shape) == 1:
            found = []
            if known[1] >= shape[0]:
                span = d.choice(_spans(known[1], shape[0], d))[1:-1] or ":"
                row = self.index(known[0])
                found += [f"{name}[{row}, {span}]", f"{name}[{row}][{span}]"]
                if span == ":":
                    found.append(f"{name}[{row}]")
            if known[0] >= shape[0]:
                span = d.choice(_spans(known[0], shape[0], d))[1:-1] or ":"
                found.append(f"{name}[{span}, {self.index(known[1])}]")
            return found
        if len(known) == len(shape) == 2:
            found = []
            if known[0] >= shape[0] and known[1] >= shape[1]:
                rows = d.choice(_spans(known[0], shape[0], d))[1:-1] or ":"
                columns = d.choice(_spans(known[1], shape[1], d))[1:-1] or ":"
                found.append(name if rows == columns == ":" else f"{name}[{rows}, {columns}]")
            if known[0] >= shape[1] and known[1] >= shape[0]:
                columns = d.choice(_spans(known[0], shape[1], d))[1:-1] or ":"
                rows = d.choice(_spans(known[1], shape[0], d))[1:-1] or ":"
                found.append(f"{name}.T" if rows == columns == ":" else f"{name}.T[{rows}, {columns}]")
            return found
        return []


def _spans(extent: int, count: int, draw: random.Random) -> list[str]:
    """Slices that take `count` of `extent` elements; "" takes all."""
    if count > extent:
        return []
    start = draw.randrange(extent - count + 1)
    found = []
    if count == extent:
        found += ["", "", "[:]", "[::-1]"]
    else:
        found += [f"[{start}:{start + count}]", f"[:{count}]", f"[{extent - count}:]", f"[-{count}:]"]
        found += [f"[:{count - extent}]", f"[{count - 1}::-1]", f"[-1:-{count + 1}:-1]"]
    if (extent + 1) // 2 == count:
        found += ["[::2]", "[::-2]"]
    if extent // 2 == count and extent > 1:
        found.append("[1::2]")
    return found
