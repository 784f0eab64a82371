"""The function that Python calls: it takes objects apart, calls the compiled function, and makes objects of results.

In: the types of a function that is compiled. Out: a module of LLVM with its wrapper.

    grad(x)         the fields of x are put where numba has them, and go to the function one by one

numba's own is written and compiled for each function anew, a third of a short compilation. Here it is one function,
which a process compiles once, and which reads a table: where each argument goes, what it is, and what the result is
made of. What is compiled with a function is a call of that one, and what hands over the arguments from their places.

    the table of (x: float64[:], k: int64) -> (float64, (float64[:],))
        x: an array of 8 bytes an element, its seven fields behind each other; k: an integer, after them
        a tuple of two: a float at 0, a tuple of one: an array of one axis at 8

For other types the wrapper is numba's.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Collection, Sequence
from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core.callconv import RETCODE_NONE, RETCODE_OK
from numba.core.compiler_lock import global_compiler_lock
from numba.core.pythonapi import EnvironmentManager
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys
from numba.np import numpy_support

_SHAPE = 5  # fields of an array before its extents and strides
_CONSTANTS = 8  # of the body of an environment, after what is global
_CALL = "adjit_call"

# what an argument is, where it is no array; the size of an element says that it is one
_FLOAT64, _INT, _FLOAT32, _UINT, _BOOLEAN = 0, -1, -2, -3, -4
# what a result is made of
_TUPLE, _DOUBLE, _SINGLE, _SIGNED, _UNSIGNED, _ARRAY = range(6)

# What wrappers do. An array is a place with the fields that numba has of it, its reference first; what is raised is
# a pickle, or one of the class and a function that makes the arguments. ERROR_x is the class x, ENVIRONMENT where the
# constants of a function are, from where its environment begins; the others are the constants above, and numba's.
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
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare void @PyErr_SetString(ptr, ptr)
declare void @PyErr_SetNone(ptr)
declare void @PyErr_Clear()

; Calls a function, which has an environment and a name, with the arguments of Python's; `apply` hands them over. The
; table: 0 or whether others may run meanwhile; bytes of the places of the arguments, and of the result; how many
; arguments there are; for each the offset of its place and its kind; the parts of the result.
define ptr @adjit_call(ptr %arguments, ptr %environment, ptr %name, ptr %apply, ptr %table) {
  %bytes_place = getelementptr i64, ptr %table, i64 1
  %result_bytes_place = getelementptr i64, ptr %table, i64 2
  %count_place = getelementptr i64, ptr %table, i64 3
  %kinds = getelementptr i64, ptr %table, i64 4
  %is_free_word = load i64, ptr %table
  %bytes = load i64, ptr %bytes_place
  %result_bytes = load i64, ptr %result_bytes_place
  %count = load i64, ptr %count_place
  %places = alloca i8, i64 %bytes, align 16
  %result = alloca i8, i64 %result_bytes, align 16
  %raised_place = alloca ptr
  %cursor = alloca ptr
  %fault = call i32 @take(ptr %arguments, ptr %name, i64 %count, ptr %kinds, ptr %places)
  %is_fault = icmp ne i32 %fault, 0
  br i1 %is_fault, label %failed, label %go
failed:
  call void @give_back(i64 %count, ptr %kinds, ptr %places)
  ret ptr null
go:
  %is_free = icmp ne i64 %is_free_word, 0
  br i1 %is_free, label %freed, label %held
freed:
  %state = call ptr @PyEval_SaveThread()
  %free_code = call i32 %apply(ptr %result, ptr %raised_place, ptr %places)
  call void @PyEval_RestoreThread(ptr %state)
  br label %called
held:
  %held_code = call i32 %apply(ptr %result, ptr %raised_place, ptr %places)
  br label %called
called:
  %code = phi i32 [ %free_code, %freed ], [ %held_code, %held ]
  call void @give_back(i64 %count, ptr %kinds, ptr %places)
  switch i32 %code, label %other [ i32 RETCODE_OK, label %done
                                   i32 RETCODE_NONE, label %done ]
done:
  %parts = getelementptr { i64, i64 }, ptr %kinds, i64 %count
  store ptr %parts, ptr %cursor
  %object = call ptr @box(ptr %cursor, ptr %result, ptr %environment)
  ret ptr %object
other:
  %raised = load ptr, ptr %raised_place
  call void @raise(i32 %code, ptr %raised)
  ret ptr null
}

; The object of what comes next of a result.
define internal ptr @box(ptr %cursor, ptr %result, ptr %environment) {
  %at = load ptr, ptr %cursor
  %what = load i64, ptr %at
  %number_place = getelementptr i64, ptr %at, i64 1
  %number = load i64, ptr %number_place
  %third_place = getelementptr i64, ptr %at, i64 2
  %place = getelementptr i8, ptr %result, i64 %number
  switch i64 %what, label %array [ i64 TUPLE, label %tuple
                                   i64 DOUBLE, label %double
                                   i64 SINGLE, label %single
                                   i64 SIGNED, label %integer
                                   i64 UNSIGNED, label %integer ]
tuple:
  store ptr %third_place, ptr %cursor
  %made = call ptr @PyTuple_New(i64 %number)
  br label %test
test:
  %k = phi i64 [ 0, %tuple ], [ %next, %item ]
  %more = icmp ult i64 %k, %number
  br i1 %more, label %item, label %all
item:
  %inner = call ptr @box(ptr %cursor, ptr %result, ptr %environment)
  %ignored = call i32 @PyTuple_SetItem(ptr %made, i64 %k, ptr %inner)
  %next = add i64 %k, 1
  br label %test
all:
  ret ptr %made
double:
  store ptr %third_place, ptr %cursor
  %float = load double, ptr %place
  %as_double = call ptr @PyFloat_FromDouble(double %float)
  ret ptr %as_double
single:
  store ptr %third_place, ptr %cursor
  %narrow = load float, ptr %place
  %wide = fpext float %narrow to double
  %as_single = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %as_single
integer:
  %integer_end = getelementptr i64, ptr %at, i64 3
  store ptr %integer_end, ptr %cursor
  %shift = load i64, ptr %third_place
  %bytes = load i64, ptr %place, align 1
  %high = shl i64 %bytes, %shift
  %is_signed = icmp eq i64 %what, SIGNED
  br i1 %is_signed, label %signed, label %unsigned
signed:
  %signed_value = ashr i64 %high, %shift
  %as_signed = call ptr @PyLong_FromLongLong(i64 %signed_value)
  ret ptr %as_signed
unsigned:
  %unsigned_value = lshr i64 %high, %shift
  %as_unsigned = call ptr @PyLong_FromUnsignedLongLong(i64 %unsigned_value)
  ret ptr %as_unsigned
array:
  %array_end = getelementptr i64, ptr %at, i64 6
  store ptr %array_end, ptr %cursor
  %dtype_place = getelementptr i64, ptr %at, i64 3
  %ndim_place = getelementptr i64, ptr %at, i64 4
  %is_mutable_place = getelementptr i64, ptr %at, i64 5
  %class = load i64, ptr %third_place
  %dtype = load i64, ptr %dtype_place
  %ndim_word = load i64, ptr %ndim_place
  %is_mutable_word = load i64, ptr %is_mutable_place
  %ndim = trunc i64 %ndim_word to i32
  %is_mutable = trunc i64 %is_mutable_word to i32
  %as_array = call ptr @make_array(ptr %place, ptr %environment, i64 %class, i64 %dtype, i32 %ndim, i32 %is_mutable)
  ret ptr %as_array
}

; Takes the arguments of a call. 1 and an error if they are not what they have to be.
define internal i32 @take(ptr %arguments, ptr %name, i64 %count, ptr %kinds, ptr %places) {
  br label %clear
clear:
  ; so that what fails finds no references in those that come after it
  %c = phi i64 [ 0, %0 ], [ %c_next, %clear_next ]
  %c_more = icmp ult i64 %c, %count
  br i1 %c_more, label %clear_next, label %check
clear_next:
  %c_where = getelementptr { i64, i64 }, ptr %kinds, i64 %c
  %c_offset = load i64, ptr %c_where
  %c_place = getelementptr i8, ptr %places, i64 %c_offset
  store ptr null, ptr %c_place
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
  br i1 %more, label %own, label %done
own:
  %where = getelementptr { i64, i64 }, ptr %kinds, i64 %k
  %what = getelementptr { i64, i64 }, ptr %kinds, i64 %k, i32 1
  %offset = load i64, ptr %where
  %kind = load i64, ptr %what
  %place = getelementptr i8, ptr %places, i64 %offset
  %object = call ptr @PyTuple_GetItem(ptr %arguments, i64 %k)
  switch i64 %kind, label %array [ i64 FLOAT64, label %float
                                   i64 INT, label %integer
                                   i64 FLOAT32, label %float
                                   i64 UINT, label %integer
                                   i64 BOOLEAN, label %boolean ]
array:
  %fault = call i32 @take_array(ptr %object, ptr %place, i64 %kind)
  %is_fault = icmp ne i32 %fault, 0
  br i1 %is_fault, label %failed, label %taken
float:
  %as_float = call ptr @PyNumber_Float(ptr %object)
  %no_float = icmp eq ptr %as_float, null
  br i1 %no_float, label %failed, label %read_float
read_float:
  %number = call double @PyFloat_AsDouble(ptr %as_float)
  call void @Py_DecRef(ptr %as_float)
  %is_single = icmp eq i64 %kind, FLOAT32
  br i1 %is_single, label %narrow, label %wide
narrow:
  %single = fptrunc double %number to float
  store float %single, ptr %place
  br label %taken
wide:
  store double %number, ptr %place
  br label %taken
integer:
  %as_integer = call ptr @PyNumber_Long(ptr %object)
  %no_integer = icmp eq ptr %as_integer, null
  br i1 %no_integer, label %failed, label %read_integer
read_integer:
  %is_signed = icmp eq i64 %kind, INT
  br i1 %is_signed, label %read_signed, label %read_unsigned
read_signed:
  %signed = call i64 @PyLong_AsLongLong(ptr %as_integer)
  br label %read
read_unsigned:
  %unsigned = call i64 @PyLong_AsUnsignedLongLong(ptr %as_integer)
  br label %read
read:
  %whole = phi i64 [ %signed, %read_signed ], [ %unsigned, %read_unsigned ]
  store i64 %whole, ptr %place
  call void @Py_DecRef(ptr %as_integer)
  %may_be = icmp eq i64 %whole, -1
  br i1 %may_be, label %ask, label %taken
boolean:
  %truth = call i32 @PyObject_IsTrue(ptr %object)
  %is_true = icmp ne i32 %truth, 0
  %bit = zext i1 %is_true to i64
  store i64 %bit, ptr %place
  %no_truth = icmp eq i32 %truth, -1
  br i1 %no_truth, label %failed, label %taken
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
define internal void @give_back(i64 %count, ptr %kinds, ptr %places) {
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
define internal i32 @take_array(ptr %object, ptr %place, i64 %itemsize) {
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
define internal ptr @make_array(ptr %place, ptr %environment, i64 %class, i64 %dtype, i32 %ndim, i32 %is_mutable) {
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
define internal void @raise(i32 %code, ptr %what) {
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
def give_symbols() -> tuple[Any, ...]:
    """What wrappers do, compiled, and found by its name: of code that was compiled in another process, too."""
    with global_compiler_lock:
        # with it come the functions of numba's that these call
        rtsys.initialize(cpu_target.target_context)
    words = {
        "ENVIRONMENT": _dynfunc._impl_info["offsetof_env_body"] + _CONSTANTS,
        "RETCODE_OK": RETCODE_OK.constant,
        "RETCODE_NONE": RETCODE_NONE.constant,
        **{f"ERROR_{error.__name__}": id(error) for error in (TypeError, RuntimeError, StopIteration, SystemError)},
        "FLOAT64": _FLOAT64,
        "INT": _INT,
        "FLOAT32": _FLOAT32,
        "UINT": _UINT,
        "BOOLEAN": _BOOLEAN,
        "TUPLE": _TUPLE,
        "DOUBLE": _DOUBLE,
        "SINGLE": _SINGLE,
        "SIGNED": _SIGNED,
        "UNSIGNED": _UNSIGNED,
    }
    text = re.sub(rf"\b({'|'.join(words)})\b", lambda found: str(words[found[0]]), _SHARED)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    llvm.add_symbol(_CALL, engine.get_function_address(_CALL))
    return engine, machine


def is_called(names: Collection[str]) -> bool:
    """Whether machine code that takes these symbols from elsewhere has such a wrapper."""
    return _CALL in names


def suits(result: types.Type, arguments: Sequence[types.Type]) -> bool:
    """Whether the wrapper is for functions of these types, on this machine."""
    is_here = os.name != "nt" and types.intp.bitwidth == 64  # type: ignore[attr-defined]
    return is_here and _is_boxed(result) and all(map(_is_taken, arguments))


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


def _words(kind: Any) -> int:
    """How many arguments of the function one of Python's is."""
    return _SHAPE + 2 * kind.ndim if _is_array(kind) else 1


