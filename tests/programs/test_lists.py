"""Lists: right in all modes; and what would change an array that a list holds is refused."""

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.lists import LISTS
from tests.programs.rows import Row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", LISTS.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in LISTS.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def changed_after_it_is_appended(x):
    path, state = [], x.copy()
    for k in range(3):
        state[0] = state[0] * x[1]
        path.append(state)
    return np.sum(np.array(path))


def changed_in_the_list_and_read_beside_it(x):
    path, row = [], x * 2.0
    for k in range(3):
        path.append(x * k)
    path.append(row)
    path[3][1] = x[0]
    return row[1]


def changed_in_the_list_after_a_loop(x):
    path, state = [], x * 2.0
    for _ in range(3):
        state = np.sin(state)
        path.append(state)
    path[-1] += x[0]
    return state[1]


def runs_through_a_walrus_twice(x):
    return sum(squares := (v * v for v in x)) + sum(squares)


def runs_through_an_annotated_iterator_twice(x):
    squares: object = (v * v for v in x)
    return sum(squares) + sum(squares)


def of_different_kinds(x):
    path = []
    while len(path) < np.sum(x):
        path.append(x)
        path.append(x[0])
    return np.sum(path[0])


def of_the_trip_before(x):
    last = [x[0]]
    for k in range(3):
        row = [x[k]]
        if k > 0:
            last.append(x[1])
        last = row
    return last[0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (changed_after_it_is_appended, "a store into memory that an item of this list shares"),
        (changed_in_the_list_and_read_beside_it, "an array that is also an item of a list and may have changed"),
        (changed_in_the_list_after_a_loop, "an array that is also an item of a list and may have changed"),
        (runs_through_a_walrus_twice, "an iterator of a generator expression that is used in more than one"),
        (
            runs_through_an_annotated_iterator_twice,
            "an iterator of a generator expression that is used in more than one",
        ),
        (of_different_kinds, "a list of items of different kinds"),
        (of_the_trip_before, "`append` of a list of 1 without a name"),
    ],
)
def test_refused(function, message: str) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(function)(np.array([0.5, 1.5, 2.5]))


def stored_among_longer_ones(x):
    rows = [x * k for k in range(len(x))]
    rows[0] = x[:1]
    return sum(np.sum(row * row) for row in rows)


def appended_to_longer_ones(x):
    rows = []
    for v in x:
        rows.append(x * v)
    rows.append(x[:1])
    return sum(np.sum(row * row) for row in rows)


def joined_to_longer_ones(x):
    rows, others = [], []
    for v in x:
        rows.append(x * v)
        others.append(x[:1] * v)
    return sum(np.sum(row * row) for row in rows + others)


@pytest.mark.parametrize("function", [stored_among_longer_ones, appended_to_longer_ones, joined_to_longer_ones])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_items_of_another_shape_are_no_items_of_that_shape(function, target: str) -> None:
    derived = adjit.value_and_grad(function, target=target)
    with pytest.raises(ValueError, match="arrays of different shapes in one list"):
        derived(np.array([0.5, 1.5, 2.5]))
    assert derived(np.array([0.5]))[0] == function(np.array([0.5]))


def stored_at_each(x):
    items = [np.zeros(2) for _ in range(3)]
    for i in range(3):
        items[i][1] = x * i
    return np.sum(items[0]) + np.sum(items[1] ** 2) + np.sum(items[2])


def stored_under_two_names(x):
    a, b = np.zeros(2), np.ones(2)
    items = [a, b]
    for i in range(2):
        for j in range(2):
            items[i][j] = x * (i + j)
        items[1 - i] += items[i]
    return np.sum(a) + 2.0 * np.sum(b)


def one_array_at_two_places(x):
    a = np.zeros(2)
    items = [a, a]
    for i in range(2):
        items[i][i] += x
    return np.sum(a * np.array([1.0, 3.0])) + items[1][0] + np.sum(items[0])


def stored_in_a_list_of_a_dictionary(x):
    parameters = {"w": [np.zeros(2), np.ones(2)]}
    for i in range(2):
        parameters["w"][i][0] += x * (i + 1)
    return np.sum(parameters["w"][0] ** 2) + np.sum(parameters["w"][1] ** 2)


def layers_changed_in_place(x):
    layers = [np.eye(3) * (k + 1) for k in range(4)]
    h = np.array([x, 1.0, 2.0])
    for weights in layers:
        weights[0, 1] = x
    for k in range(4):
        layers[k][1, 0] = -x
        h = np.tanh(layers[k] @ h)
    return np.sum(h)


@pytest.mark.parametrize(
    "function",
    [
        stored_at_each,
        stored_under_two_names,
        one_array_at_two_places,
        stored_in_a_list_of_a_dictionary,
        layers_changed_in_place,
    ],
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_stores_into_arrays_that_are_items_of_a_known_list(function, target: str) -> None:
    value, slope = adjit.value_and_grad(function, target=target)(1.3)
    step = 1e-6
    assert value == pytest.approx(function(1.3), rel=1e-14)
    assert slope == pytest.approx((function(1.3 + step) - function(1.3 - step)) / (2.0 * step), rel=1e-7)
    assert adjit.jvp(function, (1.3,), (1.0,), target=target)[1] == pytest.approx(slope, rel=1e-13)
