"""Programs of many fields, as their people write them: value and gradient against differences, or refused.

One in ten is tried each time, all of them under `long`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.transform.source.structures import put_together, taken_apart
from tests.field_programs import Program, catalogue

PROGRAMS = catalogue()


def test_catalogue_is_whole() -> None:
    """No file is left out, and no program is lost: there were 636 when they were sorted by field."""
    assert len(PROGRAMS) >= 636


def leaves(value: Any) -> tuple[Any, list[Any]]:
    """How an argument is put together, and the numbers and arrays in it."""
    found: list[Any] = []
    return taken_apart(value, found), found


def is_float(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind == "f"


def along(function: Callable[..., float], make: Callable[[], tuple[Any, ...]], place: int, step: float) -> Any:
    """The derivative along a direction in which each float moves by a share of its size; and that direction."""
    draw = np.random.default_rng(place)
    layout, found = leaves(make()[place])
    sizes = [
        np.where(np.nan_to_num(v) == 0.0, 1e-3, np.abs(v)) if is_float(v) else np.zeros(np.shape(v)) for v in found
    ]
    direction = [size * draw.uniform(0.5, 1.0, np.shape(size)) for size in sizes]

    def moved(by: float) -> float:
        arguments = list(make())
        new = [v + by * d if is_float(v) else v for v, d in zip(found, direction, strict=True)]
        new = [float(v) if is_float(v) and np.ndim(v) == 0 else v for v in new]
        arguments[place] = put_together(layout, iter(new))
        return float(function(*arguments))

    return (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step), direction


def cases() -> list[Any]:
    """The programs by readable names: `glaciology-ice_volume`."""
    return [
        pytest.param(one, id=f"{one.field}-{one.name}", marks=[pytest.mark.long] if one.slow else [])
        for one in PROGRAMS
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", cases())
def test_program(program: Program) -> None:
    function, make = program.function, program.arguments
    derived = adjit.value_and_grad(function, wrt=program.wrt, target="python")
    if program.refused is not None:
        with pytest.raises(adjit.AdjitError, match=program.refused):
            derived(*make())
        return
    value, bars = derived(*make())
    np.testing.assert_allclose(value, function(*make()), rtol=1e-9)
    for place, bar in zip(program.wrt, bars, strict=True):
        expected, direction = along(function, make, place, 1e-5 if program.near_kink else 1e-4)
        terms = [np.sum(np.asarray(b) * d) for b, d in zip(leaves(bar)[1], direction, strict=True)]
        size = sum(np.sum(np.abs(np.asarray(b) * d)) for b, d in zip(leaves(bar)[1], direction, strict=True))
        assert abs(sum(terms) - expected) <= 2e-5 * max(size, abs(expected)) + 1e-7 * abs(value), place
