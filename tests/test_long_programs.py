"""Code longer than Python's stack is deep: chains of statements, and expressions of many terms."""

from __future__ import annotations

import math

import pytest

import adjit
from adjit.transform.strategy import FORCED
from tests.defining import define

LONG = 300  # some levels of calls a statement are more than the thousand that Python allows


def chain(statements):
    lines = [f"        y = math.sin(y) + 0.{k % 9 + 1} * y * x / (1.0 + y * y)" for k in range(statements)]
    head = "def chain(x, n):\n    total = 0.0\n    for t in range(n):\n        y = x + t\n"
    text = head + "\n".join(lines) + "\n        total += y\n    return total\n"
    return define(text, "<chain>", math=math)["chain"]


def slope(function, x, n, h=1e-6):
    return (function(x + h, n) - function(x - h, n)) / (2 * h)


@pytest.mark.parametrize("name", ["default", pytest.param("again", marks=pytest.mark.long)])
def test_a_chain_of_statements(name):
    function = chain(LONG)
    options = {} if name == "default" else {"strategy": FORCED[name]}
    found = adjit.grad(function, target="python", **options)(0.3, 2)
    assert found == pytest.approx(slope(function, 0.3, 2), rel=1e-5)


def test_an_expression_of_many_terms_is_refused_at_its_function():
    terms = " + ".join(f"{k}.0 * x" for k in range(LONG))
    function = define(f"def terms(x):\n    return {terms}\n", "<terms>")["terms"]
    with pytest.raises(adjit.Unsupported, match=r"nested too deeply, in terms(.|\n)*:1 in terms"):
        adjit.grad(function)(0.5)
