"""Arrays that generated code makes on the device, and what it keeps there.

In: shapes and dtypes. Out: arrays in C order.

    empty((3, n)); zeros_like(x); copy(x)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.errors import Aliased, TypeMismatch
from adjit.runtime.cuda.backend import (
    alias,
    allocated,
    as_backend,
    as_device_array,
    copy_flat,
    cuda,
    pool,
    set_to_zero,
    view,
)
from adjit.runtime.cuda.device import THREADS
from adjit.runtime.cuda.device_array import DeviceArray
from adjit.runtime.cuda.graph_capture import refuse_reading
from adjit.runtime.cuda.kernels import for_types
from adjit.runtime.cuda.streams import current, recorded
from adjit.runtime.library import overlaps_itself
from adjit.runtime.library.gpus import SIMULATED

Shape = int | tuple[int, ...]


def empty(shape: Shape, dtype: Any = np.float64) -> Any:
    """An array with nothing stored in it."""
    extents = shape if isinstance(shape, tuple) else (shape,)
    return allocated(tuple(max(0, int(n)) for n in extents), np.dtype(dtype), current())


def zeros(shape: Shape, dtype: Any = np.float64) -> Any:
    """An array of zeros."""
    made = empty(shape, dtype)
    set_to_zero(made, current())
    return made


def full(shape: Shape, value: float, dtype: Any = None) -> Any:
    """An array of one number, of its type unless another one is given."""
    made = empty(shape, np.asarray(value).dtype if dtype is None else dtype)
    _fill_with(made, value)
    return made


def ones(shape: Shape, dtype: Any = np.float64) -> Any:
    """An array of ones."""
    return full(shape, 1, dtype)


def empty_like(array: Any, dtype: Any = None) -> Any:
    """An array of the shape of another, in its order if that is Fortran's, with nothing stored in it."""
    if isinstance(array, DeviceArray) and array.is_c_contiguous:
        return empty(array.shape, array.dtype if dtype is None else dtype)
    seen = alias(array)
    kind = seen.dtype if dtype is None else np.dtype(dtype)
    if seen.flags.f_contiguous and not seen.flags.c_contiguous:
        made = empty(seen.shape[::-1], kind)
        return view(made, alias(made).T)
    return empty(seen.shape, kind)


def zeros_like(array: Any, dtype: Any = None) -> Any:
    """Zeros in the shape of another array."""
    made = empty_like(array, dtype)
    set_to_zero(_flat(made), current())
    return made


def full_like(array: Any, value: float, dtype: Any = None) -> Any:
    """One number in the shape of another array."""
    made = empty_like(array, dtype)
    _fill_with(_flat(made), value)
    return made


def ones_like(array: Any, dtype: Any = None) -> Any:
    """Ones in the shape of another array."""
    return full_like(array, 1, dtype)


def copy(array: Any) -> Any:
    """A copy in C order."""
    if isinstance(array, DeviceArray) and array.is_c_contiguous:
        made = empty(array.shape, array.dtype)
        copy_flat(array, made, current())
        return made
    seen = alias(array)
    made = empty(seen.shape, seen.dtype)
    copy_into(array, made)
    return made


def copy_in_f_order(array: Any) -> Any:
    """A copy in Fortran order."""
    seen = alias(array)
    made = empty(seen.shape[::-1], seen.dtype)
    copy_into(view(array, seen.T), made)
    return view(made, alias(made).T)


def transposed(array: Any, axes: tuple[int, ...]) -> Any:
    """A view with the axes in another order."""
    return view(array, alias(array).transpose(axes))


def sliced(array: Any, index: Any) -> Any:
    """A view of a part, as NumPy's basic indexing has it: `sliced(u, np.s_[1:, np.newaxis])`."""
    return view(array, alias(array)[index])


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """A view of an array without gaps with another shape."""
    return view(array, alias(array).reshape(shape))


def number(value: Any, dtype: Any = np.float64) -> Any:
    """A number of the host's, on the device."""
    return full((), value, dtype)


def read(cell: Any) -> Any:
    """A number on the device, for the host: waits until the kernels before it have run."""
    refuse_reading()
    found = as_backend(cell).copy_to_host(stream=current())
    if not SIMULATED and current():
        current().synchronize()
    return found[()]


def arange(*ends: float, dtype: Any) -> Any:
    """NumPy's arange, made by the host."""
    return sent(np.arange(*ends).astype(dtype, copy=False))


def linspace(start: float, stop: float, num: int, dtype: Any) -> Any:
    """NumPy's linspace, made by the host."""
    return sent(np.linspace(start, stop, num).astype(dtype, copy=False))


