"""Functions differentiated by adjit, in programs that torch differentiates.

In: a function, as adjit takes it. Out: the same for tensors, which autograd goes through, to any order.

    simulate = adjit.bridges.torch.function(heat)
    loss = ((simulate(model(x), 0.1, 50) - seen) ** 2).sum();  loss.backward()

Tensors on the CPU are handed over without a copy: the function reads torch's memory. The reverse pass runs the adjoint,
with its forward sweep; nothing is kept from the forward pass but its arguments.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from adjit.api.specialise.options import Options, make_options
from adjit.bridges.calls import Call, Kind, Wrapped, opened, put_together
from adjit.errors import TypeMismatch, WrongDevice
from adjit.rules.library_functions import as_python


def function(of: Any = None, **options: Any) -> Any:
    """`of` as a function of tensors, which returns tensors and can be differentiated by torch: `backward()`,
    `torch.autograd.grad` with `create_graph=True`, and `torch.func.grad`, `vjp`, `jacrev` and `vmap`.

    Arguments are tensors, numbers, NumPy arrays, and lists, dictionaries and objects of those, as adjit takes them. A
    tensor without axes is a number to the function; what is no tensor is held fixed. Results are tensors, in tuples
    where the function returns tuples; numbers are tensors without axes. Options are those of `adjit.grad`. Tensors on a
    GPU run the derivative of target="cuda", and stay there.

    Also a decorator. Raises TypeMismatch for types that adjit does not take (float16, bfloat16, sparse), WrongDevice
    where tensors are on several devices, Unsupported where a complex tensor requires a gradient, and whatever stands in
    the way of differentiating the function, at the call.
    """
    chosen = make_options(options)
    if of is None:
        return functools.partial(function, **options)
    return Function(as_python(of), chosen)


class Function(Wrapped):
    """A function of tensors."""

    library = "tensors"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        # what torch.compile makes of a program calls it as it is; to say so loads the compiler, which takes seconds
        called = self._undisturbed if "torch._dynamo" in sys.modules else self._called
        return called(*arguments, **keywords)

    @functools.cached_property
    def _undisturbed(self) -> Any:
        return torch.compiler.disable(self._called)

    def _called(self, *arguments: Any, **keywords: Any) -> Any:
        call, tensors = opened(self._function, self._options, arguments, keywords, _Torch())
        options = _for_devices(self._options, call.name, tensors)
        call = call if options is self._options else dataclasses.replace(call, options=options)
        return put_together(call, _applied(call, tensors))


class _Torch:
    """What is asked of torch where a call is taken apart."""

    is_ahead = False

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def kind_of(self, tensor: torch.Tensor) -> Kind:
        if tensor.layout is not torch.strided or tensor.is_quantized:
            raise TypeMismatch(f"a tensor of layout {tensor.layout}", instead="Pass to_dense() of it.")
        dtype = _DTYPES.get(tensor.dtype)
        if dtype is None:
            raise TypeMismatch(
                f"a tensor of {tensor.dtype}, which adjit does not take",
                instead="Pass x.float() or x.double().",
            )
        return Kind(dtype, tuple(tensor.shape))


_DTYPES = {
    getattr(torch, name): np.dtype(name)
    for name in ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]
}
_TENSORS = {dtype: own for own, dtype in _DTYPES.items()}


def _for_devices(options: Options, name: str, tensors: Sequence[torch.Tensor]) -> Options:
    """The options for tensors where they are."""
    kinds = {tensor.device.type for tensor in tensors}
    if len({tensor.device for tensor in tensors}) > 1 or not kinds <= {"cpu", "cuda"}:
        found = ", ".join(sorted(str(device) for device in {tensor.device for tensor in tensors}))
        raise WrongDevice(f"the tensors given to {name} are on {found}", instead="Move all of them to one CPU or GPU.")
    if "cuda" not in kinds or options.target == "cuda":
        return options
    kept = {name: getattr(options, name) for name in ("fastmath", "deterministic", "accumulate")}
    return make_options({"target": "cuda", **kept})


def _applied(call: Call, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results of a call. No adjoint is made where none is asked for, as in a backward pass without a graph."""
    found: tuple[torch.Tensor, ...] = _Applied.apply(call, torch.is_grad_enabled(), *tensors)
    return found


class _Applied(torch.autograd.Function):
    """One call. Its derivative is the call of its adjoint, which is one of these, too."""

    generate_vmap_rule = False

    @staticmethod
    def forward(call: Call, is_differentiated: bool, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return _run(call, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        call, is_differentiated, *tensors = inputs
        ctx.call = call
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(*(t for t, kind in zip(output, call.results, strict=True) if not kind.is_active))
        wanted = [k for k, needed in enumerate(ctx.needs_input_grad[2:]) if needed and is_differentiated]
        # what stands in its way is said at the call, and not in the backward pass
        ctx.adjoint = call.adjoint(wanted) if wanted and call.has_floats else None
        if ctx.adjoint is not None and call.options.target != "cuda":
            ctx.adjoint.prepare()

    @staticmethod
    def backward(ctx: Any, *seeds: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        own = [seed for seed, kind in zip(seeds, ctx.call.results, strict=True) if kind.is_active]
        bars = _applied(ctx.adjoint, (*ctx.saved_tensors, *own))
        found = dict(zip(ctx.adjoint.adjoints, bars, strict=True))
        return (None, None, *(found.get(k) if needed else None for k, needed in enumerate(ctx.needs_input_grad[2:])))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], call: Call, is_differentiated: bool, *tensors: torch.Tensor
    ) -> tuple[Any, Any]:
        along = call.mapped_slots([k for k, axis in enumerate(in_dims[2:]) if axis is not None])
        size = info.batch_size
        moved = [
            tensor
            if k not in along
            else tensor.expand(size, *tensor.shape)
            if axis is None
            else tensor.movedim(axis, 0)
            for k, (axis, tensor) in enumerate(zip(in_dims[2:], tensors, strict=True))
        ]
        found = _applied(call.mapped(along, size), moved)
        return found, (0,) * len(found)


def _run(call: Call, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    if call.options.target == "cuda":
        return _run_on_device(call, [tensor.detach() for tensor in tensors])
    found = call.run([_as_numpy(tensor) for tensor in tensors])
    return tuple(_as_tensor(value, kind) for value, kind in zip(found, call.results, strict=True))


def _run_on_device(call: Call, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The results for tensors on a GPU, which are there, too; tensors without axes are numbers of the host's."""
    device = next(tensor.device for tensor in tensors)
    found = call.run([tensor.contiguous() if tensor.ndim else tensor.item() for tensor in tensors])
    made = [
        torch.as_tensor(v, dtype=_TENSORS[k.dtype], device=device) for v, k in zip(found, call.results, strict=True)
    ]
    own = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    return tuple(one.clone() if one.untyped_storage().data_ptr() in own else one for one in made)


def _as_numpy(tensor: torch.Tensor) -> Any:
    """A view of a tensor, or a number."""
    array = tensor.detach().resolve_conj().resolve_neg().numpy()
    return array if array.ndim else array[()]


def _as_tensor(value: Any, kind: Kind) -> torch.Tensor:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    return torch.tensor(value.item(), dtype=_TENSORS[kind.dtype])
