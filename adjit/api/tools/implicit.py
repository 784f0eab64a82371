"""Functions that are given by what they solve: roots, fixed points and minima, differentiated by the equation.

In: a solver, which is never differentiated, and the equation that its result solves. Out: a function that compiled code
may call, too, with rules for its derivatives.

    root = implicit(newton, residual)      residual(root(a), a) == 0
    root(a)                                newton(a)
    grad(lambda a: np.sum(root(a)))(a)     one solve with the transposed matrix of derivatives of the residual

With F(x, a) = 0, the differential is x_dot = -(dF/dx)^-1 (dF/da) a_dot (the implicit function theorem). The rule is
the source of that equation for the solver's parameters. It is transposed and differentiated as any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit

from adjit.api.functions import grad, jacfwd, jvp, vjp
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Options
from adjit.errors import WrongCall
from adjit.rules.registry import Entry
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.compile import register
from adjit.runtime.library import krylov
from adjit.transform.source.callables import python_function
from adjit.transform.source.derivative import Derivative, parameters, shown, specification, unused

_LINEAR = ("lu", "gmres", "cg")


def implicit(
    solver: Callable[..., Any],
    residual: Callable[..., Any] | None = None,
    *,
    fixed_point: Callable[..., Any] | None = None,
    minimum: Callable[..., Any] | None = None,
    linear: str = "lu",
    tolerance: float | None = 1e-3,
) -> Any:
    """A function like `solver` whose derivative comes from the equation that the result solves.

    For `x = solver(*args)` give exactly one equation: `residual(x, *args)` is zero, `fixed_point(x, *args)` is x, or x
    minimises `minimum(x, *args)`. Here x is a float or an array of floats, and a residual has the shape of x.

    adjit or numba compiles the solver. It may use any method, as it is not differentiated. A derivative takes one
    linear solve with the Jacobian of the equation with respect to x; in reverse mode with its transpose.

    - `linear`: "lu" computes and factorises the Jacobian. "gmres", and "cg" for a minimum, only use products with it,
      for many unknowns in a vector. They raise ValueError without convergence.
    - `tolerance`: a call raises ValueError for a residual that is too large, where a step of Newton's method may be
      longer than this times max(|x|, 1). Then the solver has not converged, or solves another equation. None skips the
      test. A derivative is as accurate as x.

    Differentiated functions and compiled code call the result like the solver. Globals that the solver or the equation
    read are constant from the first call on, as in numba. Raises WrongCall unless exactly one equation is given, with
    the solver's parameters after x.
    """
    given = {"residual": residual, "fixed_point": fixed_point, "minimum": minimum}
    equations = {name: f for name, f in given.items() if f is not None}
    if len(equations) != 1:
        raise WrongCall(
            f"implicit with {' and '.join(equations) or 'no equation'}",
            instead="Give exactly one of residual, fixed_point and minimum.",
        )
    if linear not in _LINEAR:
        raise WrongCall(f"linear={linear!r}", instead='Write linear="lu", linear="gmres" or linear="cg".')
    ((kind, equation),) = equations.items()
    if linear == "cg" and kind != "minimum":
        raise WrongCall(
            f'linear="cg" for a {kind.replace("_", " ")}',
            why="Conjugate gradients need a symmetric and positive definite matrix.",
            instead='Write linear="gmres", or give minimum=.',
        )
    names = _names(solver, equation)
    return _Written(solver, kind, equation, names, tolerance).function(linear)


def fixed_point(step: Callable[..., Any], *, tolerance: float = 1e-12, most: int = 10_000) -> Any:
    """A function `(x, *args)` that repeats `x = step(x, *args)` to a fixed point, and returns x.

    It stops when x changes by less than `tolerance` times max(|x|, 1). The derivative repeats the tangent, or the
    adjoint, of one step at the limit (the two-phase method, Christianson 1994). That takes about the same number of
    steps, and stores nothing. The derivative with respect to the start is zero.

    Raises ValueError without convergence in `most` steps, and WrongCall for a step whose only parameter is x.
    """
    names = list(parameters(specification(step)).parameters)
    if len(names) < 2:
        raise WrongCall(
            f"fixed_point of {shown(step)}, which takes {len(names)} argument{'s' * (len(names) != 1)}",
            instead="Its first parameter is the point; the others are what the fixed point depends on.",
        )
    plain = python_function(step)
    x, given = names[0], ", ".join(names[1:])
    found, trip, held, settled = (unused(name, names) for name in ("found", "trip", "step", "has_settled"))
    scope: dict[str, Any] = {"__name__": plain.__module__, held: step, settled: has_settled}
    name = plain.__name__ if plain.__name__.isidentifier() else "step"
    text = _ITERATED.format(
        name=name, x=x, given=given, found=found, trip=trip, step=held, settled=settled, most=most, tolerance=tolerance
    )
    exec(compile(text, register(text, f"{name} repeated, of {plain.__module__}"), "exec", dont_inherit=True), scope)
    written = _Written(scope[f"{name}_repeated"], "fixed_point", scope[f"{name}_at"], names, None)
    written.plain.__doc__ = plain.__doc__
    return written.function("iteration")


_ITERATED = """def {name}_repeated({x}, {given}):
    for {trip} in range({most}):
        {found} = {step}({x}, {given})
        if {settled}({found}, {x}, {tolerance}):
            return {found}
        {x} = {found}
    raise ValueError("{name} has not come to a fixed point in {most} steps")


