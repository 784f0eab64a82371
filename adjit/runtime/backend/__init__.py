"""How numba types, lowers and compiles generated code. Here alone are numba's insides touched.

In: generated functions and types. Out: types, and compiled code.

    stand_in(np.zeros_like, 1)      what numba compiles in its place;  None where `versions.is_plain()`

All of it but the questions about types only makes things faster: the text runs under numba's own pipeline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from numba.core.dispatcher import Dispatcher

from adjit.runtime.backend.objects import Compiled, core_function, element_function, members
from adjit.runtime.backend.versions import is_plain


def is_dispatcher(value: object) -> TypeGuard[Any]:
    """Whether numba compiles this function."""
    return isinstance(value, Dispatcher | Compiled)


# what numba is told of the functions in `library`
if is_plain():
    import adjit.runtime.backend.plain_numba

    def stand_in(callee: Any, count: int) -> Callable[..., Any] | None:
        """What stands for a function in calls with so many arguments, by position: nothing."""
        return None
else:
    import adjit.runtime.backend.arrays
    import adjit.runtime.backend.checks
    import adjit.runtime.backend.products
    import adjit.runtime.backend.rows  # noqa: F401
    from adjit.runtime.backend.stand_ins import stand_in

__all__ = ["core_function", "element_function", "is_dispatcher", "members", "stand_in"]
