"""Random source programs: a hypothesis strategy, and the writer of statements beneath it.

Out: a `Program`, the text of a module with a function `program(x, y, u, v, A, k, n, idx)` that returns one number, and
arguments. Loops of every kind nest, arrays are written in place through views, references are swapped, control leaves
early.

    def program(x, y, u, v, A, k, n, idx):
        for i in range(4, 0, -1):
            u[i - 1] += 0.4 * np.sin(u[i])
        return x + 0.2 * np.sum(u)
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies

from tests.random_programs.expressions import Expressions, Scope, Shape

HEADER = "import math\n\nimport numpy as np\nfrom numba import njit\n\n\n"
SHAPES: tuple[Shape, ...] = ((5,), (3,), (4,), (4, 3))
PARAMETERS = Scope(
    floats=["x", "y"], ints=["k", "n"], arrays={"u": (5,), "v": (5,), "A": (4, 3)}, indices={"idx": 4}
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    text: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Fresh ones: generic values, none of them special."""
        wave = np.sin(1.0 + 0.9 * np.arange(22.0))
        return (
            0.62,
            -0.47,
            wave[:5].copy(),
            wave[5:10].copy(),
            wave[10:].reshape(4, 3).copy(),
            2,
            4,
            np.array([2, 0, 1, 2]),
        )

    def checkpointed(self) -> Program:
        """The program with all calls of its helpers checkpointed."""
        head, _, rest = self.text.partition(HEADER)
        return Program(
            head
            + HEADER.replace("from numba", "from adjit import checkpoint\nfrom numba")
            + re.sub(r"(?m)^((?:@njit\n)?def helper)", r"@checkpoint\n\1", rest)
        )

    def __repr__(self) -> str:
        return f"program:\n{self.text}"


def programs(size: int = 6) -> strategies.SearchStrategy[Program]:
    """Programs whose blocks have up to `size` statements."""
    return strategies.randoms(use_true_random=False).map(lambda draw: write(draw, size))


def write(draw: random.Random, size: int = 6) -> Program:
    helpers: list[tuple[str, str]] = []
    texts: list[str] = []
    for number in range(draw.randrange(3)):
        takes = draw.choice(("number", "vector", "matrix"))
        name = f"helper_{number}"
        decorator = draw.choice(("", "@njit\n"))
        texts.append(decorator + _helper(draw, name, takes, helpers))
        helpers.append((name, takes))
    writer = Writer(draw, PARAMETERS, helpers, size)
    texts.append("def program(x, y, u, v, A, k, n, idx):\n" + writer.function(2))
    return Program(HEADER + "\n\n".join(texts))


def _helper(draw: random.Random, name: str, takes: str, helpers: list[tuple[str, str]]) -> str:
    if takes == "number":
        scope, parameters = Scope(floats=["a"], ints=["q"]), "a, q"
    elif takes == "vector":
        scope, parameters = Scope(floats=["a"], ints=["q"], arrays={"w": (3,)}), "w, a, q=1"
    else:
        scope, parameters = Scope(floats=["a"], arrays={"M": (4, 3)}), "M, a"
    writer = Writer(draw, scope, [h for h in helpers if h[1] == "number"], 3)
    return f"def {name}({parameters}):\n" + writer.function(1)


