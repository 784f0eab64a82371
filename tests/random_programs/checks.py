"""What is asked of the derivatives of one program.

In: a `Program`, and how it is asked. Out: a `Verdict`: FINE; REFUSED with the message, if the compiler does not take
the program and says where and what to do; UNFIT, if plain Python raises or the program is not smooth there; else what
is wrong.

    check(Program("def program(x): ..."), How(second=True))     Verdict(Outcome.FINE)

The value is plain Python's. What reverse mode gives along a direction is what forward mode gives, and that is what the
complex step gives where it can, else differences. The generated text computes what the IR it is written from means,
and compiled code what the text does. Nothing of the caller's changes, and nothing that is handed out shares memory.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import os
import random
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from unittest import mock

import numpy as np
from numba import types

import adjit
from adjit import errors
from adjit.api.specialise import dispatch
from adjit.api.specialise.dispatch import Options, derive
from adjit.transform import ir, pipeline
from adjit.transform.pipeline import Derivative
from adjit.transform.strategy import FORCED
from tests.random_programs import analytic, singular
from tests.random_programs.analytic import flat, like
from tests.random_programs.program import Program
from tests.random_programs.writing.world import Unfit, limited
from tests.transform import interpreter

_POWER_OF_AN_ELEMENT = re.compile(r"\b\w+\[[^\[\]:]*\] \*\* ")
STEPS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
LARGEST = 1e6
SECONDS = 30.0


class Outcome(Enum):
    FINE = "fine"
    REFUSED = "refused"
    UNFIT = "unfit"
    WRONG_VALUE = "wrong value"
    WRONG_DERIVATIVE = "wrong derivative"
    CHANGED = "caller's array changed or shared"
    TEXT = "text is not its IR"
    COMPILED = "compiled is not the text"
    INTERNAL = "internal error"
    RAW = "raw exception"
    NUMBA = "numba cannot compile"
    MESSAGE = "message without place or advice"
    ENDLESS = "takes too long"

    @property
    def is_failure(self) -> bool:
        return self not in (Outcome.FINE, Outcome.REFUSED, Outcome.UNFIT)


@dataclass(frozen=True)
class Verdict:
    """`cause`: the same for failures that one defect makes, as far as can be told."""

    outcome: Outcome
    why: str = ""
    cause: str = ""


@dataclass(frozen=True)
class How:
    """What is asked beside first derivatives by both modes."""

    compiled: bool = False
    second: bool = False
    twice: bool = False
    into: bool = False
    misfits: bool = False
    several: bool = False
    others: bool = True
    strategy: str | None = None

    @classmethod
    def of(cls, seed: int, compiled: bool = False, strategy: str | None = None, every_compiled: int = 0) -> How:
        """Shares of the programs are asked more; the same for the same seed."""
        draw = random.Random(f"how {seed}")
        if strategy is None and draw.random() < 0.1:
            strategy = draw.choice(sorted(FORCED))
        return cls(
            compiled=compiled or (every_compiled > 0 and seed % every_compiled == 0),
            second=draw.random() < 0.12,
            twice=draw.random() < 0.06,
            into=draw.random() < 0.06,
            misfits=draw.random() < 0.15,
            several=draw.random() < 0.06,
            strategy=strategy,
        )


def _raised(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Exception | None:
    try:
        function(*arguments)
    except Exception as fault:  # noqa: BLE001  what it is, is asked
        return fault
    return None


class Wrong(Exception):
    def __init__(self, outcome: Outcome, why: str, cause: str = "") -> None:
        super().__init__(outcome, why)
        self.outcome, self.why, self.cause = outcome, why, cause


class NotSmooth(Exception):
    """Nothing can be said about derivatives here."""


def check(program: Program, how: How = How()) -> Verdict:
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _checked(program, how)
    except Unfit:
        return Verdict(Outcome.ENDLESS, f"more than {SECONDS} s")


def _checked(program: Program, how: How) -> Verdict:
    try:
        case = _Case(program, how)
    except Exception as fault:  # noqa: BLE001  what plain Python does not run is no program
        return Verdict(Outcome.UNFIT, f"plain Python: {fault!r}")
    if not case.is_moderate():
        return Verdict(Outcome.UNFIT, "not bounded")
    try:
        case.run()
    except Wrong as fault:
        if (case.is_single or fault.outcome is Outcome.COMPILED) and case.has_jump():
            return Verdict(Outcome.UNFIT, f"rounding decides: {fault.why}")
        return Verdict(fault.outcome, fault.why, fault.cause or fault.outcome.value)
    except NotSmooth as fault:
        return Verdict(Outcome.UNFIT, str(fault))
    except errors.InternalError as fault:
        is_numba = "numba does not compile" in fault.what
        why = f"{fault}\n{fault.__cause__ or ''}"[:1500]
        return Verdict(Outcome.NUMBA if is_numba else Outcome.INTERNAL, why, _cause(fault))
    except errors.NotDifferentiable as fault:
        # then the result does not change with the arguments near by
        found = case.by_differences()
        if found is not None and abs(found) > 1e-6:
            return Verdict(Outcome.MESSAGE, f"it has a derivative, {found}: {fault}", "not differentiable")
        return Verdict(Outcome.UNFIT, str(fault))
    except errors.AdjitError as fault:
        if not _is_helpful(fault):
            return Verdict(Outcome.MESSAGE, str(fault), _normal(f"{type(fault).__name__}: {fault.what}"))
        return Verdict(Outcome.REFUSED, str(fault), _normal(fault.what + "\n" + fault.why))
    except np.linalg.LinAlgError as fault:
        # a factorisation that is not differentiable there, as that of a singular matrix
        return Verdict(Outcome.UNFIT, repr(fault))
    except NotImplementedError as fault:
        # what a rule cannot do with arguments of these shapes is known when they are there
        return Verdict(Outcome.REFUSED, repr(fault), _normal(str(fault)))
    except Exception as fault:  # noqa: BLE001  that is what is looked for
        if isinstance(fault, TypeError) and "not 'complex'" in str(fault):
            return Verdict(Outcome.UNFIT, "a power that Python gives as a complex number")
        trace = "".join(traceback.format_exception(fault)[-4:])
        return Verdict(Outcome.RAW, trace, _cause(fault))
    return Verdict(Outcome.FINE)


# ------------------------------------------------------------------------------------------------------- the checks


class _Case:
    """A program with its derivatives."""

    def __init__(self, program: Program, how: How) -> None:
        self.program, self.how = program, how
        plain, given = program.module(is_plain=True), program.module()
        self.asked: dict[str, Any] = dict(plain.get("asked", {}))
        self.plain_module, self.plain, self.function = plain, plain["program"], given["program"]
        self.module = given
        self.at(plain["arguments"]())
        options = {k: v for k, v in self.asked.items() if k in ("parallel", "memory_limit", "fastmath", "vectormath")}
        self.strategy = FORCED[how.strategy] if how.strategy else None
        self.options = Options(target="python", **{**options, **({"strategy": self.strategy} if self.strategy else {})})
        self.is_single = "float32" in program.text
        # of some operations, relative to the numbers that are added up
        self.rounding = 1e-4 if self.is_single else 1e-9

    def at(self, arguments: tuple[Any, ...]) -> None:
        """Asked for these arguments from now on."""
        self.arguments = arguments
        carrying = [k for k, a in enumerate(arguments) if any(map(_is_float, flat(a)))]
        self.wrt = tuple(k for k in self.asked.get("wrt", carrying) if k in carrying)
        draw = np.random.default_rng(7)
        self.direction = tuple(_random(a, draw) if k in self.wrt else _zero(a) for k, a in enumerate(arguments))
        # elements of few bits have 64 here, as in numba; of arrays, which overflow alike in both, nothing is said
        is_small = any(np.asarray(a).dtype.kind in "iu" and np.asarray(a).dtype.itemsize < 8 for a in flat(arguments))
        with np.errstate(all="ignore", over="raise" if is_small else "ignore"):
            try:
                self.value = self.plain(*self.fresh())
            except Unfit as fault:
                raise TimeoutError("plain Python does not end") from fault
        if is_small and _POWER_OF_AN_ELEMENT.search(self.program.text):
            raise OverflowError("a power of an element may overflow without a word")
        self.is_number = isinstance(self.value, float | np.floating)
        self.seed = 1.0 if self.is_number else _random(self.value, draw)

    def fresh(self) -> tuple[Any, ...]:
        """The arguments once more, sharing what they share."""
        return _copied(self.arguments)

    def is_moderate(self) -> bool:
        """Whether it can be asked at all."""
        if not all(isinstance(x, int | float | np.number | np.bool_ | np.ndarray) for x in flat(self.value)):
            return False
        leaves = [x for x in flat(self.value) if _is_float(x)]
        if not leaves or not self.wrt or any(np.asarray(x).dtype.kind == "c" for x in flat(self.value)):
            return False
        return all(bool(np.all(np.isfinite(x))) and bool(np.all(np.abs(x) < LARGEST)) for x in leaves)

    def run(self) -> None:
        with watched():
            self.first_order()
            if self.how.others and "others" in self.plain_module:
                self.same_for_others()
            if self.how.misfits and self.is_number:
                self.stays_inside()
            self.other_ways()
        if self.how.compiled:
            self.options = dispatch.dataclasses.replace(self.options, target="cpu")
            self.compiled()
            self.other_ways()

    # ------------------------------------------------------------------------------------------ first order

    def reverse(self, options: Options) -> tuple[Any, tuple[Any, ...]]:
        """The value, and an adjoint for each of wrt."""
        arguments = self.fresh()
        if self.is_number:
            made = Derivative(function=self.function, kind="value_and_grad", wrt=self.wrt, implied=True)
            value, bars = derive(made, options)(*arguments)
        else:
            made = derive(Derivative(function=self.function, kind="vjp", wrt=self.wrt), options)
            value, bars = None, made(*arguments, self.seed)
        self.unchanged(arguments, "reverse mode")
        self.apart(arguments, bars)
        return value, tuple(bars)

    def forward(self, options: Options) -> tuple[Any, Any]:
        arguments = self.fresh()
        made = derive(Derivative(function=self.function, kind="jvp", wrt=self.wrt), options)
        found = made(*arguments, *self.direction)
        self.unchanged(arguments, "forward mode")
        return found

    def first_order(self) -> None:
        value, bars = self.reverse(self.options)
        if value is not None:
            self.same_value(value, "reverse mode")
        found, tangent = self.forward(self.options)
        self.same_value(found, "forward mode")
        self.bars, self.tangent = bars, tangent
        reverse = sum(_dot(bar, self.direction[k]) for k, bar in zip(self.wrt, bars, strict=True))
        forward = _dot(self.seed, tangent)
        self.agree(reverse, forward, bars)

    def agree(self, reverse: float, forward: float, bars: Sequence[Any]) -> None:
        sizes = [_size(bar, self.direction[k]) for k, bar in zip(self.wrt, bars, strict=True)]
        scale = 1.0 + sum(sizes)
        exact = self.by_complex_step()
        if not (math.isfinite(reverse) and math.isfinite(forward)):
            differences = None if exact is not None else self.by_differences()
            right = exact if exact is not None else differences
            if right is not None and math.isfinite(right) and not self.overflows():
                raise self.wrong(f"reverse {reverse}, forward {forward}, right {right}")
            raise NotSmooth("not finite")
        if scale > 1e8:
            raise NotSmooth("too steep")
        if abs(forward - reverse) > self.rounding * scale:
            right = exact if exact is not None else self.by_differences()
            raise self.wrong(f"reverse {reverse}, forward {forward}, right {right}")
        if exact is not None and abs(exact - reverse) <= 10 * self.rounding * scale:
            return
        differences = self.by_differences()
        if differences is None:
            raise NotSmooth("differences disagree")
        tolerance = 5e-3 if self.is_single else 3e-6
        if abs(differences - reverse) > tolerance * scale:
            if self.has_kink(abs(differences - reverse)):
                raise NotSmooth("a kink")
            raise self.wrong(f"forward and reverse {reverse}, differences {differences}, complex step {exact}")

    def wrong(self, why: str, outcome: Outcome = Outcome.WRONG_DERIVATIVE) -> Exception:
        if outcome in (Outcome.WRONG_DERIVATIVE, Outcome.COMPILED) and singular.is_read(self.program, self.fresh()):
            return NotSmooth(f"a point where something is not differentiable: {why}")
        if outcome in (Outcome.WRONG_DERIVATIVE, Outcome.WRONG_VALUE) and self.rests_on_rounding():
            return NotSmooth(f"a value that rests on rounding: {why}")
        if outcome is Outcome.COMPILED and self.rests_on_signs():
            return NotSmooth(f"vectors of which LAPACK chooses the signs: {why}")
        return Wrong(outcome, why)

    def overflows(self) -> bool:
        """Whether plain Python computes with infinities on its way to a number, which have no derivative."""
        with np.errstate(all="ignore", over="raise"):
            return isinstance(_raised(self.plain, self.fresh()), FloatingPointError | OverflowError)

    def rests_on_rounding(self) -> bool:
        """Whether arguments that are as good as equal give another value.

        Something was divided by next to nothing, or singular values are equal, whose vectors may be any of a plane.
        """
        before, here, behind = self.on_both_sides(1e-14)
        return max(abs(before - here), abs(behind - here)) > 1e-7 * (1.0 + abs(here))

    def rests_on_signs(self) -> bool:
        """Whether the value has signs of eigenvectors and their like, which numba's LAPACK may choose otherwise."""
        if not re.search(r"np\.linalg\.(eigh|qr|svd)", self.program.text):
            return False
        return not _all_close(singular.with_other_vectors(self.program, self.fresh()), self.value, 1e-4)

    def by_complex_step(self) -> float | None:
        found = analytic.along(self.program, self.fresh(), self.direction)
        if found is None:
            return None
        seeds = [s for s, v in zip(flat(self.seed), flat(self.value), strict=True) if _is_float(v)]
        if [np.shape(f) for f in found] != [np.shape(s) for s in seeds]:
            return None
        return float(sum(np.sum(s * f) for s, f in zip(seeds, found, strict=True)))

    def along_direction(self) -> Callable[[float], float]:
        """The value, weighted by the seed, so far from the arguments along the direction."""
        arguments = tuple(_double(a) for a in self.arguments)

        def at(step: float) -> float:
            # one array given twice is moved as two
            moved = tuple(_moved(_copied(a), step, d) for a, d in zip(arguments, self.direction, strict=True))
            return _dot(self.seed, self.plain(*moved))

        return at

    def on_both_sides(self, step: float) -> tuple[float, float, float]:
        """The value so far before the arguments, at them, and behind."""
        at = self.along_direction()
        with np.errstate(all="ignore"):
            return at(-step), at(0.0), at(step)

    def has_kink(self, disagreement: float) -> bool:
        """Whether the slopes on both sides differ: differences around a kink agree on the mean of the two.

        A small kink counts where it is all of the disagreement. What is smooth has a gap that shrinks with the step.
        """
        (near, _), (wider, _), (wide, slope) = (self.gap(step) for step in (1e-7, 1e-6, 1e-5))
        is_lasting = disagreement <= near and wider <= 2 * near
        return is_lasting or not wide <= 1e-3 * (1.0 + abs(slope))

    def gap(self, step: float) -> tuple[float, float]:
        """Between the slopes on both sides, and the one on the left."""
        before, here, behind = self.on_both_sides(step)
        left, right = (here - before) / step, (behind - here) / step
        return abs(left - right), left

    def has_jump(self) -> bool:
        """Whether the value jumps nearby: as near as numbers of 32 bits are apart."""
        before, here, behind = self.on_both_sides(1e-6)
        return not max(abs(before - here), abs(behind - here)) <= 1e-4 * (1.0 + abs(here))

    def is_defined(self, at: Callable[[float], float], step: float) -> bool:
        """Whether plain Python runs the program as far away as differences with this step ask."""
        try:
            with np.errstate(all="ignore"):
                return all(at(s) is not None for s in (-2 * step, -step, step, 2 * step))
        except Exception:  # noqa: BLE001  it is not defined so far away
            return False

    def by_differences(self) -> float | None:
        """Of fourth order; None if the function is not smooth there."""
        at = self.along_direction()
        found = []
        with np.errstate(all="ignore"):
            if self.is_single and not _close(at(0.0), _dot(self.seed, self.value), 1e-3):
                # with numbers of 64 bits it is another function: what converts them shares memory then
                return None
            for step in STEPS:
                if self.is_defined(at, step):
                    found.append(np.array([_fourth_order(at, step)]))
        best = _agreeing(found)
        return None if best is None else float(best[0])

    # ------------------------------------------------------------------------------------------ other ways to ask

    def other_ways(self) -> None:
        if self.how.twice:
            self.pullback_twice()
        if self.how.several:
            self.several_at_once()
        if self.how.into or self.asked.get("way") == "into":
            self.stored_into()
        if self.how.second and self.is_number:
            self.second_order()

    def same_for_others(self) -> None:
        """Made for one size, asked for another."""
        arguments, kept = self.arguments, (self.value, self.seed, self.direction, self.bars, self.tangent)
        try:
            self.at(self.plain_module["others"]())
        except Exception:  # noqa: BLE001  plain Python does not take them
            fits = False
        else:
            fits = self.is_moderate()
        if fits:
            try:
                self.first_order()
            except NotSmooth:
                pass
        self.at(arguments)
        self.value, self.seed, self.direction, self.bars, self.tangent = kept

    def stays_inside(self) -> None:
        """Asked for an array that is longer than what it meets: where NumPy raises, nothing is read beyond an end.

        What is computed for nothing is left out, with its error. Compiled code would not tell what IndexError tells.
        """
        made = derive(Derivative(function=self.function, kind="vjp", wrt=self.wrt), self.options)
        for k in self.wrt:
            if not isinstance(self.arguments[k], np.ndarray) or 0 in self.arguments[k].shape:
                continue
            longer = [np.concatenate([a, a[..., -1:]], axis=-1) if j == k else a for j, a in enumerate(self.fresh())]
            fault = _raised(self.plain, _copied(tuple(longer)))
            if not isinstance(fault, ValueError) or "broadcast" not in str(fault):
                continue
            fault = _raised(made, (*longer, self.seed))
            if isinstance(fault, IndexError):
                why = f"NumPy raises ValueError for a longer argument {k}, and the adjoint reads beyond it: {fault}"
                raise Wrong(Outcome.WRONG_VALUE, why, "beyond an end")

    def pullback_twice(self) -> None:
        arguments = self.fresh()
        options = {k: v for k, v in self.asked.items() if k in ("parallel", "memory_limit")}
        value, pullback = adjit.vjp(self.function, *arguments, target=self.options.target, **options)
        self.unchanged(arguments, "vjp")
        self.same_value(value, "vjp")
        first, second = pullback(self.seed), pullback(self.seed)
        for k, bar in zip(self.wrt, self.bars, strict=True):
            self.same(first[k], bar, "the pullback, and the gradient", Outcome.WRONG_DERIVATIVE)
            self.same(second[k], first[k], "the second call of the pullback, and the first", Outcome.WRONG_DERIVATIVE)

    def several_at_once(self) -> None:
        """Three tangents, and three seeds, together and one by one."""
        if not all(map(_is_plain, (*self.arguments, self.value))):
            return
        draw = np.random.default_rng(11)
        names = ("parallel", "memory_limit")
        options: dict[str, Any] = {k: v for k, v in self.asked.items() if k in names}
        options["target"] = self.options.target
        seeds = [_random(self.value, draw) for _ in range(3)]
        _, pullback = adjit.vjp(self.function, *self.fresh(), **options)
        together = pullback(_stacked(seeds), several=True)
        for k, seed in enumerate(seeds):
            for found, bar in zip(together, pullback(seed), strict=True):
                if bar is not None:
                    self.same(_element(found, k), bar, "several seeds, and one", Outcome.WRONG_DERIVATIVE)
        if "random" in self.program.text:
            return
        ways = [tuple(_random(a, draw) for a in self.arguments) for _ in range(3)]
        given = self.fresh()
        value, tangents = adjit.jvp(self.function, given, _stacked(ways), several=True, **options)
        self.unchanged(given, "several tangents")
        self.same_value(value, "several tangents")
        for k, way in enumerate(ways):
            _, tangent = adjit.jvp(self.function, self.fresh(), way, **options)
            self.same(_element(tangents, k), tangent, "several tangents, and one", Outcome.WRONG_DERIVATIVE)

    def stored_into(self) -> None:
        if not self.is_number:
            return
        arguments = self.fresh()
        out = tuple(_room(self.arguments[k]) for k in self.wrt)
        made = derive(Derivative(function=self.function, kind="grad", wrt=self.wrt, implied=True), self.options)
        found = made.into(*arguments, out=out)
        self.unchanged(arguments, "into")
        for mine, bar in zip(found, self.bars, strict=True):
            self.same(mine, bar, "into, and the gradient", Outcome.WRONG_DERIVATIVE)

    def second_order(self) -> None:
        gradient = derive(Derivative(function=self.function, kind="grad", wrt=self.wrt, implied=True), self.options)
        spec = gradient.derivative
        along = tuple(self.direction[k] for k in self.wrt)
        arguments = self.fresh()
        made = derive(Derivative(function=spec, kind="jvp", wrt=self.wrt), self.options)
        _, forward = made(*arguments, *self.direction)
        self.unchanged(arguments, "forward over reverse")
        back = derive(Derivative(function=spec, kind="vjp", wrt=self.wrt), self.options)(*self.fresh(), along)
        forward, back = _flat(forward), _flat(back)
        scale = 1.0 + float(np.max(np.abs(forward), initial=0.0))
        if not scale < LARGEST:
            return
        differences = []
        doubled = tuple(map(_double, self.arguments)) if not self.is_single else self.arguments
        value = self.along_direction()

        def at(step: float) -> Any:
            moved = zip(map(_copied, doubled), self.direction, strict=True)
            return _flat(gradient(*(_moved(a, step, d) for a, d in moved)))

        for step in () if self.is_single else STEPS[1:]:
            if self.is_defined(value, step):
                differences.append(_fourth_order(at, step))
        expected = _agreeing(differences)
        if np.max(np.abs(forward - back), initial=0.0) > 10 * self.rounding * scale:
            why = f"forward over reverse {forward}, reverse over reverse {back}, differences {expected}"
            raise Wrong(Outcome.WRONG_DERIVATIVE, why, "second order")
        if expected is not None and np.max(np.abs(forward - expected), initial=0.0) > 3e-5 * scale:
            if singular.is_read(self.program, self.fresh(), of_gradient=True):
                raise NotSmooth("a point where a gradient is not differentiable")
            raise Wrong(Outcome.WRONG_DERIVATIVE, f"second order {forward}, differences {expected}", "second order")

    def compiled(self) -> None:
        """Both modes, compiled, and reverse mode also as numba reads it from bytecode."""
        value, bars = self.reverse(self.options)
        if value is not None:
            self.same(value, self.value, "the compiled value, and plain Python's", Outcome.COMPILED)
        for mine, bar in zip(bars, self.bars, strict=True):
            self.same(mine, bar, "the compiled gradient, and the text's", Outcome.COMPILED)
        found, tangent = self.forward(self.options)
        self.same(found, self.value, "the value of compiled forward mode, and plain Python's", Outcome.COMPILED)
        self.same(tangent, self.tangent, "the compiled tangent, and the text's", Outcome.COMPILED)
        with mock.patch.dict(os.environ, ADJIT_READING="0"):
            # what is derived is kept, and would be what it was
            dispatch._slot.cache_clear()
            by_bytecode = self.reverse(self.options)
        for mine, other in zip(flat([value, *bars]), flat([*by_bytecode[:1], *by_bytecode[1]]), strict=True):
            if mine is not None and np.asarray(mine).tobytes() != np.asarray(other).tobytes():
                raise Wrong(Outcome.COMPILED, f"read from the text {mine!r}, from bytecode {other!r}", "bits")

    # ------------------------------------------------------------------------------------------ comparisons

    def same_value(self, got: Any, who: str) -> None:
        if len(flat(got)) != len(flat(self.value)):
            raise Wrong(Outcome.WRONG_VALUE, f"{who} gives {got!r}, plain Python {self.value!r}")
        for mine, right in zip(flat(got), flat(self.value), strict=True):
            self.same(mine, right, f"the value of {who}, and plain Python's", Outcome.WRONG_VALUE)

    def same(self, mine: Any, right: Any, who: str, outcome: Outcome) -> None:
        for a, b in zip(flat(mine), flat(right), strict=True):
            if not _close(a, b, self.rounding):
                raise self.wrong(f"{who}: {a!r} and {b!r}", outcome)

    def unchanged(self, arguments: tuple[Any, ...], mode: str) -> None:
        for old, new in zip(flat(self.arguments), flat(arguments), strict=True):
            if not np.array_equal(old, new, equal_nan=np.asarray(old).dtype.kind in "fc"):
                raise Wrong(Outcome.CHANGED, f"{mode} changed an array of the caller", "changed")

    def apart(self, arguments: tuple[Any, ...], bars: Any) -> None:
        own = [a for a in flat(bars) if isinstance(a, np.ndarray)]
        others = [a for a in flat(arguments) if isinstance(a, np.ndarray)]
        if any(np.shares_memory(a, b) for k, a in enumerate(own) for b in [*own[:k], *others]):
            raise Wrong(Outcome.CHANGED, "adjoints share memory", "shared")
        for k, bar in zip(self.wrt, bars, strict=True):
            for mine, argument in zip(flat(bar), flat(self.arguments[k]), strict=True):
                if isinstance(argument, np.ndarray) and _is_float(argument):
                    if np.shape(mine) != argument.shape or mine.dtype != argument.dtype:
                        why = f"an adjoint of {mine.dtype}{np.shape(mine)} for {argument.dtype}{argument.shape}"
                        raise Wrong(Outcome.WRONG_DERIVATIVE, why, "shape or type of an adjoint")


