"""What a program asks of attributes of numbers and arrays: what NumPy's numbers have and Python's have not, and what is
no method."""

from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


def known_of_numbers(x):
    total = x * (2 if hasattr(x, "real") else 3) * (5 if hasattr(x, "__len__") else 7)
    total *= getattr(x, "size", 1) * (2 if getattr(x, "shape", ()) == () else 3) * getattr(x, "nothing", 11)
    return total * (2 if hasattr(x, "nothing") else 3)


def known_of_arrays(x):
    y = np.array([x, 2.0])
    s = y.sum()
    total = s * (2 if hasattr(y, "shape") else 3) * (5 if hasattr(y, "base") else 7) * (11 if hasattr(y, "foo") else 13)
    return total * (2 if s.shape == () else 3) * (s.ndim + 1) * s.size * range(3, 9).start


def test_known() -> None:
    check(known_of_numbers, lambda: (1.3,), second=False)
    check(known_of_numbers, lambda: (np.float64(1.3),), second=False, target="cpu")
    check(known_of_arrays, lambda: (1.3,), second=False, target="cpu")


def asked_by_shape(x):
    return x if hasattr(x, "shape") else x * x


def asked_of_an_integer(x, n):
    return x if hasattr(n + 1, "item") else x * x


def asked_with_a_default(x):
    return x * getattr(x, "ndim", 5)


def asked_of_complex_numbers(x):
    return x if hasattr(x * 2j, "dtype") else x * x


@pytest.mark.parametrize(
    "function", [asked_by_shape, asked_of_an_integer, asked_with_a_default, asked_of_complex_numbers]
)
@pytest.mark.parametrize("number", [3.0, np.float64(3.0)])
def test_what_numpys_numbers_have_alone_is_refused(function: Any, number: float) -> None:
    given = (number, 2) if function is asked_of_an_integer else (number,)
    with pytest.raises(adjit.Unsupported, match=r"whether a .*number has the attribute|whether an integer has"):
        adjit.grad(function)(*given)


def of_a_base(x):
    return x[0] if x.base is None else x[0] * x[0]


def of_flags(x):
    return x[0] if x.flags.writeable else x[1]


def of_a_number(x):
    return x[0] if x[0].base is None else x[1]


def of_nothing(x):
    return x[0] if x.nothing is None else x[1]


def of_nothing_of_a_list(x):
    return x[0] if [x[0]].nothing is None else x[1]


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (of_a_base, "the attribute `base` of an array"),
        (of_flags, "the attribute `flags` of an array"),
        (of_a_number, "the attribute `base` of a number"),
        (of_nothing, "an array has no attribute `nothing`"),
        (of_nothing_of_a_list, "a list of 1 has no attribute `nothing`"),
    ],
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_attributes_that_are_no_methods_are_refused(function: Any, what: str, target: str) -> None:
    with pytest.raises(adjit.Unsupported) as fault:
        adjit.grad(function, target=target)(np.array([1.1, 2.0]))
    assert what in str(fault.value)


def size_of_a_list(x: Any) -> Any:
    return x[0] / [x[0], x[1]].size  # type: ignore[attr-defined]


def test_a_list_is_told_apart_from_an_array() -> None:
    with pytest.raises(
        adjit.Unsupported, match=r"a list of 2 has no attribute `size`(.|\n)*np.array\(...\) has `size`"
    ):
        adjit.grad(size_of_a_list)(np.array([1.1, 2.0]))
