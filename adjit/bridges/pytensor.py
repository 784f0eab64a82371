"""Functions differentiated by adjit, as operations of PyTensor, and so in models of PyMC.

In: a function, as adjit takes it. Out: the same for PyTensor's variables, with a gradient, for samplers such as NUTS.

    decay = adjit.bridges.pytensor.function(simulate)
    with pm.Model():
        rate = pm.HalfNormal("rate")
        pm.Normal("seen", decay(rate, 50), 0.1, observed=data)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op

from adjit.api.specialise.options import make_options
from adjit.bridges.calls import Call, Kind, Wrapped, opened, put_together
from adjit.errors import TypeMismatch, Unsupported
from adjit.rules.library_functions import as_python


def function(of: Any = None, **options: Any) -> Any:
    """`of` as a function of PyTensor's variables, with gradients to any order.

    Arguments are tensor variables, and numbers, NumPy's arrays, lists, dictionaries and objects, as adjit takes them. A
    scalar variable is a number to the function; what is no variable is held fixed. Results are variables, in tuples
    where the function returns tuples. Options are those of `adjit.grad`. Also a decorator.
    """
    chosen = make_options(options)
    if chosen.target not in ("cpu", "python"):
        raise Unsupported(f'target="{chosen.target}" in PyTensor', instead='Write target="cpu".')
    if of is None:
        return functools.partial(function, **options)
    return Function(as_python(of), chosen)


class Function(Wrapped):
    """A function of PyTensor's variables."""

    library = "PyTensor"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        call, variables = opened(self._function, self._options, arguments, keywords, _PyTensor())
        return put_together(call, Applied(call)(*variables, return_list=True))


class _PyTensor:
    """What is asked of PyTensor where a call is taken apart."""

    is_ahead = True

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, Variable)

    def kind_of(self, tensor: Any) -> Kind:
        if not isinstance(tensor.type, pt.TensorType):
            raise TypeMismatch(f"a variable of type {tensor.type}", instead="Pass a dense tensor.")
        dtype = np.dtype(tensor.type.dtype)
        if dtype == np.float16:
            raise TypeMismatch("a variable of float16, which adjit does not take", instead='Pass astype("float32").')
        return Kind(dtype, tuple(tensor.type.shape))


class Applied(Op):
    """One call. Its gradient is the call of its adjoint, which is one of these, too."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __str__(self) -> str:
        return self.call.name

    def make_node(self, *inputs: Any) -> Apply:
        given = [pt.as_tensor_variable(i, dtype=k.dtype.name) for i, k in zip(inputs, self.call.kinds, strict=True)]
        return Apply(self, given, [pt.TensorType(k.dtype.name, k.extents)() for k in self.call.results])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        given = [i if kind.extents else i[()] for i, kind in zip(inputs, self.call.kinds, strict=True)]
        for storage, value in zip(output_storage, self.call.run(given), strict=True):
            storage[0] = np.asarray(value)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[i.is_active and o.is_active for o in self.call.results] for i in self.call.kinds]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        call = self.call
        adjoint = call.adjoint([k for k, kind in enumerate(call.kinds) if kind.is_active])
        seeds = [
            pt.zeros_like(out) if isinstance(seed.type, DisconnectedType) else seed
            for out, seed, kind in zip(outputs, output_grads, call.results, strict=True)
            if kind.is_active
        ]
        found = dict(zip(adjoint.adjoints, Applied(adjoint)(*inputs, *seeds, return_list=True), strict=True))
        return [found[k] if k in found else DisconnectedType()() for k in range(len(inputs))]
