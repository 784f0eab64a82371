"""Questions about types, answered by numba's own inference.

In: callees and numba types. Out: the type of the result, or None where numba has no such call.

    result_type(operator.add, (float64, int64), {})  ->  float64
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from numba import types
from numba.core import errors
from numba.core.registry import cpu_target
from numba.core.target_extension import target_override
from numba.core.typing.arraydecl import get_array_index_type

from adjit.runtime.backend import loading, special
from adjit.runtime.backend.signatures import drawn_type, known_type
from adjit.runtime.backend.versions import is_plain

# How numba says that it has no such call, or no type for the callee at all. Typings that expect arrays and are given
# something else fail in their own code: `np.argmax(k)` asks an integer for its dtype.
_FAILURES = (
    errors.NumbaError, errors.UnsupportedBytecodeError, NotImplementedError, ValueError, AttributeError, IndexError,
    TypeError,
)  # fmt: skip


@functools.cache
def context() -> Any:
    """numba's typing context of the CPU."""
    # where numba is told of what `library` has of it
    import adjit.runtime.backend.linear_algebra  # noqa: F401

    made = cpu_target.typing_context
    made.refresh()
    cpu_target.target_context.refresh()
    return made


def of_the_cpu() -> Any:
    """Within it, questions are asked of the CPU's types, also where a kernel is being compiled.

    Without it numba would load, for good, a GPU's implementations of what it is asked first.
    """
    return target_override("cpu")


def result_type(callee: Any, args: Sequence[types.Type], named: Mapping[str, types.Type]) -> types.Type | None:
    """The type of `callee(*args, **named)` as numba infers it."""
    if args and isinstance(args[0], types.NumPyRandomGeneratorType):
        return None if named else drawn_type(callee, args[1:])
    known = None if named else known_type(callee, args)
    return inferred_type(callee, args, named) if known is None else known


def inferred_type(callee: Any, args: Sequence[types.Type], named: Mapping[str, types.Type]) -> types.Type | None:
    """What numba infers."""
    if not named and not is_plain():
        # with it comes what is compiled in the place of numba's own
        from adjit.runtime.backend.separate_compilation import is_apart, known_result

        known = known_result(callee, args) if is_apart(callee) else None
        if known is not None:
            return known
    # with it comes the compiler
    from adjit.runtime.backend.inference import only_types

    known_there = context()
    special.prepare(callee)
    loading.prepare(callee)
    for _ in range(2):
        try:
            with only_types():
                signature = known_there.resolve_function_type(known_there.resolve_value_type(callee), args, named)
            return None if signature is None else signature.return_type
        except _FAILURES:
            # perhaps numba learned of the callee after the context was last refreshed
            known_there.refresh()
        except AssertionError:
            return None
    return None


def is_known(callee: Any) -> bool:
    """Whether numba has the function at all, for whatever types."""
    loading.prepare(callee)
    try:
        context().resolve_value_type(callee)
    except _FAILURES:
        return False
    return True


def unified(left: types.Type, right: types.Type) -> types.Type | None:
    """The type of a variable that is `left` on one path and `right` on another."""
    found: types.Type | None = context().unify_types(left, right)
    return found


def indexed(base: types.Array, index: types.Type) -> types.Type:
    """The type of `base[index]`."""
    found: types.Type = get_array_index_type(base, index).result
    return found
