"""Random programs that use parts of the rows of matrices: each element of the gradient is written, and as it should be.

Triangles, bands, rows up to the diagonal and from there on, in loops, slices and products; in matrices with more rows
and columns than are used. What is made with np.empty is filled with nan, so that what is not written shows.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

import numpy as np
import pytest

import adjit
from adjit.errors import Stretched
from adjit.runtime import library
from adjit.transform.strategy import CHEAPEST, FORCED
from tests.defining import define

SHAPES = [(0, 0), (1, 1), (1, 4), (2, 2), (3, 6), (5, 5), (7, 7), (7, 9), (5, 2), (6, 1)]
INTERVALS = ["0, i", "0, i + 1", "i, m", "i + 1, m", "0, m", "1, m", "1, m - 1", "i + 1, n"]


class Rows:
    """A loop over rows, or over their rows, in a trip of which some of these are read, some more than once."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.rank = self.draw.choice([2, 2, 2, 3])
        self.text = "\n".join(self.lines()) + "\n"

    def lines(self) -> list[str]:
        draw = self.draw
        rows = draw.choice(["range(n)", "range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(n - 1)"])
        head = ["def rows(A, x, y):", "    n, m = x.size, y.size", "    total = 0.0"]
        if draw.random() < 0.5:
            head.append("    z = x.copy()")
        nest = [f"    for i in {rows}:"]
        if self.rank == 3:
            nest.append("        for l in range(A.shape[1]):")
        indent = "    " * (len(nest) + 1)
        target = draw.choice(["total +=", "total +=", "z[i] +="]) if len(head) > 3 else "total +="
        body = [line for _ in range(draw.choice([1, 1, 2, 3, 4])) for line in self.statement(target)]
        return [
            *head,
            *nest,
            *(indent + line for line in body),
            f"    return total{' + (z * z).sum()' * (len(head) > 3)}",
        ]

    def statement(self, target: str) -> list[str]:
        draw, row = self.draw, "i, " if self.rank == 2 else "i, l, "
        low, high = draw.choice(INTERVALS).split(", ")
        factor = draw.choice(["x[i]", "0.7", "y[i]"])
        match draw.randrange(6):
            case 0:
                part = f"{'' if low == '0' else low}:{'' if high == 'm' else high}"
                if high == "m":
                    return [f"{target} {factor} * np.sum(np.sin(A[{row}{low}:m]))"]
                return [f"{target} {factor} * (A[{row}{part}] @ y[{part}])"]
            case 1:
                place = draw.choice(["i", "i", "0", "m - 1"])
                return [f"{target} {factor} * A[{row}{place}] ** 2"]
            case 2:
                body = ["if x[i] > 0.1:", f"    {target} A[{row}i] * {factor}"]
                return (
                    body
                    if draw.random() < 0.5
                    else [
                        f"for k in range({low}, {high}):",
                        "    if y[k] > 0.0:",
                        f"        {target} A[{row}k] * {factor}",
                    ]
                )
            case 3:
                return [
                    f"for k in range({low}, {high}):",
                    f"    {target} A[{row}k] * A[{row}{draw.choice(['k', 'k', 'k + 1', 'k - 1', '0', 'i'])}]",
                ]
            case _:
                step = draw.choice(["", "", ", 2"])
                return [f"for k in range({low}, {high}{step}):", f"    {target} {factor} * A[{row}k] * y[k]"]

    def function(self) -> Callable[..., float]:
        found: Callable[..., float] = define(self.text, f"<rows {id(self)}>", np=np)["rows"]
        return found

    def arguments(self) -> list[tuple[np.ndarray, ...]]:
        """Rows and columns as many as are used, or more; of few columns for many rows some are not there."""
        found = []
        for n, m in SHAPES:
            shape = (n + self.draw.randrange(2), *(2,) * (self.rank - 2), m + self.draw.choice([0, 0, 1]))
            A = np.sin(1.0 + np.arange(float(math.prod(shape)))).reshape(shape)
            if m > 0:
                found.append((A, np.cos(np.arange(float(n))), np.sin(2.0 + np.arange(float(m)))))
        return found


class Unwritten:
    def __mul__(self, array: np.ndarray) -> np.ndarray:
        array.fill(np.nan if array.dtype.kind == "f" else -999)
        return array


def check(seed: int) -> None:
    rows = Rows(seed)
    wrt = rows.draw.choice([(0,), (0, 1), (0, 1, 2)])
    # the text runs by itself: where an index may be out of bounds, other text would be asked for
    found = adjit.grad(rows.function(), wrt=wrt, target="python", strategy=CHEAPEST, boundscheck=False)
    plain = adjit.grad(rows.function(), wrt=wrt, target="python", strategy=FORCED["plain"])
    arguments = rows.arguments()
    text = re.sub(
        r"\b((?:np|workspace)\.empty(?:_like)?\()", r"unwritten * \1", found.source(*arguments[-1], tuned=True)
    )
    names = {**vars(library), "np": np, "math": math, "unwritten": Unwritten()}
    exec(text, names)
    for given in arguments:
        try:
            rows.function()(*given)
        except (IndexError, ValueError):
            continue
        try:
            bars, wanted = names["rows_grad"](*given), plain(*given)
        except Stretched:
            continue  # other code would run
        for bar, other in zip(*((bars, wanted) if len(wrt) > 1 else ([bars], [wanted])), strict=True):
            np.testing.assert_allclose(
                bar, other, rtol=1e-11, atol=1e-13, err_msg=f"{given[0].shape}\n{rows.text}{text}"
            )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_some_random_rows(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("start", range(40, 840, 100))
def test_many_random_rows(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)
