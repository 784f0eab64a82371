import ast
import functools

import libcst as cst
import numba
import pytest

from adjit.errors import SourceUnavailable
from adjit.transform.source import parsing
from adjit.transform.source.parsing import read_source
from tests.defining import define


def decorated(function):
    return function


# fmt: off
def enclosing(factor):
    local = """
at the margin"""

    @decorated
    @decorated
    def inner(x, *, q=2.0):  # behind the header
        # first comment
        # second comment
        y = (x *   # within
             factor)
        for i in range(  3 ):
            y += 1.0; y -= q  # noqa: E702
        if y > (
            2.0
        ):
            y = 2.0
        s = """
a"""
        return y

    return inner, local
# fmt: on


def statements(source):
    return list(source.node.body.body)


def shown(source, node):
    place = source.place(node)
    return place.line - source.function.__code__.co_firstlineno, place.text[place.column : place.end_column]


def test_names():
    source = read_source(enclosing(3.0)[0])
    assert (source.name, source.identifier, dict(source.closure)) == ("inner", "inner", {"factor": 3.0})
    assert str(source.parameters) == "(x, *, q=2.0)"
    assert source.globals is globals()
    assert source.filename == __file__
    assert read_source(enclosing(4.0)[0]).closure == {"factor": 4.0}


def test_positions():
    source = read_source(enclosing(3.0)[0])
    product, loop, test, string, result = statements(source)
    assert shown(source, product) == (5, "y = (x *   # within")
    assert shown(source, loop.body.body[0].body[1]) == (8, "y -= q")
    assert shown(source, product.body[0].value) == (5, "x *   # within")
    assert shown(source, result) == (15, "return y")
    origin = source.origin(test)
    assert (origin.end_line - origin.line, origin.function, origin.column) == (3, "inner", 8)


ALL_KINDS = """
def of_all_kinds(x, é=(1.0, 2.0)):
    "é"; y = x; del y; z: float = 1.0;
    é, x = 1, "é" * 2  # ö
    with open(x) as f, open(x): pass
    try:
        assert é, (
            z)
    except ValueError: raise
    else:
        x += 1
    finally: x = (2)
    while x < 3: x += 1; continue
    if (x[1:
          2]):
        pass
    elif "#" in x:  # never
        for i in range( 3 ): break
        else:
            return (
                lambda: x)
    match x:
        case [1, *_] if é: global w
        case _:
            class C:
                def g(self): ...
"""


def test_places_and_texts_are_those_that_libcst_tells():
    source = read_source(define(ALL_KINDS, "<all kinds>")["of_all_kinds"])
    text = source._text
    found = [node for node in text.positions if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement)]
    assert len(found) == len(text.statements) == 27
    for node in found:
        there, shift = text.positions[node], text.line_shift
        expected = there.start.line + shift, there.start.column, there.end.line + shift, there.end.column
        assert text.span(node) == expected
        assert source.origin(node).text == parsing._on_one_line(text.module, node)


def test_statements_on_one_line():
    source = read_source(enclosing(3.0)[0])
    product, loop, test, string, result = statements(source)
    assert source.comments_above(product) == ("# first comment", "# second comment")
    assert source.origin(product, source.comments_above(product)).comments == ("# first comment", "# second comment")
    nodes = (product, loop, loop.body.body[0].body[0], test, string, result, result.body[0])
    assert [source.origin(node).text for node in nodes] == [
        "y = x * factor",
        "for i in range(  3 ):",
        "y += 1.0",
        "if y > 2.0:",
        "s = '\\na'",
        "return y",
        "return y",
    ]


def compound(x):
    while x > 0:
        x -= 1
    else:
        x = 2
    with x as y:
        pass
    try:
        pass
    finally:
        pass
    match x:
        case 1:
            pass

    def inner(y):
        return y

    if x:
        return 1


def test_headers():
    source = read_source(compound)
    assert [source.origin(s).text for s in statements(source)] == [
        "while x > 0:", "with x as y:", "try:", "match x:", "def inner(y):", "if x:",
    ]  # fmt: skip


# fmt: off
def test_lambdas_on_one_line():
    f, g = lambda x: x * 2, lambda x: x * 3
    assert [read_source(h).origin(read_source(h).node.body).text for h in (f, g)] == ["x * 2", "x * 3"]
    é = lambda x, *, ü="ää": (lambda y: lambda x: x + y)
    nested = (é, é(1), é(1)(2))
    assert [shown(read_source(h), read_source(h).node)[1] for h in nested] == [
        'lambda x, *, ü="ää": (lambda y: lambda x: x + y)',
        "lambda y: lambda x: x + y",
        "lambda x: x + y",
    ]
    assert (read_source(f).name, read_source(f).identifier) == ("<lambda>", "anonymous")
# fmt: on


def test_a_lambda_over_lines():
    f = (
        lambda x:
            x
        * 2
    )  # fmt: skip
    source = read_source(f)
    assert shown(source, source.node.body.right) == (2, "2")
    assert source.origin(source.node).text == "lambda x: x * 2"


def test_dispatchers_and_caches():
    f = numba.njit(compound)
    assert read_source(f).function is compound
    assert read_source(functools.lru_cache(f)).function is compound


def test_a_wrapper_is_a_function_of_its_own():
    @functools.wraps(compound)
    def twice(*args):
        return 2 * compound(*args)

    source = read_source(twice)
    assert str(source.parameters) == "(*args)"
    assert source.closure == {}
    assert source.name == "twice"


