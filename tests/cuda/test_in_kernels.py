"""Derived functions that kernels call: compiled, and what is refused, at its line."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

import adjit
from tests.cuda.compiled import code_of_kernel, needs_compiler
from tests.cuda.in_kernels import KERNELS, cubic, of_rows, single, step
from tests.cuda.package import cuda

# five of six are left to the long run
NAMES = [
    pytest.param(name, marks=[pytest.mark.long] if name not in ("in local arrays", "newton") else [])
    for name in KERNELS
]


def code(kernel, types, cc=(9, 0)):
    return code_of_kernel(kernel, types, cc)


@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_kernels_compile_without_spills(name):
    found = code(KERNELS[name][0], "float64[::1], float64[::1]")
    assert not found.spills
    assert found.atomics == 0
    # the calls are inlined, so that what a thread keeps is in registers
    assert not re.search(r"^\s*call.*grad|^\s*call.*jacobian", found.ptx, re.M)


@needs_compiler
@pytest.mark.parametrize(
    "kernel, types", [(single, "float32[::1], float32[::1]"), (of_rows, "float64[:, ::1], float64[:, ::1]")]
)
def test_single_precision_and_rows(kernel, types):
    found = code(kernel, types, (8, 0))
    assert not found.spills
    assert found.doubles == 0 or "float64" in types


@pytest.mark.long
@needs_compiler
def test_compiling_a_kernel_leaves_the_types_of_the_cpu_alone():
    text = """
import warnings, adjit, numpy as np
from tests.cuda.compiled import code_of_kernel
from tests.cuda.in_kernels import newton
from tests.cuda.test_in_kernels import with_dot
code_of_kernel(newton, "float64[::1], float64[::1]")
warnings.simplefilter("ignore")
adjit.grad(with_dot)(2.0, np.ones((4, 4))[::2, ::2], np.ones(4)[::2])
"""
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@needs_compiler
def test_what_a_call_cannot_be_is_refused_while_the_kernel_is_compiled():
    gradient = adjit.grad(with_memory, target="cuda-device")

    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = gradient(x[i], i)

    with pytest.raises(adjit.Unsupported, match="values of a loop"):
        code(kernel, "float64[::1], float64[::1]")


def with_memory(x, n):
    for _ in range(n):
        x = math.sin(x) * x
    return x


def until_small(x):
    while abs(x) > 1e-3:
        x = math.sin(x) * x
    return x


def with_array(x, n):
    y = np.empty(n)
    for i in range(n):
        y[i] = x * i
    return y[0] + y[n - 1]


def returning(x):
    return x * np.ones(3)


def with_dot(s, a, x):
    return s * np.sum(a @ x)


def with_solve(s, a, x):
    return s * np.sum(np.linalg.solve(a, x))


def with_shapes(s, x, y):
    return s * np.sum(x * y)


def with_raise(x):
    if x < 0.0:
        raise ValueError("negative")
    return math.sqrt(x)


def with_draws(x):
    return x * np.random.normal()


def with_much(x):
    y = np.empty(1000)
    for i in range(1000):
        y[i] = math.sin(x * i)
    total = 0.0
    for i in range(999):
        total += y[i] * y[i + 1]
    return total


def complex_valued(z):
    return abs(z) ** 2


REFUSED = [
    (adjit.grad, with_memory, "float64, int64", "values of a loop for its reverse", "math.sin(x) * x"),
    (adjit.grad, until_small, "float64", "an unknown number of iterations", "math.sin(x) * x"),
    (adjit.grad, with_array, "float64, int64", "the array `y`", "np.empty(n)"),
    (adjit.cuda.device, returning, "float64", "an array that", "np.ones(3)"),
    (adjit.grad, with_dot, "float64, float64[:, ::1], float64[::1]", "whose shapes may not fit", "a @ x"),
    (adjit.grad, with_solve, "float64, float64[:, ::1], float64[::1]", "whose shapes may not fit", "np.linalg.solve"),
    (adjit.grad, with_shapes, "float64, float64[:], float64[:]", "whose shapes may not fit", "np.sum(x * y)"),
    (adjit.jacfwd, with_raise, "float64", "`raise`", "raise ValueError"),
    (adjit.grad, with_draws, "float64", "np.random.", "np.random.normal()"),
    (adjit.grad, with_much, "float64", "an array of 8,", ""),
    (adjit.grad, complex_valued, "complex128", "complex numbers", "def complex_valued"),
]


@pytest.mark.parametrize("kind, function, types, what, line", REFUSED, ids=[row[1].__name__ for row in REFUSED])
def test_refused_at_its_line(kind, function, types, what, line):
    with pytest.raises(adjit.Unsupported) as fault:
        kind(function, target="cuda-device").source(types)
    assert what in fault.value.what
    assert fault.value.place is not None
    assert line in fault.value.place.text
    assert fault.value.instead


def test_what_has_no_meaning_in_kernels_is_refused():
    with pytest.raises(adjit.WrongCall, match="outside of a kernel"):
        adjit.grad(cubic, target="cuda-device")(0.5, 1.0)
    with pytest.raises(adjit.WrongCall, match="adjit.cuda.device"):
        adjit.jvp(step, (0.1, 0.2, 0.1), (1.0, 0.0, 0.0), target="cuda-device")
    with pytest.raises(adjit.WrongCall, match="adjit.cuda.device"):
        adjit.vjp(step, 0.1, 0.2, 0.1, target="cuda-device")
    with pytest.raises(adjit.Unsupported, match="store into"):
        _ = adjit.jacfwd(step, target="cuda-device").into
    with pytest.raises(adjit.WrongCall, match="boundscheck"):
        adjit.grad(cubic, target="cuda-device", boundscheck=True)


def test_the_source_is_what_kernels_call():
    text = adjit.jacfwd(step, wrt=("y", "v"), target="cuda-device").source("float64, float64, float64, float64")
    assert "@cuda.jit(device=True)\ndef step_jacobian(y, v, h, friction):" in text
    compile(text, "<source>", "exec")
    assert "Jacobian" in str(adjit.jacfwd(step, wrt="y", target="cuda-device").explain("float64, float64, float64"))
