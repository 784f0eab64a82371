"""Elements of np.empty that are read although nothing can have been stored there.

In: a function. Out: nothing, or the error at the line of the read.

    s = np.empty(3); s[0] = x; s[0] * s[1]      Unwritten: s[1]
"""

from __future__ import annotations

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases


def check_written(function: ir.Function) -> None:
    """Raises Unwritten where an element of an array from np.empty is read that no store in the function can reach."""
    aliases = function.analysis(Aliases)
    empties: dict[ir.Operand, ir.Alloc] = {}
    sources: dict[ir.Operand, int] = {}
    for op in ir.walk(function.body):
        for out in op.results:
            if ir.is_array(out) and not isinstance(op, ir.VIEWS):
                memory = aliases.find(out)
                sources[memory] = sources.get(memory, 0) + 1
                if isinstance(op, ir.Alloc) and op.fill is None:
                    empties[memory] = op
    for p in function.body.args:
        if ir.is_array(p):
            sources[aliases.find(p)] = 2
    stores = aliases.stores()
    for op in ir.walk(function.body):
        if isinstance(op, ir.Load) and ir.is_array(op.array):
            memory = aliases.find(op.array)
            made = empties.get(memory)
            if made is None or sources[memory] != 1 or op.array is not made.out:
                continue
            if not any(_may_reach(s, op, made.out) for s in stores.get(memory, ())):
                raise _error(op)


def _may_reach(store: ir.Store, load: ir.Load, array: ir.Var) -> bool:
    if store.array is not array:
        return True
    return not any(
        isinstance(s, ir.Const) and isinstance(i, ir.Const) and s.value != i.value and (s.value >= 0) == (i.value >= 0)
        for s, i in zip(store.index, load.index, strict=True)
    )


def _error(op: ir.Load) -> errors.Unwritten:
    name = ir.name_of(op.array, "the array")
    return errors.Unwritten(
        f"an element of `{name}` is read that is never stored",
        ir.place_of(op.origin),
        "np.empty leaves it undefined.",
        "Use np.zeros.",
    )
