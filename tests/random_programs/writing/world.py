"""What is there at one place of a program: the values of its variables, got by running what stands before.

    world = World(lambda: {"u": np.ones(3)})
    world.attempt("b = np.cumsum(u)")          True, and b is there
    world.attempt("c = b @ A")                 False, and all is as before
    world.inner("i = 0")                       the place where the first trip of a loop starts

A line that raises, or makes numbers that are not finite or large, is not taken.
"""

from __future__ import annotations

import re
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

LARGEST = 50.0
MOST_ELEMENTS = 150
Scope = dict[str, Any]


class World:
    def __init__(self, start: Callable[[], Scope]) -> None:
        self.start = start
        self.steps: list[str] = []
        self.values: Scope = start()

    def inner(self, *first: str) -> World:
        """A place further inside, where nothing is written yet."""

        def start() -> Scope:
            values = self._again()
            for line in first:
                run(line, values, is_checked=False)
            return values

        return World(start)

    def attempt(self, text: str) -> bool:
        try:
            run(text, self.values)
        except Unfit:
            self.refresh()
            return False
        self.steps.append(text)
        return True

    def refresh(self) -> None:
        self.values = self._again()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression without effects; raises Unfit."""
        scope = dict(self.values)
        run(f"_ = {expression}", scope)
        return scope["_"]

    def _again(self) -> Scope:
        values = self.start()
        for step in self.steps:
            run(step, values, is_checked=False)
        return values

    # ------------------------------------------------------------------------------------------ what there is

    def named(self) -> Iterator[tuple[str, Any]]:
        for name, value in self.values.items():
            if not name.startswith("_") and not isinstance(value, types.ModuleType | types.FunctionType | type):
                yield name, value

    def floats(self) -> list[str]:
        return [n for n, v in self.named() if isinstance(v, float | np.floating)]

    def integers(self) -> list[str]:
        return [n for n, v in self.named() if isinstance(v, int | np.integer) and not isinstance(v, bool)]

    def complexes(self) -> list[str]:
        return [n for n, v in self.named() if isinstance(v, complex)]

    def arrays(self, kinds: str = "f", rank: int | None = None) -> list[str]:
        return [
            n
            for n, v in self.named()
            if isinstance(v, np.ndarray) and v.dtype.kind in kinds and (rank is None or v.ndim == rank)
        ]


class _Numpy(types.ModuleType):
    """NumPy, of which `empty` shows what is read before it is written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def empty(shape: Any, dtype: Any = float) -> Any:
        return np.full(shape, np.nan, dtype) if np.dtype(dtype).kind in "fc" else np.zeros(shape, dtype)

    @staticmethod
    def empty_like(a: Any, dtype: Any = None) -> Any:
        return _Numpy.empty(a.shape, dtype or a.dtype)


NUMPY = _Numpy("numpy")


class Unfit(Exception):
    """What is written does not run, or not with numbers of the order of one."""


def run(text: str, scope: Scope, is_checked: bool = True) -> None:
    """Runs lines of a function in a scope; `return` inside leaves the loop that it stands in."""
    text = _left(text)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), limited(1.0):
            warnings.simplefilter("ignore")
            exec(compile(text, "<written>", "exec"), scope)
    except Exception as fault:  # noqa: BLE001  whatever does not run is not written
        raise Unfit(repr(fault)) from None
    for value in scope.values() if is_checked else ():
        if not is_moderate(value):
            raise Unfit("out of range")


def _left(text: str) -> str:
    """The text with `return` as `break`, but in functions that are defined in it."""
    lines, inside = [], -1
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip())
        if depth <= inside:
            inside = -1
        if inside < 0 and line.lstrip().startswith("def "):
            inside = depth
        lines.append(line if inside >= 0 else re.sub(r"^( +)return\b.*$", r"\1break", line))
    return "\n".join(lines)


def is_moderate(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        if value.size > MOST_ELEMENTS:
            return False
        if value.dtype.kind not in "fc":
            return value.dtype.kind in "iub"
        return bool(np.all(np.abs(value) < LARGEST))
    if isinstance(value, float | complex | np.floating | np.complexfloating):
        return bool(abs(value) < LARGEST)
    if isinstance(value, tuple | list):
        return all(map(is_moderate, value))
    return True


class TooLong(BaseException):
    """What runs does not end in time."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises Unfit in what takes more CPU time than this; the limit of a caller further out stays."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    left, _ = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except TooLong:
        raise Unfit("too long") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)
        signal.signal(signal.SIGPROF, before)
