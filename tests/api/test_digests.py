"""What a digest follows: each change of what a function reaches is seen, by a key that is found without elaborating.

Each row is a module that a function uses, what is changed in it, and the function.
"""

import numpy as np
import pytest
from numba import float64

import adjit
from adjit.api.specialise import digests
from adjit.api.specialise.digests import NotKeyed
from adjit.api.specialise.dispatch import Options
from adjit.api.specialise.keys import key_of
from adjit.rules import registry
from adjit.transform.source.derivative import Derivative
from tests.api.importing import imported

METHODS = """
class P:
    def __init__(self, x):
        self.v = 2.0 * x
    def __mul__(self, other):
        return 3.0 * self.v * other.v
    def first(self):
        return self.second()
    def second(self):
        return 4.0 * self.v
"""
OF_METHODS = "from helpers import P\ndef f(x):\n    p = P(x)\n    return p * p + p.first()\n"
TUPLE = """
from typing import NamedTuple
class P(NamedTuple):
    v: float
    def first(self, x):
        return 2.0 * self.v * x
K = P(1.5)
"""
FIELDS = """
from dataclasses import dataclass, field
@dataclass
class P:
    v: float
    k: float = 2.0
    m: float = field(default_factory=lambda: 3.0)
    def first(self):
        return 4.0 * self.k * self.v
"""
ENUM = """
import enum
class E(enum.IntEnum):
    A = 2
    def first(self):
        return 3.0
"""
BASES = """
import abc
class Base(abc.ABC):
    rate = 2.0
    def second(self):
        return 3.0 * self.v
class P(Base):
    def __init__(self, x):
        self.v = x
    def first(self):
        return self.second()
"""
OBJECT = """
class C:
    def __init__(self):
        self.k = 2.0
        self.inner = [4.0]
    def __call__(self, x):
        return 3.0 * self.k * x
c = C()
"""
MEMBERS = """
import functools
class C:
    K = 2.0
    @classmethod
    def first(cls, x):
        return 3.0 * x
    @staticmethod
    def second(x):
        return 4.0 * x
    @property
    def third(self):
        return 5.0
    @functools.cached_property
    def fourth(self):
        return 6.0
"""
RULE = """
import adjit
import math
def s(x):
    return 2.0 * math.sin(x)
def h(x):
    return 3.0 * x
adjit.rules.partials(s, lambda x, *, y: 4.0 * h(x))
"""
WRAPPED = """
import functools
def scaled(k):
    def decorate(g):
        @functools.wraps(g)
        def wrapper(x):
            return k * g(x)
        return wrapper
    return decorate
@scaled(2.0)
def s(x):
    return 3.0 * x
@functools.lru_cache
def t(x):
    return 4.0 * x
"""
FUNCTIONS = "def s(x, k=2.0):\n    return k * x\ndef t(x):\n    return 3.0 * x\nD = {'a': s, 'b': (t,)}\n"
CALLED = "import helpers\ndef g(m, x):\n    return m.t(x)\ndef f(x):\n    return g(helpers, x)\n"

