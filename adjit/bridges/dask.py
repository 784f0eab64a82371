"""Value and gradient of a sum over the blocks of Dask's arrays, or the items of its bags, on the workers that have
them.

In: a function of parameters and of one block, or item, that returns a number. Out: the sum of that over all of them,
and its gradient with respect to parameters; blocks stay where they are.

    misfit = adjit.bridges.dask.value_and_grad(loss, wrt="w")
    value, w_bar = misfit(w, x, y)                   x, y: arrays of Dask's with blocks along their first axis

One worker compiles; the others take that from adjit's cache, if they share its folder. Sums are added up in the order
of the blocks, two by two, so that the result has the same bits whatever the workers, and whichever of them is lost.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import dask
import dask.array
import dask.bag
import numpy as np
from dask.delayed import Delayed, delayed

from adjit.api.functions import value_and_grad as derived_of
from adjit.errors import Unsupported, WrongCall, WrongWrt
from adjit.transform.source.derivative import Wrt, bound, parameters, root, shown
from adjit.transform.source.structures import held, put_together, taken_apart


def value_and_grad(of: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The sum of `of` over all blocks, and its gradient: (value, gradient), as `adjit.value_and_grad` gives it.

    The arguments of a call are those of `of`. Where one is an array of Dask's, `of` gets a block of it; arrays have as
    many blocks as each other, along their first axis alone. Where one is a bag, `of` gets an item of it; there may be
    several bags, with as many items in each partition, and no arrays beside them. All others go to each call as they
    are. What is summed is a float; `wrt` names arguments that are no collections. Options are those of `adjit.grad`.

    A call computes with Dask's scheduler, or the client there is; `.delayed(...)` gives the pair as a Delayed. Also a
    decorator. Raises WrongWrt for a collection in `wrt`, WrongCall where collections do not go together.
    """
    if of is None:
        return functools.partial(value_and_grad, wrt=wrt, **options)
    if "has_aux" in options:
        raise WrongCall("has_aux of a sum over blocks", instead="Leave it out: there would be one result per block.")
    derived = derived_of(of, wrt, **options)
    if getattr(derived, "derivative", None) is None:
        raise Unsupported(f"{derived!r} on Dask's workers", instead="Give a function, and name whole arguments in wrt.")
    return SumOverBlocks(derived)


