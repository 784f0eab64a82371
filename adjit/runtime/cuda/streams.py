"""The stream that generated code launches its kernels on.

In: a stream of the backend's. Out: what is current in this thread; 0 is the default stream.

    with on(stream): misfit_grad(x, d, w, a)
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

_current: contextvars.ContextVar[Any] = contextvars.ContextVar("stream", default=0)


def current() -> Any:
    """The stream of this thread."""
    return _current.get()


def on(stream: Any) -> contextlib.AbstractContextManager[None]:
    """Launches go to this stream."""
    return contextlib.nullcontext() if stream is current() else _on(stream)


@contextlib.contextmanager
def _on(stream: Any) -> Iterator[None]:
    token = _current.set(stream)
    try:
        yield
    finally:
        _current.reset(token)
