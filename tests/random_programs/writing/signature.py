"""The arguments of a program: each is drawn when a line first wants one of its kind.

    signature = Signature(random.Random(3))
    signature.add("v")         "u", a vector:  arguments() returns np.array([0.31, -0.7, 1.2]), in some layout and type

Two sets of arguments come of one signature: the second has other lengths, for what was made for the first.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np

NAMES = {
    "f": ("x", "y", "w", "alpha"),
    "v": ("u", "v", "b", "p"),
    "A": ("A", "B", "X"),
    "M": ("M", "K"),
    "T": ("T", "U"),
    "m": ("mask", "keep"),
    "I": ("idx", "order"),
    "J": ("counts", "c8", "levels"),
    "z": ("z", "omega"),
    "Z": ("Z", "field"),
    "n": ("n", "steps", "k"),
    "t": ("pair", "options"),
    "q": ("flag", "is_open"),
}
MOST = 7


@dataclass
class Parameter:
    name: str
    kind: str
    seed: int
    layout: str = ""
    dtype: str = ""
    same_as: str = ""
    text: str = ""
    is_held: bool = False

    @property
    def carries(self) -> bool:
        """Whether a derivative flows into it."""
        return not self.is_held and (self.kind in "fvAMTt" or bool(self.text))


class Signature:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.parameters: list[Parameter] = []
        edge = draw.random()
        self.extent = 1 if edge < 0.05 else 0 if edge < 0.06 else draw.choice((3, 3, 4, 5))
        self.other = draw.choice((2, 3, 4))
        # single precision is a property of a program, or of one of its arguments
        self.is_single = draw.random() < 0.07
        self.has_layouts = draw.random() < 0.45

    def add(self, kind: str) -> str | None:
        """The name of a new parameter; None if there are enough."""
        if len(self.parameters) >= MOST or kind not in NAMES:
            return None
        taken = {p.name for p in self.parameters}
        free = [n for n in NAMES[kind] if n not in taken]
        if not free:
            return None
        made = Parameter(free[0], kind, self.draw.randrange(1000))
        if kind in "vAMTZ":
            made.layout = self._layout(kind)
            single = self.is_single or self.draw.random() < 0.015
            made.dtype = "float32" if single and kind != "Z" else ""
            alike = [p.name for p in self.parameters if p.kind == kind]
            if alike and self.draw.random() < 0.04:
                made.same_as = alike[0]
        if kind == "J":
            made.dtype = self.draw.choice(("int64", "int64", "int64", "int8", "uint8", "int32", "int16", "uint32"))
        self.parameters.append(made)
        return made.name

    def give(self, stem: str, text: str, is_held: bool) -> str | None:
        """A parameter of this value; its name."""
        if len(self.parameters) >= MOST:
            return None
        taken = {p.name for p in self.parameters}
        name = next(n for n in (stem, *(f"{stem}_{k}" for k in range(2, 20))) if n not in taken)
        self.parameters.append(Parameter(name, "given", 0, text=text, is_held=is_held))
        return name

    def _layout(self, kind: str) -> str:
        if not self.has_layouts:
            return ""
        kinds = ("", "strided", "reversed") if kind in "vZ" else ("", "fortran", "transposed", "strided", "reversed")
        return self.draw.choice(kinds)

    def keep(self, text: str) -> None:
        """Drops what a program does not speak of."""
        self.parameters = [p for p in self.parameters if re.search(rf"\b{p.name}\b", text)] or self.parameters[:1]
        names = self.names()
        for p in self.parameters:
            p.same_as = p.same_as if p.same_as in names else ""

    def names(self) -> list[str]:
        return [p.name for p in self.parameters]

    def text(self, name: str = "arguments", longer: int = 0) -> str:
        values = [self._value(p, longer) for p in self.parameters]
        lines, known = [], {p.same_as for p in self.parameters}
        for p, value in zip(self.parameters, values, strict=True):
            if p.name in known:
                lines.append(f"    {p.name} = {value}\n")
        shown = [p.name if p.name in known else p.same_as or v for p, v in zip(self.parameters, values, strict=True)]
        result = ", ".join(shown) + "," * (len(shown) == 1)
        return f"def {name}():\n{''.join(lines)}    return {result or '()'}\n"

    def _value(self, p: Parameter, longer: int) -> str:
        if p.text:
            return p.text
        rng = random.Random(p.seed + longer)
        extent, other = self.extent + longer, self.other
        if p.kind == "f":
            if self.is_single and p.seed % 2:
                return f"np.float32({rng.uniform(-0.9, 1.5):.2f})"
            return f"{rng.uniform(-0.9, 1.5):.2f}"
        if p.kind == "n":
            return str(rng.choice((1, 2, 2, 3, 3, 4)))
        if p.kind == "q":
            return rng.choice(("True", "False"))
        if p.kind == "z":
            return f"{rng.uniform(-1, 1):.2f} {rng.choice('+-')} {rng.uniform(0.1, 1):.2f}j"
        if p.kind == "t":
            return f"({rng.uniform(-1, 1):.2f}, {rng.uniform(-1, 1):.2f})"
        if p.kind == "m":
            return f"np.array({[rng.random() < 0.6 for _ in range(extent)]}, dtype=np.bool_)"
        if p.kind == "I":
            values = [rng.randrange(max(min(3, extent), 1)) for _ in range(extent)]
            return f"np.array({values}, dtype=np.int64)"
        if p.kind == "J":
            large = rng.random() < 0.3 and p.dtype in ("int8", "uint8")
            values = [rng.randrange(60, 120) if large else rng.randrange(4) for _ in range(extent)]
            return f"np.array({values}, dtype=np.{p.dtype})"
        shape = {"v": (extent,), "Z": (extent,), "A": (extent, other), "M": (extent, extent), "T": (extent, other, 2)}
        return _array(rng, shape[p.kind], p)


def _array(rng: random.Random, shape: tuple[int, ...], p: Parameter) -> str:
    """An array of numbers with two digits, none special, in its layout."""
    stored = list(shape)
    if p.layout == "transposed":
        stored.reverse()
    if p.layout == "strided":
        stored[-1] = max(2 * stored[-1] - rng.randrange(2), 0)
    numbers = np.array([rng.uniform(-1.2, 1.4) for _ in range(int(np.prod(stored)))]).round(2)
    # a tie is a kink
    numbers = numbers + 0.001 * np.arange(numbers.size)
    values = numbers.reshape(stored).round(3)
    if p.kind == "M":
        values = values + 3.0 * np.eye(*stored) if p.layout != "strided" else values + np.repeat(
            3.0 * np.eye(shape[0]), 2, axis=1)[:, : stored[1]]  # fmt: skip
    shown = _nested(values, p.kind == "Z", rng)
    dtype = f", dtype=np.{p.dtype}" if p.dtype else ""
    if not values.size:
        return f"np.empty({tuple(shape)}{dtype or (', dtype=np.complex128' if p.kind == 'Z' else '')})"
    text = f"np.array({shown}{dtype})"
    wrapped = {
        "fortran": f"np.asfortranarray({text})",
        "transposed": f"{text}.T",
        "strided": f"{text}[{', '.join([':'] * (len(shape) - 1) + ['::2'])}]",
        "reversed": f"{text}[::-1]",
    }
    return wrapped.get(p.layout, text)


def _nested(values: np.ndarray, is_complex: bool, rng: random.Random) -> str:
    if values.ndim == 0:
        return f"{float(values):.4g}" + (f" {rng.choice('+-')} {rng.uniform(0.1, 1):.2f}j" if is_complex else "")
    return f"[{', '.join(_nested(part, is_complex, rng) for part in values)}]"
