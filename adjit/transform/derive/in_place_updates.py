"""Arrays that loops change in place, element by element.

In: a function, and a store in such loops. Out: the same, with loops that fill a new array instead, where no condition
decides whether an element is stored.

    w[w < 0] = 0        for i:                    for i:
                            if w[i] < 0:              w_1[i] = 0 if w[i] < 0 else w[i]
                                w[i] = 0
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.uses import Uses
from adjit.transform.derive.invariant_subspaces import ALL, Unproven
from adjit.transform.ir.types import array_type_of


def fill_anew(function: ir.Function, store: ir.Store) -> ir.Function:
    """The function with a new array for what the loops around the store change; Unproven if they do more than that."""
    made, uses, aliases, array = function.body.made, function.analysis(Uses), function.analysis(Aliases), store.array
    view = made.get(array)
    if isinstance(view, ir.Slice) and {*view.selectors} == {ALL} and view.base.type == array.type:
        users = {op: (ir.substituted(op, {view.out: view.base}),) for op in uses.users[array] if not op.regions}
        return ir.with_body(function, ir.replaced(function.body, users))
    nest = (uses.within(store, uses.home[view]) if view is not None else None) or ()
    loops = [op for op in nest if isinstance(op, ir.For)]
    if not loops or list(nest[: len(loops)]) != loops or not isinstance(array, ir.Var):
        raise Unproven
    root, home, memory, kind = nest[0], uses.home[nest[0]], aliases.find(array), array_type_of(array)
    index = tuple(op.body.args[0] for op in loops)
    reached = list(aliases.touching((root,), memory))
    chains = [uses.within(op, loops[-1].body) or (root,) for op in reached]
    place = home.ops.index(root)
    rest = ir.Region((), home.ops[place + 1 :], home.yields)
    if (
        kind.layout == "A"
        or any(not isinstance(op, ir.If) for chain in chains for op in chain[:-1])
        or any(not isinstance(op, ir.Load | ir.Store) or (op.array, op.index) != (array, index) for op in reached)
        or any(isinstance(op, ir.Store) and op.value.type != kind.dtype for op in reached)
        or any(aliases.is_named(memory, [o]) and o is not array for o in ir.free_vars(rest))
        or any((op.start, op.step, op.stops) != (ir.integer(0), ir.integer(1), False) for op in loops)
        or not all(_is_length(op.stop, array, axis, made) for axis, op in enumerate(loops))
    ):
        raise Unproven
    before = ir.Var(ir.element_name(array), kind.dtype)
    known: dict[ir.Var, ir.Operand] = {}

    def settled(ops: Sequence[ir.Op], element: ir.Operand) -> tuple[Sequence[ir.Op], ir.Operand]:
        """Operations without those that reach for the array, and its element behind them."""
        found: list[ir.Op] = []
        for op in ops:
            if isinstance(op, ir.Load) and op in reached:
                known[op.out] = element
            elif isinstance(op, ir.Store) and op in reached:
                value, total = ir.substituted_operand(op.value, known), dataclasses.replace(before)
                if op.add:
                    found.append(ir.Call(callee=operator.add, args=(element, value), outs=(total,), origin=op.origin))
                element = total if op.add else value
            elif isinstance(op, ir.If) and not set(reached).isdisjoint(ir.with_inner(op)):
                sides, out = [], dataclasses.replace(before)
                for side in op.regions:
                    inner, value = settled(side.ops, element)
                    yields = (ir.substituted_operand(o, known) for o in side.yields)
                    sides.append(ir.Region((), tuple(inner), (*yields, value)))
                condition, element = ir.substituted_operand(op.condition, known), out
                found.append(op.rebuilt([condition], sides, (*op.outs, out)))
            else:
                found.append(ir.substituted(op, known))
        return found, element

    body, new = loops[-1].body, dataclasses.replace(array)
    b = ir.Builder(store.origin)
    b.emit(ir.Load(array=array, index=index, out=before))
    ops, value = settled(body.ops, before)
    b.ops.extend(ops)
    b.store(new, index, value)
    inner = ir.Region(body.args, tuple(b.ops), tuple(ir.substituted_operand(o, known) for o in body.yields))
    filled = ir.replaced(ir.Region((), (root,), ()), {loops[-1]: (dataclasses.replace(loops[-1], body=inner),)}).ops
    alloc = ir.Alloc(shape=(), out=new, like=array, origin=store.origin)
    rest = ir.substituted_region(rest, {array: new})

    def renewed(region: ir.Region) -> ir.Region:
        if region is home:
            return ir.with_ops(home, (*home.ops[:place], alloc, *filled, *rest.ops), rest.yields)
        return ir.with_ops(region, [ir.with_regions(op, [renewed(inner) for inner in op.regions]) for op in region.ops])

    return ir.with_body(function, renewed(function.body))


def _is_length(length: ir.Operand, array: ir.Operand, axis: int, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether an integer is known to be the length of an array along an axis."""
    op, source = made.get(length), made.get(array)
    if isinstance(op, ir.Extent) and (op.array, op.axis) == (array, axis):
        return True
    if isinstance(source, ir.Copy):
        return _is_length(length, source.source, axis, made)
    if isinstance(source, ir.Alloc):
        return source.shape[axis] is length if source.like is None else _is_length(length, source.like, axis, made)
    return False
