"""Random programs, and those that once were wrong: derivatives of first and second order, uncompiled and compiled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.random_programs import checks, singular
from tests.random_programs.checks import How, Outcome, check
from tests.random_programs.program import Program
from tests.random_programs.regressions import REGRESSIONS
from tests.random_programs.writing import write

EVERY_COMPILED = 10


@pytest.mark.parametrize(
    "first", [*range(0, 30, 10), *(pytest.param(first, marks=pytest.mark.long) for first in range(30, 100, 10))]
)
def test_some_random_programs(first: int) -> None:
    """The same ones in each run; `make fuzz` and `make test-long` have others."""
    counts: Counter[Outcome] = Counter()
    refusals: list[str] = []
    for seed in range(first, first + 10):
        program = write(seed)
        verdict = check(program, How.of(seed, every_compiled=EVERY_COMPILED))
        assert not verdict.outcome.is_failure, f"seed {seed}: {verdict.outcome.value}: {verdict.why}\n{program.text}"
        counts[verdict.outcome] += 1
        if verdict.outcome is Outcome.REFUSED:
            refusals.append(verdict.why)
    assert counts[Outcome.UNFIT] <= 3
    assert counts[Outcome.REFUSED] <= 5, "\n".join(refusals)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_random_programs_found(name: str) -> None:
    verdict = check(REGRESSIONS[name], How(second=True))
    assert verdict.outcome is Outcome.FINE, f"{verdict.outcome.value}: {verdict.why}"


def test_a_program_is_that_of_its_seed() -> None:
    assert write(3) == write(3)
    assert isinstance(write(4), Program)
    assert len({write(seed).text for seed in range(30)}) == 30


@pytest.mark.parametrize(
    ("result", "is_read"), [("np.sum(y)", True), ("np.sum(y[1:])", False), ("np.where(v > 0.0, y, 1.0)", False)]
)
def test_whether_an_infinite_partial_is_read(result: str, is_read: bool) -> None:
    text = f"def program(v):\n    y = np.sqrt(v)\n    return {result}\n"
    assert singular.is_read(Program(text), (np.array([0.0, 0.3, 2.0]),)) == is_read


@pytest.mark.parametrize(
    "line", ["np.arctan2(v, 0.0)", "np.log1p(-np.cos(v))", "np.angle(v + 0j)", "v + math.atan2(v[0], 0.0 * v[1])"]
)
def test_angles_and_logarithms_are_seen(line: str) -> None:
    text = f"def program(v):\n    return np.sum({line})\n"
    assert singular.is_read(Program(text), (np.array([0.0, 0.3, 2.0]),))
    assert not singular.is_read(Program(text), (np.array([0.1, 0.3, 2.0]),))


@pytest.mark.parametrize("size", [0.1, 1e-3])
def test_kinks_are_seen(size: float) -> None:
    """At a node of an interpolation the slope is that on one side, and differences are the mean."""
    nodes = "np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.3, 0.4])"
    text = (
        f"def program(v):\n    return 3.0 * np.sin(v[1]) ** 2 + {size} * np.interp(v[0], {nodes}) * v[1]\n\n\n"
        "def arguments():\n    return (np.array([0.0, 0.3]),)\n"
    )
    verdict = check(Program(text), How())
    assert verdict.outcome is Outcome.UNFIT
    assert verdict.why in ("a kink", "differences disagree")


def test_lengths_of_zero_are_seen() -> None:
    """The square of a length is smooth, and its second derivative at zero is not what the pieces give."""
    program = Program("def program(v):\n    return np.sum(np.abs(v) ** 2)\n")
    assert not singular.is_read(program, (np.array([0.0, 0.3]),))
    assert singular.is_read(program, (np.array([0.0, 0.3]),), of_gradient=True)
    assert not singular.is_read(program, (np.array([0.1, 0.3]),), of_gradient=True)


def test_nothing_is_read_beyond_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def program(u, v):\n    return np.sum(u * v)\n\n\ndef arguments():\n    return np.ones(2), np.ones(2)\n"
    assert check(Program(text), How(misfits=True)).outcome is Outcome.FINE
    derive = checks.derive

    def without_checks(derivative: Any, options: Any) -> Any:
        made = derive(derivative, options)
        return lambda u, v, *seeds: made(u, v, *seeds) if u.size == v.size else u[v.size] + v[u.size]

    monkeypatch.setattr(checks, "derive", without_checks)
    assert check(Program(text), How(misfits=True)).outcome is Outcome.WRONG_VALUE


@pytest.mark.parametrize("power", ["y = v ** 0.6", "y = v.copy()\n    y **= 0.6", "y = v * 1.0\n    y[0] **= v[1]"])
def test_powers_are_seen(power: str) -> None:
    text = f"def program(v):\n    {power}\n    return np.sum(y)\n"
    assert singular.is_read(Program(text), (np.array([0.0, 0.3, 2.0]),))
    assert not singular.is_read(Program(text), (np.array([0.1, 0.3, 2.0]),))
    assert Program(text).module(is_plain=True)["program"](np.array([0.1, 0.3, 2.0])) == pytest.approx(
        Program(text).module()["program"](np.array([0.1, 0.3, 2.0])), rel=1e-15
    )


def test_signs_of_vectors_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK chooses them; that of numba is stood for by one that chooses the others."""
    text = """
def program(A):
    e, Q = np.linalg.eigh(A @ A.T)
    return np.sum(np.sin(Q)) + e[0]


def arguments():
    return (np.sin(1.0 + np.arange(9.0)).reshape(3, 3),)
"""
    other = {"eigh": lambda a: (np.linalg.eigh(a)[0], -np.linalg.eigh(a)[1])}
    monkeypatch.setattr(checks.singular, "_compiled_decompositions", lambda: other)
    assert checks._Case(Program(text), How()).rests_on_signs()
    assert not checks._Case(Program(text.replace("np.sin(Q)", "Q * Q")), How()).rests_on_signs()


