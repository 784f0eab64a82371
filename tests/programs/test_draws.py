"""Generators of random numbers in programs: seeded inside, or arguments."""

import math

import numpy as np
import pytest

import adjit
from adjit import errors
from tests.programs.harness import check

X = np.array([0.8, 1.6, 0.9])


def numbers(x):
    rng = np.random.default_rng(3)
    total = rng.normal(x[0], x[1]) + rng.laplace(x[0], x[1]) * rng.logistic(x[0], x[1]) + rng.gumbel(x[0], x[1])
    total += rng.lognormal(x[0], x[1]) * rng.uniform(x[0], x[1]) + rng.exponential(x[0]) + rng.rayleigh(x[1])
    total += rng.weibull(x[1]) * rng.pareto(x[1]) + rng.power(x[1]) * rng.gamma(1.7, x[0])
    return total + rng.triangular(x[0] - 2, x[1], x[1] + 3) * rng.triangular(-x[0], 0.1, x[1]) * rng.random()


def arrays(x):
    rng = np.random.default_rng(3)
    w = np.arange(6.0).reshape(2, 3)
    total = rng.normal(x, x[0], (2, 3)) * w + rng.laplace(x[0], 2.0, size=(2, 3)) * rng.logistic(0.0, x, (2, 3))
    total += rng.weibull(x, size=(2, 3)) + rng.pareto(4 * x[1], (2, 3)) + rng.power(x[1], (2, 3))
    total += rng.gamma(0.6, x, (2, 3)) + rng.triangular(-x, x, 2.0, (2, 3)) + rng.normal([x[0], x[1], 1.0], 0.5, (2, 3))
    return total * rng.poisson(3.0, 3)


def picked(x):
    rng = np.random.default_rng(3)
    y = np.array([x[0], x[1], x[2], 2.0])
    for k in range(2):
        y[k] += rng.normal(x[k], 0.5)
    z = rng.permutation(y) * rng.choice(y, 4)
    rng.shuffle(y)
    other = rng.choice([x[0], x[1], x[2]], size=4, p=[0.2, 0.3, 0.5]) + rng.choice(y, 4, replace=False)
    return np.sum(z * y * other) * rng.choice([x[0], x[2]])


def of_a_legacy_state(x):
    state = np.random.RandomState(3)
    y = state.randn(3) * x + state.normal(size=3)
    for k in range(2):
        y = y + state.rand(3) * x[state.randint(0, 3)]
    return np.sum(y[state.permutation(3)] * x) * state.uniform(0.5, 1.5)


def of_each_length(x):
    rng, total = np.random.default_rng(3), 0.0
    for k in range(1, 4):
        total += np.sum(rng.normal(x[0] * np.ones(k), x[1]))
    return total


def along_grids(x):
    rng = np.random.default_rng(3)
    near = rng.normal(x[0], 0.1 + 0.05 * np.geomspace(0.1, x[1], 4)) + rng.laplace(0.0, x[0] * np.linspace(1, 2, 4))
    far = rng.uniform(-x[1], np.arange(4.0)) * rng.lognormal(0.0, x[2] * np.arange(0.1, 0.9, 0.2))
    last = rng.exponential(x[0] * np.linspace(1, 2, 4, endpoint=False)) + rng.gumbel(np.logspace(0, x[0], 4), 0.3)
    return np.sum(near * far * last) + np.sum(rng.logistic(x[2] * np.eye(3), 1.0)) * rng.rayleigh(x[1] + np.arange(2))


@pytest.mark.parametrize(
    "function", [numbers, arrays, picked, of_a_legacy_state, of_each_length, along_grids], ids=lambda f: f.__name__
)
def test_seeded(function) -> None:
    check(function, lambda: (X.copy(),), second=False)


