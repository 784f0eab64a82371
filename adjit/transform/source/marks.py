"""Marks in a function for its derivative.

    z = intermediate(z, "z")                    the adjoint of z can be asked for
    for t in checkpoint(range(steps)): ...      the reverse sweep recomputes iterations from a few snapshots
    y = checkpoint(layer)(x, w)                 the reverse sweep repeats the call, from its arguments

They do not change the function itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from adjit.errors import AdjitError

# The functions of the interface that make derivatives, and the kind that each makes; the interface fills this in.
DERIVING: dict[Any, str] = {}

Given = ParamSpec("Given")
Result = TypeVar("Result")
Intermediate = TypeVar("Intermediate")


def intermediate(x: Intermediate, name: str = "", adjoint: Callable[[Any], Any] | None = None) -> Intermediate:
    """Marks a value whose adjoint you want to read or to change. Returns x, or a copy of it for an array.

    - `name`: a literal string. `adjit.grad(f, intermediates=(name,))` returns the adjoint of x: the derivative of the
      result with respect to an addition to x. A number may be marked repeatedly, in a loop or by calls; the adjoint is
      then the sum. An array has to be marked once. Without `intermediates` the name changes nothing.
    - `adjoint`: a function of one argument that gets the adjoint of x and returns the adjoint to continue with. It may
      clip it or raise an error. With a name as well, the returned adjoint is the changed one.

    Raises TypeMismatch for integers, and Unsupported for complex numbers. Raises Unsupported for the adjoint of an
    array in a loop or a branch, and in forward mode for a mark with `adjoint`.
    """
    return x.copy() if isinstance(x, np.ndarray) else x


@dataclass(eq=False)
class Checkpointed(Generic[Given, Result]):
    """A function that the reverse sweep calls again: a caller only keeps its arguments."""

    function: Callable[Given, Result]

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function, updated=())

    def __call__(self, *args: Given.args, **named: Given.kwargs) -> Result:
        return self.function(*args, **named)


@overload
def checkpoint(what: range, snapshots: int = 0) -> range: ...


@overload
def checkpoint(what: Callable[Given, Result]) -> Checkpointed[Given, Result]: ...


def checkpoint(what: Any, snapshots: int = 0) -> Any:
    """Marks a loop or a function whose values the reverse sweep recomputes instead of storing. Returns `what`.

    - A `range(...)` of a loop: only snapshots of the loop's state are kept. The state consists of the variables that an
      iteration hands to the next, and of the arrays that it changes. The reverse sweep recomputes the other iterations
      from snapshots, by Griewank and Walther's revolve (ACM Trans. Math. Softw. 26, 2000), which recomputes the fewest.
    - A function, also as `@adjit.checkpoint`: a call keeps its arguments, and the memory of others that it overwrites.
      The reverse sweep repeats the call.
    - `snapshots`: how many a loop may keep, a literal. With s snapshots and n <= C(s + r, s) iterations, no iteration
      is recomputed more than r times. The default 0 keeps about sqrt(2 n), for r = 2.

    A loop that ends early counts with all its iterations. Derivatives of the derivative ignore the mark.

    A derivative raises Unsupported for:

    - a loop that creates arrays of another shape in each iteration;
    - a loop with independent iterations inside a loop that is not checkpointed;
    - random draws, and a changed array that has a second name.

    Raises AdjitError for anything but a range or a function, and for snapshots of a call.
    """
    if callable(what):
        if snapshots:
            raise AdjitError(
                "snapshots of a call", instead="Leave the number out: a call is recomputed from its arguments."
            )
        return Checkpointed(what)
    if not isinstance(what, range):
        raise AdjitError(
            "checkpoint takes a range or a function",
            instead="Write `for t in adjit.checkpoint(range(steps)):` or `adjit.checkpoint(f)(x)`.",
        )
    return what
