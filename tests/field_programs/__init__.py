"""Programs of many fields, as their people write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def collection() -> tuple[list[Any], Callable[..., Any]]:
    """A list of programs, and the decorator that adds one: its field, what makes its arguments, what is active."""
    programs: list[Any] = []

    def prog(field: str, make: Callable[[], tuple[Any, ...]], wrt: Sequence[int] = (0,)) -> Any:
        def decorate(function: Any) -> Any:
            programs.append((function.__name__, field, function, make, wrt))
            return function

        return decorate

    return programs, prog
