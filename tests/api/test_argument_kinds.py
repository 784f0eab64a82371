"""Kinds of arguments: what they come back as, what is refused and with which words, and what is held fixed."""

import array
import decimal
import fractions
import functools
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, Unsupported

TARGETS = pytest.mark.parametrize("target", ["python", "cpu"])
X = np.array([0.5, 1.5, 2.5])


def cube(x):
    return x * x * x


def square(z):
    return abs(z) ** 2


def scaled(x, k):
    return k * np.sum(x * x)


def first_two(values):
    return values[0] ** 2 * values[1]


def of_a_dictionary(p):
    return p["k"] * np.sum(p["x"] * p["x"])


# ------------------------------------------------------------------------------------------------------------- numbers


@TARGETS
@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), 2.0], ids=lambda n: type(n).__name__)
def test_numbers_keep_their_type(number, target: str) -> None:
    kind = type(number)
    assert (type(adjit.grad(cube, target=target)(number)), adjit.grad(cube, target=target)(number)) == (kind, 12.0)
    value, bar = adjit.value_and_grad(cube, target=target)(number)
    assert (type(value), type(bar), value, bar) == (kind, kind, 8.0, 12.0)
    assert [type(one) for one in adjit.jvp(cube, (number,), (1.0,), target=target)] == [kind, kind]
    assert type(adjit.vjp(cube, number, target=target)[1](1.0)[0]) is kind
    assert type(adjit.hvp(cube, target=target)(number, 1.0)) is kind
    # beside an array, and by name
    x_bar, k_bar = adjit.grad(scaled, wrt=(0, 1), target=target)(X, k=number)
    assert (type(x_bar), type(k_bar)) == (np.ndarray, kind)


@TARGETS
def test_complex_numbers_keep_their_type(target: str) -> None:
    for number in (np.complex64(2 + 1j), np.complex128(2 + 1j), 2 + 1j):
        bar = adjit.grad(square, target=target)(number)
        assert (type(bar), bar) == (type(number), 4 + 2j)


class Line(NamedTuple):
    slope: float
    values: object


def on_a_line(line):
    return line.slope * np.sum(line.values * line.values)


@TARGETS
def test_tuples_are_looked_at_part_by_part_each_time(target: str) -> None:
    """A call that was taken does not let through what numba would not see in a tuple of the same types."""
    derived = adjit.grad(on_a_line, target=target)
    for slope in (2.0, np.float32(2.0), 2.0):
        found = derived(Line(slope, X))
        assert type(found[0]) is type(slope)
        np.testing.assert_allclose(found[0], np.sum(X * X), rtol=1e-6)
        np.testing.assert_allclose(found[1], 2.0 * slope * X)
    with pytest.raises(TypeMismatch, match="swapped bytes"):
        derived(Line(2.0, X.astype(X.dtype.newbyteorder())))
    with pytest.raises(TypeMismatch, match="masked array"):
        derived(Line(2.0, np.ma.masked_greater(X, 1.0)))
    np.testing.assert_allclose(derived(Line(2.0, X))[1], 4.0 * X)


@TARGETS
def test_numbers_in_lists_and_dictionaries_keep_their_type(target: str) -> None:
    for kind in (np.float32, np.float64, float):
        bars = adjit.grad(first_two, target=target)([kind(2), kind(3)])
        assert ([type(one) for one in bars], bars) == ([kind, kind], [12.0, 4.0])
        assert type(adjit.grad(of_a_dictionary, target=target)({"x": X, "k": kind(2)})["k"]) is kind
        both = adjit.value_and_grad(of_a_dictionary, target=target)
        for _ in range(2):
            value, bar = both({"x": kind(3), "k": kind(2)})
            assert [type(one) for one in (value, *bar.values())] == [kind] * 3
        (bar,) = adjit.grad(lambda t: cube(t[0]), target=target)((kind(2),))
        assert type(bar) is kind


# ------------------------------------------------------------------------------------------------------------- refused


@functools.cache
def of_a_pair(target: str):
    made = adjit.grad(lambda pair: pair[1] * np.sum(pair[0]), target=target)
    made((X, 2.0))
    return made


class WithArray:
    """As a Series of pandas is, or a tensor of torch."""

    def __init__(self):
        self.values = X

    def __array__(self, dtype=None, copy=None):
        return self.values


class OnADevice:
    """As an array of CuPy is."""

    def __init__(self):
        self.__cuda_array_interface__ = {}


