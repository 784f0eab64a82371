"""Which elements of which memory an operation reads or writes: an affine index an axis, through views.

In: a function and its affine forms. Out: accesses, to the array where its memory is named first.

    w = u[2:, j]
    w[i]            u[2 + i, j]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Chain, Constraint, Iterations, loops_in
from adjit.transform.analysis.alias import FRESH
from adjit.transform.analysis.extents import ndim
from adjit.transform.analysis.isl_text import Access, Text, Unknown, is_empty


def _unknown(unknowns: list[Unknown]) -> Affine:
    """One more index of which nothing is known."""
    unknowns.append(Unknown(len(unknowns)))
    return Affine({unknowns[-1]: 1})


class Accesses:
    """Those of one function. `expanded`: arrays taken to have one axis more for each of some loops."""

    def __init__(
        self,
        function: ir.Function,
        iterations: Iterations,
        text: Text,
        expanded: Mapping[ir.Operand, Sequence[ir.For]],
    ):
        self._iterations = iterations
        self._text = text
        self._expanded = expanded
        self._reads: dict[ir.Op, list[Access]] = {}
        self._writes: dict[ir.Op, Access] = {}
        self._params = frozenset(function.body.args)

    def read(self, op: ir.Op) -> list[Access]:
        if op not in self._reads:
            arrays = op.memory_read
            if isinstance(op, ir.Store):
                self._reads[op] = [self.write(op)] if op.add else []
            elif isinstance(op, ir.Load):
                self._reads[op] = [self._access(op, op.array, op.index)]
            else:
                self._reads[op] = [self._access(op, a, None) for a in arrays if ir.is_array(a)]
        return self._reads[op]

    def write(self, op: ir.Store) -> Access:
        if op not in self._writes:
            self._writes[op] = self._access(op, op.array, op.index)
        return self._writes[op]

    def holds(self, chain: Chain, value: Affine, relation: str) -> bool:
        """Whether the relation (>= or <) of the value to zero holds in each trip of the loops in the chain."""
        if (
            relation == ">="
            and value.constant >= 0
            and all(factor > 0 and not isinstance(symbol, ir.Var) for symbol, factor in value.terms.items())
        ):
            return True  # counters and extents are never negative
        opposite = Constraint(value, "<" if relation == ">=" else ">=")
        conditions = self._text.all((*self._iterations.domain(chain), opposite), "r")
        return is_empty(self._text.set(self._text.names(loops_in(chain), "r"), conditions))

    def _access(self, op: ir.Op, array: ir.Operand, index: Sequence[ir.Operand] | None) -> Access:
        """The access to `array[index]`, or to all of the array, followed through views to the root."""
        chain = self._iterations.places[op].chain
        constraints: list[Constraint] = []
        unknowns: list[Unknown] = []
        if index is None:
            entries = [_unknown(unknowns) for _ in range(ndim(array))]
        else:
            places = [self._position(chain, array, axis, operand) for axis, operand in enumerate(index)]
            entries = [_unknown(unknowns) if place is None else place for place in places]
        while True:
            definition = self._iterations.definitions.get(array)
            if isinstance(definition, ir.Slice):
                entries = self._through_slice(chain, definition, entries, constraints, unknowns)
            elif isinstance(definition, ir.Transpose):
                of_view = dict(zip(definition.axes, entries, strict=True))
                entries = [of_view[axis] for axis in range(len(entries))]
            elif isinstance(definition, ir.Reshape):
                entries = [_unknown(unknowns) for _ in range(ndim(definition.base))]
            else:
                break
            array = definition.base
        is_root = isinstance(array, ir.Const) or array in self._params or isinstance(definition, FRESH)
        entries = [Affine({loop: 1}) for loop in self._expanded.get(array, ())] + list(entries)
        return Access(op, array, is_root, tuple(entries), tuple(constraints), tuple(unknowns))

    def _position(self, chain: Chain, array: ir.Operand, axis: int, operand: ir.Operand) -> Affine | None:
        """The index counted from the front; None if it is not affine, or from the front in some trips only."""
        index = self._iterations.value(operand)
        if index is None or self.holds(chain, index, ">="):
            return index
        extent = self._iterations.extent(array, axis)
        return index.plus(extent) if extent is not None and self.holds(chain, index, "<") else None

    def _through_slice(
        self,
        chain: Chain,
        view: ir.Slice,
        entries: Sequence[Affine],
        constraints: list[Constraint],
        unknowns: list[Unknown],
    ) -> list[Affine]:
        """Indices into the view as indices into its base; what the bounds of the view say of them is added."""
        found: list[Affine] = []
        rest = iter(entries)
        for selector in view.selectors:
            if isinstance(selector, ir.At):
                place = self._position(chain, view.base, len(found), selector.index)
                found.append(_unknown(unknowns) if place is None else place)
                continue
            entry = next(rest)
            if isinstance(selector, ir.NewAxis):
                continue
            start = self._start(chain, view.base, len(found), selector)
            if start is None:
                found.append(_unknown(unknowns))
                continue
            first, step = start
            entry = first.plus(entry, step)
            stop = None if selector.stop is None else self._iterations.value(selector.stop)
            if step > 0 and stop is not None and self.holds(chain, stop, ">="):
                constraints.append(Constraint(entry.plus(stop, -1), "<"))
            found.append(entry)
        return found

    def _start(self, chain: Chain, base: ir.Operand, axis: int, span: ir.Span) -> tuple[Affine, int] | None:
        """The first element that the slice takes and its step, None if they are not known."""
        step = ONE if span.step is None else self._iterations.value(span.step)
        if step is None or not step.is_constant or step.constant == 0:
            return None
        if span.start is None:
            if step.constant > 0:
                return Affine(), step.constant
            extent = self._iterations.extent(base, axis)
            return None if extent is None else (extent.plus(ONE, -1), step.constant)
        start = self._iterations.value(span.start)
        # a start from the end, or one beyond it where the step goes down, is clipped to the array
        if start is None or step.constant < 0 or not self.holds(chain, start, ">="):
            return None
        return start, step.constant
