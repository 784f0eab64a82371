"""A user's kernels as they are written for numba-cuda-mlir, with its `cuda` and its types.

ADJIT_CUDA_BACKEND=numba-cuda-mlir python -m tests.cuda.of_mlir
"""

import math

import numpy as np
from numba_cuda_mlir import cuda
from numba_cuda_mlir.types import float32, float64

import adjit
from tests.cuda.compiled import code_of_kernel


@cuda.jit(device=True)
def squared(v):
    return v * v


@cuda.jit
def tree(x, out):
    part = cuda.shared.array(8, float64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = squared(x[row, t])
    cuda.syncthreads()
    half = 4
    while half > 0:
        if t < half:
            part[t] = part[t] * math.cos(part[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = part[0] * float32(2.0)


def program(x):
    given, out = cuda.to_device(x), cuda.device_array(3, np.float64)
    tree[3, 8](given, out)
    return out[0] + out[2]


gradient = adjit.grad(lambda x, a: x**3 + a * x, target="cuda-device")
jacobian = adjit.jacfwd(lambda x: (x * x, math.sin(x)), target="cuda-device")


@cuda.jit
def calling(x, out):
    i = cuda.grid(1)
    place = cuda.local.array(3, float64)
    if i < x.size:
        for j in range(3):
            place[j] = x[i] * j
        out[i] = gradient(place[1], 2.0) + jacobian(place[0])[0]


def main():
    assert adjit.cuda.backend() == "numba-cuda-mlir"
    text = adjit.cuda.adjoint(tree).source("float64[:, ::1], float64[::1]", block=8)
    assert "from numba_cuda_mlir import cuda" in text
    assert "import cuda\n" in text.replace("numba_cuda_mlir", "")
    x = np.random.default_rng(1).normal(size=(3, 8))
    x_bar, out_bar = np.zeros_like(x), np.array([1.0, 0.0, 1.0])
    adjit.cuda.adjoint(tree, target="python")[3, 8](x, np.zeros(3), x_bar=x_bar, out_bar=out_bar)
    np.testing.assert_allclose(adjit.grad(program, target="cpu")(x), x_bar)
    direction, h = np.random.default_rng(2).normal(size=x.shape), 1e-5
    values = [adjit.vjp(program, x + s * direction, target="python")[0] for s in (h, -h)]
    np.testing.assert_allclose((values[0] - values[1]) / (2 * h), np.vdot(x_bar, direction), rtol=1e-7)
    assert not code_of_kernel(calling, "float64[::1], float64[::1]").spills


if __name__ == "__main__":
    main()
