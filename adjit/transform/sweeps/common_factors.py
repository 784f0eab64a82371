"""Products that are added to one matrix, and have one factor in common, are one product.

    P = np.dot(S_bar, c.T)                   W = S_bar.T + S_bar        element by element
    for i: for j: c_bar[j, i] += P[i, j]     P = np.dot(c, W)
    P = np.dot(c, S_bar)                     for i: for j: c_bar[i, j] += P[i, j]
    for i: for j: c_bar[i, j] += P[i, j]

In: a function with both sweeps. Out: the same with half as many such products. The adjoint of `c.T @ c`, as of a
covariance or a matrix of distances, is a pair of them. What is rounded differently are adjoints alone.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type, array_type_of, transposed_type

_PRODUCTS = (np.dot, operator.matmul)


def with_common_factors(function: ir.Function) -> ir.Function:
    """The function with one product for two that have a factor in common; the same object if there are none."""
    while (pair := _Search(function).pair()) is not None:
        function = ir.with_body(function, ir.replaced(function.body, pair))
    return function


class _Factor(NamedTuple):
    """A matrix, or one seen with its axes exchanged."""

    base: ir.Operand
    is_turned: bool

    @property
    def turned(self) -> _Factor:
        return _Factor(self.base, not self.is_turned)

    def element(self, builder: ir.Builder, i: ir.Var, j: ir.Var) -> ir.Var:
        return builder.load(self.base, (j, i) if self.is_turned else (i, j))

    def extent(self, builder: ir.Builder, axis: int) -> ir.Var:
        return builder.extent(self.base, 1 - axis if self.is_turned else axis)

    def matrix(self, builder: ir.Builder) -> ir.Operand:
        if not self.is_turned:
            return self.base
        axes = (1, 0)
        out = ir.Var(f"{ir.name_of(self.base, 'matrix')}_T", transposed_type(array_type_of(self.base), axes))
        builder.emit(ir.Transpose(base=self.base, axes=axes, out=out))
        return out


class _Term(NamedTuple):
    """`target += left @ right`: the product, and the nest that adds its elements."""

    target: ir.Operand
    left: _Factor
    right: _Factor
    call: ir.Call
    nest: ir.For


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.made = function.body.made

    def pair(self) -> dict[ir.Op, list[ir.Op]] | None:
        """Two such products and their nests, with what stands for them."""
        calls = [op for op in self.function.body.inside if isinstance(op, ir.Call) and _is_product(op)]
        if len(calls) < 2:
            return None
        self.aliases, self.uses = self.function.analysis(Aliases), self.function.analysis(Uses)
        terms = [term for call in calls if (term := self.term(call)) is not None]
        pairs = ((first, second) for k, second in enumerate(terms) for first in terms[:k])
        return next((made for first, second in pairs if (made := self.joined(first, second)) is not None), None)

    def factor(self, operand: ir.Operand) -> _Factor:
        is_turned = False
        while isinstance(view := self.made.get(operand), ir.Transpose):
            operand, is_turned = view.base, not is_turned
        return _Factor(operand, is_turned)

    def term(self, call: ir.Call) -> _Term | None:
        """The product as what is added to a shadow, element by element, and of no other use."""
        (out,) = call.outs
        users = [op for op in self.uses.users.get(out, []) if not isinstance(op, ir.Extent)]
        chain = self.uses.within(users[0], self.uses.home[call]) if len(users) == 1 else None
        if chain is None or len(chain) != 3 or out in self.uses.held:
            return None
        outer, inner, load = chain
        if not isinstance(outer, ir.For) or not isinstance(inner, ir.For) or not isinstance(load, ir.Load):
            return None
        place = (outer.body.args[0], inner.body.args[0])
        store = inner.body.ops[-1]
        if outer.body.ops != (inner,) or inner.body.ops != (load, store) or load.index != place:
            return None
        if not isinstance(store, ir.Store) or not store.add or store.value is not load.out:
            return None
        target = self.factor(store.array)
        alloc = self.made.get(target.base)
        is_shadow = isinstance(alloc, ir.Alloc) and alloc.role is not None and alloc.role.kind == "shadow"
        if not is_shadow or not all(loop.order_free for loop in (outer, inner)):
            return None
        left, right = map(self.factor, call.args)
        if store.index not in (place, place[::-1]):
            return None
        if (store.index == place) is target.is_turned:
            left, right = right.turned, left.turned
        return _Term(target.base, left, right, call, outer)

    def joined(self, first: _Term, second: _Term) -> dict[ir.Op, list[ir.Op]] | None:
        if first.target is not second.target or not self.may_wait(first, second):
            return None
        if first.left == second.left:
            others = first.right, second.right
        elif first.right == second.right:
            others = first.left, second.left
        else:
            return None
        builder, kind = ir.Builder(second.call.origin), array_type_of(second.target).dtype
        shape = [others[0].extent(builder, axis) for axis in (0, 1)]
        total, out = ir.Var("factor", array_type(kind, 2)), ir.Var("product", array_type(kind, 2))
        builder.emit(ir.Alloc(shape=tuple(shape), out=total))

        def add(index: tuple[ir.Var, ...]) -> None:
            elements = (other.element(builder, *index) for other in others)
            builder.store(total, index, builder.call(operator.add, *elements, type=kind, name="sum"))

        builder.nest(shape, add)
        is_left = first.left == second.left
        shared = (second.left if is_left else second.right).matrix(builder)
        builder.emit(ir.Call(callee=np.dot, args=(shared, total) if is_left else (total, shared), outs=(out,)))
        extents = [builder.extent(out, axis) for axis in (0, 1)]
        builder.nest(extents, lambda index: builder.store(second.target, index, builder.load(out, index), add=True))
        return {first.call: [], first.nest: [], second.call: [], second.nest: list(builder.ops)}

    def may_wait(self, first: _Term, second: _Term) -> bool:
        """Whether what the first product adds may as well be added with the second."""
        region = self.uses.home[first.call]
        if self.uses.home[second.call] is not region:
            return False
        places = [region.ops.index(op) for term in (first, second) for op in (term.call, term.nest)]
        target = self.aliases.find(first.target)
        factors = {self.aliases.find(f.base) for term in (first, second) for f in (term.left, term.right)}
        between = region.ops[places[0] : places[3]]
        others = [op for op in between if op is not first.nest]
        written = (op.memory_written for one in others for op in ir.with_inner(one))
        is_read = any(self.aliases.has_inside(op, target) for op in others)
        return not is_read and not any(w is not None and self.aliases.find(w) in factors for w in written)


def _is_product(op: ir.Call) -> bool:
    """Whether it is of two matrices of one kind of float."""
    if op.callee not in _PRODUCTS or not all(ir.is_array(arg) and array_type_of(arg).ndim == 2 for arg in op.args):
        return False
    kinds = {array_type_of(array).dtype for array in (*op.args, *op.outs)}
    return len(kinds) == 1 and ir.is_float(op.outs[0].type)
