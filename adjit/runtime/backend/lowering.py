"""The instructions of generated code: those of numba, but fewer where generated code has most of its statements.

In: a function in numba's typed form. Out: LLVM instructions that mean the same as those of numba's own `Lower`.

    x * y                one instruction, without another search for the types of this product
    y = a[i, j]          10 instructions, not 40: the address of the element, without a copy of the array's description
    v = a[i:j]           40, not 180
    for i in range(n)    20, not 110: a range whose step is known

LLVM makes the same of them in the end, but what it has to read, and Python to write, is less than half. Of ranges it
makes more: where a counter is compared with the end of its range, it sees which indices are not negative. Whatever is
not one of these is left to numba.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils, ir
from numba.core.lowering import Lower
from numba.np import arrayobj

# Values without references to count.
_PLAIN = types.Number | types.Boolean | types.RangeType | types.RangeIteratorType | types.SliceType | types.NoneType

_EXTREMES = {np.maximum: ">", np.minimum: "<"}

_OTHER_SIZE = "total size of new array must be unchanged"

_FLOAT_INSTRUCTIONS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}


class _Range(NamedTuple):
    """A range whose step is a constant."""

    value: llvm.Value
    start: llvm.Value
    stop: llvm.Value
    step: int


class _Axis(NamedTuple):
    """What is taken of an axis: from `first` on, `extent` elements; one of them, and no axis, if that is None."""

    first: llvm.Value
    extent: llvm.Value | None


class GeneratedLower(Lower):
    """Lowers the statements of one function."""

    def init(self) -> None:
        super().init()
        self._ranges: dict[int, _Range] = {}
        self._counting: dict[int, int] = {}  # iterators over ranges with the step 1 or -1, by what makes them

    def lower_expr(self, resty: types.Type, expr: ir.Expr) -> llvm.Value:
        made = None
        if expr.op == "call":
            made = self._call(resty, expr)
        elif expr.op == "getiter":
            made = self._range_iterator(expr)
        elif expr.op == "iternext" and isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            made = self._next_of_range(resty, expr)
        elif expr.op in ("pair_first", "pair_second") and _is_plain(resty):
            made = self.builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
        return super().lower_expr(resty, expr) if made is None else made

    # ------------------------------------------------------------------------------------------------------ variables

    def storevar(self, value: llvm.Value, name: str, argidx: int | None = None) -> None:
        type_ = self.typeof(name)
        is_local = name in self._singly_assigned_vars
        if argidx is not None or is_local or not (_is_plain(type_) or isinstance(type_, types.Array)):
            super().storevar(value, name, argidx)
            return
        # numba reads the whole of what was there before, to drop its references
        self._alloca_var(name, type_)
        if isinstance(type_, types.Array):
            self._drop(name, type_)
        self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        type_ = self.typeof(name)
        is_local = name in self._blk_local_varmap
        if is_local or not (_is_plain(type_) or isinstance(type_, types.Array)):
            super().delvar(name)
            return
        # it is deleted before the block that sets it
        self._singly_assigned_vars.discard(name)
        self._alloca_var(name, type_)
        if isinstance(type_, types.Array):
            self._drop(name, type_)
            self.builder.store(self.getvar(name).type.pointee(None), self.getvar(name))

    def _drop(self, name: str, type_: types.Array) -> None:
        super().decref(types.MemInfoPointer(type_.dtype), self._part(name, type_, "meminfo"))

    def incref(self, typ: types.Type, val: llvm.Value) -> None:
        if isinstance(typ, types.Array):
            super().incref(types.MemInfoPointer(typ.dtype), self._extracted(val, typ, "meminfo"))
        elif not _is_plain(typ):
            super().incref(typ, val)

    def decref(self, typ: types.Type, val: llvm.Value) -> None:
        if isinstance(typ, types.Array):
            super().decref(types.MemInfoPointer(typ.dtype), self._extracted(val, typ, "meminfo"))
        elif not _is_plain(typ):
            super().decref(typ, val)

    def _part(self, name: str, type_: types.Type, field: str) -> llvm.Value:
        """A field of what a variable holds."""
        if name in self._blk_local_varmap:
            return self._extracted(self._blk_local_varmap[name], type_, field)
        return self.builder.load(cgutils.gep_inbounds(self.builder, self.getvar(name), 0, self._position(type_, field)))

    def _extracted(self, value: llvm.Value, type_: types.Type, field: str) -> llvm.Value:
        return self.builder.extract_value(value, self._position(type_, field))

    def _position(self, type_: types.Type, field: str) -> int:
        return int(self.context.data_model_manager[type_].get_field_position(field))

    def _made(self, type_: types.Type, **fields: llvm.Value) -> llvm.Value:
        """A value with these fields."""
        made = self.context.get_constant_undef(type_)
        for field, value in fields.items():
            made = self.builder.insert_value(made, value, self._position(type_, field))
        return made

    # ------------------------------------------------------------------------------------------------------ arithmetic

    def lower_binop(self, resty: types.Type, expr: ir.Expr, op: Any) -> llvm.Value:
        instruction = _FLOAT_INSTRUCTIONS.get(op)
        signature = self.fndesc.calltypes[expr]
        left, right = signature.args
        is_raising = op is operator.truediv and self.context.error_model.raise_on_fp_zero_division
        if instruction is None or left != right or not isinstance(left, types.Float) or is_raising:
            return super().lower_binop(resty, expr, op)
        # numba would look for the types of this one again, with each operand as a constant or not
        values = [
            self.context.cast(self.builder, self.loadvar(operand.name), self.typeof(operand.name), left)
            for operand in (expr.lhs, expr.rhs)
        ]
        made = getattr(self.builder, instruction)(*values)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    # ------------------------------------------------------------------------------------------------------- elements

    def lower_getitem(self, resty: types.Type, expr: Any, value: Any, index: Any, signature: Any) -> llvm.Value:
        array = self.typeof(value.name)
        selectors = self._selectors(array, index)
        made = None
        if selectors is not None and isinstance(signature.return_type, types.Array):
            made = self._view(value.name, array, selectors, signature.return_type)
        elif selectors is not None:
            address = self._address(value.name, array, self._taken(value.name, array, selectors))
            made = arrayobj.load_item(self.context, self.builder, array, address)
        if made is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        selectors = self._selectors(array, index_var)
        is_part = selectors is None or any(not isinstance(k, types.Integer) for k, _ in selectors)
        if selectors is None or is_part or len(selectors) < array.ndim:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], array.dtype)
        address = self._address(target_var.name, array, self._taken(target_var.name, array, selectors))
        return arrayobj.store_item(self.context, self.builder, array, value, address)

    def _selectors(self, array: types.Type, index: Any) -> list[tuple[types.Type, llvm.Value]] | None:
        """Types and values of an index, one an axis; None for what is left to numba."""
        kind = self.typeof(index.name)
        kinds = _parts(kind) if isinstance(kind, types.BaseTuple) else (kind,)
        if not isinstance(array, types.Array) or self.context.enable_boundscheck or len(kinds) > array.ndim:
            return None
        if not kinds or not all(isinstance(k, types.Integer) or k == types.slice2_type for k in kinds):
            return None
        value = self.loadvar(index.name)
        if not isinstance(kind, types.BaseTuple):
            return [(kind, value)]
        return list(zip(kinds, cgutils.unpack_tuple(self.builder, value, len(kinds)), strict=True))

    def _taken(self, name: str, array: types.Array, selectors: Sequence[tuple[types.Type, llvm.Value]]) -> list[_Axis]:
        return [
            self._some(kind, value, self._extent(name, array, axis))
            if isinstance(kind, types.SliceType)
            else self._one(kind, value, name, array, axis)
            for axis, (kind, value) in enumerate(selectors)
        ]

    def _one(self, kind: Any, index: llvm.Value, name: str, array: types.Array, axis: int) -> _Axis:
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value >= 0:
            return _Axis(cgutils.intp_t(kind.literal_value), None)
        extent = self._extent(name, array, axis) if kind.signed else None
        return _Axis(arrayobj.fix_integer_index(self.context, self.builder, kind, index, extent), None)

    def _some(self, kind: types.SliceType, value: llvm.Value, extent: llvm.Value) -> _Axis:
        """Of an axis of this extent, by a slice without a step."""
        builder, zero = self.builder, extent.type(0)
        ends = []
        for field in ("start", "stop"):
            end = self._extracted(value, kind, field)
            end = builder.select(builder.icmp_signed("<", end, zero), builder.add(end, extent), end)
            end = builder.select(builder.icmp_signed("<", end, zero), zero, end)
            ends.append(builder.select(builder.icmp_signed(">=", end, extent), extent, end))
        start, stop = ends
        length = builder.sub(stop, start)
        return _Axis(start, builder.select(builder.icmp_signed("<=", length, zero), zero, length))

    def _extent(self, name: str, array: types.Array, axis: int) -> llvm.Value:
        return self.builder.extract_value(self._part(name, array, "shape"), axis)

    def _address(self, name: str, array: types.Array, axes: Sequence[_Axis]) -> llvm.Value:
        """Where the first of the elements is; axes at the end that are missing are taken whole."""
        builder = self.builder
        data = self._part(name, array, "data")
        if array.layout == "A":
            strides = self._part(name, array, "strides")
            steps = [builder.mul(builder.extract_value(strides, k), axis.first) for k, axis in enumerate(axes)]
            return cgutils.pointer_add(builder, data, functools.reduce(builder.add, steps))
        shape = self._part(name, array, "shape") if array.ndim > 1 else None
        steps = []
        for k, axis in enumerate(axes):
            inner = range(k + 1, array.ndim) if array.layout == "C" else range(k)
            extents = [builder.extract_value(shape, other) for other in inner]
            steps.append(builder.mul(axis.first, functools.reduce(builder.mul, extents)) if extents else axis.first)
        return builder.gep(data, [functools.reduce(builder.add, steps)])

    def _view(
        self, name: str, array: types.Array, selectors: Sequence[tuple[types.Type, llvm.Value]], result: types.Array
    ) -> llvm.Value:
        builder = self.builder
        axes = self._taken(name, array, selectors)
        data = self._address(name, array, axes)
        strides = self._part(name, array, "strides")
        extents = [axis.extent for axis in axes] + [self._extent(name, array, k) for k in range(len(axes), array.ndim)]
        kept = [(e, builder.extract_value(strides, k)) for k, e in enumerate(extents) if e is not None]
        items = kept[0][0]
        for extent, _ in kept[1:]:
            items = builder.mul(items, extent, flags=["nsw"])
        meminfo = self._part(name, array, "meminfo")
        super().incref(types.MemInfoPointer(array.dtype), meminfo)
        return self._made(
            result,
            meminfo=meminfo,
            parent=self._part(name, array, "parent"),
            nitems=items,
            itemsize=self._part(name, array, "itemsize"),
            data=data,
            shape=cgutils.pack_array(builder, [extent for extent, _ in kept]),
            strides=cgutils.pack_array(builder, [stride for _, stride in kept]),
        )

    def _reshaped(self, resty: types.Array, expr: ir.Expr, kinds: Sequence[types.Type]) -> llvm.Value | None:
        """A view of other extents of an array in C order. LLVM sees those that are constants, which numba has from
        memory."""
        array = self.typeof(expr.func.name).this
        if array.layout != "C" or not kinds or not all(isinstance(k, types.Integer) for k in kinds):
            return None
        builder, one, zero = self.builder, cgutils.intp_t(1), cgutils.intp_t(0)
        given = self.loadvar(expr.func.name)
        extents = [
            cgutils.intp_t(kind.literal_value)
            if isinstance(kind, types.IntegerLiteral)
            else self.context.cast(builder, self.loadvar(a.name), kind, types.intp)
            for a, kind in zip(expr.args, kinds, strict=True)
        ]
        size = self._extracted(given, array, "nitems")
        # the one below zero is as long as it has to be
        is_open = [builder.icmp_signed("<", extent, zero) for extent in extents]
        known = functools.reduce(
            builder.mul, [builder.select(o, one, e) for o, e in zip(is_open, extents, strict=True)]
        )
        is_empty = builder.icmp_signed("==", known, zero)
        rest = builder.select(is_empty, zero, builder.sdiv(size, builder.select(is_empty, one, known)))
        extents = [builder.select(o, rest, e) for o, e in zip(is_open, extents, strict=True)]
        count = functools.reduce(builder.add, [builder.zext(o, zero.type) for o in is_open])
        for fails, message in (
            (builder.icmp_signed(">", count, one), "multiple negative shape values"),
            (builder.icmp_signed("!=", functools.reduce(builder.mul, extents), size), _OTHER_SIZE),
        ):
            with builder.if_then(fails, likely=False):
                self.context.call_conv.return_user_exc(builder, ValueError, (message,))
        strides = [self._extracted(given, array, "itemsize")]
        for extent in extents[:0:-1]:
            strides.append(builder.mul(strides[-1], extent))
        meminfo = self._extracted(given, array, "meminfo")
        super().incref(types.MemInfoPointer(array.dtype), meminfo)
        return self._made(
            resty,
            meminfo=meminfo,
            parent=self._extracted(given, array, "parent"),
            nitems=size,
            itemsize=strides[0],
            data=self._extracted(given, array, "data"),
            shape=cgutils.pack_array(builder, extents),
            strides=cgutils.pack_array(builder, strides[::-1]),
        )

    # --------------------------------------------------------------------------------------------- ranges and slices

    def _call(self, resty: Any, expr: ir.Expr) -> llvm.Value | None:
        callee = getattr(self.typeof(expr.func.name), "typing_key", None)
        if callee not in (range, slice, "array.reshape", *_EXTREMES) or expr.kws or expr.vararg is not None:
            return None
        kinds = [self.typeof(a.name) for a in expr.args]
        if callee == "array.reshape":
            return self._reshaped(resty, expr, kinds)
        if callee in _EXTREMES:
            return self._extreme(_EXTREMES[callee], resty, expr, kinds)
        if callee is slice and resty == types.slice2_type:
            return self._slice(resty, expr, kinds)
        if callee is range and all(isinstance(k, types.Integer) for k in kinds):
            return self._range(resty, expr, kinds)
        return None

    def _extreme(self, order: str, resty: types.Type, expr: ir.Expr, kinds: Sequence[types.Type]) -> llvm.Value | None:
        """The greater or less of two floats, the first of equals, and nan if one of them is: without a branch."""
        if len(kinds) != 2 or not isinstance(resty, types.Float) or not all(isinstance(k, types.Number) for k in kinds):
            return None
        one, other = (
            self.context.cast(self.builder, self.loadvar(a.name), k, resty)
            for a, k in zip(expr.args, kinds, strict=True)
        )
        is_taken = self.builder.fcmp_ordered(order, other, one)
        # so written, and not as two choices, it is one instruction but for nan
        is_taken = self.builder.or_(is_taken, self.builder.fcmp_unordered("uno", other, other))
        return self.builder.select(is_taken, other, one)

    def _slice(self, resty: types.SliceType, expr: ir.Expr, kinds: Sequence[types.Type]) -> llvm.Value | None:
        if len(expr.args) != 2 or not all(isinstance(k, types.Integer | types.NoneType) for k in kinds):
            return None
        start, stop = (
            self.context.cast(self.builder, self.loadvar(end.name), kind, types.intp)
            if isinstance(kind, types.Integer)
            else cgutils.intp_t(usual)
            for end, kind, usual in zip(expr.args, kinds, (0, 2 ** (cgutils.intp_t.width - 1) - 1), strict=True)
        )
        return self._made(resty, start=start, stop=stop, step=cgutils.intp_t(1))

    def _range(self, resty: types.RangeType, expr: ir.Expr, kinds: Sequence[types.Type]) -> llvm.Value | None:
        """A range, remembered with its parts."""
        step = kinds[2].literal_value if len(kinds) == 3 and isinstance(kinds[2], types.IntegerLiteral) else 1
        if (len(kinds) == 3 and not isinstance(kinds[2], types.IntegerLiteral)) or step == 0 or not resty.dtype.signed:
            return None
        values = [
            self.context.cast(self.builder, self.loadvar(a.name), k, resty.dtype)
            for a, k in zip(expr.args[:2], kinds, strict=False)
        ]
        own = self.context.get_value_type(resty.dtype)
        start, stop = values if len(values) == 2 else (own(0), values[0])
        made = self._made(resty, start=start, stop=stop, step=own(step))
        self._ranges[id(made)] = _Range(made, start, stop, step)
        return made

    def _range_iterator(self, expr: ir.Expr) -> llvm.Value | None:
        known = self._ranges.get(id(self._blk_local_varmap.get(expr.value.name)))
        if known is None:
            return None
        builder, zero, stop = self.builder, known.start.type(0), known.stop
        distance = builder.sub(stop, known.start)
        has_trips = builder.icmp_signed(">" if known.step > 0 else "<", distance, zero)
        if abs(known.step) == 1:
            trips = distance if known.step == 1 else builder.neg(distance)
            self._counting[id(expr)] = known.step
            if isinstance(known.start, llvm.Constant):
                # where it begins is no question, and so not how many trips there are
                stop = builder.select(has_trips, stop, known.start)
        else:
            step = known.start.type(known.step)
            rest = builder.srem(distance, step)
            is_uneven = builder.icmp_signed("!=", rest, zero)
            trips = builder.add(builder.sdiv(distance, step), builder.zext(is_uneven, zero.type))
        return self._made(
            self.typeof(expr.value.name).iterator_type,
            iter=cgutils.alloca_once_value(builder, known.start),
            stop=stop,
            step=known.start.type(known.step),
            count=cgutils.alloca_once_value(builder, builder.select(has_trips, trips, zero)),
        )

    def _next_of_range(self, resty: types.Type, expr: ir.Expr) -> llvm.Value:
        """The next number, and whether there is one. LLVM does more with loops whose counters stop at the end."""
        builder, type_ = self.builder, self.typeof(expr.value.name)
        place, count, stop = (self._part(expr.value.name, type_, field) for field in ("iter", "count", "stop"))
        value = builder.load(place)
        counting = self._counting_by(expr.value)
        if counting is not None:
            # not by how many trips are left: so LLVM knows between what ends the numbers are
            goes_on = builder.icmp_signed("<" if counting > 0 else ">", value, stop)
            with builder.if_then(goes_on):
                builder.store(builder.add(value, value.type(counting), flags=["nsw"]), place)
        else:
            left = builder.load(count)
            goes_on = builder.icmp_signed(">", left, left.type(0))
            with builder.if_then(goes_on):
                builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
                builder.store(builder.add(value, self._part(expr.value.name, type_, "step")), place)
        pair = builder.insert_value(self.context.get_constant_undef(resty), value, 0)
        return builder.insert_value(pair, goes_on, 1)

    def _counting_by(self, iterator: ir.Var) -> int | None:
        """The step of a range, 1 or -1, whose numbers an iterator gives; None if that is not known."""
        try:
            return self._counting.get(id(self.func_ir.get_definition(iterator)))
        except KeyError:
            return None


def _parts(type_: types.BaseTuple) -> tuple[types.Type, ...]:
    return tuple(type_.types)  # type: ignore[attr-defined]


def _is_plain(type_: types.Type) -> bool:
    """Whether values of the type refer to nothing."""
    if isinstance(type_, types.BaseTuple):
        return all(map(_is_plain, _parts(type_)))
    if isinstance(type_, types.Pair):
        return _is_plain(type_.first_type) and _is_plain(type_.second_type)
    return isinstance(type_, _PLAIN)
