"""Lists and tuples of numbers where NumPy and SciPy take arrays: from outside, made by the program, in one another."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
from scipy.interpolate import Akima1DInterpolator, CubicSpline, RegularGridInterpolator

import adjit

PLACES = [0.0, 1.0, 2.5, 4.0]
COUNTS = [1, 2, 5, 3]
ROWS = [[1.0, 2.0], [3.0, 5.0]]
PAIR = ([1.0, 2.0], [3.0, 5.0])
OF_ARRAYS = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
MANY = [0.01 * k * k for k in range(200)]
SHAPE, ORDER, EDGES, NAMES = [2, 3], [1, 0], [0.1, 0.2], ["a", "b", "a"]


def changed_in_place(x):
    a = np.ones((2, 2)) * x
    a += ROWS
    a[0] = ROWS[1]
    a[:, 1] *= [x, 2.0]
    a[COUNTS[0]] = OF_ARRAYS[0] * x
    return np.sum(a * PAIR)


def not_the_list_itself(x):
    a = np.asarray(PLACES)
    a[1] = x
    return np.sum(a) * np.sum(PLACES)


TAKEN = {
    "interp": lambda x: np.interp(x, PLACES, COUNTS),
    "interp of its own": lambda x: np.interp(x, (0.0, 1.0, 2.0), [x, 2.0 * x, x * x]),
    "many": lambda x: np.interp(x, MANY, MANY),
    "dot": lambda x: np.dot(PLACES, COUNTS) * x + np.sum(np.dot(ROWS, [x, x * x])) + np.sum(np.dot(OF_ARRAYS, [x, x])),
    "reductions": lambda x: np.sum(ROWS, axis=0)[1] * x + np.mean(PAIR) * x + np.prod([x, x]) + np.argmax(COUNTS) * x,
    "ufuncs": lambda x: np.sum(np.sin(PLACES) * np.maximum(PLACES, x)) + np.add.reduce(PLACES) * x,
    "solve": lambda x: np.sum(np.linalg.solve(ROWS, [x, 1.0])) + np.linalg.det([[2, 1], [1, 3]]) * x,
    "operators": lambda x: np.sum(PLACES + np.ones(4) * x) + np.sum(ROWS @ np.array([x, x * x])),
    "tuples": lambda x: np.sum((1.0, 2.0) + np.ones(2) * x) + np.sum(np.ones(2) * x * PAIR),
    "comparison": lambda x: np.sum(np.where(np.ones(4) * x > PLACES, x, 2.0 * x)),
    "in place": changed_in_place,
    "a copy": not_the_list_itself,
    "methods": lambda x: (np.ones(4) * x).dot(PLACES) + np.sum((np.arange(4.0) * x).take(COUNTS[:2])),
    "joined": lambda x: np.sum(np.concatenate([PLACES, [x, x]])) + np.sum(np.vstack((PLACES, COUNTS))) * x,
    "longer": lambda x: np.sum(np.array([*PLACES, x])) * np.sum(PLACES + [6.0]),
    "shapes": lambda x: np.sum(np.full(SHAPE, x)) + np.transpose(np.ones((2, 3)) * x, ORDER)[1, 0],
    "einsum": lambda x: np.einsum("ij,j->i", ROWS, [x, 1.0])[0],
    "polynomial": lambda x: np.polyval(PLACES, x) + np.polyfit(PLACES, [x, 1.0, 2.0, 3.0], 1)[0],
    "texts": lambda x: np.unique(NAMES).size * x,
    "allclose": lambda x: x if np.allclose(PLACES, PLACES) else 2.0 * x,
    "special": lambda x: np.sum(scipy.special.erf(PLACES)) * x + scipy.special.logsumexp([x, 1.0]),
    "filter": lambda x: np.sum(scipy.signal.firwin(9, EDGES)) * x + scipy.signal.firwin(9, [0.1, 0.2])[3],
    "solve of scipy": lambda x: np.sum(scipy.linalg.solve_banded((1, 1), [[0, 1, 1], [4, 4, 4], [1, 1, 0]], [1, x, 3])),
    "spline": lambda x: CubicSpline(PLACES, COUNTS)(x) + np.sum(CubicSpline(PLACES, [x, x * x, 1.0, x])([0.5, 1.1])),
    "spline of integers": lambda x: Akima1DInterpolator([1, 2, 3, 4, 6], [1, 4, 2, 5, 7])(1.0 + x),
    "grid": lambda x: RegularGridInterpolator((PLACES, [0.0, 1.0]), [[1, 2], [2, 4], [5, 6], [7, 8]])([x, 0.5])[0],
    "simpson": lambda x: scipy.integrate.simpson([x, x * x, 1.0, 2.0], x=[0, 1, 3, 4]),
    "trapezoid": lambda x: np.trapezoid(PLACES, COUNTS) * x + scipy.integrate.trapezoid([x, 1.0], [0, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name):
    function, x, step = TAKEN[name], 1.3, 1e-5
    value, found = adjit.value_and_grad(function, target="python")(x)
    assert value == pytest.approx(function(x), rel=1e-13)
    wanted = (function(x + step) - function(x - step)) / (2.0 * step)
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-9)


def test_compiled():
    function = TAKEN["many"]
    value, found = adjit.value_and_grad(function)(1.3)
    assert (value, found) == (pytest.approx(1.3), pytest.approx(1.0))
    # no store of each constant
    assert len(adjit.grad(function).source(1.3).splitlines()) < 40


def shuffled(x):
    np.random.shuffle(PLACES)
    return x * PLACES[0]


def uneven(x):
    return np.sum(np.array([[1.0, 2.0], [3.0]]) * x)


OF_TWO_LENGTHS = [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (shuffled, "shuffling of a list"),
        (uneven, "rows of an array differ"),
        (lambda x: np.sum(OF_TWO_LENGTHS) * x, "rows of an array differ"),
        (lambda x: np.sum([np.sin, np.cos]) * x, "np.sin"),
    ],
)
def test_refused(function, says):
    with pytest.raises(adjit.AdjitError) as raised:
        adjit.grad(function, target="python")(1.3)
    assert says in str(raised.value)
