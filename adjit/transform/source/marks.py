"""What users write in a function for the sake of its derivative; to the function itself it makes no difference.

z = intermediate(z, "z")                    the adjoint of z is there to be asked for
for t in checkpoint(range(steps)): ...      the trips are run again in the reverse sweep, from few snapshots
y = checkpoint(layer)(x, w)                 the call is made again in the reverse sweep, from its arguments
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
    """x itself, a float, or a copy of it, an array of floats, whose adjoint one asks for.

    name:    a literal text, by which `adjit.grad(f, intermediates=(name,))` returns the adjoint of x: the derivative of
             the result by what is added to x there. Of a number that is passed several times, in a loop or in a
             function that is called twice, it is that by what is added each time, the sum of all. An array has to be
             passed once. Where nothing asks for it, the name changes nothing.
    adjoint: a function of one argument, through which the adjoint goes: what it returns goes on to what x is made of.
             It may clip, or raise an error. With a name as well, what is returned by it has gone through the function.
             There is no forward mode then: a function of adjoints has nothing to do with tangents.

    Raises TypeMismatch for integers, Unsupported for complex numbers, for an array whose adjoint is asked for in a loop
    or a branch, and, with `adjoint`, in forward mode.
    """
    return x.copy() if isinstance(x, np.ndarray) else x


@dataclass(eq=False)
class Checkpointed(Generic[Given, Result]):
    """A function of which nothing is kept for the reverse sweep of a caller but its arguments."""

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
    """`what` itself: a `range(...)` that a loop runs over, or a function. The reverse sweep runs it a second time.

    A loop: nothing that a trip computes is kept then but the state of the loop (the variables that it hands from trip
    to trip and the arrays that it changes) before some of the trips, from which the others are run again. Which trips
    these are is Griewank and Walther's choice (ACM Trans. Math. Softw. 26, 2000), with which the fewest trips are run
    again.

    A function, also as `@adjit.checkpoint`: nothing that a call computes is kept but its arguments, and what it writes
    into of memory that is not its own. The reverse sweep makes the call once more, before it goes back through it.

    snapshots: how many there is room for, a literal; 0 for as many as are needed to run no trip again more than twice,
               about sqrt(2 n) for n trips. With s snapshots no trip runs again more than r times if n <= C(s + r, s).
               Of loops only.

    A derivative of the derivative keeps what it needs, with no regard to this.

    A loop that is left early counts as one that makes all its trips, the later ones doing nothing.

    Raises Unsupported, when a derivative is made, for a loop that makes an array anew in each trip of another shape
    than in the trip before, or that starts from what others leave and stands in one that is not checkpointed; and for
    loops and functions that draw random numbers, or change an array that has several names. Raises AdjitError for what
    is neither a range nor a function, and for snapshots of a call.
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
