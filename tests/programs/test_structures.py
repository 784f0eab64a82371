"""Dictionaries and objects: right in all modes; as arguments, gradients are put together like them."""

import dataclasses
import functools
import logging

import numpy as np
import pytest

import adjit
from tests.programs import structures as at
from tests.programs.harness import check
from tests.programs.rows import Row, vector, wave


@pytest.mark.parametrize("row", at.STRUCTURES.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in at.STRUCTURES.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


W = 0.1 * wave(9).reshape(3, 3)
Y = vector(0.3, 0.5, -0.2)
ARGUMENTS = [
    (at.well_of_an_object, at.Well(2.0, vector(1.0, 2.0, 3.0))),
    (at.layers_of_a_dictionary, {"layers": [(W, Y), (W.T.copy(), 2.0 * Y)], "scale": 2.0, "name": "net"}),
    (at.points_of_a_list, [(1.0, 2.0), (3.0, 4.0)]),
    (at.a_long_list, [(0.1 * k, 1.0 + k) for k in range(12)]),
    (at.numbers_of_a_list, [1.0, 0.5, 2.5, -1.0]),
]


def moved(value, path, by):
    """A structure with one float in it moved: `path` is the attributes, keys and places that lead there."""
    if not path:
        return value + by
    if isinstance(value, np.ndarray):
        other = value.copy()
        other[path[0]] += by
        return other
    if isinstance(value, dict):
        return value | {path[0]: moved(value[path[0]], path[1:], by)}
    if isinstance(value, list | tuple):
        parts = list(value)
        parts[path[0]] = moved(parts[path[0]], path[1:], by)
        return type(value)(parts)
    return dataclasses.replace(value, **{path[0]: moved(getattr(value, path[0]), path[1:], by)})


def paths(value):
    """The way to each float in a structure."""
    if isinstance(value, float):
        yield ()
    elif isinstance(value, np.ndarray):
        yield from ((k,) for k in np.ndindex(value.shape))
    else:
        parts = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
        )
        if dataclasses.is_dataclass(value):
            parts = vars(value).items()
        for key, part in parts:
            yield from ((key, *rest) for rest in paths(part))


def found_at(value, path):
    for key in path:
        value = getattr(value, key) if dataclasses.is_dataclass(value) else value[key]
    return value


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("function", "argument"), ARGUMENTS, ids=lambda a: getattr(a, "__name__", ""))
def test_gradient_is_put_together_like_the_argument(function, argument, target: str) -> None:
    value, (bar, y_bar) = adjit.value_and_grad(function, wrt=(0, 1), target=target)(argument, Y)
    np.testing.assert_allclose(value, function(argument, Y), rtol=1e-13)
    assert type(bar) is type(argument)
    for path in paths(argument):
        there, back = (function(moved(argument, path, s * 1e-6), Y) for s in (1, -1))
        np.testing.assert_allclose(found_at(bar, path), (there - back) / 2e-6, rtol=1e-6, atol=1e-7, err_msg=str(path))
    for k in range(3):
        there, back = (function(argument, moved(Y, (k,), s * 1e-6)) for s in (1, -1))
        np.testing.assert_allclose(y_bar[k], (there - back) / 2e-6, rtol=1e-6, atol=1e-7)


def test_vjp_and_jvp() -> None:
    function, argument = ARGUMENTS[1]
    bar = adjit.grad(function)(argument, Y)
    value, pullback = adjit.vjp(function, argument, Y)
    pulled, y_bar = pullback(1.0)
    np.testing.assert_allclose(pulled["layers"][0][0], bar["layers"][0][0])
    tangent = {"layers": [(W, Y), (W.T.copy(), Y)], "scale": 1.0, "name": "net"}
    _, dot = adjit.jvp(function, (argument, Y), (tangent, Y))
    pairs = zip(bar["layers"], tangent["layers"], strict=True)
    along = sum(np.sum(g * t) for one, other in pairs for g, t in zip(one, other, strict=True))
    np.testing.assert_allclose(dot, along + bar["scale"] + y_bar @ Y)


def test_other_structure_is_compiled_anew() -> None:
    gradient = adjit.grad(at.points_of_a_list, target="python")
    assert len(gradient([(1.0, 2.0)], Y)) == 1
    assert len(gradient([(1.0, 2.0), (1.0, 3.0), (1.0, 5.0)], Y)) == 3


