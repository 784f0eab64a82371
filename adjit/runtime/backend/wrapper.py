"""The function that Python calls: it takes objects apart, calls the compiled function, and makes objects of results.

In: the types of a function that is compiled. Out: a module of LLVM with its wrapper.

    grad(x)         the fields of x are loaded where numba has them, and go to the function one by one

numba's own loads each array whole, takes it apart for the call and again for the references that are given back, and
puts results together to store them: most of its instructions, on which LLVM spends a tenth of a short compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils
from numba.core.callwrapper import PyCallWrapper
from numba.np import numpy_support

_SHAPE, _STRIDES = 5, 6  # of the fields of an array, which are extents and strides after five others
_NOT_AN_ARRAY = "can't unbox array from PyObject into native value.  The object maybe of a different type"


def suits(result: types.Type, arguments: Sequence[types.Type]) -> bool:
    """Whether the wrapper is for functions of these types."""
    return _is_boxed(result) and all(_is_taken(kind) for kind in arguments)


def _is_taken(kind: types.Type) -> bool:
    is_number = isinstance(kind, types.Integer | types.Float | types.Boolean) and not isinstance(kind, types.Literal)
    return is_number or _is_array(kind)


def _is_array(kind: types.Type) -> bool:
    return type(kind) is types.Array and isinstance(kind.dtype, types.Integer | types.Float | types.Complex)


def _is_boxed(kind: types.Type) -> bool:
    if type(kind) in (types.Tuple, types.UniTuple):
        return all(map(_is_boxed, kind))  # type: ignore[call-overload]
    is_number = isinstance(kind, types.Integer | types.Float) and not isinstance(kind, types.Literal)
    return is_number or _is_array(kind)


def write_wrapper(context: Any, library: Any, fndesc: Any, env: Any, call_helper: Any, release_gil: bool) -> None:
    """Adds the wrapper to the library of the function."""
    module = context.create_module("wrapper")
    kind = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
    function = llvm.Function(module, kind, fndesc.llvm_func_name)
    builder = _Wrapper(context, module, function, fndesc, env, call_helper=call_helper, release_gil=release_gil)
    builder.build()
    library.add_ir_module(module)


class _Wrapper(PyCallWrapper):
    """Writes the instructions."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        self.api, self.builder, kinds = api, builder, self.fndesc.argtypes
        objects = [api.alloca_obj() for _ in kinds]
        is_parsed = api.unpack_tuple(args, self.fndesc.qualname, len(kinds), len(kinds), *objects)
        with builder.if_then(cgutils.is_null(builder, is_parsed), likely=False):
            builder.ret(api.get_null_object())
        self.env_manager = self.get_env(api, builder)
        self.failed = builder.append_basic_block("failed")
        # all at once, so that what fails finds no references in those that come after it
        places = [self._place(kind) if _is_array(kind) else None for kind in kinds]
        values: list[Any] = []
        for kind, place, given in zip(kinds, places, objects, strict=True):
            values += self._number(kind, given) if place is None else self._array(kind, place, given)
        arrays = [place for place in places if place is not None]
        code, result, excinfo = self._called(values)
        self._give_back(arrays)
        status = self.context.call_conv._get_return_status(builder, code, builder.load(excinfo))
        with builder.if_then(status.is_ok, likely=True):
            builder.ret(self._boxed(self.fndesc.restype, result, {}))
        self.context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())
        builder.position_at_end(self.failed)
        self._give_back(arrays)
        builder.ret(api.get_null_object())

    def _place(self, kind: types.Type) -> Any:
        return cgutils.alloca_once(self.builder, self.context.get_value_type(kind))

    def _number(self, kind: types.Type, given: Any) -> list[Any]:
        native = self.api.to_native_value(kind, self.builder.load(given))
        self._fails_if(native.is_error)
        return list(self.context.call_conv._get_arg_packer((kind,)).as_arguments(self.builder, (native.value,)))

    def _array(self, kind: Any, place: Any, given: Any) -> list[Any]:
        """The fields of an array, as the function takes them."""
        builder = self.builder
        fault = self.api.nrt_adapt_ndarray_from_python(builder.load(given), builder.bitcast(place, self.api.voidptr))
        itemsize = self._field(place, 3)
        size = itemsize.type(numpy_support.as_dtype(kind.dtype).itemsize)
        is_other = builder.or_(cgutils.is_not_null(builder, fault), builder.icmp_unsigned("!=", itemsize, size))
        with builder.if_then(is_other, likely=False):
            self.api.err_set_string("PyExc_TypeError", _NOT_AN_ARRAY)
            builder.branch(self.failed)
        fields = [self._field(place, k) if k != 3 else itemsize for k in range(_SHAPE)]
        return fields + [self._field(place, k, axis) for k in (_SHAPE, _STRIDES) for axis in range(kind.ndim)]

    def _field(self, place: Any, *position: int) -> Any:
        return self.builder.load(cgutils.gep_inbounds(self.builder, place, 0, *position))

    def _fails_if(self, is_error: Any) -> None:
        with self.builder.if_then(is_error, likely=False):
            self.builder.branch(self.failed)

    def _called(self, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """What the function returns, and where its result and what it raises are."""
        builder, kind = self.builder, self.func.function_type
        # of functions that Python calls only those called by others are inlined
        result, excinfo = (cgutils.alloca_once(builder, place.pointee) for place in kind.args[:2])
        state = self.api.save_thread() if self.release_gil else None
        code = builder.call(self.func, [result, excinfo, *values], attrs=("noinline",))
        if state is not None:
            self.api.restore_thread(state)
        return code, result, excinfo

    def _give_back(self, arrays: Sequence[Any]) -> None:
        for place in arrays:
            self._decref(place)

    def _decref(self, place: Any) -> None:
        meminfo = self._field(place, 0)
        self.context.nrt.decref(self.builder, types.MemInfoPointer(types.voidptr), meminfo)

    def _boxed(self, kind: Any, place: Any, known: dict[Any, Any]) -> Any:
        """The object for a result in memory. `known`: objects that several arrays need."""
        builder, api = self.builder, self.api
        if isinstance(kind, types.BaseTuple):
            kinds = list(kind)  # type: ignore[call-overload]
            made = api.tuple_new(len(kinds))
            for k, inner in enumerate(kinds):
                api.tuple_setitem(made, k, self._boxed(inner, cgutils.gep_inbounds(builder, place, 0, k), known))
            return made
        if not isinstance(kind, types.Array):
            return api.from_native_value(kind, builder.load(place), self.env_manager)
        dtype = numpy_support.as_dtype(kind.dtype)
        if dtype not in known:
            known[dtype] = self.env_manager.read_const(self.env_manager.add_const(dtype))
        if kind.box_type not in known:
            known[kind.box_type] = api.unserialize(api.serialize_object(kind.box_type))
        number = llvm.IntType(32)
        makes = llvm.FunctionType(api.pyobj, [api.voidptr, api.pyobj, number, number, api.pyobj])
        make = api._get_function(makes, name="NRT_adapt_ndarray_to_python_acqref")
        array = builder.bitcast(place, api.voidptr)
        numbers = (number(kind.ndim), number(int(kind.mutable)))
        made = builder.call(make, [array, known[kind.box_type], *numbers, known[dtype]])
        self._decref(place)
        return made
