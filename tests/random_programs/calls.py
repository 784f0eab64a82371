"""Random programs of functions that call each other, of which some stay functions.

Functions take and give numbers, and tuples of them: they have branches, loops, constants and early returns, raise
what is not reached, and call earlier ones from several places. The main function calls them of elements of its
argument, in a loop and by themselves.

    text_of(7)      the text of a program: functions f0 to f3, and `main(x)`
"""

from __future__ import annotations

import random

UNARY = ("math.sin({})", "math.exp(-{0} * {0})", "math.sqrt(1.0 + {0} * {0})", "math.tanh({})", "abs({} + 0.3)", "-{}")
BINARY = ("{} * {}", "{} + {}", "{} - 0.5 * {}", "{} / (2.0 + math.cos({}))", "max({}, {})", "math.atan2({}, 2.5 + {})")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.functions: list[tuple[str, bool, bool]] = []  # name, whether it takes a count, whether it gives a pair
        self.calls = 0

    def number(self, names: list[str], depth: int = 0) -> str:
        """An expression of these names."""
        kind = self.draw.random()
        if depth > 2 or kind < 0.25:
            return self.draw.choice(names)
        if kind < 0.3:
            return f"{self.draw.uniform(-1.0, 1.0):.3f}"
        if kind < 0.5 and self.functions and self.calls < 12:
            return self.call(names, depth)
        if kind < 0.75:
            inner = self.number(names, depth + 1)
            return f"({self.draw.choice(UNARY).format(inner)})"
        return "(" + self.draw.choice(BINARY).format(self.number(names, depth + 1), self.number(names, depth + 1)) + ")"

    def call(self, names: list[str], depth: int) -> str:
        self.calls += 1
        name, takes_count, gives_pair = self.draw.choice(self.functions[-3:])
        count = f", {self.draw.randint(1, 3)}" if takes_count else ""
        text = f"{name}({self.number(names, depth + 1)}, {self.number(names, depth + 1)}{count})"
        return f"{text}[{self.draw.randint(0, 1)}]" if gives_pair else text

    def body(self, names: list[str], indent: str) -> list[str]:
        """Some statements; `names` gets what they assign on every way."""
        lines: list[str] = []
        for _ in range(self.draw.randint(1, 3)):
            kind, new = self.draw.random(), self.draw.choice("uvw")
            if kind < 0.5:
                lines.append(f"{indent}{new} = {self.number(names)}")
                names += [new] if new not in names else []
            elif kind < 0.7:
                old = self.draw.choice(names)
                lines += [
                    f"{indent}if {self.number(names, 2)} > {self.draw.uniform(-0.5, 0.5):.2f}:",
                    f"{indent}    {old} = {self.number(names)}",
                ]
                if self.draw.random() < 0.5:
                    lines += [f"{indent}else:", f"{indent}    {old} = {self.number(names)}"]
            elif kind < 0.85:
                old = self.draw.choice(names)
                lines += [
                    f"{indent}for k in range({self.draw.randint(1, 3)}):",
                    f"{indent}    {old} = 0.5 * {old} + {self.number(names)}",
                ]
            else:
                old = self.draw.choice(names)
                lines += [
                    f"{indent}if {old} > 1e6:",
                    f'{indent}    raise ValueError("too large")',
                ]
        return lines

    def function(self, name: str) -> list[str]:
        takes_count, gives_pair = self.draw.random() < 0.3, self.draw.random() < 0.3
        names = ["x", "y"]
        lines = [f"def {name}(x, y{', n' if takes_count else ''}):"]
        self.calls = 8
        if takes_count:
            lines += ["    t = x", "    for _ in range(n):", f"        t = 0.7 * t + {self.number(['x', 'y', 't'])}"]
            names.append("t")
        if not gives_pair and self.draw.random() < 0.3:
            lines += [f"    if x < {self.draw.uniform(-0.5, 0.5):.2f}:", f"        return {self.number(names)} + x * y"]
        lines += self.body(names, "    ")
        first = f"{self.number(names)} + 0.1 * x * y"
        lines.append(f"    return {first}, {self.number(names)} - y" if gives_pair else f"    return {first}")
        self.functions.append((name, takes_count, gives_pair))
        return lines

    def program(self) -> str:
        lines = ["import math", ""]
        for k in range(self.draw.randint(2, 5)):
            lines += [*self.function(f"f{k}"), "", ""]
        self.calls = 0
        lines += ["def main(x):", "    total = 0.0"]
        elements = ["x[0]", "x[1]", "x[2]"]
        for _ in range(2):
            lines.append(f"    total += {self.call(elements, 1)}")
        lines += ["    for i in range(1, x.size):", f"        total += {self.call(['x[i]', 'x[i - 1]'], 1)}"]
        lines.append(f"    return total + {self.call(elements, 1)}")
        return "\n".join(lines) + "\n"


def text_of(seed: int) -> str:
    """The text of the program of this number."""
    return Writer(seed).program()
