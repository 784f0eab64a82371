"""Arguments that are written to, in whatever order their elements lie: the copy written to lies in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
from tests.defining import define
from tests.programs.harness import check
from tests.programs.rows import wave


def through_ravel(a):
    r = np.ravel(a.T)
    r[1] = 50.0 * a[0, 0]
    return np.sum(a * a * a[0, 1])


def every_element(a):
    a *= a
    r = a.T.ravel()
    r *= 2.0
    return np.sum(a * np.cos(a))


def as_a_result(a):
    for t in range(3):
        r = a.T.ravel()
        r[1] = np.sin(r[1]) * r[0]
        r[0] = r[1] * r[2]
    return a


def checkpointed(a):
    for t in adjit.checkpoint(range(3)):
        r = a.T.ravel()
        r[1] = np.sin(r[1]) * r[0]
        r[0] = r[1] * r[2]
    return np.sum(a * a)


def first_of_all(a):
    r = a.T.ravel()
    r[1] *= r[0]
    return np.sum(a * r[1])


def in_a_helper(a):
    return first_of_all(a) + a[0, 1] * first_of_all(a)


def by_elements(a):
    a[0, 0] = 2.0 * a[1, 1]
    b = a.T[1:]
    b *= b[::-1]
    return np.sum(a * a * a) + np.sum(b @ a)


def three_axes(a):
    r = a.T.reshape(-1)
    r[1] = 50.0 * a[0, 0, 0]
    return np.sum(a * a * a[0, 1, 1])


def fortran() -> np.ndarray:
    return np.asfortranarray(wave(2, 3))


LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    "C": lambda: wave(2, 3),
    "F": fortran,
    "columns": lambda: wave(2, 6)[:, ::2],
    "rows of F": lambda: np.asfortranarray(wave(4, 3))[::2],
}
RAVELLED = [through_ravel, every_element, as_a_result, checkpointed, in_a_helper]


@pytest.mark.parametrize("program", RAVELLED)
def test_a_ravelled_transpose_is_a_view(program: Any) -> None:
    check(program, lambda: (fortran(),))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(layout: str) -> None:
    check(by_elements, lambda: (LAYOUTS[layout](),))


def test_three_axes() -> None:
    check(three_axes, lambda: (np.asfortranarray(wave(2, 3, 2)),))


def test_compiled() -> None:
    check(through_ravel, lambda: (fortran(),), second=False, target="cpu")


def test_a_result_has_the_order_of_the_argument() -> None:
    value, _ = adjit.jvp(as_a_result, (fortran(),), (fortran(),), target="python")
    assert value.flags.f_contiguous


# What NumPy makes in the order of its operands, and adjit in C order: where not all operands are in C order, it is
# known only when it runs whether a view of it is one.
MADE = (
    "a * 2.0", "np.zeros_like(a)", "np.ones_like(a)", "np.full_like(a, 2.0)", "np.full_like(a, a[0, 0])", "np.copy(a)",
    "np.copy(a + 0.0)", "a.copy()", "(a * 2.0).copy()", "a.astype(np.float64)", "np.array(a)",
    "np.where(a > 0, a, 1.0)", "np.maximum(a, 0.1)", "a if a[0, 0] > -9.0 else a * 2.0", "a + np.ones(3)",
    "a[:, :] + a[0]", "(a.T * 2.0).T",
    "(a * 2.0).T * 1.0", "(a * 2.0).T", "a.T * 2.0", "a @ np.eye(3)", "a[:, [0, 1]]", "a[[0, 1]]",
    "np.cumsum(a, axis=0)", "np.roll(a, 1)", "np.concatenate((a, a))", "np.stack((a, a)).sum(axis=0)",
    "np.max(np.stack((a, a)), axis=0)", "np.asfortranarray(a)", "np.ascontiguousarray(a)", "a.reshape(3, 2) * 1.0",
    "np.broadcast_to(a, (2, 2, 3)) * 1.0", "np.linalg.inv(a[:, :2]) * 1.0",
    "a.reshape(3, 2)", "a.T.reshape(2, 3)", "a[:, :2].reshape(2, 2)", "a[:, 1].reshape(2, 1) + a[0]",
    "a[::-1].reshape(3, 2)", "a[:, None, 1:].reshape(2, 2)", "a.reshape(3, 2).reshape(2, 3)",
    "np.asarray(a, np.float64)", "a.real", "a[:, ::-1]", "np.flipud(a)", "a.swapaxes(0, 1)",
)  # fmt: skip
ASKED = (
    "b.ravel()", "b.T.ravel()", "b.reshape(-1)", "np.ascontiguousarray(b)[0]", "np.asfortranarray(b)[0]",
    "np.asfortranarray(b.T)[0]", "b[0].ravel()", "b[0].reshape(-1)", "b.flatten()",
)  # fmt: skip
THROUGH = """def f(a):
    b = {made}
    r = {asked}
    r[1] = 5.0 * a[0, 0]
    return np.sum(b * b * a[0, 1]) + np.sum(r * r)
