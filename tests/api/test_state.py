"""What a function reads from outside is bound anew, patched or replaced: who asks again gets the derivative of now.

Each row is a module with a function `f`, of a number and of what is in `ARGS`, and a change that is run in the module.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import adjit
from adjit.errors import Unsupported, WrongCall
from adjit.rules import registry
from tests.api.importing import imported

CLASS = """
G = 2.0
class P:
    k = 1.5
    def __init__(self, x):
        self.v = x
    def m(self, x):
        return G * x * self.v
    @property
    def prop(self):
        return G * self.v
    @staticmethod
    def s(x):
        return G * x * x
    @classmethod
    def c(cls, x):
        return cls.k * x * x
    def __call__(self, x):
        return G * x * x
    def __add__(self, other):
        return G * self.v * other.v
    def inner(self, x):
        return self.m(x) + 1.0
p = P(1.25)
"""
SUB = CLASS + "class Q(P):\n    def m(self, x):\n        return super().m(x) * 2.0\n"
OF_CLASS = {
    "method of a global object": "p.m(x)",
    "method of an object made inside": "P(x).m(x)",
    "method called by a method": "P(x).inner(x)",
    "property": "P(x).prop",
    "property of a global object": "p.prop * x",
    "static method": "P.s(x)",
    "static method by an object": "p.s(x)",
    "call": "p(x)",
    "call of an object made inside": "P(x)(x)",
    "operator": "P(x) + P(x)",
}
MODULE = "import types, math\nimport numpy as np\nm = types.ModuleType('m')\nm.K = 2.0\nm.g = lambda x: x * x\n"
MAKER = """
def maker():
    k = 2.0
    def g(x):
        return k * x * x
    def change(v):
        nonlocal k
        k = v
    return g, change
g, change = maker()
"""
WRAPPED = """
import functools
def twice(h):
    @functools.wraps(h)
    def wrapped(x):
        return 2.0 * h(x)
    return wrapped
w = twice(g)
"""
ELSEWHERE = """
import types
other = types.FunctionType(g.__code__, {'G': 2.0, '__name__': 'elsewhere.m'}, 'other')
"""
IMPORTING = "import sys\nsys.modules['m_of_state'] = m\ndef f(x):\n    from m_of_state import K\n    return K * x * x\n"
DATA = """
from dataclasses import dataclass
G = 2.0
@dataclass
class D:
    v: float
    def m(self, x):
        return G * self.v * x
