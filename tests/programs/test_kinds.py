"""What functions, operators and statements do with every kind of argument: right, or refused at the user's line.

A program calls one function, or has one operator or statement, with numbers, arrays of every type, tuples, lists, None,
strings, functions and what else a name can stand for. Whatever Python and NumPy take, the value is theirs; the rest
is refused by an error of adjit's, never by one from inside it.
"""

from __future__ import annotations

import builtins
import itertools
import math
import operator
import random
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjit
from adjit import errors
from adjit.rules import registry
from adjit.transform.frontend.walk.handlers import INTRINSICS, METHODS
from tests.defining import define

PARTS = 8
EVERY = 120  # of the programs there are, some 65,000, one in so many is tried; more in the long run

KINDS = {
    "number": "x", "integer": "3", "boolean": "True", "extent": "k", "vector": "a", "matrix": "A", "places": "n",
    "mask": "mask", "expression": "(a * x)", "tuple": "(x, 2.0, x)", "list": "[x, 2.0, x]", "empty": "()",
    "nested": "[[x, 1.0], [2.0, x]]", "arrays": "(a, a)", "none": "None", "string": "'C'", "complex": "complex(x, 1.0)",
    "range": "range(3)", "ufunc": "np.sin", "slice": "slice(0, 2)", "zip": "zip(a, a)", "method": "a.sum",
    "lambda": "(lambda v: v * x)", "type": "np.float32",
}  # fmt: skip
FIRST = (
    "number",
    "extent",
    "vector",
    "matrix",
    "places",
    "tuple",
    "list",
    "none",
    "complex",
    "nested",
    "string",
    "range",
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "&", "|", "<<", ">>", "is", "in")
STATEMENTS = """
a[:] = {}
a[0] = {}
A[0] = {}
A[:] = {}
a += {}
A[:, 0] += {}
a[mask] = {}
a[n] = {}
a[n] += {}
p, q = {}
p, *q = {}
for e in {}: x = x + 0.1
for e in {}: x = x + e
while {}: break
if {}: x = 2 * x
assert {}
{}[0] = x
raise {}
return {}
x += {}
for i in range({}): x = x + i
a[{}] = x
a[{}] += x
A[{}, 0] = x
A[{}, :] = x
x = x + np.sum(a[{}:])
x = helper({}, x)
x = helper(x, {})
x = helper(*{})
x = x + float({})
x = x + np.sum(A, axis={})
x = x + np.sum(np.ones(3, dtype={}))
x = x + np.sum(A.reshape({}))
x = x + np.sum(np.zeros({}))
with {}: pass
""".strip().splitlines()
# numba takes percentiles of several numbers in one axis alone, and the second argument of nan_to_num says what to copy
ONE_ARGUMENT = {
    "np.percentile", "np.nanpercentile", "np.quantile", "np.nanquantile",
    "np.nan_to_num", "np.ldexp", "np.linalg.matrix_rank",
}  # fmt: skip
HEAD = "import math, operator\nimport numpy as np\n\ndef helper(p, q):\n    return p * q\n\n"


def arguments() -> tuple[Any, ...]:
    square = np.array([[1.0, 0.2, 0.3], [0.1, 2.0, 0.4], [0.3, 0.1, 3.0]])
    return 0.7, np.array([0.5, 1.5, -0.7]), square, np.array([2, 0, 1]), np.array([True, False, True]), 2


TANGENTS = (1.0, np.ones(3), np.ones((3, 3)), np.zeros(3, int), np.zeros(3, bool), 0)


def named(callee: Any) -> str | None:
    """The callee as a program names it."""
    name = getattr(callee, "__qualname__", getattr(callee, "__name__", ""))
    for module, shown in ((np, "np"), (np.linalg, "np.linalg"), (math, "math"), (operator, "operator")):
        if getattr(module, name, None) is callee:
            return f"{shown}.{name}"
    return name if getattr(builtins, name, None) is callee and callee is not print else None


def expressions() -> Iterator[str]:
    registry.load()
    for callee in sorted({name for c in (*INTRINSICS, *registry.registered()) if (name := named(c))}):
        yield from (f"{callee}({value})" for value in KINDS.values())
        if callee not in ONE_ARGUMENT:
            yield from (f"{callee}({KINDS[a]}, {KINDS[b]})" for a, b in itertools.product(FIRST, repeat=2))
    for method in METHODS:
        yield from (f"{value}.{method}()" for value in KINDS.values())
        yield from (f"A.{method}({value})" for value in KINDS.values())
    for left, right in itertools.product(KINDS.values(), repeat=2):
        yield from (f"{left} {sign} {right}" for sign in OPERATORS)
        yield f"{left}[{right}]"
    for value in KINDS.values():
        yield from (f"{value}.{name}" for name in ("T", "shape", "size", "ndim", "dtype", "real", "imag", "flat"))
        yield from (f"{sign}{value}" for sign in ("-", "+", "~", "not "))
        yield f"x if {value} else 0.0"


def bodies() -> list[str]:
    made = [f"r = {text}\n    x = x + 0.5 * np.sum(r)" for text in expressions()]
    return made + [statement.format(value) for statement in STATEMENTS for value in KINDS.values()]


def attempted(body: str) -> str | None:
    """What is wrong with the derivative of the program, None if nothing is."""
    text = f"{HEAD}def program(x, a, A, n, mask, k):\n    {body}\n    return x\n"
    try:
        compile(text, "<kinds>", "exec")
    except SyntaxError:
        return None
    function = define(text, f"<kinds {zlib.crc32(body.encode())}>")["program"]
    try:
        plain = function(*arguments())
        expected = complex(plain) if np.iscomplexobj(plain) else float(plain)
    except Exception as fault:  # noqa: BLE001  whatever Python says of such a program
        plain = expected = fault
    try:
        value, _ = adjit.jvp(function, arguments(), TANGENTS, target="python")
    except errors.InternalError as fault:
        return f"{body!r}: {fault}"
    except errors.AdjitError:
        return None
    except Exception as fault:  # noqa: BLE001  any that is not Python's own is a failure
        return None if isinstance(fault, type(plain)) else f"{body!r}: {fault!r}, plain Python: {plain!r}"
    if isinstance(expected, Exception):
        # the derivative of a program that Python does not run may be anything
        return None
    # of booleans and small integers NumPy computes functions in float16
    tolerance = 1e-3 if "mask" in body or "True" in body else 1e-12
    if np.ndim(value) or not np.allclose(value, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        return f"{body!r}: {value}, plain Python: {expected}"
    return None


def failures(every: int, part: int) -> list[str]:
    chosen = bodies()
    random.Random(5).shuffle(chosen)
    with np.errstate(all="ignore"):
        return [wrong for body in chosen[part :: every * PARTS] if (wrong := attempted(body))]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_some(part: int) -> None:
    assert failures(EVERY, part) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_more(part: int) -> None:
    assert failures(8, part) == []