def test_seeded_draws_are_numpys() -> None:
    assert adjit.value_and_grad(numbers, target="python")(X)[0] == numbers(X)
    assert adjit.value_and_grad(of_a_legacy_state, target="python")(X)[0] == of_a_legacy_state(X)
    np.testing.assert_array_equal(adjit.vjp(arrays, X, target="python")[0], arrays(X))
    np.testing.assert_allclose(adjit.vjp(along_grids, X, target="python")[0], along_grids(X), rtol=1e-14)
    np.testing.assert_allclose(adjit.value_and_grad(numbers)(X)[0], numbers(X), rtol=1e-14)


def test_how_many_points_a_grid_has_is_known_while_compiling() -> None:
    def function(x):
        whole = np.arange(7), np.arange(2, 9, 3), np.arange(5, 2), np.arange(9, 2, -2)
        parts = np.arange(0.5), np.arange(1.0, 2.0, 0.3), np.arange(2.0, 0.0, -0.5), np.arange(0.1, 0.4, 0.1)
        others = np.linspace(0, 1), np.linspace(0, 1, 1), np.linspace(0, x, 0), np.geomspace(1, x, 3)
        units = np.eye(2), np.eye(2, 3), np.identity(2)
        rng, total = np.random.default_rng(3), 0.0
        for grid in (*whole, *parts, *others, *units):
            total += np.sum(rng.normal(x * grid, 1.0)) * grid.size
        return total

    value, bar = adjit.value_and_grad(function, target="python")(1.3)
    np.testing.assert_allclose(value, function(1.3), rtol=1e-14)
    np.testing.assert_allclose(bar, (function(1.3001) - function(1.2999)) / 2e-4, rtol=1e-6)


# -------------------------------------------------------------------- loops that draw, run while compiling


def spikes_of_a_neuron(x):
    n = 60
    rng = np.random.default_rng(5)
    drive = np.convolve(rng.standard_normal(n), [0.5, 0.3, 0.2], "same")
    spikes, times, rest = np.zeros(n, dtype=int), [], 0
    for t in range(n):
        if rest > 0:
            rest -= 1
            continue
        if rng.random() < min(0.6, 0.3 * np.exp(drive[t])):
            spikes[t] = 1
            times.append(t)
            rest = 3
    rate = np.exp(x[0] + x[1] * drive)
    late = sum(math.exp(-k * x[2]) for k in times)
    return np.sum(spikes * np.log(rate) - rate) + late * rng.normal(x[0], 1.0)


def rejected(x, seed=4, most=9):
    state, kept = np.random.RandomState(seed), []
    while len(kept) < most:
        candidate = state.normal(0.0, 2.0)
        if abs(candidate) < 1.5 and state.rand() < 0.7:
            kept.append(candidate)
    return np.sum(np.array(kept) * x[0]) ** 2 + state.rand() * x[1] + kept[2] * x[2]


def of_a_helper(x):
    return rejected(x, 7, 3) * rejected(x, 8, 80)


def changed_afterwards(x):
    rng = np.random.default_rng(5)
    y, z = np.zeros(4), rng.standard_normal(4)
    for k in range(4):
        if rng.random() < 0.5:
            y[k] = rng.normal()
    w = y
    y[1] += x[0]
    z *= x[1]
    z[1:] += x[2]
    return np.sum(w * y * z)


@pytest.mark.parametrize("function", [spikes_of_a_neuron, rejected, of_a_helper, changed_afterwards])
def test_loops_that_draw(function) -> None:
    check(function, lambda: (X.copy(),), second=False)
    np.testing.assert_allclose(adjit.value_and_grad(function, target="python")(X)[0], function(X), rtol=1e-13)


def goes_as_far_as_told(x):
    rng, y = np.random.default_rng(3), 0.0
    for _ in range(30):
        if rng.random() < x[0]:
            y += x[1]
    return y


def test_a_loop_that_reads_an_argument_is_written_out() -> None:
    derivative = adjit.value_and_grad(goes_as_far_as_told, target="python")
    for x in (X, 0.1 * X):
        value, bar = derivative(x)
        assert value == goes_as_far_as_told(x)
        assert bar[0] == 0.0
        assert bar[1] == pytest.approx(value / x[1])