# ------------------------------------------------------------------------------------------ the text against its IR


@contextmanager
def watched() -> Iterator[None]:
    """All that is generated for plain Python also runs as IR, and both have to give the same. Each pass is verified.
    What is differentiated is elaborated once for both modes."""
    emit, specialise, primal = pipeline.emit, dispatch.Interpreted._specialise, pipeline.primal
    written: list[ir.Function] = []

    def noted(function: ir.Function, **options: Any) -> Any:
        written.append(function)
        return emit(function, **options)

    def both(self: Any, given: Any) -> Any:
        made = specialise(self, given)
        function = written[-1]

        def run(*arguments: Any) -> Any:
            if function.overlapping or _overlap(arguments):
                # copies would be apart
                return made(*arguments)
            again = _copied(arguments)
            result = made(*arguments)
            _compare(function, again, result, hands_on=self.derivative.kind == "split_forward")
            return result

        return run

    pipeline.emit, dispatch.Interpreted._specialise = noted, both  # type: ignore[method-assign]
    pipeline.primal = functools.cache(primal)
    try:
        with mock.patch.dict(os.environ, ADJIT_VERIFY="1"):
            yield
    finally:
        pipeline.emit, dispatch.Interpreted._specialise = emit, specialise  # type: ignore[method-assign]
        pipeline.primal = primal


