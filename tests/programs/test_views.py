"""Everything that NumPy gives a view for, stored to and read on both sides, in every layout, against plain Python.

A copy that stands for a view is found out by a store; such stores are refused, and nothing else is. What NumPy gives a
copy for must not be a view either.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

import adjit
from adjit.errors import ReadOnly, Unsupported
from tests.defining import define
from tests.programs.harness import check

# The array that is looked at, by the layout that numba knows it in; what n and k are decides which layout it has then.
LAYOUTS = {
    "C1": "(x * 1.0)[:n]",
    "A1": "(x * 1.0).reshape(n, -1)[:, 0]",
    "C2": "(x * 1.0).reshape(n, -1)",
    "F2": "(x * 1.0).reshape(n, -1).T",
    "A2": "(x * 1.0).reshape(n, -1)[::k, :k]",
    "R2": "(x * 1.0).reshape(n, -1)[::-1]",
}
SIZES = ((3, 1), (3, 2), (12, 1), (1, 1))

VIEWS = (
    "a[:]", "a[...]", "a[()]", "a[::-1]", "a[None]", "a[:, None]", "a[..., :1]", "a.T", "np.transpose(a)",
    "a.transpose()", "np.swapaxes(a, 0, -1)", "a.swapaxes(0, -1)", "a.real", "np.real(a)", "a.conj()", "a.conjugate()",
    "np.flip(a)", "np.moveaxis(a, 0, -1)", "np.flipud(a)", "np.expand_dims(a, 0)", "np.expand_dims(a, -1)",
    "np.expand_dims(a.T, axis=1)",
    "np.atleast_1d(a)", "np.atleast_2d(a)", "np.asarray(a)", "np.asarray(a, dtype=np.float64)", "np.asarray(a, float)",
    "a.view()", "np.float64(a)", "np.diff(a, 0)", "np.astype(a, np.float64, copy=False)",
    "np.einsum('...->...', a)", "np.einsum('...j->j...', a)", "np.split(a, 1)[0]",
)  # fmt: skip
VIEWS_OF_MATRICES = (
    "a[0]", "a[0, ...]", "a[:, 0]", "np.fliplr(a)", "np.rot90(a)", "np.rot90(a, 0)", "np.rot90(a, 2)", "np.rot90(a, 3)",
    "np.einsum('ij->ji', a)", "np.einsum('ji', a)", "np.einsum('ij->ij', a)", "a.mT", "np.matrix_transpose(a)",
    "np.rollaxis(a, 1)", "np.permute_dims(a, (1, 0))",
)  # fmt: skip
# a view of what is contiguous, which numba knows of C order alone
CONTIGUOUS = (
    "a.ravel()", "np.ravel(a)", "a.reshape(-1)", "np.reshape(a, -1)", "a.reshape((1, -1))", "np.ascontiguousarray(a)"
)  # fmt: skip
COPIES = (
    "a.copy()", "np.copy(a)", "np.array(a)", "np.array(a, dtype=np.float64)", "a.flatten()", "a.astype(np.float64)",
    "np.conj(a)", "np.conjugate(a)", "np.positive(a)", "+a", "a * 1.0", "np.abs(a)", "np.clip(a, -9.0, 9.0)",
    "a.clip(-9.0, 9.0)", "np.where(True, a, a)", "np.round(a * 4.0) + a", "np.roll(a, 0)", "np.repeat(a, 1)",
    "np.concatenate((a,))", "np.stack((a,))", "np.vstack((a,))", "np.append(a, [])", "np.take(a, [0])", "a[a == a]",
    "np.take(a, [0, 0], axis=0)", "np.take(a, (0, 0), axis=0)", "a[[0, 0]]", "a[np.array([0])]", "np.cumsum(a)",
    "np.tril(a)", "np.diagflat(a)", "a.ravel().copy()", "np.broadcast_to(a, (2,) + a.shape).copy()",
    "np.array(np.broadcast_to(a, a.shape))", "np.broadcast_to(a, a.shape) + 0.0", "a.flat.copy()", "a.flat[:2]",
    "np.fft.fftshift(a, axes=())", "np.astype(a, np.float64)", "np.einsum('...,->...', a, 1.0)",
)  # fmt: skip
READONLY = ("np.broadcast_to(a, a.shape)", "np.broadcast_to(a, (2,) + a.shape)", "np.broadcast_to(a, a.shape).T")
READONLY_OF_MATRICES = (
    "np.diag(a)", "np.diag(a[:, ::-1])", "np.diagonal(a)", "a.diagonal()", "np.diagonal(a, 0, 1, 0)",
    "np.diagonal(a[None], 0, 1, 2)", "np.linalg.diagonal(a)",
)  # fmt: skip
# which may be stored into
DIAGONALS = (
    "np.einsum('ii->i', a[: a.shape[1], : a.shape[0]])",
    "np.einsum('iij->ij', a[: a.shape[1], : a.shape[0], None])",
    "np.einsum('iij->ji', a[: a.shape[1], : a.shape[0], None])",
)

BOTH = """def f(x, n, k):
    a = {layout}
    b = {view}
    b[{first}] = x[0] * x[1]
    a[{last}] = x[2] * x[3]
    return np.sum(a * a * x[4]) + 0.7 * np.sum(b * b)
