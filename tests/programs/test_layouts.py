"""Arguments that are written to, in whatever order their elements lie: the copy written to lies in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
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