def {name}_at({found}, {x}, {given}):
    return {step}({found}, {given})
"""


def has_settled(found: Any, before: Any, tolerance: float) -> Any:
    """Whether two points are so close."""
    change = found - before
    return np.sum(change * change) <= tolerance**2 * max(np.sum(found * found), 1.0)


def _names(solver: Any, equation: Any) -> list[str]:
    """The solver's parameters, which are those of the equation after the first one."""
    own, others = (parameters(specification(one)).parameters for one in (solver, equation))
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in (*own.values(), *others.values())):
        raise WrongCall(
            f"{shown(solver)} has `*` or `**` parameters, or {shown(equation)} has",
            instead="Name the parameters one by one.",
        )
    if len(others) != len(own) + 1:
        raise WrongCall(
            f"{shown(equation)} takes {len(others)} arguments, and {shown(solver)} {len(own)}",
            why=f"The equation gets the solution, then {', '.join(own) or 'nothing'}.",
            instead="Give both functions the same parameters, after the solution.",
        )
    if not own:
        raise WrongCall(f"{shown(solver)} has no parameters", instead="Pass what the solution depends on.")
    return list(own)


class _Written:
    """The functions that are written out for a solver, and what they name.

    In the texts `args` stands for the solver's parameters, `dots` for their tangents, and other names in braces for
    what is held or defined.
    """

    def __init__(self, solver: Any, kind: str, equation: Any, names: Sequence[str], tolerance: float | None) -> None:
        self.plain = python_function(solver)
        self.name = self.plain.__name__ if self.plain.__name__.isidentifier() else "solver"
        self.names, self.tolerance = names, tolerance
        self.scope: dict[str, Any] = {"__name__": self.plain.__module__}  # what it reads is of the user's program
        # by its name a parameter of a tangent is that of another one
        self.dots = [f"{name}_dot" for name in names]
        if both := next((name for name, dot in zip(names, self.dots, strict=True) if dot in names), None):
            raise WrongCall(
                f"an implicit function with parameters named {both} and {both}_dot", instead="Rename one of them."
            )
        self.known: dict[str, str] = {name: self.own(name) for name in _LOCALS}
        self.known |= {f"{name}_{part}": f"{self.known[name]}_{part}" for name, part in _BESIDE}
        self.known |= {"args": ", ".join(names), "dots": ", ".join(self.dots)}
        for name, value in _NAMED.items():
            self.hold(name, value)
        self.hold("solver", solver if is_dispatcher(solver) else derive(Derivative(solver, "primal"), Options()))
        self.hold("equation", equation)
        self.hold("tolerance", tolerance)
        self.define("residual", "{x}, {args}", [_RESIDUALS[kind]])

    def own(self, name: str) -> str:
        """A name that is not among the solver's parameters and their tangents, nor another's; nor are those made of
        it."""
        taken = {*self.names, *self.dots, *self.scope, *getattr(self, "known", {}).values()}
        made_of_it = {each.removesuffix(f"_{part}") for _, part in _BESIDE for each in taken}
        return unused(name, taken | made_of_it)

    def hold(self, name: str, value: Any) -> None:
        """Lets texts find this, by its name in braces."""
        self.known[name] = found = self.own(name)
        self.scope[found] = value

    def define(self, name: str, given: str, lines: Sequence[str]) -> Any:
        """A function with this text, which other texts find by its name in braces."""
        self.known[name] = found = self.own(f"{self.name}_{name}")
        text = f"def {found}({given}):\n" + "".join(f"    {line}\n" for line in lines)
        text = text.format_map(self.known)
        exec(
            compile(text, register(text, f"{found} of {self.plain.__module__}"), "exec", dont_inherit=True), self.scope
        )
        return self.scope[found]

    def operation(self, name: str, given: str, call: str) -> Any:
        """A compiled function that makes a call, whose rules are its own."""
        self.define(name, given, [f"return {call}"])
        made = self.scope[self.known[name]] = njit(self.scope[self.known[name]])
        return made

    def function(self, linear: str) -> Any:
        given = self._with_defaults()
        made = self.operation("solution", given, "{solver}({args})")
        if linear != "lu":
            self._solves(linear)
        forward, backward = (_BY_MATRIX, _BY_MATRIX_BACK) if linear == "lu" else (_BY_PRODUCTS, _BY_PRODUCTS_BACK)
        checks = [] if self.tolerance is None else [_CHECKED[linear == "lu"]]
        along = "{_}, {change} = {jvp}(lambda {args}: {residual}({x}, {args}), ({args},), ({dots},))"
        back = "{_}, {pullback} = {vjp}(lambda {args}: {residual}({x}, {args}), {args})"
        dots = ", ".join(f"{dot}=0.0" for dot in self.known["dots"].split(", "))
        tangent = self.define("tangent", f"{given}, {dots}, *, {{x}}", [along, forward[0], *checks, *forward[1:]])
        adjoint = self.define(
            "adjoint",
            f"{given}, *, {{x}}, {{x_bar}}",
            [back, backward[0], *checks, *backward[1:], "return {pullback}(-{z})"],
        )
        made.adjit_rules = Entry(tangent=tangent, adjoint=adjoint)
        made.__doc__ = self.plain.__doc__
        return made

    def _with_defaults(self) -> str:
        parts = []
        for name, parameter in inspect.signature(self.plain).parameters.items():
            if parameter.default is not parameter.empty:
                self.hold(f"{name}_default", parameter.default)
                name = f"{name}={{{name}_default}}"
            parts.append(name)
        return ", ".join(parts)

    def _solves(self, linear: str) -> None:
        """Solves with the matrix, and with the transposed one, by products: operations of their own, whose derivatives
        are such solves again, and never go through the trips of their loops."""
        self.hold("method", _METHODS[linear])
        for name, lines in _TIMES.items():
            self.define(f"{name}_times", "{x}, {args}, {v}", lines)
            plain = self.define(f"{name}_loop", "{x}, {args}, {v}", [line.replace("NAME", name) for line in _SOLVE])
            self.hold(f"{name}_compiled", derive(Derivative(plain, "primal"), Options()))
            self.operation(f"{name}_solve", "{x}, {args}, {v}", f"{{{name}_compiled}}({{x}}, {{args}}, {{v}})")
        for name, other in (("matrix", "transposed"), ("transposed", "matrix")):

            def lines_of(texts: Sequence[str], name: str = name, other: str = other) -> list[str]:
                return [text.replace("NAME", name).replace("OTHER", other) for text in texts]

            given = "{x}, {args}, {v}"
            tangent = self.define(
                f"{name}_tangent", f"{given}, {{x_dot}}, {{dots}}, {{v_dot}}, *, {{y}}", lines_of(_ALONG)
            )
            adjoint = self.define(f"{name}_adjoint", f"{given}, *, {{y}}, {{y_bar}}", lines_of(_BACK))
            transpose = self.define(f"{name}_transpose", f"{given}, *, {{y}}, {{y_bar}}", lines_of(_TRANSPOSE))
            self.scope[self.known[f"{name}_solve"]].adjit_rules = Entry(
                tangent=tangent, adjoint=adjoint, transposes={len(self.names) + 1: transpose}
            )


