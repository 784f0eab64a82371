"""Derived functions of every kind are alike: as Python objects, in compiled code, in what they tell and refuse."""

import inspect
import pickle

import numba
import numpy as np
import pytest

import adjit
from adjit.api.specialise.dispatch import Derived, Interpreted
from adjit.errors import TypeMismatch, Unsupported, WrongCall, WrongWrt
from tests.api.programs import X, energy, no_rule, scaled

KINDS = [
    adjit.grad, adjit.value_and_grad, adjit.jacfwd, adjit.jacrev, adjit.jacobian, adjit.hessian, adjit.hvp,
]  # fmt: skip
DOT = np.array([1.0, -2.0, 0.5])


def arguments(kind):
    return (X, 3.0, DOT) if kind is adjit.hvp else (X, 3.0)


def same(left, right):
    if isinstance(left, tuple):
        return all(same(a, b) for a, b in zip(left, right, strict=True))
    return np.array_equal(left, right)


@pytest.mark.parametrize("kind", KINDS)
def test_as_objects(kind):
    for made, of in ((kind(energy), Derived), (kind(energy, target="python"), Interpreted)):
        assert isinstance(made, of)
        assert made is kind(energy, target=made.options.target)
        assert (made.__name__, made.__doc__, made.__wrapped__) == ("energy", energy.__doc__, energy)
        names = list(inspect.signature(made).parameters)
        assert names == (["x", "k", "x_dot"] if kind is adjit.hvp else ["x", "k"])
        assert pickle.loads(pickle.dumps(made)) is made
        assert repr(made) == f"<{kind.__name__} of energy with respect to (0,)>"


