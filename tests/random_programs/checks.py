"""What is asked of the derivatives of one program.

In: a `Program`. Out: `Outcome.FINE`; `REFUSED` with the reason, if the compiler does not take the program and says so;
`UNFIT`, if plain Python raises, or differences of different steps disagree, as next to a jump. AssertionError for a
wrong answer.

    check(Program("... return x * np.sin(y)"))     Verdict(Outcome.FINE)
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

import adjit
from adjit import errors
from adjit.runtime.dispatch import Options, derive
from adjit.transform.pipeline import Derivative
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.random_programs.strategy import Program

ACTIVE = (0, 1, 2, 3, 4)
STEPS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
_serial = itertools.count()


class Outcome(Enum):
    FINE = auto()
    REFUSED = auto()
    UNFIT = auto()


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    why: str = ""


def load(text: str, compiled: bool = True) -> Callable[..., float]:
    """The function `program`; without `compiled`, its helpers are plain Python too."""
    filename = f"<random program {next(_serial)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    if not compiled:
        text = text.replace("@njit\n", "\n")
    scope: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(text, filename, "exec"), scope)
    found: Callable[..., float] = scope["program"]
    return found


def check(program: Program, target: str = "python", second: bool = False, strategy: Strategy = CHEAPEST) -> Verdict:
    function, plain = load(program.text), load(program.text, compiled=False)
    arguments = program.arguments
    direction = _direction(arguments)
    with np.errstate(all="ignore"):
        try:
            value = plain(*program.arguments)
            expected = _along(plain, arguments, direction)
        except (ValueError, ZeroDivisionError, OverflowError, IndexError, UnboundLocalError) as fault:
            return Verdict(Outcome.UNFIT, f"plain Python: {fault!r}")
    if not math.isfinite(value) or abs(value) > 1e6:
        return Verdict(Outcome.UNFIT, "not bounded")
    if expected is None:
        return Verdict(Outcome.UNFIT, "not smooth")
    if not abs(expected) < 1e6:
        return Verdict(Outcome.UNFIT, "too steep")
    try:
        _first_order(function, arguments, direction, value, expected, target, strategy)
        if second:
            _second_order(function, arguments, direction, target, strategy)
    except errors.InternalError:
        raise
    except errors.AdjitError as refusal:
        return Verdict(Outcome.REFUSED, str(refusal))
    return Verdict(Outcome.FINE)


def _first_order(
    function: Any,
    arguments: tuple[Any, ...],
    direction: tuple[Any, ...],
    value: float,
    expected: float,
    target: str,
    strategy: Strategy,
) -> None:
    kept = [np.copy(a) for a in arguments]
    found, bars = adjit.value_and_grad(function, ACTIVE, target=target, strategy=strategy)(*arguments)
    _unchanged(kept, arguments, "reverse mode")
    assert _close(found, value, 1e-11), f"the value is {found}, plain Python's {value}"
    reverse = _dot(bars, direction)
    found, forward = adjit.jvp(function, arguments, (*direction, 0, 0, np.zeros(4)), target=target)
    _unchanged(kept, arguments, "forward mode")
    assert _close(found, value, 1e-11), f"the value of forward mode is {found}, plain Python's {value}"
    size = sum(float(np.sum(np.abs(b * d))) for b, d in zip(bars, direction, strict=True))
    scale = 1.0 + size
    assert abs(forward - reverse) <= 1e-10 * scale, f"forward {forward}, reverse {reverse}, differences {expected}"
    assert abs(reverse - expected) <= 2e-6 * scale, f"forward and reverse {reverse}, differences {expected}"


def _second_order(
    function: Any, arguments: tuple[Any, ...], direction: tuple[Any, ...], target: str, strategy: Strategy
) -> None:
    gradient = adjit.grad(function, ACTIVE, target=target, strategy=strategy)
    tangents = (*direction, 0, 0, np.zeros(4))

    def at(step: float) -> tuple[Any, ...]:
        moved = (a + step * d for a, d in zip(arguments, direction, strict=False))
        return tuple(gradient(*moved, *arguments[5:]))

    differences = []
    for step in STEPS[1:]:
        near = [p - m for p, m in zip(at(step), at(-step), strict=True)]
        far = [p - m for p, m in zip(at(2 * step), at(-2 * step), strict=True)]
        differences.append(_flat((8 * n - f) / (12 * step) for n, f in zip(near, far, strict=True)))
    expected = _agreeing(differences)
    kept = [np.copy(a) for a in arguments]
    _, forward_over_reverse = adjit.jvp(gradient, arguments, tangents, target=target)
    _unchanged(kept, arguments, "forward over reverse")
    _, pullback = adjit.vjp(gradient, *arguments, target=target, strategy=strategy)
    reverse_over_reverse = pullback(direction)[:5]
    _unchanged(kept, arguments, "reverse over reverse")
    along = derive(Derivative(function=function, kind="jvp", wrt=ACTIVE), Options(target=target))
    _, pullback = adjit.vjp(along, *arguments, *tangents, target=target)
    reverse_over_forward = pullback((0.0, 1.0))[:5]
    _unchanged(kept, arguments, "reverse over forward")
    made = {
        "forward over reverse": _flat(forward_over_reverse),
        "reverse over reverse": _flat(reverse_over_reverse),
        "reverse over forward": _flat(reverse_over_forward),
    }
    scale = 1.0 + float(np.max(np.abs(made["forward over reverse"])))
    if not scale < 1e8:
        return
    for name, product in made.items():
        other = made["forward over reverse"]
        assert np.all(np.abs(product - other) <= 1e-9 * scale), f"{name} {product}, forward over reverse {other}"
        if expected is not None:
            assert np.all(np.abs(product - expected) <= 1e-5 * scale), f"{name} {product}, differences {expected}"


def _unchanged(kept: list[Any], arguments: tuple[Any, ...], mode: str) -> None:
    for old, new in zip(kept, arguments, strict=True):
        assert np.array_equal(old, new), f"{mode} changed an array of the caller"


def _direction(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    return tuple(
        rng.uniform(-1.0, 1.0, np.shape(a)) if np.shape(a) else float(rng.uniform(0.3, 1.0)) for a in arguments[:5]
    )


def _along(function: Callable[..., float], arguments: tuple[Any, ...], direction: tuple[Any, ...]) -> float | None:
    """The derivative by differences of fourth order; None if the function is not smooth there."""

    def at(step: float) -> float:
        moved = (a + step * d for a, d in zip(arguments, direction, strict=False))
        return float(function(*moved, *(np.copy(a) if np.shape(a) else a for a in arguments[5:])))

    found = []
    for step in STEPS:
        found.append(np.array([(8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)]))
    best = _agreeing(found)
    return None if best is None else float(best[0])


def _agreeing(differences: list[Any]) -> Any:
    """The one that is nearest to the one with the next step; None if no two are near."""
    gaps = [float(np.max(np.abs(a - b))) for a, b in itertools.pairwise(differences)]
    gaps = [gap if math.isfinite(gap) else math.inf for gap in gaps]
    best = int(np.argmin(gaps))
    size = 1.0 + float(np.max(np.abs(differences[best])))
    # a jump between any two points shows in the smaller steps at the latest
    return differences[best + 1] if gaps[best] <= 1e-6 * size else None


def _dot(bars: tuple[Any, ...], direction: tuple[Any, ...]) -> float:
    return sum(float(np.sum(b * d)) for b, d in zip(bars, direction, strict=True))


def _flat(parts: Any) -> Any:
    return np.concatenate([np.ravel(p) for p in parts])


def _close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * (1.0 + abs(b))