class Writer(Expressions):
    """Writes a function body. `loops` says in what kind of loop a statement stands, outermost first."""

    def __init__(self, draw: random.Random, scope: Scope, helpers: list[tuple[str, str]], size: int):
        super().__init__(draw)
        self.scope = scope.copy()
        self.scope.helpers += helpers
        self.size = size
        self.made = 0
        self.loops: list[str] = []

    def fresh(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def function(self, depth: int) -> str:
        lines = self.block(depth, self.size, own_scope=False)
        return "\n".join(f"    {line}" for line in [*lines, f"return {self.everything()}"]) + "\n"

    def everything(self) -> str:
        """A number that much of what is known goes into."""
        terms = [*self.scope.floats[-4:]]
        terms += [f"np.sum({name} * {0.3 + 0.1 * k:.1f})" for k, name in enumerate(list(self.scope.arrays)[:4])]
        return " + ".join(terms) if terms else self.number(1)

    def block(self, depth: int, size: int, own_scope: bool = True) -> list[str]:
        outer = self.scope
        if own_scope:
            self.scope = outer.copy()
        lines: list[str] = []
        for _ in range(self.draw.randrange(1, size + 1)):
            lines += self.draw.choice(self.kinds(depth))(depth)
        if own_scope:
            self.scope = outer
        return lines

    def kinds(self, depth: int) -> list[Callable[[int], list[str]]]:
        found: list[Callable[[int], list[str]]]
        found = [self.assign, self.assign, self.augment, self.new_number, self.new_number, self.integers, self.pair]
        if self.scope.arrays:
            found += [self.store, self.store, self.store, self.store_slice, self.store_slice, self.augment_slice]
            found += [
                self.new_array,
                self.new_array,
                self.new_view,
                self.new_view,
                self.swap,
                self.rebind,
                self.scatter,
                self.sweep,
            ]
        if any(takes != "number" for _, takes in self.scope.helpers):
            found += [self.call_helper] * 3
        if depth:
            found += (
                [self.for_range] * 5
                + [self.branch] * 4
                + [self.while_loop] * 2
                + [self.over_elements, self.early_return]
            )
        if self.loops:
            found += [self.leave] * 2
        return found

    # ------------------------------------------------------------------------------------------------------- numbers

    def assign(self, depth: int) -> list[str]:
        return [f"{self.draw.choice(self.scope.floats)} = {self.number()}"]

    def augment(self, depth: int) -> list[str]:
        name = self.draw.choice(self.scope.floats)
        if self.chance(40):
            return [f"{name} *= 1.0 - 0.2 * {self.number(1)}"]
        return [f"{name} {self.draw.choice('+-')}= 0.3 * {self.number()}"]

    def new_number(self, depth: int) -> list[str]:
        name = self.fresh("s")
        line = f"{name} = {self.number() if self.chance(85) else self.draw.choice(('0', '0.0', '1'))}"
        self.scope.floats.append(name)
        return [line]

    def integers(self, depth: int) -> list[str]:
        own = [n for n in self.scope.ints if n not in ("k", "n", "q")]
        if own and self.chance(50):
            return [f"{self.draw.choice(own)} = ({self.integer()} + {self.integer()}) % 4"]
        name = self.fresh("i")
        line = f"{name} = {self.integer()}" if self.chance(70) else f"{name} = int({self.number(1)} * 2.3 + 1.9) % 4"
        self.scope.ints.append(name)
        return [line]

    def pair(self, depth: int) -> list[str]:
        if len(self.scope.floats) > 1 and self.chance(60):
            one, two = self.draw.sample(self.scope.floats, 2)
            return [f"{one}, {two} = {two}, {self.number(1)}"]
        name = self.fresh("t")
        made = self.fresh("s")
        lines = [
            f"{name} = ({self.number(1)}, {self.number(1)}, {self.integer()})",
            f"{made} = {name}[0] * {name}[1] - {name}[2]",
        ]
        self.scope.floats.append(made)
        return lines

    # -------------------------------------------------------------------------------------------------------- arrays

    def store(self, depth: int) -> list[str]:
        place = self.element()
        kind = self.draw.randrange(4)
        if kind == 0:
            return [f"{place} += 0.3 * {self.number(1)}"]
        if kind == 1:
            return [f"{place} *= 0.8 + 0.2 * {self.number(1)}"]
        if kind == 2:
            return [f"{place}, {self.element()} = {self.number(1)}, {self.number(1)}"]
        return [f"{place} = {self.number()}"]

    def place(self) -> tuple[str, Shape]:
        """A view to store through."""
        shape = self.draw.choice(SHAPES)
        text = self.view(shape)
        while text.startswith("np."):
            shape = self.draw.choice(sorted(self.scope.arrays.values()))
            text = self.view(shape)
        return (text, shape) if text.endswith("]") else (f"{text}[:]", shape)

    def store_slice(self, depth: int) -> list[str]:
        if self.chance(15):
            name = self.draw.choice(sorted(self.scope.arrays))
            return [f"{name}[{self.bound(3)}:] = {self.number(1)}"]
        place, shape = self.place()
        value = self.array(shape) if self.chance(80) else self.operand(shape, 1)
        if isinstance(ast.parse(value, mode="eval").body, ast.Subscript | ast.Name | ast.Attribute):
            # NumPy 2.4 itself stores some overlapping views wrongly: A = A[::-1]; A[2] = A[-1:-4:-1, 2]
            value = f"{value}.copy()" if not value.replace("_", "").isalnum() or value in self.scope.arrays else value
        return [f"{place} = {value}"]

    def augment_slice(self, depth: int) -> list[str]:
        place, shape = self.place()
        if self.chance(30):
            place = self.draw.choice(sorted(self.scope.arrays))
            shape = self.scope.arrays[place]
        if self.chance(40):
            return [f"{place} *= {self.draw.choice(('0.8', f'1.0 - 0.2 * np.sin({self.operand(shape, 1)})'))}"]
        return [f"{place} {self.draw.choice('+-')}= 0.3 * {self.operand(shape, 1)}"]

    def scatter(self, depth: int) -> list[str]:
        d = self.draw
        if self.scope.indices and self.chance(40):
            place, index = self.any_vector(), d.choice(list(self.scope.indices))
            if place.startswith("np."):
                return self.store(depth)
            name = self.fresh("w")
            return [
                f"{name} = {place}",
                f"{name}[{index}] {d.choice(('', '+', '*'))}= {d.choice((self.number(1), self.view((4,))))}",
            ]
        name = d.choice(sorted(self.scope.arrays))
        value = self.number(1)
        return [f"{name}[{self.mask(self.scope.arrays[name])}] {d.choice(('', '+', '*'))}= {value}"]

    def new_array(self, depth: int) -> list[str]:
        shape = self.draw.choice(SHAPES)
        name = self.fresh("m" if len(shape) == 2 else "w")
        written = str(shape[0]) if len(shape) == 1 else str(shape)
        kind = self.draw.randrange(5)
        if kind == 0:
            lines = [f"{name} = np.{self.draw.choice(('zeros', 'ones'))}({written})"]
        elif kind == 1 and len(shape) == 1:
            counter = self.fresh("j")
            self.scope.counters[counter] = (0, shape[0] - 1)
            lines = [
                f"{name} = np.empty({written})",
                f"for {counter} in range({shape[0]}):",
                f"    {name}[{counter}] = {self.number(1)}",
            ]
            del self.scope.counters[counter]
        else:
            lines = [f"{name} = {self.array(shape)}"]
        self.scope.arrays[name] = shape
        return lines

    def new_view(self, depth: int) -> list[str]:
        shape = self.draw.choice((*SHAPES, (3, 4), (2,)))
        text = self.view(shape)
        if text.startswith("np."):
            return self.new_array(depth)
        name = self.fresh("m" if len(shape) == 2 else "w")
        if self.chance(15):
            text = f"{text} if {self.condition()} else {self.view(shape)}"
        self.scope.arrays[name] = shape
        return [f"{name} = {text}"]

    def _alike(self) -> list[tuple[str, str]]:
        arrays = self.scope.arrays
        return [(a, b) for a in arrays for b in arrays if a != b and arrays[a] == arrays[b]]

    def swap(self, depth: int) -> list[str]:
        pairs = self._alike()
        if not pairs:
            return self.store(depth)
        one, two = self.draw.choice(pairs)
        return [f"{one}, {two} = {two}, {one}"]

    def rebind(self, depth: int) -> list[str]:
        name = self.draw.choice(sorted(self.scope.arrays))
        shape = self.scope.arrays[name]
        return [f"{name} = {self.view(shape) if self.chance(50) else self.array(shape)}"]

    def sweep(self, depth: int) -> list[str]:
        """A loop of array statements over the rows of arrays that are used for nothing else."""
        d = self.draw
        name, other, counter, start = self.fresh("m"), self.fresh("m"), self.fresh("i"), self.fresh("p")
        self.scope.counters[counter] = (0, 2)
        number, matrix = self.number(1), self.operand((4, 3), 1)
        statements = [
            f"{name} += 0.3 * {matrix}",
            f"{name} *= 0.8 + 0.1 * {number}",
            f"{name}[:, {counter}:] += 0.4 * {name}[:, {counter} : {counter} + 1]",
            f"{name}[:, {counter}:] *= {self.view((5,))}[{start} : {start} + 3 - {counter}]",
            f"{name}[:, {counter}] = 0.7 * {name}[:, {counter}] - {other}[:, {counter}]",
            f"{other}[:, {counter}] = 0.5 * np.sum({name} * {name}, axis=1) + {number}",
            f"{other}[:, {counter}] += np.max({name}[{counter}]) * {name}[:, 1]",
            f"{name}[1:] += 0.2 * {name}[:-1]",
            f"{name}[{counter}] = 0.5 * {other}[0] + {number}",
        ]
        body = [d.choice(statements) for _ in range(d.randrange(1, 4))]
        del self.scope.counters[counter]
        made = self.fresh("s")
        lines = [
            f"{name} = {self.array((4, 3)) if self.chance(60) else 'np.ones((4, 3))'}",
            f"{other} = np.zeros((4, 3))",
            f"{start} = {d.choice('01')}",
            f"for {counter} in range(3):",
            *_indented([*body, f"{start} += {d.choice((counter, '1', '0'))}"]),
            f"{made} = np.sum({name} * {other} + 0.5 * {name}{d.choice(('', '[::-1]'))})",
        ]
        if self.chance(40):
            lines[-1] = f"{made} = np.sum(np.sin(np.sum({name} - {other}, axis=1)))"
        self.scope.floats.append(made)
        return lines

    def call_helper(self, depth: int) -> list[str]:
        name, takes = self.draw.choice([h for h in self.scope.helpers if h[1] != "number"])
        shape: Shape = (3,) if takes == "vector" else (4, 3)
        made = self.fresh("s")
        more = f", {self.integer()}" if takes == "vector" and self.chance(50) else ""
        text = f"{name}({self.view(shape)}, {self.number(1)}{more})"
        if self.chance(25):
            return [text]
        self.scope.floats.append(made)
        return [f"{made} = {text}"]

    # -------------------------------------------------------------------------------------------------- control flow

    def inside(
        self, kind: str, depth: int, counters: dict[str, tuple[int, int]], floats: list[str] | None = None
    ) -> list[str]:
        outer = self.scope
        self.scope = outer.copy()
        self.scope.counters.update(counters)
        self.scope.floats += floats or []
        self.loops.append(kind)
        lines = self.block(depth - 1, 4)
        self.loops.pop()
        self.scope = outer
        return _indented(lines)

    def for_range(self, depth: int) -> list[str]:
        name = self.fresh("i")
        kind = self.draw.randrange(6)
        extent = self.draw.choice((3, 4, 5))
        counters = {name: (0, extent - 1)}
        if kind == 0:
            text = f"range({extent})"
        elif kind == 1:
            text, counters[name] = f"range({extent - 1}, -1, -1)", (0, extent - 1)
        elif kind == 2:
            text, counters[name] = f"range({self.bound(3)})", (0, 3)
        elif kind == 3:
            text, counters[name] = f"range(1, {extent})", (1, extent - 1)
        elif kind == 4:
            text, counters[name] = f"range({self.bound(2)}, 4, {self.draw.choice((1, 2))})", (0, 3)
        else:
            text, counters[name] = f"range(4, {self.bound(3)}, {self.draw.choice((-1, -2))})", (1, 4)
        lines = [f"for {name} in {text}:", *self.inside("for", depth, counters)]
        if self.chance(8):
            lines += ["else:", *_indented(self.block(0, 2))]
        return lines

    def over_elements(self, depth: int) -> list[str]:
        if not self.scope.arrays:
            return self.for_range(depth)
        name, vector = self.fresh("e"), self.any_vector()
        kind = self.draw.randrange(3)
        if kind == 0:
            return [f"for {name} in {vector}:", *self.inside("for", depth, {}, [name])]
        counter = self.fresh("i")
        if kind == 1:
            head = f"for {counter}, {name} in enumerate({vector}):"
            return [head, *self.inside("for", depth, {counter: (0, 4)}, [name])]
        other = self.fresh("e")
        head = f"for {name}, {other} in zip({vector}, {self.any_vector()}):"
        return [head, *self.inside("for", depth, {}, [name, other])]

    def while_loop(self, depth: int) -> list[str]:
        name = self.fresh("c")
        more = f" and {self.condition(0)}" if self.chance(40) else ""
        head = [f"{name} = 0", f"while {name} < {self.draw.choice(('3', '2', 'k'))}{more}:"]
        if "k" not in self.scope.ints:
            head[1] = head[1].replace("< k", "< 3")
        if self.chance(30):
            # counted at the end, so that nothing may skip it
            return [*head, *self.inside("counted", depth, {name: (0, 2)}), f"    {name} += 1"]
        return [*head, f"    {name} += 1", *self.inside("while", depth, {name: (1, 3)})]

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *_indented(self.block(depth - 1, 3))]
        if self.chance(20):
            lines += [f"elif {self.condition()}:", *_indented(self.block(depth - 1, 3))]
        if self.chance(50):
            lines += ["else:", *_indented(self.block(depth - 1, 3))]
            if self.chance(30):
                name = self.fresh("s")
                at = lines.index("else:")
                lines = [*lines[:at], f"    {name} = {self.number(1)}", *lines[at:], f"    {name} = {self.number(1)}"]
                if not any(line.startswith("elif") for line in lines):
                    self.scope.floats.append(name)
        return lines

    def leave(self, depth: int) -> list[str]:
        kind = self.draw.choice(("break", "continue"))
        if kind == "continue" and self.loops[-1] == "counted":
            kind = "break"
        return [f"if {self.condition()}:", *_indented([*(self.block(0, 1) if self.chance(40) else []), kind])]

    def early_return(self, depth: int) -> list[str]:
        return [f"if {self.condition()}:", f"    return {self.number()}"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