def test_functions_as_arguments() -> None:
    for function, derivative in ((np.sin, np.sin(Y) + Y * np.cos(Y)), (lambda t: 3.0 * t, 6.0 * Y)):
        np.testing.assert_allclose(adjit.grad(at.a_function_given, wrt=1)(function, Y), derivative)


def test_methods_partials_and_objects() -> None:
    well = at.Well(2.0, vector(1.0, 2.0, 3.0))
    right = well.depth * well.factor * (Y - well.centre)
    np.testing.assert_allclose(adjit.grad(well.energy)(Y), right)
    np.testing.assert_allclose(adjit.grad(functools.partial(at.well_of_an_object, well))(Y)[1:], right[1:])
    # what the object holds counts at the time of the call
    gradient, well.depth = adjit.grad(well.energy), 3.0
    np.testing.assert_allclose(gradient(Y), 3.0 * well.factor * (Y - well.centre))
    np.testing.assert_allclose(adjit.hessian(well.energy)(Y), 3.0 * well.factor * np.eye(3))
    value, pullback = adjit.vjp(well.energy, Y)
    np.testing.assert_allclose((value, *pullback(1.0)[0]), (well.energy(Y), *gradient(Y)))
    np.testing.assert_allclose(adjit.hvp(well.energy)(Y, 2.0 * Y), 6.0 * well.factor * Y)
    value, tangent = adjit.jvp(well.energy, (Y,), (W[0],))
    np.testing.assert_allclose((value, tangent), (well.energy(Y), gradient(Y) @ W[0]))
    tangents = adjit.jvp(well.energy, (Y,), (np.eye(3),), several=True)[1]
    np.testing.assert_allclose(tangents, gradient(Y))

    class Line:
        def __init__(self, slope):
            self.slope = slope

        def __call__(self, x):
            return self.slope * x * x

    np.testing.assert_allclose(adjit.grad(Line(3.0))(2.0), 12.0)
    np.testing.assert_allclose(adjit.jvp(Line(3.0), (2.0,), (1.0,)), (12.0, 12.0))


class Balance:
    def __init__(self, k):
        self.k = k

    def cost(self, x, y=1.0, is_each=False):
        each = np.array([x * y, x * x])
        if is_each:
            return each
        return np.sum(each) * self.k

    def __call__(self, y, x):
        return self.cost(x, y)


def test_what_is_bound_holds_flags() -> None:
    """A flag that says which kind of result there is has to be known while compiling, beside an object's parts."""
    balance, slope = Balance(3.0), 3.0 * (1.0 + 2.0 * 0.5)
    for target in ("python", "cpu"):
        assert adjit.grad(balance.cost, target=target)(0.5) == pytest.approx(slope)
        np.testing.assert_allclose(adjit.jvp(balance.cost, (0.5,), (1.0,), target=target), (2.25, slope))
        np.testing.assert_allclose(adjit.vjp(balance.cost, 0.5, target=target)[1](1.0), (slope,))
        # with respect to a part of what it holds
        by_part = adjit.grad(Balance.cost, wrt="self.k", target=target)
        assert by_part(balance, 0.5, 2.0, False) == pytest.approx(1.25)
        # a partial of a method, and one of an object that is called
        held = functools.partial(balance.cost, y=2.0, is_each=True)
        np.testing.assert_allclose(adjit.jacobian(held, target=target)(0.5), (2.0, 1.0))
        np.testing.assert_allclose(adjit.jvp(held, (0.5,), (2.0,), target=target)[1], (4.0, 2.0))
        assert adjit.grad(functools.partial(balance, 2.0), target=target)(0.5) == pytest.approx(9.0)


def test_tangents_that_do_not_fit_what_is_bound() -> None:
    with pytest.raises(adjit.errors.WrongCall, match="cost takes 3 arguments, not 4"):
        adjit.jvp(Balance(3.0).cost, (0.5, 1.0, False, 2.0), (1.0,))
    with pytest.raises(adjit.errors.TypeMismatch, match="the tangents of cost are a tuple of 2, not a tuple of 1"):
        adjit.jvp(Balance(3.0).cost, (0.5,), (1.0, 1.0))
    with pytest.raises(adjit.errors.TypeMismatch, match="not a tuple"):
        adjit.jvp(Balance(3.0).cost, 0.5, 1.0)


@pytest.mark.parametrize(("function", "argument"), ARGUMENTS, ids=lambda a: getattr(a, "__name__", ""))
def test_check_grads(function, argument) -> None:
    adjit.check_grads(function, (argument, Y), target="python")


