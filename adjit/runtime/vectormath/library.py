"""Functions as LLVM libraries that numba links into the code that calls them, where they are inlined.

In: a definition, which writes instructions, and numba's code generator. Out: a library with one small function.

    linked(context, "tanh", tanh, DOUBLE, 1)  declares adjit.runtime.vectormath.tanh.f64 in the library being compiled

A library of its own keeps the caller's fast-math flags from the instructions, which are exact only as they stand. A
float32 function computes in float64 and rounds once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core.codegen import JITCodeLibrary

from adjit.runtime.vectormath.values import DOUBLE, FLOAT, Machine, Real

Definition = Callable[..., Real]
_libraries: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def symbol(name: str, kind: ir.Type) -> str:
    """The name of the function for arguments of this type."""
    return f"adjit.runtime.vectormath.{name}.{'f32' if kind == FLOAT else 'f64'}"


def call(context: Any, builder: ir.IRBuilder, name: str, definition: Definition, arguments: Sequence[Any]) -> Any:
    """The instruction that calls the function; numba's `context` gets the library to link."""
    kind = arguments[0].type
    context.active_code_library.add_linking_library(library(context.codegen(), name, definition, kind, len(arguments)))
    function_type = ir.FunctionType(kind, [kind] * len(arguments))
    module, wanted = builder.module, symbol(name, kind)
    function = module.globals.get(wanted) or ir.Function(module, function_type, wanted)
    return builder.call(function, arguments)


class _Linkable(JITCodeLibrary):
    """A library for others to link in, of which no machine code is made."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


def library(codegen: Any, name: str, definition: Definition, kind: ir.Type, arity: int) -> Any:
    """The library of one function, made once."""
    made = _libraries.setdefault(codegen, {})
    wanted = symbol(name, kind)
    if wanted not in made:
        found: Any = _Linkable(codegen, wanted)  # type: ignore[no-untyped-call]
        module = found.create_ir_module(wanted)
        write(module, wanted, definition, kind, arity, has_fma(codegen))
        found.add_ir_module(module)
        found.finalize()
        made[wanted] = found
    return made[wanted]


def write(module: ir.Module, name: str, definition: Definition, kind: ir.Type, arity: int, fma: bool) -> ir.Function:
    """The function of that name, in that module."""
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name)
    function.attributes.add("alwaysinline")
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block())
    machine = Machine(builder, fma)
    given = [a if kind == DOUBLE else builder.fpext(a, DOUBLE) for a in function.args]
    value = definition(*(Real(machine, a) for a in given)).value
    builder.ret(value if kind == DOUBLE else builder.fptrunc(value, FLOAT))
    return function


def has_fma(codegen: Any) -> bool:
    """Whether the processor has fused multiply-add, as all of ARM's and PowerPC's have and x86 since 2013."""
    features = codegen._tm_features.split(",")
    return not codegen._tm.triple.startswith(("x86", "i686")) or "+fma" in features
