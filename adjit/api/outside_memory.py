"""Arguments that are written and arrays from outside that are read: whether a call has one memory in both.

In: what was noted while a derivative was made (`source/outside.py`), and the arguments of a call. Out: `Aliased`.

    weights = np.ones(2)        def f(x): x[0] = 5.0; return np.sum(x * weights)        grad(f)(weights): Aliased

Python would read what the function has just written; compiled code has a copy of the array from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjit.errors import Aliased
from adjit.transform.source.derivative import Derivative, root, shown
from adjit.transform.source.outside import Reads

Written = tuple[str, tuple[int, ...]]  # a parameter, with the places in tuples that lead to what is written; "": any


class OutsideMemory:
    """What of a derived function's arguments may not share memory with which arrays."""

    def __init__(self, derivative: Derivative, parameters: Iterable[str]) -> None:
        self._derivative, self._parameters = derivative, tuple(parameters)
        self._written: set[Written] = set()
        self._arrays: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._written and self._arrays)

    def note(self, reads: Reads) -> None:
        """Takes in what was noted while one code was made."""
        if reads.written and reads.arrays:
            self.add(self.named(reads.written), reads.arrays.values())

    def add(self, written: Iterable[Written], arrays: Iterable[Any]) -> None:
        self._written.update(written)
        self._arrays.update((id(array), array) for array in arrays)

    def named(self, written: Iterable[tuple[FunctionType, str, tuple[int, ...]]]) -> tuple[Written, ...]:
        """The same by parameters of the derived function's; what a derivative inside it writes may be any of them."""
        own = root(self._derivative)
        is_own = {(f, n): f is own and n in self._parameters for f, n, _ in written}
        return tuple(sorted({(n, path) if is_own[f, n] else ("", ()) for f, n, path in written}))

    def check(self, arguments: Sequence[Any]) -> None:
        """Aliased where an argument that is written shares memory with an array from outside."""
        given = dict(zip(self._parameters, arguments, strict=False))
        for name, path in self._written:
            for one in (name,) if name else given:
                value = given.get(one)
                for place in path:
                    value = value[place]  # type: ignore[index]
                for part in _arrays_in(value):
                    if any(np.may_share_memory(part, array) for array in self._arrays.values()):
                        raise Aliased(
                            f"argument `{one}` of {shown(self._derivative)} shares memory with an array from outside",
                            why="The function writes into the argument and reads the array, a global or the like.",
                            instead=f"Pass a copy, `{one}.copy()`, or pass the array as an argument.",
                        )


def _arrays_in(value: Any) -> Iterable[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays_in(part)


def places_of(arrays: Iterable[Any], known: Sequence[Any]) -> tuple[int, ...]:
    """Where among those `known` the ones are whose memory `arrays` have; what was made anew has its own."""
    found = tuple(arrays)
    return tuple(k for k, one in enumerate(known) if any(np.may_share_memory(one, array) for array in found))
