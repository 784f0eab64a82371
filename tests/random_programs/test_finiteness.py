"""Random programs on incomplete data: some of them here, more by `make test-long`."""

import itertools

import pytest

from tests.random_programs.finiteness import FILLED, LEFT_OUT, LOOPS, MADE, NUMBERS, SPACES, Finite, verdict_of


@pytest.mark.parametrize("way", ["cheapest", "compiled"])
def test_some_random_programs(way: str) -> None:
    verdicts = [verdict_of((seed, way)) for seed in range(20 if way == "cheapest" else 2)]
    failures = [verdict for verdict in verdicts if verdict]
    assert not failures, failures[0]
    assert sum(verdict == "" for verdict in verdicts) >= 0.5 * len(verdicts)


def test_programs_have_all_parts() -> None:
    texts = "".join(Finite(seed).text for seed in range(1500)).replace("    ", "")
    for part in itertools.chain(MADE, LEFT_OUT, NUMBERS, LOOPS, FILLED, SPACES):
        assert part.replace("    ", "") in texts
