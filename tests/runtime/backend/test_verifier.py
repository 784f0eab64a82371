"""What is read from a text is held to it: names that some ways set, and a verifier that sees a reader that errs."""

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.errors import InternalError
from adjit.runtime.backend import compiler
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.reading.statements import Reader
from adjit.runtime.backend.versions import is_plain

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

TABLE = np.array([0.0, 1.0, 2.0, 3.0])


def last_between(z, h):
    for j in range(h.size):
        if h[j] > z and h[j] < z + 1.0:
            k = j
    return h[k] * z


def looked_up(z, h):
    for j in range(h.size - 1):
        if h[j] <= z <= h[j + 1]:
            k = j
    return h[k] + (z - h[k]) * h[k + 1]


def nearest_of_rows(z, h):
    """An array, and a name of an outer loop's number, set in the inner loop."""
    for i in range(3):
        row = h[i:]
        for j in range(row.size):
            if abs(row[j] - z) < 0.7:
                found, where, u = row, i, z * j
                if j > 1:
                    break
    return found[0] * z + where + u


def set_in_a_left_loop(z, h):
    for j in range(h.size):
        w = h[j]
        if w < z:
            continue
        a, b = w, j
        for i in range(3):
            c = a
            if i == b:
                a, d = b, c
                break
    return a * z + d * c


def read_behind_or(z, h):
    w = 0
    while w < 4 and (w == 0 or k < z):  # noqa: F821
        k = h[w] * z
        w += 1
    return k * z


def of_a_checkpoint(z, h):
    a = h[1] * 0.3
    for t in adjit.checkpoint(range(10)):
        a = a * z + 0.3
        if a > 1.5:
            break
    return a * t


PROGRAMS = [last_between, looked_up, nearest_of_rows, set_in_a_left_loop, read_behind_or, of_a_checkpoint]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives_are_those_of_python(program):
    arguments = 1.4, TABLE
    value, bar = adjit.value_and_grad(program)(*arguments)
    assert value == pytest.approx(program(*arguments), rel=1e-12)
    expected, expected_bar = adjit.value_and_grad(program, target="python")(*arguments)
    assert (value, bar) == pytest.approx((expected, expected_bar), rel=1e-12)
    tangent = adjit.jvp(program, arguments, (1.0, np.zeros(4)))[1]
    step = 1e-6
    difference = (program(1.4 + step, TABLE) - program(1.4 - step, TABLE)) / (2.0 * step)
    assert tangent == pytest.approx(bar, rel=1e-12) == pytest.approx(difference, rel=1e-6)


def test_they_are_read_from_their_text():
    compiler.not_read.clear()
    for program in (last_between, looked_up, nearest_of_rows, set_in_a_left_loop):
        assert njit(pipeline_class=GeneratedCompiler)(program)(1.4, TABLE) == program(1.4, TABLE)
    assert not compiler.not_read


def first_of_ways(self, bodies, found):
    """The variable of one way, for all."""
    return next(one for one in found if one is not None)


def nothing_handed_on(copy):
    def changed(self, body, target, source):
        if not any(target is carried for loop in self._loops for carried in loop.carried.values()):
            copy(self, body, target, source)

    return changed


def set_before_the_test(z, h):
    k = 0
    for j in range(h.size):
        if h[j] > z and h[j] < z + 1.0:
            k = j
    return h[k] * z


@pytest.mark.parametrize(("name", "wrong"), [("_joined", first_of_ways), ("_copy", nothing_handed_on(Reader._copy))])
def test_a_reader_that_errs_is_seen(name, wrong, monkeypatch):
    monkeypatch.setattr(Reader, name, wrong)
    with pytest.raises(InternalError, match="is read by"):
        njit(pipeline_class=GeneratedCompiler)(set_before_the_test)(1.4, TABLE)


def test_a_variable_that_some_way_does_not_set_is_seen(monkeypatch):
    def on_one_way(self, bodies, found):
        met = self.variable(self.type_of(found[0]))
        self._copy(bodies[0], met, found[0])
        return met

    monkeypatch.setattr(Reader, "_joined", on_one_way)
    with pytest.raises(InternalError, match="which some way to it does not set"):
        njit(pipeline_class=GeneratedCompiler)(set_before_the_test)(1.4, TABLE)
