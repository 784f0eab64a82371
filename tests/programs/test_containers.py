"""Containers at run time: right in all modes, as Python has their order; what cannot be known is refused."""

import heapq

import numpy as np
import pytest

import adjit
from tests.programs.containers import CONTAINERS
from tests.programs.harness import check
from tests.programs.rows import Row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", CONTAINERS.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [row for row in CONTAINERS.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def lacks_a_key(x):
    d = {}
    for i in range(x.size):
        d[i % 3] = x[i]
    return d[x.size + 9]


def lacks_a_member(x):
    s = {1, 2}
    s.remove(x.size + 9)
    return x[0] * len(s)


def pops_nothing(x):
    h = [v for v in x if v > 99.0]
    return heapq.heappop(h)


def least_of_nothing(x):
    return min([v for v in x if v > 99.0], key=abs)


def too_few(x):
    a, *b, c, d, e = x
    return a * c * d * e


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lacks_a_key, KeyError),
        (lacks_a_member, KeyError),
        (pops_nothing, IndexError),
        (least_of_nothing, ValueError),
        (too_few, ValueError),
    ],
)
def test_raised(function, error: type[Exception]) -> None:
    x = np.array([0.5, 1.5, 2.5])
    for run in (function, adjit.grad(function, target="python")):
        with pytest.raises(error):
            run(x)


def loops_over_a_set(x):
    s = set()
    for i in range(x.size):
        s.add(i)
    return sum([x[k] for k in s])


def asks_for_a_key_that_may_lack(x):
    d = {}
    for i in range(x.size):
        d[i] = x[i]
    return d.get(x.size) is None


def values_of_different_kinds(x):
    d = {}
    while len(d) < np.sum(x):
        d[len(d)] = x
        d[len(d)] = x[0]
    return np.sum(d[0])


def changes_a_view(x):
    d = {0: x[0]}
    d[x.size] = x[1]
    d.values().append(x[2])
    return d[0]


def merged_heaps(x):
    return sum(heapq.merge(list(x), list(x)))


def leaves_an_iterator_early(x):
    it = iter(x)
    for v in it:
        if v > 1.0:
            break
    return next(it)


def steps_through_a_map(x):
    it = map(np.sin, x)
    return next(it) + next(it)


def tuple_of_so_many(x):
    return len((*[v for v in x if v > 1.0], 2.0)) * x[0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (tuple_of_so_many, "`[*]` before a list"),
        (loops_over_a_set, r"the items of a set one after the other(.|\n)*sorted"),
        (asks_for_a_key_that_may_lack, "`get` without a default, of a key that is only known at run time"),
        (values_of_different_kinds, "a list of items of different kinds"),
        (changes_a_view, "of a view of a dictionary"),
        (merged_heaps, "heapq.merge"),
        (leaves_an_iterator_early, "a loop over an iterator, with `break`"),
        (steps_through_a_map, "next of an iterator, of map"),
    ],
)
def test_refused(function, message: str) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(function, target="python")(np.array([0.5, 1.5, 2.5]))


def queue_of_events(x, codes):
    heap = [(x[0], 0)]
    total = 0.0
    for k in range(1, codes.size):
        item = (x[k], k)
        first = item
        if codes[k] == 0 or len(heap) == 0:
            heapq.heappush(heap, item)
        elif codes[k] == 1:
            first = heapq.heappop(heap)
        elif codes[k] == 2:
            first = heapq.heappushpop(heap, item)
        else:
            first = heapq.heapreplace(heap, item)
        total += first[0] * first[1] * k
    heap = [(-a, b) for a, b in heap]
    heapq.heapify(heap)
    for k, (a, b) in enumerate(heap):
        total += a * b * (k + 1)
    few = sorted(heapq.nsmallest(3, heap), key=lambda item: item[0], reverse=True)
    for k, (_, b) in enumerate(few):
        total += b * (k + 1)
    return total


def test_as_python_has_it_with_many_ties() -> None:
    derived = adjit.value_and_grad(queue_of_events, target="python")
    for seed in range(25):
        draws = np.random.default_rng(seed)
        x, codes = draws.integers(0, 4, 30).astype(float), draws.integers(0, 4, 30)
        value, slope = derived(x, codes)
        assert value == queue_of_events(x, codes)
        # a sum of the priorities, the order of which stays
        assert np.isclose(slope @ x, value - _of_places(x, codes))


def _of_places(x, codes):
    """What `queue_of_events` adds of places alone: the rest is linear in x where the order stays."""
    return 2.0 * queue_of_events(x, codes) - queue_of_events(2.0 * x, codes)
