"""The function that Python calls: it takes objects apart, calls the compiled function, and makes objects of results.

In: the types of a function that is compiled. Out: a module of LLVM with its wrapper.

    grad(x)         the fields of x are put where numba has them, and go to the function one by one

numba's own loads each array whole, takes it apart for the call and again for the references that are given back, and
puts results together to store them: most of its instructions, on which LLVM spends a tenth of a short compilation. What
all wrappers do, to take all arguments, to make an object of a result, to raise what was raised, are calls of functions
that a process compiles once: two thirds of the instructions that are left.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir as llvm
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.callconv import RETCODE_NONE, RETCODE_OK
from numba.core.callwrapper import PyCallWrapper
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.np import numpy_support

from adjit.runtime.backend.versions import is_plain

_SHAPE, _STRIDES = 5, 6  # of the fields of an array, which are extents and strides after five others
_ITEMSIZE = 3
_CONSTANTS = 8  # of the body of an environment, after what is global

_TAKE, _MAKE, _GIVE_BACK, _RAISE = "adjit_take", "adjit_make_array", "adjit_give_back", "adjit_raise"

# What wrappers call. An array is a place with the fields that numba has of it, its reference first; what is raised is
# a pickle, or one of the class and a function that makes the arguments. ERROR_x is the class x, ENVIRONMENT where the
# constants of a function are, from where its environment begins.
_SHARED = r"""
@not_an_array = internal constant [89 x i8] c"can't unbox array from PyObject into native value.  The object maybe of a different type\00"
@no_arguments = internal constant [61 x i8] c"Error creating Python tuple from runtime exception arguments\00"
@unknown = internal constant [43 x i8] c"unknown error when calling native function\00"
@no_environment = internal constant [20 x i8] c"missing Environment\00"

