"""Calls with slots, for a library that is NumPy with a class around arrays: values, shapes, adjoints, axes."""

from dataclasses import dataclass

import numpy as np
import pytest

import adjit
from adjit.api.specialise.options import make_options
from adjit.bridges.calls import Kind, opened
from adjit.errors import TypeMismatch, Unsupported
from tests.bridges import programs
from tests.golden import primals

PLAIN = make_options({"target": "python"})


@dataclass
class Tensor:
    value: object


class Wrapped:
    is_ahead = True

    def is_tensor(self, value):
        return isinstance(value, Tensor)

    def kind_of(self, tensor):
        return Kind(np.asarray(tensor.value).dtype, np.shape(tensor.value))


def call_of(function, *arguments, **keywords):
    call, tensors = opened(function, PLAIN, arguments, keywords, Wrapped())
    return call, [tensor.value for tensor in tensors]


U = np.random.default_rng(3).standard_normal(6)


def shaped(case):
    return case.mode != "forward" and case.name in (
        "damped", "rosenbrock", "heat", "log_likelihood", "memory_cell", "kepler", "loss", "smooth", "layers",
    )  # fmt: skip


@pytest.mark.parametrize("case", list(filter(shaped, primals.CASES)), ids=lambda case: case.name)
def test_values_and_adjoints_are_those_of_the_function(case):
    given = [Tensor(a) if k in case.wrt else a for k, a in enumerate(case.arguments)]
    call, tensors = call_of(case.function, *given)
    (value,) = call.run(tensors)
    assert value == pytest.approx(case.function(*case.arguments), rel=1e-13)
    adjoint = call.adjoint(range(len(tensors)))
    expected = adjit.grad(case.function, wrt=case.wrt, target="python")(*case.arguments)
    for one, other in zip(adjoint.run([*tensors, 1.0]), expected, strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def loops(u, n):
    """Arrays that loops hand on, that are views, that branches choose."""
    v, w = u, np.zeros((n, 3))
    for t in range(n):
        v = v + 0.1 * np.sin(v)
        for k in range(2):
            w = w + v[0]
    if v[0] > 0.0:
        z = v[1:]
    else:
        z = 2.0 * v[:-1]
    return v, w, z, w.T, v[::2]


def grows(u, n):
    for t in range(n):
        u = np.concatenate((u, u))
    return u


def alternates(u, w, n):
    for t in range(n):
        u, w = w, u
    return u


def inside(u, n):
    v = u
    for t in range(n):
        w = v
        for k in range(2):
            w = w + 1.0
        v = w[1:]
    return v


@pytest.mark.parametrize(
    "function, arguments, told",
    [
        (loops, (Tensor(U), 4), [(6,), (4, 3), (5,), (3, 4), (3,)]),
        (grows, (Tensor(U), 2), [(None,)]),
        (alternates, (Tensor(U), Tensor(U[:3]), 1), [(None,)]),
        (alternates, (Tensor(U), Tensor(2.0 * U), 1), [(6,)]),
        (inside, (Tensor(U), 2), [(None,)]),
        (programs.heat, (Tensor(U), 0.1, 3), [(6,)]),
        (programs.chosen, (Tensor(U),), [(None,)]),
    ],
    ids=["loops", "grows", "unlike", "alike", "inside", "heat", "chosen"],
)
def test_shapes_that_are_told_are_right(function, arguments, told):
    call, tensors = call_of(function, *arguments)
    found = call.run(tensors)
    assert [kind.extents for kind in call.results] == told
    for kind, value in zip(call.results, found, strict=True):
        assert value.dtype == kind.dtype
        known = [(a, b) for a, b in zip(kind.extents, np.shape(value), strict=True) if a is not None]
        assert all(a == b for a, b in known)


def test_stretched_axes_are_seen():
    def product(a, b):
        return a * b

    call, tensors = call_of(product, Tensor(np.ones((3, 1))), Tensor(np.ones((3, 4))))
    assert call.results[0].extents == call.run(tensors)[0].shape == (3, 4)


def test_an_integer_that_shapes_depend_on():
    def zeros(n, x):
        return np.zeros(n) + x

    assert call_of(zeros, 4, Tensor(1.0))[0].results[0].extents == (4,)
    # in a slot it may be any
    assert call_of(zeros, Tensor(np.int64(4)), Tensor(1.0))[0].results[0].extents == (None,)


def test_elements_of_open_arrays_are_not_known():
    def zeros(sizes, x):
        return np.zeros(sizes[0]) + x

    assert call_of(zeros, np.array([4]), Tensor(1.0))[0].results[0].extents == (4,)
    assert call_of(zeros, Tensor(np.array([4])), Tensor(1.0))[0].results[0].extents == (None,)


def test_adjoints_of_adjoints():
    call, tensors = call_of(programs.energy, Tensor(U), Tensor(0.7))
    adjoint = call.adjoint([0])
    second = adjoint.adjoint([0])
    v = np.arange(6.0)
    assert (adjoint.adjoints, second.adjoints) == ((0,), (0,))
    expected = adjit.hvp(programs.energy, target="python")(U, 0.7, v)
    assert second.run([*tensors, 1.0, v])[0] == pytest.approx(expected, rel=1e-12)


def test_over_a_new_axis():
    rows = np.random.default_rng(1).standard_normal((4, 6))
    call, _ = call_of(programs.several, Tensor(U), Tensor(0.7), Tensor(np.int64(2)))
    mapped = call.mapped([0], 4)
    assert [kind.extents for kind in mapped.results] == [(4, 6), (4,), (4,)]
    for found, *own in zip(mapped.run([rows, 0.7, 2]), *(programs.several(x, 0.7, 2) for x in rows), strict=True):
        assert found == pytest.approx(np.array(own), rel=1e-14)
    # what stands in one structure goes along together
    own, _ = call_of(programs.layers, {"layers": [], "scale": Tensor(0.5)}, Tensor(U))
    assert own.mapped_slots([1]) == {1}


def test_refused():
    with pytest.raises(Unsupported, match="draws random numbers"):
        call_of(programs.drawing, Tensor(U))
    # NumPy has one object for both
    with pytest.raises(TypeMismatch, match="Pass an integer"):
        call_of(lambda x, a, b: x if a else -x if b else 0.0, Tensor(0.5), Tensor(np.True_), Tensor(np.False_))
    with pytest.raises(TypeMismatch, match="Pass a tuple"):
        call_of(lambda xs: xs[0] + xs[1], [Tensor(1.0), Tensor(2.0)])
    with pytest.raises(adjit.WrongCall):
        call_of(programs.energy, Tensor(U))
