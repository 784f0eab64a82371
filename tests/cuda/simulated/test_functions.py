"""Every function of the table in double precision: values, tangents and adjoints."""

import numpy as np
import pytest

from tests.cuda.simulated.checks import arguments, check
from tests.cuda.simulated.functions import FUNCTIONS

# eleven of twelve are left to the long run
NAMES = [
    pytest.param(name, marks=[pytest.mark.long] if k % 12 and name not in ("clusters", "around_zero") else [])
    for k, name in enumerate(FUNCTIONS)
]


@pytest.mark.parametrize("name", NAMES)
def test_tangent_and_adjoint(name):
    function, shapes = FUNCTIONS[name]
    check(function, arguments(shapes, np.float64), np.float64)