REACHED = [
    (METHODS, "2.0 3.0 4.0", OF_METHODS),
    (TUPLE, "2.0 1.5", "from helpers import K\ndef f(x):\n    return K.first(x)\n"),
    (FIELDS, "2.0 3.0 4.0", "from helpers import P\ndef f(x):\n    return P(x).first()\n"),
    (ENUM, "3.0 2", "from helpers import E\ndef f(x):\n    return E.A * x + E.A.first()\n"),
    (BASES, "2.0 3.0", "from helpers import P\ndef f(x):\n    return P(x).first() * P.rate\n"),
    (OBJECT, "2.0 3.0 4.0", "from helpers import c\ndef f(x):\n    return c(x)\n"),
    (MEMBERS, "2.0 3.0 4.0 5.0 6.0", "from helpers import C\ndef f(x):\n"
     "    return C.K * C.first(x) * C.second(x) * C().third * C().fourth\n"),
    (RULE, "2.0 3.0 4.0", "from helpers import s\ndef f(x):\n    return s(x)\n"),
    (WRAPPED, "2.0 3.0 4.0", "from helpers import s, t\ndef f(x):\n    return s(x) * t(x)\n"),
    (FUNCTIONS, "2.0 3.0", "from helpers import D\ndef f(x):\n    return D['a'](x) + D['b'][0](x)\n"),
    (FUNCTIONS, "3.0", CALLED),
    (FUNCTIONS, "2.0", "import adjit, helpers\ndef f(x):\n    return adjit.grad(helpers.s)(x)\n"),
    ("import adjit\n@adjit.checkpoint\ndef s(x):\n    return 2.0 * x\n", "2.0",
     "from helpers import s\ndef f(x):\n    return s(x)\n"),
    ("import types\nN = types.SimpleNamespace(k=2.0)\n", "2.0",
     "from helpers import N\ndef f(x):\n    return N.k * x\n"),
    (METHODS, "4.0", "import helpers\ndef f(x):\n    return helpers.P(x).first()\n"),
]  # fmt: skip


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The function `f` of a program, imported afresh with the module that it uses."""
    count = 0
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))

    def load(program, helpers):
        nonlocal count
        count += 1
        return imported(tmp_path / str(count), {"helpers": helpers, "program": program}, monkeypatch).f

    return load


def key(function):
    return key_of(Derivative(function, "grad", (0,)), (float64,), Options()).text


@pytest.mark.parametrize("helpers, numbers, program", REACHED)
def test_each_change_of_what_is_reached_is_seen(load, monkeypatch, helpers, numbers, program):
    own = dict(registry.user.entries)

    def key_with(text):
        monkeypatch.setattr(registry.user, "entries", dict(own))
        return key(load(program, text))

    before = key_with(helpers)
    assert key_with(helpers) == before
    for number in numbers.split():
        assert key_with(helpers.replace(number, "7.5" if "." in number else "7")) != before, number


@pytest.mark.parametrize(
    "old, new",
    [
        ("# one", "# another"),
        ("k = 1.0", "k = 2.0"),
        ("return 5.0 * x", "return 6.0 * x"),
        ("# behind", "# behind\n# more\n"),
    ],
)
def test_what_is_not_reached_is_not_seen(load, old, new):
    helpers = "k = 1.0\ndef t(x):\n    return x\ndef u(x):\n    # one\n    return 5.0 * x\n# behind\n"
    program = "import helpers\ndef f(x):\n    return helpers.t(x)\n"
    assert old in helpers
    assert key(load(program, helpers)) == key(load(program, helpers.replace(old, new)))


def test_a_name_that_is_only_an_attribute_is_no_global(load):
    program = "import numpy as np\nimport logging\nlog = logging.getLogger()\ndef f(x):\n    return np.log(x)\n"
    assert key(load(program, "")) == key(load(program, ""))


@pytest.mark.parametrize(
    "helpers, reason",
    [
        ("class C(dict):\n    pass\nt = C()\n", "type C"),
        ("import numba\n@numba.vectorize\ndef t(x):\n    return 2.0 * x\n", "t is of a kind"),
        ("import functools\nt = functools.partial(max, 1.0)\n", "partial"),
        ("class M(type):\n    pass\nclass t(metaclass=M):\n    pass\n", "the class t"),
        ("import operator\ndef t(x):\n    return operator.attrgetter('real')(x)\n", "attrgetter"),
    ],
)
def test_what_cannot_be_followed_has_no_key(load, helpers, reason):
    with pytest.raises(NotKeyed, match=reason):
        key(load("from helpers import t\ndef f(x):\n    return t(x)\n", helpers))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))


def test_a_derivative_of_what_its_key_does_not_follow_is_not_kept(load, kept, monkeypatch):
    monkeypatch.setattr(digests.Walk, "owner", lambda self, owner, title: self.text("owner", title))
    gradient = adjit.grad(load("import helpers\ndef f(x):\n    return helpers.t(x)\n", FUNCTIONS), cache=True)
    with pytest.warns(adjit.NotCached, match="t is called in a way that the key of the cache does not cover"):
        assert gradient(2.0) == 3.0
    assert adjit.cache_info().entries == 0


def test_what_numba_compiles_in_a_way_of_its_own_is_not_kept(load, kept):
    helpers = (
        "from numba.extending import overload\nimport adjit\ndef t(x):\n    return 2.0 * x\n"
        "@overload(t)\ndef of_numba(x):\n    return lambda x: 3.0 * x\nadjit.rules.constant(t)\n"
    )
    gradient = adjit.grad(load("from helpers import t\ndef f(x):\n    return t(x) * x\n", helpers), cache=True)
    with pytest.warns(adjit.NotCached, match="t is compiled by code of helpers|t, which numba compiles"):
        assert gradient(2.0) == 6.0
    assert adjit.cache_info().entries == 0


def test_objects_and_lists_among_the_arguments(load, kept):
    program = (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    w: float\n    def first(self, x):\n"
        "        return 2.0 * self.w * x\ndef f(p, x):\n    return p.first(x[0]) + x[1]\n"
    )
    found = []
    for text in (program, program, program.replace("2.0", "3.0")):
        f = load(text, "")
        gradient = adjit.grad(f, cache=True)(f.__globals__["P"](5.0), [7.0, 1.0])
        found.append((gradient.w, adjit.cache_info().hits))
    hits = np.diff([hits for _, hits in found])
    assert [w for w, _ in found] == [14.0, 14.0, 21.0]
    assert list(hits) == [1, 0]


def test_functions_among_the_arguments(load, kept):
    program = "def f(g, x):\n    return g(x) * x\ndef g(x):\n    return 2.0 * x\n"
    found = []
    for text in (program, program, program.replace("2.0", "3.0")):
        f = load(text, "")
        found.append((adjit.grad(f, wrt=1)(f.__globals__["g"], 5.0), adjit.cache_info().hits))
    assert [slope for slope, _ in found] == [20.0, 20.0, 30.0]
    assert np.diff([hits for _, hits in found]).tolist() == [1, 0]
