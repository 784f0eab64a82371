"""The checks that every program of the tests has to pass, against the plain Python function and nothing else.

In: a function of numbers, arrays and tuples, and what makes fresh arguments for it. Out: nothing, or an AssertionError.

    check(lambda a, n: (a * n).sum(), lambda: (np.ones(3), 2), (0,))

The value is plain Python's; the reverse mode gives the difference quotients of the plain function, the forward mode the
same as the reverse one, both second orders the difference quotients of the gradient; the caller's arrays stay as they
were, and what is returned shares no memory with them. Results may be tuples and arrays.
"""

from __future__ import annotations

import copy
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import adjit
from adjit.api.specialise.dispatch import Options, derive
from adjit.transform.pipeline import Derivative
from adjit.transform.strategy import CHEAPEST, READABLE

Arguments = Callable[[], tuple[Any, ...]]

STEPS = (1e-3, 3e-4, 1e-4)
EVERYTHING = bool(os.environ.get("ADJIT_TEST_ALL"))


def check(
    function: Any,
    arguments: Arguments,
    active: Sequence[int] = (0,),
    second: bool = True,
    single: bool = False,
    target: str = "python",
    expected: Sequence[Any] | None = None,
    tolerance: float = 1e-7,
) -> None:
    """All checks of one program. `single`: the same again with float32 in place of float64.

    Second derivatives, single precision and pullbacks that are called later take longer than all else. They are checked
    of one program in three, and of all of them where ADJIT_TEST_ALL is set, as `make test-long` has it.
    """
    is_whole = EVERYTHING or _is_one_in_three(getattr(function, "py_func", function))
    with np.errstate(all="ignore"):
        case = _Case(function, arguments, tuple(active), target)
        case.check_value()
        case.check_reverse(expected, tolerance)
        case.check_forward()
        if is_whole and not case.is_number:
            case.check_kept()
        if second and is_whole:
            case.check_second(10.0 * tolerance)
        if single and is_whole:
            case.check_single()


def _is_one_in_three(function: Any) -> bool:
    """By what the function does, so that it is the same ones until they change."""
    code = getattr(function, "__code__", None)
    return code is None or zlib.crc32(code.co_code + repr(code.co_names).encode()) % 3 == 0


