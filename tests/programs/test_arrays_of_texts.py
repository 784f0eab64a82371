"""Arrays of texts: what NumPy makes of them while compiling, and the numbers that this chooses."""

import numpy as np
import pytest

import adjit

X = np.array([0.5, 1.5, -0.7, 1.1])
NAMES = np.array(["b", "a", "b", "c"])


def by_groups(x):
    labels, z, counts = np.unique(["u", "v", "u", "w"], return_inverse=True, return_counts=True)
    sums = np.bincount(z, weights=x, minlength=len(labels))
    return np.sum(sums**2 / counts) + x[:3][labels == "v"][0]


def of_a_global(x):
    total = 0.0
    for name in np.unique(NAMES):
        own = x[NAMES == name]
        total += np.var(own) + (np.sum(own) if name in ("a", "b") else np.prod(own))
    return total


def of_members(x):
    named = np.array(["first", "second", "third", "fourth"])
    chosen = np.isin(named, ["first", "fourth"])
    first = {name: value for name, value in zip(named, x)}
    return np.sum(x[chosen] ** 2) + first["third"] * named.size + x[np.argsort(named)][1] * len(named[2])


def of_an_argument(x, groups):
    labels, z = np.unique(groups, return_inverse=True)
    return sum(np.sin(x[z == k]).sum() * len(labels[k]) for k in range(len(labels)))


def of_texts_in_rows(x):
    table = np.array([["a", "b"], ["b", "a"]])
    return np.sum(x.reshape(2, 2)[table == "a"]) * x[table.tolist()[1].index("a")]


CASES = [
    (by_groups, ()), (of_a_global, ()), (of_members, ()), (of_an_argument, (list("xyzx"),)), (of_texts_in_rows, ()),
]  # fmt: skip


@pytest.mark.parametrize(("function", "more"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_value_and_gradient(function, more) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X, *more)
    assert value == pytest.approx(function(X, *more), rel=1e-14)
    sides = [(function(X + h, *more), function(X - h, *more)) for h in np.eye(4) * 1e-5]
    np.testing.assert_allclose(bar, [(a - b) / 2e-5 for a, b in sides], rtol=1e-7, atol=1e-9)


def test_what_is_not_known_is_said() -> None:
    def chosen(x):
        return np.sum(x[np.take(NAMES, np.argsort(x)) == "a"])

    with pytest.raises(adjit.AdjitError, match="take of an array of strings and a value that is only known"):
        adjit.grad(chosen, target="python")(X)
