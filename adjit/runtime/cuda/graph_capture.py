"""Launches that are recorded instead of run, and then issued as one, as often as is asked for: the driver's graphs.

In: what launches. Out: a `Recorded`, which holds the memory that its kernels use, and is launched on a stream.

    with recording() as found:
        gradient(x, w)
    found.launch(stream)

What is recorded has memory of its own, which nobody else is given as long as it may be launched. Arrays of the host's
are sent while it is recorded, and copied on the device whenever it is launched. What the host reads it cannot have yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.cuda import streams
from adjit.runtime.cuda.backend import Memory, as_device_array, cuda
from adjit.runtime.cuda.driver import driver
from adjit.runtime.cuda.pool import Pool
from adjit.runtime.cuda.streams import recorded
from adjit.runtime.library.gpus import SIMULATED

_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated and kernels may be loaded meanwhile
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for what is recorded


class Recorded:
    """What was recorded. In the simulator nothing is: it only tells that something would be."""

    def __init__(self) -> None:
        self.stream = 0 if SIMULATED else cuda.stream()
        self.pool = Pool(Memory)
        self._sent: list[Any] = []
        self._executable: ctypes.c_void_p | None = None

    def sent(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy of an array of the host's on the device, which is made at once, and is for nobody to change."""
        found = cuda.device_array(array.shape, array.dtype)
        if SIMULATED:
            found.copy_to_device(array)
            return as_device_array(found)
        own = ctypes.c_void_p()
        _call("cuStreamCreate", ctypes.byref(own), _NON_BLOCKING)
        try:
            found.copy_to_device(array, stream=cuda.external_stream(own.value))
            _call("cuStreamSynchronize", own)
        finally:
            _call("cuStreamDestroy_v2", own)
        self._sent.append(found)
        return as_device_array(found)

    def begin(self) -> None:
        """From here on, launches on its stream are recorded."""
        _call("cuStreamBeginCapture_v2", self._handle, _RELAXED)

    def end(self) -> None:
        """What was recorded becomes what can be launched."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            _call("cuStreamEndCapture", self._handle, ctypes.byref(graph))
        except WrongCall as fault:
            raise WrongCall(
                "an operation in a graph that cannot be recorded",
                why=f"{fault.what}.",
                instead="Launch your own kernels on `adjit.cuda.current()`, and read arrays and synchronize outside.",
            ) from None
        try:
            _call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        finally:
            _call("cuGraphDestroy", graph)
        self._executable = executable
        weakref.finalize(self, driver().cuGraphExecDestroy, executable).atexit = False

    def give_up(self) -> None:
        """Ends what is not recorded to its end."""
        graph = ctypes.c_void_p()
        # which fails if it was something that cannot be recorded
        if not driver().cuStreamEndCapture(self._handle, ctypes.byref(graph)):
            _call("cuGraphDestroy", graph)

    def launch(self, stream: Any) -> None:
        """Issues it on a stream, behind what was issued there."""
        _call("cuGraphLaunch", self._executable, ctypes.c_void_p(int(stream) if stream else 0))

    @property
    def _handle(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(int(self.stream))


@contextlib.contextmanager
def recording() -> Iterator[Recorded]:
    """Within it, launches of this thread are recorded and not run (in the simulator, they are run)."""
    found = Recorded()
    with streams.recorded_by(found):
        if SIMULATED:
            yield found
            return
        found.begin()
        try:
            yield found
        except BaseException:
            found.give_up()
            raise
        found.end()


def check_ours() -> None:
    """WrongCall if the current stream is captured by somebody else: the memory that kernels use is given to others then
    while they may still be launched again."""
    stream = streams.current()
    if not stream or SIMULATED or recorded() is not None:
        return
    status = ctypes.c_int()
    _call("cuStreamIsCapturing", ctypes.c_void_p(int(stream)), ctypes.byref(status))
    if status.value:
        raise WrongCall(
            "a derivative is called while its stream is captured",
            why="Its memory would be reused before the captured graph is launched.",
            instead="Leave it out of the capture, and use `adjit.cuda.graph(gradient, ...)`.",
        )


def _call(name: str, *arguments: Any) -> None:
    """Calls a function of the driver's; WrongCall if it fails."""
    failed = getattr(driver(), name)(*arguments)
    if failed:
        raise WrongCall(
            f"{name} failed with driver error {failed}",
            instead="Look up the number in the CUDA driver API, under CUresult.",
        )


def refuse_reading() -> None:
    """Unsupported where the host would read from the device while launches are recorded."""
    if recorded() is not None:
        raise Unsupported(
            "a graph in which the host reads a number from the device",
            why="The launches depend on the number, but no kernel has run while a graph is recorded.",
            instead="Call the derivative without `adjit.cuda.graph`. Its `explain` shows the `if` or `while`.",
        )
