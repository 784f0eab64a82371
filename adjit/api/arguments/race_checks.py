"""Looks for races in the launches of a kernel, and of a program that launches some, with ADJIT_CUDA_CHECK=1.

In: a kernel and how it is launched, or a derivative of a program, and arguments. Out: Race, if a launch has one.

What is looked at is what the user wrote: a kernel's nest, in plain Python on copies in the host's memory, element by
element. Derivatives rest on there being no race, and have none then; in the simulator that is looked at, too.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjit import switches
from adjit.api.arguments.trees import map_leaves
from adjit.api.arguments.types import specialised, type_of
from adjit.errors import InternalError, Place, Race
from adjit.runtime.backend.dispatcher import compiler_lock
from adjit.runtime.compile import load
from adjit.runtime.library.gpus import SIMULATED, is_on_device
from adjit.transform.source.callables import python_function, signature
from adjit.transform.source.derivative import Derivative, parameters

if TYPE_CHECKING:
    from types import FunctionType

    from adjit.transform.frontend import KernelLaunch
    from adjit.transform.gpu.kernels import Asked


def is_asked_for() -> bool:
    """Whether races are to be looked for."""
    return switches.is_on("ADJIT_CUDA_CHECK")


def check_launch(asked: Asked, arguments: Sequence[Any], grid: Sequence[int]) -> None:
    """Race if the kernel, launched on copies of these arguments, has one. `grid`: and the bytes of shared memory."""
    own = (map_leaves(_own_on_host, a) for a in arguments)
    _Watched(asked)(*own, *grid)


def check_program(derivative: Derivative, arguments: Sequence[Any]) -> None:
    """Race if a launch of the program that this is a derivative of has one; the arguments are those of the derivative,
    of which the program's come first."""
    from adjit.transform import kernel_pipeline
    from adjit.transform.gpu.kernels import Asked

    if derivative.kind == "split_reverse":
        return  # what its forward sweep did was looked at
    while isinstance(derivative.function, Derivative):
        derivative = derivative.function
    given = [map_leaves(_on_host, a) for a in arguments[: len(parameters(derivative.function).parameters)]]

    def launching(launch: KernelLaunch) -> Callable[..., None]:
        return _Watched(Asked(launch.kernel, "primal", launch.launched, (), derivative.strategy))

    with compiler_lock:
        types = [specialised(type_of(a)) for a in given]
        emitted = kernel_pipeline.watched_program(derivative.function, types, launching)
        if emitted is None:
            return
        run = load(emitted.text, emitted.globals, emitted.name, f"{emitted.name} watched", is_plain=True)
    with np.errstate(all="ignore"):
        run(*given)


def looking_at_kernels() -> contextlib.AbstractContextManager[None]:
    """Within it, in the simulator, InternalError is raised where a generated kernel has a race."""
    return _looking() if SIMULATED and is_asked_for() else contextlib.nullcontext()


@contextlib.contextmanager
def _looking() -> Iterator[None]:
    from adjit.runtime.cuda.check import UNWRITTEN, watched

    with watched() as found:
        yield
    # what is saved of an element before it is first stored to is put back, and never used
    faults = [fault for fault in found if UNWRITTEN not in fault]
    if faults:
        raise InternalError(f"a generated kernel has a race: {faults[0]}")


def _own_on_host(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else _on_host(value)


def _on_host(value: Any) -> Any:
    """An argument in the host's memory; a number that is on the device as a number."""
    if not is_on_device(value):
        return value
    found = value.copy_to_host()
    return found[()] if found.ndim == 0 else found


class _Watched:
    """A launch, for plain Python: it does what the launch does, to arrays of NumPy's, and raises Race where that is
    one."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.function = asked, python_function(asked.kernel)
        self.__name__ = f"{self.function.__name__}_watched"
        self.made: dict[Any, FunctionType] = {}

    def __call__(self, *given: Any) -> None:
        from adjit.runtime.cuda.check import Notes, watch

        names = list(signature(self.function).parameters)
        run, notes = self.nest(given[: len(names)]), Notes()
        pairs = zip(names, given, strict=False)

        def watched(name: str, value: Any) -> Any:
            return watch(value, notes, f"`{name}`") if isinstance(value, np.ndarray) else value

        arguments = [map_leaves(functools.partial(watched, n), a) for n, a in pairs]
        with np.errstate(all="ignore"):
            run(*arguments, *given[len(names) :], notes)
        faults = notes.faults()
        if faults:
            raise Race(
                f"the kernel {self.function.__name__} has a race: {faults[0]}",
                _place(self.function),
                "" if len(faults) == 1 else f"And: {faults[1]}.",
                "Put cuda.syncthreads() between the two, or use cuda.atomic.add, or another element.",
            )

    def nest(self, given: Sequence[Any]) -> FunctionType:
        """The kernel's loops, which note what they do, for arguments of these types."""
        from adjit.transform import kernel_pipeline

        key = tuple(specialised(type_of(a)) for a in given)
        if key not in self.made:
            with compiler_lock:
                emitted = kernel_pipeline.watched_source(self.asked, key)
                title = f"{self.function.__name__} watched"
                self.made[key] = load(emitted.text, emitted.globals, emitted.name, title, is_plain=True)
        return self.made[key]


def _place(function: FunctionType) -> Place:
    """Where a kernel is."""
    code = function.__code__
    return Place(code.co_filename, function.__name__, code.co_firstlineno, 0, 0, "")