class SumOverBlocks:
    """A derived function, summed over blocks."""

    def __init__(self, derived: Any) -> None:
        self._derived = derived
        self._is_compiled = False  # in a call so far
        functools.update_wrapper(self, root(derived.derivative), updated=())

    def __repr__(self) -> str:
        return f"<{self._derived!r}, summed over blocks>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        (found,) = dask.compute(self.delayed(*arguments, **keywords))
        self._is_compiled = True
        return found

    def delayed(self, *arguments: Any, **keywords: Any) -> Delayed:
        """The value and the gradient, to be computed with other things."""
        derivative = self._derived.derivative
        given = bound(derivative, arguments, keywords)
        names = list(parameters(derivative).parameters)
        places = [k for k, value in enumerate(given) if _is_collection(value)]
        for k in places:
            if k in (derivative.wrt or ()):
                raise WrongWrt(
                    f"argument `{names[k]}` of {shown(derivative)} is {_told(given[k])}",
                    why="Its gradient would be a Dask collection, too.",
                    instead="Name arguments in wrt that are the same for all blocks.",
                )
        if not places:
            raise WrongCall(
                f"{shown(derivative)} without a Dask collection among its arguments",
                instead="Pass a Dask collection, or call adjit.value_and_grad.",
            )
        blocks = _blocks(shown(derivative), [names[k] for k in places], [given[k] for k in places])
        is_bag = isinstance(given[places[0]], dask.bag.Bag)
        others = delayed(tuple(None if k in places else value for k, value in enumerate(given)), traverse=False)
        own = delayed(_Held(self._derived), traverse=False)
        first = delayed(_summed)(own, others, places, blocks[0], is_bag)
        # one worker compiles before the others begin
        ready = None if self._is_compiled else delayed(_is_done)(first)
        sums = [first, *(delayed(_summed)(own, others, places, block, is_bag, ready) for block in blocks[1:])]
        while len(sums) > 1:
            pairs = [sums[k : k + 2] for k in range(0, len(sums), 2)]
            sums = [delayed(_added)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return delayed(_of_one)(sums[0])


def _is_collection(value: Any) -> bool:
    return isinstance(value, dask.array.Array | dask.bag.Bag)


def _told(value: Any) -> str:
    return "a bag of Dask's" if isinstance(value, dask.bag.Bag) else "an array of Dask's"


def _blocks(owner: str, names: Sequence[str], given: Sequence[Any]) -> list[list[Delayed]]:
    """For each block, the parts of the collections that go together."""
    if len({type(value) for value in given}) > 1:
        raise WrongCall(f"{owner} with both arrays and bags", instead="Convert them to one kind.")
    for name, value in zip(names, given, strict=True):
        if isinstance(value, dask.array.Array) and (value.ndim == 0 or any(n != 1 for n in value.numblocks[1:])):
            raise WrongCall(
                f"argument `{name}` of {owner} has {value.numblocks} blocks; only its first axis may be divided",
                instead=f"Give {name}.rechunk({{0: 'auto', 1: -1}}), with -1 for each axis but the first.",
            )
    lengths = [v.chunks[0] if isinstance(v, dask.array.Array) else (v.npartitions,) for v in given]
    if len({tuple(map(str, own)) for own in lengths}) > 1:
        found = ", ".join(f"{name}: {list(own)}" for name, own in zip(names, lengths, strict=True))
        raise WrongCall(
            f"the blocks of the arguments of {owner} differ",
            why=f"Their lengths are {found}.",
            instead="Give both the same chunks, with rechunk.",
        )
    parts = [
        list(value.to_delayed().ravel()) if isinstance(value, dask.array.Array) else value.to_delayed()
        for value in given
    ]
    return [list(own) for own in zip(*parts, strict=True)]


# ------------------------------------------------------------------------------------------------------- on the workers


class _Held:
    """A derived function, which Dask would take for an object to call."""

    def __init__(self, derived: Any) -> None:
        self.derived = derived


def _calls(others: Sequence[Any], places: Sequence[int], parts: Sequence[Any], is_bag: bool) -> Iterator[list[Any]]:
    """The arguments of each call for a block: one call for arrays, one an item for bags."""
    rows: Iterator[tuple[Any, ...]]
    if is_bag:
        rows = zip(*(list(part) for part in parts), strict=True)
    else:
        # what comes over the network may not be written, which would be another type
        rows = iter([tuple(np.require(part, requirements=["C", "W"]) for part in parts)])
    for row in rows:
        given = list(others)
        for k, value in zip(places, row, strict=True):
            given[k] = value
        yield given


def _summed(held: _Held, others: Any, places: Any, parts: Any, is_bag: bool, ready: bool | None = None) -> Any:
    """The sum over a block; `ready`: what has to be there before."""
    found: Any = None
    for given in _calls(others, places, parts, is_bag):
        own = held.derived(*given)
        found = own if found is None else _added(found, own)
    return found


def _is_done(found: Any) -> bool:
    return True


def _added(left: Any, right: Any) -> Any:
    """The sum of two values and gradients, which are put together alike; None is the sum of nothing."""
    if left is None or right is None:
        return right if left is None else left
    ours: list[Any] = []
    theirs: list[Any] = []
    layout = taken_apart(left, ours)
    taken_apart(right, theirs)
    places = held(layout, ours)  # of sparse matrices, which have the same
    both = enumerate(zip(ours, theirs, strict=True))
    return put_together(layout, iter([a if k in places else a + b for k, (a, b) in both]))


def _of_one(found: Any) -> Any:
    if found is None:
        raise WrongCall("a sum over collections without items", instead="Pass a collection that is not empty.")
    return found
