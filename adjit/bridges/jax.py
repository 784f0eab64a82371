"""Functions differentiated by adjit, in programs that JAX differentiates and compiles.

In: a function, as adjit takes it. Out: the same for JAX's arrays, under `jit`, `grad`, `vjp`, `jacrev` and `vmap`.

    simulate = adjit.bridges.jax.function(heat)
    jax.jit(jax.grad(lambda w: jnp.sum(simulate(w, 0.1, 50) ** 2)))(w)

It is a `jax.custom_vjp` over `jax.pure_callback`: JAX calls back into what adjit compiled, on the CPU. The reverse pass
runs the adjoint, with its forward sweep. Under `vmap` it is one call of the function mapped by `adjit.vmap`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from adjit.api.arguments.trees import leaves, map_leaves
from adjit.api.specialise.options import Options, make_options
from adjit.bridges.calls import Call, Kind, Wrapped, opened, put_together
from adjit.errors import TypeMismatch, Unsupported, WrongCall
from adjit.rules.library_functions import as_python


def function(of: Any = None, *, result: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`of` as a function of JAX's arrays, to be transformed by `jit`, `grad`, `vjp`, `jacrev` and `vmap`.

    Arguments are arrays of JAX, and numbers, NumPy's arrays, lists, dictionaries and objects, as adjit takes them. An
    array without axes is a number to the function; what is no array of JAX's is held fixed. Results are arrays, in
    tuples where the function returns tuples; float64 ones are float32 unless JAX's `jax_enable_x64` is set.

    The shapes of results are told from the function's source and the shapes of the arguments. Where a call alone tells
    them, as of a filter, the call raises Unsupported, and `result` has to say: a function of the arguments that returns
    the `jax.ShapeDtypeStruct` of the result, or a tuple of them. A result of another shape raises ValueError.

    Options are those of `adjit.grad`. Forward mode (`jax.jvp`, `jax.jacfwd`, `jax.hessian`) is not there: JAX has none
    for `custom_vjp`; `jax.jacrev(jax.grad(f))` is the Hessian. Also a decorator.
    """
    chosen = make_options(options, ("result",))
    if chosen.target not in ("cpu", "python"):
        raise Unsupported(f'target="{chosen.target}" in JAX', instead='Write target="cpu": JAX calls back there.')
    if of is None:
        return functools.partial(function, result=result, **options)
    return Function(as_python(of), chosen, result)


class Function(Wrapped):
    """A function of JAX's arrays."""

    library = "JAX"

    def __init__(self, of: Any, options: Options, result: Callable[..., Any] | None) -> None:
        super().__init__(of, options)
        self._result = result

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        call, arrays = opened(self._function, self._options, arguments, keywords, _Jax())
        if self._result is not None:
            call = _shaped(call, self._result(*arguments, **keywords))
        if any(isinstance(array, jax.core.Tracer) for array in arrays):
            return put_together(call, _applied(call)(*arrays))
        found = call.run([_as_numpy(a, k) for a, k in zip(arrays, call.kinds, strict=True)])
        return put_together(call, map(jnp.asarray, found))


class _Jax:
    """What is asked of JAX where a call is taken apart."""

    is_ahead = True

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def kind_of(self, tensor: jax.Array) -> Kind:
        is_number = isinstance(tensor.dtype, np.dtype) and tensor.dtype.kind in "biufc"
        if not is_number or tensor.dtype == np.float16:
            raise TypeMismatch(
                f"an array of {tensor.dtype}, which adjit does not take", instead="Pass x.astype(jnp.float32)."
            )
        return Kind(tensor.dtype, tuple(tensor.shape))


def _shaped(call: Call, given: Any) -> Call:
    """The call with results of the shapes that the user gives."""
    said = leaves(given if not isinstance(given, list) else tuple(given))
    own = [kind for kind in leaves(call.result) if kind is not None]
    if len(said) != len(own) or any(len(s.shape) != len(kind.extents) for s, kind in zip(said, own, strict=True)):
        raise WrongCall(
            f"`result` describes another structure than {call.name} returns",
            instead="Return a jax.ShapeDtypeStruct for an array, a tuple of them for a tuple.",
        )
    rest = iter(said)
    return replace(
        call,
        result=map_leaves(lambda k: None if k is None else replace(k, extents=tuple(next(rest).shape)), call.result),
    )