"""
DEFAULT = "def g(x, k=2.0):\n    return k * x * x\n"
NAMED = "def g(x, *, k=2.0):\n    return k * x * x\n"
COUNTED = "def g(x):\n    return x * x\ng.k = 2.0\n"
ARRAYS = "import numpy as np\ndef f(x):\n    return np.sum(np.array([g(v) for v in (x, 2.0 * x)]))\n"
ELEMENTS = "import numpy as np\nu = np.vectorize(g)\ndef f(x):\n    return np.sum(u(np.array([x, 2.0 * x])))\n"
BASES = "class A(P):\n    pass\nclass B(P):\n    k = 9.0\nclass C(A):\n    pass\n"
SORTED = "s = 1.0\ndef key(v):\n    return s * v[0]\n"
SLOTTED = "from dataclasses import dataclass\n@dataclass(slots=True)\nclass S:\n    v: float\ns = S(2.0)\n"
KEEP = "def g(x):\n    return G * x * x\nG = 2.0\n"
CALLED = "def call(h, x):\n    return h(x)\n"


def f_of(expression: str, parameters: str = "x") -> str:
    return f"def f({parameters}):\n    return {expression}\n"


ROWS = {
    **{name: (CLASS + f_of(text), "G = 5.0") for name, text in OF_CLASS.items()},
    "method through super": (SUB + f_of("Q(x).m(x)"), "G = 5.0"),
    "function in a dictionary": (KEEP + "D = {'h': g}\n" + f_of("D['h'](x)"), "G = 5.0"),
    "function in a list": (KEEP + "L = [g]\n" + f_of("L[0](x)"), "G = 5.0"),
    "function in a tuple": (KEEP + "L = (g,)\n" + f_of("L[0](x)"), "G = 5.0"),
    "another function in a dictionary": (KEEP + "D = {'h': g}\n" + f_of("D['h'](x)"), "D['h'] = lambda x: 7.0 * x"),
    "another function in a list": (KEEP + "L = [g]\n" + f_of("L[0](x)"), "L[0] = lambda x: 7.0 * x"),
    "number in a list": ("L = [2.0, 3.0]\n" + f_of("L[0] * x * L[1]"), "L[0] = 4.0"),
    "list that grows": ("L = [2.0, 3.0]\n" + f_of("sum(L) * x * len(L)"), "L.append(4.0)"),
    "number in a dictionary": ("D = {'a': 2.0}\n" + f_of("D['a'] * x * x"), "D['a'] = 4.0"),
    "key of a dictionary": ("D = {'a': 2.0}\n" + f_of("x * x if 'b' in D else x"), "D['b'] = 4.0"),
    "dictionary in an object": (CLASS + "p.d = {'a': [2.0]}\n" + f_of("p.d['a'][0] * x * x"), "p.d['a'][0] = 3.0"),
    "loop over a dictionary": ("D = {'a': 2.0}\n" + f_of("sum(v * x * x for v in D.values())"), "D['b'] = 4.0"),
    "queue": ("from collections import deque\nL = deque([2.0])\n" + f_of("sum(v * x * x for v in L)"), "L.append(1.0)"),
    "callee of a function argument": (KEEP + CALLED + f_of("call(h, x)", "x, h") + "ARGS = (g,)\n", "G = 5.0"),
    "callee of a function in a function argument": (
        KEEP + CALLED + "def outer(x):\n    return g(x) + x\n" + f_of("call(h, x)", "x, h") + "ARGS = (outer,)\n",
        "g = lambda x: 3.0 * x",
    ),
    "cell of a function argument": (MAKER + f_of("h(x)", "x, h") + "ARGS = (g,)\n", "change(4.0)"),
    "attribute of a function argument": (COUNTED + f_of("h(x) * h.k", "x, h") + "ARGS = (g,)\n", "g.k = 3.0"),
    "cell": (MAKER + "f = g\n", "change(4.0)"),
    "minus zero": ("import math\nZ = 0.0\n" + f_of("x * math.copysign(1.0, Z)"), "Z = -0.0"),
    "True for 1": ("Z = 1\n" + f_of("x * x if Z is True else 4.0 * x"), "Z = True"),
    "float for an integer": ("Z = 2\n" + f_of("x * (Z if isinstance(Z, int) else 5.0)"), "Z = 2.0"),
    "number in a global tuple": ("T = (2.0, 0.0)\n" + f_of("x * T[0]"), "T = (3.0, 0.0)"),
    "global that was not there": (f_of("x * abs(-2.0)"), "abs = lambda v: 7.0"),
    "attribute of a module": (MODULE + f_of("m.K * x * x"), "m.K = 3.0"),
    "function of a module": (MODULE + f_of("m.g(x)"), "m.g = lambda x: 4.0 * x * x"),
    "module": (MODULE + f_of("m.K * x"), "import types; m = types.SimpleNamespace(K=4.0)"),
    "module imported inside": (MODULE + IMPORTING, "m.K = 3.0"),
    "getattr of a module": (MODULE + f_of("getattr(m, 'K') * x * x"), "m.K = 3.0"),
    "attribute of a class": (CLASS + f_of("P.k * x * x"), "P.k = 4.0"),
    "attribute of a class by an object": (CLASS + f_of("p.k * x * x"), "P.k = 4.0"),
    "attribute of a class by one made inside": (CLASS + f_of("P(x).k * x * x"), "P.k = 4.0"),
    "attribute of a class in a class method": (CLASS + f_of("P.c(x)"), "P.k = 4.0"),
    "attribute of a class hidden by the object's": (CLASS + f_of("p.k * x * x"), "p.k = 4.0"),
    "attribute of a base": (SUB + "q = Q(1.0)\n" + f_of("q.k * x * x"), "P.k = 4.0"),
    "attribute of a base hidden": (SUB + "q = Q(1.0)\n" + f_of("q.k * x * x"), "Q.k = 4.0"),
    "patched method": (CLASS + f_of("P(x).m(x)"), "P.m = lambda self, x: 7.0 * x * x"),
    "patched method of a base": (SUB + f_of("Q(x).m(x)"), "P.m = lambda self, x: 7.0 * x * x"),
    "patched method of a global object": (CLASS + f_of("p.m(x)"), "P.m = lambda self, x: 7.0 * x * x"),
    "method in an object": (CLASS + f_of("p.m(x)"), "p.m = lambda x: 7.0 * x * x"),
    "patched property": (CLASS + f_of("P(x).prop"), "P.prop = property(lambda self: self.v ** 2)"),
    "patched static method": (CLASS + f_of("P.s(x)"), "P.s = staticmethod(lambda x: 3.0 * x)"),
    "patched operator": (CLASS + f_of("P(x) + P(x)"), "P.__add__ = lambda self, other: self.v * 3.0"),
    "patched constructor": (CLASS + f_of("P(x).v * x"), "def init(self, x):\n    self.v = x * x\nP.__init__ = init"),
    "bases": (CLASS + BASES + f_of("C(x).k * x * x"), "C.__bases__ = (B,)"),
    "class of an object": (CLASS + "class B(P):\n    k = 9.0\n" + f_of("p.k * x * x"), "p.__class__ = B"),
    "attribute of an object": (CLASS + f_of("p.v * x * x"), "p.v = 3.0"),
    "slot": (
        "class S:\n    __slots__ = ('v',)\ns = S()\ns.v = 2.0\n" + f_of("s.v * x * x"),
        "s.v = 3.0",
    ),
    "attribute of an object in a list": (CLASS + "L = [p]\n" + f_of("L[0].v * x * x"), "p.v = 3.0"),
    "default": (DEFAULT + f_of("g(x)"), "g.__defaults__ = (5.0,)"),
    "default of the function": (f_of("k * x * x", "x, k=2.0"), "f.__defaults__ = (5.0,)"),
    "keyword-only default": (NAMED + f_of("g(x)"), "g.__kwdefaults__['k'] = 5.0"),
    "keyword-only defaults": (NAMED + f_of("g(x)"), "g.__kwdefaults__ = {'k': 5.0}"),
    "keyword-only default of the function": (f_of("k * x * x", "x, *, k=2.0"), "f.__kwdefaults__['k'] = 5.0"),
    "list that is a default": (
        "def g(x, k=[2.0]):\n    return k[0] * x * x\n" + f_of("g(x)"),
        "g.__defaults__[0][0] = 5.0",
    ),
    "attribute of a function": (COUNTED + f_of("g(x) * g.k"), "g.k = 3.0"),
    "attributes of a function": (COUNTED + f_of("g(x) * g.k"), "g.__dict__ = {'k': 3.0}"),
    "code": (f_of("x * x"), "f.__code__ = (lambda x: 3.0 * x * x * x).__code__"),
    "code of a callee": (KEEP + f_of("g(x)"), "g.__code__ = (lambda x: 3.0 * x).__code__"),
    "code with other parameters": (f_of("a * x", "x, a=2.0"), "f.__code__ = (lambda a, x: a * a * x).__code__"),
    "code of a method": (CLASS + f_of("P(x).m(x)"), "P.m.__code__ = (lambda self, x: 3.0 * x * self.v).__code__"),
    "function in a partial": (
        KEEP + "import functools\nf = functools.partial(g)\n",
        "g.__code__ = (lambda x: 3.0 * x).__code__",
    ),
    "bound method": (CLASS + "f = p.m\n", "G = 5.0"),
    "object that is called": (CLASS + "f = p\n", "G = 5.0"),
    "function": (KEEP + f_of("g(x)"), "g = lambda x: 3.0 * x"),
    "decorated function": (KEEP + WRAPPED + f_of("w(x)"), "G = 3.0"),
    "function of another package": (KEEP + ELSEWHERE + f_of("other(x)"), "other.__globals__['G'] = 3.0"),
    "method of a dataclass": (DATA + f_of("D(x).m(x)"), "G = 3.0"),
    "derivative made inside": ("import adjit\n" + KEEP + f_of("adjit.grad(g)(x) * x"), "G = 5.0"),
    "derivative from outside": ("import adjit\n" + KEEP + "d = adjit.grad(g)\n" + f_of("adjit.grad(g)(x)"), "G = 5.0"),
    "function by apply": (KEEP + ARRAYS, "G = 5.0"),
    "function in np.vectorize": (KEEP + ELEMENTS, "G = 5.0"),
    "key for sorted": (SORTED + f_of("sorted([(1.0, x), (2.0, x * x)], key=key)[0][1]"), "s = -1.0"),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A module of this text, and what runs a change in it."""

    def loaded(text: str):
        module = imported(tmp_path / "module", {"state_of": text}, monkeypatch)

        def change(own: str) -> None:
            path = tmp_path / "change.py"
            path.write_text(own)
            exec(compile(own, str(path), "exec"), vars(module))

        return module, change

    return loaded


