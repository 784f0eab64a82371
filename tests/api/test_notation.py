import numba
import numpy as np
import pytest
from numba import types

import adjit
from adjit.api.specialise.notation import to_text, to_types
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


def by_name(x, how):
    return x * x if how == "squared" else x


def test_texts_beside_values_are_values():
    gradient = adjit.grad(by_name, target="python")
    assert "return 2.0 * x" in gradient.source(1.5, "squared") == gradient.source("float64, 'squared'")
    assert gradient.explain(1.5, "plain").arguments == (("x", "float64"), ("how", "'plain'"))
    # what names types is taken for these
    assert gradient.explain("float32", "'plain'").arguments == (("x", "float32"), ("how", "'plain'"))
    with pytest.raises(TypeMismatch, match=r"'float, array, int' is not a list of types\n  'array' is not a type"):
        gradient.source("float, array, int")


@pytest.mark.parametrize("text", ["floaty", "float64[0]", "float64[", "1", "Array"])
def test_wrong(text):
    with pytest.raises(TypeMismatch, match="is not a type"):
        to_types(text)
