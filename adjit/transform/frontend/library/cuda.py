"""Kernels: what `cuda.*` names stand for in the body of a `@cuda.jit` function.

In: a name, dotted as it is written; in no case the object behind it, which is another in each package and in the
simulator. Out: a value. A kernel is elaborated as what one thread does, inside loops over blocks and threads:

    i = cuda.grid(1)                   %i = %block * 16 + %t
    tile = cuda.shared.array(16, f)    %tile = call shared(16)           until `stretches` puts it into the block
    cuda.syncthreads()                 call barrier()                    until `stretches` cuts the loop there
    cuda.atomic.add(y, i, v)           store %y[%i] += %v
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.runtime.library import own_attribute
from adjit.runtime.library.xoroshiro import DRAWS
from adjit.transform import ir
from adjit.transform.frontend.library.launches import OF_HOST, ForAll, Launched, Queue
from adjit.transform.frontend.operations.operators import applied
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import bound, dtype_argument
from adjit.transform.frontend.values.elementwise import operand, where
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import dtype, is_array, ndim
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import array_type
from adjit.transform.source.parsing import FunctionSource

# The modules that kernels are written with.
_MODULES = frozenset(("numba.cuda", "numba_cuda.numba.cuda", "numba_cuda_mlir.cuda", "numba_cuda_mlir.numba_cuda"))
WARP = 32


# What stands in the program of one thread until it is cut into stretches.


def barrier() -> None:
    """`cuda.syncthreads()`."""
    raise NotImplementedError


def counted(condition: bool) -> int:
    """A barrier, and of how many threads the condition is true."""
    raise NotImplementedError


def shared(*shape: int) -> Any:
    """An array that the threads of a block share; of what a launch asks for in bytes, where the shape is that."""
    raise NotImplementedError


@dataclass(frozen=True)
class CudaName:
    """A name in the module that kernels are written with, such as `shared.array`."""

    name: str


@dataclass(frozen=True, eq=False)
class Kernel:
    """The kernel whose thread is elaborated. All along x, y, z; `blocks` has as many as the grid has axes.

    shared_bytes: what the launch asks for of dynamic shared memory; `dynamic`: the array that this is, by type.
    """

    launched: Launched
    blocks: tuple[ir.Var, ...]
    shared_bytes: ir.Var
    block_index: tuple[ir.Operand, ...]
    thread_index: tuple[ir.Operand, ...]
    dynamic: dict[types.Type, ir.Var] = dataclasses.field(default_factory=dict)

    @property
    def counters(self) -> Sequence[tuple[ir.Level, ir.Var, ir.Operand]]:
        """The loops around a thread, the outermost first: level, counter and how many trips."""
        grid = [("blocks", i, n) for i, n in zip(self.block_index, self.blocks, strict=False)]
        block = [("threads", t, ir.integer(n)) for t, n in zip(self.thread_index, self.launched.block, strict=True)]
        return [c for c in (*reversed(grid), *reversed(block)) if isinstance(c[1], ir.Var)]  # type: ignore[misc]


def kernel_of(launched: Launched, blocks: Sequence[ir.Var], shared_bytes: ir.Var) -> Kernel:
    """A kernel to be elaborated, with these parameters."""
    zero = ir.integer(0)
    indices = [ir.Var(name, types.intp) for name in ("block", "block_y", "block_z")[: launched.axes]]
    named = zip(("t", "ty", "tz"), launched.block, strict=True)
    threads = [ir.Var(name, types.intp) if n > 1 else zero for name, n in named]
    there: list[ir.Operand] = [*indices, *[zero] * (3 - launched.axes)]
    return Kernel(launched, tuple(blocks), shared_bytes, tuple(there), tuple(threads))


@contextlib.contextmanager
def in_threads(ctx: Context) -> Iterator[None]:
    """Within it is elaborated what one thread of the kernel does; around it come loops over all there are."""
    kernel, ctx.loop.in_prange = ctx.kernel, True
    with ctx.builder.region() as ops:
        yield
    ctx.builder.origin = None
    body = ops
    for level, counter, count in reversed(kernel.counters):
        body = [ir.For(stop=count, body=ir.Region((counter,), tuple(body), ()), level=level)]
    for op in body:
        ctx.builder.emit(op)


# --------------------------------------------------------------------------------------------------------------- names


def attribute_of_cuda(frame: Frame, owner: Static, name: str) -> Value | None:
    """`cuda.name`, or what is in that; None of anything else."""
    of = owner.value
    if isinstance(of, ModuleType) and of.__name__ in _MODULES:
        dotted = name
    elif isinstance(of, CudaName):
        dotted = f"{of.name}.{name}"
    elif name == "forall" and frame.ctx.kernel is None and is_kernel(of):
        return Static(ForAll(of))
    elif isinstance(of, Queue):
        dotted = f"{of.kind}.{name}"
    else:
        return None
    ctx = frame.ctx
    if ctx.kernel is None:
        if dotted in OF_HOST:
            return Static(CudaName(dotted))
        if isinstance(of, Queue) or dotted in _OF_HOST or not any(dotted in names for names in _OF_KERNELS):
            raise ctx.unsupported(
                f"`{dotted if isinstance(of, Queue) else f'cuda.{dotted}'}` in a program that is differentiated",
                "Call it outside. adjit takes launches, cuda.device_array, to_device, copy_to_host, streams and "
                "events.",
            )
        raise ctx.unsupported(
            f"`cuda.{dotted}` outside of a kernel",
            "Launch a kernel that contains it, or differentiate the kernel: adjit.cuda.adjoint(kernel).",
        )
    for prefix, (what, instead) in _REFUSED.items():
        if dotted == prefix or dotted.startswith(prefix + "."):
            raise ctx.unsupported(f"`cuda.{dotted}`, {what}" if what else f"`cuda.{dotted}`", instead)
    value = _VALUES.get(dotted)
    return Static(CudaName(dotted)) if value is None else value(ctx.kernel)


def _axis(of: Callable[[Kernel], Sequence[ir.Operand]], k: int, otherwise: int = 0) -> Callable[[Kernel], ir.Operand]:
    def value(kernel: Kernel) -> ir.Operand:
        found = of(kernel)
        return found[k] if k < len(found) else ir.integer(otherwise)

    return value


def _threads(kernel: Kernel) -> Sequence[ir.Operand]:
    return [ir.integer(n) for n in kernel.launched.block]


_VALUES: dict[str, Callable[[Kernel], ir.Operand]] = {
    **{f"threadIdx.{axis}": _axis(lambda k: k.thread_index, n) for n, axis in enumerate("xyz")},
    **{f"blockIdx.{axis}": _axis(lambda k: k.block_index, n) for n, axis in enumerate("xyz")},
    **{f"blockDim.{axis}": _axis(_threads, n) for n, axis in enumerate("xyz")},
    **{f"gridDim.{axis}": _axis(lambda k: k.blocks, n, 1) for n, axis in enumerate("xyz")},
    "warpsize": lambda kernel: ir.integer(WARP),
}

_THROUGH_MEMORY = "Write through shared memory, with cuda.syncthreads() between the store and the load."
_ONE_WARP = ("which the threads of a warp execute together", _THROUGH_MEMORY)
_LAUNCHES = "Launch one kernel per step: blocks that wait for each other have no order that adjit could reverse."
_OF_HOST = ("to_device", "device_array", "device_array_like", "mapped_array", "pinned_array", "managed_array")
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "syncwarp", "vote_sync_intrinsic", "all_sync",
         "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt",
         "laneid"), _ONE_WARP),
    **dict.fromkeys(("threadfence", "threadfence_block", "threadfence_system"), ("a fence between threads", _LAUNCHES)),
    "cg": ("a cooperative group", "Launch one kernel for the code before sync(), and one for the code after it."),
    "nanosleep": ("which waits", _LAUNCHES),
    **dict.fromkeys(("atomic.exch", "atomic.cas", "atomic.compare_and_swap", "atomic.inc", "atomic.dec"),
        ("whose result depends on the order of the threads",
         "Compute the indices in a separate kernel, and keep them in an integer array.")),
    **dict.fromkeys(("atomic.and_", "atomic.or_", "atomic.xor"),
        ("which adjit does not know", "Call it in a separate kernel.")),
    **dict.fromkeys(("atomic.nanmax", "atomic.nanmin"),
        ("which adjit does not know", "Use cuda.atomic.max or min. No element may be nan before.")),
    **dict.fromkeys(_OF_HOST, ("which belongs to the host", "Create the array before the launch, and pass it.")),
    **dict.fromkeys(("declare_device", "jit"), ("in a kernel", "Define the function outside, with its source.")),
}  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- calls


def call_of_cuda(frame: Frame, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`cuda.name(*args, **named)`."""
    ctx = frame.ctx
    handler = _CALLS.get(name)
    if handler is None and name.startswith("libdevice."):
        return _libdevice(frame, name, args, named)
    if handler is None:
        raise ctx.unsupported(f"`cuda.{name}`", "Write it with indices, arrays, atomic additions and barriers.")
    return handler(frame, list(args), dict(named))


