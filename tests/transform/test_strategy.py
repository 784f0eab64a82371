"""The mechanisms of the compiler: each is asked for somewhere, and programs of the benchmarks show what it is for."""

import re
from pathlib import Path

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, MECHANISMS, Strategy
from tests.benchmarked import ROOT, mechanisms

PROGRAMS = mechanisms.programs("small")


def test_each_mechanism_is_asked_for():
    texts = [Path(file).read_text(encoding="utf-8") for file in (ROOT / "adjit" / "transform").rglob("*.py")]
    assert {name for text in texts for name in re.findall(r'\buses\("(\w+)"\)', text)} == MECHANISMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_that_a_mechanism_is_for(program):
    def derived(strategy):
        return adjit.value_and_grad(program.function, wrt=program.wrt, strategy=strategy, target="python")

    made = derived(CHEAPEST)
    text, (value, gradients) = made.source(*program.arguments, tuned=True), made(*program.arguments)
    for name in program.mechanisms:
        without = derived(Strategy(without=frozenset({name})))
        assert without.source(*program.arguments, tuned=True) != text
        # sums in another order
        assert without(*program.arguments)[0] == pytest.approx(value, rel=1e-12)
        for found, expected in zip(without(*program.arguments)[1], gradients, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
