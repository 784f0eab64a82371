"""Derivatives that a differentiated function makes itself: `adjit.grad(f)(x)`, for any f, also one defined inside.

In: the values of a call of `adjit.grad` and the like. Out: a static value, whose call inlines the derivative's IR.

    x - f(x) / adjit.grad(f)(x)          a step of Newton's method
    adjit.grad(lambda t: a * t * t)(x)   what the lambda reads around it are further arguments of what is derived
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
from numba import types

from adjit import errors
from adjit.notation import to_text
from adjit.rules.library_functions import as_python
from adjit.rules.registry import Entry
from adjit.transform import ir
from adjit.transform.frontend.arrays.shaping import copied_whole
from adjit.transform.frontend.heap.references import unnamed
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import bound as taken
from adjit.transform.frontend.values.cells import ClosureCell
from adjit.transform.frontend.values.dictionaries import KnownDict
from adjit.transform.frontend.values.elementwise import materialise, operand
from adjit.transform.frontend.values.fold import constant
from adjit.transform.frontend.values.frame import Context, Frame, LocalFunction, wrap
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.lists import TupleValue, items_or_one
from adjit.transform.frontend.values.numbers import Complex, dtype, is_array, is_complex, is_number, is_numeric
from adjit.transform.frontend.values.ranges import Range
from adjit.transform.frontend.values.statics import Method, RuntimeGenerator, Static, is_none
from adjit.transform.frontend.values.values import Value, dereference, describe, leaves_of, rebuild, structure
from adjit.transform.ir.types import array_type_of
from adjit.transform.source.derivative import (
    ALONG_A_VECTOR,
    Derivative,
    Enclosed,
    check_call,
    made,
    mapping,
    named_parameters,
    parameters,
    shown,
    specification,
    unused,
)
from adjit.transform.source.marks import Checkpointed
from adjit.transform.source.parameters import by_name
from adjit.transform.source.syntax import assigned, children


@dataclass(frozen=True, eq=False)
class Inner:
    """A derivative made inside: `around` are the values of the last parameters of the function that it is of, and
    `names` the variables that those were read from."""

    derivative: Derivative
    around: tuple[ir.Operand, ...] = ()
    names: tuple[tuple[Frame, str, Value], ...] = ()


@dataclass(frozen=True, eq=False)
class InnerPullback:
    """What `adjit.vjp` gives inside: the adjoint of `derivative.function` at `given`, for results like `value`."""

    derivative: Derivative
    around: tuple[ir.Operand, ...]
    given: tuple[Value, ...]
    value: Value


def asked(frame: Frame, kind: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """The value of `adjit.<kind>(...)`."""
    if kind == "jvp":
        return _jvp(frame, *_known(frame, kind, "function primals tangents", args, named))
    if kind == "vjp":
        if named or not args:
            raise _options(frame, kind, next(iter(named), "function"))
        return _vjp(frame, args[0], args[1:])
    if kind == "vmap":
        function, *axes = _known(frame, kind, "function in_axes? out_axes?", args, named)
        in_axes, out_axes = (0 if axis is None else _object(frame, axis) for axis in axes)
        target, around, names = _target(frame, function)
        with placed(frame.ctx):
            return Static(Inner(mapping(target, in_axes, out_axes), around, names))
    further = _FURTHER.get(kind, ("wrt",))
    function, *rest = _known(frame, kind, " ".join(("function", *(f"{name}?" for name in further))), args, named)
    settings = {name: _object(frame, value) for name, value in zip(further, rest, strict=False) if value}
    target, around, names = _target(frame, function)
    with placed(frame.ctx):
        return Static(Inner(made(kind, target, **settings), around, names))


# What makers of derivatives take after the function, where that is not `wrt` alone.
_FURTHER = {
    "grad": ("wrt", "has_aux", "holomorphic"),
    "value_and_grad": ("wrt", "has_aux", "holomorphic"),
    "jet": ("order", "wrt"),
}


def _known(frame: Frame, kind: str, expected: str, args: Sequence[Value], named: Mapping[str, Value]) -> list[Any]:
    known = [name.rstrip("?") for name in expected.split()]
    extra = next((name for name in named if name not in known), None)
    if extra is not None:
        raise _options(frame, kind, extra)
    return taken(frame, f"adjit.{kind}", expected, args, dict(named))


def _options(frame: Frame, kind: str, name: str) -> errors.AdjitError:
    is_option = name not in _NOT_INSIDE
    return frame.ctx.fail(
        errors.WrongCall,
        f"`{name}` of adjit.{kind} inside a differentiated function",
        "The options of the outer derivative hold for it." if is_option else "",
        "Leave it out." if is_option else _NOT_INSIDE[name],
    )


# What makers of derivatives take outside alone, and what to write instead.
_NOT_INSIDE = {
    "several": "Map over them:  adjit.vmap(lambda t: adjit.jvp(f, (x,), (t,))[1])(tangents), or use adjit.jacfwd.",
    "intermediates": "Ask for them in a derivative outside of the function.",
}


def _object(frame: Frame, value: Value) -> Any:
    """The Python object that a value known while compiling stands for."""
    what, instead = "an option of a derivative that is not constant", "Write it as a literal."
    return constant(value, lambda part: frame.ctx.unsupported(what, instead), is_frozen=True)


@contextlib.contextmanager
def placed(ctx: Context) -> Iterator[None]:
    """Within it, refusals that name no line name that of the call."""
    try:
        yield
    except errors.AdjitError as fault:
        if fault.place is not None:
            raise
        raise ctx.fail(type(fault), fault.what, fault.why, fault.instead) from None


def arguments(
    ctx: Context, name: str, expected: inspect.Signature, args: Sequence[Value], named: Mapping[str, Value]
) -> dict[str, Value]:
    """The value of each parameter in a call: of one left out, its default."""
    with placed(ctx):
        check_call(name, expected, len(args), named)
    given = expected.bind(*args, **named).arguments
    found: dict[str, Value] = {}
    for key, p in expected.parameters.items():
        if p.kind is p.VAR_POSITIONAL:
            found[key] = TupleValue(tuple(given.get(key, ())))
        elif p.kind is p.VAR_KEYWORD:
            rest = given.get(key, {})
            found[key] = KnownDict(tuple(rest), tuple(rest.values()))
        elif key in given or p.default is not p.empty:
            value = given.get(key, p.default)
            found[key] = value if isinstance(value, Value) else wrap(ctx, value)
    return found


def result_value(tree: ir.Tree, yields: Sequence[ir.Operand]) -> Value:
    """What a function gives, from its yields."""
    if isinstance(tree, ir.Pair):
        real, imag = (yields[k] for k in tree)
        return Complex(real, imag)
    if isinstance(tree, tuple):
        return TupleValue(tuple(result_value(t, yields) for t in tree))
    return Static(None) if tree is None else yields[tree]


def intermediate_value(frame: Frame, value: Value, name: Value | None, adjoint: Value | None) -> Value:
    """adjit.intermediate: calls that give what they take, of which each says what becomes of the adjoint."""
    ctx = frame.ctx
    known = "" if name is None else _object(frame, name)
    if not isinstance(known, str) or (not known and adjoint is None):
        raise ctx.fail(
            errors.WrongCall,
            "adjit.intermediate without a name or a function",
            "The name selects an adjoint, and the function changes it.",
            'Write adjit.intermediate(x, "x"), or adjit.intermediate(x, adjoint=f).',
        )
    if is_complex(value):
        raise ctx.unsupported("adjit.intermediate of complex numbers", "Mark the real and the imaginary parts.")
    if not is_numeric(value) or not isinstance(dtype(value), types.Float):
        raise ctx.mismatch(f"adjit.intermediate of {describe(value)}", "Give it a float or an array of floats.")
    found: Value = operand(ctx, value)
    if known:
        found = whole_call(ctx, ir.Place(known), [operand(ctx, found)], known if known.isidentifier() else "value")
    if adjoint is not None and not is_none(adjoint):
        rules = _through(_of_adjoints(frame, adjoint), is_array(found))
        found = whole_call(ctx, ir.Place("", rules), [operand(ctx, found)], ir.name_of(operand(ctx, found), "value"))
    return found


@dataclass(frozen=True, eq=False)
class _Callable:
    """A function defined inside, for rules."""

    derivative: Derivative


def _of_adjoints(frame: Frame, adjoint: Value) -> Any:
    """The function through which an adjoint goes, as rules can call it."""
    target, around, _ = _target(frame, adjoint)
    if around:
        raise frame.ctx.unsupported(
            "a function of an adjoint that reads variables around it",
            "Define it at the top level, and let it read globals, which are constants.",
            why="It is called in the reverse sweep, where the variables may have other values.",
        )
    if isinstance(target, Enclosed):
        return _Callable(Derivative(target, "primal"))
    return _Callable(target) if isinstance(target, Derivative) else target


def _through(adjoint: Any, is_of_array: bool) -> Entry:
    """What is known of a place at which the adjoint goes through a function."""

    def of_number(x: Any, *, y_bar: Any) -> Any:
        return adjoint(y_bar)

    def of_array(x: Any, *, y_bar: Any) -> Any:
        found = adjoint(y_bar)
        if found.shape != y_bar.shape:
            raise ValueError("the function of an adjoint, in adjit.intermediate, returns an array of another shape")
        return found

    return Entry(adjoint=of_array if is_of_array else of_number)


# ------------------------------------------------------------------------------------------------------ what is derived


def _target(frame: Frame, function: Value) -> tuple[Any, tuple[ir.Operand, ...], tuple[tuple[Frame, str, Value], ...]]:
    """What a Derivative can be made of, and what it reads of the variables around it."""
    found = function.value if isinstance(function, Static) else function
    found = found.function if isinstance(found, Checkpointed) else found
    if isinstance(found, LocalFunction):
        free = _Free(frame)
        free.function(found)
        leaves = tuple(free.leaves)
        return _enclosed(frame, found, leaves), leaves, tuple(free.names)
    if isinstance(found, Inner):
        return found.derivative, found.around, found.names
    if isinstance(found, ir.Var | ir.Const | TupleValue | Complex | Method):
        raise frame.ctx.fail(
            errors.WrongCall, "a derivative of something that is not a function", "", "Pass a function."
        )
    return as_python(found), (), ()


def _names_in(node: cst.CSTNode) -> Iterator[str]:
    """The names that are read or written, less those of attributes and of arguments by name."""
    if isinstance(node, cst.Name):
        yield node.value
    for child in (node.value,) if isinstance(node, cst.Attribute | cst.Arg) else children(node):
        yield from _names_in(child)


def _around(function: LocalFunction) -> dict[str, Value]:
    """The variables that a function defined inside reads of those around it."""
    own = {*function.parameters}
    if isinstance(function.node, cst.FunctionDef):
        own |= set(assigned(function.node.body.body).names)
    env = function.frame.env
    if several := [name for name in _names_in(function.node.body) if isinstance(env.get(name), ClosureCell)]:
        what = f"the derivative of a function that reads `{several[0]}`, which another inner function assigns"
        raise function.frame.ctx.unsupported(what, "Pass it as an argument.")
    return {name: _now(env, env[name]) for name in _names_in(function.node.body) if name in env and name not in own}


def _now(env: Mapping[str, Value], value: Value) -> Value:
    """A value with what is in its lists now."""
    return unnamed(dereference(env, value))


def _enclosed(frame: Frame, function: LocalFunction, leaves: Sequence[ir.Operand]) -> Enclosed:
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in function.signature.parameters.values()):
        what = "the derivative of an inner function with `*` or `**` parameters"
        raise frame.ctx.unsupported(what, "Name the parameters one by one.")
    names: list[str] = []
    for leaf in leaves:
        names.append(unused(ir.name_of(leaf, "value"), (*names, *function.parameters)))
    return Enclosed(
        name=function.name,
        given=by_name(function.parameters, {n: _now(frame.env, v) for n, v in function.defaults.items()}),
        parameters=by_name([*function.parameters, *names]),
        elaborate=lambda arg_types, build: frame.ctx.elaborate_local(function, leaves, names, arg_types, build),
    )


class Moved:
    """Values of the enclosing function, with other operands in them, as those of a compilation of its own."""

    def __init__(self, home: Frame, mapping: Mapping[ir.Operand, ir.Operand]) -> None:
        self.home = home
        self.mapping = mapping
        self.functions: dict[int, LocalFunction] = {}

    def variables(self, function: LocalFunction) -> dict[str, Value]:
        """What a function defined inside reads around it."""
        return {name: self.value(value) for name, value in _around(function).items()}

    def function(self, function: LocalFunction) -> LocalFunction:
        if id(function) not in self.functions:
            frame = Frame(self.home.ctx, function.frame.source, function.frame.is_rule, function.frame.weak)
            defaults: dict[str, Value] = {}
            self.functions[id(function)] = LocalFunction(function.node, frame, defaults)
            frame.env = self.variables(function)
            defaults.update((n, self.value(_now(function.frame.env, v))) for n, v in function.defaults.items())
        return self.functions[id(function)]

    def value(self, value: Value) -> Value:
        if isinstance(value, ir.Operand):
            return self.operand(value)
        if isinstance(value, Method):
            return Method(self.value(value.owner), value.name)
        if isinstance(value, Range):
            start, stop, step = (self.operand(end) for end in (value.start, value.stop, value.step))
            return dataclasses.replace(value, start=start, stop=stop, step=step)
        if isinstance(value, Static):
            return Static(self.object(value.value))
        return value.mapped(self.value)

    def operand(self, operand: ir.Operand) -> ir.Operand:
        return self.mapping.get(operand, operand)

    def object(self, thing: Any) -> Any:
        if isinstance(thing, LocalFunction):
            return self.function(thing)
        if isinstance(thing, Checkpointed):
            inner: Any = thing.function
            return Checkpointed(self.function(inner)) if isinstance(inner, LocalFunction) else thing  # type: ignore[arg-type]
        if isinstance(thing, Inner):
            return Inner(thing.derivative, tuple(map(self.operand, thing.around)))
        if isinstance(thing, InnerPullback):
            around, given = tuple(map(self.operand, thing.around)), tuple(map(self.value, thing.given))
            return InnerPullback(thing.derivative, around, given, self.value(thing.value))
        return thing


# ------------------------------------------------------------------------------------------------------------ the calls


def called(frame: Frame, inner: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of a derivative, made inside or outside."""
    ctx = frame.ctx
    derivative: Derivative = inner.derivative
    around = inner.around if isinstance(inner, Inner) else ()
    if isinstance(inner, Inner):
        _check_names(frame, inner)
    with placed(frame.ctx):
        if derivative.kind in ALONG_A_VECTOR:
            given = _with_vector(frame, derivative, args, named)
            return ctx.inline_derivative(derivative, (*given[:-1], *around, given[-1]))
        return ctx.inline_derivative(derivative, (*_bound(frame, derivative, args, named), *around))


