"""`ufunc.at`: updates at places, one after the other.

In: a ufunc and the values of a call. Out: None, and the array is another one.

    np.add.at(y, places, x)      for k ..: y[places[k]] += x[k]
"""

from __future__ import annotations

import numpy as np

from adjit.transform import ir
from adjit.transform.frontend.arrays.indexing import accumulate, resolve
from adjit.transform.frontend.values.argument_binding import bound
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.lists import is_tuple
from adjit.transform.frontend.values.numbers import is_array
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe


def updated_at(frame: Frame, ufunc: np.ufunc, args: list[Value], named: dict[str, Value]) -> Value:
    """`ufunc.at(array, places, values)`."""
    ctx, name = frame.ctx, f"np.{ufunc.__name__}.at"
    array, indices, value = bound(frame, name, "a:array indices b", args, named)
    if not isinstance(array, ir.Var) or not is_array(array):
        raise ctx.unsupported(
            f"{name} of {describe(array) if array else None}", "Assign the array to a variable first."
        )
    assert indices is not None
    assert value is not None
    entries = indices.items if is_tuple(indices) else (indices,)
    accumulate(ctx, resolve(ctx, array, entries), ufunc, value)
    return Static(None)
