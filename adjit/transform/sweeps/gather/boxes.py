"""Boxes of loop counters beside one another, along each axis from so many before or behind another box.

In: by how much boxes reach further than one from low to high along each axis, which has a trip along each. Out: the
boxes around it, and what of them others shifted against it meet.

    1 <= i < n - 1, and 0 <= i < n around it       0 <= i < 1,  n - 1 <= i < n
    of these what the first meets, shifted by -1    0 <= i < 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Bound = tuple[str, int]  # "low" or "high", and so much more


@dataclass(frozen=True)
class Part:
    """Of an axis what is from the last of some bounds to the first of others."""

    starts: tuple[Bound, ...]
    stops: tuple[Bound, ...]

    @property
    def is_one(self) -> bool:
        """Whether it is one counter for certain."""
        (start, *more), (stop, *others) = self.starts, self.stops
        return not more and not others and start[0] == stop[0] and start[1] + 1 == stop[1]


def whole(below: int, above: int) -> Part:
    """From so much before the axis's low to so much behind its high."""
    return Part((("low", -below),), (("high", above),))


def around(inner: Sequence[tuple[int, int]], outer: Sequence[tuple[int, int]]) -> Iterator[tuple[Part, ...]]:
    """The boxes that make up what is in the outer box and not in the inner one; both by what they have more."""
    for axis, ((below, above), (most_below, most_above)) in enumerate(zip(inner, outer, strict=True)):
        before = [whole(*more) for more in inner[:axis]]
        after = [whole(*more) for more in outer[axis + 1 :]]
        if most_below > below:
            yield (*before, Part((("low", -most_below),), (("low", -below),)), *after)
        if most_above > above:
            yield (*before, Part((("high", above),), (("high", most_above),)), *after)


def shifted(part: Part, shift: int) -> Part | None:
    """What of a part is met by low to high, so much further down; None if nothing."""
    starts = _alone((*part.starts, ("low", -shift)), max)
    stops = _alone((*part.stops, ("high", -shift)), min)
    if any(base == other and a >= b for base, a in starts for other, b in stops):
        return None
    return Part(starts, stops)


def _alone(bounds: Sequence[Bound], of: Callable[[Iterable[int]], int]) -> tuple[Bound, ...]:
    """The bounds without those that others imply, as high is at least one more than low."""
    found = {base: of(a for other, a in bounds if other == base) for base, _ in bounds}
    if len(found) == 2 and found["high"] + 1 >= found["low"]:
        del found["low" if of is max else "high"]
    return tuple(found.items())
