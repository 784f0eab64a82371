"""Products of matrices with an outer product, which an adjoint is, are outer products themselves.

    for i in range(n):                              w = np.dot(v, B)
        for j in range(m):                          for i in range(n):
            y_bar[i, j] = u[i] * v[j]                   for j in range(l):
    x_bar = np.dot(y_bar, B)                                x_bar[i, j] = u[i] * w[j]

In: a function with both sweeps. Out: the same with a product of a vector and the matrix in the place of one of two
matrices. Adjoints of `(A @ B) @ x` are such. What is rounded differently are adjoints alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type, array_type_of

_PRODUCTS = (np.dot, operator.matmul)


def through_vectors(function: ir.Function) -> ir.Function:
    """The function with its products of such adjoints by vectors; the same object if there are none."""
    allocs = [op for op in function.body.inside if isinstance(op, ir.Alloc)]
    adjoints: set[ir.Operand] = {op.out for op in allocs if op.role is not None and op.role.kind == "shadow"}
    while made := _Search(function).products(adjoints):
        adjoints.update(out for product in made for out in product.results)
        function = ir.with_body(function, ir.replaced(function.body, made))
    return function


class _Outer(NamedTuple):
    """Elements `column[i] * row[j]`, from `nest` on."""

    column: ir.Operand
    row: ir.Operand
    nest: ir.Op


class _Search:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.uses = function.analysis(Uses)
        self.made = function.body.made

    def products(self, adjoints: Collection[ir.Operand]) -> dict[ir.Op, list[ir.Op]]:
        """The products of these arrays, and what stands for them."""
        allocs = [op for op in self.made.values() if isinstance(op, ir.Alloc) and op.out in adjoints]
        return {product: ops for alloc in allocs for product, ops in self.products_of(alloc)}

    def products_of(self, alloc: ir.Alloc) -> list[tuple[ir.Op, list[ir.Op]]]:
        users = self.uses.users.get(alloc.out, [])
        found = [op for op in users if isinstance(op, ir.Call) and op.callee in _PRODUCTS]
        outer = self.outer(alloc, users) if found else None
        if outer is None:
            return []
        region = self.uses.home[alloc]
        return [
            (op, _written(op, alloc.out, outer))
            for op in found
            if self.uses.home[op] is region and op.args[0] is not op.args[1] and self.stays(outer, op, region)
        ]

    def outer(self, alloc: ir.Alloc, users: list[ir.Op]) -> _Outer | None:
        """What an array of which nothing else is known but its elements is the outer product of; None if of nothing."""
        stores = [op for op in users if isinstance(op, ir.Store)]
        if len(stores) != 1 or alloc.out in self.uses.held or array_type_of(alloc.out).ndim != 2:
            return None
        (store,) = stores
        if store.add or alloc.fill is not None or not all(isinstance(op, _READERS) for op in users):
            return None
        nest = self.uses.within(store, self.uses.home[alloc])
        product = self.made.get(store.value)
        if nest is None or len(nest) != 3 or not isinstance(product, ir.Call) or product.callee is not operator.mul:
            return None
        # each element is stored to: there is nothing else in the array to read
        if not all(isinstance(loop, ir.For) and loop.order_free for loop in nest[:2]):
            return None
        sides = [self.vector(arg, index) for arg, index in zip(product.args, store.index, strict=True)]
        if None in sides:
            sides = [self.vector(arg, index) for arg, index in zip(product.args[::-1], store.index, strict=True)]
        column, row = sides
        if column is None or row is None or not all(s.type == array_type(store.value.type, 1) for s in (column, row)):
            return None
        return _Outer(column, row, nest[0])

    def vector(self, element: ir.Operand, index: ir.Operand) -> ir.Operand | None:
        """The vector that has an element at that index, as it is or seen as a row or column."""
        load = self.made.get(element)
        if not isinstance(load, ir.Load) or index not in self.uses.counters:
            return None
        array, place = load.array, [i for i in load.index if i is index]
        view = self.made.get(array)
        if isinstance(view, ir.Slice) and all(isinstance(s, ir.NewAxis) or s == ir.Span() for s in view.selectors):
            array = view.base
        elif len(load.index) > 1:
            return None
        return array if place and array_type_of(array).ndim == 1 else None

    def stays(self, outer: _Outer, product: ir.Op, region: ir.Region) -> bool:
        """Whether the vectors are still what they were, where the product is."""
        places = region.ops.index(outer.nest), region.ops.index(product)
        memory = {self.aliases.find(outer.column), self.aliases.find(outer.row)}
        between = [inner for op in region.ops[places[0] : places[1]] for inner in ir.with_inner(op)]
        written = (op.memory_written for op in between)
        return places[0] < places[1] and not any(w is not None and self.aliases.find(w) in memory for w in written)


_READERS = (ir.Store, ir.Load, ir.Extent, ir.Call)


def _written(product: ir.Call, array: ir.Var, outer: _Outer) -> list[ir.Op]:
    """The operations that stand for a product of which `array` is one side."""
    builder, (out,) = ir.Builder(product.origin), product.outs
    is_left = product.args[0] is array
    other = product.args[int(is_left)]
    inner = outer.row if is_left else outer.column
    kind = array_type_of(array).dtype
    is_matrix = array_type_of(other).ndim == 2
    through = builder.call(
        np.dot,
        *((inner, other) if is_left else (other, inner)),
        type=array_type(kind, 1) if is_matrix else kind,
        name="product",
    )
    extents = [builder.extent(array, 0)] if is_left else []
    extents += [builder.extent(other, 1 if is_left else 0)] if is_matrix else []
    extents += [] if is_left else [builder.extent(array, 1)]
    builder.emit(ir.Alloc(shape=tuple(extents), out=out))

    def of(vector: ir.Operand, is_first: bool) -> Callable[[tuple[ir.Var, ...]], ir.Operand]:
        if not ir.is_array(vector):
            return lambda index: vector
        return lambda index: builder.load(vector, (index[0 if is_first else -1],))

    left, right = (of(outer.column, True), of(through, False)) if is_left else (of(through, True), of(outer.row, False))

    def body(index: tuple[ir.Var, ...]) -> None:
        value = builder.call(operator.mul, left(index), right(index), type=kind, name="product")
        builder.store(out, index, value)

    builder.nest(extents, body)
    return list(builder.ops)
