"""636 programs of many fields, as their people write them: value and gradient against differences, or refused.

They were written without a look at what is supported. One in ten is tried each time, all of them under `long`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.transform.source.structures import put_together, taken_apart

PARTS = [importlib.import_module(f"tests.field_programs.part_{k:02d}") for k in range(1, 47)]
PROGRAMS = [program for part in PARTS for program in part.PROGRAMS]

# What is not taken, and how that is said.
REFUSED: dict[str, str] = {
    "portfolio": "a list of items of different kinds",
    "binned_likelihood": "a call of the class ChainMap",
    "joint_annuity": "zip of two generators",
    "honey": "a class inside a function",
    "exposure": "a call of the class ChainMap",
    "demerits": "min of no items",
    "journey": "a value whose type depends on the path taken",
    "cup": "_normal_dist_inv_cdf",
    "cost_of_losses": "diags of complex numbers",
    "glicko_holdout_logloss": "a store into an item of a dictionary without a name",
    "hammered_string_centroid": "next of an iterator",
    "meantone_key_tension": "a list of items of different kinds",
    "thinned_stand_value": "changes of lists or objects that are appended more than once",
    "roast_development_ratio": "a list of items of different kinds",
}

SLOW = {"tree_likelihood", "innovation_cost", "attitude_error", "pollution_routing_cost", "spm_pulse_voltage"}

# near whose arguments there is a kink: a ray that passes a corner, a queue that begins
NEAR_KINKS = {"total_time_spent", "speed_in_lesion"}


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "program",
    [pytest.param(one, id=one[0], marks=[pytest.mark.long] if one[0] in SLOW else []) for one in PROGRAMS],
)
def test_program(program: Any) -> None:
    name, _, function, make, wrt = program
    derived = adjit.value_and_grad(function, wrt=wrt, target="python")
    if name in REFUSED:
        with pytest.raises(adjit.AdjitError, match=REFUSED[name]):
            derived(*make())
        return
    value, bars = derived(*make())
    np.testing.assert_allclose(value, function(*make()), rtol=1e-9)
    for place, bar in zip(wrt, bars, strict=True):
        expected, direction = along(function, make, place, 1e-5 if name in NEAR_KINKS else 1e-4)
        terms = [np.sum(np.asarray(b) * d) for b, d in zip(leaves(bar)[1], direction, strict=True)]
        size = sum(np.sum(np.abs(np.asarray(b) * d)) for b, d in zip(leaves(bar)[1], direction, strict=True))
        assert abs(sum(terms) - expected) <= 2e-5 * max(size, abs(expected)) + 1e-7 * abs(value), (name, place)
