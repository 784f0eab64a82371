"""A whole Jacobian in one function, by rows: the reverse sweep for each element of the results.

In: a function and its two sweeps. Out: a function of the same arguments that returns the matrices.

    y = f(x)        y = f(x)                             the forward sweep, once
                    for row in range(y.size):
                        y_bar = np.zeros(y.size)
                        y_bar[row] = 1.0
                        x_bar = ...                      the reverse sweep
                        y_by_x[row] = x_bar

Where the sweeps cannot be had apart, both run for each row.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.derive.jacobian.matrices import Matrices, Numbered, Shape
from adjit.transform.elaborate.entry import BuildDerivative, without_comments
from adjit.transform.elaborate.values import scalars
from adjit.transform.ir.types import array_type_of, typed_const


def by_rows(
    function: ir.Function,
    wrt: Sequence[ir.Tree],
    single: bool,
    halves: tuple[ir.Function, ir.Function],
    build: BuildDerivative,
) -> ir.Function | None:
    """The function that returns the Jacobian, from the halves of `split`; None if one reverse sweep spoils the next."""
    forward, reverse = map(without_comments, halves)
    changed = ir.leaves(reverse.params[1])
    aliases = forward.analysis(Aliases)
    if len({aliases.find(c) for c in changed}) < len(changed):
        # copies would have to share memory as these do
        return None
    rows = _Rows(function, wrt, single, build)
    for op in forward.body.ops:
        rows.builder.emit(op)
    rows.shapes = [rows.shape(y) for y in forward.body.yields[: len(function.body.yields)]]
    return rows.made(reverse.body, reverse.params[2], changed)


def by_whole_rows(
    function: ir.Function, wrt: Sequence[ir.Tree], single: bool, joint: ir.Function, build: BuildDerivative
) -> ir.Function:
    """The same, with both sweeps for each row; the last parameter of `joint` is the seed."""
    rows = _Rows(function, wrt, single, build)
    rows.shapes = rows.shapes_of_results()
    return rows.made(without_comments(joint).body, joint.params[-1], ())


class _Rows(Matrices):
    shapes: Sequence[Shape]
    is_alone: bool

    def made(self, sweep: ir.Region, seed: ir.Tree, changed: Sequence[ir.Var]) -> ir.Function:
        """`sweep` has the adjoints as yields; `changed`: arrays that it writes into."""
        self.allocate(self.shapes, by_columns=False)
        # where one value is two results, the seed of the last is read
        bars = dict(zip(ir.leaves(self.primal.result), ir.leaves(seed), strict=True))
        bars = {k: bar for k, bar in bars.items() if k is not None and ir.is_float(self.primal.body.yields[k].type)}
        numbers, total = self.numbered(self.shapes[k] for k in bars)
        results = dict(zip(bars, numbers, strict=True))
        self.is_alone = len(results) == 1

        def row(number: ir.Operand) -> None:
            mapping: dict[ir.Var, ir.Operand] = {bar: self.seed(bar, results[k], number) for k, bar in bars.items()}
            for array in changed:
                copied = mapping[array] = dataclasses.replace(array)
                self.builder.emit(ir.Copy(source=array, out=copied))
            cloned = ir.Cloner(mapping).region(dataclasses.replace(sweep, args=()))
            for op in cloned.ops:
                self.builder.emit(op)
            arguments = [var for var in ir.leaves(tuple(self.wrt)) if ir.is_float(var.type)]
            adjoints = dict(zip(arguments, cloned.yields, strict=True))
            for k, own in results.items():
                self.among(own, number, functools.partial(self.take, k, adjoints, total))

        self.loop("row", ir.integer(0), total, 1, row)
        return self.finished()

    def seed(self, bar: ir.Var, own: Numbered, row: ir.Operand) -> ir.Operand:
        """The unit seed of a result: zero if the row is another result's."""
        if not ir.is_array(bar):
            return self.unit(bar.name, bar.type, row, own.start)
        type_ = array_type_of(bar)
        made = dataclasses.replace(bar)
        self.builder.emit(ir.Alloc(shape=tuple(own.shape), fill=typed_const(0, type_.dtype), out=made))
        one = typed_const(1, type_.dtype)
        self.among(own, row, lambda element: self.builder.store(made, self.index(element, own.shape), one))
        return made

    def take(self, k: int, adjoints: dict[ir.Var, ir.Operand], total: ir.Operand, row: ir.Operand) -> None:
        """Puts the adjoints of the arguments into the row of a result."""
        for var, bar in adjoints.items():
            block = self.blocks[k, var]
            if total == ir.integer(1) and not ir.is_array(block.value):
                block.value, block.matrix = bar, None
            elif block.matrix is not None:
                self.fill(block.matrix, row, bar)

    def fill(self, matrix: ir.Var, row: ir.Operand, bar: ir.Operand) -> None:
        dtype = array_type_of(matrix).dtype

        def store(index: tuple[ir.Operand, ...]) -> None:
            element = self.builder.load(bar, index) if ir.is_array(bar) else bar
            self.builder.store(matrix, (row, *index), scalars.cast(self.ctx, element, dtype))

        self.ctx.builder.nest(self.shape(bar), store)

    def among(self, own: Numbered, row: ir.Operand, body: Callable[[ir.Operand], None]) -> None:
        """Runs if the row is an element of this result, with the number that it has there."""
        if self.is_alone:
            body(row)
            return
        element = self.integer(operator.sub, row, own.start)
        is_after = scalars.scalar(self.ctx, operator.ge, (element, ir.integer(0)))
        is_before = scalars.scalar(self.ctx, operator.lt, (element, own.size))
        is_own = scalars.scalar(self.ctx, operator.and_, (is_after, is_before))
        with self.builder.when(is_own):
            body(element)
