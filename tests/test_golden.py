"""The generated sources under tests/golden/: reviewed like code, the same byte for byte each time, and right.

After a change that is meant to change them: `pytest tests/test_golden.py --update-golden`, and read the difference.
"""

import runpy

import numpy as np
import pytest

from tests.golden.container_primals import CONTAINERS
from tests.golden.generate import OUTPUTS, generated, golden
from tests.golden.primals import CASES, TUNED

STEP = 1e-5

outputs = pytest.mark.parametrize(
    ("case", "tuned"), OUTPUTS, ids=[f"{case.name}{', tuned' * tuned}" for case, tuned in OUTPUTS]
)


@outputs
def test_output(case, tuned, request):
    text = generated(case, tuned)
    if request.config.getoption("--update-golden"):
        golden(case, tuned).write_text(text, encoding="utf-8")
    assert text == golden(case, tuned).read_text(encoding="utf-8")
    assert text == generated(case, tuned)


@outputs
def test_output_is_right(case, tuned):
    """Under plain Python, against differences of fourth order along a direction."""
    draw = np.random.default_rng(1)
    directions = {k: np.asarray(draw.normal(size=np.shape(case.arguments[k])))[()] for k in case.wrt}

    def at(scale):
        moved = [a + scale * directions[k] if k in directions else a for k, a in enumerate(case.arguments)]
        return case.function(*moved)

    differences = (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)
    *_, saved = runpy.run_path(str(golden(case, tuned))).values()
    derivative = saved.py_func
    kept = [np.copy(a) for a in case.arguments]
    if case.mode == "forward":
        tangents = [directions.get(k, np.zeros_like(a)[()]) for k, a in enumerate(case.arguments)]
        value, found = derivative(*case.arguments, *tangents)
    else:
        result = derivative(*case.arguments)
        value, gradients = result if case.mode == "value" else (None, result)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        found = sum(np.sum(g * directions[k]) for k, g in zip(case.wrt, gradients, strict=True))
    assert found == pytest.approx(differences, rel=1e-8)  # rounding of the differences, about 1e-16 / STEP
    if value is not None:
        assert value == pytest.approx(case.function(*case.arguments), rel=1e-14)
    for argument, before in zip(case.arguments, kept, strict=True):
        np.testing.assert_array_equal(argument, before)


def test_no_output_is_left_over():
    files = {file.stem for file in golden(CASES[0]).parent.glob("*.py")}
    assert files - {"__init__", "container_primals", "generate", "primals"} == {case.name for case in CASES}
    assert {file.stem for file in golden(CONTAINERS[0]).parent.glob("*.py")} == {case.name for case in CONTAINERS}
    assert {file.stem for file in golden(CASES[0], tuned=True).parent.glob("*.py")} == TUNED
