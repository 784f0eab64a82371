"""Which of its mechanisms the compiler uses. All choices give the same derivative; only time and memory differ.

    Strategy()                              what is cheapest, all mechanisms
    Strategy(values="kept")                 every value that the reverse sweep reads is saved, none is computed again
    Strategy(without={"fuse"})              both sweeps of a loop stay apart
    Strategy(tuned=False)                   the adjoint as one reads it: no gathers, lanes, threads or workspaces

Tests force them one by one; users have no need of them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

MECHANISMS = frozenset(
    {
        "carry", "clears", "contract", "costly", "delay", "dissolve", "dots", "expand", "extrema", "factors", "fills",
        "functions", "fuse", "gather", "hoist", "inner", "interchange", "jam", "lanes", "maps", "margins",
        "merge", "multiples", "origins", "outer", "passes", "places", "products", "promote", "reassociate", "rows",
        "search", "single", "substitute", "sums", "terms", "tiles", "triangles", "upwards", "weigh",
        "workspace",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Strategy:
    """values:  whether values are kept or computed again: the cheapest together, or all one way as far as that can be
    trips:   which loops run their trips again in the reverse sweep: chosen ones, or all that can
    without: mechanisms that are left out, of MECHANISMS
    machine: what it runs on: the CPU, a GPU, or one of a GPU's threads, as a function that a kernel calls
    deterministic: on a GPU, whether sums that several threads share have an order that does not vary
    wide:    on a GPU, whether sums in single precision are added up in double precision
    versions: whether what a trip makes of a buffer is in memory of its own, and nothing is put back
    alike:   whether loops of a block's threads make as many trips in each of them, of which some do nothing
    tuned:   whether what only makes it faster is done to the adjoint: `sweeps/gather` and all of `machine`
    """

    values: Literal["cheapest", "kept", "again"] = "cheapest"
    trips: Literal["chosen", "again"] = "chosen"
    without: Set[str] = frozenset()
    machine: Literal["cpu", "cuda", "thread"] = "cpu"
    deterministic: bool = False
    wide: bool = False
    versions: bool = False
    alike: bool = False
    tuned: bool = True

    def __post_init__(self) -> None:
        if not self.without <= MECHANISMS:
            raise ValueError(f"no mechanisms of this name: {sorted(self.without - MECHANISMS)}")

    def uses(self, mechanism: str) -> bool:
        return mechanism not in self.without


CHEAPEST = Strategy()
READABLE = Strategy(tuned=False)
# as close to the user's statements as can be: what is touched and made there is touched and made
GUARDED = Strategy(without=MECHANISMS, tuned=False)
# gathers of contributions that are kept have one nest, which is one launch, and no pieces around it; threads of a
# launch that each take a row would all add to one vector; which trip it is need not be asked by the host; one thread
# would clear the rest of a row
ON_GPU = Strategy(
    machine="cuda",
    versions=True,
    without=frozenset({"multiples", "passes", "delay", "single", "margins"}),
)
# what one thread keeps is in its registers and its local memory
IN_THREAD = Strategy(machine="thread", tuned=False)

FORCED = {
    "kept": Strategy(values="kept"),
    "again": Strategy(values="again"),
    "trips again": Strategy(trips="again"),
    **{f"without {name}": Strategy(without=frozenset({name})) for name in sorted(MECHANISMS)},
    "plain": Strategy(values="kept", without=MECHANISMS),
    "readable": READABLE,
    "versions": Strategy(versions=True),
}
