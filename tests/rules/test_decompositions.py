"""The rules of whole-array ops, run as plain Python.

Decompositions against NumPy and numba, tangents against differences, transposes by the dot-product identity.
"""

import inspect
import math
import zlib
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaPerformanceWarning

import adjit
from adjit.rules.numpy.linalg import matrices
from adjit.rules.registry import WANTED, lookup
from tests.rules.table import ARRAYS, Row


def rows_with(kind: str) -> pytest.MarkDecorator:
    """Every row whose op has a rule of this kind; of the rules' own functions, which take long, in the long run."""
    found = [row for row in ARRAYS if getattr(lookup(row.callee), kind)]
    own = [pytest.mark.long if row.callee.__module__.startswith("adjit.rules") else () for row in found]
    rows = [pytest.param(row, id=row.name, marks=marks) for row, marks in zip(found, own, strict=True)]
    return pytest.mark.parametrize("row", rows)


def owner(row: Row) -> Any:
    """What stands for the callee in the module that the row's function finds it in."""
    callee = row.callee
    if callee.__module__.startswith("adjit.rules"):
        return mock.patch(f"{row.function.__module__}.{callee.__name__}")
    for module in (np, np.linalg, np.fft, math, __import__("operator")):
        if getattr(module, callee.__name__, None) is callee:
            return mock.patch.object(module, callee.__name__)
    raise LookupError(callee)


def call_of(row: Row, args: tuple[Any, ...]) -> inspect.BoundArguments:
    """The arguments with which the row's function calls the op."""
    with owner(row) as spy:
        spy.side_effect = row.callee
        row.function(*args)
    made = spy.call_args_list[0]
    rule = rule_of(row)
    names = [p for p in inspect.signature(rule).parameters.values() if not is_derived(p)]
    return inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in names]).bind(*made.args, **made.kwargs)


def is_derived(parameter: inspect.Parameter) -> bool:
    return parameter.name.endswith("_dot") or parameter.kind is parameter.KEYWORD_ONLY


def rule_of(row: Row) -> Any:
    entry = lookup(row.callee)
    return entry.decomposition or entry.tangent or next(iter(entry.transposes.values()))


def drawn(row: Row) -> tuple[Any, ...]:
    return row.sample(np.random.default_rng(zlib.crc32(row.name.encode())))


@rows_with("decomposition")
def test_decomposition_computes_what_numpy_does(row: Row) -> None:
    entry = lookup(row.callee)
    call = call_of(row, drawn(row))
    expected_call = [a.copy() if isinstance(a, np.ndarray) else a for a in call.args]
    found, expected = entry.decomposition(*call.args), row.callee(*expected_call)
    if expected is None:  # it works in place
        found, expected = call.args[0], expected_call[0]
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def result_names(rule: Any) -> tuple[str, ...]:
    return tuple(p.name for p in inspect.signature(rule).parameters.values() if p.kind is p.KEYWORD_ONLY)


@rows_with("tangent")
def test_tangent_is_the_difference(row: Row) -> None:
    rule = lookup(row.callee).tangent
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    call = call_of(row, row.sample(rng))
    dots = {}
    for name in (p.name for p in inspect.signature(rule).parameters.values() if p.name.endswith("_dot")):
        value = call.arguments.get(name.removesuffix("_dot"))
        if isinstance(value, float | np.ndarray):
            dots[name] = np.asarray(rng.normal(size=np.shape(value)))[()]
    if row.callee in (np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh):
        dots["a_dot"] = dots["a_dot"] + dots["a_dot"].T  # NumPy's own reads one triangle, and so does the difference
    result = row.callee(*call.args)
    arguments = {**call.arguments, **dots, **dict.fromkeys(result_names(rule), result)}
    if WANTED in arguments:
        arguments[WANTED] = (True,) * len(result)
    found = rule(**arguments)
    step = 1e-5
    moved = []
    for sign in (1, -1):
        at = {n: v + sign * step * dots[f"{n}_dot"] if f"{n}_dot" in dots else v for n, v in call.arguments.items()}
        moved.append(row.callee(*at.values()))
    if isinstance(result, tuple):
        assert len(found) == len(result)
    else:
        found, moved = (found,), [(m,) for m in moved]
    for part, (up, down) in zip(found, zip(*moved, strict=True), strict=True):
        up, down = np.asarray(up), np.asarray(down)
        expected = (up - down) / (2 * step)
        kept = ~np.isnan(expected)
        # central differences: step squared times the third derivative, and rounding over step
        np.testing.assert_allclose(
            np.asarray(part)[kept], expected[kept], rtol=2e-7, atol=2e-7 * (1 + np.nanmax(np.abs(expected)))
        )


@rows_with("transposes")
def test_transposes(row: Row) -> None:
    """<y_bar, op(.., v, ..)> = <transpose(y_bar), v>, to rounding."""
    entry = lookup(row.callee)
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    call = call_of(row, row.sample(rng))
    result = row.callee(*call.args)
    y_bar = np.asarray(rng.normal(size=np.shape(result)))[()]
    for position, rule in entry.transposes.items():
        results = {n: y_bar if n.endswith("_bar") else result for n in result_names(rule)}
        bar = rule(*call.args, **results)
        v = rng.normal(size=np.shape(call.args[position]))
        assert np.shape(bar) == v.shape
        y = row.callee(*(v if k == position else a for k, a in enumerate(call.args)))
        assert np.sum(y_bar * y) == pytest.approx(np.sum(bar * v), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("rank_lost", [0, 1, 2])
def test_cofactors_and_their_tangent_by_minors(n: int, rank_lost: int) -> None:
    """Also of singular matrices: the determinant is a polynomial."""
    rng = np.random.default_rng(10 * n + rank_lost)
    a, a_dot = rng.integers(-3, 4, (n, n)).astype(float), rng.normal(size=(n, n))
    for k in range(min(rank_lost, n)):
        a[n - 1 - k] = 0.0

    def by_minors(m: np.ndarray) -> np.ndarray:
        return np.array(
            [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) for j in range(n)] for i in range(n)]
        )

    np.testing.assert_allclose(matrices.cofactors(a), by_minors(a), atol=1e-11)
    step = 1e-4
    expected = (by_minors(a + step * a_dot) - by_minors(a - step * a_dot)) / (2 * step)
    found = matrices.cofactors_dot(a, a_dot, c=matrices.cofactors(a))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------------------------------- special points


