"""Which variables of the user's are active, and why or why not.

In: what elaboration and activity noted. Out: a `Variable` for each name, in the order of the program.

    total  L12  active, depends on means, log_weights         n  L33  not active, an integer
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.uses import Uses
from adjit.transform.derive.activity import Activity, carries
from adjit.transform.derive.control_dependence import Dependences
from adjit.transform.rewrite.notes import Differentiated, Elaborated

_NOT_AT_ALL = "the result does not depend on it"
_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@dataclass(frozen=True)
class Variable:
    """A name of the user's. `function` and `lines`: where it is assigned; no lines for parameters."""

    name: str
    function: str
    lines: tuple[int, ...]
    is_active: bool
    why: str


def outputs_of(read: Elaborated | None, taken: Differentiated) -> list[ir.Operand]:
    """The results that were differentiated, in the program as it was read."""
    function = taken.function if read is None else read.function
    return [function.body.yields[k] for k in taken.outputs]


def variables(read: Elaborated | None, taken: Differentiated, flow: Dependences) -> list[Variable]:
    """`read`: the program with all its names; None where it is not the user's own text that was differentiated."""
    function = taken.function if read is None else read.function
    main = function.name if function.origin is None else function.origin.function
    named: defaultdict[tuple[str, str], list[ir.Operand]] = defaultdict(list)
    lines: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def add(name: str, origin: ir.Origin | None, operand: ir.Operand, is_assigned: bool) -> None:
        home = main if origin is None else origin.function
        named[home, name].append(operand)
        if origin is not None and is_assigned:
            lines[home, name].add(origin.line)

    bound = {operand for _, _, operand in read.bound} if read is not None else set()
    for parameter in function.body.args:
        add(parameter.name, None, parameter, False)
    for op in ir.walk(function.body):
        made = (*op.results, *(arg for region in op.regions for arg in region.args))
        for var in made:
            if var.user and var not in bound:
                add(var.name, op.origin, var, read is None)
    for name, origin, operand in read.bound if read is not None else ():
        add(name, origin, operand, True)
    judge = _Judge(function, taken, outputs_of(read, taken), flow)
    found = [
        Variable(name, home, tuple(sorted(lines[home, name])), *judge.verdict(name if home == main else "", operands))
        for (home, name), operands in named.items()
    ]
    return sorted(found, key=lambda v: (bool(v.lines), v.function != main, v.lines[:1]))


class _Judge:
    def __init__(
        self, function: ir.Function, taken: Differentiated, yields: Sequence[ir.Operand], flow: Dependences
    ) -> None:
        self.inputs, self.outputs, self.flow = taken.inputs, yields, flow
        self.parameters = function.body.args
        self.activity = Activity(function, taken.inputs, yields)
        self.alone = [(p, Activity(function, (p,), yields)) for p in taken.inputs]
        self.uses = function.analysis(Uses)

    def verdict(self, name: str, operands: Sequence[ir.Operand]) -> tuple[bool, str]:
        floats = [o for o in operands if carries(o.type)]
        if not floats:
            return False, _kind(operands)
        is_active = any(self.activity.is_active(o) for o in floats)
        own = {o for o in floats if isinstance(o, ir.Var) and o.name == name}
        if own.intersection(self.inputs):
            if is_active:
                return True, "in wrt"
            decides = any(self.flow.is_only_deciding(o, self.outputs) for o in own)
            return False, f"in wrt, but {'it enters the result through conditions alone' if decides else _NOT_AT_ALL}"
        if own.intersection(self.parameters):
            return is_active, "not in wrt"
        sources = [p.name for p, activity in self.alone if any(activity.is_varied(o) for o in floats)]
        if not sources:
            names = ", ".join(dict.fromkeys(p.name for p in self.inputs))
            is_literal = all(isinstance(o, ir.Const) for o in floats)
            return False, "a constant" if is_literal else f"does not depend on {names}"
        depends = f"depends on {', '.join(dict.fromkeys(sources))}"
        if is_active:
            return True, depends
        if self.is_only_compared(floats):
            return False, f"{depends}, but is only compared"
        return False, f"{depends}, but does not reach the result"

    def is_only_compared(self, operands: Iterable[ir.Operand]) -> bool:
        users = [op for o in operands for op in self.uses.users.get(o, ())]
        are_compared = all(isinstance(op, ir.Call) and op.callee in _COMPARISONS for op in users)
        return bool(users) and are_compared and self.uses.held.isdisjoint(operands)


def _kind(operands: Sequence[ir.Operand]) -> str:
    type_ = operands[0].type
    item = type_.dtype if isinstance(type_, types.Array) else type_
    if isinstance(item, types.Boolean):
        return "a boolean" if item is type_ else "booleans"
    if isinstance(item, types.Integer):
        return "an integer" if item is type_ else "integers"
    return f"of type {item}"
