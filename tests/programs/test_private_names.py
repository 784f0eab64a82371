"""Names that are private to a class: Python puts the class in front of them, wherever they stand in its text."""

import dataclasses

import pytest

import adjit
from adjit.errors import Unsupported
from tests.programs.harness import check

X = 1.5


def _Filter__outside(x):
    return 13 * x


class Filter:
    __k = 3.0

    def __init__(self, v):
        self.__v = v
        self.w = 2.0

    def __scaled(self, p):
        return self.__v * p

    def run(self, x):
        self.__v = self.__v + x
        self.__v += 1
        __t = self.__scaled(x)

        def inner(__a, *, __b=2.0):
            return __a * self.__v * __b

        f = lambda q, __z=2.0: q * __z * self.__k  # noqa: E731
        for __i in range(2):
            __t += f(x) * __i
        return __t + inner(x) + Filter.__k + __outside(x)  # noqa: F821

    @property
    def __twice(self):
        return 2 * self.__v

    @staticmethod
    def __five(x):
        return 5 * x

    def forgets(self, x):
        self.__gone = x
        del self.__gone
        return self.others(x)

    def others(self, x):
        total = self.__twice * x + Filter.__five(x) + self.__five(x) + getattr(self, "_Filter__v")  # noqa: B009
        return total if hasattr(self, "__v") or hasattr(self, "_Filter__gone") else total * x

    def by_name(self, x, __n=3):
        return x * __n

    def power(self, n, x):
        return self.__power(n, x)

    def __power(self, n, x):
        return x if n == 0 else x * self.__power(n - 1, x) + self.__k

    class _Inner:
        __q = 2.0

        def times(self, x):
            return self.__q * x


class Derived(Filter):
    def __scaled(self, p):
        return 1000 * p

    def both(self, x):
        return self.run(x) + self.__scaled(x)


class _Under:
    def __init__(self, v):
        self.__v = v

    def times(self, x):
        return self._Under__v * x + self.__v


@dataclasses.dataclass
class Data:
    a: float

    def __three(self):
        return 3 * self.a

    def times(self, x):
        return self.__three() * x


FILTER = Filter(2.5)


def made_inside(x):
    return Filter(x).run(x) + Filter(x).forgets(x) + Filter(x).by_name(x) + Filter._Inner().times(x)


def derived(x):
    return Derived(x).both(x) + _Under(x).times(x) + Data(x).times(x)


def from_outside(x):
    return FILTER.others(x) * x + FILTER.by_name(x)


def calls_itself(x, n):
    return Filter(x).power(n, x)


@pytest.mark.parametrize("function", [made_inside, derived, from_outside])
def test_program(function) -> None:
    check(function, lambda: (X,))


def test_recursion() -> None:
    check(calls_itself, lambda: (X, 4))


def test_compiled() -> None:
    def whole(x, n):
        return made_inside(x) + derived(x) + from_outside(x) + calls_itself(x, n)

    value, slope = adjit.value_and_grad(whole)(X, 3)
    assert value == pytest.approx(whole(X, 3))
    assert slope == pytest.approx((whole(X + 1e-6, 3) - whole(X - 1e-6, 3)) / 2e-6, rel=1e-8)
    assert adjit.jvp(whole, (X, 3), (1.0, 0)) == (pytest.approx(value), pytest.approx(slope))


def test_an_argument() -> None:
    bar = adjit.grad(lambda o, x: o.others(x), target="python")(Filter(2.5), X)
    assert bar._Filter__v == 2 * X * X + X


class Stateful:
    def __init__(self, k):
        self.__k = k

    def __call__(self, x):
        # the state
        __y = self.__k * x
        return __y * __y

    def refused(self, x):
        return self.__k * x + self.__nope


def lent(self, x):
    return self.__k * x


def test_text_and_messages() -> None:
    """Lines are told as they are written, at their places."""
    source = adjit.grad(Stateful(2.0)).source(X)
    assert "# the state\n" in source
    assert "# L{}: __y = self.__k * x\n".format(Stateful.__call__.__code__.co_firstlineno + 2) in source
    with pytest.raises(Unsupported, match=r"(?s)no attribute `_Stateful__nope`.*\+ self\.__nope\n +\^{11}\n"):
        adjit.grad(lambda x: Stateful(x).refused(x), target="python")(X)
    with pytest.raises(Unsupported, match="no attribute `__k`"):
        adjit.grad(lambda x: lent(Stateful(x), x), target="python")(X)
