"""Passes in a table: what is done to a function, one after the other.

    run_passes((Pass("short sums", write_out, then=simplify), Pass("hoisting", hoist_scratch, uses("hoist"))), function)

In: a row a pass, a function. Out: the function after all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from adjit.transform import ir
from adjit.transform.rewrite.verified import checked

Step = Callable[[ir.Function], ir.Function]


class Pass(NamedTuple):
    """A step. function: what it does; when: whether it is done; then: what is done to what it changed."""

    name: str
    function: Step
    when: bool = True
    then: Step = lambda changed: changed


def run_passes(passes: Iterable[Pass], function: ir.Function) -> ir.Function:
    """The function after these passes, seen to after each that changes it."""
    for step in passes:
        changed = step.function(function) if step.when else function
        function = function if changed is function else checked(step.then(changed), step.name)
    return function
