"""The stream that generated code launches its kernels on, and what records them there.

In: a stream of the backend's. Out: what is current in this thread; 0 is the default stream.

    with on(stream): misfit_grad(x, d, w, a)
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from adjit.errors import WrongCall

_current: contextvars.ContextVar[Any] = contextvars.ContextVar("stream", default=0)
_recorded: contextvars.ContextVar[Any] = contextvars.ContextVar("recorded", default=None)


def current() -> Any:
    """The stream of this thread."""
    return _current.get()


def recorded() -> Any:
    """What records the launches of this thread; None if nothing does."""
    return _recorded.get()


def on(stream: Any) -> contextlib.AbstractContextManager[None]:
    """Launches go to this stream; WrongCall while they are recorded, unless it is the one that they are recorded on."""
    if stream is current():
        return contextlib.nullcontext()
    if recorded() is not None:
        raise WrongCall(
            "a stream is selected while a graph is recorded",
            why="Launches on another stream would run now, and not with the graph.",
            instead="Select the stream where the graph is called, or launch on `adjit.cuda.current()`.",
        )
    return _on(stream)


@contextlib.contextmanager
def recorded_by(recorder: Any) -> Iterator[None]:
    """Launches go to the stream of what records them."""
    token = _recorded.set(recorder)
    try:
        with _on(recorder.stream):
            yield
    finally:
        _recorded.reset(token)


@contextlib.contextmanager
def _on(stream: Any) -> Iterator[None]:
    token = _current.set(stream)
    try:
        yield
    finally:
        _current.reset(token)
