"""The shapes of grids, and generated text as functions that launch kernels.

In: extents, x first; text. Out: (grid, block, stream) for a launch; the host's function.

    f_L3[cover(n)](x, y)             a thread for each of n trips, and a few that have none
    f_L3[spread(n, m)](x, parts)     a bounded number of blocks, by the extents alone, whose threads take several trips
"""

from __future__ import annotations

import ast
import functools
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjit.runtime.compile import register
from adjit.runtime.cuda.device import MOST_BLOCKS, THREADS
from adjit.runtime.cuda.kernels import NONE_APART, quick, told_apart
from adjit.runtime.cuda.memory import empty
from adjit.runtime.cuda.simulated_math import MATH
from adjit.runtime.cuda.streams import current
from adjit.runtime.library.gpus import SIMULATED
from adjit.runtime.plain_numbers import NAMES, as_compiled

Grid = tuple[tuple[int, ...], tuple[int, ...], Any]

# along x lie the threads that work on neighbouring elements
_WIDEST = min(32, THREADS // 4)
_MOST_DEEP = 64  # threads along z that a block may have
SHORTEST = 4 if SIMULATED else 16  # trips that threads share
MANY = 64 if SIMULATED else 1 << 18  # threads that are enough for a GPU
_MOST_HIGH = 65535  # blocks along y and z that a grid may have


def cover(*extents: int) -> Grid:
    """A thread for each trip; along y and z, where blocks are limited, threads go on to further trips."""
    return *_covering(extents), current()


@functools.lru_cache(maxsize=4096)
def _covering(extents: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    block = _block(extents)
    counts = [max(1, -(-n // width)) for n, width in zip(extents, block, strict=True)]
    return (counts[0], *(min(count, _MOST_HIGH) for count in counts[1:])), block


def spread(*extents: int) -> Grid:
    """At most so many blocks that their parts of a sum are quickly added up, on every device as many."""
    grid, block, stream = cover(*extents)
    left, found = MOST_BLOCKS, []
    for count in grid:
        found.append(max(1, min(count, left)))
        left //= found[-1]
    return tuple(found), block, stream


def share(*extents: int) -> Grid:
    """As `cover`, but along the last axis about as many threads as the root of its trips: they take several each, and
    what they add up is added up by one thread then."""
    grid, block, stream = cover(*extents)
    wanted = -(-math.isqrt(max(0, extents[-1])) // block[-1])
    most = max(1, MOST_BLOCKS // math.prod(grid[:-1]))
    return (*grid[:-1], max(1, min(grid[-1], wanted, most))), block, stream


def rows(
    *extents: int, axes: int = 1, along: bool = False, apart: bool = False, spread: bool = False, listed: bool = False
) -> Grid:
    """Several threads for each of as many rows as the first `axes` extents say; the others are trips that they share.

    along: what lies side by side is of one row. apart: rows whose threads are several have a block each. spread: the
    blocks are bounded in number, and go on to further rows. listed: the trips are those of all rows together.
    """
    counts, longest = extents[:axes], max(extents[axes:])
    count = math.prod(counts)
    longest = -(-longest // max(1, count)) if listed else longest
    threads = threads_of_row(count, longest, along, apart)
    left = THREADS // threads
    if axes == 1:
        widths = [left]
    else:
        x = min(left, _WIDEST, _power_of_two(counts[0]))
        while left // x > _MOST_DEEP:
            x *= 2
        widths = [x, left // x]
    # along a third axis a block has one row
    grid = [max(1, -(-n // width)) for n, width in zip(counts, (*widths, 1), strict=False)]
    grid[1:] = [min(count, _MOST_HIGH) for count in grid[1:]]
    if spread:
        most = MOST_BLOCKS
        for k, count in enumerate(grid):
            grid[k] = max(1, min(count, most))
            most //= grid[k]
    block = (threads, *widths) if along else (widths[0], threads, *widths[1:])
    return tuple(grid), block, current()


def rows_along(shape: Grid) -> int:
    """How many rows a launch has at a time, if the threads of each are along x."""
    return thread_count(shape) // shape[1][0]


def rows_across(shape: Grid) -> int:
    """The same, if they are along y."""
    return thread_count(shape) // shape[1][1]


def threads_of_row(count: int, longest: int, along: bool, apart: bool) -> int:
    """How many threads each of `count` rows has, a power of two, if they share so many trips.

    Measured on an H100, of sums of exponentials along rows in double precision, of 256 MB: from 16 columns on 16
    threads take a third of the time of one, from 1,024 columns on 128 a fifth; with fewer columns one is best.
    """
    if longest < SHORTEST:
        return 1
    most = min(THREADS, _power_of_two(longest + 1) // 2)
    if apart:
        return THREADS if most == THREADS and (along or count < MANY // SHORTEST) else 1
    fewest = _power_of_two(-(-MANY // max(1, count)))
    if along:
        return min(most, max(min(most, SHORTEST), _power_of_two(-(-longest // 8)), fewest))
    # across rows one thread each reads what lies side by side, if there are enough rows
    widest = THREADS if fewest > THREADS else THREADS // 8
    return max(1, min(most, longest // 8, widest, fewest))


def in_blocks(*blocks: int, block: tuple[int, ...]) -> Grid:
    """So many blocks of this shape, x first."""
    return tuple(map(int, blocks)), block, current()


def bounds(threads: int, blocks: int = 1) -> dict[str, Any]:
    """What a kernel is compiled with whose blocks have so many threads: all of them have to find registers.

    blocks: how many blocks a multiprocessor is to have at a time
    """
    return {} if SIMULATED else {"launch_bounds": (threads, blocks)}


def block_count(shape: Grid) -> int:
    """How many blocks a launch has."""
    return math.prod(shape[0])


def row_count(shape: Grid) -> int:
    """How many threads a launch has along its last axis."""
    return shape[0][-1] * shape[1][-1]


def _block(extents: tuple[int, ...]) -> tuple[int, ...]:
    """THREADS threads: as wide as there are trips along x, and no wider than a warp if there are more axes."""
    if len(extents) == 1:
        return (THREADS,)
    x = min(_WIDEST, _power_of_two(extents[0]))
    y = THREADS // x if len(extents) == 2 else min(THREADS // x, _power_of_two(extents[1]))
    return (x, y) if len(extents) == 2 else _deep(x, y)


def _deep(x: int, y: int) -> tuple[int, int, int]:
    while THREADS // (x * y) > _MOST_DEEP:
        y *= 2
    return x, y, THREADS // (x * y)


def _power_of_two(n: int) -> int:
    """The least one that is not less than n."""
    return 1 << max(0, int(n) - 1).bit_length()


def one_block() -> Grid:
    """One block of threads."""
    return (1,), (THREADS,), current()


def one_thread() -> Grid:
    """One thread."""
    return (1,), (1,), current()


def thread_count(shape: Grid) -> int:
    """How many threads a launch has."""
    return math.prod(shape[0]) * math.prod(shape[1])


def parts(count: int, shape: Grid, dtype: Any = np.float64) -> Any:
    """Room for a part of each of so many sums in each block of a launch."""
    return empty((count, math.prod(shape[0])), dtype)


def load(
    text: str,
    names: Mapping[str, Any],
    name: str,
    title: str,
    apart: Mapping[str, Sequence[bool]] = NONE_APART,
) -> Any:
    """The function `name` of the host that generated text defines after its kernels.

    apart: of each kernel, which of its arrays share no memory with another one of its; the compiler is told

    Its numbers are as compiled code has them, as under `target="python"`, and so are those of kernels in the simulator;
    else kernels are compiled as they stand.
    """
    filename, is_single = register(text, title), "float32" in text
    scope: dict[str, Any] = {"__name__": __name__, "__builtins__": __builtins__, **NAMES}
    scope |= {own: resolved(value) for own, value in names.items()}
    tree = ast.parse(text, filename)
    host = ast.Module([tree.body.pop()], [])
    if SIMULATED:
        tree = as_compiled(tree, is_single)
    own: dict[str, Any] = {name: MATH for name, value in scope.items() if SIMULATED and value is math}
    in_kernels = scope | own
    with told_apart(apart):
        exec(compile(tree, filename, "exec", dont_inherit=True), in_kernels)
    own = dict.fromkeys(own, math) | {kernel.name: quick(in_kernels[kernel.name]) for kernel in _functions(tree)}
    scope = in_kernels | own
    exec(compile(as_compiled(host, is_single), filename, "exec", dont_inherit=True), scope)
    return scope[name]


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def resolved(value: Any) -> Any:
    """What an external name stands for."""
    module = getattr(value, "module", None)
    return getattr(importlib.import_module(module), value.root) if module is not None else value
