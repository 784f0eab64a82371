"""A variable that is of one kind on one path and of another on the other: right, or refused, never something else."""

import itertools

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError, InternalError
from tests.defining import define

KINDS = ("2.0", "u * 1.0", "u.astype(np.float32)", "A * 1.0", "3", "(x, u)", "(x, x)", "np.arange(2)", "True", "1j * x")
ASSIGNED = {
    "branch": "if n > 1:\n    r = {0}\nelse:\n    r = {1}",
    "expression": "r = {0} if n > 1 else {1}",
    "before and in a branch": "r = {0}\nif n > 1:\n    r = {1}",
    "before and in a loop": "r = {0}\nfor i in range(n):\n    r = {1}",
    "left loop": "r = {0}\nwhile True:\n    if n > 1:\n        break\n    r = {1}\n    break",
}
READ = {
    "at once": "s = np.sum(r * x)",
    "round a loop": "for k in range(n):\n    r = r * 0.5\ns = np.sum(r * x)",
    "after a loop that assigns": "for k in range(n - 2):\n    r = 7.0\ns = np.sum(r * x)",
    "in a loop": "s = 0.0\nfor k in range(n):\n    s += np.sum(r * x)",
    "in a while": "c = 0\ns = 0.0\nwhile c < n:\n    r = r + 1.0\n    c += 1\ns = np.sum(r * x)",
    "by an inner function": "def g(y):\n    return np.sum(r * y)\ns = g(x)",
    "in the next trip": "s = 0.0\nfor k in range(n):\n    if k > 0:\n        s += np.sum(p * x)\n    p = r",
    "in a branch of a loop": "s = 0.0\nfor k in range(n):\n    if k > 0:\n        r = r * 0.5\n    s += np.sum(r * x)",
    "item by item": "s = 0.0\nfor k in range(n):\n    s += x * r[k % 2]\n    r = r * 2",
}
U, A, X = np.array([0.3, 0.4]), np.array([[0.5, -0.2], [0.1, 0.9]]), 0.7


def program(assigned, read, one, other):
    lines = [*ASSIGNED[assigned].format(one, other).splitlines(), *READ[read].splitlines(), "return s * x"]
    text = "def program(x, u, A, n):\n" + "".join(f"    {line}\n" for line in lines)
    return define(text, f"<{assigned}, {read}, {one}, {other}>", np=np)["program"]


PAIRS = list(itertools.product(ASSIGNED, READ))


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("assigned", "read"), PAIRS)
def test_what_is_of_two_kinds(assigned, read):
    right = 0
    for one, other in itertools.permutations(KINDS, 2):
        function = program(assigned, read, one, other)
        derived = adjit.value_and_grad(function, target="python")
        # differences of numbers in 32 bits want a long step; these are exact for polynomials of degree 4
        step = 0.1 if "float32" in one + other else 1e-6
        for n in (0, 1, 2, 3):
            try:
                with np.errstate(all="ignore"):
                    wanted = function(X, U, A, n)
                    beside = [function(X + k * step, U, A, n) for k in (-2, -1, 1, 2)]
            except Exception:  # noqa: BLE001  whatever plain Python says
                continue
            try:
                value, bar = derived(X, U, A, n)
            except InternalError:
                raise
            except AdjitError:
                continue
            assert value == pytest.approx(wanted, rel=1e-6), function.__code__.co_filename
            slope = np.dot(beside, [1, -8, 8, -1]) / (12 * step)
            assert bar == pytest.approx(slope, rel=1e-5, abs=1e-6), function.__code__.co_filename
            right += 1
    assert right > 10 or read == "item by item"
