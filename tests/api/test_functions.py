import numba
import numpy as np
import pytest

from adjit import rules
from adjit.api.functions import grad, hvp, jvp, stop_gradient, value_and_grad, vjp
from adjit.errors import Aliased, NoRule, NotScalar, TypeMismatch, WrongCall, WrongWrt
from adjit.rules import registry
from adjit.transform.source.derivative import positions_of
from tests.api.programs import (
    DOT,
    X,
    chosen,
    compiled,
    energy,
    growth,
    held,
    held_compiled,
    no_rule,
    overwritten,
    pair,
    relaxed,
    scaled,
    spread,
    swapped,
    vector_valued,
    whole,
    with_aux,
)

TARGETS = ["cpu", "python"]


@pytest.mark.parametrize("target", TARGETS)
def test_grad_and_value(target):
    np.testing.assert_array_equal(grad(energy, target=target)(X, 3.0), 6.0 * X)
    value, (x_bar, k_bar) = value_and_grad(energy, wrt=("x", -1), target=target)(X, 3.0)
    assert (value, k_bar) == (15.75, 5.25)
    np.testing.assert_array_equal(x_bar, 6.0 * X)


def test_wrt_decides_what_comes_back():
    def asked(wrt):
        return grad(energy, wrt=wrt, target="python")(X, 3.0)

    for wrt in (1, -1, "k", np.int64(1)):
        assert asked(wrt) == 5.25
    for wrt in ((1,), ["k"]):
        assert asked(wrt) == (5.25,)
    k_bar, x_bar = asked(("k", 0))
    assert k_bar == 5.25
    np.testing.assert_array_equal(x_bar, 6.0 * X)


def test_decorators():
    for decorator in (grad, grad(wrt="x"), grad()):
        assert decorator(energy) is grad(energy)

    @value_and_grad(wrt="w", target="python")
    def power(x, w):
        return x * w**3

    assert power(2.0, w=3.0) == (54.0, 54.0)


@pytest.mark.parametrize("wrt", [2, -3, "z", (0, 5), 1.0, None, True, (), (0, "x"), (0, -2)])
def test_wrong_wrt(wrt):
    with pytest.raises(WrongWrt):
        grad(energy, wrt=wrt)


def test_wrt_without_a_derivative():
    with pytest.raises(WrongWrt, match="`n` of whole is an integer"):
        grad(whole, target="python")(3)


def test_positions():
    assert positions_of(energy, "k") == ((1,), True)
    assert positions_of(energy, ["k", 0]) == ((1, 0), False)
    assert positions_of(energy, np.int64(1)) == ((1,), True)


def test_unknown_option():
    with pytest.raises(TypeError, match="fast"):
        grad(energy, fast=True)


def test_options_are_options_everywhere():
    fastmath = {"contract", "reassoc"}
    np.testing.assert_allclose(grad(energy, fastmath=fastmath)(X, 1.0), 2.0 * X, rtol=1e-15)
    assert vjp(scaled, 3.0, 2.0, fastmath=False)[1](1.0) == (12.0, 9.0)


@pytest.mark.parametrize("target", TARGETS)
def test_aux(target):
    x_bar, aux = grad(with_aux, has_aux=True, target=target)(X)
    np.testing.assert_array_equal(x_bar, 2.0 * X)
    assert aux == (3, 1.0)
    (value, aux), x_bar = value_and_grad(with_aux, has_aux=True, target=target)(X)
    assert (value, aux) == (5.25, (3, 1.0))
    np.testing.assert_array_equal(x_bar, 2.0 * X)


@pytest.mark.parametrize(("function", "has_aux"), [(vector_valued, False), (with_aux, False), (energy, True)])
def test_not_scalar(function, has_aux):
    with pytest.raises(NotScalar):
        grad(function, has_aux=has_aux, target="python")(X)


def test_jvp():
    value, change = jvp(energy, (X, 3.0), (DOT, 2))
    assert value == 15.75
    assert change == 6.0 * X @ DOT + 2.0 * 5.25
    assert jvp(energy, (X,), (DOT,), target="python")[1] == 4.0 * X @ DOT


def test_vjp_of_a_compiled_function():
    value, pullback = vjp(compiled, X, 3.0, target="python")
    assert value == pytest.approx(3.0 * np.sin(X).sum(), rel=1e-15)
    x_bar, k_bar = pullback(2.0)
    np.testing.assert_allclose(x_bar, 6.0 * np.cos(X), rtol=1e-15)
    assert k_bar == pytest.approx(2.0 * np.sin(X).sum(), rel=1e-15)


