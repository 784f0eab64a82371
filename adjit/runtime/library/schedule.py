"""When the trips of a loop leave a snapshot, so that they can be run again from it.

In: how many trips, and how many snapshots or bytes. Out: a number of trips, or of snapshots.

    checkpoint_distance(10, 3)       the next snapshot after the first is taken that many trips later
"""

from __future__ import annotations

from numba import njit


@njit
def checkpoint_distance(trips: int, snapshots: int) -> int:
    """How many trips after a snapshot the next is taken, where `trips` are to be reversed with so many snapshots.

    The first of them is the one that there is. `trips` itself if no more are worth taking. After Griewank and Walther
    (2000), with which the number of trips that are run again is the smallest possible: with s snapshots and every trip
    run at most r times, C(s + r, s) trips can be reversed.
    """
    if snapshots <= 1 or trips <= 1:
        return trips
    repeats, reach = 0, 1
    while reach < trips:
        repeats += 1
        reach = reach * (snapshots + repeats) // repeats
    # C(s - 1 + r, s - 1), C(s + r - 1, s) and C(s + r - 2, s)
    fewer_snapshots = reach * snapshots // (snapshots + repeats)
    fewer_repeats = reach - fewer_snapshots
    fewest = fewer_repeats * (repeats - 1) // (snapshots + repeats - 1)
    return max(fewest, trips - fewer_snapshots, 1)


@njit
def default_snapshots(trips: int) -> int:
    """The fewest snapshots with which no trip is run again more than twice."""
    snapshots = 1
    while (snapshots + 1) * (snapshots + 2) // 2 < trips:
        snapshots += 1
    return snapshots


@njit
def fitting_snapshots(trips: int, limit: int, snapshot_bytes: int) -> int:
    """The snapshots that fit into `limit` bytes, one at least, and no more than there are trips."""
    return max(1, min(trips, limit // snapshot_bytes))
