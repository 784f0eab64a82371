"""Gradients against the hand-written adjoints of ../shared, where that folder lies beside the checkout."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import adjit

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
EXAMPLES = sorted(p for p in (SHARED / "design" / "golden").glob("*.py") if p.stem not in ("test_golden", "growable"))
WORKLOADS = sorted((SHARED / "bench").glob("wl_*.py"))

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="there is no ../shared")


@pytest.fixture
def imported(monkeypatch):
    """A module, whose neighbours it may import."""

    def load(path):
        monkeypatch.syspath_prepend(str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return load


def assert_right(function, arguments, wrt, wanted):
    """Reverse mode against `wanted`, entry by entry relative to the largest, and forward mode against reverse mode."""
    found, gradients = adjit.value_and_grad(function, wrt=wrt)(*arguments)
    assert found == pytest.approx(function(*arguments), rel=1e-12)
    assert len(gradients) == len(wanted) == len(wrt)
    for gradient, reference in zip(gradients, wanted, strict=True):
        assert np.shape(gradient) == np.shape(reference)
        np.testing.assert_allclose(gradient, reference, rtol=1e-10, atol=1e-10 * np.max(np.abs(reference)))
    draw = np.random.default_rng(5)
    tangents = [
        np.asarray(draw.normal(size=np.shape(a)))[()] if k in wrt else np.zeros_like(a)[()]
        for k, a in enumerate(arguments)
    ]
    _, tangent = adjit.jvp(function, arguments, tangents)
    products = [gradient * tangents[k] for k, gradient in zip(wrt, gradients, strict=True)]
    # to rounding of the sum, which may cancel
    size = sum(np.abs(product).sum() for product in products)
    assert tangent == pytest.approx(sum(product.sum() for product in products), rel=1e-12, abs=1e-12 * size)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, imported):
    example = imported(path)
    wanted = example.adjoint(*example.arguments, 1.0)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert_right(example.primal, example.arguments, example.active, wanted)
    if hasattr(example, "diffuse_vjp_u"):
        assert_right(example.primal, example.arguments, (0,), (example.diffuse_vjp_u(*example.arguments, 1.0),))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem.removeprefix("wl_"))
def test_workload(path, imported):
    workload = imported(path)
    arguments = workload.inputs("small")
    _, wanted = workload.CONTENDERS["hand"](arguments)()
    wanted = wanted if isinstance(wanted, tuple | list) else (wanted,)
    function = getattr(workload, "differentiated", workload.primal)
    assert_right(function, arguments, tuple(workload.WRT), wanted)