"""
ORDERS: dict[str, Callable[[], np.ndarray]] = {**LAYOUTS, "backwards": lambda: wave(2, 3)[::-1, ::-1]}
BY_LAYOUT = "returns a view or a copy, depending on its layout."


def value_or_refusal(function: Any, array: Callable[[], np.ndarray]) -> bool:
    """Whether the value is plain Python's; if not, the user's line has to be refused."""
    try:
        value, _ = adjit.value_and_grad(function, target="python")(array())
    except adjit.errors.Unsupported as fault:
        if BY_LAYOUT in fault.message and " f\n    r[1] = " in fault.message:
            return False
        raise
    assert value == pytest.approx(function(array()), rel=1e-12)
    return True


def through(made: str, asked: str) -> Any:
    text = THROUGH.format(made=made, asked=asked)
    return define(text, f"<order {made} {asked}>", np=np)["f"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("made", MADE)
def test_what_is_made_in_the_order_of_others(made: str) -> None:
    for asked in ASKED:
        value_or_refusal(through(made, asked), fortran)
    for order in ("columns", "rows of F", "backwards"):
        value_or_refusal(through(made, ASKED[0]), ORDERS[order])


# What of these is refused where the argument is in C order: what is made in another order, its transpose, and
# views that may have gaps.
TURNED = (
    "(a * 2.0).T * 1.0", "(a.T * 2.0).T", "(a * 2.0).T", "a.T * 2.0", "a[:, [0, 1]]", "np.asfortranarray(a)",
    "a.T.reshape(2, 3)", "a[:, :2].reshape(2, 2)", "a[:, 1].reshape(2, 1) + a[0]", "a[::-1].reshape(3, 2)",
    "a[:, None, 1:].reshape(2, 2)", "a[:, ::-1]", "np.flipud(a)", "a.swapaxes(0, 1)",
)  # fmt: skip


def test_a_store_by_flat_is_one_in_any_order() -> None:
    for made in ("a * 2.0", "np.cumsum(a, axis=0)"):
        text = f"def f(a):\n    b = {made}\n    b.flat[1] = a[0, 0]\n    return np.sum(b * b * a)\n"
        for order in ("C", "F"):
            try:
                check(define(text, f"<flat {made}>", np=np)["f"], lambda order=order: (LAYOUTS[order](),), second=False)
            except adjit.errors.Unsupported as fault:
                if order == "C" or "memory that `.flat` shares" not in fault.message:
                    raise


@pytest.mark.parametrize("asked", ("b.ravel()", "b[0].ravel()"))
def test_nothing_is_refused_in_c_order(asked: str) -> None:
    for made in MADE:
        assert value_or_refusal(through(made, asked), LAYOUTS["C"]) or made in TURNED
    assert all(not value_or_refusal(through(made, asked), LAYOUTS["C"]) for made in TURNED)


@pytest.mark.parametrize("order", ORDERS)
def test_which_orders_are_known(order: str) -> None:
    assert value_or_refusal(through("a[:, 1:] * 2.0", "b.ravel()"), ORDERS[order]) == (order == "C")
    assert value_or_refusal(through("a.copy()", "b.ravel()"), ORDERS[order])
    assert value_or_refusal(through("a * 2.0", "b.flatten()"), ORDERS[order])


def carried_round(a):
    b = np.zeros((2, 3))
    s = 0.0
    for t in range(3):
        r = b.ravel()
        r[1] = 3.0 * a[0, 0]
        s += np.sum(b * b)
        b = a * 2.0
    return s


def of_another_function(a):
    b = twice(a) if a[0, 0] > 0.0 else np.zeros((2, 3))
    r = b.reshape(-1)
    r[1] = 3.0
    return np.sum(b * a)


def twice(a):
    return 2.0 * a


@pytest.mark.parametrize("program", (carried_round, of_another_function))
def test_on_some_path(program: Any) -> None:
    check(program, lambda: (wave(2, 3),), second=False)
    with pytest.raises(adjit.errors.Unsupported) as fault:
        adjit.grad(program, target="python")(fortran())
    assert BY_LAYOUT in fault.value.message
    assert "Compiled code takes a view, and the other one is read after this store." in fault.value.message


def only_read(a):
    b = a * 2.0
    return np.sum(b.ravel() * b.T.ravel()) + np.sum(np.ascontiguousarray(b)[0] * b[1].ravel())


def read_on_one_side(a):
    r = (a * 2.0).ravel()
    r[1] = r[0] * a[0, 1]
    b = np.ascontiguousarray(np.sin(a))
    b[0] *= b[1]
    m = b.ravel().reshape(3, 2)
    m[0] *= m[1]
    return np.sum(r * r) + np.sum(b * b)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("program", (only_read, read_on_one_side))
def test_nothing_else_is_refused(program: Any, order: str) -> None:
    check(program, lambda: (ORDERS[order](),), second=False)


def stored_through_ravel(a):
    r = a.ravel()
    r[0] = 3.0 * r[1]
    return np.sum(a * a)


def derived_inside(a):
    b = a * 2.0
    return np.sum(adjit.grad(stored_through_ravel)(b) * a)


def of_some_columns(a):
    return np.sum(adjit.grad(stored_through_ravel)(a[:, [0, 1]]) * a[:, :2])


def of_a_real_part(a):
    z = a + 1j * a
    return np.sum(adjit.grad(stored_through_ravel)(z.real) * a)


def test_a_derivative_made_inside_asks_for_the_order() -> None:
    """What it gets is in C order here; if it is not in NumPy, what is refused of such an argument is refused."""
    check(derived_inside, lambda: (wave(2, 3),), second=False)
    for program, argument in ((derived_inside, fortran()), (of_some_columns, wave(2, 3)), (of_a_real_part, wave(2, 3))):
        with pytest.raises(adjit.errors.Unsupported) as fault:
            adjit.grad(program, target="python")(argument)
        assert BY_LAYOUT in fault.value.message


def ravelled_and_weighed(a):
    r = a.T.ravel()
    r = r[1:] * r[:-1]
    return np.sum(r * np.arange(r.size)) + np.sum(a.T @ a)


@pytest.mark.parametrize("target", ("python", "cpu"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tangents_in_another_order_than_their_arguments(layout: str, target: Any) -> None:
    primal = LAYOUTS[layout]()
    found = set()
    for order in ("C", "F"):
        for gaps in (1, 2):
            dot = np.repeat(np.array(wave(*primal.shape) + 1.0, order=order), gaps, axis=0)[::gaps]
            found.add(round(float(adjit.jvp(ravelled_and_weighed, (primal,), (dot,), target=target)[1]), 9))
    step = 1e-6 * (wave(*primal.shape) + 1.0)
    moved = (ravelled_and_weighed(primal + step) - ravelled_and_weighed(primal - step)) / 2e-6
    assert len(found) == 1
    assert found.pop() == pytest.approx(moved, rel=1e-6)


def norms_of_what_runs_backwards(a):
    r = a[::-1, 1]
    return np.linalg.norm(r) + np.linalg.norm(a[0], 1) * np.linalg.norm(a[1, ::-2]) + np.linalg.norm(a)


@pytest.mark.parametrize("target", ("python", "cpu"))
def test_norms_of_vectors_that_run_backwards(target: Any) -> None:
    check(norms_of_what_runs_backwards, lambda: (wave(3, 4)[::-1, ::-1],), second=False, target=target)
