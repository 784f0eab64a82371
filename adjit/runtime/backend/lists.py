"""Lists of arrays, as generated code keeps what its trips make: by one function of the module for each operation.

In: an operation on a list, and its types. Out: a call of a function that is written where it is first called.

    product_tape.append(product)      call i32 @adjit_append_...(...), not its 150 instructions

A filter of 20 products a step has 14 such lists: a fifth of the instructions that LLVM is given for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.funcdesc import ExternalFunctionDescriptor
from numba.core.typing.templates import Signature, signature


def is_of_arrays(kind: types.Type) -> bool:
    """Whether the functions are for lists of this type."""
    return isinstance(kind, types.List) and isinstance(kind.dtype, types.Array)


def append(context: Any, builder: ir.IRBuilder, kind: Any, args: Sequence[ir.Value]) -> ir.Value:
    """list.append of an array to a list of type `kind`."""
    sig = signature(types.none, kind, kind.dtype)
    return _outlined(context, builder, "append", sig, args, context.get_function("list.append", sig))


def item(context: Any, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """The element at a place; IndexError where there is none."""
    return _outlined(context, builder, "item", sig, args, context.get_function(operator.getitem, sig))


def empty(context: Any, builder: ir.IRBuilder, kind: types.Type) -> ir.Value:
    """A list without elements."""

    def write(own: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
        made: ir.Value = context.build_list(own, kind, values)
        return made

    return _outlined(context, builder, "empty", signature(kind), (), write)


def _outlined(
    context: Any,
    builder: ir.IRBuilder,
    name: str,
    sig: Signature,
    args: Sequence[ir.Value],
    write: Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value],
) -> ir.Value:
    """What `write` makes of the arguments, in a function of the module."""
    kind = sig.args[0] if sig.args else sig.return_type
    described = ExternalFunctionDescriptor(f"adjit_{name}_{kind}", sig.return_type, sig.args)
    function = context.declare_function(builder.module, described)
    if function.is_declaration:
        function.linkage = "internal"
        function.attributes.add("noinline")
        own = ir.IRBuilder(function.append_basic_block("entry"))
        context.call_conv.init_call_helper(own)
        values = context.call_conv.decode_arguments(own, sig.args, function)
        context.call_conv.return_value(own, write(own, values))
    return context.call_internal(builder, described, sig, args)
