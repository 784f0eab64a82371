"""Random programs of array statements: slices of one vector beside each other, stores under overlap, sums in between.

Out: the text of a function `program(a, b, A, x)` that returns one number, for hypothesis to vary.

    a[1:] = 0.4 * np.sin(a[:-1] + b[1:])
    t = a[1:-1] * x
    s += np.sum(t * b[2:])
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

VIEWS = {
    "n": ("{}", "{}[::-1]", "{}[:]"),
    "n-1": ("{}[1:]", "{}[:-1]", "{}[::-1][1:]"),
    "n-2": ("{}[1:-1]", "{}[2:]", "{}[:-2]", "{}[1:][1:]"),
    "half": ("{}[::2]",),
}
ROWS = ("{}", "{}[:, ::-1]", "{}[::-1]")


@dataclass
class Writer:
    draw: random.Random
    lines: list[str] = field(default_factory=list)
    vectors: dict[str, list[str]] = field(default_factory=lambda: {k: [] for k in VIEWS})
    matrices: list[str] = field(default_factory=lambda: ["A"])
    scalars: list[str] = field(default_factory=lambda: ["x", "s"])

    def vector(self, kind: str) -> str:
        choices = [view.format(name) for name in "ab" for view in VIEWS[kind]] + 2 * self.vectors[kind]
        return self.draw.choice(choices)

    def term(self, kind: str) -> str:
        if kind == "matrix":
            own = [view.format(name) for name in self.matrices for view in ROWS]
            return self.draw.choice([*own, "a[np.newaxis, :3]", "A[:, :1]", "A[0]", *self.scalars])
        return self.draw.choice([self.vector(kind), self.vector(kind), self.draw.choice(self.scalars)])

    def whole(self, kind: str) -> str:
        return self.draw.choice(self.matrices) if kind == "matrix" else self.vector(kind)

    def expression(self, kind: str) -> str:
        form = self.draw.choice(
            [
                "0.5 * {} * {}",
                "{} - 0.3 * {}",
                "0.7 * np.sin({} + {})",
                "np.where({} > {}, 0.6 * {}, {})",
                "0.4 * {} / (2.0 + {} ** 2)",
            ]
        )
        terms = [self.whole(kind), *(self.term(kind) for _ in range(form.count("{}") - 1))]
        self.draw.shuffle(terms)
        return form.format(*terms) if form.startswith(("0", "{")) else form.format(self.whole(kind), *terms[1:])

    def statement(self, depth: int) -> None:
        kind = self.draw.choice(["n", "n-1", "n-2", "half", "matrix"])
        pad = "    " * depth
        what = self.draw.randrange(6)
        if what == 0:
            name = f"t{len(self.lines)}"
            self.lines.append(f"{pad}{name} = {self.expression(kind)}")
            if depth == 1:
                (self.matrices if kind == "matrix" else self.vectors[kind]).append(name)
        elif what == 1:
            self.lines.append(f"{pad}s += 0.1 * np.sum({self.expression(kind)})")
        elif what == 2 and kind == "matrix":
            axis = self.draw.randrange(2)
            shown = f"np.sum({self.expression(kind)}, axis={axis})"
            self.lines.append(f"{pad}{'a[:3]' if axis == 0 else 'b[:2]'} += 0.1 * {shown}")
        elif what == 3 and depth == 1:
            self.lines.append(f"{pad}for _ in range(2):")
            for _ in range(self.draw.randrange(1, 3)):
                self.statement(depth + 1)
        else:
            target = self.draw.choice(ROWS).format("A") if kind == "matrix" else self.store(kind)
            operation = self.draw.choice(["=", "=", "+=", "*=", "-="])
            self.lines.append(f"{pad}{target} {operation} {self.expression(kind)}")

    def store(self, kind: str) -> str:
        view = self.draw.choice(VIEWS[kind]).format(self.draw.choice("ab"))
        return view if "[" in view else f"{view}[:]"


def write(draw: random.Random, statements: int = 6) -> str:
    writer = Writer(draw)
    for _ in range(draw.randrange(2, statements + 1)):
        writer.statement(1)
    made = [f"np.sum({name})" for names in (*writer.vectors.values(), writer.matrices) for name in names]
    return "\n".join(
        [
            "import numpy as np",
            "def program(a, b, A, x):",
            "    s = 0.0",
            *writer.lines,
            f"    return s + np.sum(a * a) + 0.5 * np.sum(b) + {' + '.join(made)}",
            "",
        ]
    )