def sent(array: np.ndarray[Any, Any]) -> Any:
    """A copy of an array of the host's on the device."""
    recorder = recorded()
    return as_device_array(cuda.to_device(array, stream=current())) if recorder is None else copy(recorder.sent(array))


_constants: dict[int, tuple[np.ndarray[Any, Any], Any]] = {}


def constant(array: np.ndarray[Any, Any]) -> Any:
    """A global array of the program's on the device, the same one for each call."""
    known = _constants.get(id(array))
    if known is None:
        own, recorder = np.ascontiguousarray(array), recorded()
        made = as_device_array(cuda.to_device(own)) if recorder is None else recorder.sent(own)
        known = _constants[id(array)] = (array, made)
    return known[1]


def check_output(output: Any, argument: Any) -> None:
    """TypeMismatch if an array that takes the gradient has another shape than the argument."""
    if tuple(output.shape) != tuple(argument.shape):
        raise TypeMismatch(
            "an array in `out` has another shape than its argument", instead="Give one of the argument's shape."
        )


def are_apart(*arrays: Any) -> bool:
    """Whether it takes no more than a look at where they begin and end to see that no two share memory."""
    spans = []
    for array in arrays:
        if not isinstance(array, DeviceArray):
            return False
        if array.size:
            spans.append(array.bounds)
    spans.sort()
    last = 0
    for begin, end in spans:
        if begin < last:
            return False
        last = end
    return True


def check_apart(array: Any) -> None:
    """Aliased if elements of an array that is written share memory."""
    if overlaps_itself.py_func(alias(array)):
        raise Aliased("the function writes into an argument whose elements share memory, as after np.broadcast_to")


def check_separate(left: Any, right: Any) -> None:
    """Aliased if two arrays share memory of which one is written, or it takes long to see whether they do."""
    if are_apart(left, right):
        return
    try:
        shared = np.shares_memory(alias(left), alias(right), max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        shared = True
    if shared:
        raise Aliased("two arguments share memory, and the function writes into one of them")


_WORK = 1000  # candidates that are looked at: elements in turn, as of the words of states, take one


def clear_workspaces() -> None:
    """Lets go of the memory on the device that earlier arrays gave back."""
    pool.clear()


def _flat(array: Any) -> Any:
    """The elements of an array without gaps, in the order of memory."""
    if isinstance(array, DeviceArray) and array.is_c_contiguous:
        return array
    seen = alias(array)
    return array if seen.flags.c_contiguous else view(array, seen.T)


def _named(dtype: np.dtype[Any]) -> str:
    """The name of a type in a kernel's signature."""
    return "boolean" if dtype == np.bool_ else str(dtype)


def _fill_with(array: Any, value: Any) -> None:
    seen = alias(array)
    if seen.size:
        blocks = -(-seen.size // THREADS)
        kind = _named(seen.dtype)
        kernel = for_types(_fill, f"{kind}[::1], {kind}")
        kernel[blocks, THREADS, current()](view(array, seen.reshape(seen.size)), seen.dtype.type(value))


def copy_into(source: Any, target: Any) -> None:
    """The elements of one array to another in C order."""
    seen, goal = alias(source), alias(target)
    if not seen.size:
        return
    if seen.flags.c_contiguous:
        copy_flat(source, target, current())
        return
    _copy_strided(source, seen, target, goal)


def _copy_strided(source: Any, seen: np.ndarray[Any, Any], target: Any, goal: np.ndarray[Any, Any]) -> None:
    if seen.ndim <= 3:
        extents = (1,) * (3 - seen.ndim) + seen.shape
        lead = (np.newaxis,) * (3 - seen.ndim)
        blocks = -(-seen.size // THREADS)
        parts = view(source, seen[lead]), view(target, goal.reshape(extents))
        kind = _named(seen.dtype)
        kernel = for_types(_copy_boxes, f"{kind}[:, :, :], {kind}[:, :, ::1]")
        kernel[blocks, THREADS, current()](*parts)
        return
    for k in range(seen.shape[0]):
        _copy_strided(source, seen[k], target, goal[k])


def _fill(array, value):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < array.size:
        array[i] = value


def _copy_boxes(source, target):  # type: ignore[no-untyped-def]
    at = cuda.grid(1)
    if at < source.shape[0] * source.shape[1] * source.shape[2]:
        k = at % source.shape[2]
        row = at // source.shape[2]
        j = row % source.shape[1]
        i = row // source.shape[1]
        target[i, j, k] = source[i, j, k]