@pytest.mark.parametrize("target", TARGETS)
def test_pullback_is_of_the_values_that_were_given(target):
    x = X.copy()
    value, pullback = vjp(energy, x, 3.0, target=target)
    x[:] = 0.0
    for seed in (2, 2.0, np.float64(2.0), np.array(2.0)):
        x_bar, k_bar = pullback(seed)
        np.testing.assert_array_equal(x_bar, 12.0 * X)
        assert (value, k_bar) == (15.75, 10.5)
        x_bar[:] = 7.0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [overwritten, swapped, relaxed], ids=["split", "split with two names", "joint"])
def test_pullback_shares_no_memory(function, target):
    """Neither with the arguments, nor the value, nor the seed, nor with what it returned before."""
    more = () if function is overwritten else (4,)
    x, seed = X.copy(), DOT.copy()
    value, pullback = vjp(function, x, *more, target=target)
    np.testing.assert_array_equal(x, X)
    first = pullback(seed)[0]
    right = first.copy()
    np.testing.assert_array_equal(seed, DOT)
    assert not np.shares_memory(first, seed)
    for array in (x, value, seed, first):
        array[:] = np.nan
    np.testing.assert_array_equal(pullback(DOT)[0], right)
    expected = jvp(function, (X, *more), (DOT, *(0 for _ in more)), target="python")[1]
    np.testing.assert_allclose(DOT @ right, DOT @ expected, rtol=1e-13)


def test_arguments_that_overlap():
    """They may where none is written; else each element would have two adjoints."""
    x = X.copy()
    for of in (grad(spread, wrt=(0, 1), target="python"), lambda *a: vjp(spread, *a, target="python")):
        with pytest.raises(Aliased, match="share memory"):
            of(x[1:], x[:-1])
    np.testing.assert_array_equal(x, X)
    x_bar, y_bar = vjp(lambda x, y: np.sum(x * y), x[1:], x[:-1], target="python")[1](1.0)
    np.testing.assert_array_equal(x_bar, X[:-1])
    np.testing.assert_array_equal(y_bar, X[1:])


def descent(x, a, b):
    for _ in range(3):
        rest = a @ x - b
        x = x - 0.1 * (a.T @ rest)
    return np.sum(x * x)


def chosen_and_added_to(x, y, z):
    t = x if z[0] > 0.0 else y * z
    total = x * y
    total += t
    return np.sum(total)


def replaced_and_then_written(x, y, z):
    for _ in range(3):
        x = y - x * z
        x[0] = z[1]
    while np.sum(x) < 3.0:
        x = x + y * y + 0.5
    return np.sum(x * y)


@pytest.mark.parametrize("function", [descent, chosen_and_added_to, replaced_and_then_written])
def test_one_array_for_arguments_that_nothing_is_written_into(function):
    """Their names stand for other arrays later on, and those are written; the arguments are not."""
    x = np.array([0.3, 0.8, 1.4])
    given = (x, np.outer(x, 1.0 + x), x) if function is descent else (x, x, x)
    apart = tuple(a.copy() for a in given)
    for got, right in zip(
        grad(function, wrt=(0, 1, 2), target="python")(*given),
        grad(function, wrt=(0, 1, 2), target="python")(*apart),
        strict=True,
    ):
        np.testing.assert_array_equal(got, right)
    dots = tuple(np.cos(a) for a in given)
    assert jvp(function, given, dots, target="python") == jvp(function, apart, dots, target="python")
    value, pullback = vjp(function, *given, target="python")
    assert value == function(*given)
    np.testing.assert_array_equal(pullback(1.0)[2], vjp(function, *apart, target="python")[1](1.0)[2])


TABLE = np.array([0.5, -0.25, 2.0])


def test_a_global_array_that_only_gives_its_name_away():
    def function(x):
        p = TABLE
        for _ in range(2):
            p = p * x
        return np.sum(p)

    np.testing.assert_allclose(grad(function, target="python")(X[:3]), 2.0 * TABLE * X[:3], rtol=1e-14)


def test_adjoints_that_are_equal_are_two_arrays():
    x_bar, y_bar = vjp(lambda x, y: x + y, X, X.copy())[1](DOT)
    np.testing.assert_array_equal(x_bar, y_bar)
    assert not np.shares_memory(x_bar, y_bar)