def _check_names(frame: Frame, inner: Inner) -> None:
    for home, name, value in inner.names:
        now = _now(home.env, home.env[name]) if name in home.env else None
        if now is not value and (
            now is None or structure(now) != structure(value) or leaves_of(now) != leaves_of(value)
        ):
            raise frame.ctx.unsupported(
                f"`{name}` is assigned after {shown(inner.derivative)} was created, which reads it",
                "Create the derivative where it is called: adjit.grad(f)(x).",
            )


def _bound(frame: Frame, spec: Any, args: Sequence[Value], named: Mapping[str, Value]) -> list[Value]:
    """The user's arguments of a call, with the defaults of those left out."""
    given = arguments(frame.ctx, shown(spec), named_parameters(spec), args, named)
    return [materialise(frame.ctx, value) for value in given.values()]


def _with_vector(
    frame: Frame, derivative: Derivative, args: Sequence[Value], named: Mapping[str, Value]
) -> list[Value]:
    last = list(parameters(derivative).parameters)[-1]
    if last in named:
        args, named = (*args, named[last]), {name: value for name, value in named.items() if name != last}
    if not args:
        raise errors.WrongCall(
            f"{shown(derivative)} is called without a vector",
            instead="Give the vector last, after the function's arguments.",
        )
    given = _bound(frame, derivative.function, args[:-1], named)
    assert derivative.wrt is not None
    vector = materialise(frame.ctx, args[-1])
    alike = given[derivative.wrt[0]] if derivative.single else TupleValue(tuple(given[p] for p in derivative.wrt))
    return [*given, _like(frame, vector, alike, "the vector")]