def is_solved(value: Any, size: Any, x: Any, tolerance: float) -> None:
    """Raises ValueError if a step of Newton's method has to be longer than the tolerance: |F| <= |J| |step|.

    value: the residual F. size: |J|, or a smaller number.
    """
    if np.sum(value * value) > (tolerance * size) ** 2 * max(np.sum(x * x), 1.0):
        raise ValueError("the solver of an implicit function did not solve its equation: the residual is not small")


def size_of(matrix: Any) -> Any:
    """The Frobenius norm."""
    return np.sqrt(np.sum(matrix * matrix))


def least_size(image: Any, vector: Any) -> Any:
    """What a matrix makes a vector longer by; 1 for none."""
    square = np.sum(vector * vector)
    return np.sqrt(np.sum(image * image) / square) if square > 0.0 else 1.0


_METHODS = {"gmres": krylov.gmres, "cg": krylov.conjugate_gradients, "iteration": krylov.richardson}
_NAMED = {
    "np": np, "jvp": jvp, "vjp": vjp, "jacfwd": jacfwd, "grad": grad, "is_solved": is_solved, "size_of": size_of,
    "least_size": least_size,
}  # fmt: skip
_LOCALS = (
    "x", "v", "y", "z", "_", "change", "matrix", "found", "pullback", "value", "times",
)  # fmt: skip
_BESIDE = (("x", "dot"), ("x", "bar"), ("v", "dot"), ("y", "bar"))
_RESIDUALS = {
    "residual": "return {equation}({x}, {args})",
    "fixed_point": "return {x} - {equation}({x}, {args})",
    "minimum": "return {grad}({equation})({x}, {args})",
}
_BY_MATRIX = (
    "{matrix} = {jacfwd}({residual})({x}, {args})",
    "if isinstance({x}, float):",
    "    return -{change} / {matrix}",
    "{found} = {np}.linalg.solve({matrix}.reshape({x}.size, {x}.size), {change}.ravel())",
    "return -{found}.reshape({x}.shape)",
)
_BY_MATRIX_BACK = (
    "{matrix} = {jacfwd}({residual})({x}, {args})",
    "if isinstance({x}, float):",
    "    {z} = {x_bar} / {matrix}",
    "else:",
    "    {found} = {np}.ascontiguousarray({matrix}.reshape({x}.size, {x}.size).T)",
    "    {z} = {np}.linalg.solve({found}, {x_bar}.ravel()).reshape({x}.shape)",
)
_CHECKED = (
    "{is_solved}({value}, {least_size}({matrix_times}({x}, {args}, {value}), {value}), {x}, {tolerance})",
    "{is_solved}({residual}({x}, {args}), {size_of}({matrix}), {x}, {tolerance})",
)
_BY_PRODUCTS = ("{value} = {residual}({x}, {args})", "return -{matrix_solve}({x}, {args}, {change})")
_BY_PRODUCTS_BACK = ("{value} = {residual}({x}, {args})", "{z} = {transposed_solve}({x}, {args}, {x_bar})")
_TIMES = {
    "matrix": ("{_}, {found} = {jvp}(lambda {x}: {residual}({x}, {args}), ({x},), ({v},))", "return {found}"),
    "transposed": ("{_}, {pullback} = {vjp}(lambda {x}: {residual}({x}, {args}), {x})", "return {pullback}({v})[0]"),
}
_SOLVE = (
    "def {times}({y}):",
    "    return {NAME_times}({x}, {args}, {y})",
    "return {method}({times}, {v})",
)
# A y = v:  A y_dot = v_dot - A_dot y
_ALONG = (
    "{_}, {change} = {jvp}(lambda {x}, {args}: {NAME_times}({x}, {args}, {y}), ({x}, {args}), ({x_dot}, {dots}))",
    "return {NAME_solve}({x}, {args}, {v_dot} - {change})",
)
_BACK = (
    "{z} = {OTHER_solve}({x}, {args}, {y_bar})",
    "{_}, {pullback} = {vjp}(lambda {x}, {args}: {NAME_times}({x}, {args}, {y}), {x}, {args})",
    "return (*{pullback}(-{z}), {z})",
)
_TRANSPOSE = ("return {OTHER_solve}({x}, {args}, {y_bar})",)
