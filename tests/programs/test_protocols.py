"""Classes of users: what Python asks of them is followed, or refused."""

import abc
import copy
import dataclasses
import enum
import functools
import math
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


class B:
    def __init__(self, v):
        self.v = v


class IAdd(B):
    def __iadd__(self, o):
        self.v = self.v * o
        return self


class OnlyAdd(B):
    def __add__(self, o):
        return OnlyAdd(self.v + o)


class Item(B):
    def __getitem__(self, k):
        return self.v * k

    def __setitem__(self, k, val):
        self.v = val * k


class Conv(B):
    def __float__(self):
        return self.v * 3.0

    def __int__(self):
        return 4

    def __abs__(self):
        return self.v * 5.0

    def __round__(self, n=None):
        return 6.0

    def __index__(self):
        return 2

    def __invert__(self):
        return self.v * 7

    def __pos__(self):
        return self.v * 8

    def __divmod__(self, o):
        return (self.v, o)

    def __pow__(self, o, m=None):
        return self.v * o * 10

    def __matmul__(self, o):
        return self.v * 11

    def __mod__(self, o):
        return self.v * 12

    def __floordiv__(self, o):
        return self.v * 13

    def __len__(self):
        return 14

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])


class R(B):
    def __rmul__(self, o):
        return self.v * 100

    def __radd__(self, o):
        return self.v * 100


class RU(R):
    __array_ufunc__ = None


class Base(B):
    def __mul__(self, o):
        return 1.0 * self.v

    def __rmul__(self, o):
        return 3.0 * self.v


class Sub(Base):
    def __rmul__(self, o):
        return 2.0 * self.v


class NI(B):
    def __add__(self, o):
        if isinstance(o, NI):
            return self.v + o.v
        return NotImplemented


class NI2(B):
    def __radd__(self, o):
        return self.v * 50


class EqOnly(B):
    def __eq__(self, o):
        return self.v > 0

    __hash__ = None


class Prop(B):
    @property
    def w(self):
        return self.v * 2

    @w.setter
    def w(self, val):
        self.v = val * 3


class DataDesc:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t=None):
        return getattr(o, self.n) * 2

    def __set__(self, o, val):
        setattr(o, self.n, val)


class HasDesc:
    a = DataDesc()

    def __init__(self, v):
        self.a = v


class Slots:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class SetA(B):
    def __setattr__(self, n, val):
        object.__setattr__(self, n, val * 2)


class GetA(B):
    def __getattribute__(self, n):
        return 4.0


class GetAttr(B):
    def __getattr__(self, n):
        return 4.0


class Meta(type):
    def __call__(cls, *a):
        return 42.0


class WithMeta(metaclass=Meta):
    def __init__(self, v):
        self.v = v


class Shared:
    items = []
    count = 0

    def add(self, v):
        self.items.append(v)
        return sum(self.items)


@dataclass
class DC:
    a: float
    b: float = 2.0
    c: list = field(default_factory=list)
    k: ClassVar[float] = 9.0

    def __post_init__(self):
        self.d = self.a * self.b


@dataclass(order=True)
class DO:
    a: float
    b: float


@dataclass(eq=False)
class DNE:
    a: float


@dataclass(frozen=True)
class DF:
    a: float


@dataclass
class DI:
    a: float
    s: InitVar[float]
    t: float = field(init=False)

    def __post_init__(self, s):
        self.t = self.a * s


@dataclass
class DIn(DC):
    e: float = 3.0


@functools.total_ordering
class TO(B):
    def __lt__(self, o):
        return self.v > o.v

    def __eq__(self, o):
        return False


class AB(abc.ABC):
    @abc.abstractmethod
    def f(self, x): ...


class AC(AB):
    def f(self, x):
        return x * x


class Sing:
    _inst = None

    def __new__(cls, *a):
        if cls._inst is None:
            cls._inst = object.__new__(cls)
        return cls._inst


class Ctx(B):
    def __enter__(self):
        return self.v * 2

    def __exit__(self, *a):
        return True


class Cached(B):
    @functools.cached_property
    def w(self):
        return self.v * 2


class Str(B):
    def __str__(self):
        return "abc"

    def __repr__(self):
        return "r"


class CA(B):
    k = 2.0

    def set(self):
        type(self).k = 3.0


class Hash(B):
    def __hash__(self):
        return 3

    def __eq__(self, o):
        return True


