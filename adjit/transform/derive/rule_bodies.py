"""Rules as operations of the IR: the body of a rule is elaborated like the user's code, into the builder of a pass.

In: a rule and the operands of a call. Out: the values that the rule returns.

    apply(ctx, lambda a, b, *, c: (b, a), (%a, %b), (%c,))   ->   [%b, %a]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from numba import types

from adjit.errors import InternalError, NoRule
from adjit.rules.registry import WANTED, lookup
from adjit.transform import ir
from adjit.transform.frontend.values.assumptions import Assumptions
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import Lazy
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value
from adjit.transform.frontend.walk.entry import BuildDerivative, Walk
from adjit.transform.ir.types import typed_const
from adjit.transform.source.callables import spoken


def context(builder: ir.Builder, build: BuildDerivative) -> Context:
    """A context that emits into `builder`."""
    ctx = Walk(build, Assumptions(owns_rows=True))
    ctx.is_program = False
    ctx.builder = builder
    return ctx


def apply(
    ctx: Context,
    rule: Any,
    args: Sequence[Value],
    outs: Sequence[ir.Operand],
    bars: Sequence[Value] = (),
    wanted: Sequence[bool] = (),
) -> list[Value]:
    """What a rule returns on these arguments, results and (in an adjoint or transpose) adjoints of the results, of
    which some are wanted."""
    return _inlined(ctx, rule, args, _by_name(rule, outs, bars, wanted))


def _by_name(
    rule: Any, outs: Sequence[Value], bars: Sequence[Value] = (), wanted: Sequence[bool] = ()
) -> dict[str, Value]:
    """The results and their adjoints by the names that a rule asks for them by, which are keywords; and which results
    are wanted."""
    named: dict[str, Value] = {}
    for name, parameter in inspect.signature(rule).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name == WANTED:
            named[name] = TupleValue(tuple(map(Static, wanted)))
        elif parameter.kind is parameter.KEYWORD_ONLY:
            found = bars if name.endswith("_bar") else outs
            if found is bars and not bars:
                raise InternalError(f"the rule {rule.__name__} needs an adjoint, and there is none")
            named[name] = found[0] if len(found) == 1 else TupleValue(tuple(found))
    return named


class Partials:
    """The partials of calls on numbers in one derivative: rules are elaborated once for all operands that are alike."""

    def __init__(self, builder: ir.Builder, build: BuildDerivative) -> None:
        self._builder, self._build = builder, build
        self._made: dict[tuple[object, ...], _Made] = {}

    def of(self, op: ir.Call, rule: Any, is_wanted: Callable[[ir.Operand], bool]) -> list[ir.Operand]:
        """The partials of a call; what those by the arguments that are wanted are made of is emitted."""
        given = (*op.args, *op.outs)
        made = self._of_such(rule, op, given)
        values = [_known(op, rule, k, value, is_wanted) for k, value in enumerate(made.values)]
        partials = [v for v in values if isinstance(v, ir.Var | ir.Const)]
        if len(partials) != len(values):
            raise InternalError("a partial is not a number")
        if len(partials) != len(op.args):
            raise InternalError(f"the rule of {op.callee} has {len(partials)} partials for {len(op.args)} arguments")
        wanted = {p for p, a in zip(partials, op.args, strict=True) if is_wanted(a)}
        kept: list[ir.Op] = []
        for each in reversed(made.ops):
            if not wanted.isdisjoint(each.results):
                kept.append(each)
                wanted.update(ir.reads(each))
        copy = _Copy(made.given, given, self._builder.origin)
        for each in reversed(kept):
            self._builder.emit(copy.op(each))
        return [copy.operand(p) for p in partials]

    def _of_such(self, rule: Any, op: ir.Call, given: Sequence[ir.Operand]) -> _Made:
        """What the rule makes of operands like these: the same literals, of the same types, the same of them one."""
        alike = (o if isinstance(o, ir.Const) else (o.type, given.index(o)) for o in given)
        key = (rule, len(op.args), *alike)
        if key in self._made:
            return self._made[key]
        with self._builder.region() as ops:
            values = apply(context(self._builder, self._build), rule, op.args, op.outs)
        made = _Made(given, ops, values)
        names = {ir.name_of(o, "") for o in given}
        if not any(result.name in names for each in ir.Region((), (*ops,), ()).inside for result in each.results):
            # what is converted has the name of what it was
            self._made[key] = made
        return made


def is_plain_choice(made: ir.If) -> bool:
    """Whether it is a number or 0: times another one it is their product or 0, in which no 0 * inf can arise."""
    if made.then.ops or made.orelse.ops or len(made.outs) != 1:
        return False
    return any(ir.is_literal(side.yields[0], 0) for side in made.regions)


class _Made(NamedTuple):
    """What a rule makes of operands."""

    given: Sequence[ir.Operand]
    ops: Sequence[ir.Op]
    values: Sequence[Value]


class _Copy(ir.Cloner):
    """The same of other operands, at another place."""

    def __init__(self, of: Sequence[ir.Operand], given: Sequence[ir.Operand], origin: ir.Origin | None) -> None:
        super().__init__({old: new for old, new in zip(of, given, strict=True) if isinstance(old, ir.Var)})
        self._origin = origin

    def op(self, op: ir.Op) -> ir.Op:
        return super().op(op).at(self._origin)


def _known(op: ir.Call, rule: Any, k: int, value: Value, is_wanted: Callable[[ir.Operand], bool]) -> Value:
    """A partial; of one that the rule says nothing of, by None, a number that nobody asks for."""
    if not isinstance(value, Static) or value.value is not None or k >= len(op.args):
        return value
    if is_wanted(op.args[k]):
        name, argument = spoken(op.callee), list(inspect.signature(rule).parameters)[k]
        raise NoRule(
            f"{name} has no derivative rule for its argument `{argument}`",
            ir.place_of(op.origin),
            "It depends on an argument in wrt.",
            f"Hold it fixed with adjit.stop_gradient({argument}), or write a rule:  adjit.rules.partials({name}, ...)",
        )
    return typed_const(0, op.args[k].type)


def _inlined(ctx: Context, rule: Any, args: Sequence[Value], named: dict[str, Value]) -> list[Value]:
    value = ctx.inline(rule, args, named, True, True)
    return list(value.items) if isinstance(value, TupleValue) else [value]


def zero_like(array: ir.Operand, ctx: Context) -> Value:
    """The tangent of an argument that is not active."""
    if isinstance(array.type, types.Array):
        dtype = array.type.dtype
        return Lazy(ctx.shape(array), dtype, lambda index: typed_const(0, dtype), ())
    return typed_const(0, array.type)


def tangent_body(
    builder: ir.Builder,
    rule: Any,
    args: Sequence[ir.Operand],
    dots: dict[int, Value],
    outs: Sequence[ir.Operand],
    build: Any,
    wanted: Sequence[bool],
) -> list[Value]:
    """The tangents of the results, of which some are wanted; arguments without one in `dots` are held fixed."""
    ctx = context(builder, build)
    kinds = inspect.signature(rule).parameters.values()
    parameters = [p.name for p in kinds if p.kind is not p.KEYWORD_ONLY]
    named = _by_name(rule, outs, wanted=wanted)
    for k, (name, arg) in enumerate(zip(parameters, args, strict=False)):
        if name.endswith("_dot"):
            continue
        named[name] = arg
        dot = f"{name}_dot"
        if dot in parameters:
            given = named[dot] = dots[k] if k in dots else zero_like(arg, ctx)
            if isinstance(given, ir.Var) and isinstance(given.type, types.Array):
                ctx.new_array(given, ctx.shape(arg))
    return [materialise(ctx, v) for v in _inlined(ctx, rule, (), named)]


def no_rule(op: ir.Call, is_active: Callable[[ir.Operand], bool], in_forward: bool = False) -> NoRule:
    """The error for a call that active values go into but no rule belongs to."""
    if isinstance(op.callee, ir.Place):
        return NoRule(
            "adjit.intermediate with a function of the adjoint, in forward mode",
            ir.place_of(op.origin),
            "Forward mode has no adjoints.",
            "Use reverse mode: adjit.grad, vjp or jacrev.",
        )
    name = spoken(op.callee)
    own = [a.name for a in op.args if isinstance(a, ir.Var) and a.user and is_active(a)]
    why = f"It depends on {f'{own[0]}, which is' if own else 'an argument'} in wrt."
    entry = lookup(op.callee) if in_forward else None
    if entry is not None and (entry.adjoint is not None or entry.transposes):
        return NoRule(
            f"{name} has no rule for forward mode",
            ir.place_of(op.origin),
            f"{why} It has a rule for reverse mode, its {'adjoint' if entry.adjoint is not None else 'transpose'}.",
            f"Write one beside it:  @adjit.rules.tangent({name})    or use reverse mode: adjit.grad, vjp or jacrev.",
        )
    instead = f"Either write a rule:  @adjit.rules.tangent({name})    or hold it fixed:  adjit.stop_gradient(...)"
    return NoRule(f"{name} has no derivative rule", ir.place_of(op.origin), why, instead)
