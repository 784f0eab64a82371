"""Several threads a trip: with each number of threads a row may have, the values are right and nobody races."""

import types

import numpy as np
import pytest
from numba import cuda, prange

import adjit
from adjit.runtime.cuda import launch
from adjit.transform.gpu import row_body
from tests.cuda.simulated.checks import arguments, check, on_device, simulated, watched
from tests.cuda.simulated.functions import FUNCTIONS
from tests.cuda.simulated.functions_of_rows import FUNCTIONS_OF_ROWS
from tests.cuda.simulated.rows_of_fields import ROWS_OF_FIELDS

ALL = FUNCTIONS_OF_ROWS | ROWS_OF_FIELDS | {
    name: FUNCTIONS[name]
    for name in ("softmax_rows", "loss_of_rows", "rows_times", "of_products", "network", "largest_of_rows", "clusters",
                 "coupled", "rank_three", "broadcast")
}  # fmt: skip
SHORT = {
    ("softmax_by_rows", 4), ("turned_twice", 16), ("some_rows", 16), ("ragged", 4), ("down_columns", 4),
    ("with_copies", 4), ("largest_of_rows", 4), ("messages", 4), ("retrieved", 16),
}  # fmt: skip
CASES = [
    pytest.param(name, threads, marks=[] if (name, threads) in SHORT else [pytest.mark.long])
    for name in ALL
    for threads in (1, 2, 4, 16)
]


def force(monkeypatch, threads):
    """Rows of so many threads, whatever their number and length; rows that are apart have a block's, or one."""

    def chosen(count, longest, along, apart):
        return threads if not apart or threads in (1, launch.THREADS) else 1

    monkeypatch.setattr(launch, "threads_of_row", chosen)


@simulated
@pytest.mark.parametrize(("name", "threads"), CASES)
def test_values_and_races(name, threads, monkeypatch):
    force(monkeypatch, threads)
    function, shapes = ALL[name]
    check(function, arguments(shapes, np.float64), np.float64)


def turned(x):
    y = np.empty_like(x)
    z = np.empty_like(x)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] * x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = z[i, x.shape[1] - 1 - j]
    return y


def in_turn(x):
    y = np.empty_like(x)
    for i in prange(x.shape[0]):
        e = np.exp(x[i])
        for j in range(x.shape[1]):
            y[i, j] = e[x.shape[1] - 1 - j]
    return y


@simulated
@pytest.mark.parametrize(("function", "rows"), [(turned, 3), (in_turn, 14)])
@pytest.mark.parametrize("wait", [True, False])
def test_where_rows_do_not_wait_there_are_races(function, rows, wait, monkeypatch):
    force(monkeypatch, 4)
    if not wait:
        monkeypatch.setattr(row_body.RowBody, "wait", lambda self: None)
    (x,) = map(on_device, arguments([[rows, 6]], np.float64))
    with watched() as faults:
        adjit.jvp(types.FunctionType(function.__code__, globals()), (x,), (x,), target="cuda")
    assert wait != any("with no barrier between them" in fault for fault in faults)


@simulated
def test_sizes_choose():
    """A row that is longer has more threads, and so have few rows; rows of few elements have one."""
    found = [launch.rows(*sizes, along=True)[1] for sizes in ((100, 3), (100, 40), (100, 900), (2, 20))]
    assert found == [(1, 16), (8, 2), (16, 1), (16, 1)]
    assert launch.rows(100, 40)[1] == (16, 1)  # across rows, of which there are enough
    assert launch.rows(8, 400)[1] == (8, 2)
    assert launch.rows(100, 10, along=True, apart=True)[1] == (1, 16)
    assert launch.rows(100, 30, along=True, apart=True)[1] == (16, 1)
    assert launch.rows(3, 5, 40, axes=2)[:2] == ((1, 3), (4, 2, 2))


@simulated
def test_no_rows_and_rows_of_nothing():
    gradient = adjit.grad(lambda a: np.sum(np.sum(a * a, axis=1) ** 2), target="cuda")
    for shape in ((0, 4), (4, 0), (1, 1)):
        assert gradient(cuda.to_device(np.ones(shape))).copy_to_host().shape == shape