def _overlap(arguments: tuple[Any, ...]) -> bool:
    arrays = {id(a): a for a in flat(arguments) if isinstance(a, np.ndarray)}
    return any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays.values(), 2))


def _compare(function: ir.Function, arguments: tuple[Any, ...], result: Any, hands_on: bool = False) -> None:
    """`hands_on`: the result is a value and what the pullback gets. What it does not read may be unwritten; if it
    read them, it would be wrong by itself."""
    arguments = tuple(_widened(a, tree) for a, tree in zip(arguments, function.params, strict=True))
    # of arguments that are changed
    again, untouched = _copied(arguments), _copied(arguments)
    try:
        expected = interpreter.run(function, *arguments)
    except interpreter.UndefinedRead:
        # where a variable is kept before it is first assigned, the text has a value that does not matter
        return
    except interpreter.IllTyped as fault:
        raise Wrong(Outcome.TEXT, f"the IR of {function.name}: {fault!r}", _cause(fault)) from None
    tolerance = 1e-5 if _is_single(function) else 1e-9
    if hands_on:
        other = interpreter.run(function, *again, unwritten=1.0)
        result = (result[0], _written(result[1:], expected[1:], other[1:]))
        expected = (expected[0], _written(expected[1:], expected[1:], other[1:]))
    if not _all_close(result, expected, tolerance):
        if _is_single(function):
            nearby = interpreter.run(function, *_by_one_rounding(untouched))
            if _all_close(result, expected, min(1e-3, 20 * _distance(nearby, expected))):
                return
        raise Wrong(Outcome.TEXT, f"{function.name}: the text gives {result!r}, its IR {expected!r}")


