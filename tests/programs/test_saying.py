"""What a program prints, warns and logs is said once, in the forward sweep."""

import logging
import warnings

import numpy as np
import pytest

import adjit

LINES = "y is 4.0 3\n"


def printed(x):
    y = x * x
    print("y is", y, 3)
    return y * x


def told(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
        if s > 0.5:
            print(f'step {i}: {s:.3f} {{"{x.size}"}} {"a"!r} {2 * s:{n}.2f}', x.shape, None, flush=True)
    print(s, end=" !\n")
    return s


TOLD = (
    'step 1: 0.740 {"3"} \'a\' 1.48 (3,) None\n'
    'step 2: 1.550 {"3"} \'a\' 3.10 (3,) None\n'
    "1.55 !\n"
)  # fmt: skip


def warned(x):
    if x > 1:
        warnings.warn(f"{x:.1f} is large", RuntimeWarning)  # noqa: B028  as people write it
    logging.warning("x is %s", x)
    return x * x


X = np.array([0.5, 0.7, 0.9])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_numbers(target, capfd):
    assert adjit.grad(printed, target=target)(2.0) == 12.0
    assert capfd.readouterr().out == LINES


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_texts_with_formats(target, capfd):
    np.testing.assert_allclose(adjit.grad(told, target=target)(X, 3), 2 * X)
    assert capfd.readouterr().out == TOLD


def test_each_derivative_says_it_once(capfd):
    adjit.jvp(told, (X, 3), (X, 0), target="python")
    assert capfd.readouterr().out == TOLD
    np.testing.assert_allclose(adjit.hvp(printed, target="python")(2.0, 1.0), 12.0)
    assert capfd.readouterr().out == LINES
    assert adjit.grad(told).source(X, 3).count("print(") == 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_warnings_and_logs(target, caplog):
    with pytest.warns(RuntimeWarning, match="2.0 is large"):
        assert adjit.grad(warned, target=target)(2.0) == 4.0
    assert caplog.messages == ["x is 2.0"]


def into_a_file(x):
    print(x, file=None)
    return x * x


def what_is_no_number(x):
    print(np.sin)
    return x * x


@pytest.mark.parametrize(
    "function, what", [(into_a_file, "`print` with this argument"), (what_is_no_number, "where something is said")]
)
def test_refused(function, what):
    with pytest.raises(adjit.Unsupported, match=what):
        adjit.grad(function)(1.5)