def goes_far(x):
    rng, y = np.random.default_rng(3), 0.0
    for _ in range(3000):
        if rng.random() < x[0]:
            y += x[1]
    return y


def shows_how_far_it_is(x):
    rng, y = np.random.default_rng(3), 0.0
    for k in range(3000):
        y += rng.random()
        print(k)
    return y * x[0]


@pytest.mark.parametrize("function", [goes_far, shows_how_far_it_is])
def test_loops_that_are_not_run_while_compiling(function, capsys) -> None:
    with pytest.raises(errors.Unsupported, match="seeded in the function and draws in a loop"):
        adjit.grad(function, target="python")(X)
    assert capsys.readouterr().out == ""


REFUSED = [
    (lambda rng, x: rng.gamma(x[0], 2.0), "`gamma` .* a number that is not constant"),
    (lambda rng, x: rng.poisson(x[0]) * x[0], "`poisson` .* a number that is not constant"),
    (lambda rng, x: rng.normal(x[x > 0.0], 1.0)[0], "`normal` .* not constant"),
    (lambda rng, x: rng.normal(np.arange(0.0, x[0], 0.1), 1.0)[0], "`normal` .* not constant"),
    (lambda rng, x: rng.choice(x[x > 0.0]), "`choice` .* not constant"),
    (lambda rng, x: rng.normal(0.0, -1.0) * x[0], "scale < 0"),
    (lambda rng, x: rng.normal(x[0], 1.0, dtype=np.float32), "with these arguments"),
    (lambda rng, x: rng.multivariate_normal(x[x > 0.0], np.eye(3))[0], "not constant"),
    (lambda rng, x: rng.spawn(2)[0].normal() * x[0], "`spawn`"),
]