class Metres(np.ndarray):
    pass


with warnings.catch_warnings():
    # NumPy would rather have it gone
    warnings.simplefilter("ignore")
    MATRIX = np.matrix([[1.0, 2.0, 3.0]])
MASKED = np.ma.masked_array(X, [False, True, False])
REFUSED = [
    (MASKED, "a masked array", "filled"),
    (MATRIX, "numpy.matrix, which is not quite", r"np\.asarray"),
    (X.view(Metres), "Metres, which is not quite a NumPy array", r"np\.asarray"),
    (X.astype(np.float16), "an array of float16", r"astype\(np\.float64\)"),
    (X.astype(np.longdouble), "an array of float128", r"astype\(np\.float64\)"),
    (X.astype(np.clongdouble), "an array of complex256", r"astype\(np\.complex128\)"),
    (X.astype(">f8"), "swapped bytes", "astype"),
    (X.astype(object), "an array of Python objects", r"astype\(np\.float64\)"),
    (np.array(["2020-01-01"], "M8[D]"), "datetime64", "timedelta64"),
    (np.array(["a"]), "an array of strings", "return_inverse"),
    (np.float16(2), "a number of float16", r"float\(\w+\)"),
    (np.longdouble(2), "a number of float128", r"float\(\w+\)"),
    (np.datetime64("2020-01-01"), "a number of datetime64", "number"),
    (2**70, "more than 64 bits", r"float\([^)]+\)"),
    (decimal.Decimal(2), "decimal.Decimal", r"float\(\w+\)"),
    (fractions.Fraction(1, 2), "fractions.Fraction", r"float\(\w+\)"),
    (array.array("d", [1.0]), "array.array", r"np\.asarray"),
    (WithArray(), "WithArray, which is not a NumPy array", r"np\.asarray"),
    (OnADevice(), "an array on a device", r"\.get\(\)"),
    (np.zeros(2, [("a", "f8")]), "an array of records", r"\['a'\]"),
    (np.zeros(2, [("a", "f8")])[0], "a record with the fields a", "Pass each field as an argument"),
]


@TARGETS
@pytest.mark.parametrize(("value", "what", "instead"), REFUSED, ids=[what for _, what, _ in REFUSED])
def test_what_is_no_number_or_array_is_refused(value, what: str, instead: str, target: str) -> None:
    made = adjit.grad(scaled, target=target)
    made(X, 2.0)
    with pytest.raises(TypeMismatch, match=rf"(?s){what}.*{instead}"):
        made(value, 2.0)
    inside = adjit.grad(of_a_dictionary, target=target)
    inside({"x": X, "k": 2.0})
    with pytest.raises(
        TypeMismatch, match="contains an array of records" if "records" in what else rf"(?s){what}.*{instead}"
    ):
        inside({"x": value, "k": 2.0})
    if "record" not in what:
        with pytest.raises(TypeMismatch, match=what):
            of_a_pair(target)((value, 2.0))


@TARGETS
def test_masks_are_never_lost(target: str) -> None:
    """Also where numba has seen an array of the type: it would take this one for it."""
    dot = np.ones(3)
    adjit.vjp(scaled, X, 2.0, target=target)
    adjit.jvp(scaled, (X, 2.0), (dot, 1.0), target=target)
    for call in (
        lambda: adjit.vjp(scaled, MASKED, 2.0, target=target),
        lambda: adjit.jvp(scaled, (MASKED, 2.0), (dot, 1.0), target=target),
        lambda: adjit.grad(scaled, target=target)(k=2.0, x=MASKED),
        lambda: adjit.grad(lambda t: np.sum(t[0]), target=target)((MASKED, 1.0)),
        lambda: adjit.hvp(scaled, target=target)(MASKED, 2.0, dot),
        lambda: adjit.grad(scaled, target=target).into(MASKED, 2.0, out=np.ones(3)),
    ):
        with pytest.raises(TypeMismatch, match="a masked array"):
            call()


SWAPPED, HALF = X.astype(">f8"), np.float16(2)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: np.sum(MASKED * x), "a masked array from outside"),
        (lambda x: np.sum(SWAPPED * x), "a global array of >f8"),
        (lambda x: HALF * x[0], "a number of float16 from outside"),
        (lambda x: np.sum(MATRIX * x[0]), "an array of type matrix from outside"),
    ],
)
def test_global_arrays_are_refused_alike(function, what: str) -> None:
    with pytest.raises(Unsupported, match=what):
        adjit.grad(function, target="python")(X)


