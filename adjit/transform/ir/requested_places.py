"""A place in a program at which somebody asks for the adjoint: the callee of a call that gives what it takes.

In: the name of the place, and what is known of its derivative. Out: the callee of a `Call`.

    y = adjit.intermediate(x, "y")      %y = call intermediate(%x)      until nobody asks any more: %y = %x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Place:
    """`adjit_rules`: the entry of the rules that says how derivatives go through; None where they go as if it were not
    there. `name`: what its adjoint is asked for by, or nothing."""

    name: str
    adjit_rules: Any = None

    @property
    def __name__(self) -> str:
        return "intermediate"
