"""What `target="cuda"` does not take is an error at the user's line, with a way out; no GPU is needed for that."""

import numpy as np
import pytest
from scipy import special

import adjit


def with_solve(a, x):
    return np.sum(np.linalg.solve(a, x))


def with_fft(x):
    return np.sum(np.abs(np.fft.fft(x)))


def with_draws(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * np.random.normal()
    return total


def with_many_draws(x):
    return np.sum(x * np.random.normal(0.0, 1.0, x.size))


def with_bessel(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = special.jv(1.5, x[i])
    return np.sum(y)


def with_complex(z):
    return np.abs(z[0]) ** 2


def with_sort(x):
    return np.sort(x)[0]


REFUSED = [
    (with_solve, "float64[:, :], float64[:]", "of whole arrays", "np.linalg.solve(a, x)", "compute it outside"),
    (with_fft, "float64[:]", "of whole arrays", "np.fft.fft(x)", "compute it outside"),
    (with_draws, "float64[:]", "draws random numbers", "np.random.normal()", "pass them"),
    (with_many_draws, "float64[:]", "", "np.random.normal(0.0, 1.0, x.size)", ""),
    (with_bessel, "float64[:]", "a kernel makes", "special.jv(1.5, x[i])", "compute it outside"),
    (with_complex, "complex128[:]", "complex numbers", "def with_complex(z)", "real and imaginary parts"),
    (with_sort, "float64[:]", "of whole arrays", "np.sort(x)[0]", "as loops"),
]


@pytest.mark.parametrize("function, types, what, line, way_out", REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_refused_at_its_line(function, types, what, line, way_out):
    with pytest.raises(adjit.Unsupported) as fault:
        adjit.grad(function, target="cuda").source(types)
    assert what in fault.value.what
    assert fault.value.place is not None
    assert line in fault.value.place.text
    assert way_out in str(fault.value)


X = np.linspace(0.1, 0.9, 5)
FOR_THE_CPU = {
    "several tangents": lambda: adjit.jvp(np.sin, (X,), (np.ones((3, 5)),), several=True, target="cuda"),
    "jet": lambda: adjit.jet(np.sin, 2, target="cuda")(X, X),
    "rounding errors": lambda: adjit.rounding_error(np.sum, target="cuda")(X),
    "intermediates": lambda: adjit.grad(np.sum, intermediates="z", target="cuda")(X),
    "a sparse Jacobian": lambda: adjit.jacobian(np.sin, sparse=True, target="cuda")(X),
    "check_grads": lambda: adjit.check_grads(np.sum, (X,), target="cuda"),
    "precompile": lambda: adjit.precompile(adjit.grad(np.sum, target="cuda"), "float64[:]"),
}


@pytest.mark.parametrize("what", FOR_THE_CPU)
def test_what_there_is_for_the_cpu_alone(what):
    with pytest.raises(adjit.Unsupported, match=what) as fault:
        FOR_THE_CPU[what]()
    assert fault.value.instead
