"""Launches in the simulator with arguments of the types that kernels are compiled for, which it does not look at.

In: nothing. Out: within `checked`, a launch of a generated kernel with another type is an AssertionError.
"""

import contextlib
from unittest import mock

import numpy as np


def parts(text):
    """What stands between the commas of a signature, those in brackets aside."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [part.strip() for part in found if part.strip()]


def fits(wanted, value):
    """Whether an argument is of the type that a signature names."""
    if wanted.startswith("Array("):
        kind, axes = parts(wanted.removeprefix("Array(")[:-1])[0], []
    else:
        kind, _, rest = wanted.partition("[")
        axes = parts(rest[:-1]) if rest else None
    is_array = hasattr(value, "_ary")
    if axes is None:
        return not is_array and not (kind.startswith("int") and isinstance(value, float | np.floating))
    if not is_array:
        return False
    own = value._ary
    is_laid = not axes or axes[-1] != "::1" or own.flags.c_contiguous
    return own.dtype == np.dtype(kind.replace("boolean", "bool")) and own.ndim == len(axes) and is_laid


@contextlib.contextmanager
def checked():
    from numba import cuda
    from numba.cuda.simulator.kernel import FakeCUDAKernel

    make, call = cuda.jit, FakeCUDAKernel.__call__

    def jit(*args, **options):
        made = make(*args, **options)
        if not args or not isinstance(args[0], str):
            return made

        def decorated(function):
            kernel = made(function)
            kernel.wanted = parts(args[0].removeprefix("void(")[:-1])
            return kernel

        return decorated

    def launch(kernel, *args):
        for wanted, value in zip(getattr(kernel, "wanted", ()), args, strict=False):
            assert fits(wanted, value), f"{kernel.fn.__name__}: {value!r} is not {wanted}"
        return call(kernel, *args)

    with mock.patch.object(cuda, "jit", jit), mock.patch.object(FakeCUDAKernel, "__call__", launch):
        yield