declare i32 @NRT_adapt_ndarray_from_python(ptr, ptr)
declare ptr @NRT_adapt_ndarray_to_python_acqref(ptr, ptr, i32, i32, ptr)
declare void @NRT_MemInfo_release(ptr)
declare void @NRT_Free(ptr)
declare ptr @numba_unpickle(ptr, i32, ptr)
declare ptr @numba_runtime_build_excinfo_struct(ptr, ptr)
declare i32 @numba_do_raise(ptr)
declare i32 @PyArg_UnpackTuple(ptr, ptr, i64, i64, ...)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyNumber_Float(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyNumber_Long(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @PyErr_SetString(ptr, ptr)
declare void @PyErr_SetNone(ptr)
declare void @PyErr_Clear()

; Takes the arguments of a call, for each of which there is where it goes among the places, and what it is: an array of
; elements of so many bytes, a float if that is 0, an integer if it is -1; below zero: the wrapper takes it. 1 and an
; error if they are not so.
define i32 @adjit_take(ptr %arguments, ptr %name, i64 %count, ptr %kinds, ptr %places) {
  br label %clear
clear:
  ; so that what fails finds no references in those that come after it
  %c = phi i64 [ 0, %0 ], [ %c_next, %cleared ]
  %c_more = icmp ult i64 %c, %count
  br i1 %c_more, label %look, label %check
look:
  %c_where = getelementptr { i64, i64 }, ptr %kinds, i64 %c
  %c_offset = load i64, ptr %c_where
  %c_is_others = icmp slt i64 %c_offset, 0
  br i1 %c_is_others, label %cleared, label %clear_own
clear_own:
  %c_place = getelementptr i8, ptr %places, i64 %c_offset
  store ptr null, ptr %c_place
  br label %cleared
cleared:
  %c_next = add i64 %c, 1
  br label %clear
check:
  %given = call i64 @PyTuple_Size(ptr %arguments)
  %is_so_many = icmp eq i64 %given, %count
  br i1 %is_so_many, label %test, label %other_count
other_count:
  %said = call i32 (ptr, ptr, i64, i64, ...) @PyArg_UnpackTuple(ptr %arguments, ptr %name, i64 %count, i64 %count)
  ret i32 1
test:
  %k = phi i64 [ 0, %check ], [ %next, %taken ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %take, label %done
take:
  %where = getelementptr { i64, i64 }, ptr %kinds, i64 %k
  %what = getelementptr { i64, i64 }, ptr %kinds, i64 %k, i32 1
  %offset = load i64, ptr %where
  %kind = load i64, ptr %what
  %place = getelementptr i8, ptr %places, i64 %offset
  %is_others = icmp slt i64 %offset, 0
  br i1 %is_others, label %taken, label %own
own:
  %object = call ptr @PyTuple_GetItem(ptr %arguments, i64 %k)
  switch i64 %kind, label %array [ i64 0, label %float
                                   i64 -1, label %integer ]
array:
  %fault = call i32 @adjit_take_array(ptr %object, ptr %place, i64 %kind)
  %is_fault = icmp ne i32 %fault, 0
  br i1 %is_fault, label %failed, label %taken
float:
  %as_float = call ptr @PyNumber_Float(ptr %object)
  %no_float = icmp eq ptr %as_float, null
  br i1 %no_float, label %failed, label %read_float
read_float:
  %number = call double @PyFloat_AsDouble(ptr %as_float)
  store double %number, ptr %place
  call void @Py_DecRef(ptr %as_float)
  br label %taken
integer:
  %as_integer = call ptr @PyNumber_Long(ptr %object)
  %no_integer = icmp eq ptr %as_integer, null
  br i1 %no_integer, label %failed, label %read_integer
read_integer:
  %whole = call i64 @PyLong_AsLongLong(ptr %as_integer)
  store i64 %whole, ptr %place
  call void @Py_DecRef(ptr %as_integer)
  %may_be = icmp eq i64 %whole, -1
  br i1 %may_be, label %ask, label %taken
ask:
  %error = call ptr @PyErr_Occurred()
  %is_error = icmp ne ptr %error, null
  br i1 %is_error, label %failed, label %taken
taken:
  %next = add i64 %k, 1
  br label %test
failed:
  ret i32 1
done:
  ret i32 0
}

; Gives back the references of the arrays among the arguments.
define void @adjit_give_back(i64 %count, ptr %kinds, ptr %places) {
  br label %test
test:
  %k = phi i64 [ 0, %0 ], [ %next, %given ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %look, label %done
look:
  %where = getelementptr { i64, i64 }, ptr %kinds, i64 %k
  %what = getelementptr { i64, i64 }, ptr %kinds, i64 %k, i32 1
  %offset = load i64, ptr %where
  %kind = load i64, ptr %what
  %is_array = icmp sgt i64 %kind, 0
  br i1 %is_array, label %give, label %given
give:
  %place = getelementptr i8, ptr %places, i64 %offset
  call void @drop(ptr %place)
  br label %given
given:
  %next = add i64 %k, 1
  br label %test
done:
  ret void
}

; The fields of an object that has to be an array of elements of this size; 1 and an error if it is not.
define internal i32 @adjit_take_array(ptr %object, ptr %place, i64 %itemsize) {
  %fault = call i32 @NRT_adapt_ndarray_from_python(ptr %object, ptr %place)
  %is_none = icmp ne i32 %fault, 0
  br i1 %is_none, label %failed, label %taken
taken:
  %size_place = getelementptr { ptr, ptr, i64, i64 }, ptr %place, i64 0, i32 3
  %size = load i64, ptr %size_place
  %is_other = icmp ne i64 %size, %itemsize
  br i1 %is_other, label %failed, label %done
failed:
  call void @PyErr_SetString(ptr inttoptr (i64 ERROR_TypeError to ptr), ptr @not_an_array)
  ret i32 1
done:
  ret i32 0
}

define internal void @drop(ptr %place) {
  %reference = load ptr, ptr %place
  %is_none = icmp eq ptr %reference, null
  br i1 %is_none, label %done, label %release
release:
  call void @NRT_MemInfo_release(ptr %reference)
  br label %done
done:
  ret void
}

; The object of an array, whose reference it takes; null and an error where there is none.
define ptr @adjit_make_array(ptr %place, ptr %environment, i64 %class, i64 %dtype, i32 %ndim, i32 %is_mutable) {
  %is_none = icmp eq ptr %environment, null
  br i1 %is_none, label %failed, label %make
make:
  %constants_place = getelementptr i8, ptr %environment, i64 ENVIRONMENT
  %constants = load ptr, ptr %constants_place
  %own_class = call ptr @PyList_GetItem(ptr %constants, i64 %class)
  %own_dtype = call ptr @PyList_GetItem(ptr %constants, i64 %dtype)
  %made = call ptr @NRT_adapt_ndarray_to_python_acqref(ptr %place, ptr %own_class, i32 %ndim, i32 %is_mutable, ptr %own_dtype)
  br label %done
failed:
  call void @PyErr_SetString(ptr inttoptr (i64 ERROR_RuntimeError to ptr), ptr @no_environment)
  br label %done
done:
  %object = phi ptr [ %made, %make ], [ null, %failed ]
  call void @drop(ptr %place)
  ret ptr %object
}

; Raises what a function left that returned this code.
define void @adjit_raise(i32 %code, ptr %what) {
  switch i32 %code, label %other [ i32 -1, label %done
                                   i32 -3, label %stop ]
other:
  %is_user = icmp sge i32 %code, 1
  br i1 %is_user, label %user, label %fault
stop:
  call void @PyErr_SetNone(ptr inttoptr (i64 ERROR_StopIteration to ptr))
  br label %done
fault:
  call void @PyErr_SetString(ptr inttoptr (i64 ERROR_SystemError to ptr), ptr @unknown)
  br label %done
user:
  call void @PyErr_Clear()
  %length_place = getelementptr { ptr, i32, ptr, ptr, i32 }, ptr %what, i64 0, i32 1
  %third_place = getelementptr { ptr, i32, ptr, ptr, i32 }, ptr %what, i64 0, i32 2
  %make_place = getelementptr { ptr, i32, ptr, ptr, i32 }, ptr %what, i64 0, i32 3
  %is_made_place = getelementptr { ptr, i32, ptr, ptr, i32 }, ptr %what, i64 0, i32 4
  %text = load ptr, ptr %what
  %length = load i32, ptr %length_place
  %third = load ptr, ptr %third_place
  %make = load ptr, ptr %make_place
  %is_made_word = load i32, ptr %is_made_place
  %is_made = icmp sgt i32 %is_made_word, 0
  br i1 %is_made, label %made, label %kept
kept:
  %from_pickle = call ptr @numba_unpickle(ptr %text, i32 %length, ptr %third)
  br label %raise
made:
  %size = sext i32 %length to i64
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr %text, i64 %size)
  %arguments = call ptr %make(ptr %third)
  %has_none = icmp eq ptr %arguments, null
  br i1 %has_none, label %failed, label %build
failed:
  call void @PyErr_SetString(ptr inttoptr (i64 ERROR_RuntimeError to ptr), ptr @no_arguments)
  br label %done
build:
  %from_text = call ptr @numba_runtime_build_excinfo_struct(ptr %bytes, ptr %arguments)
  call void @NRT_Free(ptr %what)
  br label %raise
raise:
  %raised = phi ptr [ %from_pickle, %kept ], [ %from_text, %build ]
  %is_there = icmp ne ptr %raised, null
  br i1 %is_there, label %do, label %done
do:
  %ignored = call i32 @numba_do_raise(ptr %raised)
  br label %done
done:
  ret void
}
"""  # noqa: E501


@functools.cache
def _shared() -> Any:
    """What wrappers call, compiled."""
    with global_compiler_lock:
        # with it come the functions of numba's that these call
        rtsys.initialize(cpu_target.target_context)
    text = _SHARED.replace("ENVIRONMENT", str(_dynfunc._impl_info["offsetof_env_body"] + _CONSTANTS))
    for error in (TypeError, RuntimeError, StopIteration, SystemError):
        text = text.replace(f"ERROR_{error.__name__}", str(id(error)))
    machine = llvmlite.binding.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvmlite.binding.create_mcjit_compiler(llvmlite.binding.parse_assembly(text), machine)
    engine.finalize_object()
    for name in (_TAKE, _MAKE, _GIVE_BACK, _RAISE):
        llvmlite.binding.add_symbol(name, engine.get_function_address(name))
    return engine


def ready() -> None:
    """Gives code that was compiled in another process what its wrappers call, where they are ours."""
    if not is_plain():
        _shared()


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
    _shared()
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
        own = [k for k, kind in enumerate(kinds) if _is_array(kind) or kind in (types.float64, types.int64)]
        fields = [self.context.get_value_type(kinds[k]) for k in own]
        places = self._alloca(llvm.LiteralStructType(fields))
        arrays = [cgutils.intp_t(len(kinds)), self._described(own), builder.bitcast(places, api.voidptr)]
        name = self.context.insert_const_string(builder.module, self.fndesc.qualname)
        fault = self._call(_TAKE, llvm.IntType(32), [args, name, *arrays])
        self.failed = builder.append_basic_block("failed")
        self._fails_if(cgutils.is_not_null(builder, fault))
        values: list[Any] = []
        for k, kind in enumerate(kinds):
            if k not in own:
                values += self._number(kind, api.tuple_getitem(args, k))
            elif _is_array(kind):
                values += self._array(kind, cgutils.gep_inbounds(builder, places, 0, own.index(k)))
            else:
                values.append(self._field(places, own.index(k)))
        code, result, excinfo = self._called(values)
        self._call(_GIVE_BACK, None, arrays)
        is_done = builder.or_(*(builder.icmp_signed("==", code, done) for done in (RETCODE_OK, RETCODE_NONE)))
        with builder.if_then(is_done, likely=True):
            builder.ret(self._boxed(self.fndesc.restype, result))
        self._call(_RAISE, None, [code, builder.load(excinfo)])
        builder.ret(api.get_null_object())
        builder.position_at_end(self.failed)
        self._call(_GIVE_BACK, None, arrays)
        builder.ret(api.get_null_object())

    def _described(self, own: Sequence[int]) -> Any:
        """Where each argument goes, and what it is. Each field has the size of a pointer."""
        intp, rows, offset = cgutils.intp_t, [], 0
        for k, kind in enumerate(self.fndesc.argtypes):
            if k not in own:
                rows.append((-1, -1))
            elif _is_array(kind):
                rows.append((offset, numpy_support.as_dtype(kind.dtype).itemsize))
                offset += (_SHAPE + 2 * kind.ndim) * intp.width // 8
            else:
                rows.append((offset, 0 if kind == types.float64 else -1))
                offset += intp.width // 8
        row = llvm.LiteralStructType([intp, intp])
        table = llvm.Constant(llvm.ArrayType(row, len(rows)), [llvm.Constant(row, list(one)) for one in rows])
        return self.builder.bitcast(cgutils.global_constant(self.builder, "arguments", table), self.api.voidptr)

    def _call(self, name: str, result: llvm.Type | None, values: Sequence[Any]) -> Any:
        """A call of one of the functions that wrappers share."""
        kind = llvm.FunctionType(result or llvm.VoidType(), [value.type for value in values])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), values)

    def _alloca(self, kind: llvm.Type) -> Any:
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    def _number(self, kind: types.Type, given: Any) -> list[Any]:
        native = self.api.to_native_value(kind, given)
        self._fails_if(native.is_error)
        return list(self.context.call_conv._get_arg_packer((kind,)).as_arguments(self.builder, (native.value,)))

    def _array(self, kind: Any, place: Any) -> list[Any]:
        """The fields of an array, as the function takes them."""
        itemsize = cgutils.intp_t(numpy_support.as_dtype(kind.dtype).itemsize)
        fields = [self._field(place, k) if k != _ITEMSIZE else itemsize for k in range(_SHAPE)]
        return fields + [self._field(place, k, axis) for k in (_SHAPE, _STRIDES) for axis in range(kind.ndim)]

    def _address(self, place: Any) -> Any:
        return self.builder.bitcast(place, self.api.voidptr)

    def _field(self, place: Any, *position: int) -> Any:
        return self.builder.load(cgutils.gep_inbounds(self.builder, place, 0, *position))

    def _fails_if(self, is_error: Any) -> None:
        with self.builder.if_then(is_error, likely=False):
            self.builder.branch(self.failed)

    def _called(self, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """What the function returns, and where its result and what it raises are."""
        builder, kind = self.builder, self.func.function_type
        # of functions that Python calls only those called by others are inlined
        result, excinfo = (self._alloca(place.pointee) for place in kind.args[:2])
        state = self.api.save_thread() if self.release_gil else None
        code = builder.call(self.func, [result, excinfo, *values], attrs=("noinline",))
        if state is not None:
            self.api.restore_thread(state)
        return code, result, excinfo

    def _boxed(self, kind: Any, place: Any) -> Any:
        """The object for a result in memory."""
        builder, api = self.builder, self.api
        if isinstance(kind, types.BaseTuple):
            kinds = list(kind)  # type: ignore[call-overload]
            made = api.tuple_new(len(kinds))
            for k, inner in enumerate(kinds):
                api.tuple_setitem(made, k, self._boxed(inner, cgutils.gep_inbounds(builder, place, 0, k)))
            return made
        if not isinstance(kind, types.Array):
            return api.from_native_value(kind, builder.load(place))
        environment = self.context.declare_env_global(builder.module, self.context.get_env_name(self.fndesc))
        # numba finds constants of an environment by their place in it
        manager = api.get_env_manager(self.env, None, None)
        constants = [manager.add_const(c) for c in (kind.box_type, numpy_support.as_dtype(kind.dtype))]
        numbers = [llvm.IntType(32)(number) for number in (kind.ndim, int(kind.mutable))]
        values = [self._address(place), builder.load(environment), *map(cgutils.intp_t, constants), *numbers]
        return self._call(_MAKE, api.pyobj, values)
