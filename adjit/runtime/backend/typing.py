"""Questions about types, answered by numba's own inference.

In: callees and numba types. Out: the type of the result, or None where numba has no such call.

    result_type(operator.add, (float64, int64), {})  ->  float64
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core import errors
from numba.core.registry import cpu_target
from numba.core.target_extension import target_override
from numba.core.typing.arraydecl import get_array_index_type

from adjit.runtime.backend import special

# How numba says that it has no such call, or no type for the callee at all. Typings that expect arrays and are given
# something else fail in their own code: `np.argmax(k)` asks an integer for its dtype.
_FAILURES = (
    errors.NumbaError, errors.UnsupportedBytecodeError, NotImplementedError, ValueError, AttributeError, IndexError,
    TypeError,
)  # fmt: skip


# What generators draw, and from how many parameters. To tell, numba would compile each method.
_PARAMETERS = {
    types.float64: {
        "random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0, "standard_gamma": 1,
        "chisquare": 1, "standard_t": 1, "rayleigh": 1, "laplace": 2, "logistic": 2, "beta": 2, "f": 2, "wald": 2,
        "noncentral_chisquare": 2,
    },
    types.int64: {
        "integers": 2, "poisson": 1, "binomial": 2, "negative_binomial": 2, "geometric": 1, "logseries": 1, "zipf": 1,
    },
}  # fmt: skip
_OF_INTEGERS = (np.random.Generator.integers, np.random.Generator.permutation)
_DRAWS = {
    getattr(np.random.Generator, name): (kind, count)
    for kind, counts in _PARAMETERS.items()
    for name, count in counts.items()
}


def drawn_type(method: Any, given: Sequence[types.Type]) -> types.Type | None:
    """The type of what a method of a generator draws, with these parameters and, after them, perhaps how many."""
    taken = types.Integer if method in _OF_INTEGERS else types.Integer | types.Float
    if method is np.random.Generator.permutation:
        return types.Array(types.int64, 1, "C") if [isinstance(one, taken) for one in given] == [True] else None
    kind, count = _DRAWS.get(method, (None, 0))
    sizes = given[count:]
    if kind is None or len(given) < count or not all(isinstance(one, taken) for one in given[:count]):
        return None
    if not sizes:
        return kind
    return types.Array(kind, 1, "C") if len(sizes) == 1 and isinstance(sizes[0], types.Integer) else None


@functools.cache
def _context() -> Any:
    context = cpu_target.typing_context
    context.refresh()
    cpu_target.target_context.refresh()
    return context


def of_the_cpu() -> Any:
    """Within it, questions are asked of the CPU's types, also where a kernel is being compiled.

    Without it numba would load, for good, a GPU's implementations of what it is asked first.
    """
    return target_override("cpu")


def result_type(callee: Any, args: Sequence[types.Type], named: Mapping[str, types.Type]) -> types.Type | None:
    """The type of `callee(*args, **named)` as numba infers it."""
    if args and isinstance(args[0], types.NumPyRandomGeneratorType):
        return None if named else drawn_type(callee, args[1:])
    context = _context()
    special.prepare(callee)
    for _ in range(2):
        try:
            signature = context.resolve_function_type(context.resolve_value_type(callee), args, named)
            return None if signature is None else signature.return_type
        except _FAILURES:
            # perhaps numba learned of the callee after the context was last refreshed
            context.refresh()
        except AssertionError:
            return None
    return None


def unified(left: types.Type, right: types.Type) -> types.Type | None:
    """The type of a variable that is `left` on one path and `right` on another."""
    found: types.Type | None = _context().unify_types(left, right)
    return found


def indexed(base: types.Array, index: types.Type) -> types.Type:
    """The type of `base[index]`."""
    found: types.Type = get_array_index_type(base, index).result
    return found
