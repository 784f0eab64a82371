"""Loops that Python runs while a program is compiled: which ones, what they leave, and what they may not touch."""

import ast
import builtins
import inspect
import math
import textwrap

import numpy as np
import pytest

from adjit.rules.registry import lookup
from adjit.transform.source import compile_time_execution
from adjit.transform.source.compile_time_execution import run_beforehand

TABLE = np.array([0.1, 0.4])
WORDS = [1.0]
MADE = (np.zeros, np.arange, np.empty)


def after(function, **given):
    """What the last loop of a function leaves."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    loop = next(each for each in reversed(tree.body) if isinstance(each, ast.For | ast.While))
    own = frozenset((*function.__code__.co_varnames, *function.__code__.co_cellvars))

    def outside(name):
        return {**vars(builtins), **function.__globals__}[name]

    def is_known(callee):
        entry = lookup(callee)
        return callee in MADE or (entry is not None and not entry.effect)

    return run_beforehand(tree.body, loop, own, given, outside, is_known)


def spikes():
    n, other = 40, 3.0
    rng = np.random.default_rng(7)
    drive = np.cumsum(rng.standard_normal(n))
    found, rest = np.zeros(n, dtype=int), 0
    times = []
    unrelated = print
    for t in range(n):
        if rest > 0:
            rest -= 1
            continue
        if rng.random() < min(0.6, TABLE[1] * np.exp(drive[t])):
            found[t] = 1
            times.append(t * other)
            rest = 2
    return found, times, rest, rng, t, unrelated


def test_what_a_loop_leaves() -> None:
    left, (found, times, rest, rng, t, _) = after(spikes), spikes()
    # `rest` is 0 again
    assert sorted(left) == ["found", "rng", "t", "times"]
    assert rest == 0
    np.testing.assert_array_equal(left["found"], found)
    assert left["found"].sum() == 3
    assert left["times"] == times
    assert left["t"] == t == 39
    assert left["rng"].bit_generator.state == rng.bit_generator.state


def of_a_parameter(n):
    rng, total = np.random.RandomState(n), 0.0
    while total < n:
        total += rng.rand() * math.sqrt(n)
    return total


def test_parameters_that_are_known() -> None:
    assert after(of_a_parameter, n=5)["total"] == of_a_parameter(5)
    assert after(of_a_parameter) is None


def prints():
    for k in range(3):
        print(k)


def draws_from_the_global_state():
    y = 0.0
    for _ in range(3):
        y += np.random.normal()


def seeds_the_global_state():
    for k in range(3):
        np.random.seed(k)


def changes_a_global_list():
    for k in range(3):
        WORDS.append(k)


def changes_a_global_array():
    for k in range(2):
        TABLE[k] = 0.0


def changes_a_part_of_a_global_array():
    row = TABLE[1:]
    for k in range(1):
        row[k] = 0.0


def changes_a_module():
    for k in range(3):
        np.pi = k


def writes_a_file():
    y = np.zeros(3)
    for k in range(3):
        y.tofile(f"{k}")


def sets_how_numpy_raises():
    for _ in range(3):
        np.seterr(all="raise")


def is_unseeded():
    y = 0.0
    for _ in range(3):
        y += np.random.default_rng().random()


def calls_what_is_not_known():
    y = 0.0
    for k in range(3):
        y += spikes()[2] + k


def hands_a_function_on():
    for _ in range(3):
        list(map(print, [1]))
        sorted([3, 1], key=print)


def has_another_name():
    y = np.zeros(3)
    z = y[1:]
    for k in range(2):
        y[k] = 1.0
    return z


def is_in_a_tuple():
    y = np.zeros(3)
    z = (y, 2)
    for k in range(2):
        y[k] = 1.0
    return z


def is_seen_by_a_function():
    y = np.zeros(3)

    def change():
        y[0] = 2.0

    for k in range(2):
        y[k] = 1.0
    return change


def keeps_what_nobody_stored():
    y = np.empty(3, dtype=int)
    for k in range(2):
        y[k] = 1


def raises():
    y = np.zeros(3)
    for k in range(5):
        y[k] = 1.0


def imports():
    import random

    for _ in range(5):
        random.random()


def goes_on():
    k = 0
    while True:
        k += 1


def goes_on_in_a_comprehension():
    k = 0
    for _ in range(2):
        k += sum([1 for _ in range(10**15)])


def asks_the_interpreter():
    for _ in range(3):
        np.__dict__.clear()


NOT_RUN = [
    prints, draws_from_the_global_state, seeds_the_global_state, changes_a_global_list, changes_a_global_array,
    changes_a_part_of_a_global_array, changes_a_module, writes_a_file, sets_how_numpy_raises, is_unseeded,
    calls_what_is_not_known, hands_a_function_on, has_another_name, is_in_a_tuple, is_seen_by_a_function, raises,
    imports, keeps_what_nobody_stored, goes_on, goes_on_in_a_comprehension, asks_the_interpreter,
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_RUN, ids=lambda f: f.__name__)
def test_what_is_not_run(function, monkeypatch, capsys) -> None:
    monkeypatch.setattr(compile_time_execution, "MOST_STEPS", 2000)
    state, handling = repr(np.random.get_state()), np.geterr()
    assert after(function) is None
    assert repr(np.random.get_state()) == state
    assert np.geterr() == handling
    assert capsys.readouterr().out == ""
    assert WORDS == [1.0]
    assert TABLE.tolist() == [0.1, 0.4]
    assert np.pi == math.pi


def reads():
    y, k = np.zeros(3), 0
    step = 2 * TABLE
    while k < 3:
        y[k] = step[0] * math.pi
        k += 1
    return y


def stores_some():
    y = np.empty(3)
    for k in range(2):
        y[k] = 1.0
    return y


def test_what_nobody_stored_is_no_number() -> None:
    np.testing.assert_array_equal(after(stores_some)["y"], [1.0, 1.0, np.nan])


def test_global_arrays_are_read() -> None:
    np.testing.assert_array_equal(after(reads)["y"], reads())
    assert TABLE.flags.writeable
