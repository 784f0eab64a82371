"""The function that Python calls: it takes objects apart, calls the compiled function, and makes objects of results.

In: the types of a function that is compiled. Out: a module of LLVM with its wrapper.

    grad(x)         the fields of x are loaded where numba has them, and go to the function one by one

numba's own loads each array whole, takes it apart for the call and again for the references that are given back, and
puts results together to store them: most of its instructions, on which LLVM spends a tenth of a short compilation. What
all wrappers do, to check an argument, to make an object of a result, to raise what was raised, are calls of functions
that a process compiles once: half of the instructions that are left, and 0.84 of the first gradient of ten lines.
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

_TAKE, _MAKE, _GIVE_BACK, _RAISE = "adjit_take_array", "adjit_make_array", "adjit_give_back", "adjit_raise"

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
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @PyErr_SetString(ptr, ptr)
declare void @PyErr_SetNone(ptr)
declare void @PyErr_Clear()

; The fields of an object that has to be an array of elements of this size; 1 and an error if it is not.
define i32 @adjit_take_array(ptr %object, ptr %place, i64 %itemsize) {
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

define void @adjit_give_back(ptr %place) {
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
  call void @adjit_give_back(ptr %place)
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
    machine = llvmlite.binding.Target.from_default_triple().create_target_machine(opt=0)
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
        objects = [api.alloca_obj() for _ in kinds]
        is_parsed = api.unpack_tuple(args, self.fndesc.qualname, len(kinds), len(kinds), *objects)
        with builder.if_then(cgutils.is_null(builder, is_parsed), likely=False):
            builder.ret(api.get_null_object())
        self.failed = builder.append_basic_block("failed")
        # all at once, so that what fails finds no references in those that come after it
        places = [self._place(kind) if _is_array(kind) else None for kind in kinds]
        values: list[Any] = []
        for kind, place, given in zip(kinds, places, objects, strict=True):
            values += self._number(kind, given) if place is None else self._array(kind, place, given)
        arrays = [place for place in places if place is not None]
        code, result, excinfo = self._called(values)
        self._give_back(arrays)
        is_done = builder.or_(*(builder.icmp_signed("==", code, done) for done in (RETCODE_OK, RETCODE_NONE)))
        with builder.if_then(is_done, likely=True):
            builder.ret(self._boxed(self.fndesc.restype, result))
        self._call(_RAISE, None, [code, builder.load(excinfo)])
        builder.ret(api.get_null_object())
        builder.position_at_end(self.failed)
        self._give_back(arrays)
        builder.ret(api.get_null_object())

    def _call(self, name: str, result: llvm.Type | None, values: Sequence[Any]) -> Any:
        """A call of one of the functions that wrappers share."""
        kind = llvm.FunctionType(result or llvm.VoidType(), [value.type for value in values])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), values)

    def _alloca(self, kind: llvm.Type) -> Any:
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    def _place(self, kind: types.Type) -> Any:
        """Where the fields of an array will be. Until then there is no reference to give back."""
        place = self._alloca(self.context.get_value_type(kind))
        reference = cgutils.gep_inbounds(self.builder, place, 0, 0)
        self.builder.store(cgutils.get_null_value(reference.type.pointee), reference)
        return place

    def _number(self, kind: types.Type, given: Any) -> list[Any]:
        native = self.api.to_native_value(kind, self.builder.load(given))
        self._fails_if(native.is_error)
        return list(self.context.call_conv._get_arg_packer((kind,)).as_arguments(self.builder, (native.value,)))

    def _array(self, kind: Any, place: Any, given: Any) -> list[Any]:
        """The fields of an array, as the function takes them."""
        builder = self.builder
        itemsize = cgutils.intp_t(numpy_support.as_dtype(kind.dtype).itemsize)
        fault = self._call(_TAKE, llvm.IntType(32), [builder.load(given), self._address(place), itemsize])
        self._fails_if(cgutils.is_not_null(builder, fault))
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

    def _give_back(self, arrays: Sequence[Any]) -> None:
        for place in arrays:
            self._call(_GIVE_BACK, None, [self._address(place)])

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
