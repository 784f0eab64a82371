"""What is chosen at run time: as the number of one of those that it may be, and what is in these.

In: values of one name on two paths. Out: one value for both; what is done with it is decided by a branch there.

    f = math.sin if flag else math.cos      one of (math.sin, math.cos), the first where `flag` holds
    y = f(x)                                if flag: y = math.sin(x)  else: y = math.cos(x)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.statics import Static, is_none, may_be_chosen, stands_for
from adjit.transform.frontend.values.values import Composite, Value, describe, parts_of


@dataclass(frozen=True)
class Union(Composite, made_of="which options"):
    """One of several functions, texts, objects, tuples, ..., which one is known at run time only.

    which: of two, whether it is the first; of more, its number. What is in an option is undefined where it is another.
    """

    options: tuple[Value, ...]
    which: ir.Operand

    def describe(self) -> str:
        return f"a choice at run time between {' and '.join(map(describe, self.options))}"

    def flatten(self) -> list[Value]:
        return [self, *(p for option in self.options if not isinstance(option, Static) for p in parts_of(option))]


@dataclass(frozen=True)
class Optional(Composite, made_of="is_there value"):
    """None, or a value, which of the two is known at run time only."""

    what = "a value that may be None at run time"

    is_there: ir.Operand
    value: Value

    def as_union(self) -> Union:
        return Union((self.value, Static(None)), self.is_there)


def as_options(value: Value) -> Value:
    """What may be None as one of two options, the other of which is None; anything else as it is."""
    return value.as_union() if isinstance(value, Optional) else value


def functions_in(value: Value) -> tuple[Static, ...]:
    """The functions, texts and members of enumerations that a value may be, none if it is something else."""
    options = value.options if isinstance(value, Union) else (value,)
    found = tuple(option for option in options if isinstance(option, Static) and may_be_chosen(option))
    return found if len(found) == len(options) else ()


def is_text(value: Value) -> bool:
    """Whether it is a text, a member of an enumeration or None, and no function."""
    return is_none(value) or stands_for(value, str | Enum)


def any_of(one: tuple[Static, ...], other: tuple[Static, ...]) -> tuple[Static, ...]:
    """What a value may be that is one of the first or one of the others; none if it need not be a function."""
    return (*one, *(o for o in other if o not in one)) if one and other else ()


def number_type(options: Sequence[Any]) -> types.Type:
    """The type of what says which of them a value is."""
    return types.boolean if len(options) == 2 else types.intp


def renumbered(ctx: Context, value: Union, places: Sequence[int], count: int) -> ir.Operand:
    """What says which of `count` options a value is, that is one of others, which have these places among them."""
    if len(value.options) == count and list(places) == list(range(count)):
        return value.which
    which: ir.Operand = number(places[-1], count)
    for k in range(len(places) - 2, -1, -1):
        known, here = which, number(places[k], count)
        which = complexes.branch(ctx, is_option(ctx, value, k), scalars.ready(here), scalars.ready(known), "which")
    return which


def number(place: int, count: int) -> ir.Const:
    """What says that it is the one in that place."""
    return ir.boolean(place == 0) if count == 2 else ir.integer(place)


def narrowed(ctx: Context, value: Union, fits: Callable[[Value], bool]) -> Value | None:
    """What is left of it where it is known to be one that fits; None if that tells nothing."""
    kept = [option for option in value.options if fits(option)]
    if not kept or len(kept) == len(value.options):
        return None
    if len(kept) == 1:
        return kept[0]
    # where it is none of these, nobody asks
    places = [kept.index(option) if fits(option) else 0 for option in value.options]
    return Union(tuple(kept), renumbered(ctx, value, places, len(kept)))


def fitting(ctx: Context, value: Union, fits: Callable[[Value], bool], error: type[Exception], says: str) -> Value:
    """What is chosen, as one of the options that fit; of the others, the error is raised as it runs, as in Python."""
    rest = narrowed(ctx, value, fits)
    if rest is None:
        return value
    require(ctx, holds_for(ctx, value, fits), error, says)
    return rest


def not_none(ctx: Context, value: Value, what: str) -> Value:
    """A value that is not None; what may be None raises TypeError when it is, as in Python."""
    if isinstance(value, Union) and not functions_in(value):
        return fitting(ctx, value, lambda option: option != Static(None), TypeError, f"{what} is None")
    if not isinstance(value, Optional):
        return value
    require(ctx, value.is_there, TypeError, f"{what} is None")
    return value.value


def holds_for(ctx: Context, value: Union, question: Callable[[Value], bool]) -> ir.Operand:
    """Whether what is chosen is one of which that is so."""
    holds = [question(option) for option in value.options]
    if all(holds) or not any(holds):
        return ir.boolean(holds[0])
    found: ir.Operand = ir.boolean(False)
    for k in (k for k, is_so in enumerate(holds) if is_so):
        known = found
        yes = scalars.ready(ir.boolean(True))
        found = complexes.branch(ctx, is_option(ctx, value, k), yes, scalars.ready(known), "is_chosen")
    return found


def is_option(ctx: Context, value: Union, place: int) -> ir.Operand:
    """Whether it is the one in that place."""
    if len(value.options) == 2:
        return value.which if place == 0 else scalars.negated(ctx, value.which)
    return scalars.scalar(ctx, operator.eq, (value.which, ir.integer(place)))
