"""A matrix is gone through once for all that reads or makes its rows: products with vectors, statements on elements.

    y = A @ x                                    for i in range(n):
    z = np.dot(A.T, w)                               total = 0.0
    for i in range(n):                               for j in range(m): total += A[i, j] * x[j]
        for j in range(m):                           y[i] = total
            A_bar[i, j] = y[i] * v[j]                for j in range(m): z[j] += w[i] * A[i, j]
                                                     for j in range(m): A_bar[i, j] = y[i] * v[j]

In: a function with both sweeps. Out: the same, with such products as loops over rows. Products of matrices and vectors
take as long as it takes to fetch the matrix, which two of them do twice, and `2.0 * A @ x` twice and once to write it.
A product that shares its matrix with nothing else, or that waits for what the other one makes of all rows, stays a call
of BLAS. What several loops store or add to the rows of one matrix is stored at once.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Collection, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.uses import Uses
from adjit.transform.rewrite.cheap_elements import substitute_elements
from adjit.transform.rewrite.fusion import fuse_rows
from adjit.transform.rewrite.products import OfRows, of_rows
from adjit.transform.rewrite.simplify import simplify


def pass_once(function: ir.Function, substitutes: bool, is_joint: bool) -> ir.Function:
    """The function with its passes over rows together; the same object if there are none.

    substitutes: cheap elements are worked out where they are read. is_joint: the two sweeps stay together.
    """
    products, updates = _products(function), _updates(function)
    while products or updates:
        rows = {product: product.as_loops(function.body.made) for product in products}
        made = simplify(ir.with_body(function, ir.replaced(function.body, {p.call: ops for p, ops in rows.items()})))
        direct = substitute_elements(made) if substitutes and products else made
        counters = {product: _counter(ops) for product, ops in rows.items()}
        groups = _Groups()
        fused = fuse_rows(direct, counters.values(), updates, groups.join, is_joint)
        gone = made.body.made.keys() - fused.body.made.keys()
        # without a sum in each row such loops take one row at a time (`machine/unroll_and_jam.py`), and BLAS is faster
        summed = {groups.of(counters[p]) for p in products if p.is_first}
        kept = [
            p for p in products if p.matrix in gone or (groups.shares(counters[p]) and groups.of(counters[p]) in summed)
        ]
        if len(kept) == len(products):
            return _added_once(fused, set(groups.first.values()))
        products = kept
    return function


def _updates(function: ir.Function) -> set[ir.Var]:
    """The counters of loops that add to the rows of a matrix, where others add to those of the same one."""
    uses = function.analysis(Uses)
    found: dict[tuple[ir.Operand, ir.Region], list[ir.Var]] = {}
    for loop in function.body.inside:
        if not isinstance(loop, ir.For) or not loop.order_free:
            continue
        inner = [op for op in loop.body.ops if isinstance(op, ir.For)]
        places = [(store, (loop.body.args[0], op.body.args[0])) for op in inner for store in op.body.ops]
        for store, place in places:
            if isinstance(store, ir.Store) and store.add and store.index == place:
                found.setdefault((store.array, uses.home[loop]), []).append(loop.body.args[0])
    return {counter for counters in found.values() if len(set(counters)) > 1 for counter in counters}


def _added_once(function: ir.Function, counters: Collection[ir.Var]) -> ir.Function:
    """The function with what loops, whose counters these are, store and add to one element in one store."""
    aliases = function.analysis(Aliases)

    def of_row(region: ir.Region) -> ir.Region:
        builder = ir.Builder()
        for op in region.ops:
            earlier = _store_to(builder.ops, op, aliases)
            if isinstance(op, ir.Store) and earlier is not None:
                builder.ops.remove(earlier)
                builder.origin = op.origin
                terms = (earlier.value, op.value)
                total = builder.call(operator.add, *terms, type=op.value.type, name=ir.name_of(op.value, "total"))
                op = dataclasses.replace(op, value=total, add=earlier.add)
            builder.emit(ir.with_regions(op, [of_row(inner) for inner in op.regions]))
        return ir.with_ops(region, builder.ops)

    loops = [op for op in function.body.inside if isinstance(op, ir.For) and op.body.args[0] in counters]
    made: dict[ir.Op, list[ir.Op]] = {op: [ir.with_regions(op, [of_row(op.body)])] for op in loops}
    return ir.with_body(function, ir.replaced(function.body, made))


def _store_to(before: Sequence[ir.Op], op: ir.Op, aliases: Aliases) -> ir.Store | None:
    """The store to the element that an operation adds to, with nothing else that touches it in between."""
    if not isinstance(op, ir.Store) or not op.add or not ir.is_float(op.value.type):
        return None
    memory = aliases.find(op.array)
    for other in reversed(before):
        if isinstance(other, ir.Store) and other.array is op.array and other.index == op.index:
            return other
        if aliases.has_inside(other, memory):
            return None
    return None


def _products(function: ir.Function) -> list[OfRows]:
    """The products that are not alone with their matrix in a region."""
    made, uses = function.body.made, function.analysis(Uses)
    found = [product for op in function.body.inside if (product := of_rows(op, made)) is not None]
    counts = Counter((product.matrix, uses.home[product.call]) for product in found)
    elements = {op.array for op in function.body.inside if isinstance(op, ir.Load | ir.Store)}
    return [p for p in found if counts[p.matrix, uses.home[p.call]] > 1 or p.matrix in elements]


def _counter(ops: list[ir.Op]) -> ir.Var:
    (loop,) = (op for op in ops if isinstance(op, ir.For))
    return loop.body.args[0]


class _Groups:
    """Loops that have become one, by their counters."""

    def __init__(self) -> None:
        self.first: dict[ir.Var, ir.Var] = {}
        self.sharing: set[ir.Var] = set()

    def of(self, counter: ir.Var) -> ir.Var:
        while counter in self.first:
            counter = self.first[counter]
        return counter

    def join(self, kept: ir.Var, gone: ir.Var, is_shared: bool) -> None:
        self.first[self.of(gone)] = kept
        if is_shared or gone in self.sharing:
            self.sharing.add(kept)

    def shares(self, counter: ir.Var) -> bool:
        """Whether the matrix of a loop's is that of another one, too, which it has become one with."""
        return self.of(counter) in self.sharing
