"""How numba makes the arrays of generated code: in memory that LLVM knows to be their own.

In: shapes and types. Out: instructions.

    u_tape = workspace.empty((steps, n))      a block of the pool where it is large; no loop tests whether it overlaps
    product_tape.append(product)              a call of one function of the module, not its 150 instructions

Lists of arrays hold what the trips of a loop make. Each operation on them is a function of the module, written where it
is first called: a filter of 20 products a step has 14 such lists, a fifth of what LLVM is given for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.callconv import RETCODE_NONE, RETCODE_OK, RETCODE_USEREXC
from numba.core.funcdesc import ExternalFunctionDescriptor
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.core.typing.templates import Signature, signature
from numba.extending import lower_builtin, type_callable

from adjit.runtime.backend.pool import BLOCK, MEMORY
from adjit.runtime.library.workspace import empty, empty_like, zeros, zeros_like

_Typer = Callable[..., types.Type | None]


def told(function: Any, typer: Callable[[Any], _Typer], lower: Any, *counts: int) -> None:
    """Tells numba of what type a function is, and what writes its instructions, for so many arguments."""
    type_callable(function)(typer)
    for count in counts:
        lower_builtin(function, *[types.Any] * count)(lower)


def of_shape(context: Any) -> _Typer:
    def typer(shape: types.Type, dtype: types.Type | None = None) -> types.Type | None:
        ndim = parse_shape(shape)
        element = types.float64 if dtype is None else parse_dtype(dtype)
        return None if ndim is None or element is None else types.Array(element, ndim, "C")

    return typer


def of_like(context: Any) -> _Typer:
    def typer(array: types.Type, dtype: types.Type | None = None) -> types.Type | None:
        if not isinstance(array, types.Array):
            return None
        element = array.dtype if dtype is None else parse_dtype(dtype)
        layout = "C" if array.layout == "A" else array.layout
        return None if element is None else array.copy(dtype=element, layout=layout, readonly=False)

    return typer


def shaped(zeroed: bool, maker: str) -> Any:
    """What writes the instructions of np.empty or np.zeros."""

    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        kind, given = sig.args[0], args[0]
        is_tuple = isinstance(kind, types.BaseTuple)
        kinds, extents = (tuple(kind), cgutils.unpack_tuple(builder, given)) if is_tuple else ((kind,), (given,))
        shape = [context.cast(builder, e, k, types.intp) for k, e in zip(kinds, extents, strict=True)]
        return new_array(context, builder, sig.return_type, shape, zeroed, maker)

    return lower


def like(zeroed: bool, maker: str) -> Any:
    """What writes those of np.empty_like or np.zeros_like."""

    def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[ir.Value]) -> ir.Value:
        shape = leaves(builder, part(context, builder, sig.args[0], args[0], "shape"))
        return new_array(context, builder, sig.return_type, shape, zeroed, maker)

    return lower


def field(builder: ir.IRBuilder, value: ir.Value, position: int) -> ir.Value:
    """A part of a value: what was put there, where that is seen."""
    found = put_there(value, position)
    return builder.extract_value(value, position) if found is None else found


def put_there(value: ir.Value, position: int) -> ir.Value | None:
    """What was put at a place of a value, None where that is not seen."""
    while isinstance(value, ir.InsertValue) and len(value.indices) == 1:
        if value.indices[0] == position:
            found: ir.Value = value.value
            return found
        value = value.aggregate
    return None


def leaves(builder: ir.IRBuilder, value: ir.Value) -> list[ir.Value]:
    """All that a value is made of."""
    if not isinstance(value.type, ir.LiteralStructType | ir.ArrayType):
        return [value]
    return [leaf for k in range(len(value.type)) for leaf in leaves(builder, field(builder, value, k))]


def part(context: Any, builder: ir.IRBuilder, kind: types.Type, value: ir.Value, name: str) -> ir.Value:
    """The part of a value that numba knows by this name."""
    return field(builder, value, context.data_model_manager[kind].get_field_position(name))


def _allocated(
    context: Any, builder: ir.IRBuilder, type_: types.Array, shape: Sequence[ir.Value], maker: str
) -> ir.Value:
    """Memory for so many elements, by what all generated code calls, which checks the extents; ValueError and
    MemoryError as numba's own np.empty."""
    intp, pointer = cgutils.intp_t, cgutils.voidptr_t
    excinfo = builder.bitcast(context.call_conv._get_excinfo_argument(builder.function), pointer)
    first, second, *rest = [*shape, *[intp(1)] * (2 - len(shape))]
    others = pointer(None)
    if rest:
        with builder.goto_entry_block():
            place = builder.alloca(ir.ArrayType(intp, len(rest)))
        for axis, extent in enumerate(rest):
            builder.store(extent, cgutils.gep_inbounds(builder, place, 0, axis))
        others = builder.bitcast(place, pointer)
    itemsize = context.get_constant(types.intp, _itemsize(context, type_))
    given = [excinfo, itemsize, first, second, intp(len(rest)), others]
    kind = ir.FunctionType(pointer, [value.type for value in given]).as_pointer()
    make = builder.module.globals.get(maker) or ir.GlobalVariable(builder.module, kind, maker)
    meminfo = builder.call(builder.load(make), given)
    with builder.if_then(cgutils.is_null(builder, meminfo), likely=False):
        handler = getattr(builder, "_in_try_block", None)
        if handler is None:
            context.call_conv._return_errcode_raw(builder, RETCODE_USEREXC)
        else:
            builder.branch(handler["target"])
    return meminfo


