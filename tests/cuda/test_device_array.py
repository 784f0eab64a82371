"""Arrays as generated code has them on a device, here over memory of NumPy's, whose elements may be read."""

import numpy as np
import pytest

from adjit.runtime.cuda.device_array import DeviceArray

BASE = np.arange(120.0).reshape(4, 5, 6)


def over(array):
    return DeviceArray(array.ctypes.data, array.shape, array.strides, array.dtype, array)


@pytest.mark.parametrize(
    "part",
    [
        np.s_[:],
        np.s_[1:3, ::2],
        np.s_[::-1, 2],
        np.s_[2, 3, 1:],
        np.s_[..., np.newaxis],
        np.s_[1, 1, 1],
        np.s_[:0],
        np.s_[:, :1],
    ],
)
def test_parts_are_numpys(part):
    whole, own = over(BASE), BASE[part]
    seen = whole.alias()[part]
    found = whole.seen(seen if isinstance(seen, np.ndarray) else np.asarray(seen).reshape(()))
    if isinstance(own, np.ndarray):
        np.testing.assert_array_equal(found.alias(), own)
        assert found.is_c_contiguous == own.flags.c_contiguous
        assert (found.layout == "F") == (own.flags.f_contiguous and not own.flags.c_contiguous)
        if own.size:
            assert found.words == (0, 0, own.size, 8, own.ctypes.data, *own.shape, *own.strides)
    assert found.ndim == np.ndim(own)


def test_transposed_arrays_and_records():
    assert over(BASE.T).layout == "F"
    records = np.zeros(3, dtype=[("a", np.uint64), ("b", np.float32)])
    records["b"] = 2.0
    np.testing.assert_array_equal(over(records).alias()["b"], [2.0, 2.0, 2.0])


def test_an_array_made_of_an_extent_is_in_c_order():
    made = DeviceArray(0, (3, 0, 2), None, np.dtype(np.float32), None)
    assert (made.size, made.nbytes, made.strides, made.layout) == (0, 0, (0, 8, 4), "C")
    assert made.alias().shape == (3, 0, 2)