def _jvp(frame: Frame, function: Value, primals: Value, tangents: Value) -> Value:
    ctx = frame.ctx
    target, around, _ = _target(frame, function)
    if not isinstance(primals, TupleValue) or not isinstance(tangents, TupleValue):
        raise ctx.mismatch("the arguments of adjit.jvp are not tuples", "Write (x,) for a single x.")
    with placed(frame.ctx):
        spec = specification(target)
        given = _bound(frame, spec, primals.items, {})
        if len(tangents.items) != len(primals.items):
            raise errors.TypeMismatch(
                f"{len(tangents.items)} tangents for {len(primals.items)} arguments of {shown(spec)}",
                instead="Give one tangent per argument, with the shape of the argument.",
            )
        active = _active(frame, given[: len(primals.items)], f"adjit.jvp of {shown(spec)}")
        dots: list[Value] = [Static(None)] * (len(given) + len(around))
        names = list(parameters(spec).parameters)
        for p in active:
            dots[p] = _like(frame, tangents.items[p], given[p], f"the tangent of argument `{names[p]}`")
        return ctx.inline_derivative(Derivative(spec, "jvp", tuple(active)), (*given, *around, *dots))


def _vjp(frame: Frame, function: Value, args: Sequence[Value]) -> Value:
    """The pullback is that of the arguments as they are now."""
    ctx = frame.ctx
    target, around, _ = _target(frame, function)
    with placed(frame.ctx):
        spec = specification(target)
        values = _bound(frame, spec, args, {})
        given = [rebuild(structure(v), (_kept(frame, leaf) for leaf in leaves_of(v))) for v in values]
        kept = [_kept(frame, o) for o in around]
        active = _active(frame, given[: len(args)], f"adjit.vjp of {shown(spec)}")
        primal = spec if isinstance(spec, Derivative) else Derivative(spec, "primal")
        value = ctx.inline_derivative(primal, (*given, *kept))
        adjoint = Derivative(spec, "vjp", tuple(active))
        pullback = InnerPullback(adjoint, tuple(kept), tuple(given), value)
        return TupleValue((value, Static(pullback)))