def _all_close(result: Any, expected: Any, tolerance: float) -> bool:
    mine, right = flat(result), flat(expected)
    return len(mine) == len(right) and all(
        itertools.starmap(lambda a, b: _close(a, b, tolerance), zip(mine, right, strict=True))
    )


def _by_one_rounding(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of which numbers of 32 bits are moved by half a unit in the last place or so."""

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if getattr(value, "dtype", None) != np.float32:
            return value
        signs = np.where(np.cos(np.arange(np.size(value))) > 0, 1, -1).reshape(np.shape(value))
        return (value * (1 + 1.2e-7 * signs)).astype(np.float32)

    return tuple(map(moved, arguments))


def _distance(result: Any, expected: Any) -> float:
    """The least power of ten within which results are close, 0.1 at most."""
    return min((10.0**-k for k in range(1, 9) if _all_close(result, expected, 10.0**-k)), default=0.1)


def _widened(value: Any, tree: ir.Tree) -> Any:
    """An argument of the type that is declared: what a pullback gets, plain Python may have kept in 32 bits."""
    if isinstance(tree, ir.Pair):
        return value
    if isinstance(tree, tuple):
        return tuple(_widened(part, t) for part, t in zip(value, tree, strict=True))
    is_double = isinstance(tree, ir.Var) and getattr(tree.type, "dtype", None) == types.float64
    if is_double and isinstance(value, np.ndarray) and value.dtype == np.float32:
        return like(value, np.float64)
    return value


def _written(value: Any, one: Any, other: Any) -> Any:
    """The leaves of `value` without the elements in which `one` and `other` differ."""
    if isinstance(value, tuple):
        return tuple(itertools.starmap(_written, zip(value, one, other, strict=True)))
    if not isinstance(value, np.ndarray) or value.shape != one.shape or one.shape != other.shape:
        return value
    is_written = (one == other) | ((one != one) & (other != other))
    return np.where(is_written, value, np.zeros_like(value))


def _is_single(function: ir.Function) -> bool:
    """Whether there are numbers of 32 bits, which plain Python keeps in products with its own numbers, numba not."""
    values = [*function.body.args, *(out for op in ir.walk(function.body) for out in op.results)]
    return any(getattr(v.type, "dtype", v.type) == types.float32 for v in values)


# ------------------------------------------------------------------------------------------------------- details


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _copied(tree: Any, known: dict[int, Any] | None = None) -> Any:
    """A copy with the layouts of the arrays; what is one array stays one."""
    known = {} if known is None else known
    if isinstance(tree, tuple):
        return tuple(_copied(part, known) for part in tree)
    if isinstance(tree, np.ndarray):
        if id(tree) not in known:
            known[id(tree)] = like(tree) if tree.dtype != object else tree.copy()
        return known[id(tree)]
    return copy.copy(tree)


def _is_plain(value: Any) -> bool:
    """Whether it is a number, an array of real numbers, or a tuple of those."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(_is_plain, value))
    return isinstance(value, bool | int | float | np.number | np.ndarray) and np.asarray(value).dtype.kind in "biuf"


def _stacked(trees: Sequence[Any]) -> Any:
    """Values along a first axis; what has no derivative once."""
    first = trees[0]
    if isinstance(first, tuple):
        return tuple(_stacked(parts) for parts in zip(*trees, strict=True))
    return np.array(trees) if _is_float(first) else first


def _element(tree: Any, k: int) -> Any:
    """What belongs to one of them."""
    if isinstance(tree, tuple):
        return tuple(_element(part, k) for part in tree)
    return tree[k] if isinstance(tree, np.ndarray) and tree.dtype.kind == "f" else tree


def _random(like_: Any, draw: np.random.Generator) -> Any:
    if isinstance(like_, tuple):
        return tuple(_random(part, draw) for part in like_)
    if isinstance(like_, np.ndarray):
        if like_.dtype.kind != "f":
            return np.zeros_like(like_)
        return draw.uniform(-1.0, 1.0, like_.shape).astype(like_.dtype)
    return type(like_)(draw.uniform(0.3, 1.0)) if _is_float(like_) else _zero(like_)


def _zero(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_zero, value))
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return type(value)(0) if isinstance(value, int | float | complex | np.number | np.bool_) else None