def slope(f, x: float, args: tuple) -> float:
    h = 1e-5
    return (f(x + h, *args) - f(x - h, *args)) / (2.0 * h)


def check(f, args: tuple, target: str) -> float:
    """What Python has, which is asked of all kinds of derivatives."""
    x = 3.0
    value, wanted = f(x, *args), slope(f, x, args)
    found, bar = adjit.value_and_grad(f, target=target)(x, *args)
    assert (found, bar) == pytest.approx((value, wanted), rel=1e-9)
    assert adjit.grad(f, target=target)(x, *args) == bar
    dots = (1.0, *args)
    if not args:
        assert adjit.jvp(f, (x,), dots, target=target) == pytest.approx((value, wanted), rel=1e-9)
    found, pullback = adjit.vjp(f, x, *args, target=target)
    assert (found, pullback(1.0)[0]) == pytest.approx((value, wanted), rel=1e-9)
    return value


@pytest.mark.parametrize("name", ROWS)
def test_who_asks_again_gets_what_python_has_now(load, name: str) -> None:
    text, own = ROWS[name]
    module, change = load(text)
    args = getattr(module, "ARGS", ())
    first = check(module.f, args, "python")
    change(own)
    assert check(module.f, args, "python") != first


OF_NUMBA = """
import numba, numpy as np
from numba import njit, prange
G = 2.0
def maker():
    k = 2.0
    @njit
    def made(x):
        return k * x * x
    def change(v):
        nonlocal k
        k = v
    return made, change
made, change = maker()
@njit
def alone(x):
    return G * x * x
def calls(x):
    return alone(x) + G
@njit
def inner(x):
    return G * x
@njit
def outer(x):
    return inner(x) * G
def default(x, k=3.0):
    return k * outer(x)
@njit(parallel=True)
def threads(x):
    s = 0.0
    for i in prange(3):
        s += G * x * i
    return s
@njit
def lambdas(x):
    g = lambda v: v * G * x
    return g(x)
@numba.vectorize(["float64(float64)"])
def each(x):
    return G * x * x
def elements(x):
    return each(x) * x
@numba.guvectorize(["float64[:], float64[:]"], "(n)->(n)")
def rows(x, out):
    for i in range(x.size):
        out[i] = G * x[i] * x[i]
def by_rows(x):
    return np.sum(rows(np.array([x, 2.0 * x])))
helper = inner
@njit
def by_name(x):
    return helper(x) * x
@njit
def other(x):
    return 7.0 * x
"""


