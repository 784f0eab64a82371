"""np.isclose and np.allclose, with all that NumPy takes for their arguments."""

import numpy as np
import pytest

import adjit

A = np.array([1.0, np.nan, np.inf, -np.inf, 0.0, 1e-9, 1.0])
B = np.array([1.0 + 1e-9, np.nan, np.inf, np.inf, 1e-9, 0.0, 2.0])
C = np.array([1.0 + 2.0j, np.nan, 1.0 - 1e-9j])
COUNTS, OTHERS, TRUTHS = np.array([1, 2, 3]), np.array([1, 2, 4]), np.array([True, False, True])
EACH = np.array([1, 0, 1, 1, 0, 1, 1])

CLOSE = {
    "plain": lambda x: np.isclose(x * A, x * B),
    "names": lambda x: np.isclose(b=A, a=x * B, rtol=1e-13, atol=0),
    "places": lambda x: np.isclose(x * A, B, 1, 0, True),
    "nan": lambda x: np.isclose(x * A, B, equal_nan=True),
    "nan known as it runs": lambda x: np.isclose((x * A)[:6].reshape(2, 3), B[:6].reshape(2, 3), equal_nan=x > 0),
    "number": lambda x: np.isclose(x, A, atol=EACH),
    "two numbers": lambda x: np.isclose(x, 1, rtol=0),
    "integers": lambda x: np.isclose(COUNTS, OTHERS) & (x > 0),
    "truths": lambda x: np.isclose(TRUTHS, TRUTHS) & (x > 0),
    "lists": lambda x: np.isclose([1.0, 2], [x, x]),
    "stretched": lambda x: np.isclose(A[:, None] * x, B),
    "complex": lambda x: np.isclose(C * x, C, equal_nan=True),
    "complex number": lambda x: np.isclose(1 + 1j * x, 1 + 1j),
}


@pytest.mark.parametrize("name", CLOSE)
def test_close(name):
    is_close = CLOSE[name]

    def chosen(x):
        return np.sum(np.where(is_close(x), x, 2.0 * x))

    assert adjit.value_and_grad(chosen, target="python")(1.0) == (chosen(1.0), chosen(1.0))


def settled(x):
    y = x
    for _ in range(50):
        updated = 0.5 * (y + x / y)
        if np.allclose(updated, y, rtol=1e-13, atol=0):
            break
        y = updated
    return np.sum(y) if np.allclose(A, A, equal_nan=True) and not np.allclose(A, A, 1e-5, 1) else np.sum(x)


def test_allclose():
    x = np.array([2.0, 3.0])
    value, found = adjit.value_and_grad(settled)(x)
    assert value == settled(x)
    np.testing.assert_allclose(found, 0.5 / np.sqrt(x), rtol=1e-12)


def test_refused():
    with pytest.raises(adjit.AdjitError, match="isclose"):
        adjit.grad(lambda x: x if np.isclose(x, 1.0, tolerance=1.0) else 2.0 * x)(1.0)
