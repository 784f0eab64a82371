"""Every rule as the compiler applies it: each row of the table, in both modes and to the second order.

What is asked of a row is what is asked of any program (tests/programs/harness.py), in double and in single precision.
Here come the choice of the active arguments, more points for numbers, and what numba makes of the generated source.
"""

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from adjit.api.specialise.dispatch import Options, derive
from adjit.transform.pipeline import Derivative
from tests.programs.harness import check
from tests.rules.rows import Row
from tests.rules.table import ARRAYS, CONSTANTS, SCALARS, TABLE


def sampled(row: Row, point: int = 0) -> Callable[[], tuple[Any, ...]]:
    """What makes fresh arguments, the same each time."""
    return lambda: row.sample(np.random.default_rng(zlib.crc32(row.name.encode()) + point))


FIRST = {row.callee: row for row in reversed(TABLE)}


def is_checked_in_single(row: Row) -> bool:
    """Once an op, as numba takes its time to type one; where there is no derivative the type of it does not matter."""
    return row is FIRST[row.callee] and not row.tags & {"double", "constant"}


def named(part: Any) -> str:
    return part.name if isinstance(part, Row) else str(part)


# Of some, numba compiles much. Of what is made of other rules (NumPy's words, SciPy's), and of other forms of what has
# a row already, a part is in the short run.
CORE = {id(row) for row in (*SCALARS, *ARRAYS, *CONSTANTS) if row is FIRST[row.callee]}
# rows of the core that take seconds, and whose kin are in the short run
SLOW = {
    *(
        f"adjit.rules.numpy.linalg.complex_matrices.{name}"
        for name in ("determinant", "complex_cofactors", "complex_spectrum", "signed_logarithm")
    ),
    *(f"adjit.rules.numpy.linalg.complex_matrices.hermitian_{name}" for name in ("eigenvalues", "factor", "spectrum")),
    *(f"numpy.fft.{name}" for name in ("rfft2", "ifft2", "irfft2", "ifftn")),
    "adjit.rules.numpy.linalg.matrices.cofactors",
}


def is_core(row: Row) -> bool:
    return id(row) in CORE and row.name not in SLOW


def marked(rows: Iterable[Row]) -> list[Any]:
    """The rows; those that take long in the long run alone."""
    is_long = [(row, "long" in row.tags or row.name in SLOW) for row in rows]
    return [pytest.param(row, marks=pytest.mark.long if long else ()) for row, long in is_long]


@pytest.mark.parametrize("row", marked(row for row in TABLE if is_core(row)), ids=named)
def test_rule(row: Row) -> None:
    check(row.function, sampled(row), row.active, single=is_checked_in_single(row))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("row", marked(row for row in TABLE if not is_core(row)), ids=named)
def test_rule_of_further_forms(row: Row) -> None:
    test_rule(row)


@pytest.mark.parametrize("row", SCALARS, ids=named)
def test_other_points(row: Row) -> None:
    for point in range(1, 5):
        check(row.function, sampled(row, point), row.active)


# ------------------------------------------------------------------------------------------ subsets of active arguments


def subsets(active: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All but the empty one and the whole."""
    for size in range(1, len(active)):
        yield from itertools.combinations(active, size)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", marked(row for row in TABLE if len(row.active) > 1), ids=named)
def test_subsets(row: Row) -> None:
    """What flows along some arguments is the same whether or not anything flows along the others."""
    arguments = sampled(row)
    rng = np.random.default_rng(5)

    def like(value: Any) -> Any:
        return rng.normal(size=value.shape) if isinstance(value, np.ndarray) else float(rng.normal())

    def derivative(kind: str, wrt: tuple[int, ...], more: Any) -> Any:
        made = derive(Derivative(function=row.function, kind=kind, wrt=wrt), Options(target="python"))
        return made(*arguments(), *more)

    seed = like(getattr(row.function, "py_func", row.function)(*arguments()))
    bars = dict(zip(row.active, derivative("vjp", row.active, (seed,)), strict=True))
    dots = [like(a) if k in row.active else a for k, a in enumerate(arguments())]
    for active in subsets(row.active):
        found = derivative("vjp", active, (seed,))
        for position, bar in zip(active, found, strict=True):
            np.testing.assert_allclose(bar, bars[position], rtol=1e-12, atol=1e-14)
        _, tangent = derivative("jvp", active, dots)
        along = sum(np.sum(bars[k] * dots[k]) for k in active)
        # by rounding of the terms, which may cancel
        size = sum(np.sum(np.abs(bars[k] * dots[k])) for k in active) + np.sum(np.abs(seed * tangent))
        assert abs(np.sum(seed * tangent) - along) <= 1e-12 * size


# ----------------------------------------------------------------------------------------------- as numba compiles them

COMPILED = (
    "numpy.nanvar", "numpy.max", "numpy.concatenate-axis1", "numpy.nonzero", "numpy.linalg.inv", "numpy.random.normal",
)  # fmt: skip


@pytest.mark.parametrize("start", range(0, len(SCALARS), 25))
def test_numbers_compiled(start: int) -> None:
    """Many rows in one function, because each compilation takes its time."""
    rows = SCALARS[start : start + 25]
    functions = tuple(row.function for row in rows)

    def total(points):
        found = 0.0
        for function, point in zip(functions, points):
            found += function(*point)
        return found

    check(total, lambda: (tuple(sampled(row)() for row in rows),), second=False, target="cpu")


@pytest.mark.parametrize("row", [row for row in TABLE if row.name in COMPILED], ids=named)
def test_compiled(row: Row) -> None:
    check(row.function, sampled(row), row.active, second=False, target="cpu")
