"""Random programs with each of the compiler's mechanisms forced or left out: the derivative is the same."""

from __future__ import annotations

import pytest

from adjit.transform.strategy import FORCED
from tests.random_programs.checks import Outcome, check
from tests.random_programs.regressions import REGRESSIONS
from tests.random_programs.strategy import HEADER, Program
from tests.random_programs.test_random import run


@pytest.mark.parametrize("name", FORCED)
def test_some_random_programs(name: str) -> None:
    run(10, FORCED[name])


@pytest.mark.long
@pytest.mark.parametrize("name", FORCED)
def test_many_random_programs(name: str) -> None:
    run(60, FORCED[name])


@pytest.mark.long
@pytest.mark.parametrize("name", FORCED)
def test_what_random_programs_found(name: str) -> None:
    for found in REGRESSIONS.values():
        verdict = check(Program(HEADER + found), second=True, strategy=FORCED[name])
        assert verdict.outcome is Outcome.FINE, verdict.why
