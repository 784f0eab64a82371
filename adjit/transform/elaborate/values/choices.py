"""Functions and texts (or None) that are chosen at run time: as the number of one of those that it may be.

In: values of one name on two paths. Out: one value for both; what is called is decided by a branch at the call.

    f = math.sin if flag else math.cos      one of (math.sin, math.cos), the first where `flag` holds
    y = f(x)                                if flag: y = math.sin(x)  else: y = math.cos(x)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.frame import Context, LocalFunction
from adjit.transform.elaborate.values.values import OneOf, Static, Value


def functions_in(value: Value) -> tuple[Static, ...]:
    """The functions, texts and members of enumerations that a value may be, none if it is something else."""
    if isinstance(value, OneOf):
        return value.options
    if not isinstance(value, Static):
        return ()
    is_one = value.value is None or isinstance(value.value, LocalFunction | str | Enum) or callable(value.value)
    return (value,) if is_one else ()


def is_text(value: Value) -> bool:
    """Whether it is a text, a member of an enumeration or None, and no function."""
    return isinstance(value, Static) and (value.value is None or isinstance(value.value, str | Enum))


def any_of(one: tuple[Static, ...], other: tuple[Static, ...]) -> tuple[Static, ...]:
    """What a value may be that is one of the first or one of the others; none if it need not be a function."""
    return (*one, *(o for o in other if o not in one)) if one and other else ()


def number_type(options: tuple[Static, ...]) -> types.Type:
    """The type of what says which of them a value is."""
    return types.boolean if len(options) == 2 else types.intp


def as_one_of(ctx: Context, value: Value, options: tuple[Static, ...]) -> OneOf:
    """A function, or one of some, as one of these, which are more."""
    own = functions_in(value)
    if isinstance(value, OneOf) and own == options:
        return value
    which: ir.Operand = _number(options, own[-1])
    for k in range(len(own) - 2, -1, -1):
        assert isinstance(value, OneOf)
        known, here = which, _number(options, own[k])
        which = complexes.branch(ctx, is_option(ctx, value, k), scalars.ready(here), scalars.ready(known), "which")
    return OneOf(options, which)


def _number(options: tuple[Static, ...], function: Static) -> ir.Const:
    place = options.index(function)
    return ir.boolean(place == 0) if len(options) == 2 else ir.integer(place)


def holds_for(ctx: Context, value: OneOf, question: Callable[[Any], bool]) -> ir.Operand:
    """Whether what is chosen is one of which that is so."""
    holds = [question(option.value) for option in value.options]
    if all(holds) or not any(holds):
        return ir.boolean(holds[0])
    found: ir.Operand = ir.boolean(False)
    for k in (k for k, is_so in enumerate(holds) if is_so):
        known = found
        yes = scalars.ready(ir.boolean(True))
        found = complexes.branch(ctx, is_option(ctx, value, k), yes, scalars.ready(known), "is_chosen")
    return found


def is_option(ctx: Context, value: OneOf, place: int) -> ir.Operand:
    """Whether it is the one in that place."""
    if len(value.options) == 2:
        return value.which if place == 0 else scalars.negated(ctx, value.which)
    return scalars.scalar(ctx, operator.eq, (value.which, ir.integer(place)))
