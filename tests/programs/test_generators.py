"""Generators are right in all modes; where Python would see more than is followed, they are refused."""

from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.generators import GENERATORS, forever, steps
from tests.programs.harness import check
from tests.programs.rows import Row


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", GENERATORS.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in GENERATORS.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def it_reads_what_the_loop_assigns(x: Any) -> Any:
    total = 0.0

    def parts() -> Any:
        for _ in range(3):
            yield x * total

    for part in parts():
        total += part + 1.0
    return total


def run_through_in_a_loop_around(x: Any) -> Any:
    made, total = forever(x), 0.0
    for _ in range(3):
        for y in made:
            total += y
            break
    return total


def run_through_on_one_path(x: Any) -> Any:
    made, total = steps(x, 1e-6), 0.0
    if x > 1.0:
        total = sum(made)
    return total + sum(made)


def the_same_array_in_a_list(x: Any) -> Any:
    def halved() -> Any:
        y = np.ones(3) * x
        for _ in range(3):
            y *= 0.5
            yield y

    return sum(np.sum(y) for y in list(halved()))


def calls_itself(x: Any) -> Any:
    def digits(n: Any) -> Any:
        if n > 0:
            yield n % 10
            yield from digits(n // 10)

    return x * sum(digits(int(x * 100.0)))


def assigns_around_it(x: Any) -> Any:
    taken = 0.0

    def parts() -> Any:
        nonlocal taken
        for _ in range(3):
            taken += x
            yield x

    return sum(parts()) * taken


def two_at_once(x: Any) -> Any:
    return sum(a * b for a, b in zip(forever(x), steps(x, 1e-3), strict=False))


def asked_for_one(x: Any) -> Any:
    made = forever(x)
    return next(made) * next(made)


def what_is_sent(x: Any) -> Any:
    def echo() -> Any:
        got = yield x
        yield got

    return sum(echo())


def all_of_an_endless_one(x: Any) -> Any:
    return sum(forever(x))


def never_left(x: Any) -> Any:
    while True:
        x = 0.5 * x
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (all_of_an_endless_one, "a loop that never ends(.*\n)*  All items of a generator"),
        (never_left, "a loop that never ends(.*\n)*  Leave it by"),
        (it_reads_what_the_loop_assigns, "`total`, which a generator reads and a loop over the generator assigns"),
        (run_through_in_a_loop_around, "an iterator of forever that is used in more than one place, or in a loop"),
        (run_through_on_one_path, "an iterator of steps that is used in more than one place"),
        (the_same_array_in_a_list, "a store into memory that an item of this list shares"),
        (calls_itself, "digits, a generator that calls itself"),
        (assigns_around_it, "parts, a generator that assigns to the enclosing `taken`"),
        (two_at_once, "zip of two generators"),
        (asked_for_one, "next of an iterator, of forever"),
        (what_is_sent, "a value that is sent to a generator"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(function, target="python")(1.7)