def test_rounding_of_numbers_of_32_bits_is_no_failure() -> None:
    """The value is known well, its derivative less so."""
    text = """
def program(u, x, idx, M, K):
    u[0] = x
    s2 = u[0] * u[1]
    u[0] = (u[0]) ** 2
    r3, w4 = u + u[idx].sum(), u * np.linalg.det(M)
    r3 **= 2
    r3 = r3.copy()
    w4 = np.sin(w4)
    w4[...] = np.sin(w4)
    w4[0] = w4[1] * np.arctan2(0.3, w4[-1]) * 2.0
    return (
        x + s2 + 0.3 * np.sum(u * u) + 0.4 * np.sum(np.sin(M)) + 0.5 * np.sum(K * K) + 0.6 * np.sum(np.sin(r3))
        + 0.7 * w4.sum()
    )


def arguments():
    return (
        np.array([-0.15, 1.211, 0.812], dtype=np.float32), np.float32(-0.49), np.array([0, 0, 1]),
        np.array([[2.46, 0.491, -0.058], [-0.857, 2.334, 1.305], [0.796, 1.127, 4.368]], dtype=np.float32),
        np.array([[2.22, 0.701, -0.288], [-0.677, 4.294, -0.405], [0.526, 0.267, 3.898]], dtype=np.float32),
    )


asked = {"wrt": (1, 3, 4)}
"""
    assert not check(Program(text), How()).outcome.is_failure
    nearby = checks._by_one_rounding((np.array([1.0, 3.0], np.float32), 2.0))
    assert nearby[1] == 2.0
    np.testing.assert_array_almost_equal_nulp(nearby[0], np.array([1.0, 3.0], np.float32), 2)
    assert not np.array_equal(nearby[0], np.array([1.0, 3.0], np.float32))


def test_a_value_that_rests_on_rounding_is_no_failure() -> None:
    """The third column is the sum of the others but for rounding, and is divided by its length."""
    text = """
def program(A):
    r = A[:, 0] + A[:, 1]
    r = r - A[:, 0] - A[:, 1] + 1e-17 * A[:, 0]
    r = r / np.sqrt(np.sum(r * r))
    return np.sum(r) + np.sum(A)


def arguments():
    return (np.sin(1.0 + np.arange(6.0)).reshape(3, 2),)
"""
    case = checks._Case(Program(text), How())
    assert case.rests_on_rounding()
    assert not checks._Case(Program(text.replace("1e-17", "1.0")), How()).rests_on_rounding()


def test_vectors_of_equal_singular_values_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
def program(A):
    Q, R = np.linalg.qr(A)
    return np.linalg.svd(0.3 * Q)[0].sum()


def arguments():
    return (np.sin(1.0 + np.arange(9.0)).reshape(3, 3) + np.eye(3),)
"""
    case = checks._Case(Program(text), How())
    assert isinstance(case.wrong("two values", Outcome.WRONG_VALUE), checks.NotSmooth)
    apart = checks._Case(Program(text.replace("0.3 * Q", "A")), How())
    assert isinstance(apart.wrong("two values", Outcome.WRONG_VALUE), checks.Wrong)


def test_infinities_on_the_way_are_no_failure() -> None:
    text = """
def program(v):
    for k in range(12):
        v *= v
    return np.sum(1.0 / (1.0 + v))


def arguments():
    return (np.array([START, 0.5]),)
"""
    verdict = check(Program(text.replace("START", "3.0")), How())
    assert (verdict.outcome, verdict.why) == (Outcome.UNFIT, "not finite")
    assert check(Program(text.replace("START", "1.01")), How()).outcome is Outcome.FINE
