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
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils, ir
from numba.core.errors import LoweringError, new_error_context  # type: ignore[attr-defined]
from numba.core.lowering import Lower
from numba.np import arrayobj, npyimpl, ufunc_db

from adjit.runtime.backend import lifetimes, machine_code
from adjit.runtime.backend.arrays import append, are_listed, empty_list, item_of_list, new_array, put_there
from adjit.runtime.backend.pool import ALLOCATION
from adjit.runtime.backend.stand_ins import stand_in
from adjit.runtime.backend.wrapper import suits, write_wrapper

_PARTS = frozenset((llvm.InsertValue, llvm.ExtractValue, llvm.GEPInstr))

# Values without references to count.
_PLAIN = types.Number | types.Boolean | types.RangeType | types.RangeIteratorType | types.SliceType | types.NoneType

# For longer powers of floats numba calls the C library.
_MOST_PRODUCTS = 0x10000

_EXTREMES = {np.maximum: ">", np.minimum: "<"}

_OTHER_SIZE = "total size of new array must be unchanged"

_FLOAT_INSTRUCTIONS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
_INTEGER_INSTRUCTIONS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_DIVISIONS = {
    operator.floordiv: "quotient", operator.ifloordiv: "quotient", operator.mod: "rest", operator.imod: "rest",
}  # fmt: skip
_COMPARISONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip


class _Parts(NamedTuple):
    """A tuple, a range, or what an iterator gives next, as the values that it is made of."""

    kind: types.Type
    values: Sequence[llvm.Value]