def test_only_given_arguments_have_an_adjoint():
    (x_bar,) = vjp(energy, X, target="python")[1](1.0)
    np.testing.assert_array_equal(x_bar, 4.0 * X)


def test_strings_choose():
    assert vjp(chosen, 3.0, "square", target="python")[1](1.0) == (6.0, None)
    assert vjp(chosen, 3.0, target="python")[1](1.0) == (2.0,)
    assert vjp(chosen, 3.0, "square")[1](2.0) == (12.0, None)
    assert jvp(chosen, (3.0, "square"), (1.0, None), target="python") == (9.0, 6.0)


def test_derivatives_of_derivatives():
    gradient = grad(energy, target="python")
    np.testing.assert_array_equal(jvp(gradient, (X, 3.0), (DOT, 2.0), target="python")[1], 6.0 * DOT + 4.0 * X)
    x_bar, k_bar = vjp(gradient, X, 3.0, target="python")[1](DOT)
    np.testing.assert_array_equal(x_bar, 6.0 * DOT)
    assert k_bar == 2.0 * X @ DOT
    assert grad(grad(grad(lambda x: x**4)))(2.0) == 48.0


def test_hvp():
    np.testing.assert_array_equal(hvp(energy)(X, 3.0, DOT), 6.0 * DOT)
    of_both = hvp(energy, wrt=("x", "k"), target="python")
    x_change, k_change = of_both(X, 3.0, (DOT, 2.0))
    np.testing.assert_array_equal(x_change, 6.0 * DOT + 4.0 * X)
    assert k_change == 2.0 * X @ DOT
    by_default = hvp(target="python")(energy)
    np.testing.assert_array_equal(by_default(X, DOT), 4.0 * DOT)
    np.testing.assert_array_equal(by_default(X, DOT, k=3.0), 6.0 * DOT)
    assert (by_default.__name__, by_default.__doc__) == ("energy", energy.__doc__)


def test_tuples_and_integers():
    value, pullback = vjp(pair, 2.0, 3, (5.0, X), target="python")
    assert value[:2] == (10.0, 3)
    x_bar, n_bar, (first, second) = pullback((1.0, None, DOT))
    assert n_bar is None
    assert first == 2.0
    assert x_bar == pytest.approx(5.0 + DOT @ (X * X), rel=1e-15)
    np.testing.assert_array_equal(second, 4.0 * X * DOT)
    _, change = jvp(pair, (2.0, 3, (5.0, X)), (1.0, 7, (0, DOT)), target="python")
    assert change[:2] == (5.0, 0)
    np.testing.assert_array_equal(change[2], X * X + 4.0 * X * DOT)


@pytest.mark.parametrize(
    ("tangents", "message"),
    [
        ((DOT[:2], 1.0), r"the tangent of argument 'x' is an array of shape \(2,\), not an array of shape \(3,\)"),
        ((1.0, 1.0), "the tangent of argument 'x' is of type float"),
        ((DOT.astype(complex), 1.0), "an array of complex128, not of float64"),
        (([1.0, 2.0, 3.0], 1.0), "a list of 3"),
        ((DOT, DOT), "the tangent of argument 'k' is an array of shape"),
        ((DOT, None), "the tangent of argument 'k' is None"),
        ((DOT, True), "the tangent of argument 'k' is of type bool"),
        ((DOT,), "the tangents of energy are a tuple of 1, not a tuple of 2"),
        (DOT, "the tangents of energy are an array of shape"),
    ],
)
def test_wrong_tangents(tangents, message):
    with pytest.raises(TypeMismatch, match=message):
        jvp(energy, (X, 1.0), tangents)


def test_arguments_that_are_no_tuple():
    with pytest.raises(TypeMismatch, match=r"the arguments of energy are an array of shape \(3,\), not a tuple"):
        jvp(energy, X, DOT)


def test_wrong_seeds():
    with pytest.raises(TypeMismatch, match="the seed is an array"):
        vjp(energy, X, 1.0)[1](X)
    pullback = vjp(pair, 2.0, 3, (5.0, X), target="python")[1]
    with pytest.raises(TypeMismatch, match="the seed is of type float, not a tuple of 3"):
        pullback(1.0)
    with pytest.raises(TypeMismatch, match=r"the seed\[2\] is an array of shape"):
        pullback((1.0, None, DOT[:1]))


