"""Who may import whom: the packages stand one above the other, and a new edge between them is a decision."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import adjit

ROOT = Path(adjit.__file__).parent
IR = "transform.ir"
TOOLS = f"{IR} transform.analysis transform.rewrite"

# From the top of the house to its floor: what each package, or module beside packages, imports of others.
MAY_IMPORT = {
    "__main__": "cli",
    "cli": "__init__ api api.specialise errors transform.source",
    "__init__": "errors runtime.backend",
    "cuda": "",
    "plot": "api.specialise api.tools errors",
    "api.tools": "api api.arguments api.specialise errors rules runtime runtime.backend runtime.library "
    "transform.pipeline transform.rewrite transform.source",
    "bridges": f"{IR} api api.arguments api.specialise errors rules runtime.backend runtime.library "
    "transform.analysis transform.explain transform.pipeline transform.source",
    "api": "api.arguments api.gpu api.specialise errors rules runtime.backend runtime.library transform.source "
    "transform.strategy",
    "api.gpu": f"{IR} api.arguments api.specialise errors runtime runtime.backend runtime.cuda runtime.library "
    "transform.emit transform.frontend transform.gpu.kernels transform.kernel_pipeline transform.pipeline "
    "transform.source",
    "api.specialise": f"{IR} api.arguments errors notation report rules runtime runtime.backend runtime.library "
    "switches transform.emit transform.explain transform.pipeline transform.rewrite transform.source "
    "transform.strategy",
    "api.arguments": "errors notation runtime runtime.backend runtime.cuda runtime.library switches "
    "transform.frontend transform.gpu.kernels transform.kernel_pipeline transform.source",
    "report": f"{IR} transform.explain",
    "transform.kernel_pipeline": f"{IR} errors transform.arrays transform.emit transform.frontend transform.gpu "
    "transform.gpu.kernels transform.machine transform.pipeline transform.rewrite transform.source",
    "transform.pipeline": f"{IR} errors transform.arrays transform.derive transform.emit transform.frontend "
    "transform.gpu transform.gpu.kernels transform.kinds transform.machine transform.rewrite transform.source "
    "transform.strategy transform.sweeps",
    "transform.gpu.kernels": f"{TOOLS} errors runtime.cuda runtime.library transform.derive transform.frontend "
    "transform.frontend.library transform.source transform.strategy transform.sweeps",
    "transform.kinds": f"{TOOLS} errors notation transform.derive transform.derive.jacobians "
    "transform.machine.threads transform.source transform.sweeps",
    "transform.gpu": f"{TOOLS} errors runtime.library transform.emit transform.gpu.blocks transform.gpu.sums "
    "transform.machine.lanes transform.sweeps.clears",
    "transform.gpu.sums": f"{TOOLS} transform.gpu.blocks",
    "transform.gpu.blocks": f"{IR} errors transform.analysis",
    "transform.explain": f"{TOOLS} runtime.library transform.derive transform.emit",
    "transform.sweeps": f"{TOOLS} errors notation runtime.library transform.derive transform.frontend.values "
    "transform.storage transform.strategy transform.sweeps.clears transform.sweeps.gather",
    "transform.storage": f"{TOOLS} errors runtime.library transform.derive transform.strategy",
    "transform.derive.jacobians": f"{TOOLS} rules runtime.library transform.derive transform.frontend.values "
    "transform.frontend.walk transform.source",
    "transform.derive": f"{TOOLS} errors rules runtime.library transform.frontend.values transform.frontend.walk "
    "transform.source",
    "transform.sweeps.gather": TOOLS,
    "transform.sweeps.clears": TOOLS,
    "transform.machine": f"{TOOLS} runtime.library transform.machine.lanes transform.machine.threads "
    "transform.machine.vectors transform.strategy",
    "transform.machine.threads": f"{TOOLS} transform.machine.lanes transform.machine.vectors transform.strategy",
    "transform.machine.lanes": f"{TOOLS} runtime.library transform.strategy",
    "transform.machine.vectors": f"{TOOLS} runtime.library runtime.vectormath",
    "transform.arrays": f"{TOOLS} errors runtime.library transform.strategy",
    "transform.frontend": "transform.frontend.library transform.frontend.walk",
    "transform.frontend.walk": f"{TOOLS} errors notation rules rules.numpy rules.numpy.linalg rules.python "
    "runtime.backend runtime.library transform.frontend.arrays transform.frontend.heap transform.frontend.library "
    "transform.frontend.numba transform.frontend.operations transform.frontend.values transform.source",
    "transform.frontend.library": f"{IR} errors rules.python runtime.backend runtime.library "
    "transform.frontend.arrays transform.frontend.heap transform.frontend.operations transform.frontend.values "
    "transform.source",
    "transform.frontend.operations": f"{IR} errors notation rules rules.python runtime.backend runtime.library "
    "transform.frontend.arrays transform.frontend.heap transform.frontend.values transform.source",
    "transform.frontend.numba": f"{IR} notation runtime.backend transform.frontend.arrays "
    "transform.frontend.values transform.source",
    "transform.frontend.arrays": f"{IR} rules rules.numpy transform.frontend.heap transform.frontend.values "
    "transform.source",
    "transform.frontend.heap": f"{IR} errors rules.python transform.frontend.values transform.source",
    "transform.frontend.values": f"{IR} errors notation rules.python runtime.library transform.source",
    "transform.emit": f"{IR} errors runtime.backend runtime.library runtime.vectormath transform.analysis",
    "transform.source": f"{IR} errors runtime.backend runtime.library transform.strategy",
    "transform.rewrite": f"{IR} errors runtime.library switches transform.analysis",
    "transform.analysis": f"{IR} runtime.library runtime.vectormath",
    IR: "errors runtime.backend runtime.library",
    "transform.strategy": "",
    "transform": "",
    "rules.scipy": "rules",
    "rules.scipy.integrate": "rules runtime.library",
    "rules.scipy.interpolate": "rules rules.numpy.linalg",
    "rules.scipy.linalg": "rules rules.numpy rules.numpy.linalg",
    "rules.scipy.optimize": "rules runtime.library",
    "rules.scipy.signal": "rules rules.numpy",
    "rules.scipy.sparse": "rules rules.numpy rules.numpy.linalg",
    "rules.scipy.spatial": "rules",
    "rules.scipy.stats": "rules rules.numpy rules.scipy.special",
    "rules.scipy.special": "rules rules.numpy",
    "rules.numpy.polynomial": "rules rules.numpy",
    "rules.numpy.random": "rules rules.numpy",
    "rules.python": "",
    "runtime.cuda": "errors runtime runtime.library",
    "runtime": "runtime.backend.reading runtime.library",
    "runtime.backend": "errors runtime.backend.reading runtime.library runtime.vectormath switches",
    "runtime.backend.reading": "",
    "runtime.vectormath": "",
    "switches": "",
    "notation": "",
    "rules.numpy.linalg": "rules rules.numpy runtime.library",
    "rules.numpy": "errors rules runtime.library",
    "rules": "errors runtime.library",
    "runtime.library": "errors",
    "errors": "",
}
# Who alone may import what numba and llvmlite do not promise to keep.
FENCE = ("runtime.backend", "runtime.backend.reading", "runtime.vectormath")
INSIDES = ("numba.core", "numba.np", "numba.cpython", "llvmlite")
MOST_ENTRIES = 22  # at the top of `transform`
MOST_FILES = 28  # of a package


def modules():
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(ROOT.rglob("*.py"))}


def package(module):
    """The package of a module; modules that stand beside packages, as `transform.pipeline`, are on their own."""
    parts = module.split(".")
    if parts[-1] == "__init__" and len(parts) > 1:
        return ".".join(parts[:-1])
    return module if len(parts) == 1 or parts[:-1] == ["transform"] else ".".join(parts[:-1])


def imported(path, known):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "adjit":
                inner = name.removeprefix("adjit").removeprefix(".")
                outer = inner.rpartition(".")[0]
                yield next(
                    n for n in (inner, f"{inner}.__init__", outer, f"{outer}.__init__", "__init__") if n in known
                )


@functools.cache
def edges():
    known = modules()
    found = {}
    for module, path in known.items():
        for other in imported(path, known):
            if package(other) != package(module):
                found.setdefault((package(module), package(other)), f"{module} imports {other}")
    return found


def test_no_new_edge():
    new = [text for (a, b), text in edges().items() if b not in MAY_IMPORT.get(a, "").split()]
    assert not new, "\n".join(new)


def test_no_edge_of_the_table_is_idle():
    found = edges()
    assert [(a, b) for a, others in MAY_IMPORT.items() for b in others.split() if (a, b) not in found] == []


def test_nothing_imports_upwards():
    order = list(MAY_IMPORT)
    upwards = [(a, b) for a, others in MAY_IMPORT.items() for b in others.split() if order.index(b) <= order.index(a)]
    assert upwards == []


def test_every_package_is_in_the_table():
    assert {package(module) for module in modules()} == set(MAY_IMPORT)


def test_rooms_are_not_crowded():
    assert len([p for p in (ROOT / "transform").iterdir() if p.name != "__pycache__"]) <= MOST_ENTRIES
    for folder in {path.parent for path in ROOT.rglob("*.py")}:
        assert len([p for p in folder.iterdir() if p.is_file()]) <= MOST_FILES, folder


PACKAGES = sorted({package(module) for module, path in modules().items() if path.name == "__init__.py"} - {"__init__"})


@pytest.mark.parametrize("name", PACKAGES)
def test_a_folder_says_what_goes_in_and_comes_out(name):
    doc = ast.get_docstring(ast.parse((ROOT / name.replace(".", "/") / "__init__.py").read_text("utf-8"))) or ""
    assert "In: " in doc, name
    assert "Out: " in doc, name


def test_the_insides_of_numba_are_touched_behind_the_fence_alone():
    touched = []
    for module, path in modules().items():
        names = [n for node in ast.walk(ast.parse(path.read_text("utf-8"))) for n in _named(node)]
        inside = [n for n in names if n.startswith(INSIDES)]
        touched += [f"{module}: {n}" for n in inside if package(module) not in FENCE]
    assert touched == []


def test_other_libraries_are_loaded_by_their_bridges_alone():
    """Where they are installed, `import adjit` loads none of them."""
    others = {"torch", "jax", "pytensor", "dask", "matplotlib", "sklearn", "mpi4py", "numba_mpi"}
    code = f"import sys, adjit; print(*({others} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert found.stdout.split() == []


def _named(node):
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
