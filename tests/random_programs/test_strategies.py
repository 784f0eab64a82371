"""Random programs with each of the compiler's mechanisms forced or left out: the derivative is the same."""

from __future__ import annotations

import random

import pytest

from adjit.transform.strategy import FORCED
from tests.random_programs.checks import Outcome, check
from tests.random_programs.regressions import REGRESSIONS
from tests.random_programs.strategy import HEADER, Program, write
from tests.random_programs.test_random import run


@pytest.mark.parametrize("name", FORCED)
def test_some_random_programs(name: str) -> None:
    run(10, FORCED[name])


@pytest.mark.long
@pytest.mark.parametrize("name", FORCED)
def test_many_random_programs(name: str) -> None:
    run(40, FORCED[name])


def run_checkpointed(examples: int) -> None:
    """A call may be refused, but only for arrays of several names that it writes into."""
    fine = 0
    for seed in range(examples):
        program = write(random.Random(seed)).checkpointed()
        if program.text.count("helper_") == program.text.count("def helper_"):
            continue
        verdict = check(program, second=seed % 4 == 0)
        fine += verdict.outcome is Outcome.FINE
        assert verdict.outcome is not Outcome.REFUSED or "has several names" in verdict.why, verdict.why
    assert fine >= examples // 8


def test_some_with_checkpointed_calls() -> None:
    run_checkpointed(32)


@pytest.mark.long
def test_many_with_checkpointed_calls() -> None:
    run_checkpointed(200)


@pytest.mark.long
@pytest.mark.parametrize("name", FORCED)
def test_what_random_programs_found(name: str) -> None:
    for found in REGRESSIONS.values():
        verdict = check(Program(HEADER + found), second=True, strategy=FORCED[name])
        assert verdict.outcome is Outcome.FINE, verdict.why
