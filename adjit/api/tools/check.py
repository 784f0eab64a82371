"""Gradient checks: forward against reverse against differences, along random directions.

In: a function and arguments. Out: what was compared, or an AssertionError with the numbers.

    check_grads(energy, (x, k))        for a seed w and a direction d:  <w, J d> == <J' w, d> == differences
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from adjit.api.arguments.structures import Layouts, laid_out
from adjit.api.arguments.trees import Leaf, Template, conform, leaves, map_leaves, nested, snapshot, template, zero
from adjit.api.bound_callables import bound as of_bound
from adjit.api.bound_callables import called, has_stars, spread
from adjit.api.functions import active_positions, bind, push, value_of
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Asked, Options, make_options, takes_options
from adjit.errors import Unsupported, WrongCall, WrongWrt
from adjit.transform.source.derivative import (
    Derivative,
    Wrt,
    of_structures,
    parameters,
    positions_of,
    shown,
    specification,
)
from adjit.transform.source.structures import put_together

if TYPE_CHECKING:
    from adjit.api.specialise.explain import Decided

# Large steps show curvature, small ones rounding, so the best counts. The last ones are for arguments that are small
# themselves: a step of 1e-4 takes 1e-5 out of the domain of a logarithm.
STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
DIRECTIONS = 3


@takes_options
def check_grads(
    function: Any,
    args: Sequence[Any],
    wrt: Wrt | None = None,
    order: int = 2,
    rtol: float = 1e-6,
    seed: int = 0,
    **options: Unpack[Asked],
) -> Checked:
    """Checks the derivatives of a function at `args`: both modes against each other and against differences.

    - `wrt`: positions or names of parameters; None for all floats.
    - `order`: the number of derivatives to check, 2 for the gradient and the Hessian.
    - `rtol`: the relative tolerance against differences. The two modes must agree to rounding.
    - `seed`: of the random directions.

    The point must not be at a kink. Returns the compared numbers, and the lines that decide by conditions;
    `adjit.plot.convergence` draws them. Raises AssertionError with the numbers where they differ. Raises WrongWrt if no
    argument is a float, WrongCall for an order below 1, and Unsupported for a GPU.
    """
    whole = of_bound(function)
    if whole is not None:
        function, args = whole.function, whole.all(args, {})
        wrt = wrt if wrt is None else whole.positions(wrt)
    spec, chosen = specification(function), make_options(options, ("wrt", "order", "rtol", "seed"))
    if has_stars(spec):
        spec, args = spread(spec, args, {})
        function = functools.partial(called, spec)
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise WrongCall(f"order={order!r}", instead="Give the number of derivatives to check: 1, 2, ...")
    if chosen.target in ("cuda", "cuda-device"):
        raise Unsupported(
            "check_grads on a GPU",
            why="Directions and differences are computed with NumPy arrays.",
            instead='Check with target="python" and NumPy arrays.',
        )
    return _checked(function, spec, bind(spec, args), wrt, chosen, rtol, seed, range(1, order + 1))


def _checked(
    function: Any,
    spec: Any,
    bound: Sequence[Any],
    wrt: Wrt | None,
    chosen: Options,
    rtol: float,
    seed: int,
    orders: range,
    user: _Point | None = None,
) -> Checked:
    """Check a derivative of order `orders.start - 1`. `user`: the function that the user wrote, whose decisions a
    message lists."""
    layouts: Layouts = ()
    laid = laid_out(spec, list(parameters(spec).parameters), bound)
    if laid is not None:
        layouts, bound = laid
        spec = of_structures(spec, layouts)
    positions = active_positions(bound) if wrt is None else positions_of(spec, wrt)[0]
    if not positions:
        raise WrongWrt(
            f"no argument of {shown(spec)} is a float, so there is nothing to check",
            instead="Pass floats, or arrays of floats.",
        )
    point = _Point(function, spec, snapshot(bound), positions, chosen, layouts, user)
    draw = np.random.default_rng(seed)
    checked = (tuple(point.check(draw, rtol, orders) for _ in range(DIRECTIONS)),)
    further = _check_next(point, draw, rtol, seed, orders[1:], wrt is None).orders if orders[1:] else ()
    return Checked(checked + further, point)


@dataclass(frozen=True)
class Direction:
    """The derivative along a direction by each mode, and the quotient of differences (central, of fourth order) for a
    step, which is relative to the direction."""

    forward: float
    reverse: float
    difference: Callable[[float], float]

    def error(self, step: float) -> float:
        """How far the quotient is from the derivative, relative to that."""
        return abs(self.difference(step) - self.reverse) / max(abs(self.reverse), 1e-300)


@dataclass(frozen=True)
class Checked:
    """The compared numbers: `orders[0]` has the directions of the function, `orders[1]` those of its derivative."""

    orders: tuple[tuple[Direction, ...], ...]
    _point: _Point | None = None

    @property
    def decisions(self) -> tuple[Decided, ...]:
        """The lines where the arguments decide by a condition, an index or rounding.

        The derivative does not contain the effect of another decision.
        """
        return () if self._point is None else self._point.decisions

    def __repr__(self) -> str:
        lines = ", ".join(f"L{decided.line}" for decided in self.decisions)
        held = f"; {lines} decide by conditions, which have no derivative" if lines else ""
        return f"<checked: {len(self.orders)} orders, {DIRECTIONS} directions each{held}>"

    def convergence(self, order: int = 1, steps: Sequence[float] | None = None) -> Convergence:
        """The errors of difference quotients for `steps`, by default 33 from 1 down to 1e-8.

        The function runs four times per step and direction. Raises WrongCall for an order that was not checked.
        """
        if not 1 <= order <= len(self.orders):
            raise WrongCall(f"order={order!r}, where {len(self.orders)} were checked", instead="Give one of them.")
        taken = np.logspace(0.0, -8.0, 33) if steps is None else np.sort(np.asarray(steps, float))[::-1]
        errors = [[direction.error(float(step)) for step in taken] for direction in self.orders[order - 1]]
        return Convergence(taken, np.array(errors))


@dataclass(frozen=True)
class Convergence:
    """`steps`, the largest first; `errors`, relative, with a row a direction.

    They fall with the fourth power of the step until rounding takes over, and then rise with its inverse. Where the
    derivative is wrong they end at how wrong it is.
    """

    steps: np.ndarray[Any, Any]
    errors: np.ndarray[Any, Any]

    @property
    def slopes(self) -> tuple[float, ...]:
        """By which power of the step each direction's error falls: the median between steps down to ten times the least
        error; nan where there are no two such."""
        return tuple(map(self._slope, self.errors))

    def _slope(self, errors: np.ndarray[Any, Any]) -> float:
        best = int(np.argmin(errors))
        falling = np.flatnonzero(errors[: best + 1] > 10.0 * errors[best])
        if falling.size < 2:
            return float("nan")
        steps = np.log(self.steps[falling])
        return float(np.median(np.diff(np.log(errors[falling])) / np.diff(steps)))


def _check_next(
    point: _Point, draw: np.random.Generator, rtol: float, seed: int, orders: range, is_implied: bool
) -> Checked:
    """The derivatives of the gradient; of the pullback, where the result is not a single number."""
    value = template(point.run(point.arguments))
    derived, arguments, wrt = point.pullback, point.arguments, point.positions
    if value == template(0.0):
        made = Derivative(function=point.spec, kind="grad", wrt=point.positions, implied=is_implied)
        derived = derive(made, point.options)
    else:
        arguments, wrt = (*arguments, _random(value, draw)), (*wrt, len(arguments))
    spec = specification(derived)
    return _checked(derived, spec, bind(spec, arguments), wrt, point.options, rtol, seed, orders, point.user or point)


@dataclass(frozen=True)
class _Point:
    """Where a function is checked."""

    function: Any
    spec: Any
    arguments: tuple[Any, ...]
    positions: tuple[int, ...]
    options: Options
    layouts: Layouts = ()
    user: _Point | None = None

    @property
    def pullback(self) -> Any:
        return derive(Derivative(function=self.spec, kind="vjp", wrt=self.positions), self.options)

    @functools.cached_property
    def decisions(self) -> tuple[Decided, ...]:
        seed = zero(template(self.run(self.arguments)))
        found: tuple[Decided, ...] = self.pullback.explain(*self.arguments, seed).decisions
        return found

    @property
    def held(self) -> str:
        """What a message says of the decisions."""
        if self.user is not None:
            return self.user.held
        said = [f"\n  L{d.line}, {d.text}, is decided by {', '.join(d.by)}, and held fixed" for d in self.decisions]
        return "".join(said[:3])

    def run(self, arguments: Sequence[Any]) -> Any:
        """The function itself, on copies of the arguments: plain Python where it can be."""
        given, names = list(snapshot(arguments)), self.keywords
        for k, layout in enumerate(self.layouts):
            given[k] = given[k] if layout is None else put_together(layout, iter(given[k]))
        count = len(given) - len(names)
        with np.errstate(all="ignore"):
            return self.function(*given[:count], **dict(zip(names, given[count:], strict=True)))

    @functools.cached_property
    def keywords(self) -> list[str]:
        """The parameters, which are the last ones, that Python takes by name alone."""
        plain = getattr(self.function, "py_func", self.function)
        kinds = inspect.signature(plain, follow_wrapped=False).parameters.values()
        return [p.name for p in kinds if p.kind is p.KEYWORD_ONLY]

    def check(self, draw: np.random.Generator, rtol: float, orders: range) -> Direction:
        shapes = [template(a) for a in self.arguments]
        chosen = [_random(s, draw) if k in self.positions else zero(s) for k, s in enumerate(shapes)]
        seed = _random(template(value_of(self.spec, self.options)(*snapshot(self.arguments))), draw)
        forward = _dot(seed, push(self.spec, self.options, self.arguments, chosen, self.positions)[1])
        bars = dict(zip(self.positions, self.pullback(*self.arguments, seed), strict=True))
        reverse = sum(_dot(bars[p], chosen[p]) for p in self.positions)
        size = sum(abs(bar * d).sum() for p in self.positions for bar, d in _pairs(bars[p], chosen[p]))
        rounding = 1e-10 if _is_double(self.arguments) else 1e-4
        which = f"derivative {orders.start} of {orders.stop - 1}"
        assert abs(forward - reverse) <= rounding * max(size, abs(forward), 1e-300), (
            f"forward and reverse mode differ: forward {forward!r}, reverse {reverse!r} ({which})"
        )
        relative = max(rtol, 0.0 if rounding < 1e-6 else 1e-3)
        best = np.nan
        for step in STEPS:
            found = self.difference(seed, chosen, step)
            if not abs(best - reverse) <= abs(found - reverse):
                best = found
            if abs(best - reverse) <= relative * max(abs(best), abs(reverse), 1e-3 * size, 1e-8):
                return Direction(forward, float(reverse), functools.partial(self.difference, seed, chosen))
        raise AssertionError(
            "the derivative differs from finite differences of the function: "
            f"forward {forward!r}, reverse {reverse!r}, differences {best!r} ({which}){self.held}"
        )

    def difference(self, seed: Any, directions: Sequence[Any], step: float) -> float:
        """The fourth-order central difference of <seed, function> along `directions`."""

        def at(scale: float) -> float:
            moved = list(self.arguments)
            for p in self.positions:
                moved[p] = _moved(moved[p], directions[p], scale)
            return _dot(seed, self.run(moved))

        return (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step)


def _random(wanted: Template, draw: np.random.Generator) -> Any:
    """A random tangent: normal where a derivative flows, zero elsewhere."""

    def normal(leaf: Leaf) -> Any:
        if not leaf.is_active:
            return leaf.zero
        size = leaf.shape if leaf.is_array else None
        return draw.normal(size=size) if leaf.is_real else draw.normal(size=size) + 1j * draw.normal(size=size)

    return conform(map_leaves(normal, wanted), wanted, "the direction")


def _moved(value: Any, direction: Any, scale: float) -> Any:
    """value + scale * direction in double precision."""
    pairs = zip(leaves(value), leaves(direction), strict=True)
    return nested(value, [_one_moved(v, d, scale) for v, d in pairs])


def _one_moved(value: Any, direction: Any, scale: float) -> Any:
    if isinstance(value, np.ndarray):
        kind = {"f": np.float64, "c": np.complex128}.get(value.dtype.kind)
        return value if kind is None else value.astype(kind) + scale * direction
    if isinstance(value, complex | np.complexfloating):
        return complex(value) + scale * complex(direction)
    return float(value) + scale * float(direction) if isinstance(value, float | np.floating) else value


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    both = zip(leaves(left), leaves(right), strict=True)
    return [(_real(a), _real(b)) for a, b in both if a is not None and b is not None]


def _real(value: Any) -> np.ndarray[Any, Any]:
    """The real numbers in a number or an array."""
    return np.asarray((np.real(value), np.imag(value)) if np.iscomplexobj(value) else value, float)


def _dot(left: Any, right: Any) -> float:
    return float(sum(np.sum(a * b) for a, b in _pairs(left, right)))


def _is_double(arguments: Sequence[Any]) -> bool:
    arrays = [leaf for leaf in leaves(tuple(arguments)) if isinstance(leaf, np.ndarray | np.inexact)]
    return not any(a.dtype in (np.float32, np.float16, np.complex64) for a in arrays)
