"""Programs whose loops are watched: the same numbers, and a way out of each loop."""

import dataclasses

import numpy as np
import pytest

import adjit
from adjit.api.specialise.dispatch import derive
from adjit.runtime.library.watch import STATE
from tests.programs.harness import flat
from tests.programs.table import TABLE

NAMED = [
    pytest.param(row, id=row.function.__name__) for row in TABLE if isinstance(row.function(*row.arguments()), float)
]


def gradient_of(row):
    return adjit.value_and_grad(row.function, wrt=row.active, target="python")


def watched(gradient):
    return derive(dataclasses.replace(gradient.derivative, watched=True), gradient.options)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("row", NAMED)
def test_numbers_are_the_same_and_loops_can_be_left(row):
    gradient = gradient_of(row)
    made = watched(gradient)
    for one, other in zip(flat(made(*row.arguments())), flat(gradient(*row.arguments())), strict=True):
        np.testing.assert_array_equal(one, other)
    STATE[0] = 1
    try:
        # what comes of it nobody looks at
        made(*row.arguments())
    finally:
        STATE[:] = 0


def test_only_long_loops_are_watched():
    def mapped(x):
        y = np.sin(x)
        return np.sum(y[1:] * y[:-1])

    def stepped(x):
        for t in range(3):
            for i in range(x.size):
                x = x + np.cos(x[i])
        return np.sum(x)

    of_map, of_steps = (watched(adjit.grad(f)).source(np.ones(4)) for f in (mapped, stepped))
    assert "is_stopped" not in of_map
    line = stepped.__code__.co_firstlineno + 1
    assert f"is_stopped({line}, 0, t" in of_steps
    assert f"is_stopped({line}, 1, " in of_steps
    # of loops in it only whether to leave is asked
    assert "is_stopped(-1, 0, 0, 0)" in of_steps