class _Counter(NamedTuple):
    """A loop over a range with the step 1 or -1: where its counter is, and before what it ends."""

    place: llvm.Value
    stop: llvm.Value
    step: int


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
        self._counters: dict[int, _Counter] = {}  # of ranges with the step 1 or -1, by what makes the iterator
        self._only_counted = self._iterators_only_counted()
        self._fields: dict[tuple[int, int], tuple[llvm.Value, llvm.Value]] = {}
        self._loaded: dict[str, dict[tuple[int, ...], llvm.Value]] = {}  # in this block, of variables in memory
        self._references: dict[str, llvm.Value] = {}  # of arrays that are values
        self._least: dict[str, int | None] = {}
        known = self.blocks, self._singly_assigned_vars, self.typeof, self._definition
        self._unrolling = machine_code.Unrolling(*known)
        if self._unrolling.has_rows_apart:
            self.library.asks_each_row = True

    def _find_singly_assigned_variable(self) -> None:
        self._wide: frozenset[str] = frozenset()
        if self.func_ir.is_generator or not lifetimes.is_known(self.func_ir.blocks):
            super()._find_singly_assigned_variable()
            return
        self._blk_local_varmap = {}
        known = lifetimes.known_variables(self.func_ir.blocks)
        self._wide = frozenset(n for n in known.wide if isinstance(self.typeof(n), types.Array) or self._is_free(n))
        self._singly_assigned_vars = set(known.local | self._wide)

    def _is_free(self, name: str) -> bool:
        return _is_plain(self.typeof(name))

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        _leave_out_unused(self.function)

    def create_cfunc_wrapper(self) -> None:
        """Nothing: few functions are called by address, and the dispatcher makes it for those."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        fndesc = self.fndesc
        if self.genlower or not suits(fndesc.restype, fndesc.argtypes):
            super().create_cpython_wrapper(release_gil)
        else:
            write_wrapper(self.context, self.library, fndesc, self.env, release_gil)

    def pre_block(self, block: Any) -> None:
        super().pre_block(block)
        self._loaded.clear()

    def lower_block(self, block: Any) -> None:
        self.pre_block(block)
        # what goes wrong is an error of this one, not of each of its statements
        with new_error_context("lowering {where.loc}", where=self, errcls_=LoweringError):
            for statement in block.body:
                self.loc = statement.loc
                self.lower_inst(statement)
        self._unrolling.say(self.module, block.body[-1], self.builder.block.terminator)
        self.post_block(block)

    def lower_inst(self, inst: Any) -> Any:
        # without what is said for debuggers, for which numba writes each statement out
        loc: Any = self.loc
        self.notify_loc(loc)
        if type(inst) is ir.Del:
            self.delvar(inst.value)
        elif type(inst) is ir.Assign:
            argument = inst.value.index + 1 if isinstance(inst.value, ir.Arg) else None
            self.storevar(self.lower_assign(self.typeof(inst.target.name), inst), inst.target.name, argidx=argument)
        elif type(inst) is ir.Return and self._is_returned_as_it_is(inst.value.name):
            self.call_conv.return_value(self.builder, self.loadvar(inst.value.name))
        else:
            return super().lower_inst(inst)
        return None

    def _is_returned_as_it_is(self, name: str) -> bool:
        """Whether a value is the same where it is returned, so that it is not taken apart for that."""
        kind = self.typeof(name)
        if self.genlower or kind != self.fndesc.restype or not isinstance(kind, types.BaseTuple | types.Array):
            return False
        model = self.context.data_model_manager[kind]
        return bool(model.get_value_type() == model.get_return_type())

    def alloca_lltype(self, name: str, lltype: llvm.Type, datamodel: Any = None) -> llvm.Value:
        if not isinstance(getattr(datamodel, "fe_type", None), types.Array):
            return cgutils.alloca_once(self.builder, lltype, name=name)
        # until an array is there, its reference is read, and nothing else
        with self.builder.goto_entry_block():
            place = self.builder.alloca(lltype, name=name)
            self._clear(place)
        return place

    def _clear(self, place: llvm.Value) -> None:
        """Has a place for an array hold none."""
        reference = cgutils.gep_inbounds(self.builder, place, 0, 0)
        self.builder.store(reference.type.pointee(None), reference)

    def lower_assign(self, ty: types.Type, inst: ir.Assign) -> Any:
        if isinstance(inst.value, ir.Var):
            held = self._blk_local_varmap.get(inst.value.name)
            if isinstance(held, _Parts) and held.kind == ty:
                return held
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty: types.Type, expr: ir.Expr) -> Any:
        made = None
        if expr.op == "call":
            made = self._call(resty, expr)
        elif expr.op == "getiter":
            made = self._range_iterator(expr)
        elif expr.op == "iternext" and isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            made = self._next_of_range(resty, expr)
        elif expr.op == "getattr":
            made = self._getattr(resty, expr)
        elif expr.op == "build_list" and not expr.items and are_listed(resty):
            made = empty_list(self.context, self.builder, resty)
        elif expr.op == "static_getitem":
            made = self._static_item(resty, expr)
        elif expr.op == "build_tuple" and _is_plain(resty):
            made = self._tuple(resty, expr)
        elif expr.op == "exhaust_iter" and resty == self.typeof(expr.value.name) and _is_plain(resty):
            made = self._held(expr.value.name)
        elif expr.op in ("pair_first", "pair_second") and _is_plain(resty):
            made = self._item(expr.value.name, int(expr.op == "pair_second"))
        return super().lower_expr(resty, expr) if made is None else made

    # ------------------------------------------------------------------------------------------------------ variables

    def loadvar(self, name: str) -> llvm.Value:
        held = self._blk_local_varmap.get(name)
        return super().loadvar(name) if held is None else self._whole(held)

    def _whole(self, value: Any) -> llvm.Value:
        """What is made of parts, put together."""
        if not isinstance(value, _Parts):
            return value
        if isinstance(value.kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, value.kind, value.values)
        made = self.context.get_constant_undef(value.kind)
        for position, part in enumerate(value.values):
            made = self.builder.insert_value(made, part, position)
        return made

    def _held(self, name: str) -> Any:
        """What a variable holds, in parts if it is."""
        held = self._blk_local_varmap.get(name)
        return self.loadvar(name) if held is None else held

    def _item(self, name: str, position: int) -> llvm.Value:
        """A part of what a variable holds."""
        held = self._held(name)
        return held.values[position] if isinstance(held, _Parts) else self._field(held, position)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        type_ = self.typeof(name)
        if name in self._singly_assigned_vars:
            if name in self._wide and isinstance(type_, types.Array):
                self._keep(value, name, type_, argidx is None)
            self._blk_local_varmap[name] = value
            return
        value = self._whole(value)
        self._loaded.pop(name, None)
        if argidx is not None or not (_is_plain(type_) or isinstance(type_, types.Array)):
            super().storevar(value, name, argidx)
            return
        # numba reads the whole of what was there before, to drop its references
        self._alloca_var(name, type_)
        if isinstance(type_, types.Array):
            self._drop(name, type_)
        self.builder.store(value, self.getvar(name))

    def _keep(self, value: llvm.Value, name: str, type_: types.Array, is_again: bool) -> None:
        """Remembers the reference that is given back where the variable ends, on ways on which it is set."""
        place = self._reference(name)
        if is_again:
            self._give_back(place, type_)
        self.builder.store(self._extracted(value, type_, "meminfo"), place)

    def _reference(self, name: str) -> llvm.Value:
        if name not in self._references:
            self._references[name] = cgutils.alloca_once(self.builder, cgutils.voidptr_t)
        return self._references[name]

    def _give_back(self, place: llvm.Value, type_: types.Array) -> None:
        super().decref(types.MemInfoPointer(type_.dtype), self.builder.load(place))

    def delvar(self, name: str) -> None:
        type_ = self.typeof(name)
        is_plain, is_array = _is_plain(type_), isinstance(type_, types.Array)
        if is_plain and name in self._singly_assigned_vars:
            return
        if is_array and name in self._wide:
            place = self._reference(name)
            self._give_back(place, type_)
            self.builder.store(place.type.pointee(None), place)
            return
        is_local = name in self._blk_local_varmap
        if is_local or not (is_plain or is_array):
            super().delvar(name)
            return
        # it is deleted before the block that sets it
        self._singly_assigned_vars.discard(name)
        self._loaded.pop(name, None)
        self._alloca_var(name, type_)
        if is_array:
            self._drop(name, type_)
            self._clear(self.getvar(name))

    def _drop(self, name: str, type_: types.Array) -> None:
        super().decref(types.MemInfoPointer(type_.dtype), self._part(name, type_, "meminfo"))

    def incref(self, typ: types.Type, val: llvm.Value) -> None:
        if isinstance(typ, types.Array):
            super().incref(types.MemInfoPointer(typ.dtype), self._extracted(val, typ, "meminfo"))
        elif isinstance(typ, types.BaseTuple):
            for position, kind in enumerate(_parts(typ)):
                self.incref(kind, self._field(val, position))
        elif not _is_plain(typ):
            super().incref(typ, val)

    def decref(self, typ: types.Type, val: llvm.Value) -> None:
        if isinstance(typ, types.Array):
            super().decref(types.MemInfoPointer(typ.dtype), self._extracted(val, typ, "meminfo"))
        elif isinstance(typ, types.BaseTuple):
            for position, kind in enumerate(_parts(typ)):
                self.decref(kind, self._field(val, position))
        elif not _is_plain(typ):
            super().decref(typ, val)

    def _part(self, name: str, type_: types.Type, field: str, axis: int | None = None) -> llvm.Value:
        """A field of what a variable holds, or what that has for an axis."""
        held = self._blk_local_varmap.get(name)
        if held is not None:
            return self._extracted(held, type_, field, axis)
        place = (self._position(type_, field),) if axis is None else (self._position(type_, field), axis)
        loaded = self._loaded.setdefault(name, {})
        if place not in loaded:
            loaded[place] = self.builder.load(cgutils.gep_inbounds(self.builder, self.getvar(name), 0, *place))
        return loaded[place]

    def _extracted(self, value: llvm.Value, type_: types.Type, field: str, axis: int | None = None) -> llvm.Value:
        found = self._field(value, self._position(type_, field))
        return found if axis is None else self._field(found, axis)

    def _field(self, value: llvm.Value, position: int) -> llvm.Value:
        """A part of a value: what was put there, where that is seen, or else one that is taken out where it is made."""
        found = put_there(value, position)
        if found is not None:
            return found
        if not isinstance(value, llvm.Instruction):
            return self.builder.extract_value(value, position)
        key = id(value), position
        if key not in self._fields:
            builder: Any = llvm.IRBuilder()
            builder.position_after(_last_phi(value))
            is_before = builder.block is self.builder.block and builder._anchor <= self.builder._anchor
            self._fields[key] = value, builder.extract_value(value, position)
            self.builder._anchor += is_before
        return self._fields[key][1]

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
        if op in (operator.pow, operator.ipow):
            made = self._power(resty, expr)
            return super().lower_binop(resty, expr, op) if made is None else made
        # numba would look for the types of this one again, with each operand as a constant or not
        write = self._instruction(op, self.fndesc.calltypes[expr], self._is_natural(expr.lhs))
        if write is None:
            return super().lower_binop(resty, expr, op)
        signature = self.fndesc.calltypes[expr]
        values = [
            self.context.cast(self.builder, self.loadvar(operand.name), self.typeof(operand.name), kind)
            for operand, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        return self.context.cast(self.builder, write(*values), signature.return_type, resty)

    def _power(self, resty: types.Type, expr: ir.Expr) -> llvm.Value | None:
        """A float to the power of a natural number, by the products of numba's loop, which it compiles apart."""
        signature, exponent = self.fndesc.calltypes[expr], self._constant(expr.rhs)
        kind = signature.return_type
        # of those below zero, numba raises an error for zero
        if exponent is None or not 0 <= exponent <= _MOST_PRODUCTS or not isinstance(kind, types.Float):
            return None
        if signature.args[0] != kind or not isinstance(signature.args[1], types.Integer):
            return None
        builder, left = self.builder, exponent
        base = self.context.cast(builder, self.loadvar(expr.lhs.name), self.typeof(expr.lhs.name), kind)
        product = base.type(1.0)
        while left:
            if left & 1:
                product = base if isinstance(product, llvm.Constant) else builder.fmul(product, base)
            left >>= 1
            if left:
                base = builder.fmul(base, base)
        return self.context.cast(builder, product, kind, resty)

    def _instruction(self, op: Any, signature: Any, is_natural: bool) -> Callable[..., llvm.Value] | None:
        """What writes an operation on two numbers of one type; `is_natural`: it is known that the first is not
        negative."""
        builder: Any = self.builder
        kind: Any = signature.args[0]
        if kind != signature.args[1]:
            return None
        if isinstance(kind, types.Float):
            if op in _COMPARISONS:
                compare = builder.fcmp_unordered if op is operator.ne else builder.fcmp_ordered
                return functools.partial(compare, _COMPARISONS[op])
            is_raising = op is operator.truediv and self.context.error_model.raise_on_fp_zero_division
            return None if is_raising or op not in _FLOAT_INSTRUCTIONS else getattr(builder, _FLOAT_INSTRUCTIONS[op])
        if kind in types.signed_domain:
            if op in _COMPARISONS:
                return functools.partial(builder.icmp_signed, _COMPARISONS[op])
            if op in _INTEGER_INSTRUCTIONS and signature.return_type == kind:
                return functools.partial(getattr(builder, _INTEGER_INSTRUCTIONS[op]), flags=["nsw"])
            is_raising = self.context.error_model.raise_on_fp_zero_division
            if op in _DIVISIONS and signature.return_type == kind and not is_raising:
                return functools.partial(self._divided, _DIVISIONS[op], is_natural)
        return None

    def _divided(self, part: str, is_natural: bool, value: llvm.Value, divisor: llvm.Value) -> llvm.Value:
        """The quotient of integers, rounded down, or what is left; 0 where numba has no quotient, without a branch."""
        builder, kind = self.builder, value.type
        known = divisor.constant if isinstance(divisor, llvm.Constant) else None
        has_none = None
        if known is None or known in (0, -1):
            is_least = builder.icmp_signed("==", value, kind(-(2 ** (kind.width - 1))))
            has_none = builder.and_(is_least, builder.icmp_signed("==", divisor, kind(-1)))
            has_none = builder.or_(has_none, builder.icmp_signed("==", divisor, kind(0)))
            divisor = builder.select(has_none, kind(1), divisor)
        elif is_natural and known > 0:
            return builder.udiv(value, divisor) if part == "quotient" else builder.urem(value, divisor)
        rest = builder.srem(value, divisor)
        is_below = builder.icmp_signed("<", builder.xor(rest, divisor), kind(0))
        is_other = builder.and_(builder.icmp_signed("!=", rest, kind(0)), is_below)
        if part == "rest":
            return builder.select(is_other, builder.add(rest, divisor), rest)
        quotient = builder.sub(builder.sdiv(value, divisor), builder.zext(is_other, kind))
        return quotient if has_none is None else builder.select(has_none, kind(0), quotient)

    # ------------------------------------------------------------------------------------------------------- elements

    def lower_getitem(self, resty: types.Type, expr: Any, value: Any, index: Any, signature: Any) -> llvm.Value:
        array = self.typeof(value.name)
        if are_listed(array) and signature.args[1] == types.intp and resty == signature.return_type:
            place = self.context.cast(self.builder, self.loadvar(index.name), self.typeof(index.name), types.intp)
            return item_of_list(self.context, self.builder, signature, [self.loadvar(value.name), place])
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
        if not isinstance(kind, types.BaseTuple):
            return [_Selector(kind, self.loadvar(index.name), self._is_natural(index))]
        values = [self._item(index.name, axis) for axis in range(len(kinds))]
        made = self._definition(index)
        parts = made.items if isinstance(made, ir.Expr) and made.op == "build_tuple" else [None] * len(kinds)
        natural = [part is not None and self._is_natural(part) for part in parts]
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
        return self._part(name, array, "shape", axis)

    def _address(self, name: str, array: types.Array, axes: Sequence[_Axis]) -> llvm.Value:
        """Where the first of the elements is; axes at the end that are missing are taken whole."""
        builder = self.builder
        data = self._part(name, array, "data")
        if array.layout == "A":
            steps = [builder.mul(self._part(name, array, "strides", k), axis.first) for k, axis in enumerate(axes)]
            return cgutils.pointer_add(builder, data, functools.reduce(builder.add, steps))
        steps = []
        for k, axis in enumerate(axes):
            inner = range(k + 1, array.ndim) if array.layout == "C" else range(k)
            extents = [self._extent(name, array, other) for other in inner]
            steps.append(builder.mul(axis.first, functools.reduce(builder.mul, extents)) if extents else axis.first)
        return builder.gep(data, [functools.reduce(builder.add, steps)])

    def _view(self, name: str, array: types.Array, axes: Sequence[_Axis], result: types.Array) -> llvm.Value:
        builder = self.builder
        data = self._address(name, array, axes)
        extents = [axis.extent for axis in axes] + [self._extent(name, array, k) for k in range(len(axes), array.ndim)]
        steps = [axis.step for axis in axes] + [1] * (array.ndim - len(axes))
        kept = [
            (extent, self._times(self._part(name, array, "strides", k), steps[k]))
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

    def _tuple(self, resty: Any, expr: Any) -> _Parts:
        values = [
            self.context.cast(self.builder, self.loadvar(item.name), self.typeof(item.name), kind)
            for item, kind in zip(expr.items, _parts(resty), strict=True)
        ]
        return _Parts(resty, values)

    def _static_item(self, resty: types.Type, expr: Any) -> llvm.Value | None:
        """What a tuple has at a place, or a view by an index of constants: slices that go upwards, and integers."""
        array = self.typeof(expr.value.name)
        if isinstance(array, types.BaseTuple) and _is_plain(array) and type(expr.index) is int:
            kinds = _parts(array)
            value = self._item(expr.value.name, expr.index % len(kinds))
            return self.context.cast(self.builder, value, kinds[expr.index], resty)
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

    def _getattr(self, resty: types.Type, expr: Any) -> Any:
        """The extents of an array, its size, or its transpose."""
        name, array = expr.value.name, self.typeof(expr.value.name)
        if not isinstance(array, types.Array):
            return None
        if expr.attr == "shape" and isinstance(resty, types.UniTuple):
            return _Parts(resty, [self._extent(name, array, axis) for axis in range(array.ndim)])
        if expr.attr == "size":
            return self._part(name, array, "nitems")
        if expr.attr != "T" or array.ndim != 2 or not isinstance(resty, types.Array):
            return None
        turned = {
            field: cgutils.pack_array(self.builder, [self._part(name, array, field, axis) for axis in (1, 0)])
            for field in ("shape", "strides")
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

    def _copied(self, resty: types.Array, expr: ir.Expr) -> llvm.Value | None:
        """A copy of an array whose elements lie side by side, in the same order."""
        array = self.typeof(expr.func.name).this
        if array.layout != resty.layout or array.layout not in "CF" or array.dtype != resty.dtype:
            return None
        given = self.loadvar(expr.func.name)
        shape = [self._extracted(given, array, "shape", axis) for axis in range(array.ndim)]
        made = new_array(self.context, self.builder, resty, shape, False, ALLOCATION)
        target, source = (self._extracted(one, array, "data") for one in (made, given))
        count, size = (self._extracted(given, array, field) for field in ("nitems", "itemsize"))
        cgutils.raw_memcpy(self.builder, target, source, count, size, align=1)
        return made

    # --------------------------------------------------------------------------------------------- ranges and slices

    def _call(self, resty: Any, expr: ir.Expr) -> llvm.Value | None:
        callee = getattr(self.typeof(expr.func.name), "typing_key", None)
        known = (range, slice, "array.copy", "array.reshape", "list.append", *_EXTREMES)
        is_ufunc = isinstance(callee, np.ufunc)
        if not (is_ufunc or callee in known) or expr.kws or expr.vararg:
            return None
        kinds = [self.typeof(a.name) for a in expr.args]
        if callee == "array.copy":
            return self._copied(resty, expr)
        if callee == "array.reshape":
            return self._reshaped(resty, expr, kinds)
        if callee == "list.append":
            return self._appended(expr, kinds)
        if callee in _EXTREMES:
            return self._extreme(_EXTREMES[callee], resty, expr, kinds)
        if isinstance(callee, np.ufunc):
            return self._of_numbers(callee, resty, expr, kinds)
        if callee is slice and resty == types.slice2_type:
            return self._slice(resty, expr, kinds)
        if callee is range and all(isinstance(k, types.Integer) for k in kinds):
            return self._range(resty, expr, kinds)
        return None

    def _appended(self, expr: ir.Expr, kinds: Sequence[types.Type]) -> llvm.Value | None:
        kind = self.typeof(expr.func.name).this
        if not are_listed(kind) or list(kinds) != [kind.dtype]:
            return None
        given = [self.loadvar(expr.func.name), self.loadvar(expr.args[0].name)]
        return append(self.context, self.builder, kind, given)

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

    def _of_numbers(
        self, function: np.ufunc, resty: types.Type, expr: ir.Expr, kinds: Sequence[types.Type]
    ) -> llvm.Value | None:
        """A ufunc of numbers, which numba writes as a loop of one trip."""
        is_known = function.nout == 1 and len(kinds) == function.nin and function in ufunc_db.get_ufuncs()
        if not is_known or not all(isinstance(k, types.Number | types.Boolean) for k in (resty, *kinds)):
            return None
        signature = self.fndesc.calltypes[expr]
        values = [
            self.context.cast(self.builder, self.loadvar(argument.name), kind, taken)
            for argument, kind, taken in zip(expr.args, kinds, signature.args, strict=True)
        ]
        if function is np.sign and isinstance(resty, types.Float) and signature.args == (resty,):
            return self._sign(values[0])
        return npyimpl._ufunc_db_function(function)(self.context, self.builder, signature).generate(*values)

    def _sign(self, value: llvm.Value) -> llvm.Value:
        """The sign of a float, zero and nan as they are, without a branch."""
        builder, zero = self.builder, value.type(0.0)
        below = builder.select(builder.fcmp_ordered("<", value, zero), value.type(-1.0), value)
        return builder.select(builder.fcmp_ordered(">", value, zero), value.type(1.0), below)

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

    def _range(self, resty: types.RangeType, expr: ir.Expr, kinds: Sequence[types.Type]) -> _Parts | None:
        if not resty.dtype.signed:
            return None
        own = self.context.get_value_type(resty.dtype)
        values = [
            self.context.cast(self.builder, self.loadvar(a.name), k, resty.dtype)
            for a, k in zip(expr.args, kinds, strict=True)
        ]
        step = own(1)
        if len(kinds) == 3:
            step, least = values.pop(), self._least_of(expr.args[2])
            if isinstance(kinds[2], types.IntegerLiteral):
                step = own(kinds[2].literal_value)
            if step.constant == 0 if isinstance(step, llvm.Constant) else least is None or least < 1:
                return None
        start, stop = values if len(values) == 2 else (own(0), values[0])
        return _Parts(resty, (start, stop, step))

    def _range_iterator(self, expr: ir.Expr) -> llvm.Value | None:
        held = self._blk_local_varmap.get(expr.value.name)
        if not isinstance(held, _Parts) or not isinstance(held.kind, types.RangeType):
            return None
        builder, (start, stop, increment) = self.builder, held.values
        # one that is no constant goes upwards
        zero, step = start.type(0), increment.constant if isinstance(increment, llvm.Constant) else 2
        kind = held.kind.iterator_type
        if abs(step) == 1:
            if isinstance(start, llvm.Constant):
                # where it begins is no question, and so not how many trips there are
                has_trips = builder.icmp_signed(">" if step > 0 else "<", stop, start)
                stop = builder.select(has_trips, stop, start)
            with builder.goto_entry_block():
                place = builder.alloca(start.type)
            builder.store(start, place)
            self._counters[id(expr)] = _Counter(place, stop, step)
            if id(expr) in self._only_counted:
                return self.context.get_constant_undef(kind)
            distance = builder.sub(stop, start)
            trips = distance if step == 1 else builder.neg(distance)
        else:
            place = cgutils.alloca_once_value(builder, start)
            distance = builder.sub(stop, start)
            rest = builder.srem(distance, increment)
            is_uneven = builder.icmp_signed("!=", rest, zero)
            trips = builder.add(builder.sdiv(distance, increment), builder.zext(is_uneven, zero.type))
        has_trips = builder.icmp_signed(">" if step > 0 else "<", distance, zero)
        return self._made(
            kind,
            iter=place,
            stop=stop,
            step=increment,
            count=cgutils.alloca_once_value(builder, builder.select(has_trips, trips, zero)),
        )

    def _next_of_range(self, resty: types.Type, expr: ir.Expr) -> _Parts:
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
            place, count, step = (self._part(expr.value.name, type_, field) for field in ("iter", "count", "step"))
            value, left = builder.load(place), builder.load(count)
            goes_on = builder.icmp_signed(">", left, left.type(0))
            with builder.if_then(goes_on):
                builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
                builder.store(builder.add(value, step), place)
        return _Parts(resty, (value, goes_on))

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

    def _is_natural(self, index: ir.Var) -> bool:
        """Whether it is known that an index is not negative."""
        least = self._least_of(index)
        return least is not None and least >= 0

    def _least_of(self, variable: ir.Var) -> int | None:
        """What an integer is not below, by what it is made of; None if that is not known."""
        name = variable.name
        if name not in self._least:
            kind = self.typeof(name)
            if isinstance(kind, types.IntegerLiteral):
                self._least[name] = kind.literal_value
            else:
                # for one that is made of itself
                self._least[name] = None
                self._least[name] = self._least_made(self._definition(variable))
        return self._least[name]

    def _least_made(self, made: Any) -> int | None:
        if isinstance(made, ir.Const):
            return made.value if type(made.value) is int else None
        if not isinstance(made, ir.Expr):
            return None
        if made.op == "pair_first":
            return self._least_of_range(self._definition(made.value))
        if made.op == "getattr":
            is_size = made.attr == "size" and isinstance(self.typeof(made.value.name), types.Array)
            return 0 if is_size else None
        if made.op == "static_getitem":
            return 0 if self._is_shape(self._definition(made.value)) else None
        if made.op == "call":
            return self._least_of_call(made)
        if made.op == "binop" and made.fn is operator.mul:
            left, right = self._least_of(made.lhs), self._least_of(made.rhs)
            return None if left is None or right is None or min(left, right) < 0 else left * right
        if made.op == "binop" and made.fn in (operator.add, operator.sub):
            left, right = self._least_of(made.lhs), self._constant(made.rhs)
            if made.fn is operator.add:
                right = self._least_of(made.rhs)
            elif right is not None:
                right = -right
            return None if left is None or right is None else left + right
        return None

    def _least_of_call(self, made: ir.Expr) -> int | None:
        """What the least or the greatest of some numbers is not below."""
        callee = getattr(self.typeof(made.func.name), "typing_key", None)
        known = [least for argument in made.args if (least := self._least_of(argument)) is not None]
        if callee in (max, stand_in(max, len(made.args))):
            return max(known, default=None)
        is_least = callee in (min, stand_in(min, len(made.args))) and len(known) == len(made.args)
        return min(known, default=None) if is_least else None

    def _constant(self, variable: ir.Var) -> int | None:
        kind = self.typeof(variable.name)
        if isinstance(kind, types.IntegerLiteral):
            return int(kind.literal_value)
        made = self._definition(variable)
        return made.value if isinstance(made, ir.Const) and type(made.value) is int else None

    def _is_shape(self, made: Any) -> bool:
        if isinstance(made, ir.Expr) and made.op == "exhaust_iter":
            made = self._definition(made.value)
        is_attribute = isinstance(made, ir.Expr) and made.op == "getattr" and made.attr == "shape"
        return is_attribute and isinstance(self.typeof(made.value.name), types.Array)

    def _least_of_range(self, made: Any) -> int | None:
        """What the numbers of a range are not below, by what asks its iterator for the next."""
        if not isinstance(made, ir.Expr) or made.op != "iternext":
            return None
        made = self._definition(made.value)
        if not isinstance(made, ir.Expr) or made.op != "getiter":
            return None
        made = self._definition(made.value)
        if not isinstance(made, ir.Expr) or made.op != "call":
            return None
        if getattr(self.typeof(made.func.name), "typing_key", None) is not range or made.kws or made.vararg:
            return None
        step = self._constant(made.args[2]) if len(made.args) == 3 else 1
        if step is None:
            step = max(self._least_of(made.args[2]) or 0, 0)
        if step == 0:
            return None
        if step > 0:
            return self._least_of(made.args[0]) if len(made.args) > 1 else 0
        stop = self._least_of(made.args[1])
        return None if stop is None else stop + 1


def _leave_out_unused(function: llvm.Function) -> None:
    """Takes out what puts values together, or takes them apart, that nothing needs whole: LLVM would read it first."""
    used, parts = set[int](), dict[int, llvm.Instruction]()
    for block in function.blocks:
        for made in block.instructions:
            if type(made) in _PARTS:
                parts[id(made)] = made
            else:
                used.update(map(id, _operands(made)))
    left = list(parts.keys() & used)
    while left:
        found = parts.keys() & map(id, parts[left.pop()].operands)
        left.extend(found - used)
        used |= found
    for block in {parts[place].parent for place in parts.keys() - used}:
        block.instructions[:] = [made for made in block.instructions if id(made) not in parts or id(made) in used]


def _operands(made: llvm.Instruction) -> Sequence[llvm.Value]:
    return [value for value, _ in made.incomings] if isinstance(made, llvm.PhiInstr) else made.operands


def _last_phi(value: llvm.Instruction) -> llvm.Instruction:
    """What an instruction may follow: the value, or if it is a choice by ways the last of those in its block."""
    if not isinstance(value, llvm.PhiInstr):
        return value
    return [made for made in value.parent.instructions if isinstance(made, llvm.PhiInstr)][-1]


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
