"""`cache=True` across processes: each test runs a program in processes of its own."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import adjit
from adjit.api.specialise import cache, store

PROGRAM = """
import io, json, sys
import numpy as np
import numba.core.event as events
import adjit
from helpers import shifted

TABLE = np.array([1.0, 2.0, 3.0])

def energy(x, k=2.0):
    total = 0.0
    # over all angles
    for i in range(x.size):
        total += k * np.sin(x[i]) * TABLE[i % 3]
    return shifted(total)

@adjit.grad(cache=True)
def with_checks(x):
    assert x.size > 1, "too short"
    return np.sum(x * x)

class Compiled(events.Listener):
    count = 0
    def on_start(self, event):
        Compiled.count += 1
    def on_end(self, event):
        pass

events.register("numba:compile", Compiled())
x = np.array([0.1, 0.2, 0.3])
value, gradient = adjit.value_and_grad(energy, cache=True)(x)
plain = adjit.value_and_grad(energy)
found = {"value": value, "gradient": gradient.tolist(), "square": with_checks(x).tolist()}
try:
    with_checks(x[:1])
except AssertionError as fault:
    found["fault"] = str(fault)
seed, pullback = adjit.vjp(energy, x, 3.0, cache=True)
found["vjp"] = pullback(1.0)[1]
found["jacobian"] = adjit.jacrev(lambda x: x * x, cache=True)(x).tolist()
found["compiled"] = Compiled.count
found["transformed"] = "adjit.transform.pipeline" in sys.modules
found["source"] = adjit.value_and_grad(energy, cache=True).source(x, tuned=True)
shown = io.StringIO()
adjit.value_and_grad(energy, cache=True).inspect_types(file=shown)
found["shown"] = shown.getvalue()
found["loaded"] = "adjit.transform.pipeline" in sys.modules
found["same"] = bool(np.allclose(plain(x)[1], gradient, rtol=1e-15))
print(json.dumps(found))
"""
HELPERS = "def shifted(x):\n    return x + 1.0\n"


@pytest.fixture(autouse=True)
def not_verified(monkeypatch):
    """Nothing is taken from the cache where each pass is to be seen."""
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Starts the program in a process of its own; `.wait()` gives what it found."""
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helpers.py").write_text(HELPERS)

    class Run:
        def __init__(self):
            paths = [str(tmp_path), *sys.path]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, str(tmp_path / "program.py")]
            self.process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )

        def wait(self):
            out, err = self.process.communicate(timeout=120)
            assert self.process.returncode == 0, err
            assert "Warning" not in err
            return json.loads(out)

    Run.folder = tmp_path
    return Run


def check(found):
    x = np.array([0.1, 0.2, 0.3])
    table = np.array([1.0, 2.0, 3.0])
    assert found["value"] == pytest.approx(1 + 2 * np.sum(np.sin(x) * table), rel=1e-14)
    np.testing.assert_allclose(found["gradient"], 2 * np.cos(x) * table, rtol=1e-14)
    np.testing.assert_allclose(found["square"], 2 * x, rtol=1e-15)
    np.testing.assert_allclose(found["jacobian"], np.diag(2 * x), rtol=1e-15)
    assert found["vjp"] == pytest.approx(np.sum(np.sin(x) * table), rel=1e-14)
    assert found["fault"] == "too short"
    assert found["same"]


def test_a_second_process_neither_transforms_nor_compiles(program):
    first, second = program().wait(), program().wait()
    for found in (first, second):
        check(found)
    assert first["compiled"] > 0
    assert first["transformed"]
    assert second["compiled"] == 0
    assert not second["transformed"]
    # the source is kept as well
    assert second["source"] == first["source"]
    assert "# over all angles" in second["source"]
    # and stands where numba says of what type each variable is
    assert "int64" in first["shown"]
    assert second["source"] in second["shown"]
    assert not second["loaded"]


@pytest.mark.long
def test_processes_that_race_on_an_empty_cache(program):
    for run in [program() for _ in range(4)]:
        check(run.wait())
    last = program().wait()
    check(last)
    assert last["compiled"] == 0
    assert not list((program.folder / "cache").glob("*.new"))


def test_damaged_entries_are_made_again(program):
    program().wait()
    entries = sorted((program.folder / "cache").glob("*.bin"))
    assert len(entries) == 5
    for k, path in enumerate(entries):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if k % 2 else data[:-100] + bytes(100))
    again, last = program().wait(), program().wait()
    check(again)
    check(last)
    assert again["compiled"] > 0
    assert last["compiled"] == 0


def test_an_edited_callee_is_compiled_anew(program):
    program().wait()
    (program.folder / "helpers.py").write_text(HELPERS.replace("x + 1.0", "2.0 * x + 1.0"))
    found = program().wait()
    assert found["compiled"] > 0
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(found["gradient"], 4 * np.cos(x) * np.array([1.0, 2.0, 3.0]), rtol=1e-14)


def test_whole_entries_that_do_not_load_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))

    def made():
        # a function anew each time, with the same key
        def cube(x):
            return x**3

        return adjit.grad(cube, cache=True)

    before = adjit.cache_info()
    assert made()(2.0) == 12.0
    (entry,) = tmp_path.glob("*.bin")
    name = entry.stem
    kept = store.read(name)
    store.write(name, kept.replace(b"numba", b"nomba"), "")
    assert made()(2.0) == 12.0
    assert b"nomba" not in store.read(name)
    assert made()(2.0) == 12.0
    assert adjit.cache_info().hits == before.hits + 1