@pytest.mark.parametrize("kind", KINDS)
def test_as_a_decorator(kind):
    given = arguments(kind)
    wanted = kind(energy, target="python")(*given)
    assert same(kind(target="python")(energy)(*given), wanted)
    assert same(kind(wrt="x", target="python")(energy)(*given), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_in_compiled_code_and_in_what_is_differentiated(kind):
    made, given = kind(energy), arguments(kind)

    def whole(*args):
        return made(*args)

    compiled = numba.njit(whole)
    wanted = made(*given)
    assert same(compiled(*given), wanted)
    count = len(given)
    value, change = adjit.jvp(_sum_of(made, kind), given, (DOT, 0.0, DOT)[:count], target="python")
    size = 1e-6
    moved = (X + size * DOT, 3.0, DOT + size * DOT)[:count]
    assert change == pytest.approx((_sum_of(made, kind)(*moved) - value) / size, rel=1e-4, abs=1e-6)


def _sum_of(made, kind):
    if kind is adjit.value_and_grad:
        return lambda x, k: np.sum(made(x, k)[1])
    return (lambda x, k, v: np.sum(made(x, k, v))) if kind is adjit.hvp else (lambda x, k: np.sum(made(x, k)))


@pytest.mark.parametrize("kind", KINDS)
def test_source_and_explanation(kind):
    made, given = kind(energy), arguments(kind)
    types = "float64[:], float64" + ", float64[:]" * (kind is adjit.hvp)
    assert made.source(*given).startswith("def energy_")
    assert "energy" in made.source(types)
    assert str(made.explain(*given)).splitlines()[1].strip().startswith("for x: float64[:], k: float64")
    assert made.explain(types).arguments[:2] == (("x", "float64[:]"), ("k", "float64"))


@pytest.mark.parametrize("kind", KINDS)
def test_options_and_calls_are_checked_alike(kind):
    with pytest.raises(WrongCall, match="unknown option 'wtr'"):
        kind(energy, wtr=0)
    with pytest.raises(WrongCall, match="unknown option 'wtr'"):
        kind(wtr=0)
    with pytest.raises(WrongWrt, match="energy has no parameter 'z'"):
        kind(energy, wrt="z")
    for target in ("cpu", "python"):
        made = kind(scaled, target=target)
        with pytest.raises(TypeError, match=r"scaled\).* is called without `k`"):
            made(*(X,) * (1 + (kind is adjit.hvp)))
        with pytest.raises(WrongCall, match=r"scaled\).* has no parameter `z`"):
            made(*(X, 1.0, X)[: 2 + (kind is adjit.hvp)], z=1.0)
        with pytest.raises(WrongCall, match=r"scaled\).* takes 2 arguments, not 4"):
            made(*(X, 1.0, 2.0, 3.0, X)[: 4 + (kind is adjit.hvp)])
        with pytest.raises(TypeMismatch, match=r"argument `k` of .*scaled.* is of type set"):
            made(*(X, {1.0}, X)[: 2 + (kind is adjit.hvp)])


@pytest.mark.parametrize("kind", KINDS)
def test_storing_is_for_gradients(kind):
    if kind in (adjit.grad, adjit.value_and_grad):
        out = np.empty(3)
        kind(energy, target="python").into(X, 3.0, out=out)
        np.testing.assert_array_equal(out, 6.0 * X)
        return
    with pytest.raises(Unsupported, match=r"\(energy\)\)? with arrays to store into"):
        kind(energy, target="python").into(*arguments(kind), out=np.empty(3))


def test_products_in_compiled_code_take_what_calls_take():
    both = adjit.hvp(energy, wrt=("k", "x"))

    @numba.njit
    def compiled(x, k, x_dot, k_dot):
        return both(x, k, (k_dot, x_dot))

    assert same(compiled(X, 3.0, DOT, 2.0), both(X, 3.0, (2.0, DOT)))
    assert same(both(X, 3.0, vectors=(2.0, DOT)), both(X, 3.0, (2, DOT)))
    (k_bar, x_bar) = both(X, 3.0, (2.0, DOT))
    np.testing.assert_allclose(x_bar, 6.0 * DOT + 4.0 * X, rtol=1e-14)
    assert k_bar == pytest.approx(2.0 * X @ DOT)


def test_products_in_compiled_code_are_along_floats():
    """A vector that is ignored because it has another type would be a silent zero."""
    product = adjit.hvp(energy)

    @numba.njit
    def compiled(x, v):
        return product(x, 1.0, v)

    with pytest.raises(TypeMismatch, match="the vector along 'x'"):
        compiled(X, np.array([1, 2, 3]))
    np.testing.assert_array_equal(product(X, 1.0, np.array([1, 2, 3])), [2.0, 4.0, 6.0])


def test_the_jacobian_in_compiled_code_goes_by_the_types():
    by_rows, by_columns = adjit.jacobian(energy), adjit.jacobian(scaled)
    types = "float64[:], float64"
    assert by_rows.source(types).splitlines()[2:] == adjit.jacrev(energy).source(types).splitlines()[2:]
    assert by_columns.source(types).splitlines()[2:] == adjit.jacfwd(scaled).source(types).splitlines()[2:]
    np.testing.assert_array_equal(numba.njit(lambda x: by_rows(x, 3.0))(X), 6.0 * X)
    np.testing.assert_array_equal(numba.njit(lambda x: by_columns(x, 3.0))(X), np.diag(6.0 * X))


def test_pullbacks_are_objects_too():
    for target in ("cpu", "python"):
        value, pullback = adjit.vjp(scaled, X, 2.0, target=target)
        assert repr(pullback) == "<pullback of scaled with respect to (0, 1)>"
        again = pickle.loads(pickle.dumps(pullback))
        assert same(again(DOT), pullback(DOT))
        assert "def scaled_pullback(" in pullback.source()
        assert pullback.explain().arguments
        with pytest.raises(WrongCall, match="the pullback of scaled takes one seed, not 2"):
            pullback(DOT, DOT)


def test_errors_have_one_text_on_every_target():
    for kind in (adjit.grad, adjit.hvp, adjit.jacobian):
        texts = []
        for target in ("cpu", "python"):
            with pytest.raises(adjit.NoRule) as fault:
                kind(no_rule, target=target)(*(X, DOT)[: 1 + (kind is adjit.hvp)])
            texts.append(str(fault.value))
        assert texts[0] == texts[1]


# ------------------------------------------------------------------------------------------------- keyword-only


def shifted(x, *, shift=1.0):
    return (x + shift) * x * x


def keyed(x, *, factor):
    return factor * np.sum(x * x)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_keyword_only_parameters(target):
    on = {"target": target}
    assert adjit.grad(shifted, **on)(2.0) == 3 * 4 + 2 * 2
    assert adjit.grad(shifted, wrt="shift", **on)(2.0, shift=3.0) == 4.0
    assert adjit.jvp(shifted, (2.0,), (1.0,), **on) == (12.0, 16.0)
    assert adjit.jvp(shifted, (2.0, 3.0), (1.0, 1.0), **on) == (20.0, 28.0)
    value, pullback = adjit.vjp(shifted, 2.0, 3.0, **on)
    assert (value, pullback(1.0)) == (20.0, (24.0, 4.0))
    assert adjit.hvp(shifted, **on)(2.0, 1.0) == 14.0
    assert adjit.hvp(shifted, **on)(2.0, 1.0, shift=2.0) == 16.0
    assert adjit.hvp(keyed, **on)(X, DOT, factor=0.5) == pytest.approx(DOT)
    assert adjit.hessian(shifted, **on)(2.0, shift=2.0) == 16.0
    assert adjit.jacobian(shifted, **on)(2.0, shift=2.0) == 20.0
    out = np.empty(3)
    assert adjit.grad(keyed, **on).into(X, factor=0.5, out=out) is out
    np.testing.assert_array_equal(out, X)
    adjit.check_grads(shifted, (2.0, 3.0), **on)
    adjit.check_grads(keyed, (X, 3.0), order=1, **on)
