"""What is refused, the words for it, and programs that do what these say."""

import collections
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

import adjit
from adjit.errors import TypeMismatch, Unsupported

X = np.array([1.0, 2.0])
RNG = np.random.default_rng(1)


def grad(function: Any, **options: Any) -> Any:
    return adjit.grad(function, target="python", **options)


class Empty:
    pass


class Sized:
    def __init__(self) -> None:
        self.mass = 2.0

    def cubed(self, x):
        return self.mass * x**3


@numba.vectorize(["float64(int64)"])
def doubled_count(k):
    return k * 2.0


@numba.guvectorize(["void(complex128[:], complex128[:])"], "(n)->(n)")
def doubled_complex(a, b):
    for k in range(a.size):
        b[k] = 2.0 * a[k]


def total_of(d, x):
    return x * d.total()


def filled(x, n):
    d = {}
    for k in range(n):
        d[k] = x
    return d.total()


def ways_apart(x):
    for k in range(int(3.0 * x)):
        if k == 1:
            return x
        if k == 2:
            return np.array([x, x])
    return x


def one_way(x):
    for k in range(int(3.0 * x)):
        if k == 1:
            return x
        if k == 2:
            return np.array([x, x])[0]
    return x


def kinds_apart(x, n):
    for k in range(n):
        if k == 1:
            y = x * x
        else:
            y = (x, x)
    if n < 1:
        y = x
    return y


def with_part(p):
    return p["a"] ** 3


of_part = adjit.grad(with_part, wrt="p['a']")

# the program, its arguments, the words, and a program that does what they say
REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str, Callable[..., Any] | None]] = {
    "exec": (lambda x: exec("x = 1.0"), (1.0,), "cannot run code that is in a string", None),
    "a generator from outside": (
        lambda x: x * RNG.normal(),
        (1.0,),
        "`normal` of a random generator from outside.*Pass a numpy.random.Generator",
        None,
    ),
    "no attributes": (lambda x: Empty().y * x, (1.0,), "has no attribute `y`.*It has none.*Check the name", None),
    "another attribute": (
        lambda x: Sized().mas * x,
        (1.0,),
        "has no attribute `mas`.*It has mass",
        lambda x: Sized().mass * x,
    ),
    "a method of a Counter": (
        lambda x: total_of({1: 2}, x),
        (1.0,),
        "a dictionary has no method `total`",
        lambda x: total_of(collections.Counter({1: 2}), x),
    ),
    "of a dictionary at run time": (filled, (1.0, 3), "no method of a Counter.*Make it a collections.Counter", None),
    "axes named twice": (
        lambda x: np.sum(np.transpose(np.outer(x, x), (0, 0))),
        (X,),
        r"the axes \(0, 0\) of an array with 2 axes",
        lambda x: np.sum(np.transpose(np.outer(x, x), (1, 0))),
    ),
    "an unknown argument": (
        lambda x: np.trapezoid(x, where=True),
        (X,),
        "argument `where` of np.trapezoid.*adjit takes y, x, dx, axis",
        lambda x: np.trapezoid(x),
    ),
    "too many": (lambda x: np.sum(np.cumsum(x, 0, None, None, 1)), (X,), "np.cumsum with 5 arguments", None),
    "types of vectorize": (
        lambda x: np.sum(doubled_count(x)),
        (X,),
        r"doubled_count with \(float64\).*for \(int64\) only",
        lambda x: np.sum(doubled_count(np.array([1, 2])) * x),
    ),
    "complex guvectorize": (
        lambda x: np.sum(doubled_complex(x * 1j).imag),
        (X,),
        "doubled_complex, a function of numba.guvectorize, of complex",
        None,
    ),
    "results of two kinds in a loop": (ways_apart, (1.5,), "the type of the result depends on the path", one_way),
    "variables of two kinds in a loop": (kinds_apart, (1.5, 2), "the type of `y` depends on the path taken", None),
    "a derivative by a part": (lambda p: of_part(p), ({"a": 2.0},), "a call of <grad of with_part.* inside", None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_what_is_said_helps(name: str) -> None:
    function, arguments, words, instead = REFUSED[name]
    with pytest.raises((Unsupported, TypeMismatch), match=f"(?s){words}"):
        grad(function)(*arguments)
    if instead is not None:
        adjit.check_grads(instead, arguments[:1], order=1)


def test_a_compressed_matrix_is_not_to_be_compressed() -> None:
    matrix = csr_array(np.eye(2))
    with pytest.raises(TypeMismatch, match=re.escape("Pass A.data, and build the matrix inside")):
        adjit.hvp(lambda A: np.sum((A @ X) ** 2), target="python")(matrix, matrix)

    def of_data(data, A):
        return np.sum((csr_array((data, A.indices, A.indptr), shape=A.shape) @ X) ** 2)

    found = adjit.hvp(of_data, target="python")(matrix.data, matrix, np.ones(2))
    np.testing.assert_allclose(found, 2.0 * X**2)


def test_a_derivative_by_a_part_or_of_a_method_is_the_outermost() -> None:
    for made in (of_part, grad(Sized().cubed)):
        with pytest.raises(Unsupported, match="a derivative of <grad of"):
            adjit.grad(made)
    assert grad(grad(lambda a: with_part({"a": a})))(2.0) == 12.0
    assert grad(grad(Sized.cubed, wrt="x"), wrt="x")(Sized(), 2.0) == 24.0
