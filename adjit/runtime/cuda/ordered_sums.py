"""Sums whose order does not vary: what threads add to elements that they share, kept and then added up in order.

In: an array, and of each addition the number of the element and the value. Out: the array is added to.

    add_in_order(a, places, values)      a[places[k]] += values[k], for k = 0, 1, ...; below zero nothing is added
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.runtime.cuda.backend import alias, as_backend, cuda, view
from adjit.runtime.cuda.device import THREADS
from adjit.runtime.cuda.memory import empty
from adjit.runtime.cuda.streams import current

LAST = np.int64(2**62)  # sorted behind all elements


def add_in_order(array: Any, places: Any, values: Any) -> None:
    """Adds values to the elements of an array with up to three axes, in the order in which they are kept.

    The additions are sorted by element, and in that by number, which is one order however it is found; then one thread
    an element adds up. `places` and `values` are of one shape, in C order.
    """
    seen, kept = alias(array), alias(places)
    count = kept.size
    if not count or not seen.size:
        return
    keys = view(places, kept.reshape(count))
    numbers = view(values, alias(values).reshape(count))
    target = view(array, seen[(np.newaxis,) * (3 - seen.ndim)])
    size = 1 << (count - 1).bit_length()
    order = empty(size, np.int64)
    shape = -(-size // THREADS), THREADS, current()
    order, keys, numbers, target = map(as_backend, (order, keys, numbers, target))
    _numbered[shape](keys, order, LAST)
    width = 2
    while width <= size:
        distance = width // 2
        while distance:
            _exchanged[shape](order, width, distance)
            distance //= 2
        width *= 2
    _added_up[-(-count // THREADS), THREADS, current()](target, order, numbers, LAST)


@cuda.jit
def _numbered(places, order, last):  # type: ignore[no-untyped-def]
    """By element and then by number, as one integer; what is nothing comes last."""
    k = cuda.grid(1)
    if k < order.size:
        order[k] = last
        if k < places.size and places[k] >= 0:
            order[k] = places[k] * places.size + k


@cuda.jit
def _exchanged(order, width, distance):  # type: ignore[no-untyped-def]
    """A step of a bitonic sort."""
    k = cuda.grid(1)
    other = k ^ distance
    if k < order.size and other > k:
        is_upwards = (k & width) == 0
        if (order[k] > order[other]) == is_upwards:
            kept = order[k]
            order[k] = order[other]
            order[other] = kept


@cuda.jit
def _added_up(target, order, values, last):  # type: ignore[no-untyped-def]
    """The thread at the first addition to an element makes all of them."""
    k = cuda.grid(1)
    if k < values.size and order[k] < last:
        place = order[k] // values.size
        if k == 0 or order[k - 1] // values.size != place:
            column = place % target.shape[2]
            row = place // target.shape[2]
            j = row % target.shape[1]
            i = row // target.shape[1]
            while k < values.size and order[k] < last and order[k] // values.size == place:
                target[i, j, column] += values[order[k] % values.size]
                k += 1
