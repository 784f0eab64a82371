"""How numba multiplies the matrices of generated code: as BLAS does it best, or in the order of loops.

In: matrices. Out: instructions.

    workspace.dot(a.T, b)               into memory of the workspace; for 2 to 32 columns of the result the transposed
                                        product, which takes less time
    add_product(out, left, right)       out[i, j] += left[i, 0] * right[0, j] + left[i, 1] * right[1, j] + ..., in order
    fused_add_product(out, left, right) the same, a product and its sum rounded once

What is added goes in tiles, six rows of the result by as many columns as a vector has elements, whose sums stay in
registers. For each k these columns of `right` are loaded once, and each of six numbers of `left` is multiplied with
them. That is what BLAS does, at its speed from some 20 rows and columns on; but each element is added up in the order
of the loops that the call stands for. Columns that do not lie side by side are copied, a panel of them at a time, and
for many rows of the result those that do, as their rows may fall on each other in a cache.

Where vectors of 512 bits are at hand (on Zen 4), tiles take 0.6 to 0.97 of OpenBLAS's time for products beyond its
small kernels, of at most 256 columns, and `dot` goes so where BLAS has one thread: attention over 192 tokens takes 0.88
of the time. With ADJIT_TILES=0 all go to BLAS, and so they do on other machines, for which that was not measured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import register_jitable

from adjit import switches
from adjit.runtime.backend.arrays import leaves, new_array, part, told
from adjit.runtime.backend.loading import THREADS, counts_threads
from adjit.runtime.backend.machine_code import has_wide_vectors
from adjit.runtime.backend.pool import BLOCK
from adjit.runtime.library.products import (
    add_product,
    fused_add_product,
    fused_subtract_product,
    subtract_product,
)
from adjit.runtime.library.workspace import dot, product_type


def _of_product(context: Any) -> Any:
    return lambda left, right: product_type(np.dot, (left, right))


def _lower_dot(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.linear_algebra import dot_into
    from adjit.runtime.backend.separate_compilation import known_call, write_call

    factors, kinds, flags, extents = [], [], [], []
    for kind, value in zip(sig.args, args, strict=True):
        is_turned = kind.layout == "F"
        kinds.append(kind.copy(layout="C"))
        factors.append(_turned(context, builder, kind, value) if is_turned else value)
        flags.append(context.get_constant(types.intp, int(is_turned)))
        extents.append(leaves(builder, part(context, builder, kind, value, "shape")))
    (rows, _), (_, columns) = extents
    out = new_array(context, builder, sig.return_type, (rows, columns), False, BLOCK)
    taken = (*kinds, sig.return_type, types.intp, types.intp)
    call = known_call(dot_into, taken)
    assert call is not None
    write_call(context, builder, call, taken, (*factors, out, *flags))
    return out


def _turned(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """The transpose of a matrix whose columns lie side by side."""
    made = context.get_constant_undef(kind)
    for position, name in enumerate(("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")):
        found = part(context, builder, kind, value, name)
        if name in ("shape", "strides"):
            found = cgutils.pack_array(builder, leaves(builder, found)[::-1])
        made = builder.insert_value(made, found, position)
    return made


told(dot, _of_product, _lower_dot, 2)


# ---------------------------------------------------------------------------------------- in the order of loops

ROWS = (6, 3, 2, 1)  # of tiles: as many as there are registers for, and what is left over
WIDTHS = (64, 32)  # bytes of their columns
DEPTH = 256  # terms for which the columns of `right` stay in the first cache
MANY_ROWS = 24  # of the result, for which they are copied, too
LARGE = 1 << 20  # multiplications, beyond those of the products that OpenBLAS has small kernels for

_intp = cgutils.intp_t


class _Matrix(NamedTuple):
    """A matrix, from an element on: how many bytes are from row to row, and from column to column."""

    data: ir.Value
    row: ir.Value
    column: ir.Value

    def at(self, builder: ir.IRBuilder, row: ir.Value, column: ir.Value) -> ir.Value:
        """The address of an element."""
        steps = builder.add(builder.mul(row, self.row), builder.mul(column, self.column))
        return builder.gep(self.data, [steps])


def _matrix(
    context: Any, builder: ir.IRBuilder, kind: types.Array, value: ir.Value
) -> tuple[_Matrix, Sequence[ir.Value]]:
    """The matrix of an array, and its extents."""
    data = builder.bitcast(part(context, builder, kind, value, "data"), cgutils.voidptr_t)
    shape, strides = (leaves(builder, part(context, builder, kind, value, name)) for name in ("shape", "strides"))
    return _Matrix(data, *strides), shape


class _Addition:
    """The instructions of out += left @ right, or -=: `rows` by `columns` elements, of `count` terms each.

    is_fused: a product and its sum are rounded once, as BLAS does it; otherwise each is, as in the loops that it stands
    for. is_stored: what is in `out` before is not added to, if there are terms.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        element: ir.Type,
        out: _Matrix,
        left: _Matrix,
        right: _Matrix,
        extents: tuple[ir.Value, ir.Value, ir.Value],
        is_taken_off: bool,
        is_fused: bool,
        is_stored: bool = False,
    ):
        self.builder, self.element = builder, element
        self.total = builder.fsub if is_taken_off else builder.fadd
        self.is_stored = is_stored
        self.flags = ("contract",) if is_fused else ()
        self.out, self.left, self.right = out, left, right
        self.rows, self.columns, self.count = extents
        self.itemsize = 8 if isinstance(element, ir.DoubleType) else 4
        with builder.goto_entry_block():
            panel = builder.alloca(ir.ArrayType(ir.IntType(8), DEPTH * WIDTHS[0]))
        panel.align = WIDTHS[0]
        self.panel = builder.bitcast(panel, cgutils.voidptr_t)

    def write(self) -> None:
        builder = self.builder
        with cgutils.for_range_slice(builder, _intp(0), self.count, _intp(DEPTH)) as (first, _):
            left = builder.sub(self.count, first)
            depth = builder.select(builder.icmp_signed("<", left, _intp(DEPTH)), left, _intp(DEPTH))
            done: ir.Value = _intp(0)
            whole = builder.select(self.is_beside(self.out.column), self.columns, _intp(0))
            for size in WIDTHS:
                strip = _Strip(self, ir.VectorType(self.element, size // self.itemsize), first, depth)
                done = counted(builder, done, whole, strip.type.count, strip.write)
            few = _Few(self, strip.type, first, depth)
            with cgutils.for_range_slice(builder, done, self.columns, _intp(strip.type.count)) as (column, _):
                few.write(column)

    def is_beside(self, length: ir.Value) -> ir.Value:
        """Whether elements so many bytes apart lie side by side."""
        return self.builder.icmp_signed("==", length, _intp(self.itemsize))


def counted(
    builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: int, body: Callable[[ir.Value], None]
) -> ir.Value:
    """A loop by steps, as far as there are whole ones; what comes after them.

    LLVM is told that several trips at once are no faster.
    """
    before = builder.block
    test, inside, after = (builder.append_basic_block(name) for name in ("test", "inside", "after"))
    builder.branch(test)
    builder.position_at_end(test)
    counter = builder.phi(_intp)
    counter.add_incoming(start, before)
    end = builder.add(counter, _intp(step))
    builder.cbranch(builder.icmp_signed("<=", end, stop), inside, after)
    builder.position_at_end(inside)
    body(counter)
    counter.add_incoming(end, builder.block)
    _branch_back(builder, test)
    builder.position_at_end(after)
    return counter


def _branch_back(builder: ir.IRBuilder, test: ir.Block) -> None:
    module = builder.module
    own = module.add_metadata(["llvm.loop.unroll.disable"])
    made = module.add_metadata([own, own])
    # what is said of a loop names itself first
    made.operands = (made, own)
    builder.branch(test).set_metadata("llvm.loop", made)


class _Strip:
    """Columns of a result, as many as a vector has elements, for some terms."""

    def __init__(self, addition: _Addition, kind: ir.VectorType, first: ir.Value, depth: ir.Value):
        self.addition, self.builder, self.type = addition, addition.builder, kind
        self.first, self.depth = first, depth

    def write(self, column: ir.Value) -> None:
        """The instructions for all rows of the columns from this one on."""
        builder, addition = self.builder, self.addition
        source, step = self.terms(column)
        done: ir.Value = _intp(0)
        for rows in ROWS:

            def tile(row: ir.Value, rows: int = rows) -> None:
                self.tile([builder.add(row, _intp(k)) for k in range(rows)], column, source, step)

            done = counted(builder, done, addition.rows, rows, tile)

    def terms(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Where the columns of `right` lie side by side, and how many bytes are from row to row."""
        builder, addition, right = self.builder, self.addition, self.addition.right
        there = right.at(builder, self.first, column)
        # rows far apart fall on each other in a cache, which many rows of the result would have to wait for
        is_short = builder.icmp_signed("<", addition.rows, _intp(MANY_ROWS))
        is_taken = builder.and_(addition.is_beside(right.column), is_short)
        with builder.if_else(is_taken) as (as_it_is, copied):
            with as_it_is:
                first_end = builder.block
            with copied:
                self.copy(there, column)
                second_end = builder.block
        source, step = builder.phi(cgutils.voidptr_t), builder.phi(_intp)
        for phi, one, other in ((source, there, addition.panel), (step, right.row, _intp(WIDTHS[0]))):
            phi.add_incoming(one, first_end)
            phi.add_incoming(other, second_end)
        return source, step

    def offsets(self, matrix: _Matrix, column: ir.Value) -> list[ir.Value]:
        """How many bytes the columns are from this one."""
        return [self.builder.mul(_intp(c), matrix.column) for c in range(self.type.count)]

    def copy(self, there: ir.Value, column: ir.Value) -> None:
        """Copies the columns of `right`, so that those of one row lie side by side."""
        builder, right = self.builder, self.addition.right
        is_beside = self.addition.is_beside(right.column)
        with builder.if_else(is_beside) as (whole, apart):
            with whole:
                self.copy_rows(there)
            with apart:
                self.copy_columns(there, column)

    def copy_rows(self, there: ir.Value) -> None:
        """The same where they lie side by side, far from those of the next row."""
        builder, right = self.builder, self.addition.right

        def row(k: ir.Value) -> None:
            found = self.loaded(builder.gep(there, [builder.mul(k, right.row)]), self.type)
            self.stored(found, builder.gep(self.addition.panel, [builder.mul(k, _intp(WIDTHS[0]))]))

        counted(builder, _intp(0), self.depth, 1, row)

    def copy_columns(self, there: ir.Value, column: ir.Value) -> None:
        """The same where they do not."""
        builder, right, count = self.builder, self.addition.right, self.type.count
        offsets = self.offsets(right, column)

        def place(k: ir.Value) -> ir.Value:
            return builder.gep(self.addition.panel, [builder.mul(k, _intp(WIDTHS[0]))])

        def block(k: ir.Value) -> None:
            start = builder.gep(there, [builder.mul(k, right.row)])
            columns = [self.loaded(builder.gep(start, [offset]), self.type) for offset in offsets]
            for r, row in enumerate(self.turned(columns)):
                self.stored(row, place(builder.add(k, _intp(r))))

        def one(k: ir.Value) -> None:
            start = builder.gep(there, [builder.mul(k, right.row)])
            for c, offset in enumerate(offsets):
                number = self.loaded(builder.gep(start, [offset]), self.type.element)
                self.stored(number, builder.gep(place(k), [_intp(c * self.addition.itemsize)]))

        whole = builder.select(self.addition.is_beside(right.row), self.depth, _intp(0))
        done = counted(builder, _intp(0), whole, count, block)
        counted(builder, done, self.depth, 1, one)

    def turned(self, vectors: Sequence[ir.Value]) -> list[ir.Value]:
        """The transpose of a square of elements: halves of two vectors change places, then halves of those."""
        made, count = list(vectors), len(vectors)
        step = count // 2
        while step:
            for i in (i for i in range(count) if not i & step):
                pair = made[i], made[i + step]
                low = [count + k - step if k & step else k for k in range(count)]
                high = [count + k if k & step else k + step for k in range(count)]
                made[i], made[i + step] = (self.shuffled(*pair, places) for places in (low, high))
            step //= 2
        return made

    def shuffled(self, one: ir.Value, other: ir.Value, places: Sequence[int]) -> ir.Value:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
        return self.builder.shuffle_vector(one, other, mask)

    def tile(self, rows: Sequence[ir.Value], column: ir.Value, source: ir.Value, step: ir.Value) -> None:
        """Adds the terms of these rows, for each k of all of them."""
        builder, (out, left) = self.builder, (self.addition.out, self.addition.left)
        places = [out.at(builder, row, column) for row in rows]
        factors = [left.at(builder, row, self.first) for row in rows]
        totals = [self.found(place, column) for place in places]
        if self.addition.is_stored:
            is_begun = builder.icmp_signed("!=", self.first, _intp(0))
            totals = [builder.select(is_begun, total, ir.Constant(self.type, None)) for total in totals]
        before = builder.block
        test, inside, after = (builder.append_basic_block(name) for name in ("term", "terms", "summed"))
        builder.branch(test)
        builder.position_at_end(test)
        k, *sums = (builder.phi(kind) for kind in (_intp, *[self.type] * len(rows)))
        for phi, value in zip((k, *sums), (_intp(0), *totals), strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", k, self.depth), inside, after)
        builder.position_at_end(inside)
        columns = self.loaded(builder.gep(source, [builder.mul(k, step)]), self.type)
        for phi, factor in zip(sums, factors, strict=True):
            number = self.loaded(builder.gep(factor, [builder.mul(k, left.column)]), self.type.element)
            term = builder.fmul(self.spread(number), columns, flags=self.addition.flags)
            phi.add_incoming(self.addition.total(phi, term, flags=self.addition.flags), inside)
        k.add_incoming(builder.add(k, _intp(1)), inside)
        _branch_back(builder, test)
        builder.position_at_end(after)
        for place, total in zip(places, sums, strict=True):
            self.left(total, place, column)

    def found(self, place: ir.Value, column: ir.Value) -> ir.Value:
        """What is in the columns of a row of the result, from this one on."""
        return self.loaded(place, self.type)

    def left(self, total: ir.Value, place: ir.Value, column: ir.Value) -> None:
        """Stores it there."""
        self.stored(total, place)

    def loaded(self, address: ir.Value, kind: ir.Type) -> ir.Value:
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()), align=self.addition.itemsize)

    def stored(self, value: ir.Value, address: ir.Value) -> None:
        self.builder.store(value, self.builder.bitcast(address, value.type.as_pointer()), align=self.addition.itemsize)

    def spread(self, number: ir.Value) -> ir.Value:
        """The number in all elements of a vector."""
        empty = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.IntType(32)(0))
        return self.shuffled(first, empty, [0] * self.type.count)


class _Few(_Strip):
    """Columns that are fewer than a vector has elements, or apart in the result."""

    def terms(self, column: ir.Value) -> tuple[ir.Value, ir.Value]:
        self.copy_columns(self.addition.right.at(self.builder, self.first, column), column)
        return self.addition.panel, _intp(WIDTHS[0])

    def offsets(self, matrix: _Matrix, column: ir.Value) -> list[ir.Value]:
        builder = self.builder
        last = builder.sub(self.addition.columns, builder.add(column, _intp(1)))
        columns = [_intp(c) for c in range(self.type.count)]
        nearest = [builder.select(builder.icmp_signed("<", c, last), c, last) for c in columns]
        return [builder.mul(c, matrix.column) for c in nearest]

    def found(self, place: ir.Value, column: ir.Value) -> ir.Value:
        row: ir.Value = ir.Constant(self.type, ir.Undefined)
        for c, offset in enumerate(self.offsets(self.addition.out, column)):
            number = self.loaded(self.builder.gep(place, [offset]), self.type.element)
            row = self.builder.insert_element(row, number, ir.IntType(32)(c))
        return row

    def left(self, total: ir.Value, place: ir.Value, column: ir.Value) -> None:
        for c, offset in enumerate(self.offsets(self.addition.out, column)):
            number = self.builder.extract_element(total, ir.IntType(32)(c))
            self.stored(number, self.builder.gep(place, [offset]))


def _lower_tiles(
    is_taken_off: bool, is_fused: bool, context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]
) -> ir.Value:
    (out, (rows, columns)), (left, (_, count)), (right, _) = (
        _matrix(context, builder, kind, value) for kind, value in zip(sig.args, args, strict=True)
    )
    # rows of the result lie side by side, or columns, in which case it is the transposed product
    is_turned = builder.icmp_signed("!=", out.column, _intp(sig.args[0].dtype.bitwidth // 8))

    def chosen(one: Sequence[ir.Value], other: Sequence[ir.Value]) -> list[ir.Value]:
        return [builder.select(is_turned, b, a) for a, b in zip(one, other, strict=True)]

    def transposed(matrix: _Matrix) -> _Matrix:
        return _Matrix(matrix.data, matrix.column, matrix.row)

    _Addition(
        builder,
        context.get_value_type(sig.args[0].dtype),
        _Matrix(*chosen(out, transposed(out))),
        _Matrix(*chosen(left, transposed(right))),
        _Matrix(*chosen(right, transposed(left))),
        (*chosen((rows, columns), (columns, rows)), count),
        is_taken_off,
        is_fused,
    ).write()
    return context.get_dummy_value()


# ------------------------------------------------------------------------------------- instead of a call of BLAS


def takes_tiles():  # type: ignore[no-untyped-def]
    """Whether products are made in tiles, where their extents suit that: on such a machine, if BLAS would make them in
    one thread, and not with ADJIT_TILES=0."""
    raise NotImplementedError


def in_tiles(out, left, right, left_turned, right_turned):  # type: ignore[no-untyped-def]
    """out = left @ right, of arrays that are the transposes where the flags are not zero, and of some terms."""
    raise NotImplementedError


@register_jitable
def suits_tiles(rows, count, columns, left_turned):  # type: ignore[no-untyped-def]
    """Whether tiles are quicker than BLAS for a product of `count` terms, with the transpose of an array on the left or
    without."""
    # OpenBLAS has small kernels for fewer
    if rows * count * columns < LARGE or count < 16 or rows < MANY_ROWS or columns > 256:
        return False
    # what is turned is read across its rows
    return (rows <= 64 and 32 < columns <= 192) if left_turned else columns >= 16


def _lower_takes_tiles(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    if not has_wide_vectors() or not switches.is_on("ADJIT_TILES", usually=True) or not counts_threads():
        return cgutils.false_bit
    kind = ir.FunctionType(ir.IntType(32), ())
    threads = builder.call(cgutils.get_or_insert_function(builder.module, kind, THREADS), ())
    return builder.icmp_signed("==", threads, threads.type(1))


def _lower_in_tiles(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    def turned(k: int, flag: ir.Value) -> tuple[_Matrix, Sequence[ir.Value]]:
        matrix, shape = _matrix(context, builder, sig.args[k], args[k])
        is_turned = builder.icmp_signed("!=", flag, flag.type(0))
        (row, column), extents = (
            [builder.select(is_turned, b, a) for a, b in zip(found, found[::-1], strict=True)]
            for found in ((matrix.row, matrix.column), shape)
        )
        return _Matrix(matrix.data, row, column), extents

    out, (rows, columns) = _matrix(context, builder, sig.args[0], args[0])
    (left, (_, count)), (right, _) = turned(1, args[3]), turned(2, args[4])
    element = context.get_value_type(sig.args[0].dtype)
    _Addition(builder, element, out, left, right, (rows, columns, count), False, True, True).write()
    return context.get_dummy_value()


def _of_three(context: Any) -> Any:
    return lambda out, left, right: types.none


def _lower_call(callee: Any, context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
    # what compiling takes, and importing adjit does not
    from adjit.runtime.backend.separate_compilation import known_call, write_call

    # one function for all orders in which matrices lie
    kinds = tuple(kind.copy(layout="A", readonly=False) for kind in sig.args)
    call = known_call(callee, kinds)
    assert call is not None
    write_call(context, builder, call, kinds, args)
    return context.get_dummy_value()


told(takes_tiles, lambda context: lambda: types.boolean, _lower_takes_tiles, 0)
told(in_tiles, lambda context: lambda out, left, right, left_turned, right_turned: types.none, _lower_in_tiles, 5)


def _compiled_once(callee: Any, is_taken_off: bool, is_fused: bool) -> Any:
    """The function that calls of `callee` call, compiled once for each kind of float."""

    def tiles(out, left, right):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def whole(out, left, right):  # type: ignore[no-untyped-def]
        tiles(out, left, right)

    whole.__qualname__ = callee.__name__
    told(tiles, _of_three, functools.partial(_lower_tiles, is_taken_off, is_fused), 3)
    told(callee, _of_three, functools.partial(_lower_call, whole), 3)
    return whole


OWN = (
    _compiled_once(add_product, False, False),
    _compiled_once(subtract_product, True, False),
    _compiled_once(fused_add_product, False, True),
    _compiled_once(fused_subtract_product, True, True),
)