def _grid(frame: Frame, args: list[Value], named: dict[str, Value], of: Callable[[Kernel, int], ir.Operand]) -> Value:
    kernel = _kernel(frame)
    (given,) = bound(frame, "cuda.grid", "ndim", args, named)
    if not isinstance(given, ir.Const) or given.value not in (1, 2, 3):
        raise frame.ctx.unsupported(
            "cuda.grid of a value other than 1, 2 and 3", "Write the number of axes as a literal."
        )
    found = tuple(of(kernel, axis) for axis in range(given.value))
    return found[0] if given.value == 1 else TupleValue(found)


def _place(frame: Frame, kernel: Kernel, axis: int) -> ir.Operand:
    block = _product(frame.ctx, kernel.block_index[axis], _threads(kernel)[axis])
    return scalars.scalar(frame.ctx, operator.add, (block, kernel.thread_index[axis]), "xyz"[axis])


def _extent(frame: Frame, kernel: Kernel, axis: int) -> ir.Operand:
    return _product(frame.ctx, _axis(lambda k: k.blocks, axis, 1)(kernel), _threads(kernel)[axis])


def _product(ctx: Context, left: ir.Operand, right: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, operator.mul, (left, right))


def _kernel(frame: Frame) -> Kernel:
    found = frame.ctx.kernel
    assert isinstance(found, Kernel)
    return found