# --------------------------------------------------------------------------------------------- one call, as JAX has it


@jax.tree_util.register_static
@dataclass(frozen=True, eq=False)
class _Kept:
    """The adjoint that the reverse pass calls, None where nothing flows."""

    adjoint: Call | None


def _applied(call: Call) -> Any:
    """The call as a function of what goes into its slots, with its adjoint, which is one of these, too."""

    @jax.custom_vjp
    def applied(*arrays: Any) -> tuple[Any, ...]:
        return _called(call, arrays)

    def forward(*given: Any) -> Any:
        arrays = tuple(one.value for one in given)
        wanted = [k for k, one in enumerate(given) if one.perturbed and call.kinds[k].dtype.kind in "fc"]
        # of which a derivative may be taken, too
        return applied(*arrays), (arrays, _Kept(call.adjoint(wanted) if wanted and call.has_floats else None))

    def backward(kept: Any, seeds: Sequence[Any]) -> tuple[Any, ...]:
        arrays, adjoint = kept[0], kept[1].adjoint
        if adjoint is None:
            return (None,) * len(arrays)
        own = [_seed(seed) for seed, kind in zip(seeds, call.results, strict=True) if kind.is_active]
        found = dict(zip(adjoint.adjoints, _applied(adjoint)(*arrays, *own), strict=True))
        return tuple(found.get(k) for k in range(len(arrays)))

    applied.defvjp(forward, backward, symbolic_zeros=True)
    return applied


def _seed(seed: Any) -> Any:
    is_zero = isinstance(seed, jax.custom_derivatives.SymbolicZero)
    return jnp.zeros(seed.shape, seed.dtype) if is_zero else seed


def _called(call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results, of a call back from what JAX runs."""
    made = []
    for kind in call.results:
        if kind.shape is None:
            raise Unsupported(
                f"{call.name} in JAX, with a result whose shape is only known after a call",
                why="JAX needs the shape before the call.",
                instead="Give function(..., result=lambda *args: jax.ShapeDtypeStruct(shape, dtype)).",
            )
        made.append(jax.ShapeDtypeStruct(kind.shape, jax.dtypes.canonicalize_dtype(kind.dtype)))
    run = functools.partial(_run, call)
    return tuple(jax.pure_callback(run, tuple(made), *arrays, vmap_method="expand_dims"))


def _run(call: Call, *arrays: Any) -> tuple[Any, ...]:
    """What the call gives for arrays that all have, in front of their own, the axes that `vmap` maps over; those that
    are the same along them have the length 1 there."""
    count = {np.ndim(a) - len(kind.extents) for a, kind in zip(arrays, call.kinds, strict=True)}
    heads = [np.shape(a)[: max(count, default=0)] for a in arrays]
    head = np.broadcast_shapes(*heads)
    size = math.prod(head)
    along = [k for k, own in enumerate(heads) if math.prod(own) != 1 or size == 0]
    if along:
        slots = call.mapped_slots(along)
        call = call.mapped(along, size)
        arrays = tuple(
            np.broadcast_to(a, (*head, *np.shape(a)[len(head) :])).reshape(kind.shape or ())
            if k in slots
            else np.reshape(a, kind.shape or ())
            for k, (a, kind) in enumerate(zip(arrays, call.kinds, strict=True))
        )
    found = call.run([_as_numpy(a, kind) for a, kind in zip(arrays, call.kinds, strict=True)])
    return tuple(
        _checked(call, value, kind, head, bool(along)) for value, kind in zip(found, call.results, strict=True)
    )


def _checked(call: Call, value: Any, kind: Kind, head: tuple[int, ...], is_mapped: bool) -> Any:
    """A result as JAX wants it; ValueError for one of another shape than was said."""
    if np.shape(value) != kind.shape:
        raise ValueError(f"a result of {call.name} has the shape {np.shape(value)}, and {kind.shape} was expected")
    own = np.shape(value)[1:] if is_mapped else np.shape(value)
    return np.asarray(value, jax.dtypes.canonicalize_dtype(kind.dtype)).reshape(head + own)


def _as_numpy(array: Any, kind: Kind) -> Any:
    """An array that may be written, in C order, or a number."""
    found = np.require(np.asarray(array), kind.dtype, ["C", "W"]) if kind.extents else np.asarray(array)
    return found if kind.extents else kind.dtype.type(found.reshape(()))
