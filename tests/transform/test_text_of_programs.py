"""The text of derivatives against the IR that it was written from: the same bits, from plain Python and interpreter."""

import copy

import numba
import numpy as np
import pytest

from adjit.errors import Stretched
from adjit.transform.emit.emit import emit
from adjit.transform.pipeline import Derivative, explained
from tests.golden.primals import CASES
from tests.programs.harness import flat
from tests.programs.more_traps import MORE_TRAPS
from tests.programs.table import TABLE
from tests.transform.emitting import python, same
from tests.transform.interpreter import run


def compare(function, kind, wrt, arguments, stretches=False):
    derivative = Derivative(function, kind, wrt, stretches=stretches)
    made, _ = explained(derivative, tuple(numba.typeof(a) for a in arguments))
    one, other = copy.deepcopy(arguments), copy.deepcopy(arguments)
    try:
        expected = run(made, *one)
    except Stretched:
        # axes of length 1 are stretched: that is other code, which assumes nothing of them
        assert not stretches
        compare(function, kind, wrt, arguments, stretches=True)
        return
    with np.errstate(all="ignore"):
        found = python(emit(made))(*other)
    assert same(expected, found)
    assert all(map(same, flat(tuple(one)), flat(tuple(other))))


@pytest.mark.sampled(3, first=1)
@pytest.mark.parametrize("row", [*TABLE, *MORE_TRAPS.rows], ids=lambda row: row.name)
def test_text_means_what_the_ir_says(row):
    arguments = row.arguments()
    if isinstance(getattr(row.function, "py_func", row.function)(*row.arguments()), float):
        compare(row.function, "value_and_grad", row.active, arguments)
    else:
        compare(row.function, "jvp", row.active, arguments + row.arguments())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_text_of_the_golden_programs(case):
    compare(case.function, "value_and_grad", case.wrt, case.arguments)