def test_what_numba_has_compiled_keeps_its_globals(load) -> None:
    module, change = load(OF_NUMBA)
    target = "python"
    names = ("made", "alone", "calls", "outer", "default", "threads", "lambdas", "elements", "by_rows", "by_name")
    first = {name: check(getattr(module, name), (), target) for name in names}
    kept, compiled = adjit.grad(module.alone, target=target), adjit.value_and_grad(module.outer)
    assert compiled(3.0) == (12.0, 4.0)
    change("G = 5.0; change(5.0); helper = other")
    for name in names:
        is_seen = name == "calls"  # a plain function, whose own global is another one now
        assert (check(getattr(module, name), (), target) != first[name]) == is_seen, name
    assert adjit.grad(module.alone, target=target)(3.0) == kept(3.0) == 12.0
    assert adjit.value_and_grad(module.outer)(3.0) == (12.0, 4.0)
    # for other types numba compiles anew, with what is there now, and so it does when it is told to
    at = np.array([3.0, 4.0])
    for _ in range(2):
        np.testing.assert_allclose(adjit.jvp(module.alone, (at,), (at,), target=target)[1], 2.0 * module.alone(at))
    assert module.alone(at)[0] == 45.0
    for name in ("made", "alone", "inner", "outer", "threads", "lambdas", "by_name"):
        getattr(module, name).recompile()
    for name in ("made", "alone", "calls", "outer", "default", "threads", "lambdas", "by_name"):
        assert check(getattr(module, name), (), target) != first[name], name
    assert adjit.value_and_grad(module.outer)(3.0) == (75.0, 25.0)


