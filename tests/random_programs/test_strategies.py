"""Random programs with each of the compiler's mechanisms forced or left out: the derivative is the same."""

from __future__ import annotations

import pytest

from adjit.transform.strategy import FORCED
from tests.random_programs.checks import How, Outcome, check
from tests.random_programs.regressions import REGRESSIONS
from tests.random_programs.writing import write


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FORCED)
def test_some_random_programs(name: str) -> None:
    first = 1000 + 100 * list(FORCED).index(name)
    for seed in range(first, first + 2):
        program = write(seed)
        verdict = check(program, How(strategy=name))
        assert not verdict.outcome.is_failure, f"seed {seed}: {verdict.outcome.value}: {verdict.why}\n{program.text}"


def test_an_integer_that_is_kept_at_its_own_place() -> None:
    """In the second derivative `tape[k] = k` is a store like others, but tells nothing of where k is to be found."""
    verdict = check(REGRESSIONS["place_that_tells_itself"], How(second=True, strategy="kept"))
    assert verdict.outcome is Outcome.FINE, verdict.why


@pytest.mark.long
@pytest.mark.parametrize("name", FORCED)
def test_what_random_programs_found(name: str) -> None:
    for found in REGRESSIONS.values():
        verdict = check(found, How(second=True, strategy=name))
        assert verdict.outcome is Outcome.FINE, verdict.why
