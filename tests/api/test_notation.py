import numba
import numpy as np
import pytest
from numba import types

from adjit.api.notation import to_text, to_types
from adjit.errors import TypeMismatch

ROWS = [
    ("float64[:]", numba.typeof(np.ones(1))),
    ("float32[:, :]", numba.typeof(np.ones((2, 2), np.float32))),
    ("int64[::1, :]", numba.typeof(np.ones((2, 2), np.int64, order="F"))),
    ("(float64, int64[:])", numba.typeof((1.0, np.array([1])))),
    ("(float64,)", numba.typeof((1.0,))),
    ("float64", types.float64),
    ("none", types.none),
    ("'lower'", types.StringLiteral("lower")),
]


@pytest.mark.parametrize(("text", "type_"), ROWS)
def test_both_ways(text, type_):
    assert to_text(type_) == text
    assert to_types(text) == (type_,)


def test_lists():
    assert to_types("float64[:], int, bool, None") == (types.float64[::1], types.intp, types.boolean, types.none)
    assert to_types("") == ()


def test_strided_and_readonly():
    assert to_text(numba.typeof(np.ones((4, 4))[::2, ::2])) == "float64[:, :] strided"
    fixed = np.ones(2)
    fixed.flags.writeable = False
    assert to_text(numba.typeof(fixed)) == "float64[:] readonly"


@pytest.mark.parametrize("text", ["floaty", "float64[0]", "float64[", "1", "Array"])
def test_wrong(text):
    with pytest.raises(TypeMismatch, match="no list of types"):
        to_types(text)
