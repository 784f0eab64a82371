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
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils, ir
from numba.core.lowering import Lower
from numba.np import arrayobj

from adjit.runtime.backend import lifetimes

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


class _Counter(NamedTuple):
    """A loop over a range with the step 1 or -1: where its counter is, and before what it ends."""

    place: llvm.Value
    stop: llvm.Value
    step: int
    is_natural: bool  # whether it is never negative


class _Selector(NamedTuple):
    """What an index has for an axis; `is_natural`: it is known that it is not negative."""

    kind: types.Type
    value: llvm.Value
    is_natural: bool


class _Axis(NamedTuple):
    """What is taken of an axis: from `first` on, `extent` elements, `step` apart; one of them, and no axis, if `extent`
    is None."""

    first: llvm.Value
    extent: llvm.Value | None
    step: int = 1


class GeneratedLower(Lower):
    """Lowers the statements of one function."""

    def init(self) -> None:
        super().init()
        self._ranges: dict[int, _Range] = {}
        self._counters: dict[int, _Counter] = {}  # of ranges with the step 1 or -1, by what makes the iterator
        self._only_counted = self._iterators_only_counted()

    def _find_singly_assigned_variable(self) -> None:
        if self.func_ir.is_generator or not lifetimes.is_known(self.func_ir.blocks):
            super()._find_singly_assigned_variable()
            return
        # those that are values, without a place in memory: set once, in the one block that reads them
        self._blk_local_varmap = {}
        uses = [lifetimes.of_block(block) for block in self.func_ir.blocks.values()]
        times = Counter(s.target.name for b in self.func_ir.blocks.values() for s in b.body if isinstance(s, ir.Assign))
        read = frozenset().union(*(used.read for used in uses))
        self._singly_assigned_vars = {n for used in uses for n in used.set if times[n] == 1 and n not in read}

    def lower_expr(self, resty: types.Type, expr: ir.Expr) -> llvm.Value:
        made = None
        if expr.op == "call":
            made = self._call(resty, expr)
        elif expr.op == "getiter":
            made = self._range_iterator(expr)
        elif expr.op == "iternext" and isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            made = self._next_of_range(resty, expr)
        elif expr.op == "getattr":
            made = self._getattr(resty, expr)
        elif expr.op == "static_getitem":
            made = self._static_view(resty, expr)
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
            made = self._view(value.name, array, self._taken(value.name, array, selectors), signature.return_type)
        elif selectors is not None:
            address = self._address(value.name, array, self._taken(value.name, array, selectors))
            made = arrayobj.load_item(self.context, self.builder, array, address)
        if made is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        selectors = self._selectors(array, index_var)
        is_part = selectors is None or any(not isinstance(s.kind, types.Integer) for s in selectors)
        if selectors is None or is_part or len(selectors) < array.ndim:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, signature.args[2])
        value = self.context.cast(self.builder, value, signature.args[2], array.dtype)
        address = self._address(target_var.name, array, self._taken(target_var.name, array, selectors))
        return arrayobj.store_item(self.context, self.builder, array, value, address)

    def _selectors(self, array: types.Type, index: Any) -> list[_Selector] | None:
        """What is taken by an index, one an axis; None for what is left to numba."""
        kind = self.typeof(index.name)
        kinds = _parts(kind) if isinstance(kind, types.BaseTuple) else (kind,)
        if not isinstance(array, types.Array) or self.context.enable_boundscheck or len(kinds) > array.ndim:
            return None
        if not kinds or not all(isinstance(k, types.Integer) or k == types.slice2_type for k in kinds):
            return None
        value = self.loadvar(index.name)
        if not isinstance(kind, types.BaseTuple):
            return [_Selector(kind, value, self._is_counter(index))]
        values = cgutils.unpack_tuple(self.builder, value, len(kinds))
        made = self._definition(index)
        parts = made.items if isinstance(made, ir.Expr) and made.op == "build_tuple" else [None] * len(kinds)
        natural = [part is not None and self._is_counter(part) for part in parts]
        return list(map(_Selector, kinds, values, natural))

    def _taken(self, name: str, array: types.Array, selectors: Sequence[_Selector]) -> list[_Axis]:
        return [
            self._some(selector.kind, selector.value, self._extent(name, array, axis))
            if isinstance(selector.kind, types.SliceType)
            else self._one(selector, name, array, axis)
            for axis, selector in enumerate(selectors)
        ]

    def _one(self, selector: _Selector, name: str, array: types.Array, axis: int) -> _Axis:
        kind: Any = selector.kind
        if isinstance(kind, types.IntegerLiteral) and kind.literal_value >= 0:
            return _Axis(cgutils.intp_t(kind.literal_value), None)
        extent = self._extent(name, array, axis) if kind.signed and not selector.is_natural else None
        if extent is None:
            return _Axis(self.context.cast(self.builder, selector.value, kind, types.intp), None)
        return _Axis(arrayobj.fix_integer_index(self.context, self.builder, kind, selector.value, extent), None)

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

    def _view(self, name: str, array: types.Array, axes: Sequence[_Axis], result: types.Array) -> llvm.Value:
        builder = self.builder
        data = self._address(name, array, axes)
        strides = self._part(name, array, "strides")
        extents = [axis.extent for axis in axes] + [self._extent(name, array, k) for k in range(len(axes), array.ndim)]
        steps = [axis.step for axis in axes] + [1] * (array.ndim - len(axes))
        kept = [
            (extent, self._times(builder.extract_value(strides, k), steps[k]))
            for k, extent in enumerate(extents)
            if extent is not None
        ]
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

    def _times(self, value: llvm.Value, factor: int) -> llvm.Value:
        return value if factor == 1 else self.builder.mul(value, value.type(factor))

    def _static_view(self, resty: types.Type, expr: Any) -> llvm.Value | None:
        """A view by an index of constants: slices that go upwards, and integers."""
        array = self.typeof(expr.value.name)
        index = expr.index if isinstance(expr.index, tuple) else (expr.index,)
        if not isinstance(array, types.Array) or not isinstance(resty, types.Array) or len(index) > array.ndim:
            return None
        if self.context.enable_boundscheck or not all(type(i) is int or _is_upwards(i) for i in index):
            return None
        axes = []
        for axis, taken in enumerate(index):
            extent = self._extent(expr.value.name, array, axis)
            if isinstance(taken, int):
                first = extent.type(taken)
                axes.append(_Axis(first if taken >= 0 else self.builder.add(first, extent), None))
            else:
                axes.append(self._constant_slice(taken, extent))
        return self._view(expr.value.name, array, axes, resty)

    def _constant_slice(self, taken: slice, extent: llvm.Value) -> _Axis:
        builder, zero, step = self.builder, extent.type(0), taken.step or 1

        def within(end: int) -> llvm.Value:
            value, least = extent.type(end), zero
            if end < 0:
                value = builder.add(extent, value)
                return builder.select(builder.icmp_signed("<", value, least), least, value)
            return builder.select(builder.icmp_signed(">", value, extent), extent, value)

        start = zero if not taken.start else within(taken.start)
        length = extent if taken.stop is None else within(taken.stop)
        if start is not zero:
            length = builder.sub(length, start)
            length = builder.select(builder.icmp_signed("<", length, zero), zero, length)
        if step > 1:
            length = builder.udiv(builder.add(length, extent.type(step - 1)), extent.type(step))
        return _Axis(start, length, step)

    def _getattr(self, resty: types.Type, expr: Any) -> llvm.Value | None:
        """The extents of an array, its size, or its transpose."""
        name, array = expr.value.name, self.typeof(expr.value.name)
        if not isinstance(array, types.Array):
            return None
        if expr.attr == "shape" and isinstance(resty, types.UniTuple):
            return self._part(name, array, "shape")
        if expr.attr == "size":
            return self._part(name, array, "nitems")
        if expr.attr != "T" or array.ndim != 2 or not isinstance(resty, types.Array):
            return None
        shape, strides = (cgutils.unpack_tuple(self.builder, self._part(name, array, f)) for f in ("shape", "strides"))
        turned = {
            field: cgutils.pack_array(self.builder, values[::-1])
            for field, values in (("shape", shape), ("strides", strides))
        }
        fields = ("meminfo", "parent", "nitems", "itemsize", "data")
        parts = {field: self._part(name, array, field) for field in fields}
        super().incref(types.MemInfoPointer(array.dtype), parts["meminfo"])
        return self._made(resty, **parts, **turned)

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
        kind = self.typeof(expr.value.name).iterator_type
        if abs(known.step) == 1:
            if isinstance(known.start, llvm.Constant):
                # where it begins is no question, and so not how many trips there are
                stop = builder.select(has_trips, stop, known.start)
            place = cgutils.alloca_once(builder, known.start.type)
            builder.store(known.start, place)
            self._counters[id(expr)] = _Counter(place, stop, known.step, _is_natural(known))
            if id(expr) in self._only_counted:
                return self.context.get_constant_undef(kind)
            trips = distance if known.step == 1 else builder.neg(distance)
        else:
            place = cgutils.alloca_once_value(builder, known.start)
            step = known.start.type(known.step)
            rest = builder.srem(distance, step)
            is_uneven = builder.icmp_signed("!=", rest, zero)
            trips = builder.add(builder.sdiv(distance, step), builder.zext(is_uneven, zero.type))
        return self._made(
            kind,
            iter=place,
            stop=stop,
            step=known.start.type(known.step),
            count=cgutils.alloca_once_value(builder, builder.select(has_trips, trips, zero)),
        )

    def _next_of_range(self, resty: types.Type, expr: ir.Expr) -> llvm.Value:
        """The next number, and whether there is one. LLVM does more with loops whose counters stop at the end."""
        builder, type_ = self.builder, self.typeof(expr.value.name)
        counter = self._counter(expr.value)
        if counter is not None:
            # not by how many trips are left: so LLVM knows between what ends the numbers are
            value = builder.load(counter.place)
            goes_on = builder.icmp_signed("<" if counter.step > 0 else ">", value, counter.stop)
            with builder.if_then(goes_on):
                builder.store(builder.add(value, value.type(counter.step), flags=["nsw"]), counter.place)
        else:
            place, count = (self._part(expr.value.name, type_, field) for field in ("iter", "count"))
            value, left = builder.load(place), builder.load(count)
            goes_on = builder.icmp_signed(">", left, left.type(0))
            with builder.if_then(goes_on):
                builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
                builder.store(builder.add(value, self._part(expr.value.name, type_, "step")), place)
        pair = builder.insert_value(self.context.get_constant_undef(resty), value, 0)
        return builder.insert_value(pair, goes_on, 1)

    def _counter(self, iterator: ir.Var) -> _Counter | None:
        """The counter of the loop that an iterator is of; None if it is not known."""
        made = self._definition(iterator)
        return None if made is None else self._counters.get(id(made))

    def _iterators_only_counted(self) -> frozenset[int]:
        """What makes the iterators that are asked for nothing but their next number."""
        made, copies, used = {}, [], set()
        for statement in (statement for block in self.blocks.values() for statement in block.body):
            value = statement.value if isinstance(statement, ir.Assign) else None
            if isinstance(value, ir.Var):
                copies.append((statement.target.name, value.name))
            elif isinstance(value, ir.Expr) and value.op == "iternext":
                source = self._definition(value.value)
                if not isinstance(source, ir.Expr) or source.op != "getiter":
                    used.add(value.value.name)
            elif value is not None:
                used |= {variable.name for variable in getattr(value, "list_vars", list)()}
                if isinstance(value, ir.Expr) and value.op == "getiter":
                    made[statement.target.name] = id(value)
            elif not isinstance(statement, ir.Del):
                used |= {variable.name for variable in statement.list_vars()}
        size = -1
        while size != len(used):
            size = len(used)
            used |= {source for target, source in copies if target in used}
        return frozenset(made[name] for name in made if name not in used)

    def _definition(self, variable: ir.Var) -> Any:
        try:
            return self.func_ir.get_definition(variable)
        except KeyError:
            return None

    def _is_counter(self, index: ir.Var) -> bool:
        """Whether an index is the counter of a loop that is never negative."""
        made = self._definition(index)
        if not isinstance(made, ir.Expr) or made.op != "pair_first":
            return False
        step = self._definition(made.value)
        if not isinstance(step, ir.Expr) or step.op != "iternext":
            return False
        counter = self._counter(step.value)
        return counter is not None and counter.is_natural


def _is_natural(known: _Range) -> bool:
    """Whether no number of a range with the step 1 or -1 is negative."""
    end, least = (known.start, 0) if known.step > 0 else (known.stop, -1)
    return isinstance(end, llvm.Constant) and isinstance(end.constant, int) and end.constant >= least


def _is_upwards(taken: Any) -> bool:
    """Whether it is a slice of constants that goes upwards."""
    if not isinstance(taken, slice) or not (taken.step is None or (type(taken.step) is int and taken.step > 0)):
        return False
    return all(end is None or type(end) is int for end in (taken.start, taken.stop))


def _parts(type_: types.BaseTuple) -> tuple[types.Type, ...]:
    return tuple(type_.types)  # type: ignore[attr-defined]


def _is_plain(type_: types.Type) -> bool:
    """Whether values of the type refer to nothing."""
    if isinstance(type_, types.BaseTuple):
        return all(map(_is_plain, _parts(type_)))
    if isinstance(type_, types.Pair):
        return _is_plain(type_.first_type) and _is_plain(type_.second_type)
    return isinstance(type_, _PLAIN)
