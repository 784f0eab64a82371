"""The examples: the demo's objective has right gradients, and each script is run on a small problem and, in the long
tests, on the one that it is about. What is right is asserted in the scripts themselves, by `check`."""

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjit

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = ("american_option", "bundle_adjustment", "network", "optimal_control", "predators", "relaxation")
BESIDE = ("gaussian_mixture", "waveform_inversion")  # scripts that import the file beside them
QUICK = ("bundle_adjustment",)  # those that take less than 5 s of one core, most of it compilation


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def mixture():
    return example("mixture")


@pytest.fixture
def problem():
    """logits, means, factors, points: two components, three features, seven points."""
    draw = np.random.default_rng(3)
    factors = np.tril(0.4 * draw.normal(size=(2, 3, 3)))
    return draw.normal(size=2), draw.normal(size=(2, 3)), factors, draw.normal(size=(7, 3))


def test_objective_is_the_likelihood(mixture, problem):
    logits, means, factors, points = problem
    weights = np.exp(logits) / np.exp(logits).sum()
    densities = np.zeros(len(points))
    for weight, mean, covariance in zip(weights, means, mixture.covariances_of(factors), strict=True):
        offset = points - mean
        distance = np.einsum("ni,ij,nj->n", offset, np.linalg.inv(covariance), offset)
        densities += weight * np.exp(-0.5 * distance) / math.sqrt(np.linalg.det(2.0 * math.pi * covariance))
    assert mixture.negative_log_likelihood(*problem) == pytest.approx(-np.log(densities).mean(), rel=1e-13)


def test_vector_and_parameters_are_inverse(mixture, problem):
    logits, means, factors, _ = problem
    for found, wanted in zip(mixture.unpack(mixture.pack(logits, means, factors), 2, 3), problem, strict=False):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(mixture.factors_of(mixture.covariances_of(factors)), factors, atol=1e-14)


def test_gradients(mixture, problem):
    adjit.check_grads(mixture.negative_log_likelihood, problem)


def test_upper_triangles_do_not_count(mixture, problem):
    value, gradient = adjit.value_and_grad(mixture.negative_log_likelihood, wrt="factors")(*problem)
    assert value == pytest.approx(mixture.negative_log_likelihood(*problem), rel=1e-14)
    assert not np.triu(gradient, 1).any()
    assert np.tril(gradient).all(axis=0)[np.tril_indices(3)].all()


# ------------------------------------------------------------------------------------------------------------ scripts


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in SCRIPTS])
def test_script_on_a_small_problem(name, capsys):
    example(name).main(["--small"])
    assert capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("name", BESIDE)
def test_script_with_a_module_on_a_small_problem(name, capsys, monkeypatch):
    if name == "waveform_inversion" and not importlib.util.find_spec("numba_cuda"):
        pytest.skip("needs numba-cuda")
    monkeypatch.syspath_prepend(FOLDER)
    example(name).main(["--small"])
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "name, key",
    [
        ("bundle_adjustment", "sizes"),
        pytest.param("american_option", "value", marks=pytest.mark.long),
    ],
)
def test_checks_of_scripts_can_fail(name, key):
    module = example(name)
    found = module.solve(6, 60) if name == "bundle_adjustment" else module.solve(2000, 5)
    found[key] = [2.0 * size for size in found[key]] if key == "sizes" else 2.0 * found[key]
    with pytest.raises(AssertionError):
        module.check(found)


@pytest.mark.long
@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name, tmp_path):
    """In full, with its picture, where matplotlib and what else it needs is installed."""
    needed = ["matplotlib", "sklearn"] if name == "network" else ["matplotlib"]
    missing = [one for one in needed if not importlib.util.find_spec(one)]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, FOLDER / f"{name}.py", "--out", tmp_path]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (picture,) = tmp_path.glob("*.png")
    assert picture.stat().st_size > 10_000


def test_every_script_is_tested():
    scripts = {path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert scripts == {*SCRIPTS, *BESIDE}