def _room(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_room, value))
    if isinstance(value, np.ndarray):
        return np.full(value.shape, np.nan, value.dtype) if value.dtype.kind == "f" else None
    return None


def _double(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_double, value))
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return like(value, np.float64)
    return float(value) if isinstance(value, np.float32) else value


def _moved(value: Any, step: float, direction: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(v, step, d) for v, d in zip(value, direction, strict=True))
    if not _is_float(value):
        return value
    if isinstance(value, np.ndarray):
        value += step * direction
        return value
    return value + step * direction


def _dot(left: Any, right: Any) -> float:
    pairs = zip(flat(left), flat(right), strict=True)
    return float(sum(np.sum(np.asarray(a) * b) for a, b in pairs if a is not None and b is not None and _is_float(b)))


def _size(left: Any, right: Any) -> float:
    pairs = zip(flat(left), flat(right), strict=True)
    return float(sum(np.sum(np.abs(np.asarray(a) * b)) for a, b in pairs if a is not None and b is not None))


def _flat(tree: Any) -> Any:
    parts = [np.ravel(np.asarray(p)) for p in flat(tree) if p is not None]
    return np.concatenate(parts) if parts else np.zeros(0)


def _close(a: Any, b: Any, tolerance: float) -> bool:
    if a is None or b is None:
        return a is None and b is None
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return bool(np.all(a == b))
    if a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":
        return True
    scale = 1.0 + np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= tolerance * scale
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _fourth_order(at: Callable[[float], Any], step: float) -> Any:
    """The slope of `at` at 0, by differences of fourth order."""
    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