def test_pytest_rewrites_assertions():
    def checked(x):
        assert x > 0, "positive"
        return x

    assert source_text(checked).startswith("def checked(x):")


def source_text(function):
    source = read_source(function)
    return cst.Module([source.node]).code.strip()


def test_an_empty_cell_is_left_out():
    def f():
        return later

    assert read_source(f).closure == {}
    later = 1
    assert read_source(f).closure == {"later": 1}


def test_notebooks_and_generated_code():
    f = define("await_free = 1\ndef f(x):\n\treturn x\n", "<ipython-input-7-cell>")["f"]
    assert read_source(f).place(read_source(f).node).line == 2
    g = define("class C:\n\tdef __g(self):\n\t\treturn self.__x\n\tg = __g\n", "<adjit g float64>")["C"].g
    assert statements(read_source(g))[0].body[0].value.attr.value == "_C__x"


def test_future_imports_are_kept():
    f = define("from __future__ import annotations\ndef f(x: no_such):\n    return x\n", "<future>")["f"]
    assert read_source(f).name == "f"


def test_same_code_in_two_files():
    text = "def f(x):\n    {}return x\n"
    one, two = (define(text.format(""), name)["f"] for name in ("<one>", "<two>"))
    assert one.__code__ == two.__code__
    assert [read_source(f).filename for f in (one, two)] == ["<one>", "<two>"]


def test_after_many_calls():
    f = define("def f(x):\n    for i in range(3):\n        x = x + i\n    return x\n", "<warm>")["f"]
    for _ in range(2000):
        f(1)
    assert read_source(f).name == "f"


def test_changed_file():
    f = define("def f(x):\n    return x * 2.0\n", "<changing>")["f"]
    define("def f(x):\n    return x * 3.0\n", "<changing>")
    with pytest.raises(SourceUnavailable, match="holds other code now"):
        read_source(f)


EDITED = """
class Model:
    def loss(self, x):
        # a comment
        k = [lambda v: v * -0.0, lambda v: v * 0.0]
        return (x *
                2.0) + k[1](x)
"""


def test_other_lines_of_the_file_were_edited():
    f = define(EDITED, "<moving>")["Model"].loss
    more = define(f"# more\n\n{EDITED}", "<moving>")["Model"].loss
    source, moved = read_source(f), read_source(more)
    assert f.__code__ != more.__code__
    assert [shown(s, node)[1] for s in (source, moved) for node in statements(s)] == [
        "k = [lambda v: v * -0.0, lambda v: v * 0.0]", "return (x *",
    ] * 2  # fmt: skip
    assert source.first_line.line == moved.first_line.line == 5
    define(EDITED.replace("-0.0", "0.0"), "<moving>")
    with pytest.raises(SourceUnavailable, match="holds other code now"):
        read_source(f)


def test_one_function_of_a_file_is_compiled_anew(tmp_path):
    """As IPython's autoreload does it: its text without comments, under another class, or of no file at all."""
    made = define(EDITED, "<patched>")
    text = ast.unparse(ast.parse(EDITED)).replace("class Model", "class __autoreload_class__")
    for name in ("<patched>", "<string>"):
        there = {"__file__": "<patched>"}
        exec(compile(text, name, "exec"), there)
        own = there["__autoreload_class__"].loss
        assert own.__code__ != made["Model"].loss.__code__
        source = read_source(own)
        assert (source.filename, source.first_line.line) == ("<patched>", 3)
        assert source.comments_above(statements(source)[0]) == ("# a comment",)
    with pytest.raises(SourceUnavailable, match="executed as a string"):
        exec("def f(x):\n    return x", there)
        read_source(there["f"])


MARGIN = '''
import functools
import math
from math import (
    inf,
)


def plain(x):
    # what follows
# is in it as well

    return x * 2.0


@functools.wraps(
    plain
)
def decorated(
    x,
):
    return [x for x in (1.0,)
][0]


def text(x):
    """A text with a line
def at the margin"""
    return x


table = (
    1.0,
    lambda x: math.sin(x) * min(x, inf),
)


def last(x): return math.exp(x + 1.0)
'''


def test_a_function_at_the_margin_is_read_alone(monkeypatch):
    made, whole = define(MARGIN, "<margin>"), []
    read = parsing._read_file
    monkeypatch.setattr(parsing, "_read_file", lambda *given: whole.append(given[0]) or read(*given))
    lines = MARGIN.splitlines()
    for name, is_alone in (("plain", True), ("decorated", True), ("last", True), ("text", False)):
        whole.clear()
        source = read_source(made[name])
        assert source.name == name
        assert source.first_line.line == next(k for k, line in enumerate(lines, 1) if line.startswith(f"def {name}("))
        assert source.first_line.text == lines[source.first_line.line - 1]
        assert (not whole) == is_alone
    whole.clear()
    source = read_source(made["table"][1])
    assert source.origin(source.node).text == "lambda x: math.sin(x) * min(x, inf)"
    assert not whole


@pytest.mark.parametrize("what", [abs, 3, functools.partial(compound, 1), eval("lambda x: x"), type])
def test_no_source(what):
    with pytest.raises(SourceUnavailable) as fault:
        read_source(what)
    assert len(str(fault.value).splitlines()) == 3


def test_coroutines():
    async def later(x):
        return x

    with pytest.raises(SourceUnavailable, match="coroutine"):
        read_source(later)
