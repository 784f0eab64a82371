"""Bounds of rounding errors, statement by statement.

In: a function with one float for a result. Out: a function of the same arguments that gives the value, a bound of its
rounding error to first order, and what of that each statement adds.

    print(rounding_error(f)(1e8))         value 1.0, bound 2.4e-08
                                          L5: d = np.sqrt(x * x + 1.0) - x    2.4e-08
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Unpack

from adjit.api.bound_callables import SpreadDerived, bound, has_stars
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Asked, make_options, takes_options
from adjit.errors import Unsupported, named, with_cells
from adjit.rules.library_functions import as_python
from adjit.transform.source.derivative import Derivative, root, shown, specification


@dataclass(frozen=True)
class Statement:
    """What the rounding of one statement's results may change of the value, to first order."""

    file: str
    line: int
    text: str
    bound: float


@dataclass(frozen=True)
class RoundingError:
    """The value as it is computed, the bound of its rounding error, and the statements, those with most of it first."""

    value: float
    bound: float
    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        rows = [(with_cells(f"{named(s.file)}:{s.line}"), s.text, f"{s.bound:.1e}") for s in self.statements]
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
        table = [f"  {place:{widths[0]}}  {text:{widths[1]}}  {size}" for place, text, size in rows]
        return "\n".join([f"value {self.value!r}, bound of its rounding error {self.bound:.1e}", *table])


class RoundingErrors:
    """A function that gives the rounding error of another one."""

    def __init__(self, derived: Any, whole: Any) -> None:
        self._derived, self._whole = derived, whole
        functools.update_wrapper(self, root(derived.derivative), updated=())
        self.__signature__ = derived.__signature__ if whole is None else whole.signature
        self._known: dict[Any, tuple[tuple[str, int, str], ...]] = {}

    def __repr__(self) -> str:
        return f"<rounding error of {shown(self._derived.derivative.function)}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> RoundingError:
        if self._whole is not None:
            arguments, keywords = self._whole.all(arguments, keywords), {}
        value, bounds = self._derived(*arguments, **keywords)
        given = arguments if not keywords else tuple(self.__signature__.bind(*arguments, **keywords).args)
        pairs = zip(self._statements(given), bounds.tolist(), strict=True)
        found = [Statement(*place, size) for place, size in pairs if size != 0.0]
        found.sort(key=lambda statement: -statement.bound)
        return RoundingError(float(value), float(sum(bounds.tolist())), tuple(found))

    def source(self, *arguments: Any, tuned: bool = False) -> str:
        """The generated source for these arguments, given as to `source` of a derivative."""
        return str(self._derived.source(*arguments, tuned=tuned))

    def _statements(self, arguments: tuple[Any, ...]) -> tuple[tuple[str, int, str], ...]:
        """The statements that the bounds are of."""
        from adjit.transform import pipeline
        from adjit.transform.rewrite.notes import Rounded

        def found(asked: Any, taken: Any) -> tuple[tuple[str, int, str], ...]:
            given = asked._types_of(taken)
            key = (asked.derivative, given)
            if key not in self._known:
                _, records = pipeline.explained(asked.derivative, given)
                (self._known[key],) = [r.statements for r in records if isinstance(r, Rounded)]
            return self._known[key]

        statements: tuple[tuple[str, int, str], ...] = self._derived._asked(arguments, found)
        return statements


@takes_options
def rounding_error(function: Any, **options: Unpack[Asked]) -> RoundingErrors | SpreadDerived:
    """A function that estimates the rounding error of `function`, whose result is one float.

    It takes the arguments of `function` and returns a `RoundingError`: the value, a bound of its rounding error to
    first order, and the part of each statement in that bound.

    The bound is the sum of |y y_bar| u over all numbers y that are computed and rounded. Here y_bar is the adjoint of
    y, and u is half a unit in the last place of its type. A computed y is y (1 + d) with |d| <= u, and changes the
    result by y_bar y d to first order. The method is that of Linnainmaa (BIT 16, 1976). See also Menon et al., "ADAPT:
    algorithmic differentiation applied to floating-point precision tuning" (SC 2018), and Singh et al., "Fast and
    automatic floating point error analysis with CHEF-FP" (IPDPS 2023).

    Sums, products and roots count once, exact operations not at all. exp, log, sin and pow count twice, as their error
    is up to one unit in the last place. Hyperbolic and special functions count eight times. Arguments count as exact.
    Comparisons that a rounding error changes, and infinite derivatives, are not covered.

    Raises NotScalar for a result that is not a float, and Unsupported for operations on whole matrices, such as solves.
    """
    chosen = make_options(options)
    if chosen.target in ("cuda", "cuda-device"):
        raise Unsupported("rounding errors on a GPU", instead='Use target="cpu".')
    function = as_python(function)
    if has_stars(function):
        return SpreadDerived(function, functools.partial(rounding_error, **options), "rounding error", 0)
    whole = bound(function)
    spec = specification(function if whole is None else whole.function)
    return RoundingErrors(derive(Derivative(function=spec, kind="rounding"), chosen), whole)
