"""What numba has compiled a function with is what it runs with, whatever the names around it are bound to since.

In: a function that numba compiles, and the values of a call. Out: the names, with the values that they have there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjit.transform.frontend.numba.declared_types import type_of_value
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.values import Value
from adjit.transform.source.frozen_names import OtherCode, kept_by
from adjit.transform.source.parsing import FunctionSource


def kept_names(ctx: Context, source: FunctionSource, given: Mapping[str, Value]) -> Mapping[str, Any]:
    """The names that have other values in the compiled function than they have now."""
    if source.dispatcher is None:
        return {}
    name = source.function.__name__
    instead = f"Call {name}.recompile()."
    try:
        return kept_by(source.dispatcher, [type_of_value(value) for value in given.values()])
    except OtherCode:
        raise ctx.unsupported(
            f"a call of {name}, whose code was replaced", instead, why="numba runs the code that it compiled before."
        ) from None
    except LookupError as fault:
        raise ctx.unsupported(
            f"a call of {name}, which numba has compiled with different values of `{fault.args[0]}`",
            instead,
            why="adjit cannot know which of them runs here.",
        ) from None