class IterNext(B):
    def __iter__(self):
        self.n = 0
        return self

    def __next__(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration
        return self.v * self.n


class Del(B):
    def __delitem__(self, k):
        self.v = self.v * k


class Cls(B):
    @classmethod
    def make(cls, v):
        return cls(v * 2)


class ClsSub(Cls):
    pass


class Mix1:
    def f(self):
        return 1.0


class Mix2:
    def f(self):
        return 2.0


class Dia(Mix1, Mix2):
    pass


class Priv(B):
    def __init__(self, v):
        self.__w = v

    def get(self):
        return self.__w


class Copy(B):
    def __copy__(self):
        return Copy(self.v * 3)


class Lenless(B):
    def __bool__(self):
        return self.v > 5


class FmtCall(B):
    def __call__(self, x, *, k=2):
        return self.v * x * k


class Fl(enum.Enum):
    A = 1.5
    B = 2.5

    @property
    def dbl(self):
        return self.value * 2

    def times(self, x):
        return self.value * x


class IE(enum.IntEnum):
    P = 1
    Q = 2


def of_in_place_iadd(x):
    a = IAdd(x)
    b = a
    a += 3.0
    return b.v


def of_in_place_onlyadd(x):
    a = OnlyAdd(x)
    b = a
    a += 3.0
    return b.v * a.v


def of_item(x):
    a = Item(x)
    a[2] = x
    return a[3] * x


def of_float_conv(x):
    return x * float(Conv(x))


def of_int_conv(x):
    return x * int(Conv(x))


def of_abs_conv(x):
    return x * abs(Conv(x))


def of_round_conv(x):
    return x * round(Conv(x))


def of_conv(x):
    return x * [1.0, 2.0, 3.0][Conv(x)]


def of_invert_conv(x):
    return ~Conv(x) * x


def of_pos_conv(x):
    return +Conv(x) * x


def of_power_conv(x):
    return Conv(x) ** 2 * x


def of_matmul_conv(x):
    return Conv(x) @ 2 * x


def of_floordiv_mod_conv(x):
    return Conv(x) % 2 * x + Conv(x) // 3


def of_sum_conv(x):
    return np.sum(Conv(x)) * x


def of_sum_array(x):
    return np.sum(np.array([1.0, 2.0]) * R(x))


def of_sum_array_ru(x):
    return np.sum(np.array([1.0, 2.0]) * RU(x))


def of_base_sub(x):
    return Base(x) * Sub(x)


def of_ni_ni2(x):
    return NI(x) + NI2(x)


def of_chosen_unequal_eqonly(x):
    return x * 2 if EqOnly(x) != 3 else x


def of_prop(x):
    p = Prop(x)
    p.w = x
    return p.v + p.w


def of_hasdesc(x):
    return HasDesc(x).a * x


def of_slots(x):
    return Slots(x).v * x


def of_seta(x):
    return SetA(x).v * x


def of_geta(x):
    return GetA(x).v * x


def of_zz_getattr(x):
    return GetAttr(x).zz * x


def of_withmeta(x):
    return WithMeta(x) * x


def of_len_dc(x):
    return DC(x).d * DC.k + len(DC(x).c)


def of_chosen_less_do(x):
    return x if DO(x, 1.0) < DO(2.0, x) else 2 * x


def of_chosen_equals_do(x):
    return x if DO(x, 1.0) == DO(x, 1.0) else 2 * x


def of_chosen_equals_dne(x):
    return x if DNE(x) == DNE(x) else 2 * x


def of_df(x):
    a = DF(x)
    a.a = 3.0
    return a.a * x


def of_di(x):
    d = DI(x, 3.0)
    return d.t * x


def of_din(x):
    return DIn(x, e=x).e * DIn(x).d


def of_chosen_less_equal_to(x):
    return x if TO(x) <= TO(x + 1) else 2 * x


def of_ac(x):
    return AC().f(x)


def of_chosen_same_sing(x):
    return x if Sing() is Sing() else 2 * x


def of_ctx(x):
    with Ctx(x) as w:
        x = x * w
    return x


def of_cached(x):
    c = Cached(x)
    a = c.w
    c.v = 7.0
    return a * c.w


def of_len_str(x):
    return x * len(str(Str(x)))


def of_len_str_2(x):
    return x * len(f"{Str(x)}")


def of_ca_set(x):
    c = CA(x)
    c.set()
    return c.k * x


def of_hash_len(x):
    d = {Hash(1.0): x, Hash(2.0): 2 * x}
    return len(d) * x


def of_sum_iternext(x):
    return sum((v for v in IterNext(x))) * x


def of_deleted_del(x):
    d = Del(x)
    del d[3]
    return d.v


def of_make_isinstance_clssub(x):
    return ClsSub.make(x).v + isinstance(ClsSub.make(x), ClsSub) * x


def of_dia(x):
    return Dia().f() * x


def of_get_priv(x):
    return Priv(x).get() * x


def of_copy(x):
    return copy.copy(Copy(x)).v


def of_chosen_lenless(x):
    return x if Lenless(x) else 2 * x


def of_fmtcall(x):
    return FmtCall(x)(x, k=3)


def of_fl_dbl_times(x):
    return Fl.A.dbl * x + Fl.B.times(x) + Fl(1.5).value + Fl["B"].value


def of_chosen_ie_less(x):
    return IE.P * x + IE.Q + (x if IE.P < IE.Q else 0)


def of_chosen_equals(x):
    return x if B(x) == B(x) else 2 * x


def of_chosen_equals_2(x):
    b = B(x)
    return x if b == b else 2 * x


def of_chosen_contains(x):
    return x if B(x) in [B(x)] else 2 * x


def of_chosen_contains_do(x):
    return x if DO(x, 1.0) in [DO(x, 1.0)] else 2 * x


def of_sum_index___do(x):
    return sum(([DO(x, 1.0), DO(2.0, 1.0)].index(DO(2.0, 1.0)) for _ in range(2))) * x


def of_max_do(x):
    return max(DO(x, 1.0), DO(2.0, x)).b * x


def of_sorted_to(x):
    return sorted([TO(x), TO(x + 1)])[0].v


def of_dc_replace_dataclasses(x):
    a = DC(x)
    b = dataclasses.replace(a, b=5.0)
    return b.d * x


def of_sum_astuple_dataclasses_do(x):
    return sum(dataclasses.astuple(DO(x, 2 * x))) * x


def of_in_place_iadd_2(x):
    a = [IAdd(x)]
    a[0] += 2.0
    return a[0].v


def of_shared_add(x):
    s = Shared()
    s.add(x)
    return s.add(x)


def of_in_place_ca(x):
    c = CA(x)
    c.k += x
    return c.k * CA.k


def of_hasattr_getattr(x):
    return getattr(B(x), "v") * x + getattr(B(x), "q", 3.0) + hasattr(B(x), "v")


def of_setattr_vars(x):
    b = B(x)
    setattr(b, "v", 3 * x)
    return b.v * vars(b)["v"]


def of_dict(x):
    b = B(x)
    b.__dict__["v"] = 5 * x
    return b.v


def of_init(x):
    return B.__init__ is not None and x


def of_chosen_same(x):
    b = B(x)
    c = b
    c.v = 2 * x
    return b.v if b is c else 0.0


def of_class(x):
    return (lambda s: s.v)(B(x)) * B(x).__class__(2 * x).v


class V(NamedTuple):
    x: float
    y: float

    def __add__(self, o):
        return V(self.x + o.x, self.y + o.y)

    def __mul__(self, k):
        return V(self.x * k, self.y * k)

    def __neg__(self):
        return V(-self.x, -self.y)

    def dot(self, o):
        return self.x * o.x + self.y * o.y

    @property
    def norm(self):
        return np.sqrt(self.dot(self))

    @classmethod
    def polar(cls, r, t):
        return cls(r * np.cos(t), r * np.sin(t))

    @staticmethod
    def unit():
        return V(1.0, 0.0)


class Q(namedtuple("Q", "a b")):
    __slots__ = ()

    def __new__(cls, a, b=0.0):
        return super().__new__(cls, 2 * a, b)

    def total(self):
        return self.a + self.b


class W(namedtuple("W", "a b")):
    def total(self):
        return self.a * self.b

    def __len__(self):
        return 7

    def __bool__(self):
        return False

    def __eq__(self, o):
        return True

    def __getitem__(self, k):
        return 100.0

    def __iter__(self):
        return iter((1.0, 2.0, 3.0))

    def __contains__(self, k):
        return True

    def __call__(self, k):
        return self.a * k

    def __lt__(self, o):
        return self.a > o.a


def of_plain(x):
    v = V(x, 2 * x) + V(1.0, x)
    return v.x * v.y


def of_plain_2(x):
    v = V(x, 2 * x) * 3
    return v.x * v.y


def of_norm_dot(x):
    return V(x, 1.0).dot(V(2.0, x)) + V(x, x).norm


def of_norm_polar_unit(x):
    v = V.polar(x, 0.5) + V.unit()
    return v.norm


def of_plain_3(x):
    q = Q(x, 1.0)
    return q.a * q.b


def of_total(x):
    return W(x, 2.0).total()


def of_len(x):
    return x * len(W(x, 2.0))


def of_chosen(x):
    return x * 2 if W(x, 2.0) else x * 3


def of_chosen_equals_3(x):
    return x * 2 if W(x, 2.0) == W(1.0, 1.0) else x * 3


def of_plain_4(x):
    return x * W(x, 2.0)[0]


def of_sum(x):
    return sum((v * x for v in W(x, 2.0)))


def of_chosen_contains_2(x):
    return x if 5.0 in W(x, 2.0) else 2 * x


def of_plain_5(x):
    return W(x, 2.0)(3.0)


def of_chosen_less(x):
    return x if W(x, 2.0) < W(x + 1, 2.0) else 2 * x


def of_range_dot_isinstance_replace(x):
    v = V(x, 1.0)
    for i in range(4):
        v = v + V(0.1, x) * 0.5
    return v._replace(x=3.0 * x).dot(v) + isinstance(v, V) * x + isinstance(v, W) * 100


def of_neg(x):
    v = -V(x, 1.0)
    return v.x * x


def of_norm_sum(x):
    return sum((V(x, k) for k in (1.0, 2.0)), V(0.0, 0.0)).norm


def of_max_norm(x):
    return max([V(x, 1.0), V(2.0, x)], key=lambda v: v.norm).y * x


def of_vs_sum_norm_arange(x):
    vs = [V(x * k, 1.0) for k in np.arange(5.0)]
    return sum((v.norm for v in vs))


G = W(2.0, 3.0)


def of_plain_6(x):
    return x * G[1]


def of_plain_7(x):
    a, b, c = W(x, 2.0)
    return a * b * c * x


class D(dict):
    def __getitem__(self, k):
        return 5.0

    def __missing__(self, k):
        return 6.0


class L(list):
    def __getitem__(self, k):
        return 5.0

    def __len__(self):
        return 9


class F(float):
    def __mul__(self, o):
        return 77.0

    def __rmul__(self, o):
        return 77.0


class A(np.ndarray):
    def __mul__(self, o):
        return 77.0

    def __rmul__(self, o):
        return 77.0

    __array_priority__ = 100


gd, gl, gf, ga = (D(a=1.0), L([1.0, 2.0]), F(2.0), np.array([1.0, 2.0]).view(A))


def of_gd(x):
    return x * gd["a"]


def of_gl(x):
    return x * gl[0]


def of_len_gl(x):
    return x * len(gl)


def of_gf(x):
    return x * gf


def of_sum_ga(x):
    return np.sum(x * ga)


class E(Exception):
    pass


class Cmp:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return True

    def __getattr__(self, n):
        return 4.0

    def __hash__(self):
        return 1


def of_chosen_equals_cmp(x):
    return x * 2 if Cmp(x) == 3 else x


def of_foo_cmp(x):
    return x * Cmp(x).foo


class Slot:
    def __init__(self, v):
        self.v = v

    def __setattr__(self, n, val):
        object.__setattr__(self, n, val * 2)


def of_slot(x):
    return x * Slot(x).v


class Ga:
    k = 2.0

    def __getattribute__(self, n):
        return 4.0


def of_ga(x):
    return x * Ga().k


class It:
    def __getitem__(self, k):
        if k > 2:
            raise IndexError
        return float(k)


def of_sum_it(x):
    return sum((v * x for v in It()))


class Desc:
    def __get__(self, o, t):
        return 9.0


class Hd:
    a = Desc()


def of_hd(x):
    return x * Hd().a


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return (self.a, self.b)[k]

    def __mul__(self, o):
        return Pair(self.a * o, self.b * o)

    def __rmul__(self, o):
        return Pair(self.a * o + 100.0, self.b * o)


def of_pythons_numbers(x):
    t = 0.0
    for k in range(3):
        t += x * k
    pairs = math.sqrt(x) * Pair(x, 2.0), float(np.sqrt(x)) * Pair(x, 2.0), abs(-t) * Pair(t, x), Pair(x, x) * np.exp(x)
    return sum(p[0] * p[1] for p in pairs)


def of_numpys_number(x):
    return (np.sqrt(x) * Pair(x, 2.0))[0]


def of_numpys_sum(x):
    t = 0.0
    for v in np.array([x, 1.0]):
        t += v
    return (t * Pair(x, 2.0))[0]


RIGHT = (
    of_sum_astuple_dataclasses_do,
    of_setattr_vars,
    of_dict,
    of_class,
    of_in_place_iadd,
    of_in_place_onlyadd,
    of_item,
    of_float_conv,
    of_int_conv,
    of_abs_conv,
    of_invert_conv,
    of_pos_conv,
    of_power_conv,
    of_matmul_conv,
    of_floordiv_mod_conv,
    of_sum_array_ru,
    of_base_sub,
    of_ni_ni2,
    of_chosen_unequal_eqonly,
    of_prop,
    of_slots,
    of_len_dc,
    of_chosen_less_do,
    of_chosen_equals_do,
    of_chosen_equals_dne,
    of_di,
    of_din,
    of_ac,
    of_cached,
    of_deleted_del,
    of_make_isinstance_clssub,
    of_dia,
    of_get_priv,
    of_chosen_lenless,
    of_fmtcall,
    of_fl_dbl_times,
    of_chosen_ie_less,
    of_chosen_equals,
    of_chosen_equals_2,
    of_chosen_contains,
    of_chosen_contains_do,
    of_sum_index___do,
    of_max_do,
    of_sorted_to,
    of_dc_replace_dataclasses,
    of_in_place_iadd_2,
    of_in_place_ca,
    of_hasattr_getattr,
    of_init,
    of_chosen_same,
    of_plain,
    of_plain_2,
    of_norm_dot,
    of_norm_polar_unit,
    of_range_dot_isinstance_replace,
    of_neg,
    of_norm_sum,
    of_max_norm,
    of_vs_sum_norm_arange,
    of_pythons_numbers,
)


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_followed(function: Any) -> None:
    check(function, lambda: (1.3,), (0,), second=False)


REFUSED = (
    (of_round_conv, "round of an object of the class Conv"),
    (of_conv, "an index of a tuple that is only known at run time"),
    (of_sum_conv, "np.sum of an object of the class Conv"),
    (of_sum_array, "`*` of an array and an object of the class R"),
    (of_hasdesc, "the class HasDesc, which has its own `a`"),
    (of_seta, "the class SetA, which has its own `__setattr__`"),
    (of_geta, "the class GetA, which has its own `__getattribute__`"),
    (of_zz_getattr, "the class GetAttr, which has its own `__getattr__`"),
    (of_withmeta, "the class WithMeta, which has its own a call of WithMeta"),
    (of_df, "assignment to `a` of a frozen dataclass"),
    (of_chosen_less_equal_to, "__le__, of an object of the class TO"),
    (of_chosen_same_sing, "a call of the class Sing, which has its own `__new__`"),
    (of_ctx, "`with` of this context"),
    (of_len_str, "str of a value that is only known at run time"),
    (of_len_str_2, "an f-string of a value that is only known at run time"),
    (of_ca_set, "assignment to an attribute of an object from outside"),
    (of_hash_len, "an object of the class Hash as a key of a dictionary or a member of a set"),
    (of_sum_iternext, "a loop over an object of the class IterNext, which has `__next__`"),
    (of_copy, "a copy of an object of the class Copy, which defines `__copy__`"),
    (of_shared_add, "the method `append` of a list from outside"),
    (of_plain_3, "the class Q, which has its own `__new__`"),
    (of_total, "the class W, which has its own `__len__`"),
    (of_len, "the class W, which has its own `__len__`"),
    (of_chosen, "the class W, which has its own `__len__`"),
    (of_chosen_equals_3, "the class W, which has its own `__len__`"),
    (of_plain_4, "the class W, which has its own `__len__`"),
    (of_sum, "the class W, which has its own `__len__`"),
    (of_chosen_contains_2, "the class W, which has its own `__len__`"),
    (of_plain_5, "the class W, which has its own `__len__`"),
    (of_chosen_less, "the class W, which has its own `__len__`"),
    (of_plain_6, "W, a class with its own method `__len__`"),
    (of_plain_7, "the class W, which has its own `__len__`"),
    (of_gd, "D, a class with its own method `__getitem__`"),
    (of_gl, "L, a class with its own method `__getitem__`"),
    (of_len_gl, "L, a class with its own method `__getitem__`"),
    (of_gf, "F, a class with its own method `__mul__`"),
    (of_sum_ga, "an array of type A from outside"),
    (of_chosen_equals_cmp, "the class Cmp, which has its own `__getattr__`"),
    (of_foo_cmp, "the class Cmp, which has its own `__getattr__`"),
    (of_slot, "the class Slot, which has its own `__setattr__`"),
    (of_ga, "the class Ga, which has its own `__getattribute__`"),
    (of_sum_it, "a loop over this"),
    (of_hd, "`*` of a number and the method `a`"),
    (of_numpys_number, "`*` of a number of NumPy's and an object of the class Pair"),
    (of_numpys_sum, "`*` of a number of NumPy's and an object of the class Pair"),
)


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_refused(function: Any, message: str) -> None:
    with pytest.raises(adjit.AdjitError) as fault:
        adjit.grad(function, target="python")(1.3)
    assert message in str(fault.value)
