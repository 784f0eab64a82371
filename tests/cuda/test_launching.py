"""What the host does for a launch, without a GPU: how arguments are packed, and which calls take the short way."""

import contextlib
import re
import struct

import numpy as np
import pytest
from numba import cuda, types

import adjit
from adjit.runtime.cuda import arrays, kernels, launch
from adjit.runtime.cuda.device_array import DeviceArray
from adjit.runtime.cuda.pool import Pool
from tests.cuda.compiled import needs_compiler

pytestmark = needs_compiler

_SIZES = {"b64": "q", "u64": "q", "f64": "d", "b32": "i", "u32": "i", "f32": "f", "u16": "h", "u8": "?", "b8": "?"}


@pytest.mark.parametrize(
    "given",
    [
        "float64[:, ::1], float32, float64[::1]",
        "boolean, float64[:], boolean, boolean, int64",
        "int32, float32[:, :, ::1], int32, float64, boolean",
        "int16, int32, boolean, float32, uint8, float64[::1]",
    ],
)
def test_arguments_lie_where_the_kernel_finds_them(given):
    from adjit.runtime.cuda.resources import ptx_of

    count = len(re.sub(r"\[.*?\]", "", given).split(","))
    names = [f"p{k}" for k in range(count)]
    scope = {}
    exec(f"def kernel({', '.join(names)}): pass", scope)
    ptx = ptx_of(scope["kernel"], given, (9, 0))
    wanted = re.findall(r"\.param \.(\w+) ", ptx)
    own = tuple(eval(f"[{given}]", {}, vars(types)))
    found = kernels.layout(own).removeprefix("@")
    sizes = [struct.calcsize(f"@{letter}") for letter in found]
    assert sizes == [struct.calcsize(f"@{_SIZES[kind]}") for kind in wanted]


def test_numbers_are_as_c_has_them():
    assert kernels._number(types.float32)(1e39).value == np.inf
    assert kernels._number(types.int32)(2**31).value == -(2**31)
    assert kernels._number(types.int64)(np.int64(-3)).value == -3
    assert kernels._number(types.boolean)(np.True_).value is True


def over(array):
    return DeviceArray(array.ctypes.data, array.shape, array.strides, array.dtype, array)


def test_what_types_are_made_of(monkeypatch):
    monkeypatch.setattr(arrays, "has_one_device", lambda: True)
    a = over(np.ones((3, 4)))
    assert arrays.at_once((a, 2.0, 3)) == (a, 2.0, 3)
    assert arrays.at_once((a, True)) is None
    assert arrays.at_once((a, [a])) is None
    assert arrays.at_once((a, np.ones(3))) is None
    kinds = [arrays.kinds((over(b), 1.0)) for b in (np.ones((3, 4)), np.ones((5, 2)), np.ones((4, 3)).T)]
    assert kinds[0] == kinds[1] != kinds[2]
    assert arrays.kinds((over(np.ones(3)),)) != arrays.kinds((over(np.ones(3, np.float32)),))
    assert arrays.kinds((a, np.True_)) is None


@cuda.jit
def squared(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]


def energy(x, k):
    return np.sum(k * x * x)


class Memory:
    """In the place of the driver's."""

    def __init__(self, size):
        self.array = np.empty(size, np.uint8)
        self.place = self.array.ctypes.data


class Recorded:
    """In the place of a compiled kernel: what is launched, and with what."""

    launches: list = []

    def __init__(self, kernel):
        self.name = kernel.__name__

    def __getitem__(self, shape):
        return lambda *given: self.launches.append((self.name, shape, given))


@pytest.fixture
def recorded(monkeypatch):
    """Arrays in the host's memory, and kernels that only note that they are launched."""
    from adjit.runtime.cuda import backend

    monkeypatch.setattr(launch, "quick", Recorded)
    monkeypatch.setattr(backend.cuda, "jit", lambda *_, **__: lambda function: function)
    monkeypatch.setattr(arrays, "has_one_device", lambda: True)
    monkeypatch.setattr(Recorded, "launches", [])
    monkeypatch.setattr(backend, "in_context", contextlib.nullcontext)
    monkeypatch.setattr(backend, "pool", Pool(Memory))
    return Recorded.launches


def test_a_second_launch_of_a_kernel_checks_what_the_first_one_has(recorded):
    n = 6
    x, y, x_bar, y_bar = (over(np.ones(n)) for _ in range(4))
    adjoint = adjit.cuda.adjoint(squared)
    for _ in range(3):
        adjoint[1, 8](x, y, x_bar=x_bar, y_bar=y_bar)
    adjoint[1, 8](x, y, y_bar=y_bar, x_bar=x_bar)
    assert len(recorded) == 4
    assert all(found == recorded[0] for found in recorded)
    adjoint[0, 8](x, y, x_bar=x_bar, y_bar=y_bar)
    assert len(recorded) == 4
    with pytest.raises(adjit.TypeMismatch, match="x_bar"):
        adjoint[1, 8](x, y, x_bar=over(np.ones(n + 1)), y_bar=y_bar)
    with pytest.raises(adjit.Aliased):
        adjoint[1, 8](x, y, x_bar=x_bar, y_bar=x_bar)
    assert len(recorded) == 4


def test_functions_are_looked_up_by_what_types_are_made_of(recorded):
    gradient = adjit.grad(energy, target="cuda")
    for x in (over(np.ones(5)), over(np.ones(9)), over(np.ones(9, np.float32))):
        gradient.strict(x, 2.0)
        gradient.strict(x, 3.0)
    assert len(gradient._by_kinds) == len(gradient.overloads) == 2
