"""Programs that want to know how long their arrays are: one specialisation a shape, where nothing else helps."""

import functools

import numpy as np
import pytest
from scipy import linalg

import adjit

X = np.array([0.5, 1.5, -0.7, 1.1])
M = np.arange(6.0).reshape(3, 2) / 3 + 0.2


def blocks(x):
    whole = linalg.block_diag(*[np.eye(2) * v for v in x])
    return np.sum(whole @ whole) + np.linalg.det(whole)


def rest(x):
    first, *others = x
    parts = [functools.partial(lambda u, a, b: u * a / (1.0 + b * b), a=a, b=b) for a, b in zip(others, others[1:])]
    return sum(part(first) for part in parts)


def rows_as_tuples(m):
    points = [tuple(row) for row in m]
    return sum(a * b for a, b in points) + max(points)[0]


def of_several_kinds(x):
    kept = []
    for k in range(len(x)):
        kept.append(x[k] if k % 2 else (x[k], x))
    return kept[1] * kept[0][0] * np.sum(kept[0][1])


def items_that_change(x):
    # a trip reads what trips before it have stored
    x = x.copy()
    names = {}
    for k, value in enumerate(x):
        names[f"part {k}"] = value
        if k + 1 < len(x):
            x[k + 1] *= value
    return names["part 3"] + 2.0 * names["part 1"]


def halves(x):
    def tree(part):
        return part[0] if len(part) == 1 else (tree(part[: len(part) // 2]), tree(part[len(part) // 2 :]))

    def folded(node):
        return np.sin(folded(node[0])) * folded(node[1]) if isinstance(node, tuple) else node

    return folded(tree(x))


def of_structure(p):
    first, *others = p["w"]
    return p["b"] * first + sum(a * k for k, a in enumerate([tuple(others)][0]))


def carried(x):
    y, old = x[:2] * 1.0, (0.0, x[0], x[1])
    t = 0.0
    while y[0] > -1.0 and t < 0.5:
        old = (t, *y)
        y = y + 0.1 * np.array([y[1], -y[0] - x[2]])
        t += 0.1
    return old[0] * x[3] + old[1] * old[2] + np.hypot(*y)


def of_each_row(x):
    def area(a, b):
        return 0.5 * a * b

    m = np.outer(x, x)[:, :2]
    for k in range(3):
        m = np.sin(m) * x[k]
    return sum(area(*row) for row in m)


def drawn(x):
    noise = np.random.default_rng(3).standard_normal((2, x.size))
    return np.sum((noise * x) ** 2)


PROGRAMS = [
    (blocks, X), (rest, X), (rows_as_tuples, M), (of_several_kinds, X), (items_that_change, X), (halves, X), (drawn, X),
    (carried, X), (of_each_row, X),
]  # fmt: skip


def differences(f, x):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        found[place] = (f(x + step) - f(x - step)) / 2e-5
    return found


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_program(f, x) -> None:
    value, bar = adjit.value_and_grad(f, target="python")(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    np.testing.assert_allclose(bar, differences(f, x), rtol=1e-7, atol=1e-8)


def several(x, n):
    whole = linalg.block_diag(*[np.eye(n) * v for v in x])
    first, *others = x
    return np.array([np.sum(whole @ whole), first * np.sum(np.array([*others]) ** 3)])


def test_other_derivatives() -> None:
    target, along = "python", np.array([0.5, -1.0, 0.25, 2.0])
    rows = [2 * 2 * X, np.array([np.sum(X[1:] ** 3), *(3 * X[0] * X[1:] ** 2)])]
    for made in (adjit.jacfwd, adjit.jacrev, adjit.jacobian):
        np.testing.assert_allclose(made(several, target=target)(X, 2), rows, rtol=1e-12)
    value, tangent = adjit.jvp(several, (X, 2), (along, 0), target=target)
    np.testing.assert_allclose(value, several(X, 2), rtol=1e-12)
    np.testing.assert_allclose(tangent, rows @ along, rtol=1e-12)
    bars = adjit.vjp(several, X, 2, target=target)[1](np.array([1.0, -2.0]))
    np.testing.assert_allclose(bars[0], rows[0] - 2 * rows[1], rtol=1e-12)
    assert bars[1] is None
    hessian = adjit.hessian(rest, target=target)(X)
    np.testing.assert_allclose(adjit.hvp(rest, target=target)(X, along), hessian @ along, rtol=1e-12)
    bars_of_rest = adjit.grad(rest, target=target)
    expected = (bars_of_rest(X + 1e-5 * along) - bars_of_rest(X - 1e-5 * along)) / 2e-5
    np.testing.assert_allclose(hessian @ along, expected, rtol=1e-7)


def test_what_is_shown_of_them(tmp_path) -> None:
    derived = adjit.grad(rest, target="python")
    assert "x[3]" in derived.source(X)
    assert "others" in str(derived.explain(X))
    with pytest.raises(adjit.AdjitError, match="only for arrays of these shapes"):
        derived.save(tmp_path / "rest.py", X)


def test_compiled_anew_for_each_shape() -> None:
    derived = adjit.value_and_grad(rest)
    for x in (X, X[:3], np.append(X, 0.3), X):
        value, bar = derived(x)
        assert value == pytest.approx(rest(x), rel=1e-12)
        np.testing.assert_allclose(bar, differences(rest, x), rtol=1e-7, atol=1e-8)


def test_structures() -> None:
    p = {"w": X, "b": 0.7}
    bar = adjit.grad(of_structure, target="python")(p)
    np.testing.assert_allclose(bar["w"], [0.7, 0.0, 1.0, 2.0], rtol=1e-12)
    assert bar["b"] == X[0]


def test_long_arrays_are_refused_as_before() -> None:
    with pytest.raises(adjit.AdjitError, match=r"`\*` before a list"):
        adjit.grad(blocks, target="python")(np.ones(100))


def test_what_extents_do_not_help_is_refused_as_before() -> None:
    def grows(x):
        found = []
        while np.sum(x) > len(found):
            found.append(np.eye(2))
        return np.sum(linalg.block_diag(*found) * x[0])

    with pytest.raises(adjit.AdjitError, match=r"`\*` before a list"):
        adjit.grad(grows, target="python")(X)


def test_what_recursion_gives_is_named_as_the_result() -> None:
    with pytest.raises(adjit.AdjitError, match="the type of the result depends on the path taken"):
        adjit.vjp(lambda x: halves(x[x > 0.0]), X, target="python")
