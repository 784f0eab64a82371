"""Pictures: the numbers in them, and that there are none without matplotlib."""

import sys

import numpy as np
import pytest

import adjit
from adjit.errors import Unsupported, WrongCall
from adjit.plot import bytes_of
from tests.programs.diffusion import diffuse


def energy(x, k):
    return np.sum(np.sin(k * x) * x)


GRADIENT = adjit.grad(diffuse, wrt="alpha")
CALLS = ((np.ones(100), 0.1, 50), (np.ones(200), 0.1, 80))
TAPES = (8 * 50 * 98, 8 * 80 * 198)
X = np.array([0.3, -1.1, 2.0])


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot

    yield matplotlib.pyplot
    matplotlib.pyplot.close("all")


def test_bytes_are_those_that_explain_has():
    found = bytes_of(GRADIENT.explain(*CALLS[0]))
    assert found == {
        f"v\nyour array, L{line(1)}": (800, False),
        f"sum_tape\ntape of total, L{line(6)}": (TAPES[0], True),
        "v_bar\nshadow of v": (800, False),
    }


def line(after):
    return diffuse.__code__.co_firstlineno + after


@pytest.mark.bridge
def test_bars_are_as_long_as_arrays(pyplot):
    ax = adjit.plot.tape(GRADIENT, *CALLS)
    names = [tick.get_text().partition("\n")[0] for tick in ax.get_yticklabels()]
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert names == ["v", "sum_tape", "v_bar"]
    assert widths == [[800, TAPES[0], 800], [1600, TAPES[1], 1600]]
    hatched = [[bool(bar.get_hatch()) for bar in bars] for bars in ax.containers]
    assert hatched == [[False, True, False]] * 2
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["100, 0.1, 50: 40,800", "200, 0.1, 80: 129,920"]
    ax.figure.canvas.draw()


@pytest.mark.bridge
def test_arrays_of_unknown_size_are_named(pyplot):
    def until(x):
        kept = 0.0
        while x < 10.0:
            x = x * (1.1 + 0.1 * np.sin(x))
            kept += x
        return kept

    ax = adjit.plot.tape(adjit.grad(until), (1.0,))
    assert ax.get_xlabel() == "bytes; not known before a run: sum_tape, x_tape"


@pytest.mark.bridge
def test_lines_of_convergence(pyplot):
    check = adjit.check_grads(energy, (X, 0.7), order=1, target="python")
    _, ax = pyplot.subplots()
    assert adjit.plot.convergence(check, ax=ax) is ax
    expected = check.convergence()
    lines = ax.get_lines()
    for own, errors in zip(lines, expected.errors, strict=False):
        there = errors > 0.0
        np.testing.assert_array_equal(own.get_xdata(), expected.steps[there])
        np.testing.assert_array_equal(own.get_ydata(), errors[there])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *(f"direction {k + 1}: slope {slope:.2f}" for k, slope in enumerate(expected.slopes)),
        "slope 4",
    ]
    x, y = (np.log(np.asarray(data)) for data in lines[-1].get_data())
    np.testing.assert_allclose(np.diff(y) / np.diff(x), 4.0, rtol=1e-10)


def test_differences_converge_with_the_fourth_power():
    check = adjit.check_grads(energy, (X, 0.7), order=2, target="python")
    for order in (1, 2):
        found = check.convergence(order, np.logspace(-0.5, -4.0, 20))
        assert found.errors.shape == (3, 20)
        assert found.errors.min(axis=1).max() < 1e-8
        np.testing.assert_allclose(found.slopes, 4.0, atol=0.2)
    with pytest.raises(WrongCall, match="order=3"):
        check.convergence(3)


def test_a_wrong_derivative_ends_flat():
    right = adjit.check_grads(energy, (X, 0.7), order=1, target="python")
    wrong = type(right)((tuple(type(d)(d.forward, 1.01 * d.reverse, d.difference) for d in right.orders[0]),))
    errors = wrong.convergence(1, [1e-2, 1e-3, 1e-4]).errors
    np.testing.assert_allclose(errors, 1.0 - 1.0 / 1.01, rtol=1e-4)


@pytest.mark.parametrize("draw", (lambda: adjit.plot.tape(GRADIENT, *CALLS), lambda: adjit.plot.convergence(None)))
def test_without_matplotlib_the_extra_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(Unsupported, match=r"adjit\[plot\]"):
        draw()


def test_sizes_are_tuples_of_arguments():
    with pytest.raises(WrongCall, match="one tuple of arguments per size"):
        adjit.plot.tape(GRADIENT, *CALLS[0])
