"""How numba compiles `library.watch`: with the place of its memory in this process, so that no such code is kept.

In: the arguments of `is_stopped`, integers. Out: stores of them, and a load that is made each time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from adjit.runtime.library.watch import QUIET, STATE, is_stopped

_WORD = ir.IntType(64)


@type_callable(is_stopped)
def _typer(context: Any) -> Any:
    return lambda line, is_reverse, trip, trips: types.boolean


@lower_builtin(is_stopped, *[types.Any] * 4)
def _lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    given = [context.cast(builder, a, t, types.int64) for a, t in zip(args, signature.args, strict=True)]
    words = builder.inttoptr(_WORD(STATE.ctypes.data), _WORD.as_pointer())

    def word(k: int) -> Any:
        return builder.gep(words, [_WORD(k)])

    line, is_reverse, trip, trips = given
    with builder.if_then(builder.icmp_signed("!=", line, _WORD(QUIET))):
        for k, value in enumerate((line, is_reverse, builder.add(trip, _WORD(1)), trips)):
            builder.store_atomic(value, word(k + 1), "monotonic", 8)
    # another thread writes it, and no loop may keep what it was
    return builder.icmp_signed("!=", builder.load_atomic(word(0), "monotonic", 8), _WORD(0))
