"""Which trips are shared by several threads, and how: what kernels are made, without a GPU."""

import dataclasses

import numpy as np
import pytest

import adjit
from adjit.api.specialise.notation import to_types
from adjit.transform import pipeline
from tests.cuda.compiled import adjoint
from tests.cuda.simulated.functions import FUNCTIONS
from tests.cuda.simulated.functions_of_rows import FUNCTIONS_OF_ROWS, sparse_product

ALL = FUNCTIONS | FUNCTIONS_OF_ROWS


def emitted(name, without=frozenset()):
    """The adjoint's text; without mechanisms of this name."""
    function, shapes = ALL[name]
    derived, types = adjoint(function, shapes, "float64")
    derivative = derived.derivative
    without = derivative.strategy.without | without
    made = dataclasses.replace(derivative, strategy=dataclasses.replace(derivative.strategy, without=without))
    return pipeline.source(made, tuple(to_types(types))).text


# launches of rows: those along whose rows elements lie side by side, those across, and those with a block a row
LAUNCHES = {
    "softmax_rows": (5, 0, 0),
    "softmax_by_rows": (1, 0, 0),
    "layer_norm": (1, 0, 0),
    "rows_times": (1, 0, 0),
    "network": (1, 4, 0),
    "cross_entropy": (1, 3, 0),
    "clusters": (0, 2, 0),
    "some_rows": (1, 0, 1),
    "sparse_product": (1, 0, 0),
    # time loops in a thread, what is perfectly nested, stencils, and short loops
    "monte_carlo": (0, 0, 0),
    "ensemble": (0, 0, 0),
    "total_of_matrix": (0, 0, 0),
    "heat_plane": (0, 0, 0),
    "convolution": (0, 0, 0),
    "small_solves": (0, 0, 0),
    # trips that are neighbours add to one element
    "down_columns": (0, 0, 0),
    # each sees what the one before has found
    "nearest": (0, 0, 0),
    "histogram_of_rows": (0, 0, 0),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_launches_of_rows(name):
    calls = [line for line in emitted(name).splitlines() if " rows(" in line or "[rows(" in line]
    along = sum("along=True" in line for line in calls)
    assert (along, len(calls) - along, sum("apart=True" in line for line in calls)) == LAUNCHES[name]
    assert "rows(" not in emitted(name, frozenset({"rows"}))


def test_rows_wait_where_one_thread_reads_what_another_has_stored():
    # the loop over columns that comes last reads sums, and what the same thread has stored
    assert "row_barrier" not in emitted("softmax_rows")
    assert emitted("turned_twice").count("row_barrier(threads)") == 2


def test_rows_that_are_listed():
    """As long as they are on the average."""
    text = adjit.grad(lambda v, c, s, x: np.sum(sparse_product(v, c, s, x) ** 2), target="cuda").source(
        "float64[::1], int64[::1], int64[::1], float64[::1]"
    )
    assert "rows(s.size - 1, v.size, c.size, along=True, listed=True)" in text


def test_explained():
    def log_sums(a):
        y = np.empty(a.shape[0])
        for i in range(a.shape[0]):
            y[i] = np.log(np.sum(np.exp(a[i])))
        return np.sum(y)

    ((name, _, threads, additions),) = adjit.grad(log_sums, target="cuda").explain("float64[:, ::1]").launches
    assert name.startswith("log_sums_grad")
    assert threads == "several threads a trip, for a.shape[0] trips"
    assert "a_bar: own elements" in additions