def pulled(frame: Frame, pullback: InnerPullback, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of the pullback: an entry an argument, None where none flows."""
    derivative = pullback.derivative
    if named or len(args) != 1:
        raise frame.ctx.fail(
            errors.WrongCall,
            f"the pullback of {shown(derivative.function)} takes one seed, not {len(args) + len(named)}",
            "",
            "Give one seed with the shape of the value; for a tuple, a tuple.",
        )
    assert derivative.wrt is not None
    with placed(frame.ctx):
        seed = _like(frame, args[0], pullback.value, "the seed")
        bars = frame.ctx.inline_derivative(derivative, (*pullback.given, *pullback.around, seed))
    of = dict(zip(derivative.wrt, items_or_one(bars), strict=True))
    return TupleValue(tuple(of.get(p, Static(None)) for p in range(len(pullback.given))))


def _kept(frame: Frame, operand: ir.Operand) -> ir.Operand:
    if not isinstance(operand.type, types.Array):
        return operand
    return copied_whole(frame.ctx, operand, ir.name_of(operand, "values"))


def _active(frame: Frame, given: Sequence[Value], what: str) -> list[int]:
    active = [p for p, v in enumerate(given) if any(ir.is_float(leaf.type) for leaf in leaves_of(v))]
    if not active:
        raise errors.WrongWrt(
            f"{what} without a float among the arguments", instead="Pass floats, or arrays of floats."
        )
    return active


def _like(frame: Frame, given: Value, wanted: Value, what: str) -> Value:
    """A tangent or a seed with the types of what it belongs to; what carries no derivative is left as None."""
    ctx = frame.ctx
    if isinstance(wanted, TupleValue):
        if not isinstance(given, TupleValue) or len(given.items) != len(wanted.items):
            raise errors.TypeMismatch(
                f"{what} is not a tuple of {len(wanted.items)}",
                instead="Build it like the argument or result that it belongs to.",
            )
        parts = zip(given.items, wanted.items, strict=True)
        return TupleValue(tuple(_like(frame, g, w, f"{what}[{k}]") for k, (g, w) in enumerate(parts)))
    if not isinstance(wanted, ir.Operand) or not ir.is_float(wanted.type):
        return Static(None)
    given = materialise(ctx, given)
    if isinstance(wanted.type, types.Array):
        if is_array(given) and isinstance(given, ir.Operand):
            found = array_type_of(given)
            if found.dtype == wanted.type.dtype and found.ndim == wanted.type.ndim:
                return given
    elif is_number(given) and isinstance(given, ir.Operand) and not isinstance(given.type, types.Boolean):
        return scalars.cast(ctx, given, wanted.type)
    held = f"It is of type {to_text(given.type)}." if isinstance(given, ir.Operand) else ""
    raise errors.TypeMismatch(
        f"{what} is not of type {to_text(wanted.type)}",
        why=held,
        instead="Build it like the argument or result that it belongs to.",
    )


class _Free(Moved):
    """The operands in the variables that a function defined inside reads around it, directly or through others."""

    def __init__(self, home: Frame) -> None:
        super().__init__(home, {})
        self.leaves: dict[ir.Var, None] = {}
        self.names: list[tuple[Frame, str, Value]] = []

    def variables(self, function: LocalFunction) -> dict[str, Value]:
        self.names += ((function.frame, name, value) for name, value in _around(function).items())
        return super().variables(function)

    def value(self, value: Value) -> Value:
        if isinstance(value, RuntimeGenerator):
            raise self.home.ctx.unsupported(
                "a random generator in a function that is differentiated inside another",
                "Draw before the derivative, and let the function read the numbers.",
            )
        return super().value(value)

    def operand(self, operand: ir.Operand) -> ir.Operand:
        if isinstance(operand, ir.Var):
            self.leaves[operand] = None
        return operand