"""
READ = """def f(x, n, k):
    a = {layout}
    b = {view}
    return np.sum(a * a * x[4]) + 0.7 * np.sum(b * b)
"""
TO_THE_BASE = """def f(x, n, k):
    a = {layout}
    b = {view}
    a[{first}] = x[0]
    return np.sum(b)
"""
TO_THE_VIEW = """def f(x, n, k):
    a = {layout}
    b = {view}
    b[{first}] = x[0]
    return np.sum(a)
"""
X = np.random.default_rng(7).normal(size=12)


def program(text: str, layout: str, view: str) -> Any:
    names: dict[str, Any] = {"np": np, "x": X, "n": 3, "k": 1}
    names["a"] = eval(LAYOUTS[layout], names)
    ranks = np.ndim(names["a"]), np.ndim(eval(view, names))
    first, last = ", ".join(["0"] * ranks["b[" in text]), ", ".join(["-1"] * ranks[0])
    text = text.format(layout=LAYOUTS[layout], view=view, first=first, last=last)
    return define(text, f"<view {layout} {view} {hash(text)}>", np=np)["f"]


def sizes_of(layout: str) -> list[tuple[int, int]]:
    return [size for size in SIZES if layout[1] == "2" or size[1] == 1]


def agrees(function: Any, layout: str) -> None:
    """The value, and both modes against differences, for each of the sizes."""
    both = adjit.value_and_grad(function, target="python")
    direction = np.cos(X)
    for n, k in sizes_of(layout):
        value, gradient = both(X, n, k)
        assert value == pytest.approx(function(X.copy(), n, k), rel=1e-12)
        found = [
            (function(X + h * direction, n, k) - function(X - h * direction, n, k)) / (2 * h) for h in (1e-4, 1e-5)
        ]
        assert min(abs(gradient @ direction - d) for d in found) < 1e-6
        _, tangent = adjit.jvp(function, (X, n, k), (direction, 0, 0), target="python")
        assert tangent == pytest.approx(gradient @ direction, rel=1e-10)


CASES = [
    *itertools.product(("A1", "C2", "F2", "A2"), VIEWS),
    *itertools.product(("C2", "F2", "R2"), VIEWS_OF_MATRICES),
    *itertools.product(("C1", "F2"), COPIES),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout, view", CASES)
def test_store_on_both_sides(layout: str, view: str) -> None:
    agrees(program(BOTH, layout, view), layout)


@pytest.mark.parametrize("layout, view", [*itertools.product(("C1", "C2"), CONTIGUOUS)])
def test_store_on_both_sides_of_what_is_contiguous(layout: str, view: str) -> None:
    agrees(program(BOTH, layout, view), layout)


@pytest.mark.parametrize("view", [*CONTIGUOUS, *READONLY])
def test_read_in_any_layout(view: str) -> None:
    for layout in LAYOUTS:
        agrees(program(READ, layout, view), layout)


@pytest.mark.parametrize("view", [*READONLY_OF_MATRICES, *DIAGONALS])
def test_read_of_a_matrix(view: str) -> None:
    for layout in ("C2", "F2", "A2", "R2"):
        agrees(program(READ, layout, view), layout)


def refused(function: Any) -> str:
    with pytest.raises((Unsupported, ReadOnly)) as fault:
        adjit.grad(function, target="python")(X, 3, 1)
    return fault.value.message


@pytest.mark.parametrize("layout, view", [*itertools.product(("A1", "F2", "R2"), CONTIGUOUS)])
def test_a_store_that_might_be_seen_is_refused(layout: str, view: str) -> None:
    for text in (TO_THE_BASE, TO_THE_VIEW):
        message = refused(program(text, layout, view))
        assert " f\n    " + ("a[" if text is TO_THE_BASE else "b[") in message
        assert "returns a view or a copy, depending on its layout.\n  Compiled code takes a copy" in message


@pytest.mark.parametrize("view", [*READONLY, *READONLY_OF_MATRICES])
def test_a_store_that_a_view_would_see_is_refused(view: str) -> None:
    assert "returns a view.\n  Compiled code takes a copy" in refused(program(TO_THE_BASE, "C2", view))
    message = refused(program(TO_THE_VIEW, "C2", view))
    assert "NumPy returns a view that is read-only." in message
    with pytest.raises(ValueError, match="read-only"):
        program(TO_THE_VIEW, "C2", view)(X, 3, 1)


@pytest.mark.parametrize("view", DIAGONALS)
def test_a_store_into_a_diagonal_that_the_matrix_would_show_is_refused(view: str) -> None:
    for text in (TO_THE_BASE, TO_THE_VIEW):
        assert "In NumPy np.einsum at" in refused(program(text, "C2", view))


def of_a_grid(x: np.ndarray) -> float:
    a, b = x[:3] * 1.0, x[3:6] * 1.0
    rows, columns = np.meshgrid(a, b, copy=False, sparse=True)
    a[0] = x[0] * x[1]
    columns[1, 0] = x[2]
    return np.sum(rows * columns) + np.sum(b * b)


def of_a_whole_grid(x: np.ndarray) -> float:
    a = x[:3] * 1.0
    rows, columns = np.meshgrid(a, x[3:6], copy=False)
    a[0] = x[0] * x[1]
    return np.sum(rows * columns)


def test_grids() -> None:
    check(of_a_grid, lambda: (X.copy(),), second=False)
    assert "In NumPy np.meshgrid" in refused(lambda x, n, k: of_a_whole_grid(x))


# ------------------------------------------------------------------------------------------- where a store is taken


def stored_before(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    a[0, 0] = x[1] * x[2]
    r = a.ravel()
    d = np.diag(a)
    return np.sum(r * r * x[0]) + np.sum(d * d)


def stored_after_the_last_read(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)[:, :2]
    r = a.ravel()
    s = np.sum(r * r)
    a[0, 0] = x[3] * x[3]
    return s + np.sum(a * a)


def a_copy_of_each_trip(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    s = 0.0
    for i in range(4):
        column = a[:, i].ravel()
        s += np.sum(column * column)
        a[0, i] = s
    return s


def the_base_goes(x: np.ndarray) -> float:
    a = np.ascontiguousarray((x * 1.0).reshape(3, 4).T)
    a[0, 1] = a[0, 0] * x[5]
    a[1, :] *= 2.0
    return np.sum(a * a)


def one_branch_stores(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    r = a.ravel()
    if x[0] > 9.0:
        s = np.sum(r * r)
    else:
        a[0, 0] = x[1] * x[2]
        s = np.sum(a * a * a)
    return s


def each_row(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    for k, row in enumerate(a):
        row[0] = row[1] * row[2] * k
    for row in a.T:
        row *= x[0]
    for row, other in zip(a, a[::-1], strict=True):
        row += 0.1 * other
    return np.sum(a * a)


def elements_of_flat(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    a.flat[1] = x[3] * x[4]
    f = a.flat
    f[2:4] = x[0]
    f[[4, 5]] *= 2.0
    part = f[4:7]
    part[0] = 100.0
    s = 0.0
    for v in a.T.flat:
        s = 0.5 * s + v * v
    for k, v in enumerate(f):
        s += k * v
    return s + np.sum(a.flat) * f[5] + part[1]


def rank_0(p: np.ndarray) -> float:
    x, y = p[..., 0], p[..., 1]
    q = p * p
    p[2] = x * y
    return np.sum(p * q)


def matrix_power_of_1(x: np.ndarray) -> float:
    a = (x * 1.0)[:9].reshape(3, 3)
    b = np.linalg.matrix_power(a, 1)
    b[0, 1] = x[3] * x[4]
    return np.sum(a * a)


def lists_and_tuples(x: np.ndarray) -> float:
    return x[0] * ([1, 2] == (1, 2)) + x[1] * ([1, 2] != (1, 2)) + x[2] * ([1, 2] == [1, 2])


def fortran(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    b = np.asfortranarray(a.T)
    b[0, 1] = x[0] * x[1]
    return np.sum(a * a) + np.sum(np.asfortranarray(a) * a)


def through_functions(x: np.ndarray) -> float:
    def scale(v, by):
        v[:] = v * by

    a = (x * 1.0).reshape(3, 4)
    scale(np.expand_dims(a, 1)[0, 0], x[1])
    scale(np.asarray(a, dtype=np.float64)[1], x[2])
    scale(a.view()[:, 0], x[3])
    return np.sum(a * a)


def made_again_in_each_branch(x: np.ndarray) -> float:
    s = 0.0
    for i in range(4):
        if x[i] > 0.0:
            a = (x * x[i]).reshape(3, 4)
            a[0, 0] = x[i]
        else:
            a = np.ones((3, 4))
            a[1, 2] = x[i] * x[i]
        s += np.sum(np.sin(a.T.ravel()) * x)
    return s


def factor_of_what_is_mended(x: np.ndarray) -> float:
    s = 0.0
    for i in range(4):
        a = np.outer(x[:3], x[:3]) + x[i] * np.eye(3)
        try:
            factor = cho_factor(a)
        except np.linalg.LinAlgError:
            a[np.diag_indices_from(a)] += 9.0
            factor = cho_factor(a)
        s += np.sum(cho_solve(factor, x[3:6]))
    return s


TAKEN = (
    made_again_in_each_branch, factor_of_what_is_mended,
    stored_before, stored_after_the_last_read, a_copy_of_each_trip, the_base_goes, one_branch_stores, each_row,
    elements_of_flat, rank_0, lists_and_tuples, fortran, matrix_power_of_1, through_functions,
)  # fmt: skip


@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_taken(function: Any) -> None:
    check(function, lambda: (X.copy() + 0.1,))


def test_views_compiled() -> None:
    def all_of_them(x: np.ndarray) -> float:
        a = (x * 1.0).reshape(3, 4)
        np.expand_dims(a, 1)[2, 0, 1] = x[0] * x[1]
        np.asarray(a.T, dtype=np.float64)[0, 1] = x[2] * x[3]
        a.view()[1] *= 2.0
        a.flat[7] = x[5] * x[5]
        c = np.conj(a)
        c[0] = 0.0
        np.einsum("ij->ji", a)[3, 0] = x[3] * x[3]
        return np.sum(a * a) + np.sum(c) + np.sum(np.broadcast_to(a[0], (2, 4)) * x[0]) + np.sum(np.diag(a) * a.T[0, 0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(all_of_them, lambda: (X.copy(),), second=False, target="cpu")


# ------------------------------------------------------------------------------------------------ and where it is not


def seen_in_the_next_trip(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    r = a.ravel()
    s = 0.0
    for i in range(3):
        s += r[i]
        a[0, i] = s
    return s


def seen_through_a_view(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    r = a.ravel()[1:]
    a[1:][0, 0] = x[0]
    return np.sum(r[::-1])


def seen_through_another_copy(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    r, q = a.ravel(), a.reshape(-1)
    r[0] = x[1]
    return np.sum(q)


def seen_through_a_copy_of_the_copy(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    r = np.ascontiguousarray(a.T)
    q = r.T.ravel()
    q[0] = x[1]
    return np.sum(a)


def an_earlier_copy(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    last = a[:, 0].ravel()
    s = 0.0
    for i in range(4):
        r = a[:, i].ravel()
        a[0, 0] = x[i]
        s += last[0]
        last = r
    return s


def in_one_branch(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    r = a.ravel()
    if x[0] > 0.0:
        a[0, 0] = x[0]
    return np.sum(r)


def of_an_element(p: np.ndarray) -> float:
    x = p[..., 0]
    p[0] = 2.0
    return x * np.sum(p)


def into_an_element(p: np.ndarray) -> float:
    x = p[..., 0]
    x += 2.0
    return x * np.sum(p)


def of_flat(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4).T
    a.flat[0] = 1.0
    return np.sum(a)


def in_a_helper(x: np.ndarray) -> float:
    def change(v):
        v[0, 0] = 1.0

    a = (x * 1.0).reshape(3, 4).T
    r = np.ravel(a)
    change(a)
    return np.sum(r)


def of_a_real_part(x: np.ndarray) -> float:
    z = x + 1j * x
    r = z.real.ravel()
    r[0] = 5.0
    return np.sum(z.real * x)


def of_a_part_of_a_product(x: np.ndarray) -> float:
    r = (x * (2.0 + 1.0j)).real
    w = np.ascontiguousarray(r)
    r[:] = 1.0
    return np.sum(w)


def of_an_imaginary_part(x: np.ndarray) -> float:
    z = x + 1j * x
    r = np.ascontiguousarray(np.imag(z))
    z[0] = 5.0j
    return np.sum(r)


def of_another_type(x: np.ndarray) -> float:
    a = x.astype(np.float32) * 2.0
    r = np.asarray(a, dtype=np.float64)
    a *= 0.0
    return np.sum(r)


def of_the_same_type_in_numpy(x: np.ndarray) -> float:
    a = x.astype(np.float32) + 1
    r = np.asarray(a, dtype=np.float32)
    a *= 0.0
    return np.sum(r)


def of_another_order(x: np.ndarray) -> float:
    small = np.ones(3, np.float32)
    a = (x * 1.0).reshape(3, 4)[:, [0, 1]]
    b = np.asarray(a, dtype=np.float64)
    r = b.ravel()
    r[1] = 50.0
    return np.sum(b * b) + small[0]


def chosen_in_each_trip(x: np.ndarray) -> float:
    s = 0.0
    for i in range(4):
        if x[i] > 0.0:
            a = (x * x[i]).reshape(3, 4)
        else:
            a = (x + 1.0).reshape(3, 4)
        r = a.T.ravel()
        a[0, 0] = x[i]
        s += np.sum(r)
    return s


def of_the_trip_before(x: np.ndarray) -> float:
    a = (x * 2.0).reshape(3, 4)
    r = a.T.ravel()
    s = 0.0
    for i in range(4):
        a[0, 0] = x[i]
        s += np.sum(r)
        a = (x * x[i]).reshape(3, 4)
        r = a.T.ravel()
    return s


def made_again_on_one_path(x: np.ndarray) -> float:
    s = 0.0
    for i in range(4):
        if i % 2 == 0:
            a = x * x[i]
            r = a.reshape(3, 4).T.ravel()
        a[0] = x[i]
        s += np.sum(r)
    return s


def of_a_dictionary(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    rows = {}
    for row in a:
        if row[0] < 9.0:
            rows[len(rows)] = row
    a[1] = x[0]
    return np.sum(rows[1])


def of_an_item_of_a_dictionary(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    rows = {}
    for row in a:
        if row[0] < 9.0:
            rows[len(rows)] = row
    second = rows[1]
    a[1] = x[0]
    return np.sum(second)


def of_a_list_made_of_a_dictionary(x: np.ndarray) -> float:
    a = (x * 1.0).reshape(3, 4)
    rows = {}
    for row in a:
        if row[0] < 9.0:
            rows[len(rows)] = row
    rows = list(rows.values())[1:]
    a[1] = x[0]
    return np.sum(rows[0])


REFUSED = (
    of_a_dictionary, of_an_item_of_a_dictionary, of_a_list_made_of_a_dictionary,
    chosen_in_each_trip, of_the_trip_before, made_again_on_one_path,
    seen_in_the_next_trip, seen_through_a_view, seen_through_another_copy, seen_through_a_copy_of_the_copy,
    an_earlier_copy, in_one_branch, of_an_element, into_an_element, of_flat, in_a_helper, of_a_real_part,
    of_an_imaginary_part, of_a_part_of_a_product, of_another_type, of_the_same_type_in_numpy,
    of_another_order,
)  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Any) -> None:
    with pytest.raises(Unsupported, match="Compiled code takes a (copy|view)|NumPy stores into the array"):
        adjit.grad(function, target="python")(X)


def arguments_of_known_types(x: np.ndarray, y: np.ndarray) -> float:
    a, b = x.copy(), np.asarray(y, dtype=np.float64)
    r = np.asarray(a, dtype=np.float64)
    b[0] = r[1]
    return np.sum(r) + np.sum(y * y) + np.sum(b * b)


def test_what_is_of_a_known_type_is_a_view_or_a_copy() -> None:
    y = np.array([0.5, -0.3], np.float32)
    value, (of_x, of_y) = adjit.value_and_grad(arguments_of_known_types, wrt=(0, 1), target="python")(X.copy(), y)
    assert value == pytest.approx(arguments_of_known_types(X.copy(), y.copy()))
    assert of_x[:3] == pytest.approx([1.0, 1.0 + 2.0 * X[1], 1.0])
    assert of_y == pytest.approx([1.0, -1.2])