def test_check_grads_of_a_method() -> None:
    adjit.check_grads(at.Well(2.0, vector(1.0, 2.0, 3.0)).energy, (Y,), target="python")


def simulated(s, mu, n, seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    u = rng.normal(mu, s, n)
    return np.mean(np.exp(s * z + mu)) + np.sum(u * u) + rng.uniform() * s


def keyed(x, k, w):
    return {0: x, 1: x * x, 2: w}[k] * x


def test_integers_that_have_to_be_constants() -> None:
    for target in ("python", "cpu"):
        gradient = adjit.value_and_grad(simulated, wrt=(0, 1), target=target)
        value, (s_bar, mu_bar) = gradient(0.3, 0.1, 5, 42)
        np.testing.assert_allclose(value, simulated(0.3, 0.1, 5, 42))
        for found, (ds, dmu) in ((s_bar, (1e-6, 0.0)), (mu_bar, (0.0, 1e-6))):
            there, back = (simulated(0.3 + k * ds, 0.1 + k * dmu, 5, 42) for k in (1, -1))
            np.testing.assert_allclose(found, (there - back) / 2e-6, rtol=1e-6)
        assert gradient(0.3, 0.1, 5, 43)[0] != value
    np.testing.assert_allclose([adjit.grad(keyed)(3.0, k, 2.0) for k in (0, 1, 2)], [6.0, 27.0, 2.0])


def draws_in_a_loop(x, n):
    rng, total = np.random.default_rng(3), 0.0
    for _ in range(100):
        total += x * rng.normal()
    return total


def test_draws_in_a_loop_are_refused() -> None:
    with pytest.raises(adjit.AdjitError, match="seeded in the function and draws in a loop"):
        adjit.grad(draws_in_a_loop)(1.0, 3)


def test_source_of_a_structure() -> None:
    text = adjit.grad(at.points_of_a_list).source([(1.0, 2.0)], Y)
    assert "def points_of_a_list_grad(points, y):" in text


@pytest.mark.parametrize(
    ("argument", "message"),
    [([{1, 2}], "contains a value that is not a number, an array or a constant"), ({"f": open}, "has no derivative")],
)
def test_refused_arguments(argument, message: str) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(at.points_of_a_list)(argument, Y)


def changes_a_global(k):
    at.SETTINGS["tol"] = k
    return k


def key_that_is_an_array(k):
    return {1: k, 2: k * k}[np.array([k])]


def stores_into_an_outer_object(k):
    OUTER.depth = k
    return OUTER.depth


OUTER = at.Well(2.0, vector(1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (changes_a_global, "a store into"),
        (key_that_is_an_array, "an array as a key of a dictionary or a member of a set"),
        (stores_into_an_outer_object, "assignment to an attribute of an object from outside"),
    ],
)
def test_refused(function, message: str) -> None:
    with pytest.raises(adjit.AdjitError, match=message):
        adjit.grad(function)(1.0)


class Linked:
    def __init__(self, v):
        self.v, self.others = v, []


def circles():
    me, first, second = Linked(3.0), Linked(1.0), Linked(2.0)
    me.me = me
    first.others.append(second)
    second.parent = first
    listed, named, inside = [1.0], {"a": 1.0}, ([2.0],)
    listed.append(listed)
    named["d"] = named
    inside[0].append(inside)
    many = [Linked(float(k)) for k in range(12)]
    for one in many:
        one.others = many
    return me, first, listed, named, inside, many


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_has_itself_in_it_is_refused(target):
    me, first, listed, named, inside, _ = circles()
    for given in (listed, named, inside):
        with pytest.raises(adjit.TypeMismatch, match="and contains itself"):
            adjit.grad(lambda m, x: m.v * x, wrt="x", target=target)(given, 2.0)
    # of objects it is refused where it is read
    for given, read in ((me, lambda m, x: m.me.v * x), (first, lambda m, x: m.others[0].parent.v * x)):
        made = adjit.value_and_grad(lambda m, x: m.v * x, wrt=("m.v", "x"), target=target)
        assert made(given, 2.0) == (2.0 * given.v, (2.0, given.v))
        assert adjit.grad(lambda m, x: m.v * x, target=target)(given, 2.0).v == 2.0
        with pytest.raises(adjit.Unsupported, match=r"attribute `\w+` of Linked is .*, and contains itself"):
            adjit.grad(read, wrt="x", target=target)(given, 2.0)


class Logging:
    def __init__(self, v):
        self.v, self.log = v, logging.getLogger(__name__)

    def scaled(self, x):
        self.log.debug("scaled")
        return self.v * x


def test_loggers_are_constants():
    for target in ("python", "cpu"):
        made = adjit.value_and_grad(lambda m, x: m.scaled(x), wrt="x", target=target)
        assert made(Logging(3.0), 2.0) == (6.0, 3.0)
        assert adjit.grad(lambda m, x: m.scaled(x), wrt="m.v", target=target)(Logging(3.0), 2.0) == 2.0


class Held:
    def __init__(self, v):
        self.v = v


class Solver:
    def __init__(self):
        self.mu, self.grid, self.solver = 1.5, Held(3.0), Held(2.0)
        self.solver.grid = self.grid


def doubled(p, q):
    p.v = q.v * 2
    return q.v * p.v


def doubled_item(p, q):
    p[0] = q[0] * 2
    return q[0] * p[0]


def doubled_in_a_tuple(t, x):
    t[0]["v"] = t[1]["v"] * x
    return t[0]["v"] * t[1]["v"]


def doubled_within(p, q):
    p[0].v = q[0].v * 2
    return q[0].v * p[0].v


def changed_by_another_name(s, x):
    s.solver.grid.v = x * s.mu
    return s.grid.v * x


def read_by_two_names(s, x):
    return s.solver.grid.v * s.grid.v * s.mu * (x if s.solver.grid is s.grid else x * x)


def told_apart(p, q, x):
    return x * 2 if p is q else x * 3


def twice(one):
    return one, one


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_object_in_several_places(target):
    tagged = Held(3.0)
    for function, given, apart in (
        (doubled, twice(Held(3.0)), (Held(3.0), Held(4.0))),
        (doubled_item, twice([3.0, 1.0]), ([3.0, 1.0], [4.0, 1.0])),
        (doubled_item, twice({0: 3.0}), ({0: 3.0}, {0: 4.0})),
        (doubled_in_a_tuple, (twice({"v": 3.0}), 2.0), (({"v": 3.0}, {"v": 4.0}), 2.0)),
        (doubled_within, twice([Held(3.0), 1.0]), ([tagged, 1.0], [Held(4.0), 1.0])),
        (doubled_within, ([tagged, 1.0], [tagged, 2.0]), ([tagged, 1.0], [Held(4.0), 1.0])),
        (changed_by_another_name, (Solver(), 1.5), None),
    ):
        wrt = "x" if function is changed_by_another_name else 0
        made = adjit.value_and_grad(function, wrt=wrt, target=target)
        for _ in range(2):
            # calls with others are planned, and know that they are others
            if apart is not None:
                assert made(*apart)[0] == 32.0
            with pytest.raises(adjit.Unsupported, match="occurs more than once in the arguments"):
                made(*given)
    with pytest.raises(adjit.Unsupported, match="occurs more than once"):
        adjit.value_and_grad(changed_by_another_name, wrt="s.mu", target=target)(Solver(), 1.5)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_object_in_several_places_that_is_read(target):
    made, one = adjit.value_and_grad(told_apart, wrt="x", target=target), Held(3.0)
    for given, value in (((Held(1.0), Held(1.0)), 4.5), ((one, one), 3.0), ((Held(1.0), Held(1.0)), 4.5)):
        assert made(*given, 1.5)[0] == value
    assert adjit.value_and_grad(read_by_two_names, wrt="x", target=target)(Solver(), 2.0) == (27.0, 13.5)
    found = adjit.grad(lambda p, q: p.v * q.v**2, wrt=(0, 1), target=target)(one, one)
    # by the places, as of arrays
    assert (found[0].v, found[1].v) == (9.0, 18.0)
    assert adjit.value_and_grad(read_by_two_names, wrt="s.mu", target=target)(Solver(), 2.0) == (27.0, 18.0)


@pytest.mark.parametrize("function", [at.another_list_on_one_path, at.another_list_in_some_iterations])
def test_a_copy_of_a_list_with_another_name_is_not_changed(function) -> None:
    """What `run.past` is on either path, the other name of it would not see."""
    with pytest.raises(adjit.AdjitError, match="`append` of a list without a name|values of different kinds"):
        adjit.grad(function, target="python")(1.3, Y)