def _barrier(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    bound(frame, "cuda.syncthreads", "", args, named)
    frame.ctx.builder.emit(ir.Call(callee=barrier, args=(), outs=(), effect=True))
    return Static(None)


def _vote(frame: Frame, args: list[Value], named: dict[str, Value], name: str) -> Value:
    """`syncthreads_count`, `_and` and `_or`: of how many threads it holds, whether of all, and whether of any."""
    ctx = frame.ctx
    (given,) = bound(frame, f"cuda.{name}", "predicate:number", args, named)
    assert given is not None
    is_true = scalars.scalar(ctx, operator.ne, (operand(ctx, given), ir.integer(0)))
    count = ctx.builder.call(counted, is_true, type=types.intp, name="count")
    ctx.builder.ops[-1] = dataclasses.replace(ctx.builder.ops[-1], effect=True)  # type: ignore[call-arg]
    if name.endswith("count"):
        return count
    least = math.prod(_kernel(frame).launched.block) if name.endswith("and") else 1
    return scalars.cast(ctx, scalars.scalar(ctx, operator.ge, (count, ir.integer(least))), types.intp)


def _shared(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    shape, kind = _array(frame, "cuda.shared.array", args, named)
    if shape == (0,):
        return _dynamic(frame, kind)
    out = ir.Var("shared", array_type(kind, len(shape)))
    extents = tuple(map(ir.integer, shape))
    ctx.builder.emit(ir.Call(callee=shared, args=extents, outs=(out,), effect=True))
    return ctx.new_array(out, extents)


def _dynamic(frame: Frame, kind: Any) -> Value:
    """The memory that a launch asks for, as elements of a type: all that do are the same."""
    ctx, kernel = frame.ctx, _kernel(frame)
    if kernel.dynamic and kind not in kernel.dynamic:
        raise ctx.unsupported("dynamic shared memory of two types", "Give one of the arrays a shape of literals.")
    if kind not in kernel.dynamic:
        out = kernel.dynamic[kind] = ir.Var("shared", array_type(kind, 1))
        size = scalars.scalar(ctx, operator.floordiv, (kernel.shared_bytes, ir.integer(kind.bitwidth // 8)), "size")
        ctx.builder.emit(ir.Call(callee=shared, args=(size,), outs=(out,), effect=True))
        ctx.new_array(out, (size,))
    return kernel.dynamic[kind]


def _local(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    shape, kind = _array(frame, "cuda.local.array", args, named)
    taken = math.prod(shape) * kind.bitwidth // 8
    if taken > MOST_LOCAL:
        raise ctx.unsupported(
            f"a local array of {taken} bytes",
            "Pass an array with an axis for the threads.",
            why=f"A thread has at most {MOST_LOCAL} of local memory.",
        )
    out, extents = ir.Var("local", array_type(kind, len(shape))), tuple(map(ir.integer, shape))
    ctx.builder.emit(ir.Alloc(shape=extents, out=out))
    return ctx.new_array(out, extents)


MOST_LOCAL = 4096  # bytes of a thread's own array


def _array(frame: Frame, name: str, args: list[Value], named: dict[str, Value]) -> tuple[tuple[int, ...], Any]:
    """The literal shape and the element type of an array."""
    shape, kind, _ = bound(frame, name, "shape dtype alignment?", args, named)
    items = shape.items if isinstance(shape, TupleValue) else (shape,)
    known = [int(n.value) for n in items if isinstance(n, ir.Const) and isinstance(n.type, types.Integer)]
    if len(known) < len(items):
        raise frame.ctx.unsupported(
            f"{name} of a shape that is only known at run time", "Give literals, or globals of the module."
        )
    found = dtype_argument(frame, kind, types.float64)
    if not isinstance(found, types.Float | types.Integer | types.Boolean):
        raise frame.ctx.unsupported(f"{name} of {found}", "Use one array of real numbers for each part.")
    return tuple(known), found


def _atomic(frame: Frame, args: list[Value], named: dict[str, Value], callee: Any) -> Value:
    """`cuda.atomic.add(array, index, value)`, or `sub`, `max` and `min`, as a statement."""
    ctx, name = frame.ctx, f"cuda.atomic.{callee.__name__}"
    array, index, value = bound(frame, name, "array index value:number", args, named)
    if not isinstance(array, ir.Var) or not is_array(array):
        raise ctx.mismatch(f"{name} to {describe(array)}", "Give it an array.")  # type: ignore[arg-type]
    if ctx.node is not ctx.statement:
        raise ctx.unsupported(
            f"the result of {name}",
            "Compute the indices in a separate kernel, and keep them in an integer array.",
            why="Its value depends on the order of the threads, which cannot be reversed.",
        )
    entries = index.items if isinstance(index, TupleValue) else (index,)
    if len(entries) != ndim(array):
        raise ctx.mismatch(f"{len(entries)} indices for {ndim(array)} axes", "Give one an axis.")
    assert value is not None
    number = scalars.cast(ctx, operand(ctx, value), dtype(array))
    if callee is operator.sub:
        number = scalars.scalar(ctx, operator.neg, (number,))
    place = tuple(as_index(ctx, e, "an index") for e in entries)  # type: ignore[arg-type]
    if callee in _BETTER:
        better = scalars.scalar(ctx, _BETTER[callee], (number, ctx.builder.load(array, place)))
        with ctx.builder.when(better):
            ctx.builder.emit(ir.Store(array=array, index=place, value=number, extreme=callee.__name__))
    else:
        ctx.builder.store(array, place, number, add=True)
    return Static(None)


_BETTER = {max: operator.gt, min: operator.lt}


def _fused(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    a, b, c = bound(frame, "cuda.fma", "a:number b:number c:number", args, named)
    product = applied(frame.ctx, operator.mul, [a, b])  # type: ignore[list-item]
    return applied(frame.ctx, operator.add, [product, c])  # type: ignore[list-item]


def _chosen(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    condition, yes, no = bound(frame, "cuda.selp", "condition a:number b:number", args, named)
    return where(frame.ctx, condition, yes, no)  # type: ignore[arg-type]


def _constant(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (array,) = bound(frame, "cuda.const.array_like", "array:array", args, named)
    assert array is not None
    return array


_Handler = Callable[[Frame, list[Value], dict[str, Value]], Value]


def _on_axes(of: Callable[[Frame, Kernel, int], ir.Operand]) -> _Handler:
    return lambda frame, args, named: _grid(frame, args, named, functools.partial(of, frame))


_CALLS: dict[str, _Handler] = {
    "grid": _on_axes(_place),
    "gridsize": _on_axes(_extent),
    "syncthreads": _barrier,
    **{
        name: functools.partial(_vote, name=name) for name in ("syncthreads_count", "syncthreads_and", "syncthreads_or")
    },
    "shared.array": _shared,
    "local.array": _local,
    "const.array_like": _constant,
    "atomic.add": functools.partial(_atomic, callee=operator.add),
    "atomic.sub": functools.partial(_atomic, callee=operator.sub),
    "atomic.max": functools.partial(_atomic, callee=max),
    "atomic.min": functools.partial(_atomic, callee=min),
    "fma": _fused,
    "selp": _chosen,
    "cbrt": lambda frame, args, named: frame.ctx.call(frame, Static(np.cbrt), args, named),
}

# what comes before a dot
_PARTS = frozenset(name.partition(".")[0] for name in (*_CALLS, *_VALUES, *_REFUSED, "libdevice.")) - {
    "stream",
    "event",
}

_OF_KERNELS = (_VALUES, _CALLS, _REFUSED, _PARTS)

# What libdevice calls otherwise than the rest of the world: of its names, without the `f` of single precision.
_OTHERWISE: dict[str, Any] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "pow": operator.pow, "tgamma": math.gamma, "fabs": np.fabs,
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "fmax": np.fmax, "fmin": np.fmin,
}  # fmt: skip
_ALIKE = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
          "cbrt", "hypot", "floor", "ceil", "trunc", "fmod", "copysign")  # fmt: skip
LIBDEVICE: dict[str, Any] = {**{name: getattr(np, name) for name in _ALIKE}, **_OTHERWISE}


def _libdevice(frame: Frame, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A function of libdevice, by the one of NumPy or `math` that it is on numbers of that type."""
    own = name.removeprefix("libdevice.").removeprefix("fast_")
    found = LIBDEVICE.get(own) or LIBDEVICE.get(own.removesuffix("f"))
    if found is None:
        raise frame.ctx.unsupported(f"`cuda.{name}`", "Use a function of `math`, or write it out.")
    return frame.ctx.call(frame, Static(found), args, named)


# Functions that give floats in kernels, and integers elsewhere.
_ROUNDING: dict[Any, Any] = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}


def in_kernel(callee: Any) -> Any:
    """What a call in a kernel calls: the Python function of a device function, what rounds to a float, and draws."""
    if _draw_of(callee) is not None:
        return _draw_of(callee)
    if type(callee) is type(math.floor):
        return _ROUNDING.get(callee, callee)
    of_device = own_attribute(callee, "py_func")
    return of_device if isinstance(of_device, FunctionType) else callee


def _draw_of(callee: Any) -> Any:
    """The function of ours that draws what one of `numba.cuda.random` does; None of any other."""
    is_there = str(getattr(callee, "__module__", "")).endswith("cuda.random")
    return DRAWS.get(callee.__name__) if is_there else None


def check_called(ctx: Context, callee: Any) -> None:
    """Refuses what a kernel may not call, or what has no derivative there."""
    home, owner = str(getattr(callee, "__module__", "")), getattr(callee, "__self__", None)
    draws = isinstance(owner, random.Random | np.random.RandomState | np.random.Generator)
    if draws or (home.endswith("cuda.random") and _draw_of(callee) is None):
        raise ctx.unsupported(
            f"a random number that is drawn in a kernel by {getattr(callee, '__name__', 'it')}",
            "Use xoroshiro128p_uniform and normal of numba.cuda.random, or pass the numbers in an array.",
            why="Its adjoint would draw other numbers.",
        )
    if type(callee).__name__ == "ExternFunction":
        raise ctx.unsupported(
            f"a call of {callee.name}, which cuda.declare_device links in",
            "Write it in Python, as a device function.",
            why="It has no source that adjit could read.",
        )
    if is_kernel(callee):
        raise ctx.unsupported(
            f"a kernel that calls another kernel, {callee.__name__}",
            "Launch both from the host, or make the other one a device function: @cuda.jit(device=True).",
        )


def is_kernel(thing: Any) -> bool:
    """Whether it is a `@cuda.jit` function to be launched."""
    simulated = getattr(thing, "_device", None)
    if simulated is not None and hasattr(thing, "block_dim"):
        return not simulated
    return getattr(thing, "targetoptions", {}).get("device", True) is False


def check_result(source: FunctionSource, value: Value) -> None:
    """A kernel returns nothing."""
    if value != Static(None):
        what, place = f"{source.name} returns a value", source.place(source.node)
        raise errors.Unsupported(what, place, "A kernel returns nothing.", "Store it in an array.")
