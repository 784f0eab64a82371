"""Time loops whose steps have memory of their own: values, tangents and adjoints, and no races in kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cuda.simulated.checks import arguments, check
from tests.cuda.time_loops import PROGRAMS

NAMES = [pytest.param(n, marks=[] if n in ("waves", "heat_in_place") else [pytest.mark.long]) for n in PROGRAMS]


@pytest.mark.parametrize("name", NAMES)
def test_tangent_and_adjoint(name):
    function, _, _, shapes = PROGRAMS[name]
    check(function, arguments([3 if s is None else s for s in shapes], np.float64), np.float64)
