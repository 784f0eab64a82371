"""Arguments that are changed, and what is read from outside: whether a call has one memory in both.

In: what was noted while a derivative was made (`source/external_reads.py`), and the arguments of a call. Out:
`Aliased`.

    weights = np.ones(2)        def f(x): x[0] = 5.0; return np.sum(x * weights)        grad(f)(weights): Aliased
    rates = {"k": 2.0}          def f(d): d["k"] = 5.0; return d["k"] * rates["k"]      grad(f)(rates): Aliased

Python would read what the function has just written; compiled code has a copy of what is outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjit.api.arguments.trees import sharing
from adjit.errors import Aliased
from adjit.transform.source.derivative import Derivative, root, shown
from adjit.transform.source.external_reads import Changed, Reads
from adjit.transform.source.structures import memory_in, part_at

Written = tuple[str, tuple[int, ...]]  # a parameter, with the places in tuples that lead to what is written; "": any


class OutsideMemory:
    """What of a derived function's arguments may not share memory with which arrays, lists, dictionaries and objects.

    checked: the lists, dictionaries and objects of which a call has to look whether they are from outside.
    """

    def __init__(self, derivative: Derivative, parameters: Iterable[str]) -> None:
        self._derivative, self._parameters = derivative, tuple(parameters)
        self._written: set[Written] = set()
        self._arrays: dict[int, Any] = {}
        self._changed: set[Changed] = set()
        self._others: dict[int, Any] = {}
        self._followers: list[OutsideMemory] = []
        self.checked: list[Changed] = []

    def __bool__(self) -> bool:
        return bool(self._written and self._arrays)

    def note(self, reads: Reads) -> None:
        """Takes in what was noted while one code was made."""
        if reads.written or reads.changed:
            self.add(self.named(reads.written), self.of_own(reads.changed), reads.memory.values())

    def add(self, written: Iterable[Written], changed: Collection[Changed], memory: Collection[Any]) -> None:
        self._written.update(written)
        self._changed.update(changed)
        for thing in memory:
            if isinstance(thing, np.ndarray):
                self._arrays[id(thing)] = thing
            else:
                self._others[id(thing)] = thing
                # an object may be passed as the dictionary that it keeps its attributes in
                own = getattr(thing, "__dict__", thing)
                self._others[id(own)] = own
        # the arrays in a list may be one with each other, whatever is outside
        self.checked[:] = sorted(one for one in self._changed if self._others or one[-1])
        for follower in self._followers:
            follower.add((), changed, memory)

    def followed_by(self, other: OutsideMemory) -> None:
        """`other` is asked in the place of this one, from now on."""
        self._followers.append(other)
        other.add((), tuple(self._changed), (*self._arrays.values(), *self._others.values()))

    def named(self, written: Iterable[tuple[FunctionType, str, tuple[int, ...]]]) -> tuple[Written, ...]:
        """The same by parameters of the derived function's; what a derivative inside it writes may be any of them."""
        own = root(self._derivative)
        is_own = {(f, n): f is own and n in self._parameters for f, n, _ in written}
        return tuple(sorted({(n, path) if is_own[f, n] else ("", ()) for f, n, path in written}))

    def of_own(self, changed: Iterable[tuple[FunctionType, Changed]]) -> tuple[Changed, ...]:
        """The same of the derived function itself: what is inside it takes numbers and arrays alone."""
        own = root(self._derivative)
        return tuple(sorted(one for function, one in changed if function is own))

    def check(self, arguments: Sequence[Any]) -> None:
        """Aliased where an array among the arguments that is written shares memory with one from outside; structures
        are the tuples of their leaves."""
        given = dict(zip(self._parameters, arguments, strict=False))
        for name, path in self._written:
            for one in (name,) if name else given:
                value = given.get(one)
                for place in path:
                    value = value[place]  # type: ignore[index]
                for part in _arrays_in(value):
                    if self._is_outside(part):
                        raise self._aliased(one, "an array", f"`{one}.copy()`")

    def check_whole(self, arguments: Sequence[Any]) -> None:
        """Aliased where a list, a dictionary or an object among the arguments that is changed is from outside, or an
        array in such a list shares memory with one from outside or with another one."""
        given = dict(zip(self._parameters, arguments, strict=False))
        for name, path, is_deep in self.checked:
            owner = part_at(given[name], path)
            inside = list(memory_in(owner)) if is_deep else [owner]
            for part in inside:
                is_array = isinstance(part, np.ndarray)
                if self._is_outside(part) if is_array else id(part) in self._others:
                    what = "an array" if is_array else _kind_of(part)
                    raise self._aliased(name, what, f"`copy.deepcopy({name})`")
            arrays = [part for part in inside if isinstance(part, np.ndarray)]
            if arrays and _meet(arrays, [each for value in given.values() for each in memory_in(value)]):
                raise Aliased(
                    f"an array in argument `{name}` of {shown(self._derivative)} shares memory with another argument",
                    why="The function writes into one of the two.",
                    instead=f"Pass a copy, `copy.deepcopy({name})`.",
                )

    def _is_outside(self, array: np.ndarray[Any, Any]) -> bool:
        return any(np.may_share_memory(array, other) for other in self._arrays.values())

    def _aliased(self, name: str, what: str, copy: str) -> Aliased:
        return Aliased(
            f"argument `{name}` of {shown(self._derivative)} shares memory with {what} from outside",
            why="The function changes the argument and reads the other one, a global or the like.",
            instead=f"Pass a copy, {copy}, or pass what is outside as an argument.",
        )


def _arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in a number, an array or a tuple of those."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays_in(part)


def _kind_of(thing: Any) -> str:
    names: dict[type, str] = {list: "a list", dict: "a dictionary"}
    return names.get(type(thing), f"an object of class {type(thing).__name__}")


def _meet(arrays: Sequence[Any], among: Iterable[Any]) -> bool:
    """Whether one of the arrays meets another one of those among which they are, each as often as it stands there."""
    own = set(map(id, arrays))
    groups = sharing([each for each in among if isinstance(each, np.ndarray)])
    return any(len(group) > 1 and any(id(each) in own for each in group) for group in groups)


def places_of(memory: Collection[Any], known: Sequence[Any]) -> tuple[int, ...]:
    """Where among those `known` the things are, or arrays with whose memory; what was made anew has its own."""
    arrays, others = [each for each in memory if isinstance(each, np.ndarray)], set(map(id, memory))

    def is_one(thing: Any) -> bool:
        if id(thing) in others:
            return True
        return isinstance(thing, np.ndarray) and any(np.may_share_memory(thing, array) for array in arrays)

    return tuple(place for place, thing in enumerate(known) if is_one(thing))
