"""What a table of programs is made of.

ROWS = Rows()

@ROWS.add(lambda: (0.7, vector(1.0, 2.0)), (0, 1))
def program(x, a): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """A program, what makes its arguments, and the positions to differentiate with respect to."""

    function: Any
    arguments: Callable[[], tuple[Any, ...]]
    active: tuple[int, ...]
    second: bool = True
    single: bool = False
    compiled: bool = False  # through numba, too
    expected: tuple[Any, ...] | None = None
    tolerance: float = 1e-7
    why: str = ""
    called: str = ""  # where a program stands in several rows

    @property
    def name(self) -> str:
        return self.called or str(self.function.__name__)


@dataclass
class Rows:
    rows: list[Row] = field(default_factory=list)

    def add(
        self, arguments: Callable[[], tuple[Any, ...]], active: Sequence[int] = (0,), **more: Any
    ) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            self.rows.append(Row(function, arguments, tuple(active), **more))
            return function

        return decorate


def vector(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def wave(*shape: int) -> np.ndarray:
    """Values of either sign without symmetry, ties or zeros."""
    return 1.3 * np.sin(1.0 + 0.9 * np.arange(float(np.prod(shape)))).reshape(shape) + 0.05
