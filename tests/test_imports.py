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
    "cli": "__init__ api errors transform.source",
    "__init__": "errors runtime.backend",
    "cuda": "",
    "plot": "api api.tools errors",
    "api.tools": "api errors rules runtime runtime.backend runtime.library transform.pipeline transform.rewrite "
    "transform.source",
    "bridges": f"api errors rules runtime.backend runtime.library {IR} transform.analysis transform.explain "
    "transform.pipeline transform.source",
    "api": f"errors notation report rules runtime runtime.backend runtime.cuda runtime.library switches {IR} "
    "transform.elaborate transform.emit transform.explain transform.kernel_pipeline transform.kernels "
    "transform.pipeline transform.rewrite transform.source transform.strategy",
    "report": f"{IR} transform.explain",
    "transform.kernel_pipeline": f"errors {IR} transform.arrays transform.cuda transform.elaborate transform.emit "
    "transform.kernels transform.machine transform.pipeline transform.rewrite transform.source",
    "transform.pipeline": f"errors {IR} transform.arrays transform.cuda transform.derive transform.elaborate "
    "transform.emit transform.kernels transform.kinds transform.machine transform.rewrite transform.source "
    "transform.strategy transform.sweeps",
    "transform.kernels": f"errors runtime.cuda runtime.library {TOOLS} transform.derive transform.elaborate "
    "transform.source transform.strategy transform.sweeps",
    "transform.kinds": f"errors notation {IR} transform.analysis transform.derive "
    "transform.machine.threads transform.rewrite transform.source transform.sweeps",
    "transform.cuda": f"errors runtime.library {TOOLS} transform.cuda.blocks transform.emit transform.machine.lanes "
    "transform.sweeps.clears",
    "transform.cuda.blocks": f"errors {IR} transform.analysis",
    "transform.explain": f"runtime.library {TOOLS} transform.derive transform.emit",
    "transform.sweeps": f"errors notation runtime.library {TOOLS} transform.derive transform.elaborate.values "
    "transform.storage transform.strategy transform.sweeps.clears transform.sweeps.gather",
    "transform.storage": f"errors runtime.library {TOOLS} transform.derive transform.strategy",
    "transform.derive": f"errors rules runtime.library {TOOLS} transform.elaborate transform.elaborate.values "
    "transform.source",
    "transform.sweeps.gather": TOOLS,
    "transform.sweeps.clears": TOOLS,
    "transform.machine": f"runtime.library {TOOLS} transform.machine.lanes transform.machine.threads "
    "transform.machine.vectors transform.strategy",
    "transform.machine.threads": f"{TOOLS} transform.machine.lanes transform.machine.vectors transform.strategy",
    "transform.machine.lanes": f"runtime.library {TOOLS} transform.strategy",
    "transform.machine.vectors": f"runtime.library runtime.vectormath {TOOLS}",
    "transform.arrays": f"errors runtime.library {TOOLS} transform.strategy",
    "transform.elaborate": f"errors notation rules runtime.backend runtime.library {TOOLS} "
    "transform.elaborate.of_numba transform.elaborate.whole_arrays transform.elaborate.values transform.source",
    "transform.elaborate.of_numba": f"notation runtime.backend {IR} transform.elaborate.whole_arrays "
    "transform.elaborate.values transform.source",
    "transform.elaborate.whole_arrays": f"rules {IR} transform.elaborate.values transform.source",
    "transform.elaborate.values": f"errors notation runtime.library {IR} transform.source",
    "transform.emit": f"errors runtime.backend runtime.library runtime.vectormath {IR} transform.analysis",
    "transform.source": f"errors runtime.backend runtime.library {IR} transform.strategy",
    "transform.rewrite": f"errors runtime.library switches {IR} transform.analysis",
    "transform.analysis": f"runtime.library {IR}",
    IR: "errors runtime.backend runtime.library",
    "transform.strategy": "",
    "transform": "",
    "rules.of_scipy": "rules runtime.library",
    "rules.of_polynomials": "rules",
    "rules.of_spectra": "rules",
    "rules.of_draws": "rules",
    "rules": "errors runtime.library",
    "runtime.cuda": "errors runtime runtime.library",
    "runtime": "runtime.backend.reading runtime.library",
    "runtime.backend": "errors runtime.backend.reading runtime.library runtime.vectormath switches",
    "runtime.backend.reading": "",
    "runtime.library": "errors",
    "runtime.vectormath": "",
    "switches": "",
    "notation": "",
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
