"""How far long derivatives are, and Ctrl-C that ends them: `with adjit.progress():`.

In: calls of derived functions. Out: the same results, by code that counts its iterations and can be stopped. A thread
reads the counts.

    with adjit.progress():
        gradient(u, 0.1, 10**6)         gradient of heat  L12 reverse  [#######.............]  37%  0:04

Outside of the context the usual code runs, at no cost.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self, TextIO

from adjit.api.specialise import dispatch
from adjit.runtime.backend.dispatcher import SpecialisedDispatcher
from adjit.runtime.library.watch import STATE
from adjit.transform.source.derivative import shown

_WIDTH = 20  # of a bar, in characters
_OFTEN = 0.1  # seconds between two looks
_plain = SpecialisedDispatcher.__call__


class progress:
    """Shows a progress bar for each long call of a derivative, and lets Ctrl-C stop the call.

    - `file`: the stream for the bar; None is sys.stderr.
    - `bar`: False shows none.
    - `after`: the seconds before a call gets a bar.

    The bar counts the outermost loop, first of the forward sweep, then of the reverse sweep. Derivatives are compiled a
    second time for it, without the cache. Derivatives for a GPU and uncompiled ones have no bar.

    Ctrl-C raises KeyboardInterrupt, as in plain Python. Arrays that a call stores into are then incomplete. Loops over
    prange do not stop. Python's own handler of Ctrl-C has to be in place, and the context entered in the main thread.
    In nested contexts the outermost one counts.
    """

    def __init__(self, file: TextIO | None = None, *, bar: bool = True, after: float = 0.5) -> None:
        self.file, self.bar, self.after = file, bar, after

    def __enter__(self) -> Self:
        with _lock:
            self._is_outermost = _Watch.now is None
            if self._is_outermost:
                _Watch.now = _Watch(self.file or sys.stderr if self.bar else None, self.after)
                # the one place that calls go through
                dispatch._call = _watched_call
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_outermost and _Watch.now is not None:
            with _lock:
                dispatch._call = _plain
                watch, _Watch.now = _Watch.now, None
            watch.close()


def _watched_call(derived: Any, *args: Any, **kws: Any) -> Any:
    """A call by the code that is watched."""
    watch = _Watch.now
    if watch is None or derived.derivative.watched:
        return _plain(derived, *args, **kws)
    made = derived.watched
    made.has_constants, made.has_extents = derived.has_constants, derived.has_extents
    is_ours = threading.current_thread() is threading.main_thread()
    is_ours = is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    watch.begin(shown(derived.derivative))
    try:
        if is_ours:
            signal.signal(signal.SIGINT, _noted)
        found = _plain(made, *args, **kws)
        is_left = bool(STATE[0])
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        watch.end()
    if is_left:
        raise KeyboardInterrupt
    return found


def _noted(number: int, frame: FrameType | None) -> None:
    """Ctrl-C in a call: where numba makes objects of what compiled code gives, no exception may be raised."""
    STATE[0] = 1
    while frame is not None and frame.f_code is not _watched_call.__code__:
        if frame.f_code.co_name == "_compile_for_args":
            raise KeyboardInterrupt
        frame = frame.f_back


_lock = threading.Lock()


class _Watch:
    """The thread that looks at what calls say, and is told of Ctrl-C by the byte that Python writes for a signal."""

    now: _Watch | None = None

    def __init__(self, file: TextIO | None, after: float) -> None:
        self.file, self.after = file, after
        self.running: list[tuple[str, float]] = []
        self.drawn = 0
        self.ours, self.theirs = socket.socketpair()
        for end in (self.ours, self.theirs):
            end.setblocking(False)
        self.is_main = threading.current_thread() is threading.main_thread()
        self.before = signal.set_wakeup_fd(self.theirs.fileno(), warn_on_full_buffer=False) if self.is_main else -1
        self.is_over = False
        STATE[:] = 0
        self.thread = threading.Thread(target=self.look, name="adjit.progress", daemon=True)
        self.thread.start()

    def close(self) -> None:
        if self.is_main:
            signal.set_wakeup_fd(self.before)
        self.is_over = True
        self.theirs.send(b"\0")
        self.thread.join()
        self.ours.close()
        self.theirs.close()

    def begin(self, name: str) -> None:
        with _lock:
            if not self.running:
                STATE[:] = 0
            self.running.append((name, time.monotonic()))

    def end(self) -> None:
        with _lock:
            self.running.pop()
            if not self.running:
                # a later call is not to be left for this one's sake
                self.read()
                STATE[:] = 0
                self.clear()

    def look(self) -> None:
        while not self.is_over:
            select.select([self.ours], [], [], _OFTEN)
            with _lock:
                if signal.SIGINT in self.read() and signal.getsignal(signal.SIGINT) is _noted:
                    STATE[0] = 1
                if self.file is not None:
                    self.draw(self.file)

    def read(self) -> bytes:
        """The numbers of the signals since it was last asked, which whoever was told of them before gets, too."""
        try:
            found = self.ours.recv(64)
        except BlockingIOError:
            return b""
        if self.before != -1 and os.name == "posix":
            os.write(self.before, found.replace(b"\0", b""))
        return found

    def draw(self, file: TextIO) -> None:
        """The bar of the call that began first."""
        if not self.running or time.monotonic() - self.running[0][1] < self.after:
            return
        name, began = self.running[0]
        line, is_reverse, trip, trips = map(int, STATE[1:])
        text = f"{name}  {line_of(line, is_reverse, trip, trips, time.monotonic() - began)}"
        file.write("\r" + text.ljust(self.drawn))
        file.flush()
        self.drawn = len(text)

    def clear(self) -> None:
        """Takes the bar away."""
        if self.drawn and self.file is not None:
            file, drawn, self.drawn = self.file, self.drawn, 0
            file.write("\r" + " " * drawn + "\r")
            file.flush()


def line_of(line: int, is_reverse: int, trip: int, trips: int, seconds: float) -> str:
    """The line for an iteration of a loop: `L12 reverse  [##########..........]  50%  0:07`."""
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    if not line:
        return clock
    where = f"L{line} {'reverse' if is_reverse else 'forward'}"
    if not trips:
        return f"{where}  {clock}"
    done = min(trip / trips, 1.0)
    full = int(_WIDTH * done)
    return f"{where}  [{'#' * full}{'.' * (_WIDTH - full)}] {done:4.0%}  {clock}"