class Mutable(dict):
    rate = 2.0


def test_what_cannot_be_kept_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    settings = Mutable()

    def decay(x):
        return settings.rate * x

    with pytest.warns(adjit.NotCached, match=r"decay is compiled in each process: .*Mutable"):
        assert adjit.grad(decay, cache=True)(1.0) == 2.0
    assert "Mutable" in adjit.cache_info().refused["decay"]
    assert adjit.cache_info().entries == 0


def test_a_folder_that_cannot_be_used_is_said(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("")
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(path))

    def double(x):
        return 2 * x

    with pytest.warns(adjit.NotCached, match="double"):
        assert adjit.grad(double, cache=True)(1.0) == 2.0


def test_info_and_clearing(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "new"))
    assert adjit.cache_info().entries == 0

    def square(x):
        return x * x

    square_bar = adjit.grad(square, cache=True)
    assert square_bar(3.0) == 6.0
    found = adjit.cache_info()
    assert (found.folder, found.entries) == (tmp_path / "new", 1)
    assert found.bytes > 1000
    adjit.clear_cache()
    assert adjit.cache_info().entries == 0
    assert square_bar(3.0) == 6.0


def test_a_dump_is_never_taken_from_the_cache(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ADJIT_DUMP", "1")

    def tenth(x):
        return 0.1 * x

    assert adjit.grad(tenth, cache=True)(1.0) == 0.1
    assert "---- elaborated" in capfd.readouterr().err
    assert adjit.cache_info().entries == 0


def test_derivatives_are_called_from_compiled_code(tmp_path, monkeypatch):
    from numba import njit

    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))

    def made():
        def quartic(x):
            return x**4

        slope = adjit.grad(quartic, cache=True)
        return njit(lambda x: slope(x) + 1.0)

    hits = adjit.cache_info().hits
    assert [made()(2.0) for _ in range(2)] == [33.0, 33.0]
    assert adjit.cache_info().hits == hits + 1


KINDS = """
import sys
import numba
import numpy as np
import scipy.special
import adjit

def threads(x):
    total = 0.0
    for i in numba.prange(x.size):
        total += np.sin(x[i])
    return total

def special(x):
    return np.sum(scipy.special.gammaln(x))

def solved(x):
    return np.sum(np.linalg.solve(np.diag(x), x * x))

def drawn(x):
    return np.sum(x * np.random.normal(0.0, 1.0)) * 0.0 + x[0]

def structured(p, x):
    return p["a"] * np.sum(x)

def shown(x):
    print("said")
    return np.sum(x * x)

x = np.array([1.0, 2.0, 0.5])
registries = len(numba.core.registry.cpu_target.target_context._registries)
given = {"threads": (x,), "special": (x,), "solved": (x,), "drawn": (x,), "structured": ({"a": 2.0}, x), "shown": (x,)}
for name, arguments in given.items():
    hits = adjit.cache_info().hits
    found = adjit.grad(globals()[name], parallel=name == "threads")(*arguments)
    print(name, adjit.cache_info().hits - hits, found["a"] if name == "structured" else np.sum(found).round(12))
print("registries", len(numba.core.registry.cpu_target.target_context._registries) - registries)
print("modules", sorted({"libcst", "islpy", "adjit.transform.pipeline"} & sys.modules.keys()))
"""


@pytest.mark.long
def test_what_machine_code_names_is_there_in_a_second_process(tmp_path):
    (tmp_path / "kinds.py").write_text(KINDS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ADJIT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "kinds.py")]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split("\n")
        for _ in range(2)
    )
    assert [line.replace(" 0 ", " 1 ") for line in first[:-3]] == second[:-3]
    assert [line.split()[1] for line in second[:-3] if line != "said"] == ["1"] * 6
    # nothing is loaded to compile with
    assert second[-3:-1] == ["registries 0", "modules []"]


def test_what_is_asked_for_with_cache_false_or_in_such_a_process_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))

    def made(**options):
        def cube(x):
            return x**3

        return adjit.grad(cube, **options)(2.0)

    assert made(cache=False) == 12.0
    with monkeypatch.context() as off:
        off.setenv("ADJIT_CACHE", "0")
        assert [made(), made(cache=True)] == [12.0, 12.0]
    assert adjit.cache_info().entries == 0
    hits = adjit.cache_info().hits
    assert [made(), made(cache=True)] == [12.0, 12.0]
    assert (adjit.cache_info().entries, adjit.cache_info().hits - hits) == (1, 1)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_by_default_nothing_is_said_of_a_folder_that_others_can_write_to(tmp_path, monkeypatch, recwarn):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)

    def double(x):
        return 2 * x

    assert adjit.grad(double)(1.0) == 2.0
    assert not recwarn.list
    assert list(tmp_path.iterdir()) == []
    assert "other users may write" in adjit.cache_info().refused["double"]


def test_code_that_names_a_symbol_that_is_not_there_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))

    def made():
        def quint(x):
            return x**5

        return adjit.grad(quint)(2.0)

    assert made() == 80.0
    (entry,) = tmp_path.glob("*.bin")
    kept = cache._Kept(*pickle.loads(store.read(entry.stem)))
    store.write(entry.stem, pickle.dumps(tuple(kept._replace(symbols=("adjit_no_such_symbol",)))), "")
    hits = adjit.cache_info().hits
    assert [made(), made()] == [80.0, 80.0]
    assert adjit.cache_info().hits == hits + 1
