"""The program of `make demo-cuda` has right gradients, on a small model (the demo itself asks the simulator)."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import adjit

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def acoustic():
    spec = importlib.util.spec_from_file_location("acoustic", FOLDER / "acoustic.py")
    module = sys.modules["acoustic"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["acoustic"]


def test_gradients(acoustic):
    shape = (12, 30)
    c, start = acoustic.ground(shape), acoustic.first_guess(shape)
    given = acoustic.sponge_of(shape, 4), acoustic.wavelet_of(30, 8.0), 5
    observed, _ = adjit.vjp(acoustic.recorded, c, *given, target="python")
    assert np.abs(observed).max() > 1e-3

    def value(c):
        return adjit.vjp(acoustic.misfit, c, *given, observed, target="python")[0]

    found, gradient = adjit.value_and_grad(acoustic.misfit, target="python")(start, *given, observed)
    assert found == value(start)
    assert value(c) == 0.0
    direction, step = np.random.default_rng(0).normal(size=shape), 1e-6
    changed = (value(start + step * direction) - value(start - step * direction)) / (2.0 * step)
    assert np.vdot(gradient, direction) == pytest.approx(changed, rel=1e-6)


def test_launches(acoustic):
    types = "float64[:, ::1], float64[:, ::1], float64[::1], int64, float64[:, ::1]"
    text = adjit.value_and_grad(acoustic.misfit, target="cuda").source(types)
    forward, reverse = text[text.rindex("\ndef ") :].split("    # ---- reverse sweep")
    # a step, a source and the receivers; back, the receivers, what the step contributes, and the sum of that
    loops = [half[half.index("    for t in ") :] for half in (forward, reverse)]
    assert loops[0].split("\n    traces_bar")[0].count("misfit_value_and_grad_L") == 3
    assert loops[1].count("misfit_value_and_grad_L") == 3
    assert not any(line.lstrip().startswith("cuda.atomic") for line in text.splitlines())
