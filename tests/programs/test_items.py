"""Items that are lists or objects: right in all modes; where two names would see a change and one does not, refused."""

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.items import ITEMS, bodies
from tests.programs.more_items import ITEMS as MORE_ITEMS
from tests.programs.more_items import Particle, particles
from tests.programs.rows import Row, wave

MANY = 80  # more than are written out one by one


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [*ITEMS.rows, *MORE_ITEMS.rows], ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in ITEMS.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def one_list_many_times(x):
    rows, row = [], []
    for k in range(x.size):
        row.append(x[k])
        rows.append(row)
    return sum(sum(row) for row in rows)


def changed_under_its_own_name(x):
    rows, row = [], [x[0], x[1]]
    for _ in range(x.size):
        rows.append(row)
    row[0] = 7.0
    return sum(sum(row) for row in rows)


def in_two_lists(x):
    rows = [[v, 2.0 * v] for v in x]
    same = rows[:]
    first = same[0]
    first[0] = 9.0
    return sum(sum(row) for row in rows)


def picked_and_changed(x):
    several = bodies(x)
    for one in [one for one in several if one.at > 0.0]:
        one.speed = one.at
    return sum(one.speed for one in several)


def repeated_row(x):
    rows = [[0.0, 1.0]] * x.size
    for k in range(x.size):
        rows[k][0] += x[k]
    return rows[1][0]


def held_by_an_object(x):
    several = bodies(x)
    holder = {"one": several[1]}
    for one in several:
        one.at *= 2.0
    return holder["one"].at


def a_dictionary_that_each_trip_changes(x, n):
    state, history = {"x": x[0]}, []
    for _ in range(n):
        state["x"] += x[1]
        history.append(state)
    return sum(one["x"] for one in history)


def a_list_after_it_is_appended(x, n):
    history, row = [], [x[0], 1.0]
    while len(history) < np.sum(x):
        history.append(row)
        row[1] += x[1]
    return sum(one[1] for one in history)


def an_object_that_a_list_has_from_the_start(x, n):
    first = Particle(x[0], x[1], np.ones(2))
    those = [first]
    for p in particles(x):
        those.append(p)
        first.x += x[2]
    return those[0].x


def a_sorted_list_of_objects(x, n):
    ps = particles(x)
    order = sorted(ps, key=lambda p: -p.x)
    order[0].x = 7.0 * x[0]
    return sum(p.x for p in ps)


def some_of_the_objects(x, n):
    ps = particles(x)
    chosen = [p for p in ps if p.x > 1.5]
    for p in chosen:
        p.x += 1.0
    return sum(p.x for p in ps)


def neighbours_that_change_while_they_are_run_through(x, n):
    ps = particles(x)
    for a, b in zip(ps, ps[1:]):
        a.x = a.x + b.x
    return sum(p.x for p in ps)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (one_list_many_times, "changes after it was appended to a list"),
        (changed_under_its_own_name, "more than once|after it was appended to a list"),
        (in_two_lists, "appended more than once"),
        (picked_and_changed, "appended more than once"),
        (repeated_row, "appended more than once"),
        (held_by_an_object, "appended more than once"),
    ],
)
def test_shared_items_are_refused(function, message: str) -> None:
    with pytest.raises(adjit.Unsupported, match=message):
        adjit.grad(function, target="python")(wave(MANY))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (a_dictionary_that_each_trip_changes, "a dictionary that changes after it was appended to a list"),
        (a_list_after_it_is_appended, "items of that list were changed|after it was appended to a list"),
        (an_object_that_a_list_has_from_the_start, "appended more than once"),
        (a_sorted_list_of_objects, "appended more than once"),
        (some_of_the_objects, "appended more than once"),
        (neighbours_that_change_while_they_are_run_through, "a slice or a copy of a list, which changes the items"),
    ],
)
def test_items_with_other_names_are_refused(function, message: str) -> None:
    with pytest.raises(adjit.Unsupported, match=message):
        adjit.grad(function, target="python")(np.linspace(0.5, 2.5, MANY), MANY)


@pytest.mark.parametrize("function", [one_list_many_times, in_two_lists, repeated_row, held_by_an_object])
def test_shared_items_of_few_are_what_they_are(function) -> None:
    check(function, lambda: (wave(4),), second=False)


@pytest.mark.parametrize(
    "function",
    [
        a_dictionary_that_each_trip_changes,
        an_object_that_a_list_has_from_the_start,
        neighbours_that_change_while_they_are_run_through,
    ],
)
def test_items_of_few_with_other_names_are_what_they_are(function) -> None:
    check(function, lambda: (np.array([0.5, 1.5, 2.5]), 3), (0,), second=False)


@pytest.mark.parametrize("function", [changed_under_its_own_name, picked_and_changed])
def test_shared_items_of_few_that_are_refused(function) -> None:
    with pytest.raises(adjit.Unsupported, match="more than once|after it was appended to a list"):
        adjit.grad(function, target="python")(wave(4))


def moved_since(x):
    several = bodies(x[x != 0.0])
    one = several[1]
    several.pop(0)
    one.at *= 3.0
    return one.at + sum(other.at for other in several)


def test_place_of_an_item_that_moved_is_refused() -> None:
    with pytest.raises(adjit.Unsupported, match="whose items have moved since"):
        adjit.grad(moved_since, target="python")(wave(4))


def shared_and_read(x):
    several = bodies(x)
    ahead = [one for one in several if one.at > 0.0]
    return sum(one.at**2 for one in ahead) + sum(one.at for one in several[1:])


def test_shared_items_are_taken_where_nobody_changes_them() -> None:
    x = wave(4)
    expected = np.where(x > 0.0, 2.0 * x, 0.0) + np.array([0.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(adjit.grad(shared_and_read, target="python")(x), expected)
