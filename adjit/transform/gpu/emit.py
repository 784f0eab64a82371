"""A plan as text: kernels, in the order of their launches, and then the function of the host.

In: a `Plan`. Out: `Emitted`, of which the text is a module without its imports.

    @cuda.jit("float64[::1], float64[::1]")
    def f_L3(x, y):                                 def f(x):
        i = cuda.grid(1)                                y = empty_like(x)
        if i < x.size:                                  f_L3[cover(x.size)](x, y)
            y[i] = math.exp(x[i])                       return y
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from typing import Any

from numba import types

from adjit.errors import InternalError, Unsupported
from adjit.runtime.library import distinct
from adjit.runtime.library.gpus import MODULE
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.emit import Emitted, emit
from adjit.transform.emit.expression import INFIX, PREFIX, Expressions, Text, parenthesised
from adjit.transform.emit.wrapping import INDENT, WIDTH
from adjit.transform.gpu.callees import ON_HOST, OURS, in_kernel
from adjit.transform.gpu.plan import Plan
from adjit.transform.gpu.unroll_limits import registers_of
from adjit.transform.ir.printing import callee_name
from adjit.transform.ir.types import array_type_of

MOST_FREE = 256  # threads of a block that may have as many registers as a thread can have
REGISTERS = 65536  # of a multiprocessor
_AS_INTEGERS = (math.floor, math.ceil, math.trunc, round)
_CUDA = ir.of_cuda()


def emit_plan(plan: Plan, fastmath: bool = False) -> Emitted:
    """The text of all kernels and of the host's function, and what it refers to."""
    found: dict[str, Any] = {}
    parts: list[str] = []
    places: list[ir.Origin | None] = []
    blocks = {launched.kernel.name: launched.block for launched in plan.launches}
    for kernel in plan.kernels:
        if MODULE == "numba_cuda_mlir":
            _check_additions(kernel)
        emitted = emit(kernel, False, KernelExpressions)
        _merge(found, {**emitted.globals, "cuda": _CUDA})
        options = ["fastmath=True"] if fastmath else []
        own = _bounds(kernel, blocks[kernel.name])
        if own:
            _merge(found, {"bounds": ir.external(OURS, "bounds")})
            options.append(f"**bounds({', '.join(map(str, own))})")
        parts.append(f"{_decorator(kernel, options)}\n{emitted.text}")
        # with the two lines between parts
        places += [None] * (parts[-1].count("\n") - len(emitted.places)) + [*emitted.places, None, None]
    host = emit(plan.host, False, functools.partial(HostExpressions, plan.on_host))
    _merge(found, host.globals)
    return Emitted(host.name, "\n\n".join([*parts, host.text]), found, (*places, *host.places), plan.apart)


def _bounds(kernel: ir.Function, threads: int) -> tuple[int, ...]:
    """How many threads a block of a kernel has, and how many blocks are to fit on a multiprocessor, where the compiler
    has to be told: it gives a thread fewer registers then."""
    if threads > MOST_FREE:
        return (threads,)
    own = threads or MOST_FREE
    fitting = REGISTERS // (own * (registers_of(kernel.body) or REGISTERS))
    return (own, fitting) if fitting > 1 else ()


def _check_additions(kernel: ir.Function) -> None:
    """Unsupported where an atomic addition is to one of several shared arrays: numba-cuda-mlir takes what control flow
    hands on for global memory there, and adds to whatever lies at that address."""
    aliases, made = kernel.analysis(Aliases), kernel.body.made
    shared = {op.out for op in kernel.body.inside if isinstance(op, ir.Alloc) and op.role == ir.Role("block")}
    classes = set(map(aliases.find, shared))
    additions = (op for op in kernel.body.inside if isinstance(op, ir.Store) and op.atomic)
    for op in additions:
        if aliases.find(op.array) in classes and ir.base_of(op.array, made) not in shared:
            raise Unsupported(
                "additions of threads to a choice between shared arrays, with numba-cuda-mlir",
                ir.place_of(op.origin),
                "numba-cuda-mlir 0.6 adds to global memory instead.",
                "Use one array with one more axis, or use numba-cuda.",
            )


def emit_in_thread(function: ir.Function) -> Emitted:
    """The text of what one thread does, as a function that a kernel calls."""
    emitted = emit(function, False, KernelExpressions)
    globals_ = dict(emitted.globals)
    _merge(globals_, {"cuda": _CUDA})
    return Emitted(emitted.name, f"@cuda.jit(device=True)\n{emitted.text}", globals_, (None, *emitted.places))


def _merge(found: dict[str, Any], more: Any) -> None:
    for name, value in more.items():
        if found.setdefault(name, value) is not value:
            raise InternalError(f"{name} has two meanings in one module")


def _decorator(kernel: ir.Function, options: Sequence[str]) -> str:
    signature = [_type_text(p.type) for p in kernel.body.args]
    option = "".join(f", {text}" for text in options)
    line = f'@cuda.jit("{_void(signature)}"{option})'
    if len(line) <= WIDTH:
        return line
    rows: list[str] = []
    for k, text in enumerate(signature):
        piece = text + (", " if k + 1 < len(signature) else "")
        if rows and len(rows[-1]) + len(piece) < WIDTH - 20:
            rows[-1] += piece
        else:
            rows.append(piece)
    rows[0] = f"void({rows[0]}"
    rows[-1] = f"{rows[-1]})"
    quoted = "\n".join(f'{INDENT}"{row}"' for row in rows)
    return f"@cuda.jit(\n{quoted}{',' if option else ''}\n{INDENT + option[2:] + chr(10) if option else ''})"


