"""Random stencils, over buffers that change places and in sums that are made once: however it is made, the gradient is
that with no mechanism used.

Loops over whole arrays with neighbours on all sides are rare among random programs, and what is done to them depends on
every bound and offset: which elements contribute, what is around them, what a trip leaves for the next one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, FORCED
from tests.defining import define

COUNTERS, EXTENTS = "ijl", "nmp"
SIZES = {1: (1, 2, 3, 4, 5, 8), 2: (1, 2, 4, 5, 7), 3: (1, 4, 5)}
STEPS = 3


class Stencil:
    def __init__(self, seed: int):
        self.draw = draw = random.Random(seed)
        self.rank = rank = draw.choice([1, 1, 2, 2, 2, 3])
        some = [tuple(draw.randint(-2, 2) if draw.random() < 0.7 else 0 for _ in range(rank)) for _ in range(6)]
        self.offsets = list(dict.fromkeys(some[: draw.randint(2, 6)]))
        self.low = [max(0, -min(own)) + draw.choice([0, 0, 0, 1]) for own in zip(*self.offsets, strict=True)]
        self.high = [max(0, max(own)) + draw.choice([0, 0, 0, 1]) for own in zip(*self.offsets, strict=True)]
        self.order = list(range(rank))
        if draw.random() < 0.2:
            draw.shuffle(self.order)
        self.is_checkpointed = draw.random() < 0.25
        self.text = "\n".join(self.lines()) + "\n"

    def at(self, offset: Sequence[int]) -> str:
        return ", ".join(f"{name} + {o}" if o else name for name, o in zip(COUNTERS, offset, strict=False))

    def nest(self, statement: str) -> list[str]:
        found, indent = [], " " * 8
        for axis in self.order:
            start, stop = self.low[axis], f"{EXTENTS[axis]} - {self.high[axis]}"
            span = f"{stop} - 1, {start - 1}, -1" if self.draw.random() < 0.1 else f"{start}, {stop}"
            found.append(f"{indent}for {COUNTERS[axis]} in range({span}):")
            indent += "    "
        return [*found, indent + statement]

    def value(self) -> str:
        factors = ["", "", "2.0 * ", "-0.5 * ", "c * ", "d * "]
        value = " + ".join(f"{self.draw.choice(factors)}a[{self.at(o)}]" for o in self.offsets)
        here = self.at([0] * self.rank)
        wholes = ["{}", "{}", "c * ({})", "c * ({})", "({}) / d", f"q[{here}] * ({{}})"]
        value = self.draw.choice(wholes).format(value)
        if self.draw.random() < 0.5:
            value = f"a[{here}] + {value}"
        return f"{value} + 0.3 * b[{here}]" if self.draw.random() < 0.2 else value

    def lines(self) -> list[str]:
        draw, here = self.draw, self.at([0] * self.rank)
        other = draw.choice(["u.copy()", "0.5 * u", "np.zeros(u.shape)"])
        steps = "adjit.checkpoint(range(steps), 2)" if self.is_checkpointed else "range(steps)"
        found = [
            "def stencil(u, c, d, q, steps):",
            f"    {', '.join(EXTENTS[: self.rank])}{',' * (self.rank == 1)} = u.shape",
            f"    a, b = u.copy(), {other}",
            "    total = 0.0",
            f"    for t in {steps}:",
            *self.nest(f"b[{here}] = {self.value()}"),
        ]
        found += ["        a, b = b, a"] if draw.random() < 0.6 else self.nest(f"a[{here}] = b[{here}]")
        if draw.random() < 0.2:
            found.append(f"        total += a[{', '.join('0' * self.rank)}] * c")
        ends = ["(a * a).sum()", "(a * a).sum() + (b * a).sum()", "np.sin(a).sum() + 0.5 * (b * b * b).sum()"]
        return [*found, f"    return {draw.choice(ends)} + total"]

    def function(self, is_plain: bool = False) -> Callable[..., float]:
        """`is_plain`: without a checkpoint."""
        text = self.text.replace("adjit.checkpoint(range(steps), 2)", "range(steps)") if is_plain else self.text
        found: Callable[..., float] = define(text, f"<stencil {id(self)} {is_plain}>", np=np, adjit=adjit)["stencil"]
        return found

    def arguments(self) -> list[tuple[Any, ...]]:
        """Plates on which all indices are inside, those with nothing inside included."""
        shapes = list(itertools.product(SIZES[self.rank], repeat=self.rank))
        found = []
        for shape in [*self.draw.sample(shapes, min(len(shapes), 8)), (7,) * self.rank]:
            u = np.sin(1.0 + np.arange(float(np.prod(shape)))).reshape(shape)
            found.append((u, 0.3, 0.7, 0.3 * np.cos(u), STEPS))
        return found


class Energy(Stencil):
    """Sums of functions of neighbours, of one or of two statements, and arrays that are made of neighbours once."""

    def term(self) -> str:
        here = self.at([0] * self.rank)
        wholes = [
            "({}) ** 2", "np.sqrt(1.5 + ({}) ** 2)", "np.sin({})", "q[HERE] * np.exp(-({}) ** 2)", "a[HERE] * ({})",
            "({}) * abs({})", "c * ({})", "np.log1p(({}) ** 2) / d",
        ]  # fmt: skip
        whole = self.draw.choice(wholes).replace("HERE", here)
        return whole.replace("{}", self.value())

    def lines(self) -> list[str]:
        draw, here = self.draw, self.at([0] * self.rank)
        self.is_checkpointed = False
        first = draw.choice(["a = u", "a = u.copy()", "a = np.tanh(u)"])
        made = draw.choice(["np.zeros(u.shape)", "u.copy()"])
        found = [
            "def stencil(u, c, d, q, steps):",
            f"    {', '.join(EXTENTS[: self.rank])}{',' * (self.rank == 1)} = u.shape",
            f"    {first}",
            f"    b, total = {made}, 0.0",
        ]
        for _ in range(draw.choice([1, 1, 2])):
            target = draw.choice(["total +=", "total +=", f"b[{here}] =", f"b[{here}] +="])
            nest = self.nest(f"{target} {self.term()}")
            # of one run
            found += [line[4:] for line in nest]
        return [*found, f"    return {draw.choice(['(b * b).sum()', 'np.sin(b).sum()', '0.0'])} + total"]


def check(seed: int, kind: type[Stencil] = Stencil) -> None:
    stencil = kind(seed)
    wrt = stencil.draw.choice([(0,), (0, 1), (0, 1, 2), (0, 3)])
    target = "cpu" if seed % 20 == 0 else "python"
    # trips run again by the user's wish, or for want of memory, or taped
    limited = {"memory_limit": 3000} if seed % 3 == 0 and not stencil.is_checkpointed else {}
    found = adjit.grad(stencil.function(), wrt=wrt, target=target, strategy=CHEAPEST, **limited)
    plain = adjit.grad(stencil.function(is_plain=True), wrt=wrt, target="python", strategy=FORCED["plain"])
    for arguments in stencil.arguments():
        for bar, wanted in zip(found(*arguments), plain(*arguments), strict=True):
            size = max(1.0, np.max(np.abs(wanted), initial=0.0))
            shape = arguments[0].shape
            np.testing.assert_allclose(bar, wanted, rtol=1e-9, atol=1e-11 * size, err_msg=f"{shape}\n{stencil.text}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(16))
def test_some_random_stencils(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("start", range(16, 416, 50))
def test_many_random_stencils(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(16))
def test_some_random_energies(seed: int) -> None:
    check(seed, Energy)


@pytest.mark.long
@pytest.mark.parametrize("start", range(16, 416, 50))
def test_many_random_energies(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed, Energy)
