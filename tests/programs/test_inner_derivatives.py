"""Derivatives that a differentiated function makes itself, of functions from outside, closures and lambdas.

Each program is run as plain Python, where `adjit.grad` is the interface's own, and differentiated in both modes.
"""

import math

import numba
import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError, NotScalar, Unsupported, WrongCall, WrongWrt

X, V = np.array([1.0, 2.0, 0.5]), np.array([0.3, -0.2, 0.7])


def square_less_two(t):
    return t**3 - 2.0


def cube(a, t):
    return a * t**3


def newton(x):
    for _ in range(3):
        x = x - square_less_two(x) / adjit.grad(square_less_two)(x)
    return x


def implicit(a):
    x = 1.0
    f = lambda t: t * t - a  # noqa: E731
    for _ in range(5):
        x = x - f(x) / adjit.grad(f)(x)
    return x


def closure(x, a):
    g = adjit.grad(lambda t: a * t**3)
    return g(x) * g(2.0 * x)


def descent(x, w):
    v = x.copy()
    for _ in range(3):
        v = v - 0.1 * adjit.grad(lambda t: np.sum(w * t * t * t))(v)
    return np.sum(v)


def with_value(x):
    def f(t, s=2.0):
        return s * np.sum(t * t * t)

    value, gradient = adjit.value_and_grad(f)(x)
    return value + np.sum(gradient)


def with_tangent(x):
    value, change = adjit.jvp(lambda t: np.sin(t) * x, (x * x,), (1.0,))
    return value * change


def with_pullback(x):
    value, pullback = adjit.vjp(lambda t: t * np.sum(x), x)
    x[0] = 3.0 * x[1]
    (x_bar,) = pullback(x)
    return np.sum(x_bar * value)


def with_matrices(x):
    by_t = adjit.jacobian(lambda t: t * t * x)(x)
    twice = adjit.hessian(lambda t: np.sum(t**3 * x))(x)
    along = adjit.hvp(lambda t: np.sum(t**3 * x))(x, x * x)
    return np.sum(by_t) + np.sum(twice * by_t) + np.sum(along)


def both_ways(x):
    return np.sum(adjit.jacfwd(lambda t: t * x)(x) * adjit.jacrev(lambda t: t * t)(x))


def twice(x, a):
    return adjit.grad(adjit.grad(lambda t: a * t**4))(x)


def of_tuples(x, p):
    q = (p, x)
    return adjit.grad(lambda t: q[0] * t * q[1])(x)


def by_name(x, y):
    gx, gy = adjit.grad(cube, wrt=(0, 1))(x, y)
    return gx * gy + adjit.grad(cube, wrt="t")(a=x, t=y)


def of_a_function_of_functions(x, a):
    h = lambda t: a * t * t  # noqa: E731
    return adjit.grad(lambda s: h(s) * h(s))(x)


def in_a_loop(x, n):
    s = 0.1
    for _ in range(n):
        s = s + adjit.grad(lambda t: t**2 * s * x)(x)
    return s


def in_a_branch(x, flag):
    if flag:
        y = adjit.grad(lambda t: t**3 * x)(x)
    else:
        y = adjit.grad(square_less_two)(x)
    return y


def with_aux(x):
    g, (v, _) = adjit.grad(lambda t: (t * t * x, (t, 1)), has_aux=True)(x)
    return g * v


def within_one_another(x):
    return adjit.grad(lambda t: adjit.grad(lambda s: s**2 * t**3 * x)(t))(x)


def helper(f, x):
    return adjit.grad(f)(x)


def through_a_helper(x, a):
    return helper(lambda t: a * np.sin(t), x) + helper(square_less_two, x)


def of_one_in_a_tuple(x, a):
    fs = (lambda t: a * t * t, lambda t: t)
    return adjit.grad(lambda t: fs[0](t) * fs[1](a))(x)


def of_one_of_two(x, flag):
    h = math.sin if flag else math.cos
    return adjit.grad(lambda t: h(t) * t)(x)


