"""Inference that asks a statement again only where a type in it is new finds numba's types, warnings and errors."""

import warnings

import numpy as np
import pytest
from numba import njit
from numba.core import errors, types

from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")


def widened(x):
    """`total` is an integer first, and `kept` what it was in the trip before."""
    total, kept = 0, 0
    for i in range(x.size):
        kept, total = total, total + x[i]
        if total > 3:
            total = total * 1j
    return total, kept


def handed_on(x):
    a, b, c = 0, 0, 0
    for _ in range(3):
        c, b, a = b, a, x
    return a, b, c


def multiplied(a):
    return a[::2, ::2] @ a[::2, ::2]


def unfit(x):
    y = 1
    for _ in range(3):
        y = y + "a"
    return y + x


@pytest.mark.parametrize("function", [widened, handed_on])
def test_types(function):
    own, other = njit(pipeline_class=GeneratedCompiler)(function), njit(function)
    for kinds in ((types.complex128[::1],), (types.complex64[::1],)) if function is widened else (
        (types.float32,), (types.complex128,), (types.float64[::1],)
    ):  # fmt: skip
        try:
            other.compile(kinds)
        except errors.TypingError:
            with pytest.raises(errors.TypingError):
                own.compile(kinds)
        else:
            own.compile(kinds)
            found, expected = own.overloads[kinds], other.overloads[kinds]
            assert found.signature == expected.signature
            names = {name for name in expected.type_annotation.typemap if not name.startswith(("$", "arg."))}
            mine, theirs = (made.type_annotation.typemap for made in (found, expected))
            assert {name: mine[name] for name in names} == {name: theirs[name] for name in names}


def test_warnings_are_handed_on_once():
    told = []
    for options in ({"pipeline_class": GeneratedCompiler}, {}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            njit(**options)(multiplied).compile((types.float64[:, ::1],))
        told.append([(str(w.message).splitlines()[0], w.category) for w in caught])
    assert told[0] in ([], told[1])


def test_errors():
    with pytest.raises(errors.TypingError, match="unicode"):
        njit(pipeline_class=GeneratedCompiler)(unfit)(np.ones(3))
