"""Every comment of the user's is in the text, once, where it says what it says in the source."""

import ast
import inspect
import io
import math
import tokenize
from collections import Counter

import numba
import numpy as np
import pytest

import adjit
from adjit.transform.pipeline import Derivative, source
from adjit.transform.strategy import FORCED
from tests.golden.generate import OUTPUTS, golden


def comments(text):
    """The comments in a text, which may be indented, in their order."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except IndentationError:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"if True:\n{text}").readline))
    return [t.string for t in tokens if t.type == tokenize.COMMENT]


def kept(text, of):
    """How often the text has each of the comments `of`."""
    return Counter(c for c in comments(text) if c in of)


@pytest.mark.parametrize(("case", "tuned"), OUTPUTS)
def test_comments_of_golden_programs(case, tuned):
    own = comments(inspect.getsource(case.function))
    assert kept(golden(case, tuned).read_text(encoding="utf-8"), own) == Counter(own)


def program(
    x,  # the place
    n,
):  # of few statements
    """A program with a comment at every place there is."""
    # the square
    a = x * x  # of the place

    # a constant, which is no operation
    unit = 1.0
    s = 0.0  # the sum
    # all of them
    for i in range(n):  # each
        # a wave
        b = math.sin(a) * unit  # of no name
        s += b * i
        # and on to the next
    # one of three
    if s > 0.5:
        # large
        s = s * a
    # not so large
    elif s > 0.2:
        s = s + a  # more
    else:  # small
        # or negative
        s = -s
        # at any rate
    total = (
        s
        # in parts
        + a  # the second
        + x
    )
    while total > 10.0:  # too large
        total = total * 0.5
        # halved
    # the "# answer"
    return total  # that is it
    # done


GRADIENT = '''\
def program_grad(x, n):
    """Gradient of program at test_comments.py:LINE with respect to x."""
    # ---- forward sweep
    # the place
    # of few statements
    # the square
    a = x * x  # of the place
    # a constant, which is no operation
    s = 0.0  # the sum
    # all of them
    for i in range(n):  # each
        # a wave
        # of no name
        s += math.sin(a) * i
        # and on to the next
    # one of three
    is_above = s > 0.5
    if is_above:
        # large
        s_2 = s * a
    # not so large
    elif s > 0.2:
        s_2 = s + a  # more
    else:
        # small
        # or negative
        s_2 = -s
        # at any rate
    # in parts
    # the second
    total = s_2 + a + x
    trips = 0
    while total > 10.0:  # too large
        total *= 0.5
        # halved
        trips += 1
    # the "# answer"
    # that is it
    # done
    # ---- reverse sweep
'''


def text_of(function, kind, types, **more):
    return source(Derivative(function, kind, (0,), **more), types).text


def test_places():
    text = text_of(program, "grad", (numba.float64, numba.int64))
    wanted = GRADIENT.replace("LINE", str(program.__code__.co_firstlineno))
    assert text[: len(wanted)] == wanted
    assert not set(comments(text.removeprefix(wanted))) & set(comments(inspect.getsource(program)))


OWN = comments(inspect.getsource(program))


@pytest.mark.parametrize("kind", ["primal", "grad", "value_and_grad", "vjp", "jvp", "split_forward", "jacfwd"])
def test_every_kind_of_derivative_has_them(kind):
    types = (numba.float64, numba.int64)
    given = {"vjp": (*types, numba.float64), "jvp": 2 * types}.get(kind, types)
    assert kept(text_of(program, kind, given), OWN) == Counter(OWN)


def test_a_hessian_product_has_them():
    text = adjit.hvp(program).source(numba.float64, numba.int64, numba.float64, tuned=True)
    assert kept(text, OWN) == Counter(OWN)


@pytest.mark.parametrize("name", FORCED)
def test_every_strategy_keeps_them(name):
    text = text_of(program, "grad", (numba.float64, numba.int64), strategy=FORCED[name])
    assert kept(text, OWN) == Counter(OWN)
    ast.parse(text)


class Somewhere:
    @staticmethod
    # about the decorated
    def else_where(v, n):
        # the first of all
        out = v.copy()  # not in place
        for t in range(n):
            # shifted
            out[1:] = 0.5 * (out[1:] + v[:-1])  # from the left
        total = 0.0
        count = 0.0  # two at once
        for i in range(v.size):
            if out[i] < 0.0:
                # none of these
                continue
            # squares
            total += out[i] ** 2
            count += 1.0  # and their number
        if False:
            # never
            total = 0.0  # no
        return total / count


def test_array_statements_and_indented_functions():
    own = comments(inspect.getsource(Somewhere.else_where))
    types = (numba.types.Array(numba.float64, 1, "C"), numba.int64)
    text = text_of(Somewhere.else_where, "value_and_grad", types)
    # what stands above the `def` is said of the function and not in it
    assert kept(text, own) == Counter(own) - Counter(["# about the decorated"])
    shifted = "# shifted\n        # from the left\n        # out[1:] = 0.5 * (out[1:] + v[:-1])\n        for"
    assert shifted in text
    assert "out = v.copy()  # not in place" in text


def test_what_is_commented_is_right():
    def plain(x):
        return program(x, 4)

    value = source(Derivative(program, "value_and_grad", (0,), single=True), (numba.float64, numba.int64))
    namespace = dict(value.globals)
    exec(value.text, namespace)
    for x in (0.3, 0.9, 1.7, 3.1):
        found, slope = namespace[value.name](x, 4)
        assert found == pytest.approx(plain(x), rel=1e-14)
        assert slope == pytest.approx((plain(x + 1e-6) - plain(x - 1e-6)) / 2e-6, rel=1e-6)


def test_helpers_keep_the_comments_above_their_statements():
    def wave(y):
        # of the helper
        return np.sin(y) * y

    def caller(x):
        # of the caller
        y = wave(x)
        return y * x

    text = text_of(caller, "grad", (numba.float64,))
    assert "# of the helper\n    y = np.sin(x) * x\n" in text
    assert comments(text).count("# of the caller") == 1
