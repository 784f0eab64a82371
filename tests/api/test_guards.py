"""Indices out of bounds and `debug="nan"`: errors at the user's line, in both sweeps, where something is wrong."""

import linecache
import re
from collections import deque
from itertools import combinations

import numpy as np
import pytest

import adjit
from adjit.errors import WrongCall

X = np.array([0.5, 0.7, 0.9, 1.1])
TARGETS = pytest.mark.parametrize("target", ["python", "cpu"])


def beyond(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i + 1]
    return s


def before(x):
    return x[-2] * x[-5]


def stored(x):
    y = np.zeros(3)
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2
    return np.sum(y)


def linear(x):
    s = 0.0
    for i in range(5):
        s += 2.0 * x[i]
    return s


def sought(x):
    i = 0
    while x[i] > 0.0:
        i += 1
    return x[i - 1] ** 2


def gathered(x):
    return np.sum(x[np.array([0, 4])] ** 2)


def column(x):
    return np.outer(x, x)[1, x.size] ** 2


def in_lambda(x):
    last = lambda r: r * x[x.size]  # noqa: E731
    s = 2.0 * x[0]
    return last(s) + s


def inside(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = np.sin(x[i])
    return np.sum(y[1:-1] * y[2:]) + x[-1] * x[-x.size] + np.sum(x[np.array([0, -1])])


OUTSIDE = [
    (beyond, 4, "0 of `x` with size 4", r"s \+= x\[i\] \* x\[i \+ 1\]"),
    (before, -5, "0 of `x` with size 4", r"x\[-5\]"), (stored, 3, "0 of `y` with size 3", r"y\[i\] = x\[i\]"),
    (linear, 4, "0 of `x` with size 4", r"s \+= 2.0 \* x\[i\]"),
    (sought, 4, "0 of `x` with size 4", r"while x\[i\] > 0.0"), (gathered, 4, "0 of `x` with size 4", "array"),
    (column, 4, "1 of `result` with size 4", "outer"), (in_lambda, 4, "0 of `x` with size 4", "last = lambda"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "index", "what", "line"), OUTSIDE, ids=[row[0].__name__ for row in OUTSIDE])
def test_indices_outside_are_told_of(function, index: int, what: str, line: str) -> None:
    says = rf"(?s)index {index} is out of bounds for axis {what}.*test_guards\.py:\d+ in {function.__name__}.*{line}"
    options = {"target": "python"}
    for call in (
        lambda: adjit.grad(function, **options)(X),
        lambda: adjit.jvp(function, (X,), (X,), **options),
        lambda: adjit.vjp(function, X, **options),
        lambda: adjit.hessian(function, **options)(X),
    ):
        with pytest.raises(IndexError, match=says):
            call()


def read_through(x, mask):
    return np.sum(x[mask] ** 2)


def stored_through(x, mask):
    y = x * 2.0
    y[mask] = x[0]
    return np.sum(y**2)


def updated_through(x, mask):
    y = x * 2.0
    y[mask] *= 3.0
    return np.sum(y**2)


def of_matrix(x, mask):
    return np.sum(np.outer(x, x)[mask] ** 2)


def of_columns(x, mask):
    y = np.outer(x, x)
    y[1:, mask] = 1.0
    return np.sum(y**2)


MASKS = [
    (read_through, (), "axis 0 of `x`"), (stored_through, (), "axis 0 of `y`"), (updated_through, (), "axis 0 of `y`"),
    (of_matrix, (4,), "axis 1"), (of_columns, (), "axis 1"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "rows", "what"), MASKS, ids=[row[0].__name__ for row in MASKS])
def test_masks_of_another_length_are_told_of(function, rows: tuple[int, ...], what: str) -> None:
    for size in (3, 5, 1):
        mask = np.ones((*rows, size), bool)
        with pytest.raises(IndexError):
            function(X, mask)
        line = rf"test_guards\.py:\d+ in {function.__name__}.*\[.*mask\]"
        says = rf"(?s)did not match {what}.*is 4, .* mask has {size}\n.*{line}"
        for call in (
            lambda mask: adjit.grad(function, target="python")(X, mask),
            lambda mask: adjit.jvp(lambda x: function(x, mask), (X,), (X,), target="python"),
        ):
            with pytest.raises(IndexError, match=says):
                call(mask)
    assert np.all(np.isfinite(adjit.grad(function, target="python")(X, np.ones((*rows, 4), bool))))


def of_list(x, k):
    items = [x[0], 2.0 * x[1], x[2]]
    return items[k] ** 2


def of_tuple(x, k):
    return (x[0], 2.0 * x[1], x[2])[k] ** 2


def of_grown(x, k):
    items = []
    for v in x:
        if v < 1.0:
            items.append(v * v)
    return items[k] * x[0]


def of_objects(x, k):
    items = [np.array([v, v * v]) for v in x if v < 1.0]
    return items[k][1]


def of_columns(x, k):
    items = [(v, v * v) for v in x if v < 1.0]
    return items[k][1]


def of_rows(x, k):
    return [[x[0], x[1]], [x[2], 1.0], [x[0], x[0]]][k][1] * x[0]


def of_functions(x, k):
    return [np.sin, np.cos, np.exp][k](x[0])


def of_deque(x, k):
    return deque([x[0], x[1], x[2]])[k] ** 2


def of_text(x, k):
    return x[0] ** 2 if "abc"[k] == "a" else x[1] ** 2


def of_numbers(x, k):
    return x[0] * [2, 5, 7][k]


def item_stored(x, k):
    items = [x[0], x[1], x[2]]
    items[k] = x[0] * x[1]
    return items[0] * items[1]


def item_updated(x, k):
    items = []
    for v in x:
        if v < 1.0:
            items.append(v * v)
    items[k] += x[0]
    return items[0] * items[1] * items[2]


def item_popped(x, k):
    items = [x[0], x[1], x[2]]
    return items.pop(k) * items[0]


def item_deleted(x, k):
    items = [v * v for v in x if v < 1.0]
    del items[k]
    return items[0] * items[1]


ITEMS = [
    of_list, of_tuple, of_grown, of_objects, of_columns, of_rows, of_functions, of_deque, of_text, of_numbers,
    item_stored, item_updated, item_popped, item_deleted,
]  # fmt: skip


@pytest.mark.parametrize("function", ITEMS)
def test_items_outside_are_told_of(function) -> None:
    what = {"of_tuple": "a tuple", "of_deque": "a deque", "of_text": "a string"}.get(function.__name__, "a list")
    derived = adjit.value_and_grad(function, wrt="x", target="python")
    for k in (3, -4, 9):
        with pytest.raises(IndexError):
            function(X, k)
        says = rf"index {k} is out of bounds for {what} with size 3\n  test_guards\.py:\d+ in {function.__name__}\n"
        for call in (
            lambda k: derived(X, k),
            lambda k: adjit.jvp(function, (X, k), (X, 0), target="python"),
            lambda k: adjit.vjp(function, X, k, target="python"),
        ):
            with pytest.raises(IndexError, match=says):
                call(k)
    for k in (0, 1, -1, -3):
        assert derived(X, k)[0] == pytest.approx(function(X, k), rel=1e-14)
    assert "check" not in adjit.grad(function, wrt="x", boundscheck=False).source(X, 1)


def emptied(x):
    items = [x[0]]
    for v in x:
        items.append(v * items[-1])
        items.pop()
        items.pop()
    return x[0]


def test_items_of_nothing() -> None:
    with pytest.raises(IndexError, match="index -1 is out of bounds for a list with size 0"):
        adjit.grad(emptied, target="python")(X)


SIZES = [
    "np.zeros(n)", "np.ones(n - 2)", "np.full(n, x[0])", "np.full(n, 2.0)", "np.eye(n)", "np.eye(2, M=n)",
    "np.identity(n)", "np.zeros((2, n))", "np.zeros((n, x.size), dtype=complex).real", "np.zeros(x.size - 5)",
    "np.broadcast_to(x, (n, x.size))", "np.ones(-1)", "np.zeros([n])",
]  # fmt: skip


def sized(text: str):
    scope: dict[str, object] = {"np": np}
    lines = f"def made(x, n):\n    y = {text}\n    return np.sum(y) * x[0] + x[1]\n"
    name = f"<sized {text}>"
    linecache.cache[name] = len(lines), None, lines.splitlines(keepends=True), name
    exec(compile(lines, name, "exec"), scope)
    return scope["made"]


@pytest.mark.parametrize("text", SIZES)
def test_negative_sizes_are_told_of(text: str) -> None:
    function = sized(text)
    with pytest.raises(ValueError, match="negative|non-negative"):
        function(X, -1)
    says = (
        rf"negative dimensions are not allowed\n  {re.escape(f'<sized {text}>')}:2 in made\n    y = {re.escape(text)}"
    )
    for call in (
        lambda: adjit.grad(function, wrt="x", target="python")(X, -1),
        lambda: adjit.jvp(lambda x: function(x, -1), (X,), (X,), target="python"),
        lambda: adjit.vjp(function, X, -1, target="python"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
    if "n" in text.replace("np.", "").replace("ones", ""):
        value, slope = adjit.value_and_grad(function, wrt="x", target="python")(X, 3)
        assert value == pytest.approx(function(X, 3), rel=1e-14)
        assert np.all(np.isfinite(slope))
    assert "check_size" not in adjit.grad(function, wrt="x", boundscheck=False).source(X, 3)


def of_pairs(x, n):
    kept = [i for i, j in combinations(range(n), 2) if j - i > 1]
    y = np.zeros(len(kept))
    for k, i in enumerate(kept):
        y[k] = x * i
    return np.sum(y)


def test_lower_bound_of_a_count_may_lead_back_to_it() -> None:
    """The count after a trip is that before it, and one more: this alone does not prove it."""
    assert adjit.grad(of_pairs, wrt="x", target="python")(0.5, 5) == 0 + 0 + 0 + 1 + 1 + 2


def of_known_sizes(x, n):
    m = max(n, 0)
    y, z, w = np.zeros(x.size), np.zeros((x.size + 2, 3)), np.ones(m // 2 + 1)
    for i in range(n):
        y[i] += np.sum(np.full(n - i, x[i]) + np.zeros(i + n)[: n - i])
    if n > 3:
        y += np.sum(np.ones(n - 3)) * x
    return np.sum(y * x) + np.sum(z) + np.sum(w)


def of_both(x, n):
    return np.sum(np.zeros(n) + x[0]) + np.sum(np.ones(n + 2) * x[1])


def test_sizes_that_are_known_are_not_checked() -> None:
    assert "check_size" not in adjit.grad(of_known_sizes).source(X, 3)
    assert adjit.grad(of_both).source(X, 3).count("check_size") == 1
    for size in (0, 2, 4):
        value, slope = adjit.value_and_grad(of_known_sizes, target="python")(X, size)
        assert value == pytest.approx(of_known_sizes(X, size), rel=1e-14)


def logarithms(x):
    s = 0.0
    for v in x:
        y = np.log(v)
        s += y * y
    return s


def roots(x):
    return np.sum(np.sqrt(x) * x)


def unread(x):
    # its gradient needs no value
    return np.sum(x) * np.inf * 0.0


NANS = [
    (logarithms, np.array([1.0, -1.0]), "`y` is nan", r"y = np\.log\(v\)"),
    (roots, np.array([0.0, 1.0]), r"`\w+_(bar|dot)` is nan", r"np\.sqrt\(x\) \* x"),
    (roots, np.array([np.nan, 1.0]), "`sqrt` is nan", r"np\.sqrt\(x\) \* x"),
    (unread, X, "`product` is nan", r"np\.inf \* 0\.0"),
    (lambda x: np.sum(np.linalg.inv(np.outer(x, x) * np.nan)), X[:2], "is nan", "linalg"),
]


@pytest.mark.parametrize(("function", "x", "what", "line"), NANS, ids=[row[2] for row in NANS])
def test_nans_are_told_of_where_they_are_made(function, x, what: str, line: str) -> None:
    options = {"debug": "nan", "target": "python"}
    for call in (lambda: adjit.grad(function, **options)(x), lambda: adjit.jvp(function, (x,), (x + 1.0,), **options)):
        with pytest.raises(FloatingPointError, match=rf"(?s){what}.*test_guards\.py:\d+ in.*{line}"):
            call()


def test_compiled_alike() -> None:
    with pytest.raises(IndexError, match=r"(?s)index 4 is out of bounds.*test_guards\.py:\d+ in beyond") as caught:
        adjit.grad(beyond)(X)
    assert (caught.value.index, caught.value.extent) == (4, 4)
    with pytest.raises(IndexError, match=r"(?s)index 3 is out of bounds.*y\[i\] = x\[i\]"):
        adjit.vjp(stored, X)
    with pytest.raises(IndexError, match=r"(?s)index 4 is out of bounds.*while x\[i\]"):
        adjit.jvp(sought, (X,), (X,))
    for size in (3, 5):
        with pytest.raises(IndexError, match=rf"(?s)axis 0 of `y`: .* mask has {size}\n.*y\[mask\] \*= 3.0"):
            adjit.grad(updated_through)(X, np.ones(size, bool))
    with pytest.raises(IndexError, match=r"(?s)axis 0 of `x`: its size is 4, .* mask has 5\n.*x\[mask\]"):
        adjit.jvp(read_through, (X, np.ones(5, bool)), (X, None))
    for function in (of_list, of_grown):
        with pytest.raises(IndexError, match=rf"index -4 is .* a list with size 3\n.*in {function.__name__}"):
            adjit.grad(function, wrt="x")(X, -4)
    for call in (lambda: adjit.grad(of_both)(X, -1), lambda: adjit.vjp(of_both, X, -2)):
        with pytest.raises(ValueError, match=r"negative dimensions are not allowed\n.*test_guards\.py:\d+ in of_both"):
            call()
    with pytest.raises(FloatingPointError, match=r"(?s)`y` is nan.*y = np\.log\(v\)"):
        adjit.grad(logarithms, debug="nan")(-X)


@TARGETS
def test_what_is_right_stays_as_it_is(target: str) -> None:
    wanted = adjit.grad(inside, target=target)(X)
    np.testing.assert_allclose(adjit.grad(inside, debug="nan", target=target)(X), wanted, rtol=1e-14)
    np.testing.assert_allclose(adjit.grad(inside, boundscheck=False, target=target)(X), wanted, rtol=1e-14)
    _, change = adjit.jvp(inside, (X,), (X,), debug="nan", target="python")
    assert change == pytest.approx(wanted @ X, rel=1e-13)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (np.linalg.norm, 0 * X), (np.std, 0 * X), (np.prod, 0 * X), (lambda x: np.hypot(x[0], x[1]), 0 * X),
        (lambda x: np.sum(np.where(x > 0.6, np.log(x - 0.6), 0.0)), X), (np.nansum, np.array([1.0, np.nan])),
    ],
)  # fmt: skip
def test_conventions_are_no_nans(function, x) -> None:
    bar = adjit.grad(function, debug="nan", target="python")(x)
    np.testing.assert_allclose(bar, adjit.grad(function, target="python")(x), rtol=1e-14)


def test_off_there_is_nothing_of_it() -> None:
    for text in (adjit.grad(inside).source(X), adjit.grad(inside).source(X, tuned=True)):
        assert "raise" not in text
        assert "check_index" not in text
    mask = np.ones(4, bool)
    assert "same_extent(mask.size, x.size)" in adjit.grad(stored_through).source(X, mask)
    assert "same_extent" not in adjit.grad(stored_through, boundscheck=False).source(X, mask)
    assert "check" in adjit.grad(beyond).source(X)
    assert "check" not in adjit.grad(beyond, boundscheck=False).source(X)
    assert "FloatingPointError" in adjit.grad(inside, debug="nan").source(X)


def test_options() -> None:
    with pytest.raises(WrongCall, match=r"(?s)parallel=True with debug.*in a thread"):
        adjit.grad(inside, debug="nan", parallel=True)
    with pytest.raises(WrongCall, match="debug='inf'"):
        adjit.grad(inside, debug="inf")
    with pytest.raises(WrongCall, match="boundscheck=1"):
        adjit.grad(inside, boundscheck=1)