def of_one_of_two_inside(x, a, flag):
    f, g = (lambda t: a * t * t), (lambda t: np.sin(a * t))
    h = f if flag else g
    return adjit.grad(lambda t: h(t) * t)(x)


PROGRAMS = [
    (newton, (1.5,)),
    (implicit, (2.0,)),
    (closure, (1.5, 2.0)),
    (descent, (X, V)),
    (with_value, (X,)),
    (with_tangent, (1.2,)),
    (with_pullback, (X,)),
    (with_matrices, (X,)),
    (both_ways, (X,)),
    (twice, (1.2, 0.7)),
    (of_tuples, (1.2, 0.7)),
    (by_name, (1.2, 0.7)),
    (of_a_function_of_functions, (1.2, 0.7)),
    (in_a_loop, (0.3, 3)),
    (in_a_branch, (1.2, True)),
    (in_a_branch, (1.2, False)),
    (with_aux, (1.2,)),
    (within_one_another, (1.1,)),
    (through_a_helper, (1.1, 0.4)),
    (of_one_in_a_tuple, (1.1, 0.4)),
    (of_one_of_two, (1.1, True)),
    (of_one_of_two, (1.1, False)),
    (of_one_of_two_inside, (1.1, 0.4, True)),
    (of_one_of_two_inside, (1.1, 0.4, False)),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_program(function, arguments, monkeypatch):
    """The value is plain Python's, the gradient agrees with the tangent, and that with differences of the value."""
    wrt = tuple(k for k, a in enumerate(arguments) if isinstance(a, float | np.ndarray))
    both = adjit.value_and_grad(function, wrt, target="python")
    value, bars = both(*arguments)
    # a lambda is another one in each call, and compiling each would take seconds
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    assert value == pytest.approx(function(*copies), rel=1e-12)
    draw = np.random.default_rng(3)
    dots = [draw.normal(size=np.shape(a)) if k in wrt else a for k, a in enumerate(arguments)]
    dots = [float(d) if isinstance(a, float) else d for d, a in zip(dots, arguments, strict=True)]
    tangent = adjit.jvp(function, arguments, tuple(dots), target="python")[1]
    assert sum(np.sum(bar * dots[k]) for k, bar in zip(wrt, bars, strict=True)) == pytest.approx(tangent, rel=1e-11)

    def moved(size):
        return both(*(a + size * d if k in wrt else a for k, (a, d) in enumerate(zip(arguments, dots, strict=True))))[0]

    step = 1e-4
    difference = (8.0 * (moved(step) - moved(-step)) - moved(2.0 * step) + moved(-2.0 * step)) / (12.0 * step)
    assert tangent == pytest.approx(difference, rel=1e-7)


def test_second_order():
    """d2 sqrt(a) / da2 = -a ** -1.5 / 4, once the steps have converged."""
    assert adjit.grad(adjit.grad(implicit), target="python")(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-2)


def test_compiled():
    """d sqrt(a) / d a, through the steps of Newton's method."""
    assert adjit.grad(implicit)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-4)
    np.testing.assert_allclose(adjit.grad(descent)(X, V), adjit.grad(descent, target="python")(X, V), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------- refusals


def bound_anew(x):
    a = 1.0
    g = adjit.grad(lambda t: a * t * t)
    a = x
    return g(x)


def stores_around(x):
    room = np.zeros(2)

    def f(t):
        room[0] = t
        return room[0] * t

    return adjit.grad(f)(x) + room[0]


def stores_around_through_a_tuple(x):
    room = np.zeros(2)

    def f(t):
        room[0] = t
        return room[0] * t

    fs = (f, 1)
    return adjit.grad(lambda t: fs[0](t))(x) + room[0]


def too_few(x):
    return adjit.grad(cube)(x)


def an_option(x):
    return adjit.grad(square_less_two, target="python")(x)


def no_such_parameter(x):
    return adjit.grad(square_less_two, wrt=3)(x)


def of_a_number(x):
    return adjit.grad(x)(x)


def of_an_integer(x):
    return adjit.grad(cube)(2, x)


def of_a_vector(x):
    return adjit.grad(lambda t: t * np.ones(2))(x)


def two_seeds(x):
    value, pullback = adjit.vjp(square_less_two, x)
    return value * pullback(x, x)[0]


def tangent_of_another_kind(x):
    return adjit.jvp(square_less_two, (x,), (np.ones(2),))[1]


def without_a_vector(x):
    return adjit.hvp(square_less_two)()


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            bound_anew,
            Unsupported,
            """Unsupported: `a` is assigned after grad(<lambda>) was created, which reads it
  in bound_anew
    return g(x)
           ^^^^
  Create the derivative where it is called: adjit.grad(f)(x).""",
        ),
        (
            stores_around,
            Unsupported,
            """Unsupported: an inner function that is differentiated changes an array of the function around it
  in f
    room[0] = t
    ^^^^^^^^^^^
  A derivative only changes its results.
  Copy the array first.""",
        ),
        (
            stores_around_through_a_tuple,
            Unsupported,
            """Unsupported: an inner function that is differentiated changes an array of the function around it
  in stores_around_through_a_tuple
    room[0] = t
    ^^^^^^^^^^^
  A derivative only changes its results.
  Copy the array first.""",
        ),
        (
            too_few,
            WrongCall,
            """WrongCall: grad(cube) is called without `t`
  in too_few
    return adjit.grad(cube)(x)
           ^^^^^^^^^^^^^^^^^^^
  Its parameters are a, t.
  Give each parameter one value, by position or by name.""",
        ),
        (
            an_option,
            WrongCall,
            """WrongCall: `target` of adjit.grad inside a differentiated function
  in an_option
    return adjit.grad(square_less_two, target="python")(x)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  The options of the outer derivative hold for it.
  Leave it out.""",
        ),
        (
            no_such_parameter,
            WrongWrt,
            """WrongWrt: square_less_two has no parameter 3 to differentiate with respect to
  in no_such_parameter
    return adjit.grad(square_less_two, wrt=3)(x)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Its parameters are t.
  Give the position or the name of a parameter, or a tuple of them.""",
        ),
        (
            of_a_number,
            WrongCall,
            """WrongCall: a derivative of something that is not a function
  in of_a_number
    return adjit.grad(x)(x)
           ^^^^^^^^^^^^^
  Pass a function.""",
        ),
        (
            of_an_integer,
            WrongWrt,
            """WrongWrt: `a` of cube is an integer, which has no derivative
  in cube
  Derivatives are with respect to floats, and to arrays and tuples of them.
  Pass a float, or leave `a` out of wrt.""",
        ),
        (
            of_a_vector,
            NotScalar,
            """NotScalar: the gradient of <lambda>, which returns an array of rank 1
  in <lambda>
  A gradient needs a result that is one float.
  Sum it up, or use adjit.vjp or adjit.jacobian. For a result (value, aux) pass has_aux=True.""",
        ),
        (
            two_seeds,
            WrongCall,
            """WrongCall: the pullback of square_less_two takes one seed, not 2
  in two_seeds
    return value * pullback(x, x)[0]
                   ^^^^^^^^^^^^^^
  Give one seed with the shape of the value; for a tuple, a tuple.""",
        ),
        (
            tangent_of_another_kind,
            AdjitError,
            """TypeMismatch: the tangent of argument `t` is not of type float64
  in tangent_of_another_kind
    return adjit.jvp(square_less_two, (x,), (np.ones(2),))[1]
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  It is of type float64[:].
  Build it like the argument or result that it belongs to.""",
        ),
        (
            without_a_vector,
            WrongCall,
            """WrongCall: hvp(square_less_two) is called without a vector
  in without_a_vector
    return adjit.hvp(square_less_two)()
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  Give the vector last, after the function's arguments.""",
        ),
    ],
)
def test_refusal(function, kind, message):
    with pytest.raises(kind) as fault:
        adjit.grad(function, target="python")(1.2)
    place = fault.value.message.splitlines()[1].split(" in ")[0].strip()
    assert place.startswith("test_inner_derivatives.py:")
    assert fault.value.message.replace(place + " ", "") == message