def _memory(builder: ir.IRBuilder, meminfo: ir.Value) -> ir.Value:
    """Where the elements of a new array are. LLVM is told that they are in no other array, so that no loop tests it."""
    kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
    function = builder.module.globals.get(MEMORY)
    if function is None:
        function = ir.Function(builder.module, kind, MEMORY)
        function.attributes.add("nounwind")
        function.return_value.add_attribute("noalias")
    data = builder.call(function, [meminfo])
    # It is freed by way of `meminfo`. For LLVM to expect that of a call it has to see the pointer go somewhere.
    builder.asm(ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t]), "", "r,~{memory}", [data], side_effect=True)
    return data


_itemsizes: dict[types.Type, int] = {}


def _itemsize(context: Any, type_: types.Array) -> int:
    if type_.dtype not in _itemsizes:
        # LLVM is asked by way of a module
        _itemsizes[type_.dtype] = int(context.get_abi_sizeof(context.get_data_type(type_.dtype)))
    return _itemsizes[type_.dtype]


def new_array(
    context: Any, builder: ir.IRBuilder, type_: types.Array, shape: Sequence[ir.Value], zeroed: bool, maker: str
) -> ir.Value:
    """An array over memory of `maker`, of the pool's; ValueError and MemoryError as numba's own np.empty."""
    meminfo = _allocated(context, builder, type_, shape, maker)
    data = _memory(builder, meminfo)
    itemsize = context.get_constant(types.intp, _itemsize(context, type_))
    # from the innermost axis outwards
    inward = list(range(len(shape)) if type_.layout == "F" else reversed(range(len(shape))))
    strides, stride = {}, itemsize
    for axis in inward[:-1]:
        strides[axis] = stride
        stride = builder.mul(stride, shape[axis])
    items: ir.Value = cgutils.intp_t(1)
    if shape:
        strides[inward[-1]] = stride
        items = functools.reduce(builder.mul, shape)
    if zeroed:
        cgutils.memset(builder, data, builder.mul(items, itemsize), 0)
    model, made = context.data_model_manager[type_], context.get_constant_undef(type_)
    for field, value in (
        ("meminfo", meminfo),
        ("parent", cgutils.get_null_value(cgutils.voidptr_t)),
        ("nitems", items),
        ("itemsize", itemsize),
        ("data", builder.bitcast(data, context.get_data_type(type_.dtype).as_pointer())),
        ("shape", cgutils.pack_array(builder, shape, ty=cgutils.intp_t)),
        ("strides", cgutils.pack_array(builder, [strides[k] for k in range(len(shape))], ty=cgutils.intp_t)),
    ):
        made = builder.insert_value(made, value, model.get_field_position(field))
    return impl_ret_new_ref(context, builder, type_, made)


for _zeroed, _new, _new_like in ((False, empty, empty_like), (True, zeros, zeros_like)):
    told(_new, of_shape, shaped(_zeroed, BLOCK), 1, 2)
    told(_new_like, of_like, like(_zeroed, BLOCK), 1)


# ----------------------------------------------------------------------------------------------------- lists of arrays


def are_listed(kind: types.Type) -> bool:
    """Whether a value of this type is a list of arrays."""
    return isinstance(kind, types.List) and isinstance(kind.dtype, types.Array)


def append(context: Any, builder: ir.IRBuilder, kind: Any, args: Sequence[ir.Value]) -> ir.Value:
    """list.append of an array to a list of type `kind`."""
    sig = signature(types.none, kind, kind.dtype)
    return _outlined(context, builder, "append", sig, args, context.get_function("list.append", sig))


def item_of_list(context: Any, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """The element at a place; IndexError where there is none."""
    return _outlined(context, builder, "item", sig, args, context.get_function(operator.getitem, sig))


def empty_list(context: Any, builder: ir.IRBuilder, kind: types.Type) -> ir.Value:
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
    return call(context, builder, described, sig, args)


def call(context: Any, builder: ir.IRBuilder, described: Any, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    """A call of a function that is described, which hands on what that raises.

    numba puts what is passed together and takes it apart, and asks of what comes back whether a `try` is around it.
    """
    if isinstance(sig.return_type, types.Optional) or getattr(builder, "_in_try_block", None) is not None:
        return context.call_internal(builder, described, sig, args)
    function, convention = context.declare_function(builder.module, described), context.call_conv
    with builder.goto_entry_block():
        result = builder.alloca(function.args[0].type.pointee)
    values: list[ir.Value] = []
    for kind, value in zip(sig.args, args, strict=True):
        if isinstance(kind, types.Array):
            values.extend(leaves(builder, value))
        else:
            values.extend(convention._get_arg_packer((kind,)).as_arguments(builder, (value,)))
    code = builder.call(function, [result, convention._get_excinfo_argument(builder.function), *values])
    fails = builder.icmp_signed("!=", code, RETCODE_OK)
    if isinstance(sig.return_type, types.NoneType):
        fails = builder.and_(fails, builder.icmp_signed("!=", code, RETCODE_NONE))
    with builder.if_then(fails, likely=False):
        convention._return_errcode_raw(builder, code)
    return context.get_returned_value(builder, sig.return_type, builder.load(result))