def _void(signature: list[str]) -> str:
    return f"void({', '.join(signature)})"


def _type_text(type_: ir.Type) -> str:
    """A type as numba reads it in a signature."""
    if not isinstance(type_, types.Array):
        return str(type_)
    if type_.ndim == 0:
        return f"Array({type_.dtype}, 0, 'C')"
    axes = [":"] * type_.ndim
    if type_.layout in ("C", "F"):
        axes[-1 if type_.layout == "C" else 0] = "::1"
    return f"{type_.dtype}[{', '.join(axes)}]"


class KernelExpressions(Expressions):
    """Expressions in kernels: calls of what a GPU has, and arrays of a thread's own."""

    def message(self, op: ir.Raise) -> list[str]:
        # what nobody will see
        return [] if op.values else super().message(op)

    def alloc(self, op: ir.Alloc) -> str:
        where = "shared" if op.role is not None and op.role.kind == "block" else "local"
        made = self.globals.text(ir.of_cuda(f"{where}.array"))
        extents = [self.text(extent) for extent in op.shape]
        shape = extents[0] if len(extents) == 1 else parenthesised(extents)
        return f"{made}({shape}, {self.scalar(array_type_of(op.out).dtype)})"

    def call(self, op: ir.Call) -> Text:
        if op.callee is distinct:
            return self.operand(op.args[0])
        callee = in_kernel(op.callee, len(op.args))
        if callee is None:
            raise Unsupported(
                f"{callee_name(op.callee)} in a loop for a GPU",
                ir.place_of(op.origin),
                "A kernel cannot call it.",
                "Write it with operators and functions of math, or compute it outside of the loop.",
            )
        if isinstance(callee, ir.External):
            args = ", ".join(self.text(a) for a in op.args)
            text = self.globals.text(callee)
            text = text if callee.name.endswith((".x", ".y", ".z")) else f"{text}({args})"
            return Text(f"{self.globals.builtin('int')}({text})" if op.callee in _AS_INTEGERS else text)
        if callee in INFIX or callee in PREFIX or callee in (ir.cast, ir.select) or callee is op.callee:
            return super().call(op if callee is op.callee else _calling(op, callee))
        return Text(f"{self.globals.text(callee)}({', '.join(self.text(a) for a in op.args)})")


def _calling(op: ir.Call, callee: Any) -> ir.Call:
    return ir.Call(callee=callee, args=op.args, outs=op.outs, origin=op.origin)


class HostExpressions(Expressions):
    """Expressions of the host: arrays on the device, and launches. `on_host`: arrays that are NumPy's."""

    def __init__(self, on_host: Collection[ir.Var], *given: Any):
        super().__init__(*given)
        self.on_host = on_host
        self._is_ours = True  # where the array that is made is to be

    def alloc(self, op: ir.Alloc) -> str:
        self._is_ours = op.out not in self.on_host
        return super().alloc(op)

    def op(self, op: ir.Op) -> Text:
        if isinstance(op, ir.Launch):
            args = ", ".join(self.text(a) for a in op.args)
            return Text(f"{op.kernel.name}[{self.text(op.shape)}]({args})")
        if isinstance(op, ir.Copy) and op.out not in self.on_host:
            kind = "copy_in_f_order" if op.out.type.layout == "F" else "copy"  # type: ignore[attr-defined]
            return Text(f"{self._ours(kind)}({self.text(op.source)})")
        return super().op(op)

    def slice(self, op: ir.Slice) -> Text:
        if op.base in self.on_host:
            return super().slice(op)
        # not by the backend's own subscripts, which know fewer kinds than NumPy has
        return Text(
            f"{self._ours('sliced')}({self.text(op.base)}, {self.globals.module('np')}.s_[{self.selectors(op)}])"
        )

    def reshape(self, op: ir.Reshape) -> Text:
        if op.base in self.on_host:
            return super().reshape(op)
        shape = parenthesised([self.text(extent) for extent in op.shape]) if op.shape else "()"
        return Text(f"{self._ours('reshaped')}({self.text(op.base)}, {shape})")

    def transpose(self, op: ir.Transpose) -> Text:
        if op.axes == tuple(range(len(op.axes))):
            return self.operand(op.base)
        return Text(f"{self._ours('transposed')}({self.text(op.base)}, {op.axes})")

    def _ours(self, name: str) -> str:
        return self.globals.text(ir.external(OURS, name))

    def _new(self, name: str, args: list[str], dtype: ir.Type | None, home: str = "np") -> str:
        if not self._is_ours:
            return super()._new(name, args, dtype, home)
        if dtype is not None and (dtype != types.float64 or name.endswith("_like")):
            args = [*args, self.scalar(dtype)]
        return f"{self._ours(name)}({', '.join(args)})"

    def call(self, op: ir.Call) -> Text:
        if op.callee is distinct:
            return self.operand(op.args[0])
        callee = ON_HOST.get(op.callee, op.callee)
        if isinstance(callee, ir.External):
            args = [self.text(a) for a in op.args]
            options = dict(op.options)
            if callee is not op.callee and op.outs:
                args.append(f"dtype={self.scalar(array_type_of(op.outs[0]).dtype)}")
                return Text(f"{self.globals.text(callee)}({', '.join(args)})")
            if "block" in options:
                args.append(f"block={options['block']}")
            args += [
                f"{name}={options[name]}" for name in ("axes", "along", "apart", "spread", "listed") if name in options
            ]
            if options.get("dtype", types.float64) != types.float64:
                args.append(self.static(options["dtype"]))
            return Text(f"{self.globals.text(callee)}({', '.join(args)})")
        return super().call(op)
