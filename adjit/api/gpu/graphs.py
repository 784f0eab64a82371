"""Derivatives on a GPU whose launches are issued as one: CUDA graphs.

In: a derived function, or any that calls some, and its arguments. Out: a `Graph`, to be called without any.

    step = graph(gradient, x, d, w)      value, bars = step()      x is changed in place      step()
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from adjit.api.arguments.race_checks import is_asked_for
from adjit.api.arguments.trees import leaves
from adjit.api.gpu.on_device import leaves_of
from adjit.errors import WrongCall
from adjit.runtime.cuda import arrays, backend, memory, streams
from adjit.runtime.cuda.graph_capture import Recorded, recording
from adjit.runtime.library.gpus import SIMULATED, is_on_device


def graph(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Graph:
    """`function(*arguments, **named)` as a CUDA graph: what it launches is recorded at the first call and from then on
    issued as one launch, which takes the host some microseconds, however many kernels there are.

        step = adjit.cuda.graph(gradient, x, d, w)
        value, bars = step()                            launches all; the same arrays each time, filled anew

    `function` is a derived one with target="cuda", its `into`, an adjoint's launch, as in `adjoint[grid, block]`, or a
    function that calls such. Arrays are those that it is given here: what they hold at each call is what counts, so
    change them in place. Numbers are fixed; one that changes is an array of shape (). What is not launched, as what
    Python does in the function, happens once. Kernels of your own that it launches go to `adjit.cuda.current()`.
    A call is issued on the stream of `adjit.cuda.on`, or that CuPy or torch has made current.

    Unsupported where the host reads a number from the device; WrongCall where something else cannot be recorded. In the
    simulator, and with ADJIT_CUDA_CHECK=1, each call calls the function.
    """
    return Graph(function, arguments, named)


class Graph:
    """A function whose launches are recorded. `result`: what it returned; None before the first call."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._function, self._arguments, self._named = function, arguments, named
        self._arrays = _arrays_of((*arguments, *named.values()))
        self._recorded: Recorded | None = None
        self.result: Any = None

    def __repr__(self) -> str:
        return f"<graph of {self._function!r}>"

    def __call__(self) -> Any:
        if streams.recorded() is not None:
            raise WrongCall("a graph within a graph", instead="Call the kernels of the inner graph there.")
        if SIMULATED or is_asked_for():
            return self._again()
        with backend.in_context():
            if self._recorded is None:
                with recording() as found:
                    result = self._called()
                self._recorded, self.result = found, result
            self._recorded.launch(streams.current() or arrays.stream_for(self._arrays))
        return self.result

    def _called(self) -> Any:
        return self._function(*self._arguments, **self._named)

    def _again(self) -> Any:
        """Calls the function, and has what it returns in the arrays of the first call."""
        with recording() if SIMULATED else contextlib.nullcontext():
            result = self._called()
        if self.result is None:
            self.result = result
            return result
        for target, source in zip(_arrays_of([self.result]), _arrays_of([result]), strict=True):
            if target is not source:
                memory.copy_into(backend.as_device_array(source), backend.as_device_array(target))
        return self.result


def _arrays_of(values: Sequence[Any]) -> list[Any]:
    """The arrays on the device that are in these values."""
    return [a for a in leaves(tuple(leaves_of(values))) if is_on_device(a)]