def write_wrapper(context: Any, library: Any, fndesc: Any, env: Any, release_gil: bool) -> None:
    """Adds the wrapper to the library of the function."""
    give_symbols()
    offsets = [0, *itertools.accumulate(8 * _words(kind) for kind in fndesc.argtypes)]
    taken = [word for kind, offset in zip(fndesc.argtypes, offsets, strict=False) for word in (offset, _what(kind))]
    parts, size = _parts(fndesc.restype, 0, EnvironmentManager(None, env, None, None))
    # what is narrower than a word is read as one
    table = [int(release_gil), offsets[-1], size + 8, len(fndesc.argtypes), *taken, *parts]
    name = fndesc.qualname.encode() + b"\0"
    escaped = "".join(f"\\{byte:02x}" for byte in name)
    environment, function = context.get_env_name(fndesc), fndesc.llvm_func_name
    # each field of each argument is a word, in the order in which the function takes them
    fields = [_text(kind) for kind in context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes).args[2:]]
    loads = "".join(
        f"  %p{k} = getelementptr i64, ptr %places, i64 {k}\n  %v{k} = load {kind}, ptr %p{k}\n"
        for k, kind in enumerate(fields)
    )
    handed = "".join(f", {kind} %v{k}" for k, kind in enumerate(fields))
    text = f"""
@"{environment}" = common global ptr null
@.name = private constant [{len(name)} x i8] c"{escaped}"
@.table = private constant [{len(table)} x i64] [{", ".join(f"i64 {word}" for word in table)}]
declare i32 @"{function}"({", ".join(["ptr", "ptr", *fields])})
declare ptr @{_CALL}(ptr, ptr, ptr, ptr, ptr)
define internal i32 @.apply(ptr %result, ptr %raised, ptr %places) {{
{loads}  %code = call i32 @"{function}"(ptr %result, ptr %raised{handed}) noinline
  ret i32 %code
}}
define ptr @"{fndesc.llvm_cpython_wrapper_name}"(ptr %self, ptr %arguments, ptr %keywords) {{
  %environment = load ptr, ptr @"{environment}"
  %object = tail call ptr @{_CALL}(ptr %arguments, ptr %environment, ptr @.name, ptr @.apply, ptr @.table)
  ret ptr %object
}}
"""
    module = llvm.parse_assembly(text)
    module.name = "wrapper"
    library.add_llvm_module(module)


