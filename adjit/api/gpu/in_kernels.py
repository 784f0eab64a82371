"""Derived functions that the user's own kernels call, one call a thread.

In: a `Derivative`, or a function that makes derivatives itself. Out: a function of numbers, tuples and arrays of the
thread's that has a meaning inside of `@cuda.jit` functions alone.

    jacobian = adjit.jacfwd(step, wrt=("y", "v"), target="cuda-device")

    @cuda.jit
    def propagate(y, v, out):
        i = cuda.grid(1)
        (yy, yv), (vy, vv) = jacobian(y[i], v[i], 0.01)

numba compiles a call for the types of its arguments; in the simulator, generated text runs in each simulated thread.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from adjit.api.specialise.dispatch import TARGETS, Specialising, derive, stub_of
from adjit.api.specialise.notation import to_text
from adjit.api.specialise.options import Options, make_options
from adjit.errors import Unsupported, WrongCall
from adjit.runtime.backend.dispatcher import Picklable, compiler_lock, sparing
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, root, shown, specification

if TYPE_CHECKING:
    from adjit.transform.emit.emit import Emitted

_FOR_KERNELS = "# For kernels."
_NEEDS_DEVICE = "# For kernels. It needs adjit for its device functions."


def device(function: Any, **options: Any) -> Any:
    """A function for kernels, in which it may call `adjit.grad`, `adjit.jvp` and the like of other functions.

    `function` takes and returns numbers, tuples of numbers, and arrays that it is given; it is called in kernels as
    device functions are. WrongCall outside of a kernel; Unsupported, at its line, for what needs memory whose size
    nobody knows while compiling.

        newton = adjit.cuda.device(lambda x, a: x - (x * x - a) / adjit.grad(lambda t: t * t)(x))
    """
    found, chosen = specification(function), make_options({"target": "cuda-device", **options})
    made = found if isinstance(found, Derivative) else Derivative(function=found, kind="primal", wrt=None)
    return derive(made, chosen)


class InKernels(Specialising, Picklable):
    """A derived function that kernels call. `overloads`: by types of the arguments, what runs."""

    is_of_host = False

    def __init__(self, derivative: Derivative, options: Options) -> None:
        self._describe(derivative, options)
        self.overloads: dict[tuple[types.Type, ...], Any] = {}
        self._dress()
        from adjit.runtime.cuda.device_calls import declare

        declare(self, stub_of(root(derivative), self.__signature__), self._for_types, options.fastmath is True)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """A call in a simulated thread."""
        from adjit.runtime.cuda import device_calls

        if not device_calls.in_simulated_kernel():
            raise WrongCall(
                f"{shown(self.derivative)} is called outside of a kernel",
                why='With target="cuda-device" it can only be called in kernels.',
                instead='Call it in a @cuda.jit function, or use target="cpu".',
            )
        given = derivatives.bound(self.derivative, arguments, keywords)
        key = tuple(map(device_calls.type_of, given))
        found = self.overloads.get(key)
        if found is None:
            # threads of one block come here together
            with compiler_lock:
                found = self.overloads.get(key) or self.overloads.setdefault(key, self._for_types(key))
        with np.errstate(all="ignore"):
            return found(*given)

    @functools.cached_property
    def into(self) -> Any:
        """The function with parameters for the gradient's arrays, in the order of `wrt`, behind its own.

        It stores the gradient there, and returns it: `store = adjit.grad(f, "x", target="cuda-device").into`, and in a
        kernel `store(x, a, x_bar)`; None is passed for numbers. They have the lengths of their arguments, and overlap
        with none: nothing checks that in a kernel.
        """
        made = self.derivative
        if made.kind not in ("grad", "value_and_grad") or made.wrt is None:
            raise Unsupported(f"{shown(made)} with arrays to store into", instead="Use grad or value_and_grad.")
        return self._storing

    def source(self, *arguments: Any, tuned: bool = True, standalone: bool = False) -> str:
        """The generated source for these arguments: a module with the function, as kernels call it.

        standalone: with what it needs of adjit's written out.
        """
        from adjit.transform.emit import module_text

        given = self._specialised(self._types_of(arguments))
        with compiler_lock:
            emitted = self._emitted(self.derivative, given)
        needs = _FOR_KERNELS if standalone else _NEEDS_DEVICE
        return module_text(emitted, is_tuned=True, needs=needs, is_bundled=standalone)

    @property
    def stretching(self) -> Any:
        """Itself: it assumes nothing about axes of length 1."""
        return self

    def _emitted(self, derivative: Derivative, given: tuple[types.Type, ...]) -> Emitted:
        from adjit.runtime.backend.typing import of_the_cpu
        from adjit.transform import pipeline

        with of_the_cpu(), sparing():
            return pipeline.source(dataclasses.replace(derivative, stretches=True), given)

    def _for_types(self, given: Sequence[types.Type]) -> Any:
        """The function for arguments of these types, to be compiled for a thread, or run by a simulated one."""
        from adjit.runtime.cuda.device_calls import load

        with compiler_lock:
            taken = self._specialised(given)
            emitted, _ = self._noted(self.derivative, taken)
            title = f"{emitted.name} {', '.join(map(to_text, taken))} for kernels"
            return load(emitted.text, emitted.globals, emitted.name, title)


TARGETS["cuda-device"] = InKernels


def check_kind(kind: str, target: str) -> None:
    """WrongCall for `jvp` and `vjp`, which are calls and not functions, of functions for kernels."""
    if target == "cuda-device":
        raise WrongCall(
            f'adjit.{kind} with target="cuda-device"',
            why="A kernel can only call functions that are compiled for it.",
            instead=f"Write a function that calls adjit.{kind}, and compile it for kernels with adjit.cuda.device(f).",
        )