@pytest.mark.parametrize(("draw", "message"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_refused(draw, message) -> None:
    def function(x):
        rng = np.random.default_rng(3)
        return draw(rng, x)

    with pytest.raises(errors.AdjitError, match=message):
        adjit.grad(function, target="python")(X)


def test_a_shape_that_does_not_fit() -> None:
    def function(x):
        return np.sum(np.random.default_rng(3).normal(x, 1.0, 2))

    with pytest.raises(ValueError, match="differ|cannot take|broadcast"):
        adjit.grad(function, target="python")(X)
    with pytest.raises(ValueError, match="cannot take a value of length"):
        adjit.grad(lambda x: np.sum(np.broadcast_to(x, (2,))), target="python")(X)


# ------------------------------------------------------------------------------------------------ as an argument


def few(x, rng):
    total = 0.0
    for k in range(x.size):
        if k != 1:
            total += rng.normal(x[0], x[k]) * rng.gamma(x[0], 2.0)
    return total * np.sum(rng.permutation(x) * np.arange(x.size)) + np.sum(x[rng.integers(0, x.size, 4)])


def in_a_loop(x, rng):
    total = 0.0
    for k in range(3):
        total += rng.normal(x[0], x[1]) * rng.gamma(x[0], 2.0) + rng.laplace() * rng.gumbel(x[0], 2.0)
        if k == 1:
            total *= np.sum(rng.beta(x[0], x[1], size=(2, 2))) + rng.wald(x[0], x[1]) * rng.f(x[1], 5.0)
    total += rng.standard_t(x[1]) + rng.chisquare(x) @ x + rng.noncentral_chisquare(x[0], x[1]) * rng.poisson(3 * x[1])
    other = np.sum(rng.permutation(x) * np.arange(x.size) * rng.choice(x, 3, p=[0.2, 0.3, 0.5])) + rng.choice(x)
    return total * other * rng.integers(1, 4) + np.sum(rng.weibull(x[1], x.size) * rng.triangular(-x, x, 2.0))


def smooth(x, rng):
    y = x.copy()
    rng.shuffle(y)
    total = np.sum(rng.normal(x, x[0]) * y * rng.uniform(-x, x)) * rng.exponential(x[0]) * rng.rayleigh(x[1])
    z = rng.power(x[0], (2, 3)) * rng.lognormal(0.0, x, (2, 3))
    return total + np.sum(z) * rng.pareto(x[1]) + rng.random() * rng.gumbel(x[0], 2.0)


def drawn_by(function):
    return lambda x: function(x, np.random.default_rng(3))


LONG = [
    pytest.param(function, target, marks=pytest.mark.long)
    for function, target in ((in_a_loop, "python"), (in_a_loop, "cpu"), (smooth, "cpu"))
]


@pytest.mark.parametrize(("function", "target"), [(few, "python"), (smooth, "python"), *LONG])
def test_argument(function, target) -> None:
    direction = np.array([0.3, -0.7, 0.2])
    value, gradient = adjit.value_and_grad(function, target=target)(X, np.random.default_rng(3))
    np.testing.assert_allclose(value, drawn_by(function)(X), rtol=1e-14)
    same, tangent = adjit.jvp(function, (X, np.random.default_rng(3)), (direction, None), target=target)
    np.testing.assert_allclose((same, tangent), (value, gradient @ direction), rtol=1e-12)
    if function is smooth:
        plain, step = drawn_by(function), 1e-5
        expected = [(plain(X + step * e) - plain(X - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(gradient, expected, rtol=1e-7)


def test_it_is_left_where_the_program_leaves_it() -> None:
    mine, plain = np.random.default_rng(3), np.random.default_rng(3)
    gradient = adjit.grad(lambda x, rng: x * rng.normal())
    assert [gradient(1.0, mine) for _ in range(2)] == [plain.normal() for _ in range(2)]
    value, pullback = adjit.vjp(lambda x, rng: x * rng.normal(), 1.0, mine)
    assert value == plain.normal()
    assert pullback(1.0)[0] == value
    assert pullback(2.0)[0] == 2 * value
    assert mine.normal() == plain.normal()


OUTSIDE = np.random.default_rng(1)
REFUSED_ARGUMENT = [
    (lambda x, rng: x * OUTSIDE.normal(), "`normal` of a generator .* from outside"),
    (lambda x, rng: adjit.grad(lambda y: y * rng.normal())(x), "differentiated inside another"),
    (lambda x, rng: rng.choice(np.array([x, 1.0]), 2, replace=False)[0], "`choice` .* numba does not have"),
    (lambda x, rng: x * rng.dirichlet([1.0, 2.0])[0], "`dirichlet` of a generator"),
    (lambda x, rng: x * rng, "a generator of random numbers"),
    (lambda x, rng: (x, rng)[1], "returns a generator of random numbers"),
]


@pytest.mark.parametrize(
    ("function", "message"), REFUSED_ARGUMENT, ids=lambda part: part if isinstance(part, str) else ""
)
def test_refused_argument(function, message) -> None:
    with pytest.raises(errors.AdjitError, match=message):
        adjit.grad(function, target="python")(1.5, np.random.default_rng(3))


@pytest.mark.long
def test_multivariate_normal() -> None:
    def function(m, c):
        np.random.seed(3)
        z = np.random.multivariate_normal(m, c @ c.T, 2)
        return np.sum(z * z * m) + np.sum(np.random.multivariate_normal(m, c @ c.T))

    check(function, lambda: (X.copy(), np.array([[1.0, 0, 0], [0.3, 2, 0], [0.2, 0.4, 3]])), (0, 1), second=False)


def test_columns_of_a_jacobian_are_of_one_draw():
    def scaled(x):
        return x * np.random.rand()

    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    np.testing.assert_array_equal(adjit.jacfwd(scaled, target="python")(np.ones(5)), expected * np.eye(5))
    with pytest.raises(ValueError, match="more than 8 columns"):
        adjit.jacfwd(scaled, target="python")(np.ones(9))
    np.random.seed(3)
    np.testing.assert_array_equal(adjit.jacrev(scaled, target="python")(np.ones(9)), expected * np.eye(9))
