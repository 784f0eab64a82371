"""Elements of np.empty that are read although nothing can have been stored there.

In: a function. Out: nothing, or the error at the line of the read.

    s = np.empty(3); s[0] = x; s[0] * s[1]      Unwritten: s[1]
"""

from __future__ import annotations

from collections import Counter

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases


def check_written(function: ir.Function) -> None:
    """Raises Unwritten where an element of an array from np.empty is read that no store in the function can reach."""
    aliases = function.analysis(Aliases)
    sources = Counter(aliases.find(p) for p in function.body.args)
    for op in function.body.inside:
        if not isinstance(op, ir.VIEWS):
            sources.update(map(aliases.find, op.results))
    stores = aliases.stores()
    for op in function.body.inside:
        made = function.body.made.get(op.array) if isinstance(op, ir.Load) else None
        if isinstance(op, ir.Load) and isinstance(made, ir.Alloc) and made.fill is None:
            memory = aliases.find(op.array)
            if sources[memory] == 1 and not any(_may_reach(s, op) for s in stores.get(memory, ())):
                raise errors.Unwritten(
                    f"an element of `{made.out.name}` is read before it is stored",
                    ir.place_of(op.origin),
                    "np.empty leaves it undefined.",
                    "Use np.zeros.",
                )


def _may_reach(store: ir.Store, load: ir.Load) -> bool:
    if store.array is not load.array:
        return True
    return not any(
        isinstance(s, ir.Const) and isinstance(i, ir.Const) and s.value != i.value and (s.value >= 0) == (i.value >= 0)
        for s, i in zip(store.index, load.index, strict=True)
    )
