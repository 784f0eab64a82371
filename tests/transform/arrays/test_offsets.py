"""Ranges that start where the elements do."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


def laplace(u):
    v = u.copy()
    v[1:-1] = u[1:-1] + 0.1 * (u[:-2] + u[2:] - 2.0 * u[1:-1])
    return np.sum(v * v)


def difference(u):
    return np.sum((u[1:] - u[:-1]) ** 2)


@pytest.mark.parametrize(
    "function, header",
    [(laplace, "for i in range(1, u.size - 1):"), (difference, "for i in range(u.size - 1):")],
)
def test_most_subscripts_have_no_offset(function, header):
    source = adjit.grad(function).source("float64[::1]", tuned=True)
    assert header in source
    for length in (0, 1, 2, 5):
        check(function, lambda: (np.sin(1.0 + np.arange(float(length))),), (0,), second=False)  # noqa: B023