def _text(kind: Any) -> str:
    return "ptr" if kind.is_pointer else str(kind)


def _what(kind: Any) -> int:
    if _is_array(kind):
        return int(numpy_support.as_dtype(kind.dtype).itemsize)
    if isinstance(kind, types.Float):
        return _FLOAT64 if kind == types.float64 else _FLOAT32
    if isinstance(kind, types.Boolean):
        return _BOOLEAN
    return _INT if kind.signed else _UINT


def _parts(kind: Any, offset: int, constants: EnvironmentManager) -> tuple[list[int], int]:
    """What a result that lies there is made of, and where it ends."""
    if isinstance(kind, types.BaseTuple):
        # as LLVM lays out a structure: each field, and the end, where it is aligned
        inside, end = [_TUPLE, len(kind)], offset
        for inner in kind:  # type: ignore[attr-defined]
            parts, end = _parts(inner, _aligned(end, inner), constants)
            inside += parts
        return inside, _aligned(end, kind)
    if _is_array(kind):
        # numba finds constants of an environment by their place in it
        own = [constants.add_const(c) for c in (kind.box_type, numpy_support.as_dtype(kind.dtype))]
        return [_ARRAY, offset, *own, kind.ndim, int(kind.mutable)], offset + 8 * _words(kind)
    end = offset + kind.bitwidth // 8
    if isinstance(kind, types.Float):
        return [_DOUBLE if kind == types.float64 else _SINGLE, offset], end
    return [_SIGNED if kind.signed else _UNSIGNED, offset, 64 - kind.bitwidth], end


def _aligned(offset: int, kind: Any) -> int:
    """The next place from there on where it may lie."""
    alignment = _alignment(kind)
    return -(-offset // alignment) * alignment


def _alignment(kind: Any) -> int:
    if isinstance(kind, types.BaseTuple):
        return max((_alignment(inner) for inner in kind), default=1)  # type: ignore[attr-defined]
    return 8 if _is_array(kind) else int(kind.bitwidth) // 8