class _Case:
    """A program with its derivatives."""

    def __init__(self, function: Any, arguments: Arguments, active: tuple[int, ...], target: str) -> None:
        self.function, self.arguments, self.active, self.target = function, arguments, active, target
        self.plain = getattr(function, "py_func", function)
        self.draw = np.random.default_rng(zlib.crc32(getattr(function, "__name__", "").encode()))
        # one in four as it is read, the others as they are compiled
        self.strategy = CHEAPEST if zlib.crc32(getattr(function, "__name__", "").encode()) % 4 else READABLE
        self.value = self.plain(*arguments())
        # of a few operations, relative to the numbers that are added up
        self.rounding = 1e-4 if any(getattr(a, "dtype", None) == np.float32 for a in flat(arguments())) else 1e-12
        self.is_number = isinstance(self.value, float | np.floating)
        # numpy's integers are no floats, so a result of those is a program without a derivative: a mistake in the test
        assert any(_is_float(leaf) for leaf in flat(self.value)), "the program returns no float"
        self.seed = 1.0 if self.is_number else self.random(self.value)

    def random(self, like: Any) -> Any:
        """A random number for each float in `like`, zero for what is none."""
        if isinstance(like, tuple):
            return tuple(map(self.random, like))
        if isinstance(like, np.ndarray):
            return self.draw.normal(size=like.shape).astype(like.dtype) if _is_float(like) else np.zeros_like(like)
        return type(like)(self.draw.normal()) if _is_float(like) else 0

    def directions(self) -> list[Any]:
        return [self.random(a) if p in self.active else _zeros(a) for p, a in enumerate(self.arguments())]

    # ------------------------------------------------------------------------------------------- the derivatives

    def gradients(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """One an active position, by the reverse mode."""
        given = copy.deepcopy(tuple(arguments))
        if self.is_number:
            got = self.with_value()(*arguments)[1]
        else:
            got = self.pullback()(*arguments, self.seed)
        for before, after in zip(flat(given), flat(tuple(arguments)), strict=True):
            np.testing.assert_array_equal(before, after, "the caller's array was changed")
        arrays = [a for a in (*flat(tuple(arguments)), *flat(tuple(got))) if isinstance(a, np.ndarray)]
        own = arrays[-len([a for a in flat(tuple(got)) if isinstance(a, np.ndarray)]) :] if arrays else []
        assert not any(a is not b and np.shares_memory(a, b) for a in own for b in arrays), "adjoints share memory"
        for p, g in zip(self.active, got, strict=True):
            for a, bar in zip(flat(arguments[p]), flat(g), strict=True):
                assert (bar is None) == (not _is_float(a)), f"adjoint {bar!r} of {a!r}"
                if bar is not None:
                    assert np.shape(bar) == np.shape(a), f"adjoint of shape {np.shape(bar)} for {np.shape(a)}"
                    if isinstance(a, np.ndarray):
                        assert bar.dtype == a.dtype, f"adjoint of {bar.dtype} for {a.dtype}"
        return tuple(got)

    def with_value(self) -> Any:
        return adjit.value_and_grad(self.function, wrt=self.active, target=self.target, strategy=self.strategy)

    def pullback(self) -> Any:
        made = Derivative(function=self.function, kind="vjp", wrt=self.active)
        return derive(made, Options(target=self.target, strategy=self.strategy))

    def slope(self, arguments: Sequence[Any]) -> float:
        """<seed, value>."""
        return dot(self.seed, self.plain(*arguments))

    # ------------------------------------------------------------------------------------------------ the checks

    def check_value(self) -> None:
        if self.is_number:
            self.assert_value(self.with_value()(*self.arguments())[0])

    def check_kept(self) -> None:
        """The value, and a pullback that is called later."""
        value, pullback = adjit.vjp(self.function, *self.arguments(), target=self.target)
        self.assert_value(value)
        bars, gradients = pullback(self.seed), self.gradients(self.arguments())
        for mine, right in zip(flat(tuple(bars[p] for p in self.active)), flat(gradients), strict=True):
            if right is not None:
                np.testing.assert_allclose(mine, right, rtol=1e-7, atol=1e3 * self.rounding, err_msg="pullback")

    def assert_value(self, got: Any) -> None:
        assert _shape(got) == _shape(self.value), f"{got!r} for {self.value!r}"
        for mine, right in zip(flat(got), flat(self.value), strict=True):
            np.testing.assert_allclose(mine, right, rtol=self.rounding, atol=0.1 * self.rounding, err_msg="the value")

    def check_reverse(self, expected: Sequence[Any] | None, tolerance: float) -> None:
        got = self.gradients(self.arguments())
        if expected is not None:
            for g, e in zip(flat(got), flat(tuple(expected)), strict=True):
                np.testing.assert_allclose(g, e, rtol=tolerance, atol=1e-12)
            return
        for _ in range(2):
            directions = self.directions()
            found = dot(got, tuple(directions[p] for p in self.active))
            wanted = [_central(lambda s: self.slope(self.moved(directions, s)), h) for h in STEPS]
            _assert_near(found, wanted, tolerance, "reverse against differences")

    def check_forward(self) -> None:
        got, directions = self.gradients(self.arguments()), self.directions()
        value, tangent = adjit.jvp(self.function, self.arguments(), directions, target=self.target)
        self.assert_value(value)
        along = tuple(directions[p] for p in self.active)
        found, wanted = dot(self.seed, tangent), dot(got, along)
        size = max(_size(self.seed, tangent), _size(got, along), 1e-3)
        assert abs(found - wanted) <= self.rounding * size, f"forward {found!r}, reverse {wanted!r}"

    def check_second(self, tolerance: float) -> None:
        function = self.gradient_function()
        more = () if self.is_number else (self.seed,)
        directions = self.directions()
        along = tuple(directions[p] for p in self.active)
        weights = tuple(self.random(self.arguments()[p]) for p in self.active)
        wanted = [_central(lambda s: dot(weights, self.gradients(self.moved(directions, s))), h) for h in STEPS]
        primals = (*self.arguments(), *more)
        tangents = (*directions, *map(_zeros, more))
        forward = dot(weights, adjit.jvp(function, primals, tangents, target=self.target)[1])
        _assert_near(forward, wanted, tolerance, "forward over reverse against differences")
        seeds = tuple(_none_where_static(w, self.arguments()[p]) for p, w in zip(self.active, weights, strict=True))
        bars = adjit.vjp(function, *self.arguments(), *more, target=self.target)[1](seeds)
        reverse = dot(tuple(bars[p] for p in self.active), along)
        _assert_near(reverse, wanted, tolerance, "reverse over reverse against differences")

    def gradient_function(self) -> Any:
        return adjit.grad(self.function, wrt=self.active, target=self.target) if self.is_number else self.pullback()

    def check_single(self) -> None:
        """float32 in, float32 out, near the result in double precision."""
        right = self.gradients(self.arguments())
        narrow = _Case(self.function, lambda: tuple(map(_narrow, self.arguments())), self.active, self.target)
        narrow.seed = 1.0 if narrow.is_number else _like(self.seed, narrow.value)
        got = narrow.gradients(narrow.arguments())
        for g, r in zip(flat(got), flat(right), strict=True):
            if r is not None:
                np.testing.assert_allclose(g, r, rtol=2e-3, atol=2e-4, err_msg="float32 against float64")
        narrow.check_forward()

    def moved(self, directions: Sequence[Any], step: float) -> tuple[Any, ...]:
        return tuple(_moved(a, d, step) for a, d in zip(self.arguments(), directions, strict=True))


# ---------------------------------------------------------------------------------------------- numbers, arrays, tuples


def flat(value: Any) -> list[Any]:
    """The leaves of nested tuples, in order."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def dot(left: Any, right: Any) -> float:
    """The sum of the products of the floats in two trees of one structure."""
    return float(sum(np.sum(product) for product in _products(left, right)))


def _size(left: Any, right: Any) -> float:
    return float(sum(np.sum(np.abs(product)) for product in _products(left, right)))


def _products(left: Any, right: Any) -> Iterator[np.ndarray]:
    for a, b in zip(flat(left), flat(right), strict=True):
        if a is not None and b is not None:
            yield np.asarray(a, float) * np.asarray(b, float)


def _shape(value: Any) -> Any:
    return tuple(map(_shape, value)) if isinstance(value, tuple) else np.shape(value)


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, float | np.floating) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _zeros(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_zeros, value))
    return np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0 if _is_float(value) else 0


def _none_where_static(seed: Any, argument: Any) -> Any:
    """A seed for a gradient, in which integers have no entry."""
    if isinstance(argument, tuple):
        return tuple(_none_where_static(s, a) for s, a in zip(seed, argument, strict=True))
    return seed if _is_float(argument) else None


def _moved(value: Any, direction: Any, step: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(v, d, step) for v, d in zip(value, direction, strict=True))
    if not _is_float(value):
        return value
    if not isinstance(value, np.ndarray):
        return value + step * direction
    # in place, so that a view stays one and a Fortran array keeps its order
    value += value.dtype.type(step) * direction
    return value


def _narrow(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_narrow, value))
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if _is_float(value) else value
    return np.float32(value) if _is_float(value) else value


def _like(seed: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_like(s, v) for s, v in zip(seed, value, strict=True))
    return seed.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(seed) if _is_float(value) else 0


def _central(function: Callable[[float], float], step: float) -> float:
    """The fourth-order central difference at 0."""
    return (8.0 * (function(step) - function(-step)) - (function(2.0 * step) - function(-2.0 * step))) / (12.0 * step)


def _assert_near(found: float, wanted: Sequence[float], tolerance: float, what: str) -> None:
    def errors() -> Iterator[float]:
        for w in wanted:
            yield abs(found - w) / max(abs(found), abs(w), 1e-2)

    assert min(errors()) <= tolerance, f"{what}: {found!r} for {wanted!r}"
