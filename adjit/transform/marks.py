"""What users write in a function for the sake of its derivative; to the function itself it makes no difference.

for t in checkpoint(range(steps)): ...      the trips are run again in the reverse sweep, from few snapshots
"""

from __future__ import annotations

from typing import TypeVar

from adjit.errors import AdjitError

Trips = TypeVar("Trips")


def checkpoint(trips: Trips, snapshots: int = 0) -> Trips:
    """`range(...)` itself. The reverse sweep runs the trips of the loop again, from snapshots of what they start from.

    Nothing that a trip computes is kept then but the state of the loop (the variables that it hands from trip to trip
    and the arrays that it changes) before some of the trips. Which trips these are is Griewank and Walther's choice
    (ACM Trans. Math. Softw. 26, 2000), with which the fewest trips are run again.

    snapshots: how many there is room for, a literal; 0 for as many as are needed to run no trip again more than twice,
               about sqrt(2 n) for n trips. With s snapshots no trip runs again more than r times if n <= C(s + r, s).

    Raises Unsupported, when a derivative is made, for a loop that is left early, that makes its arrays anew in each
    trip, or that draws random numbers.
    """
    if not isinstance(trips, range):
        raise AdjitError("checkpoint takes a range", instead="Write `for t in adjit.checkpoint(range(steps)):`.")
    return trips
