"""Sources that stand alone run where adjit cannot be imported, and give what derivatives give."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import adjit
import adjit.cuda
from tests.cuda.kernels import blocks
from tests.cuda.simulated.checks import arguments, on_device, on_host
from tests.cuda.simulated.functions import FUNCTIONS

NAMES = ["misfit", "gathered", "with_global"]  # and a kernel

ALONE = """
import sys
sys.modules["adjit"] = None
import importlib.util
import numpy as np
from numba import cuda

def loaded(name):
    spec = importlib.util.spec_from_file_location(name, f"{sys.argv[1]}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

found = {}
for name, function, count in zip(sys.argv[2::3], sys.argv[3::3], sys.argv[4::3]):
    given = np.load(f"{sys.argv[1]}/{name}.npz")
    given = [given[f"arr_{k}"] for k in range(int(count))]
    args = [cuda.to_device(a) if a.ndim else a[()] for a in given]
    made = getattr(loaded(name), function)(*args)
    made = made if isinstance(made, tuple) else (made,)
    found |= {f"{name}_{k}": bar.copy_to_host() for k, bar in enumerate(made) if bar is not None}
    found |= {f"{name}_given_{k}": a.copy_to_host() for k, a in enumerate(args) if hasattr(a, "copy_to_host")}
np.savez(f"{sys.argv[1]}/found.npz", **found)
"""


def test_without_adjit(tmp_path):
    wanted, asked = {}, []
    for name in NAMES:
        function, shapes = FUNCTIONS[name]
        args = arguments(shapes, np.float64)
        wrt = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype == np.float64)
        scalar = {"gathered": gathered_norm, "with_global": total_of_table}.get(name, function)
        gradient = adjit.grad(scalar, wrt=wrt, target="cuda")
        (tmp_path / f"{name}.py").write_text(gradient.source(*map(on_device, args), standalone=True), "utf-8")
        np.savez(tmp_path / f"{name}.npz", *args)
        asked += [name, f"{scalar.__name__}_grad", str(len(args))]
        found = on_host(gradient(*map(on_device, args)))
        wanted |= {f"{name}_{k}": bar for k, bar in enumerate(found if isinstance(found, tuple) else (found,))}
    # a kernel's, whose shadows are given
    g = np.random.default_rng(1)
    x, out, x_bar, out_bar = g.normal(size=(3, 8)), np.zeros(3), np.zeros((3, 8)), g.normal(size=3)
    adjoint, given = adjit.cuda.adjoint(blocks.log_sum_exp), [on_device(a) for a in (x, out, x_bar, out_bar)]
    text = adjoint.source("float64[:, ::1], float64[::1]", block=8, standalone=True)
    (tmp_path / "lse.py").write_text(text, "utf-8")
    np.savez(tmp_path / "lse.npz", x, out, np.int64(3), np.int64(0), x_bar, out_bar)
    asked += ["lse", "log_sum_exp_adjoint", "6"]
    adjoint[3, 8](given[0], given[1], x_bar=given[2], out_bar=given[3])
    wanted["lse_given_4"] = given[2].copy_to_host()
    command = [sys.executable, "-c", ALONE, str(tmp_path), *asked]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    made = np.load(tmp_path / "found.npz")
    for name, value in wanted.items():
        assert np.any(value != 0.0)
        np.testing.assert_array_equal(made[name], value)


def gathered_norm(x, idx):
    return np.sum(x[idx] * x[idx])


def total_of_table(x):
    return np.sum(FUNCTIONS["with_global"][0](x))
