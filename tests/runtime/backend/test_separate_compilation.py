"""Calls that are compiled apart give what numba's own give, bit for bit, raise what they raise, and are kept."""

import itertools
import re

import numpy as np
import pytest
from numba import njit, typeof

from adjit.runtime.backend import calls, separate_compilation
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

compiled = njit(pipeline_class=GeneratedCompiler, error_model="numpy")
by_numba = njit(error_model="numpy")


def solve(a, b):
    return np.linalg.solve(a, b)


def inverse(a):
    return np.linalg.inv(a)


def determinant(a):
    return np.linalg.det(a)


def log_determinant(a):
    return np.linalg.slogdet(a)


def factor(a):
    return np.linalg.cholesky(a)


def orthogonal(a):
    return np.linalg.qr(a)


def singular(a):
    return np.linalg.svd(a)


def times(a, b):
    return a @ b


def product(a, b):
    return np.dot(a, b)


def inner(a, b):
    return np.vdot(a, b)


def middle(a):
    return np.median(a)


def filled(a, n):
    return np.eye(n) + np.sort(a)


FUNCTIONS = (
    solve, inverse, determinant, log_determinant, factor, orthogonal, singular, times, product, inner, middle, filled
)  # fmt: skip
_OWN = {function: compiled(function) for function in FUNCTIONS}
_NUMBAS = {function: by_numba(function) for function in FUNCTIONS}


def outcome(function, arguments):
    """The result of a call, or the error that it raises, and the types that it was compiled for."""
    try:
        found = function(*arguments)
    except (np.linalg.LinAlgError, ValueError) as fault:
        return type(fault), str(fault)
    made = function.overloads[tuple(map(typeof, arguments))]
    return made.signature.return_type, found if isinstance(found, tuple) else (found,)


def check(function, *arguments):
    (kind, found), (expected_kind, expected) = (outcome(made[function], arguments) for made in (_OWN, _NUMBAS))
    assert kind == expected_kind
    if isinstance(expected, str):
        assert found == expected
    else:
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


DRAW = np.random.default_rng(0)
MATRIX, VECTOR = DRAW.normal(size=(4, 4)), DRAW.normal(size=4)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (inverse, (MATRIX,)), (factor, (MATRIX @ MATRIX.T,)), (times, (MATRIX, VECTOR)), (product, (VECTOR, MATRIX)),
        (inner, (VECTOR, VECTOR)),
        # numba takes 5 to 10 s for its own
        pytest.param(solve, (MATRIX, VECTOR), marks=pytest.mark.long),
        pytest.param(solve, (MATRIX, MATRIX), marks=pytest.mark.long),
        pytest.param(orthogonal, (DRAW.normal(size=(5, 3)),), marks=pytest.mark.long),
        pytest.param(filled, (VECTOR, 4), marks=pytest.mark.long),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_results_are_numbas(function, arguments):
    check(function, *arguments)


@pytest.mark.parametrize("matrix", [np.zeros((4, 4)), np.full((4, 4), np.nan), -np.eye(4)], ids=["0", "nan", "-1"])
def test_errors_are_numbas(matrix):
    for function in (inverse, factor):
        check(function, matrix)
    check(times, matrix, VECTOR[:3].copy())


def test_a_solve():
    np.testing.assert_allclose(_OWN[solve](MATRIX, VECTOR), np.linalg.solve(MATRIX, VECTOR), rtol=1e-13)
    for matrix, message in ((np.zeros((4, 4)), "singular"), (np.full((4, 4), np.nan), "infs or NaNs")):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            _OWN[solve](matrix, VECTOR)
    with pytest.raises(np.linalg.LinAlgError, match="dimensionally"):
        _OWN[solve](MATRIX, VECTOR[:3].copy())


def layouts(array):
    """The array in C order, in Fortran order, and with gaps."""
    gaps = np.zeros(tuple(2 * n for n in array.shape), array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    gaps[...] = array
    return [array, np.asfortranarray(array), gaps] if array.ndim > 1 else [array, gaps]


@pytest.mark.long
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 3, 40])
def test_results_are_numbas_in_all_layouts(n, kind):
    square, tall = DRAW.normal(size=(n, n)).astype(kind), DRAW.normal(size=(n, n + 2)).astype(kind)
    definite = (square @ square.T + n * np.eye(n, dtype=kind)).astype(kind)
    for a in layouts(square):
        for function in (inverse, determinant, log_determinant):
            check(function, a)
        for b in itertools.chain(layouts(tall), layouts(DRAW.normal(size=n).astype(kind))):
            check(solve, a, b)
    for a in layouts(definite):
        check(factor, a)
    for a in layouts(tall):
        for function in (orthogonal, singular):
            check(function, a)
        for b in (tall.T, tall.T.copy(), DRAW.normal(size=n + 2).astype(kind), np.zeros((n + 2, 1), kind)):
            check(times, a, b)
            check(product, a, b)
        check(product, DRAW.normal(size=n).astype(kind), a)


def test_callers_hold_a_symbol():
    run = compiled(solve)
    run(MATRIX, VECTOR)
    (text,) = run.inspect_llvm().values()
    assert len(set(re.findall(rf"{calls.PREFIX}\w+", text))) == 1
    assert "numba_xgesv" not in text


class Memory:
    """Keeps in a dictionary what a later process would find on disk."""

    def __init__(self):
        self.kept, self.reads = {}, []

    def stamp(self):
        return "in memory"

    def read(self, name, target_context):
        self.reads.append(name)
        return self.kept.get(name)

    def write(self, name, call, result):
        self.kept[name] = call, result


def test_functions_are_kept(monkeypatch):
    keeper = Memory()
    monkeypatch.setattr(calls._State, "keeper", keeper)
    monkeypatch.setattr(separate_compilation, "_made", {})
    kinds = typeof(MATRIX), typeof(VECTOR)
    made = separate_compilation.known_call(np.linalg.solve, kinds)
    assert [made.symbol] == [f"{calls.PREFIX}{name}" for name in keeper.kept]
    monkeypatch.setattr(separate_compilation, "_made", {})
    monkeypatch.setattr(separate_compilation, "_compiled", None)
    assert separate_compilation.known_call(np.linalg.solve, kinds) == made
    assert len(keeper.reads) == 2


def test_the_switch(monkeypatch):
    monkeypatch.setenv("ADJIT_APART", "0")
    run = compiled(inner)
    assert run(VECTOR, VECTOR) == np.vdot(VECTOR, VECTOR)
    (text,) = run.inspect_llvm().values()
    assert calls.PREFIX not in text