def test_code_that_numba_runs_no_more(load) -> None:
    module, change = load(OF_NUMBA)
    assert module.alone(3.0) == 18.0
    change("alone.py_func.__code__ = (lambda x: 4.0 * x).__code__")
    with pytest.raises(Unsupported, match=r"(?s)a call of alone, whose code was replaced.*alone\.recompile\(\)"):
        adjit.grad(module.alone, target="python")(3.0)
    module.alone.recompile()
    assert (module.alone(3.0), adjit.grad(module.alone, target="python")(3.0)) == (12.0, 4.0)


COMPILED = [
    "method of a global object", "property of a global object", "function in a dictionary", "minus zero",
    "callee of a function argument", "patched method", "keyword-only default", "code",
]  # fmt: skip


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_alike(load, name: str) -> None:
    text, own = ROWS[name]
    module, change = load(text)
    args = getattr(module, "ARGS", ())
    held = adjit.value_and_grad(module.f)
    first = held(3.0, *args)
    change(own)
    second = adjit.value_and_grad(module.f)(3.0, *args)
    assert second == pytest.approx((module.f(3.0, *args), slope(module.f, 3.0, args)), rel=1e-9)
    assert first != second
    # what was given before stays what it was
    assert held(3.0, *args) == first


def test_what_is_not_read_makes_nothing_anew(load) -> None:
    module, change = load(
        "import numpy as np\n"
        + CLASS
        + "W = np.ones(3)\nL = [1.0]\nT = (0.0, 1.5, 'a')\n"
        + f_of("p.m(x) * T[1] * L[0]")
    )
    first = adjit.grad(module.f, target="python")
    first(3.0)
    change("G = float('2'); T = (0.0, float('1.5'), 'A'.lower()); P.other = 3.0; p.more = 4.0; L[:] = [float('1')]")
    assert adjit.grad(module.f, target="python") is first
    module.W[0] = 7.0
    assert adjit.grad(module.f, target="python") is first


def test_one_that_was_made_in_two_states_is_of_neither(load) -> None:
    module, change = load(KEEP + "import numpy as np\n" + f_of("np.sum(g(x))"))
    held = adjit.grad(module.f, target="python")
    assert held(3.0) == 12.0
    change("G = 5.0")
    np.testing.assert_array_equal(held(np.ones(2)), [10.0, 10.0])
    for value in (2.0, 5.0):
        change(f"G = {value}")
        assert adjit.grad(module.f, target="python")(3.0) == 6.0 * value
        np.testing.assert_array_equal(adjit.grad(module.f, target="python")(np.ones(2)), [2.0 * value] * 2)


@pytest.mark.parametrize("name", ["code", "code of a callee", "property", "patched method", "keyword-only default"])
def test_other_derivatives(load, name: str) -> None:
    text, own = ROWS[name]
    module, change = load("import numpy as np\n" + text + "def whole(x):\n    return np.array([f(x[0]), f(x[1])])\n")
    at = np.array([2.0, 3.0])
    for _ in range(2):
        wanted = np.diag([slope(module.f, x, ()) for x in at])
        for kind in (adjit.jacfwd, adjit.jacrev, adjit.jacobian):
            np.testing.assert_allclose(kind(module.whole, target="python")(at), wanted, rtol=1e-8)
        sparse = adjit.jacobian(module.whole, sparse=True, target="python")(at)
        np.testing.assert_allclose(sparse.toarray(), wanted, rtol=1e-8)
        mapped = adjit.vmap(adjit.grad(module.f, target="python"), target="python")(at)
        np.testing.assert_allclose(mapped, np.diag(wanted), rtol=1e-8)
        second = slope(adjit.grad(module.f, target="python"), 3.0, ())
        assert adjit.hvp(module.f, target="python")(3.0, 1.0) == pytest.approx(second, rel=1e-6, abs=1e-6)
        change(own)


