"""Looks for races in kernels as they run: two threads at one element, one of them storing, and no barrier between.

In: a launch, in numba's CUDA simulator (`watched`) or as a nest (`Notes`, `Watched`). Out: what is wrong with it.

Each access is noted by element, block, thread and stretch, the number of barriers passed, and judged at the end of the
launch. Threads run one after the other there, so a kernel with a race may well be right; on a GPU it is not. Found are,
too, elements of shared memory that are read before they are stored to, and barriers that only some threads reach.
"""

from __future__ import annotations

import contextlib
import operator
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unittest import mock

import numpy as np

Kind = Literal["load", "store", "atomic"]
Place = tuple[int, ...]
UNWRITTEN = "is read before it is stored"


@dataclass(frozen=True)
class Access:
    """Who touched an element, in which stretch."""

    block: Place
    thread: Place
    stretch: int
    kind: Kind


class Notes:
    """The accesses of a launch, by element. `block`, `thread` and `stretch`: where the nest is."""

    def __init__(self) -> None:
        self._touched: defaultdict[tuple[Place | None, int], list[Access]] = defaultdict(list)
        self._names: dict[tuple[Place | None, int], str] = {}
        self.barriers: defaultdict[Place, set[int]] = defaultdict(set)  # how many the threads of a block passed
        self._promised: dict[tuple[str, int], Place] = {}  # of each array whose elements are all different, by element
        self._broken: list[str] = []
        self._lock = threading.Lock()
        self.block: Place = ()
        self.thread: Place = ()
        self.stretch = 0

    def touch(
        self, array: np.ndarray[Any, Any], index: Any, access: Access, name: str = "", is_shared: bool = False
    ) -> None:
        """Takes note of an access to one element; `is_shared`: of an array of the block."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != array.ndim or not all(isinstance(i, int | np.integer) for i in index):
            return
        places = [int(i) + (n if i < 0 else 0) for i, n in zip(index, array.shape, strict=True)]
        address = array.ctypes.data + sum(i * s for i, s in zip(places, array.strides, strict=True))
        key = (access.block if is_shared else None, address)
        with self._lock:
            self._touched[key].append(access)
            self._names.setdefault(key, name)

    def here(self, kind: Kind) -> Access:
        """An access by the thread that the nest is at."""
        return Access(self.block, self.thread, self.stretch, kind)

    def promised(self, name: str, element: int, place: Place) -> None:
        """Takes note of an element of an array whose elements are all different."""
        if self._promised.setdefault((name, element), place) != place:
            self._broken.append(f"{name}, marked with adjit.cuda.unique, contains {element} twice")

    def faults(self) -> list[str]:
        """What is wrong, each once."""
        return list(dict.fromkeys((*self._broken, *self._faults())))

    def _faults(self) -> Iterator[str]:
        for key, accesses in self._touched.items():
            block, _ = key
            name = self._names[key]
            what = (
                f"an element of {name}" if name else f"an element of {'global' if block is None else 'shared'} memory"
            )
            if block is not None and accesses[0].kind == "load":
                yield f"{what} {UNWRITTEN}"
            if _is_race(accesses, lambda a: a.block):
                yield f"two blocks are at {what}"
            for place in dict.fromkeys((a.block, a.stretch) for a in accesses):
                if _is_race([a for a in accesses if (a.block, a.stretch) == place], lambda a: a.thread):
                    yield f"two threads are at {what}, with no barrier between them"
        if any(len(counts) > 1 for counts in self.barriers.values()):
            yield "some threads of a block do not reach a barrier"


def _is_race(accesses: Sequence[Access], who: Callable[[Access], Place]) -> bool:
    """Whether several were there, and one of them stored, or all did not do so in one step."""
    kinds = {a.kind for a in accesses}
    return kinds not in ({"load"}, {"atomic"}) and len({who(a) for a in accesses}) > 1


# ------------------------------------------------------------------------------------------------------------ of nests


class Watched(np.ndarray[Any, Any]):
    """An array that notes who touches its elements."""

    notes: Notes | None = None
    name = ""
    is_shared = False

    def __array_finalize__(self, other: Any) -> None:
        for attribute in ("notes", "name", "is_shared"):
            setattr(self, attribute, getattr(other, attribute, getattr(Watched, attribute)))

    def __getitem__(self, index: Any) -> Any:
        self._note(index, "load")
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._note(index, "store")
        super().__setitem__(index, value)

    def _note(self, index: Any, kind: Kind) -> None:
        if self.notes is not None:
            self.notes.touch(self, index, self.notes.here(kind), self.name, self.is_shared)


def watch(array: np.ndarray[Any, Any], notes: Notes, name: str, is_shared: bool = False) -> Watched:
    """The array, watched."""
    made = array.view(Watched)
    made.notes, made.name, made.is_shared = notes, name, is_shared
    return made


def promised(notes: Notes, array: Watched, element: int, *place: int) -> None:
    """An element is loaded of an array whose elements are all different."""
    notes.promised(array.name, int(element), place)


def add(array: Watched, *index_and_value: Any) -> None:
    """`cuda.atomic.add` to a watched array."""
    _atomic(array, index_and_value, operator.add)


def raised(array: Watched, *index_and_value: Any) -> None:
    """`cuda.atomic.max` of an element of a watched array."""
    _atomic(array, index_and_value, max)


def lowered(array: Watched, *index_and_value: Any) -> None:
    """`cuda.atomic.min` of an element of a watched array."""
    _atomic(array, index_and_value, min)


def _atomic(array: Watched, index_and_value: Sequence[Any], make: Callable[[Any, Any], Any]) -> None:
    *index, value = index_and_value
    array._note(tuple(index), "atomic")
    np.ndarray.__setitem__(array, tuple(index), make(np.ndarray.__getitem__(array, tuple(index)), value))


# ---------------------------------------------------------------------------------------------------- of the simulator


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Yields a list, to which each launch in the simulator inside adds what is wrong with it."""
    from numba.cuda.simulator import kernel, kernelapi
    from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray

    found: list[str] = []
    notes = Notes()
    thread_class, array_class = kernel.BlockThread, FakeWithinKernelCUDAArray
    shared_class, atomic_class = kernelapi.FakeCUDAShared, kernelapi.FakeCUDAAtomic
    old: dict[str, Any] = {
        "load": array_class.__getitem__, "store": array_class.__setitem__, "barrier": thread_class.syncthreads,
        "run": thread_class.run, "launch": kernel.FakeCUDAKernel.__call__, "shared": shared_class.array,
    }  # fmt: skip

    def noted(array: Any, index: Any, kind: Kind, is_shared: bool) -> None:
        thread = threading.current_thread()
        if isinstance(thread, thread_class):
            kind = "atomic" if getattr(thread, "is_adding", False) else kind
            access = Access(tuple(thread.blockIdx), tuple(thread.threadIdx), getattr(thread, "stretch", 0), kind)
            notes.touch(array, index, access, is_shared=is_shared)

    class Shared(np.ndarray[Any, Any]):
        def __getitem__(self, index: Any) -> Any:
            noted(self, index, "load", True)
            return super().__getitem__(index)

        def __setitem__(self, index: Any, value: Any) -> None:
            noted(self, index, "store", True)
            super().__setitem__(index, value)

    def load(self: Any, index: Any) -> Any:
        noted(self._item._ary, index, "load", False)
        return old["load"](self, index)

    def store(self: Any, index: Any, value: Any) -> None:
        noted(self._item._ary, index, "store", False)
        old["store"](self, index, value)

    def shared(memory: Any, shape: Any, dtype: Any, *rest: Any) -> Any:
        # the simulator tells arrays apart by the line that asks for them
        frame = sys._getframe(1)
        line = frame.f_code.co_filename, frame.f_lineno
        if line not in memory._allocations:
            kind = dtype if isinstance(dtype, type | np.dtype) else np.dtype(str(dtype))
            is_dynamic = shape == 0 or shape == (0,)
            made = old["shared"](memory, shape, dtype, *rest) if is_dynamic else np.empty(shape, kind)
            memory._allocations[line] = made.view(Shared)
        return memory._allocations[line]

    def adding(function: Callable[..., Any]) -> Callable[..., Any]:
        def add(*args: Any) -> Any:
            thread: Any = threading.current_thread()
            thread.is_adding = True
            try:
                return function(*args)
            finally:
                thread.is_adding = False

        return add

    def barrier(thread: Any) -> None:
        old["barrier"](thread)
        thread.stretch = getattr(thread, "stretch", 0) + 1

    def run(thread: Any) -> None:
        old["run"](thread)
        notes.barriers[tuple(thread.blockIdx)].add(getattr(thread, "stretch", 0))

    def launch(made: Any, *args: Any) -> Any:
        nonlocal notes
        if made._device:
            return old["launch"](made, *args)
        notes = Notes()
        result = old["launch"](made, *args)
        found.extend(f"{made.fn.__name__}: {fault}" for fault in notes.faults())
        return result

    with contextlib.ExitStack() as stack:
        for owner, name, new in (
            (array_class, "__getitem__", load), (array_class, "__setitem__", store), (shared_class, "array", shared),
            (thread_class, "syncthreads", barrier), (thread_class, "run", run),
            (kernel.FakeCUDAKernel, "__call__", launch),
            *((atomic_class, n, adding(getattr(atomic_class, n))) for n in ("add", "sub", "max", "min")),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(owner, name, new))
        yield found
