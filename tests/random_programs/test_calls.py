"""Random programs whose functions stay functions have the derivatives that they have written out."""

import numpy as np
import pytest

import adjit
from adjit.transform.frontend.walk import routines
from tests.defining import define
from tests.random_programs.calls import text_of

ALONG = np.array([0.3, -0.2, 0.5, 0.1])


def derivatives(seed, monkeypatch, is_written_out, target):
    """Value, gradient, tangent and change of the gradient of a program, and how many functions its source has."""
    monkeypatch.setattr(routines, "MOST_WRITTEN_OUT", 10**9 if is_written_out else -1)
    monkeypatch.setattr(routines, "MOST_SHORT", 1)
    main = define(text_of(seed), f"<calls {seed}>")["main"]
    x = np.random.default_rng(seed).normal(size=4)
    gradient = adjit.value_and_grad(main, target=target)
    value, bar = gradient(x)
    assert value == pytest.approx(main(x), rel=1e-12)
    # the others have the same calls
    change = adjit.hvp(main, target=target)(x, ALONG) if target == "python" else bar
    tangents = adjit.jacfwd(main, target=target)(x) if target == "python" else bar
    np.testing.assert_allclose(tangents, bar, rtol=1e-9, atol=1e-12)
    return np.concatenate([bar, change]), gradient.source(x).count("\ndef ")


def compare(seed, monkeypatch, target="python"):
    wanted, none = derivatives(seed, monkeypatch, True, target)
    found, some = derivatives(seed, monkeypatch, False, target)
    assert none == 0
    assert some > 0
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=text_of(seed))


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 400))])
def test_derivatives(seed, monkeypatch):
    compare(seed, monkeypatch)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(400, 440))])
def test_compiled(seed, monkeypatch):
    compare(seed, monkeypatch, "cpu")
