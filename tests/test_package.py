"""The wheel and the source archive: what is in them, and that what they install computes a gradient."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import adjit

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.long
# what is no module, and has to be there at run time
DATA = ("py.typed", "__init__.pyi", "report/page.css", "report/page.js")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with both."""
    if not find_spec("hatchling"):
        pytest.skip("needs hatchling")
    folder = tmp_path_factory.mktemp("dist")
    text = f"from hatchling.build import *; print(build_wheel({str(folder)!r}), build_sdist({str(folder)!r}))"
    subprocess.run([sys.executable, "-c", text], cwd=ROOT, check=True, capture_output=True)
    return folder


def test_wheel_has_the_package_alone(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"adjit-{adjit.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    source = {f"adjit/{p.relative_to(ROOT / 'adjit')}" for p in (ROOT / "adjit").rglob("*.py")}
    assert source - names == set()
    assert {f"adjit/{name}" for name in DATA} - names == set()
    others = {p for p in (ROOT / "adjit").rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert {f"adjit/{p.relative_to(ROOT / 'adjit')}" for p in others} - names == set()
    assert {name.partition("/")[0] for name in names} == {"adjit", f"adjit-{adjit.__version__}.dist-info"}
    assert [name for name in names if name.endswith(".pyc") or "__pycache__" in name] == []


def test_metadata(built):
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    text = archive.read(f"adjit-{adjit.__version__}.dist-info/METADATA").decode()
    for line in (f"Version: {adjit.__version__}", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"):
        assert line in text.splitlines()
    versions = [k for k in range(11, 15) if f"Classifier: Programming Language :: Python :: 3.{k}" in text]
    assert versions == [11, 12, 13, 14]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert text.count("\nRequires-Dist: ") - text.count("; extra ==") - text.count(") and extra ==") >= len(needed) > 0
    assert "adjit = adjit.cli:main" in archive.read(f"adjit-{adjit.__version__}.dist-info/entry_points.txt").decode()
    assert f"adjit-{adjit.__version__}.dist-info/licenses/LICENSE" in archive.namelist()


def test_source_archive_has_what_a_build_and_a_test_need(built):
    (archive,) = built.glob("*.tar.gz")
    names = {name.partition("/")[2] for name in tarfile.open(archive).getnames()}
    needed = ("pyproject.toml", "LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "mkdocs.yml")
    assert set(needed) - names == set()
    assert {"adjit/__init__.py", "tests/conftest.py", "docs/design.md", "examples/mixture.py"} - names == set()
    assert [name for name in names if name.endswith(".pyc") or name.startswith((".venv", "build/"))] == []


PROGRAM = """
import sys, numpy as np, adjit

def energy(x, k):
    total = 0.0
    for i in range(x.size - 1):
        total += 0.5 * k * (x[i + 1] - x[i]) ** 2
    return total

x = np.array([0.0, 1.0, 3.0])
assert adjit.__file__.startswith(sys.prefix), adjit.__file__
gradient = adjit.grad(energy)
assert np.array_equal(gradient(x, 2.0), [-2.0, -2.0, 4.0])
gradient.report("page.html", x, 2.0)
gradient.save("saved.py", x, 2.0)
import saved
assert np.array_equal(saved.energy_grad(x, 2.0), [-2.0, -2.0, 4.0])
"""


def test_wheel_installs_and_differentiates(built, tmp_path):
    """In an environment of its own, which sees the libraries of this one but not this tree."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    (site,) = home.rglob("site-packages")
    (wheel,) = built.glob("*.whl")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("ADJIT", "PYTHON"))}
    run = {"check": True, "capture_output": True, "env": plain | {"ADJIT_CACHE_DIR": str(tmp_path / "cache")}}
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--no-index", wheel], **run)
    # after its own: an editable install there is not followed, as no .pth file of another folder is read
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([python, "program.py"], cwd=tmp_path, **run)
    said = subprocess.run([python, "-m", "adjit", "--version"], cwd=tmp_path, **run, text=True).stdout
    assert said.startswith(f"adjit {adjit.__version__} ")