def _agreeing(differences: list[Any]) -> Any:
    """The one that is nearest to the one with the next step; None if no two are near."""
    if len(differences) < 2:
        return None
    gaps = [float(np.max(np.abs(a - b), initial=0.0)) for a, b in itertools.pairwise(differences)]
    gaps = [gap if math.isfinite(gap) else math.inf for gap in gaps]
    best = int(np.argmin(gaps))
    size = 1.0 + float(np.max(np.abs(differences[best]), initial=0.0))
    # a jump between any two points shows in the smaller steps at the latest
    return differences[best + 1] if gaps[best] <= 1e-6 * size else None


def _is_helpful(fault: errors.AdjitError) -> bool:
    """Whether a message says where, and what to do; what two arguments share is a fault of the call, not of a line."""
    says_where = fault.place is not None or isinstance(fault, errors.Aliased)
    return says_where and bool(fault.instead)


def _normal(message: str) -> str:
    """A message without what differs from program to program."""
    text = re.sub(r"`[^`]*`|'[^']*'", "`_`", message)
    text = re.sub(r"random program \d+|<[^>]*>", "_", text)
    return re.sub(r"\b\d+\b", "0", text)[:300]


def _cause(fault: BaseException) -> str:
    """The kind of an error and where it was raised, in whatever it was raised for."""
    root = fault
    while root.__cause__ is not None:
        root = root.__cause__
    frames = traceback.extract_tb(root.__traceback__)
    own = [f for f in frames if "/adjit/" in f.filename] or frames
    place = f"{own[-1].filename.rpartition('/')[2]}:{own[-1].name}" if own else ""
    return f"{type(root).__name__} {place} {_normal(str(root).splitlines()[0] if str(root) else '')}"[:200]
