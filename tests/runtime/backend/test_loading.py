"""What a first derivative loads: in processes of their own, since what is loaded stays."""

import ctypes
import json
import os
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

from adjit.rules.numpy.fft import HAS_ROCKET_FFT
from adjit.runtime.backend import loading
from adjit.runtime.backend.versions import is_plain

FIRST = """
import json, sys
import numpy as np
import adjit

def f(x, a):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = a * np.sin(x[i])
    return np.sum(y * y)

BY_NO_IMPORT = ("libcst", "scipy.linalg", "numba.np.arrayobj", "adjit.transform.ir", "adjit.report.page")
found = {"imported": [name for name in BY_NO_IMPORT if name in sys.modules]}
gradient = adjit.grad(f, wrt=(0, 1))(np.array([0.0, 1.0]), 2.0)
GPU = ("adjit.transform.gpu", "adjit.transform.gpu.kernels")
apart = ("scipy.linalg", "scipy.fft", "scipy.sparse", "rocket_fft", *GPU)
found["first"] = [name for name in apart if name in sys.modules]
found["value"] = gradient[1]
"""
LATER = """
import numba
from numba.core import entrypoints

found["waiting"] = not entrypoints._already_initialized

@numba.njit
def power(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)

@adjit.rules.tangent(power)
def of_power(x, x_dot, *, y):
    return 2.0 * x.size * np.sum(x * x_dot)

x = np.array([1.0, 2.0, 0.5])
found["dispatcher"] = adjit.grad(lambda x: power(x))(x).tolist()
found["called"] = adjit.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x).tolist()
found["product"] = adjit.grad(lambda A, b: np.sum(A @ b))(np.eye(2), np.ones(2)).tolist()
found["solved"] = float(numba.njit(lambda A, b: np.linalg.solve(A, b).sum())(2.0 * np.eye(2), np.ones(2)))
"""

PRODUCTS = """
import json, sys
import numpy as np
import adjit

A = np.array([[2.0, 1.0], [0.0, 4.0]])
found = {"gradient": adjit.grad(lambda A: np.sum(np.linalg.inv(A @ A)))(A).tolist()}
found["package"] = "scipy.linalg" in sys.modules
import scipy.linalg.cython_blas
found["known"] = [
    getattr(scipy.linalg, name) is sys.modules[f"scipy.linalg.{name}"] for name in ("cython_blas", "cython_lapack")
]
found["inverse"] = scipy.linalg.inv(A @ A).tolist()
found["other"] = adjit.grad(lambda A: np.sum(np.linalg.inv(A @ A.T)))(A).tolist()
"""


@pytest.fixture
def program(tmp_path):
    """Runs text from a file, where functions have their source."""

    def run_file(text):
        path = tmp_path / "program.py"
        path.write_text(text + "print(json.dumps(found))\n")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ADJIT_CACHE": "0", "ADJIT_VERIFY": ""}
        command = [sys.executable, "-W", "ignore", str(path)]
        return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)

    return run_file


@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_the_first_derivative_loads_what_it_needs(program):
    found = program(FIRST)
    assert found["imported"] == []
    assert found["first"] == []
    assert found["value"] == pytest.approx(4 * 0.7080734182735712, rel=1e-12)


@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_products_load_blas_without_its_package(program):
    found = program(PRODUCTS)
    A = np.array([[2.0, 1.0], [0.0, 4.0]])

    def by_hand(B, parts):
        """Of the sum of an inverse: B_bar = -B^-T 1 1^T B^-T, and what of it goes to A."""
        inverse = np.linalg.inv(B).T
        return parts(-inverse @ np.ones((2, 2)) @ inverse)

    assert not found["package"]
    assert found["known"] == [True, True]
    assert np.allclose(found["inverse"], np.linalg.inv(A @ A))
    assert np.allclose(found["gradient"], by_hand(A @ A, lambda B_bar: B_bar @ A.T + A.T @ B_bar))
    assert np.allclose(found["other"], by_hand(A @ A.T, lambda B_bar: (B_bar + B_bar.T) @ A))


@pytest.mark.skipif(not HAS_ROCKET_FFT, reason="nothing compiles Fourier transforms")
def test_a_first_derivative_may_be_that_of_a_fourier_transform(program):
    found = program("""
import json
import numpy as np
import adjit

x = np.array([1.0, 2.0, 0.5])
found = adjit.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), target="python")(x).tolist()
""")
    assert found == pytest.approx([6.0, 12.0, 3.0])


@pytest.mark.long
@pytest.mark.skipif(is_plain() or not HAS_ROCKET_FFT, reason="there is no extension to wait")
def test_what_waits_is_there_when_it_is_called_for(program):
    found = program(FIRST + LATER)
    assert found["waiting"]
    assert found["dispatcher"] == pytest.approx([6.0, 12.0, 3.0])
    assert found["called"] == pytest.approx([6.0, 12.0, 3.0])
    assert found["product"] == [[1.0, 1.0], [1.0, 1.0]]
    assert found["solved"] == 1.0


def test_blas_counts_its_threads():
    if not loading.counts_threads():
        pytest.skip("of OpenBLAS on Linux")
    count = ctypes.CFUNCTYPE(ctypes.c_int)(llvm.address_of_symbol(loading.THREADS))()
    assert 1 <= count <= 4096


@pytest.mark.parametrize("threads", ["1", "2"])
def test_products_by_so_many_threads(threads, tmp_path):
    """A process that compiles them, and one that takes them from the cache: the second one has BLAS's function, too."""
    text = (
        "import numpy as np, adjit\n"
        "def energy(A, B):\n"
        "    C = np.dot(A, B)\n"
        "    return np.sum(C * C)\n"
        "A, B = np.arange(30000.0).reshape(200, 150) / 3e4, np.ones((150, 100))\n"
        "bar = adjit.grad(energy)(A, B)\n"
        "assert np.allclose(bar, 2 * A @ B @ B.T)\n"
        "print(adjit.cache_info().hits)\n"
    )
    (tmp_path / "program.py").write_text(text)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "ADJIT_CACHE_DIR": str(tmp_path / "cache")}
    # derivatives of tests are not kept, and are verified
    for name in ("ADJIT_CACHE", "ADJIT_VERIFY"):
        environment.pop(name, None)
    for hits in ("0", "1"):
        command = [sys.executable, str(tmp_path / "program.py")]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == hits