# ------------------------------------------------------------------------------------------------------------- records

RECORDS = np.array(
    [(1.0, 2.0, (1.0, 2.0), 1j, "a"), (3.0, 4.0, (3.0, 4.0), 2.0, "b"), (5.0, 6.0, (5.0, 6.0), 3j, "c")],
    dtype=[("a", "f8"), ("b", "f4"), ("c", "f8", 2), ("z", "c16"), ("name", "U1")],
)
ATTRIBUTES = RECORDS.view(np.recarray)


def of_a_global(x):
    total = RECORDS[0]["a"] * x[0] + RECORDS["c"][1, 0] * x[1] + RECORDS.size * x[2] + len(RECORDS)
    for k, one in enumerate(ATTRIBUTES):
        total += one.a * x[k] * x[k] + one["b"] + one.c[1] * x[0]
    for k in range(RECORDS.shape[0]):
        total += RECORDS[k]["b"] * x[k] + np.sum(RECORDS[1:]["a"] * x[1:]) * x[k]
    return total + np.sum(np.abs(ATTRIBUTES.z) * x)


def of_an_argument(x, records):
    total = records["c"][1, 0] * x[1] + records.size * x[2] + len(records) + np.sum(records.a * x * x)
    for k, one in enumerate(records):
        total += one["b"] * x[k] + one.c[1] * x[0]
    for k in range(len(records)):
        total += records[k]["a"] * np.sum(records[1:]["a"] * x[1:])
    return total + np.sum(np.abs(records["z"]) * x)


@TARGETS
@pytest.mark.parametrize("function", [of_a_global, of_an_argument])
def test_records_are_held_fixed(function, target: str) -> None:
    arguments = (X,) if function is of_a_global else (X, ATTRIBUTES)
    for _ in range(2):
        value, bar = adjit.value_and_grad(function, target=target)(*arguments)
        assert value == pytest.approx(function(*arguments), rel=1e-14)
    dot = np.array([0.3, -1.0, 0.7])
    rest = arguments[1:]
    difference = (function(X + 1e-6 * dot, *rest) - function(X - 1e-6 * dot, *rest)) / 2e-6
    assert bar @ dot == pytest.approx(difference, rel=1e-8)
    if not rest:
        assert adjit.jvp(function, (X,), (dot,), target=target)[1] == pytest.approx(bar @ dot, rel=1e-14)


def test_records_carry_no_derivative() -> None:
    with pytest.raises(TypeMismatch, match=r"(?s)an array of records.*\['a'\]"):
        adjit.grad(of_an_argument, wrt=1, target="python")(X, RECORDS)
    with pytest.raises(TypeMismatch, match="contains an array of records"):
        adjit.grad(lambda p: np.sum(p["r"]["a"]), target="python")({"r": RECORDS})
    with pytest.raises(TypeMismatch, match=r"(?s)no field 'q'.*'a', 'b'"):
        adjit.grad(lambda x: np.sum(RECORDS["q"] * x), target="python")(X)
    with pytest.raises(TypeMismatch, match="without a field 'q'"):
        adjit.grad(lambda x, r: np.sum(r["q"] * x), target="python")(X, RECORDS)


# --------------------------------------------------------------------------------------------------------------- plans


@TARGETS
def test_calls_find_the_plan_that_fits(target: str) -> None:
    """Arguments that are put together in turns in several ways, under one derived function."""
    made = adjit.value_and_grad(lambda p, k: k * sum(np.sum(one * one) for one in p.values()), target=target)
    one, other = {"x": X, "y": 2.0}, {"y": 2.0, "x": X}
    for given in (one, other, {"x": X}, one, {"x": X, "y": np.float32(2)}, {"x": X, "y": 3}, other, one):
        value, bar = made(given, 2.0)
        assert value == pytest.approx(2.0 * sum(np.sum(v * v) for v in given.values()))
        assert list(bar) == list(given)
        for key, wanted in given.items():
            np.testing.assert_array_equal(bar[key], 0 if isinstance(wanted, int) else 4.0 * wanted)
    lists = adjit.grad(lambda v: sum(one * one for one in v), target=target)
    for numbers in ([1.0, 2.0], [1, 2.0], [1.0, 2.0], [np.float32(1), np.float32(2)], [1.0, 2.0, 3.0]):
        np.testing.assert_allclose(lists(numbers), [2.0 * one for one in numbers])
