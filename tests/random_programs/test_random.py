"""Random programs against differences of plain Python; forward, reverse and their compositions against one another."""

from __future__ import annotations

import os
import zlib
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, note, settings

from adjit.transform.strategy import CHEAPEST, Strategy
from tests.random_programs.checks import Outcome, check
from tests.random_programs.regressions import REGRESSIONS
from tests.random_programs.strategy import HEADER, Program, programs

SHARE_REFUSED = 0.05
EVERY_COMPILED, EVERY_SECOND = 20, 4
# shrinking a program takes as long as some hundred of them
PHASES = (Phase.generate, Phase.shrink) if os.environ.get("ADJIT_SHRINK") else (Phase.generate,)


def settings_for(examples: int) -> settings:
    """The same programs in each run."""
    return settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, phases=PHASES, print_blob=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def run(examples: int, strategy: Strategy = CHEAPEST) -> None:
    counts: Counter[Outcome] = Counter()
    refusals: list[str] = []

    @settings_for(examples)
    @given(programs())
    def one(program: Program) -> None:
        note(program.text)
        # from the program, so that a failing one fails again
        number = zlib.crc32(program.text.encode())
        target = "python" if number % EVERY_COMPILED else "cpu"
        second = number % EVERY_SECOND == 1
        verdict = check(program, target, second, strategy)
        event(verdict.outcome.name)
        counts[verdict.outcome] += 1
        if verdict.outcome is Outcome.REFUSED:
            refusals.append(verdict.why)
        assume(verdict.outcome is not Outcome.UNFIT)

    one()
    total = counts[Outcome.FINE] + counts[Outcome.REFUSED]
    assert counts[Outcome.REFUSED] <= SHARE_REFUSED * total, "\n".join(refusals)


def test_some_random_programs() -> None:
    run(60)


@pytest.mark.long
def test_a_thousand_random_programs() -> None:
    run(1000)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_what_random_programs_found(name: str) -> None:
    verdict = check(Program(HEADER + REGRESSIONS[name]), second=True)
    assert verdict.outcome is Outcome.FINE, verdict.why
