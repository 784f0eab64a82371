"""Sizes: their text in the user's terms, and their values, which are those of the arrays that NumPy makes."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import adjit  # noqa: F401  (rules)
from adjit.transform import ir, pipeline
from adjit.transform.explain.formulas import Sizes, item_bytes
from adjit.transform.strategy import Strategy


def sizes(function, *arguments):
    """For each array that the primal makes, by its name: text and value of its bytes."""
    plain = Strategy(without=frozenset({"maps"}))
    made = pipeline.primal(function, tuple(numba.typeof(a) for a in arguments), True, plain)
    known = dict(zip(made.body.args, arguments, strict=True))
    found = Sizes(made, lambda var: var.name, known)
    arrays = [out for op in ir.walk(made.body) for out in op.results if ir.is_array(out) and out.user]
    return {out.name: (str(found.bytes_of(out)), found.bytes_of(out).value) for out in arrays}


def one(function, *arguments):
    ((text, value),) = sizes(function, *arguments).values()
    return text, value


A = np.arange(12.0).reshape(3, 4)


def test_extents_of_arguments():
    def copied(a):
        b = a.copy()
        return b[0, 0]

    assert one(copied, A) == ("8 * a.shape[0] * a.shape[1]", 96)


def test_a_name_of_the_users():
    def made(x, k):
        n = x.size * k
        b = np.zeros(n)
        return b[0] + x[0]

    assert one(made, np.ones(5), 3) == ("8 * n", 120)


def test_a_name_that_stands_for_two_values_is_spelled_out():
    def made(x, k):
        n = k + 1
        if x > 0.0:
            n = n + 2
        b = np.zeros(k * 2)
        return b[0] + x * n

    assert one(made, 1.0, 3) == ("8 * (k * 2)", 48)


def test_constants_come_together():
    def made(x):
        b = np.zeros((4, x.size, 3))
        return b[0, 0, 0] + x[0]

    assert one(made, np.ones(5)) == ("96 * x.size", 480)


def test_what_only_the_run_knows():
    def made(x):
        n = int(x[0])
        b = np.zeros(n)
        return b[0] + x[0]

    assert one(made, np.ones(5)) == ("8 * n", None)


def test_an_integer_in_an_array():
    def made(x, sizes):
        b = np.zeros(sizes[1])
        return b[0] + x

    assert one(made, 1.0, np.array([2, 7])) == ("8 * sizes[1]", 56)


def test_an_integer_in_an_array_that_changes():
    def made(x, sizes):
        sizes[1] += 1
        b = np.zeros(sizes[1])
        return b[0] + x

    (_, value), *_ = [size for name, size in sizes(made, 1.0, np.array([2, 7])).items() if name == "b"]
    assert value is None


SLICES = {
    "a[1:-1]": ("8 * (a.size - 2)", slice(1, -1)),
    "a[2:]": ("8 * (a.size - 2)", slice(2, None)),
    "a[:k]": ("8 * k", slice(None, 3)),
    "a[k:]": ("8 * (a.size - k)", slice(3, None)),
    "a[-2:]": ("8 * min(a.size, 2)", slice(-2, None)),
    "a[:]": ("8 * a.size", slice(None)),
    "a[1:k]": ("8 * (k - 1)", slice(1, 3)),
}


@pytest.mark.parametrize("text", SLICES)
@pytest.mark.parametrize("size", [7, 2, 1, 0])
def test_slices(text, size, tmp_path):
    file = tmp_path / "sliced.py"
    file.write_text(f"def made(a, k):\n    b = {text}\n    return b.sum()\n")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    expected, part = SLICES[text]
    array = np.ones(size)
    assert sizes(scope["made"], array, 3)["b"] == (expected, array[part].nbytes)


def test_broadcasting():
    def made(a, b):
        c = a * b
        return c.sum()

    found = sizes(made, np.ones((3, 1)), np.ones((1, 4)))["c"]
    assert found == ("8 * max(a.shape[0], b.shape[0]) * max(a.shape[1], b.shape[1])", 96)


@pytest.mark.parametrize(
    ("type_", "size"), [(numba.float64, 8), (numba.float32, 4), (numba.boolean, 1), (numba.complex128, 16)]
)
def test_elements(type_, size):
    assert item_bytes(type_) == size
