"""Sets of integers, against all integers of a box."""

import itertools
import operator
import random

import pytest

from adjit.transform.analysis.integer_sets import (
    FALSE,
    MOST_CASES,
    TRUE,
    UNDECIDED,
    IntegerSet,
    both,
    compared,
    either,
    is_empty,
    names_in,
)

RELATIONS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
BOX = range(4)


def within(name):
    return both(compared({name: 1}, 0, ">="), compared({name: 1}, -len(BOX), "<"))


def drawn(draw, names):
    """A relation, as a condition and as a function of the values of the names."""
    terms = {name: draw.choice((-2, -1, 0, 1, 2)) for name in names}
    constant, relation = draw.randint(-3, 3), draw.choice(list(RELATIONS))
    return compared(terms, constant, relation), lambda known: RELATIONS[relation](
        sum(factor * known[name] for name, factor in terms.items()) + constant, 0
    )


def holds(known, names, tests):
    """Whether the tests, one of two and then another one, hold for some values of the names that are not known."""
    values = itertools.product(BOX, repeat=len(names))
    return any(
        (tests[0](whole) or tests[1](whole)) and tests[2](whole)
        for whole in ({**known, **dict(zip(names, inner, strict=True))} for inner in values)
    )


@pytest.mark.parametrize("seed", range(40))
def test_against_a_box(seed):
    draw = random.Random(seed)
    outer, sizes = ["r0", "r1"], ["n0"]
    bounds = [within(name) for name in (*outer, *sizes)]
    tests, sets = [], []
    for inner in ([], ["k0"]):
        conditions, functions = zip(*(drawn(draw, (*outer, *sizes, *inner)) for _ in range(3)), strict=True)
        inside = both(either(*conditions[:2]), conditions[2], *map(within, inner), *bounds)
        sets.append(IntegerSet(outer, sizes, inside))
        tests.append((inner, functions))
    points = [dict(zip((*outer, *sizes), p, strict=True)) for p in itertools.product(BOX, repeat=3)]
    first, second = ([holds(point, *test) for point in points] for test in tests)
    assert is_empty(sets[0]) == (not any(first))
    assert is_empty(sets[1]) == (not any(second))
    assert is_empty(*sets) == (not any(a and not b for a, b in zip(first, second, strict=True)))


def test_conditions_without_names():
    assert compared({"r0": 0}, 1, ">") == TRUE
    assert compared({}, 1, "=") == compared({}, 0, "!=") == FALSE
    assert is_empty(IntegerSet(["r0"], [], FALSE), IntegerSet(["r0"], [], TRUE))
    assert not is_empty(IntegerSet(["r0"], [], TRUE))
    assert is_empty(IntegerSet([], [], TRUE), IntegerSet([], [], TRUE))


def test_too_many_cases():
    parts = [compared({f"r{k}": 1}, 0, "!=") for k in range(12)]
    assert 2 ** len(parts) > MOST_CASES
    assert both(*parts) is UNDECIDED
    assert either(both(*parts), TRUE) is both(UNDECIDED, TRUE) is UNDECIDED
    names = sorted(names_in(either(*parts)))
    # nothing is known of it: it may be empty or not, and takes nothing from another one
    assert not is_empty(IntegerSet(names, [], UNDECIDED))
    assert not is_empty(IntegerSet(names, [], TRUE), IntegerSet(names, [], UNDECIDED))
