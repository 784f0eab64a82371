"""What of a loop has to run trip after trip."""

import math

import numpy as np
import pytest
from numba import types

import adjit
from adjit.transform import ir, pipeline
from adjit.transform.analysis.alias import Aliases
from adjit.transform.machine.vectors.recurrence import Recurrence
from adjit.transform.strategy import FORCED

VECTOR, INDICES = types.Array(types.float64, 1, "C"), types.Array(types.intp, 1, "C")


def independent(x, y, k):
    for i in range(x.size):
        y[i] += math.exp(x[i])
    return y


def sums(x, y, k):
    s = 0.0
    for i in range(x.size):
        s += math.exp(x[i]) + y[i]
    return s


def indirect(x, y, k):
    for i in range(x.size):
        y[k[i]] += math.exp(x[i])
    return y


def read_before_written(x, y, k):
    s = 0.0
    for i in range(x.size):
        s += y[i]
        y[i] = math.exp(x[i])
    return s


def loads_the_stored_sum(x, y, k):
    for i in range(x.size):
        x[0] += 1.0
        y[i] = x[0]
        x[3] = math.exp(y[i])
    return x


def overwritten_after(x, y, k):
    s = 0.0
    for i in range(x.size):
        y[i] = s
        s += math.exp(x[i])
        y[i] = x[i] * 2.0
    return y


def written_before_read(x, y, k):
    s = 0.0
    for i in range(x.size):
        y[i] = math.exp(x[i])
        s += y[i]
    return s


def neighbours(x, y, k):
    for i in range(1, x.size):
        y[i] = math.exp(y[i - 1])
    return y


def uses_the_sum(x, y, k):
    s = 0.0
    for i in range(x.size):
        s += x[i]
        y[i] = math.exp(s)
    return y


def constant_place(x, y, k):
    for i in range(x.size):
        y[0] = math.exp(x[i])
    return y


def through_a_view(x, y, k):
    z = y[1:]
    for i in range(z.size):
        y[i] = math.exp(z[i])
    return y


def found(function, is_plain=True):
    made = pipeline.primal(function, (VECTOR, VECTOR, INDICES))
    (loop,) = (op for op in ir.walk(made.body) if isinstance(op, ir.For))
    return Recurrence(loop, Aliases(made).find, is_plain), loop


def kinds(ops):
    """Operations by what they do; a call by its name."""
    return sorted(op.callee.__name__ if isinstance(op, ir.Call) else type(op).__name__.lower() for op in ops)


CASES = {
    independent: [],
    sums: ["add"],
    indirect: ["store"],
    read_before_written: ["add"],
    loads_the_stored_sum: ["exp", "load", "store", "store"],
    overwritten_after: ["add", "store", "store"],
    written_before_read: ["add"],
    neighbours: ["exp", "load", "store"],
    uses_the_sum: ["add", "exp", "store"],
    constant_place: ["store"],
    through_a_view: ["exp", "load", "store"],
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_the_operations_of_the_recurrence(function):
    rest, _ = found(function)
    assert [k for k in kinds(rest.ops) if k not in ("sub",)] == CASES[function]
    assert rest.is_empty == (not CASES[function])


def test_cheap_values_are_computed_again_and_others_taken():
    rest, _ = found(indirect)
    assert [v.name for v in rest.taken] == ["exp"]
    assert kinds(rest.again) == ["load"]


def test_an_element_overwritten_in_the_trip_is_taken_as_it_was():
    rest, _ = found(read_before_written)
    assert [v.name for v in rest.taken] == ["y_item"]


def test_memory_is_shared_where_the_counter_may_be_negative():
    rest, _ = found(independent, is_plain=False)
    assert kinds(rest.ops) == ["store"]
    assert not rest.is_empty


def into_cells(x, cell):
    w = np.zeros((x.size, 7))
    total = 0.0
    for i in range(x.size):
        total = math.exp(x[i]) * total + 1.0
        w[i, cell[i] + 1] = total
    s = 0.0
    for i in range(x.size):
        for j in range(7):
            s += w[i, j] * (j + 1.0)
    return s


def test_elements_at_an_index_of_the_trip():
    """A view of them is made where the index is there, and not outside the loop."""
    x, cell = np.linspace(-1.0, 0.1, 600), np.arange(600) % 5
    value, bar = adjit.value_and_grad(into_cells)(x, cell)
    assert value == pytest.approx(into_cells(x, cell), rel=1e-12)
    wanted = adjit.grad(into_cells, target="python", strategy=FORCED["plain"])(x, cell)
    np.testing.assert_allclose(bar, wanted, rtol=1e-11)