def test_ties_share_equally() -> None:
    a, a_dot = np.array([2.0, 0.5, 2.0, 0.9]), np.array([1.0, 10.0, 100.0, 1000.0])
    assert lookup(np.max).tangent(a, a_dot, y=2.0) == 101.0 / 2
    assert lookup(np.min).tangent(a, a_dot, y=0.5) == 10.0
    assert lookup(np.linalg.norm).tangent(-a, np.inf, a_dot, y=2.0) == -101.0 / 2


def test_products_with_zeros() -> None:
    a = np.array([2.0, 0.0, 3.0, 4.0])
    slopes = [lookup(np.prod).tangent(a, np.eye(4)[k], y=0.0) for k in range(4)]
    assert slopes == [0.0, 24.0, 0.0, 0.0]
    assert list(lookup(np.cumprod).tangent(a, np.eye(4)[1], y=np.cumprod(a))) == [0.0, 2.0, 6.0, 24.0]


def test_clip_is_a_closed_interval() -> None:
    """The value at a bound is that of the argument, not of the bound: seen by the sign of zero."""
    clip = lookup(np.clip).decomposition
    found = clip(np.array([-0.0, 0.0]), 0.0, -0.0)
    assert [math.copysign(1.0, x) for x in found] == [-1.0, 1.0]


@pytest.mark.parametrize("ord", [None, 1, 2, 3, np.inf])
def test_norm_at_the_zero_vector(ord: Any) -> None:
    assert lookup(np.linalg.norm).tangent(np.zeros(3), ord, np.array([1.0, 2.0, 3.0]), y=0.0) == 0.0


def test_triangles_beyond_the_lower_one_are_not_read() -> None:
    upper = np.triu(np.ones((3, 3)), 1)
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    assert not lookup(np.linalg.cholesky).tangent(a, upper, x=np.linalg.cholesky(a)).any()
    assert not lookup(np.linalg.eigvalsh).tangent(a, upper, y=np.linalg.eigvalsh(a)).any()


# ----------------------------------------------------------------------------------------------- as numba compiles them


# Ops whose decomposition is arithmetic of its own, so that its order and its types matter.
SAME_ARITHMETIC = (np.var, np.std, np.nanmean, np.nanvar, np.trapezoid, np.trace, np.diff, np.cross, np.average)


@pytest.mark.filterwarnings(f"ignore::{NumbaPerformanceWarning.__module__}.{NumbaPerformanceWarning.__name__}")
@pytest.mark.parametrize(
    "row", [r for r in ARRAYS if r.callee in SAME_ARITHMETIC and not r.note], ids=lambda row: row.name
)
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.long)])
def test_bits_and_types_are_numbas(row: Row, dtype: Any) -> None:
    args = tuple(a.astype(dtype) if isinstance(a, np.ndarray) else a for a in drawn(row))
    call = call_of(row, args).args
    rule = lookup(row.callee).decomposition
    found, expected = njit(rule)(*call), njit(_calling(row.callee, len(call)))(*call)
    assert np.asarray(found).astype(np.asarray(expected).dtype).tobytes() == np.asarray(expected).tobytes()
    if isinstance(expected, np.ndarray):  # a number is converted by the compiler, an array should not have to be
        assert found.dtype == expected.dtype


def _calling(callee: Any, count: int) -> Any:
    if count == 1:
        return lambda a: callee(a)
    if count == 2:
        return lambda a, b: callee(a, b)
    return lambda a, b, c: callee(a, b, c)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_derivative_of_qr_where_columns_depend(dtype: Any) -> None:
    """The last diagonal element of r is a rounding error there, and its inverse any number."""
    a = np.random.default_rng(5).normal(size=(4, 3)).astype(dtype)
    tangent = lookup(np.linalg.qr).tangent
    assert np.all(np.isfinite(tangent(a, a, y=np.linalg.qr(a))[0]))
    for dependent in (a[:, [0, 1, 1]], a[[0, 1, 1, 0]], np.zeros_like(a)):
        with pytest.raises(np.linalg.LinAlgError, match="columns are linearly dependent"):
            tangent(dependent, a, y=np.linalg.qr(dependent))


@pytest.mark.parametrize("entries", [(1.0, 1.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0)])
@pytest.mark.parametrize("of_complex", [False, True])
def test_defective_matrices_have_no_derivative_of_eigenvalues(entries, of_complex) -> None:
    a = np.array(entries).reshape(2, 2)

    def squares(a):
        values = np.linalg.eigvals(a.astype(complex)) if of_complex else np.linalg.eigvals(a)
        return np.sum(np.abs(values) ** 2)

    with pytest.raises(np.linalg.LinAlgError, match="of a defective matrix has no derivative"):
        adjit.grad(squares, target="python")(a)
