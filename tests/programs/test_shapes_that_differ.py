"""Shapes that do not fit when the program runs: ValueError at the user's line, with the lengths, in all modes.

Also where the derivative needs no value of what would not fit: `np.dot(x, y)` has the gradient y, whatever it is.
"""

import numpy as np
import pytest

import adjit
from tests.defining import define

X, Y, A = np.arange(3.0) + 1.0, np.arange(4.0) + 1.0, np.ones((3, 4))

# by what the error says: programs, and arguments
SAID = {
    "the factors of a product do not fit: axes of length 3 and 4": [
        ("np.dot(x, y)", X, Y), ("x @ y", X, Y), ("np.vdot(x, y)", X, Y), ("np.sum(x @ y)", A.T, Y),
        ("np.sum(x @ y)", X, A.T), ("np.trace(np.dot(x, y))", A.T, A.T), ("(x @ y) @ (x @ y)", X, A.T),
        ("np.einsum('i,i->', x, y)", X, Y), ("np.sum((x @ y) ** 2)", A.T, Y),
    ],
    "the factors of a product do not fit: axes of length 4 and 3": [("np.dot(x, y)", Y, X), ("np.sum(x @ y)", A, X)],
    "operands could not be broadcast together: axes of length 3 and 4": [
        ("np.sum(x * y)", X, Y), ("np.sum(np.where(x > 1.0, x, y))", X, Y), ("np.mean((x - y) ** 2)", X, Y),
    ],
    "an axis of length 3 cannot take a value of length 4": [
        ("np.sum(np.stack((x, y)))", X, Y), ("np.sum(np.vstack((x, y)))", X, Y),
    ],
    "the right side does not fit the matrix: axes of length 3 and 4": [
        ("np.sum(np.linalg.solve(x, y))", np.eye(3), Y),
    ],
    "an array of 3 elements cannot have this shape, which has 4": [
        ("np.sum(x.reshape(2, 2)) * y", X, 2.0), ("x.reshape(2, 2)[0, 1] * y", X, 2.0),
    ],
    "an array of 3 elements cannot have this shape": [
        ("np.sum(x.reshape(2, -1)) * y", X, 2.0), ("np.sum(np.reshape(x, (2, -1))[0]) * y", X, 2.0),
    ],
    "np.max of an array without elements": [("np.max(x) * y", np.zeros(0), 2.0)],
    "the points of np.interp and their values differ in length: 3 and 4": [("np.interp(1.5, x, y)", X, Y)],
    "3 values to unpack to 2 names": [("(lambda a, b: a * b)(*x) * y", X, 2.0)],
    "zip() argument 2 is shorter or longer than the first": [
        ("sum(a * b for a, b in zip(x, y, strict=True))", X, Y),
    ],
}  # fmt: skip
CASES = [(said, *case) for said, cases in SAID.items() for case in cases]
DERIVED = {
    "grad": lambda f, x, y: adjit.grad(f, wrt=(0, 1))(x, y),
    "value_and_grad": lambda f, x, y: adjit.value_and_grad(f)(x, y),
    "jvp": lambda f, x, y: adjit.jvp(f, (x, y), (np.ones_like(x), np.ones_like(y))),
    "vjp": lambda f, x, y: adjit.vjp(f, x, y),
    "python": lambda f, x, y: adjit.grad(f, wrt=1, target="python")(x, y),
}


@pytest.mark.parametrize("mode", sorted(DERIVED))
@pytest.mark.parametrize(("said", "expression", "x", "y"), CASES)
def test_names_the_line_and_the_lengths(said, expression, x, y, mode):
    function = define(f"def f(x, y):\n    return {expression}\n", "shapes.py", np=np)["f"]
    with pytest.raises((ValueError, TypeError)):
        function(x, y)
    with pytest.raises(ValueError) as caught:
        DERIVED[mode](function, x, y)
    first, place, *_ = str(caught.value).splitlines()
    assert first == said
    assert "shapes.py:2 in f" in place
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_product_in_a_loop_that_does_not_run():
    def steps(W, h, n):
        for _ in range(n):
            h = W @ h
        return np.sum(h)

    assert np.array_equal(adjit.grad(steps, wrt=1)(A, X, 0), np.ones(3))
    with pytest.raises(ValueError, match="axes of length 4 and 3"):
        adjit.grad(steps, wrt=1)(A, X, 1)
    square = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(adjit.grad(steps, wrt=1)(square, X, 2), np.ones(3) @ square @ square)


def test_a_product_of_a_branch_that_is_not_taken():
    def chosen(x, y, is_product):
        return np.dot(x, y) if is_product else np.sum(x) * y[3]

    np.testing.assert_array_equal(adjit.grad(chosen)(X, Y, False), np.full(3, 4.0))
    with pytest.raises(ValueError, match="axes of length 3 and 4"):
        adjit.grad(chosen)(X, Y, True)


def test_a_missing_key_is_named_with_its_line():
    def looked_up(x, table, key):
        return x * table[key]

    with pytest.raises(KeyError, match=r"test_shapes_that_differ.py:\d+ in looked_up"):
        adjit.grad(looked_up)(2.0, {1: 2.0, 3: 4.0}, 2)
