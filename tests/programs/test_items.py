"""Items that are lists or objects: right in all modes; where two names would see a change and one does not, refused."""

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.items import ITEMS, bodies
from tests.programs.rows import Row, wave


@pytest.mark.parametrize("row", ITEMS.rows, ids=lambda row: row.name)
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


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (one_list_many_times, "changed after it went into a list that grows"),
        (changed_under_its_own_name, "more than once, or of another one too|after it went into a list"),
        (in_two_lists, "more than once, or of another one too"),
        (picked_and_changed, "more than once, or of another one too"),
        (repeated_row, "more than once, or of another one too"),
        (held_by_an_object, "more than once, or of another one too"),
    ],
)
def test_shared_items_are_refused(function, message: str) -> None:
    with pytest.raises(adjit.Unsupported, match=message):
        adjit.grad(function, target="python")(wave(4))


def moved_since(x):
    several = bodies(x)
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