def test_wrong_vector():
    with pytest.raises(TypeMismatch, match="the vector along 'x'"):
        hvp(energy)(X, 1.0, 3.0)
    with pytest.raises(
        TypeMismatch, match=r"the vector of hvp\(energy\) is an array of shape \(3,\), not a tuple of 2"
    ):
        hvp(energy, wrt=(0, 1))(X, 1.0, DOT)
    with pytest.raises(WrongCall, match=r"hvp\(energy\) is called without a vector"):
        hvp(energy)()


def test_integer_tangent_arrays_are_converted():
    assert jvp(energy, (X, 1.0), (np.array([1, 0, 0]), 0))[1] == 2.0


def test_single_precision_stays():
    x = X.astype(np.float32)
    value, pullback = vjp(scaled, x, np.float32(2.0))
    assert value.dtype == np.float32
    x_bar, k_bar = pullback(DOT)
    assert x_bar.dtype == np.float32
    np.testing.assert_allclose(x_bar, 4.0 * X * DOT, rtol=1e-6)
    assert k_bar == pytest.approx(DOT @ (X * X), rel=1e-6)


def test_nothing_active():
    assert jvp(whole, (3,), (1,), target="python") == (6, 0)
    assert vjp(whole, 3, target="python")[1](1) == (None,)


def test_refusals_name_the_line():
    with pytest.raises(NoRule) as fault:
        vjp(no_rule, X)
    assert "programs.py" in str(fault.value)
    assert "math.frexp(x[0])[0]" in str(fault.value)


@pytest.mark.parametrize("function", [held, held_compiled])
def test_stop_gradient_in_a_function(function):
    """d(w * fixed w) is w, d(fixed x * x) is x; the same in both modes and once more."""
    x_bar, w_bar = grad(function, wrt=(0, 1), target="python")(X, 3.0)
    np.testing.assert_array_equal(x_bar, X)
    assert w_bar == 3.0
    value, change = jvp(function, (X, 3.0), (DOT, 2.0), target="python")
    assert value == 9.0 + X @ X
    assert change == X @ DOT + 6.0
    assert not hvp(function, target="python")(X, 3.0, DOT).any()


def test_stop_gradient_is_compiled():
    x_bar, w_bar = grad(held_compiled, wrt=(0, 1))(X, 3.0)
    np.testing.assert_array_equal(x_bar, X)
    assert w_bar == 3.0
    assert held_compiled(X, 3.0) == held(X, 3.0)


def test_stop_gradient_of_values():
    copied = stop_gradient(X)
    assert copied is not X
    np.testing.assert_array_equal(copied, X)
    assert stop_gradient(2.0) == numba.njit(lambda x: stop_gradient(x))(2.0) == 2.0
    entry = registry.lookup(stop_gradient)
    assert entry is not None
    assert entry.constant
    assert rules.constant is registry.constant


def test_prange_with_parallel():
    """What a trip saves may not go on a tape of all."""
    x = np.linspace(0.1, 2.0, 4000)
    np.testing.assert_array_equal(grad(growth, parallel=True)(x), grad(growth)(x))


def test_item_of_more_than_one_element_is_numpys_error():
    with pytest.raises(ValueError, match="array of size 1"):
        grad(lambda x: x.item() * 2.0, target="python")(X)


def scaled_by_integers(x, k):
    return np.sum(x) * k[1] if isinstance(k, np.ndarray) else np.sum(x) * k


@pytest.mark.parametrize(("k", "moving"), [(3, 1.0), (3, np.float64(2.0)), (np.array([1, 2]), np.array([0.0, 1.0]))])
def test_tangents_of_integers_are_zero(k, moving):
    x = np.arange(3.0)
    assert jvp(scaled_by_integers, (x, k), (x, 0 * moving)) == (3.0 * np.max(k), 3.0 * np.max(k))
    assert jvp(scaled_by_integers, (x, k), (x, k)) == (3.0 * np.max(k), 3.0 * np.max(k))
    with pytest.raises(TypeMismatch, match=r"(?s)the tangent of argument 'k' is not zero.*integer"):
        jvp(scaled_by_integers, (x, k), (x, moving))


def test_masks_of_tangents_and_seeds_are_not_lost():
    x, masked = np.arange(3.0), np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for run in (
        lambda: jvp(np.sum, (x,), (masked,)),
        lambda: vjp(lambda x: x * 2.0, x)[1](masked),
        lambda: hvp(lambda x: np.sum(x**3))(x, masked),
        lambda: jvp(lambda x: x * 2.0, (3.0,), (np.ma.masked,)),
    ):
        with pytest.raises(TypeMismatch, match="of type MaskedArray|not a number"):
            run()
