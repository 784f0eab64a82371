"""Under a numba that adjit does not know, and on request, all is compiled by numba's own means, and means the same."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

from adjit.runtime.backend import versions

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import numpy as np
import adjit
from adjit.runtime.backend import pool, stand_in
from adjit.runtime.backend.versions import is_plain

def network(w, x, n):
    h = np.tanh(x @ w)
    for k in range(n):
        h = np.maximum(h @ w[:, : h.shape[1]], 0.1 * h) + min(k, 2) * np.zeros_like(h)
    return np.sum(h * x)

rng = np.random.default_rng(0)
w, x = rng.normal(size=(300, 300)) / 10, rng.normal(size=(300, 300))
print(is_plain(), stand_in(np.zeros_like, 1) is None)
print(repr(np.sum(adjit.grad(network)(w, x, 3))), repr(np.sum(adjit.grad(network, target="python")(w, x, 3))))
print(adjit.grad(network).source(w, x, 3, tuned=True).count("workspace."), adjit.workspace_bytes() > 0)
adjit.clear_workspaces()
"""


def run(tmp_path, **environment):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def fresh():
    versions.is_plain.cache_clear()
    yield
    versions.is_plain.cache_clear()


@pytest.mark.long
def test_the_same_text_gives_the_same_numbers(tmp_path):
    known, plain = run(tmp_path, ADJIT_PLAIN_NUMBA=""), run(tmp_path, ADJIT_PLAIN_NUMBA="1")
    assert (known[0], plain[0]) == ("False False", "True True")
    numbers = [float(n.removeprefix("np.float64(").removesuffix(")")) for n in (known[1] + " " + plain[1]).split()]
    assert numbers == pytest.approx([numbers[0]] * 4, rel=1e-10)
    assert known[2].split()[0] == plain[2].split()[0] != "0"
    assert (known[2].split()[1], plain[2].split()[1]) == ("True", "False")


def test_one_warning_under_another_version(fresh, monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    monkeypatch.delenv("ADJIT_PLAIN_NUMBA", raising=False)
    with pytest.warns(UserWarning, match=r"adjit is tested with numba .*, and this is 0\.99\.0"):
        assert versions.is_plain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert versions.is_plain()


def test_none_where_it_is_asked_for(fresh, monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.99.0")
    monkeypatch.setenv("ADJIT_PLAIN_NUMBA", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert versions.is_plain()
