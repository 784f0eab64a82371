"""Expressions of what is there, and the filling of patterns with them.

    holes.fill("<!b> = np.linalg.solve(<M>, <v>)\n<!b> += <x>")     "r1 = np.linalg.solve(M, u)\nr1 += 0.3 * y"

A hole is one of
    <x> a number     <c> a constant     <f> a variable that is a number     <k> an index     <n> a number of trips
    <v> <A> <M> <T> <a>    an array: a vector, a matrix, a regular one, one of three axes, any
    <V> <E>          an expression that is a vector, or any array
    <~v>             an expression of the shape that the hole <v> has; <=v> the name of another such array
    <p>              a view of an array, by subscripts; <m> a mask; <I> an array of indices; <J> one of small integers
    <z> <Z>          a complex number, an array of those     <q> a condition     <h> a call of a helper, a number
    <i> <!b>         a new name of a counter, of a variable
Names are the same wherever their hole is repeated in a pattern; expressions only if they are numbered, as <x1> is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.random_programs.writing.world import Unfit, World

HOLE = re.compile(r"<([~=!]?)([a-zA-Z]+)(\d*)>")
STICKY = "vAMTamIJfzZit"
STEMS = {"i": "ijkl"}


class Missing(Exception):
    """There is nothing that fits a hole."""


class Holes:
    """Fills patterns at one place. `ask` makes a new argument of a kind, or says None."""

    def __init__(self, draw: random.Random, ask: Callable[[str], str | None]) -> None:
        self.draw = draw
        self.ask = ask
        self.world = World(dict)
        self.made = 0
        self.helpers: list[Any] = []
        self.fixed: set[str] = set()

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def fresh(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    # ------------------------------------------------------------------------------------------ patterns

    def fill(self, pattern: str) -> str:
        """Raises Missing where there is nothing for a hole."""
        known: dict[str, str] = {}

        def put(match: re.Match[str]) -> str:
            sign, kind, number = match.groups()
            key = sign + kind + number
            is_sticky = sign in ("!", "=") or number or (not sign and kind in STICKY)
            if is_sticky and key in known:
                return known[key]
            found = self._hole(sign, kind, number, known)
            if is_sticky:
                known[key] = found
            return found

        return HOLE.sub(put, pattern)

    def _hole(self, sign: str, kind: str, number: str, known: dict[str, str]) -> str:
        if sign == "!":
            return self.fresh(kind)
        if sign:
            like = known.get(kind + number)
            if like is None:
                raise Missing
            shape = np.shape(self.world.evaluate(like))
            if sign == "~":
                return self.array(shape, 2)
            others = [n for n in self.world.arrays() if n != like and self.world.values[n].shape == shape]
            return self._choice(others)
        return self._expressions[kind](self)

    def _choice(self, options: list[str]) -> str:
        if not options:
            raise Missing
        # what was made last is what a line is about
        if len(options) > 2 and self.chance(0.4):
            return options[-1]
        return self.draw.choice(options)

    def _variable(self, kind: str, options: list[str]) -> str:
        if not options or (len(options) < 3 and self.chance(0.15)):
            made = self.ask(kind)
            if made is not None:
                return made
        return self._choice(options)

    # ------------------------------------------------------------------------------------------ numbers

    def constant(self) -> str:
        return self.draw.choice(("0.3", "0.5", "-0.4", "1.5", "0.2", "0.8", "2.0", "-1.1", "0.05"))

    def variable(self) -> str:
        return self._variable("f", self.world.floats())

    def assignable(self) -> str:
        return self._choice([n for n in self.world.floats() if n not in self.fixed])

    def number(self, depth: int = 2) -> str:
        d = self.draw
        if depth <= 0 or self.chance(0.25):
            return self.leaf()
        one, two = lambda: self.number(depth - 1), lambda: self.leaf()
        # what NumPy computes in half precision of truth values
        real = lambda: f"1.0 * {one()}"
        options: list[Callable[[], str]] = [
            lambda: f"{one()} * {two()}",
            lambda: f"({one()} {d.choice('+-')} {two()})",
            lambda: f"{self.constant()} * ({one()} - {two()})",
            lambda: f"{d.choice(('np.sin', 'math.cos', 'np.tanh', 'math.atan', 'np.arctan'))}({real()})",
            lambda: f"math.exp(-({one()}) ** 2)",
            lambda: f"np.sqrt(1.0 + ({one()}) ** 2)",
            lambda: f"np.log(2.0 + np.tanh({real()}))",
            lambda: f"{one()} / (1.5 + {two()} ** 2)",
            lambda: f"({one()} if {self.condition(0)} else {two()})",
            self.of_truth,
            lambda: f"{d.choice(('max', 'min', 'np.maximum', 'np.minimum'))}({one()}, {two()})",
            lambda: f"abs({one()} - 0.31)",
            lambda: f"({one()}) ** {d.choice(('2', '3', '2.0'))}",
            lambda: f"float({self.integer()}) * {two()}",
            lambda: f"({one()} + {self.integer()})",
            lambda: f"np.{d.choice(('hypot', 'arctan2', 'logaddexp'))}({real()}, {two()})",
            self.reduction, self.reduction, self.reduction,
        ]  # fmt: skip
        if self.helpers:
            options += [self.call] * 3
        if self.world.complexes() or self.chance(0.02):
            options.append(self.of_complex)
        return d.choice(options)()

    def leaf(self) -> str:
        options: list[Callable[[], str]] = [self.constant]
        if self.world.floats():
            options += [lambda: self._choice(self.world.floats())] * 4
        if self.world.arrays():
            options += [self.element] * 3
        if self.world.integers():
            options.append(lambda: f"{self.constant()} * {self._choice(self.world.integers())}")
        if self.world.arrays("iu", 1):
            options.append(lambda: f"{self.constant()} * {self.integer_element()}")
        return self.draw.choice(options)()

    def integer_element(self) -> str:
        name = self._choice(self.world.arrays("iu", 1))
        return f"{name}[{self.index(self.world.values[name].shape[0])}]"

    def element(self) -> str:
        name = self._choice(self.world.arrays())
        shape = self.world.values[name].shape
        if not shape:
            return f"{name}[()]"
        if len(shape) > 1 and self.chance(0.1):
            return name + "".join(f"[{self.index(n)}]" for n in shape)
        if len(shape) == 2 and self.chance(0.1):
            return f"{name}.T[{self.index(shape[1])}, {self.index(shape[0])}]"
        return f"{name}[{', '.join(self.index(n) for n in shape)}]"

    def index(self, extent: int) -> str:
        """An integer that is an index of an axis of this length now."""
        if not extent:
            raise Missing
        d = self.draw
        options: list[Callable[[], str]] = [lambda: str(d.randrange(-extent, extent)), lambda: str(d.randrange(extent))]
        values = self.world.values
        fitting = [n for n in self.world.integers() if -extent <= values[n] < extent]
        before = [n for n in self.world.integers() if 0 <= values[n] - 1 < extent]
        if fitting:
            options += [lambda: d.choice(fitting)] * 4
            options.append(lambda: f"({d.choice(fitting)} + 1) % {extent}")
        if before:
            options.append(lambda: f"{d.choice(before)} - 1")
        if self.chance(0.2):
            lists = [n for n in self.world.arrays("iu", 1) if values[n].size and values[n].max() < extent]
            if lists:
                options += [lambda: self._element_of(d.choice(lists))] * 3
        return d.choice(options)()

    def _element_of(self, name: str) -> str:
        return f"{name}[{self.index(self.world.values[name].shape[0])}]"

    def integer(self) -> str:
        d = self.draw
        options: list[Callable[[], str]] = [lambda: str(d.randrange(4))]
        if self.world.integers():
            options += [lambda: self._choice(self.world.integers())] * 3
            options.append(lambda: f"({self._choice(self.world.integers())} + {d.randrange(1, 4)}) % 3")
        if self.world.arrays("iu", 1):
            options.append(self.integer_element)
        if self.world.arrays():
            options.append(lambda: f"{self._choice(self.world.arrays())}.shape[0]")
            options.append(lambda: f"len({self._choice(self.world.arrays())})")
        return d.choice(options)()

    def trips(self) -> str:
        d = self.draw
        small = [n for n in self.world.integers() if 0 <= self.world.values[n] <= 4]
        options: list[Callable[[], str]] = [lambda: d.choice(("2", "3", "3", "4", "1", "0"))] * 3
        if small:
            options += [lambda: d.choice(small)] * 4
        elif self.chance(0.3):
            made = self.ask("n")
            if made is not None:
                return made
        return d.choice(options)()

    def reduction(self) -> str:
        d = self.draw
        return d.choice((
            lambda: f"np.sum({self.any_array(1)})", lambda: f"{self.view()}.sum()",
            lambda: f"np.mean({self.any_array(1)})",
            lambda: self.fill("np.dot(<v>, <~v>)"), lambda: self.fill("<v> @ <~v>"),
            lambda: f"np.max({self.any_array(1)})", lambda: f"{self.view()}.min()", lambda: f"{self.view()}.mean()",
            lambda: f"np.linalg.norm({self.view()})", lambda: f"np.sum({self.any_array(1)} ** 2)",
            lambda: self.fill("np.trace(<A>)"), lambda: self.fill("np.linalg.det(<M>)"),
            lambda: self.fill("np.sum(<v>[<m>])"), lambda: self.fill("(<v> * <~v>).sum()"),
            lambda: self.fill("<v>[<I>].sum()"), lambda: self.fill("np.vdot(<v>, <~v>)"),
        ))()  # fmt: skip

    def of_truth(self) -> str:
        """What `and` and `or` give of numbers, which is one of them."""
        return self.fill(self.draw.choice((
            "(<q> and <x> or <f>)", "(<q> or <x>) * <f>", "(<q> and <f>) * <x>", "(<x> or <f>)", "(<f> and <x>)",
            "(<n> and <f> or <x>)", "(<f> > 0.1237 and <x> > 0.0719 or <f>)", "((<q> or <n>) + <f>)",
            "(max(0.0, <x>) or <f>)", "(not <q> or <x> and <f>) * <x>",
        )))  # fmt: skip

    def of_complex(self) -> str:
        return self.fill(self.draw.choice((
            "abs(<f> * <z>)", "(<z> * <f>).real", "(<z> ** 2 * <x>).imag", "abs(<z> + <f>)", "(<z> * <z>).real * <x>",
            "abs(<f> * complex(<z>.real, <z>.imag))", "np.abs(complex(<x>, <x>) * <z>)", "np.sum(np.abs(<v> * <z>))",
            "(np.exp(1j * <f>) * <z>).real", "abs(<z>) * <x>", "np.sum((<Z> * <f>).real)", "np.sum(np.abs(<Z> + <f>))",
            "(<z> * complex(<x>, <x>).conjugate()).imag", "np.real(<z> * <f>)", "abs(<Z>[<k>] * <f>)",
        )))  # fmt: skip

    # ------------------------------------------------------------------------------------------ conditions

    def condition(self, depth: int = 1) -> str:
        d = self.draw
        options: list[Callable[[], str]] = [
            lambda: f"{self.number(0)} {d.choice('<>')} {d.choice(('0.1237', '-0.2718'))}"
        ]
        options *= 2
        if self.world.integers():
            options += [
                lambda: (
                    f"{self._choice(self.world.integers())} {d.choice(('<', '>', '==', '!=', '>='))} {d.randrange(3)}"
                ),
                lambda: f"{self._choice(self.world.integers())} % 2 == {d.randrange(2)}",
            ]
        if depth:
            options += [
                lambda: f"{self.condition(0)} {d.choice(('and', 'or'))} {self.condition(0)}",
                lambda: f"not {self.condition(0)}",
                lambda: f"-0.5 < {self.number(0)} < {d.choice(('0.9', '0.4142'))}",
            ]
            if self.helpers:
                options += [lambda: f"{self.call()} {d.choice('<>')} {d.choice(('0.1237', '0.512'))}"] * 2
        flags = [n for n, v in self.world.named() if isinstance(v, bool)]
        if flags:
            options.append(lambda: d.choice(flags))
        return d.choice(options)()

    # ------------------------------------------------------------------------------------------ arrays

    def vector(self) -> str:
        return self._variable("v", self.world.arrays("f", 1))

    def matrix(self) -> str:
        return self._variable("A", self.world.arrays("f", 2))

    def regular(self) -> str:
        fitting = [
            n
            for n in self.world.arrays("f", 2)
            if self.world.values[n].shape[0] == self.world.values[n].shape[1] and _is_regular(self.world.values[n])
        ]
        return self._variable("M", fitting)

    def solid(self) -> str:
        return self._variable("T", self.world.arrays("f", 3))

    def named_array(self) -> str:
        return self._variable(self.draw.choice("vvAA"), self.world.arrays())

    def view(self, shape: tuple[int, ...] | None = None) -> str:
        """A view of an array that is there, by subscripts."""
        names = self.world.arrays()
        if not names:
            return self.named_array()
        for _ in range(5):
            name = self._choice(names)
            value = self.world.values[name]
            text = name + self.subscripts(value.shape)
            if text == name and self.chance(0.5):
                continue
            if shape is None or np.shape(self.world.evaluate(text)) == shape:
                return text
        if shape is None:
            return self._choice(names)
        raise Missing

    def subscripts(self, shape: tuple[int, ...]) -> str:
        """Slices and integers, by which something with axes is left."""
        if not shape or self.chance(0.3):
            return ""
        d = self.draw
        if len(shape) == 2 and self.chance(0.15):
            return ".T"
        parts = [self.span(n) for n in shape]
        if len(shape) > 1 and self.chance(0.5):
            at = d.randrange(len(shape))
            parts[at] = self.index(shape[at])
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        if len(parts) == 1 and self.chance(0.05):
            parts.append("...")
        return f"[{', '.join(parts)}]"

    def span(self, extent: int) -> str:
        d = self.draw
        options = [":"] * 3 + ["::-1", "1:", ":-1", "::2", "1:-1", ":2", "-2:", "0:1", "::-2"]
        counters = [n for n in self.world.integers() if 0 <= self.world.values[n] < extent]
        if counters:
            name = d.choice(counters)
            options += [f"{name}:", f":{name}", f"{name}:{name} + 1", f":{name} + 1"]
        return d.choice(options)

    def any_array(self, depth: int = 2) -> str:
        names = self.world.arrays()
        if not names:
            return self.named_array()
        return self.array(self.world.values[self._choice(names)].shape, depth)

    def vector_expression(self) -> str:
        name = self.vector()
        return self.array(self.world.values[name].shape, 2)

    def array(self, shape: tuple[int, ...], depth: int = 2) -> str:
        """An expression of this shape."""
        d = self.draw
        if depth <= 0 or self.chance(0.2):
            try:
                return self.view(shape)
            except Missing:
                return self.filled(shape)
        one = lambda: self.array(shape, depth - 1)
        two = lambda: self.operand(shape, depth - 1)
        options: list[Callable[[], str]] = [
            lambda: f"{d.choice(('np.sin', 'np.tanh', 'np.cos', 'np.arctan', 'np.square'))}({one()})",
            lambda: f"({one()} {d.choice('+-')} {two()})",
            lambda: f"({two()} {d.choice('+-')} {one()})",
            lambda: f"{one()} * {two()}",
            lambda: f"{self.number(1)} * {one()}",
            lambda: f"{one()} / (1.6 + {two()} ** 2)",
            lambda: f"np.where({one()} > {self.draw.choice(('0.1237', '-0.2718'))}, {one()}, {two()})",
            lambda: f"{d.choice(('np.maximum', 'np.minimum'))}({one()}, {two()})",
            lambda: f"{self._one_argument(shape)}.copy()",
            lambda: f"np.abs({one()} - 0.317)",
            lambda: f"np.exp(-{one()} ** 2)",
            lambda: f"-{one()}",
        ]
        if len(shape) == 1:
            options += [
                lambda: f"np.cumsum({one()})",
                lambda: f"{one()}[::-1]".replace(")[::-1]", ")[::-1]"),
                lambda: self._product(shape),
                lambda: self._product(shape),
                lambda: self._gathered(shape),
                lambda: f"np.sort({one()})",
            ]
        if len(shape) == 2:
            options += [lambda: self._product(shape), lambda: self._outer(shape), lambda: self._outer(shape)]
        return d.choice(options)()

    def _one_argument(self, shape: tuple[int, ...]) -> str:
        return self.view(shape)

    def _product(self, shape: tuple[int, ...]) -> str:
        left = [n for n in self.world.arrays("f", 2) if self.world.values[n].shape[0] == shape[0]]
        name = self._variable("M", left)
        inner = self.world.values[name].shape[1:] if name in self.world.values else shape[:1]
        return f"({name} @ {self.array((*inner, *shape[1:]), 1)})"

    def _outer(self, shape: tuple[int, ...]) -> str:
        one, two = self.array(shape[:1], 0), self.array(shape[1:], 0)
        if self.chance(0.4):
            return f"np.outer({one}, {two})"
        return f"({one}[:, None] * {two})" if one.isidentifier() else f"np.outer({one}, {two})"

    def _gathered(self, shape: tuple[int, ...]) -> str:
        lists = [n for n in self.world.arrays("iu", 1) if self.world.values[n].shape == shape]
        text = self.fill(f"<v>[{self._variable('I', lists)}]")
        if np.shape(self.world.evaluate(text)) != shape:
            raise Missing
        return text

    def filled(self, shape: tuple[int, ...]) -> str:
        shown = str(shape[0]) if len(shape) == 1 else str(shape)
        return f"np.{self.draw.choice(('ones', 'zeros'))}({shown})"

    def operand(self, shape: tuple[int, ...], depth: int) -> str:
        """What broadcasts to this shape."""
        if self.chance(0.25):
            return self.number(1)
        if len(shape) == 2 and self.chance(0.25):
            one = self.array(shape[1:], 0)
            return one
        return self.array(shape, depth)

    def mask(self) -> str:
        return self._variable("m", self.world.arrays("b", 1))

    def indices(self) -> str:
        fitting = [n for n in self.world.arrays("iu", 1) if n.startswith(("idx", "order"))]
        return self._variable("I", fitting)

    def small_integers(self) -> str:
        fitting = [n for n in self.world.arrays("iu", 1) if not n.startswith(("idx", "order"))]
        return self._variable("J", fitting)

    def complex_number(self) -> str:
        return self._variable("z", self.world.complexes())

    def complex_array(self) -> str:
        return self._variable("Z", self.world.arrays("c", 1))

    def any_index(self) -> str:
        return self.index(
            max([self.world.values[n].shape[0] for n in self.world.arrays()[-1:] if self.world.values[n].ndim] or [2])
        )

    def counter(self) -> str:
        taken = set(self.world.values)
        return next((n for n in "ijlmr" if n not in taken), None) or self.fresh("i")

    def call(self) -> str:
        """A call of a function that gives a number, perhaps with effects."""
        if not self.helpers:
            raise Missing
        helper = self.draw.choice(self.helpers)
        return f"{helper.name}({', '.join(self._like(a) for a in helper.arguments)})"

    def _like(self, wanted: Any) -> str:
        """Something of the kind of a value."""
        if isinstance(wanted, bool):
            raise Missing
        if isinstance(wanted, int | np.integer):
            return self.integer()
        if isinstance(wanted, float | np.floating):
            return self.number(0)
        if isinstance(wanted, np.ndarray):
            names = [
                n
                for n in self.world.arrays(wanted.dtype.kind, wanted.ndim)
                if self.world.values[n].dtype == wanted.dtype
            ]
            name = self._choice(names)
            if wanted.ndim == 1 and self.chance(0.15):
                return f"{name}[{self.draw.choice((':', '::-1', '1:'))}]"
            return name
        raise Missing

    def boolean(self) -> str:
        return self._variable("q", [n for n, v in self.world.named() if isinstance(v, bool)])

    def pair(self) -> str:
        return self._variable("t", [n for n, v in self.world.named() if isinstance(v, tuple) and len(v) == 2])

    _expressions: dict[str, Callable[[Holes], str]] = {
        "x": lambda h: h.number(2),
        "y": lambda h: h.number(1),
        "c": constant,
        "f": variable,
        "s": assignable,
        "k": any_index,
        "n": trips,
        "v": vector,
        "A": matrix,
        "M": regular,
        "T": solid,
        "a": named_array,
        "V": vector_expression,
        "E": any_array,
        "p": view,
        "m": mask,
        "I": indices,
        "J": small_integers,
        "z": complex_number,
        "Z": complex_array,
        "q": condition,
        "h": call,
        "i": counter,
        "b": boolean,
        "o": integer,
        "t": pair,
    }


def _is_regular(value: Any) -> bool:
    return bool(value.size) and bool(np.linalg.cond(value) < 50.0)


__all__ = ["Holes", "Missing", "Unfit"]