def test_a_rule_that_is_given_later_is_followed(load, monkeypatch) -> None:
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))
    module, _ = load(KEEP + f_of("g(x)"))
    assert adjit.grad(module.f, target="python")(3.0) == 12.0
    adjit.rules.decomposition(module.g)(lambda x: 7.0 * x)
    assert adjit.grad(module.f, target="python")(3.0) == 7.0


def test_one_that_is_held_says_that_there_are_other_parameters_now(load) -> None:
    module, change = load("import numpy as np\n" + f_of("a * x", "x, a"))
    held = adjit.grad(module.f, target="python")
    assert held(3.0, 2.0) == 2.0
    change("f.__code__ = (lambda a, x: a * a * x).__code__")
    assert held(3.0, 2.0) == 2.0
    with pytest.raises(WrongCall, match="f has changed its parameters since"):
        held(3.0, 2)
    assert adjit.grad(module.f, target="python")(3.0, 2.0) == 12.0


def test_objects_with_slots_have_keys(load) -> None:
    module, change = load(SLOTTED + f_of("s.v * x * x"))
    for value in (2.0, 3.0):
        change(f"s.v = {value}")
        assert adjit.grad(module.f)(3.0) == 6.0 * value


def test_pullbacks_of_a_state_that_is_gone(load) -> None:
    module, change = load("import numpy as np\nG = 2.0\n" + f_of("G * np.sin(x)"))
    x = np.array([0.1, 0.2])
    _, pullback = adjit.vjp(module.f, x, target="python")
    change("G = 5.0")
    np.testing.assert_allclose(pullback(np.ones(2))[0], 2.0 * np.cos(x), rtol=1e-14)
    with pytest.raises(WrongCall, match="after a change of the function"):
        pullback(np.eye(2), several=True)


DISK = """
import importlib, sys
import adjit
from adjit.api.specialise import cache
for k, change in enumerate(sys.argv[1:]):
    module = importlib.import_module(f"state_of_{k}")
    for text in ("", change):
        exec(text, vars(module))
        value, bar = adjit.value_and_grad(module.f, cache=True)(3.0)
        print(value, bar, cache.cache_info().hits)
"""
KEPT = {
    "numba": (OF_NUMBA + "def f(x):\n    return alone(x) + G\n", "alone(3.0); G = 5.0"),
    "numba, made anew": (OF_NUMBA + "def f(x):\n    return alone(x) + G\n", "G = 5.0; alone.recompile()"),
    **{name: ROWS[name] for name in ("property", "keyword-only default", "attribute of a class", "minus zero")},
    "code": (f_of("x * x") + "def other(x):\n    return 3.0 * x * x\n", "f.__code__ = other.__code__"),
}


def test_in_a_second_process(tmp_path, monkeypatch) -> None:
    for k, (text, _) in enumerate(KEPT.values()):
        (tmp_path / f"state_of_{k}.py").write_text(text)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)

    def run() -> list[list[float]]:
        paths = os.pathsep.join([str(tmp_path), *sys.path])
        made = subprocess.run(
            [sys.executable, "-c", DISK, *(own for _, own in KEPT.values())],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        return [[float(number) for number in line.split()] for line in made.stdout.splitlines()]

    # what is loaded, and not made, is known to be of its state as well
    first, second = run(), run()
    assert [row[:2] for row in first] == [row[:2] for row in second]
    assert [row[2] for row in first] == [0.0] * len(first)
    assert [row[2] for row in second] == list(range(1, len(second) + 1))
    assert all(before[:2] != after[:2] for before, after in zip(first[::2], first[1::2], strict=True))
