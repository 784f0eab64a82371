"""What the key of a derivative covers: all that its code depends on, and nothing that differs between processes."""

import functools
import math
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from numba import float32, float64, int64, njit, types

import adjit
from adjit.api.specialise import keys
from adjit.api.specialise.dispatch import Options
from adjit.api.specialise.keys import NotKeyed, key_of
from adjit.rules import registry
from adjit.runtime.backend import versions as backend_versions
from adjit.runtime.backend.versions import is_plain
from adjit.transform.source.derivative import Derivative
from tests.api.importing import imported
from tests.defining import define

BASE = """
import numpy as np
import helpers
from numba import njit

K = 2.0
TABLE = np.arange(3.0)

class Settings:
    step = 0.1

@njit
def inner(x):
    return x * K

def outer(x, n=3):
    # a comment
    y = inner(x) + TABLE[0] * Settings.step
    return y + helpers.shift(x) if n in {"a": 1, "b": 2} else y

def unused(x):
    return x
"""
HELPERS = "OFFSET = 1.0\n\ndef shift(x):\n    return x + OFFSET\n"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Imports a program afresh from its text and that of the module that it uses."""
    count = 0

    def load(text=BASE, helpers=HELPERS):
        nonlocal count
        count += 1
        # the same file name in another folder: the folder is no part of the key
        return imported(tmp_path / str(count), {"helpers": helpers, "program": text}, monkeypatch)

    return load


def key(function, arg_types=(float64, int64), kind="grad", **options):
    return key_of(Derivative(function, kind, (0,)), arg_types, Options(**options)).text


def test_the_same_program_in_another_folder_has_the_same_key(load):
    assert key(load().outer) == key(load().outer)


@pytest.mark.parametrize(
    "old, new",
    [
        ("K = 2.0", "K = 2.5"),
        ("K = 2.0", "K = -0.0"),
        ("arange(3.0)", "arange(1.0, 4.0)"),
        ("arange(3.0)", "arange(3)"),
        ("step = 0.1", "step = 0.2"),
        ("return x * K", "return K * x"),
        ("@njit\n", "@njit(fastmath=True)\n"),
        ("@njit\n", '@njit("float64(float64)")\n'),
        ("@njit\n", '@njit("float64(float32)")\n'),
        ("@njit\n", '@njit(locals={"x": np.float32})\n'),
        ("# a comment", "# another"),
        ("n=3", "n=4"),
        ("y + helpers", "y - helpers"),
        ('"b": 2', '"b": 3'),
        ("\ndef outer", "\n\ndef outer"),
    ],
)
def test_what_a_function_reaches_is_in_its_key(load, old, new):
    assert old in BASE
    assert key(load().outer) != key(load(BASE.replace(old, new)).outer)


@pytest.mark.parametrize("old, new", [("OFFSET = 1.0", "OFFSET = 2.0"), ("x + OFFSET", "x - OFFSET")])
def test_what_is_reached_through_a_module_is_in_the_key(load, old, new):
    assert key(load().outer) != key(load(helpers=HELPERS.replace(old, new)).outer)


def test_what_is_not_reached_is_not_in_the_key(load):
    other = BASE.replace("def unused(x):\n    return x", "def unused(x):\n    return 2 * x")
    assert other != BASE
    assert key(load().outer) == key(load(other).outer)


def test_the_specialisation_is_in_the_key(load):
    outer = load().outer
    found = {
        key(outer),
        key(outer, kind="value_and_grad"),
        key(outer, fastmath=True),
        key(outer, fastmath=frozenset({"contract", "nsz"})),
        key(outer, parallel=True),
        key(outer, (float32, int64)),
        key(outer, (float64, types.Omitted(3))),
        key(outer, (types.Array(float64, 1, "C"), int64)),
        key(outer, (types.Array(float64, 1, "C", readonly=True), int64)),
        key(outer, (types.Array(float64, 1, "A"), int64)),
        key(outer, (types.UniTuple(float64, 2), int64)),
        key(Derivative(outer, "grad", (0,))),
        key_of(Derivative(outer, "grad", (0,), single=True), (float64, int64), Options()).text,
        key_of(Derivative(outer, "grad", (0,), has_aux=True), (float64, int64), Options()).text,
        key_of(Derivative(outer, "grad", (0, 1)), (float64, int64), Options()).text,
    }
    assert len(found) == 15


def calling(function):
    return lambda x: function(x)


@pytest.mark.parametrize("called", ["inner", "helpers.shift"])
def test_what_numba_compiles_in_the_place_of_a_function_is_in_the_key(load, called):
    text = BASE.replace("@njit\n", "")
    implemented = f"""
from numba.extending import overload

@overload({called})
def implementation(x):
    return lambda x: 3.0 * x
"""
    found = [key(load(t).outer) for t in (text, text + implemented, text + implemented.replace("3.0", "4.0"))]
    assert len(set(found)) == 3


def test_file_times_are_not_in_the_key(load):
    module = load()
    before = key(module.outer)
    os.utime(module.__file__, (1, 1))
    assert key(module.outer) == before


def test_a_cell_of_a_notebook_has_one_key_in_each_kernel():
    text = "K = 2.0\ndef f(x):\n    return K * x\n"
    first, second = (define(text, f"/tmp/ipykernel_{k}/4711.py")["f"] for k in (1, 2))
    assert key(first) == key(second)
    assert key(first) != key(define(text.replace("2.0", "3.0"), "/tmp/ipykernel_1/4711.py")["f"])


def test_a_module_that_is_run_has_the_key_of_one_that_is_imported():
    text = "def g(x):\n    return x * x\ndef f(x):\n    return g(x)\n"
    run, imported = (define(text, "spring.py", __name__=name)["f"] for name in ("__main__", "spring"))
    assert (run.__module__, imported.__module__) == ("__main__", "spring")
    assert key(run) == key(imported)


def test_values_in_cells_are_in_the_key():
    def made(k):
        def function(x):
            return k * x

        return function

    assert key(made(1.0)) == key(made(1.0))
    values = [1.0, 2.0, 1, True, np.float32(1), 1j, (1.0,), [1.0], {1.0}, {1.0: 1.0}, "1.0", b"1.0", None, ...]
    values += [
        np.ones(1),
        np.ones((1, 1)),
        np.ones(1, np.float32),
        np.ones((2, 2)),
        np.ones((2, 2), order="F"),
        -0.0,
        0.0,
        float("inf"),
    ]
    values += [slice(1, 2, 3), range(1, 2, 3), (1, 2, 3), slice(1, 2, None), np.dtype("f4"), np.float32, float]
    values += [np.dtype([("a", "f8")]), np.dtype([("b", "f8")]), (1.0, (2.0, 3.0)), ((1.0, 2.0), 3.0), (1.0, 2.0, 3.0)]
    values += [[[1.0], []], [[], [1.0]], "a", ("a", ""), ("", "a"), np.sin, np.cos, math.sin, Mutable, Unknown]
    assert len({key(made(value)) for value in values}) == len(values)


def test_rules_of_the_users_are_in_the_key(load, monkeypatch):
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))
    outer = load().outer
    before = key(outer)
    registry.user.partials(np.sin, lambda x, *, y: np.cos(x))
    first = key(outer)
    registry.user.partials(np.sin, lambda x, *, y: 2 * np.cos(x))
    assert len({before, first, key(outer)}) == 3


def test_settings_of_numbas_are_in_the_key_but_for_those_that_code_does_not_depend_on(load, monkeypatch):
    outer = load().outer
    before = key(outer)
    for name, value in (("OPT", "0"), ("LOOP_VECTORIZE", 0), ("BOUNDSCHECK", 1), ("CPU_NAME", "generic")):
        with monkeypatch.context() as changed:
            changed.setattr(keys.config, name, value)
            assert key(outer) != before, name
    monkeypatch.setattr(keys.config, "NUMBA_NUM_THREADS", 3)
    assert key(outer) == before


@pytest.mark.parametrize("of", ["numba", "llvmlite", "np"])
def test_the_versions_of_what_compiles_are_in_the_key(load, monkeypatch, of):
    outer, before = load().outer, key(load().outer)
    monkeypatch.setattr(getattr(backend_versions, of), "__version__", "9.9")
    keys.versions.cache_clear()
    changed = key(outer)
    monkeypatch.undo()
    keys.versions.cache_clear()
    assert (changed != before, key(outer) == before) == (True, True)


def test_the_processor_and_plain_numba_are_in_the_key(load, monkeypatch):
    outer, before = load().outer, key(load().outer)
    with monkeypatch.context() as changed:
        changed.setattr(backend_versions, "target", lambda: "another processor")
        assert key(outer) != before
    monkeypatch.setattr(backend_versions, "is_plain", lambda: not is_plain())
    keys.versions.cache_clear()
    other = key(outer)
    monkeypatch.undo()
    keys.versions.cache_clear()
    assert other != before


def test_adjits_own_source_is_in_the_key(load, monkeypatch, tmp_path):
    outer, before = load().outer, key(load().outer)
    copy = tmp_path / "adjit"
    shutil.copytree(Path(adjit.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(keys.rules, "__file__", str(copy / "rules" / "__init__.py"))
    for changed in (None, copy / "rules" / "elementary.py", copy / "runtime" / "backend" / "pool.ll"):
        if changed is not None:
            changed.write_text(changed.read_text() + "\n")
        keys.versions.cache_clear()
        found = key(outer)
        assert (found == before) == (changed is None)
        before = found
    keys.versions.cache_clear()


def test_the_version_of_a_library_that_is_reached_is_in_the_key(load, monkeypatch):

    text = "import scipy.special as special\n\ndef outer(x):\n    return special.gammaln(x)\n"
    reaching, other = load(text).outer, load().outer
    before = key(reaching), key(other)
    monkeypatch.setattr(sys.modules["scipy"], "__version__", "9.9")
    assert key(reaching) != before[0]
    assert key(other) == before[1]


def test_a_wrapper_with_a_librarys_name_is_not_the_librarys():
    def made(factor):
        @functools.wraps(np.mean)
        def mean(x):
            return factor * x

        return mean

    assert made(1.0).__module__ == "numpy"
    assert key(calling(made(1.0))) == key(calling(made(1.0)))
    assert key(calling(made(1.0))) != key(calling(made(2.0)))


def test_functions_that_call_each_other():
    def made(last):
        def even(x):
            return odd(x) if x else 1.0

        def odd(x):
            return even(x) if x else last

        return even

    assert key(made(0.0)) == key(made(0.0))
    assert key(made(0.0)) != key(made(2.0))


class Unknown(dict):
    step = 0.1


class Mutable:
    step = 0.1


def test_a_rule_for_a_builtin_of_python(monkeypatch):
    before = key(square_of_it)
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))
    adjit.rules.constant(time.thread_time)
    with_rule = key(square_of_it)
    assert with_rule == key(square_of_it) != before


def square_of_it(x):
    return x * x


def test_what_has_no_digest_has_no_key():
    unknown, large, objects = Unknown(), np.zeros(200_000), np.array([Unknown()])
    scope = {}
    # not of "<string>", of which Python 3.13 keeps the text that its option -c was given
    exec(compile("def written_nowhere(x):\n    return x", "<nowhere>", "exec"), scope)
    for function, reason in (
        (lambda x: unknown.step * x, "Unknown"),
        (lambda x: large[0] * x, "1,600,000 bytes"),
        (lambda x: objects, "objects"),
        (scope["written_nowhere"], "written_nowhere"),
        (functools.partial(max, 1.0), "partial"),
        (lambda x: getattr(np, "sin")(x), "getattr"),
    ):
        with pytest.raises(NotKeyed, match=reason):
            key(function)
    with pytest.raises(NotKeyed, match="ListType"):
        key(lambda x: x, (types.ListType(float64),))


def test_keys_are_the_same_in_each_process(tmp_path, load):
    load()
    script = tmp_path / "show.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import program
        from numba import float64, int64
        from adjit.api.specialise.dispatch import Options
        from adjit.api.specialise.keys import key_of
        from adjit.transform.source.derivative import Derivative
        print(key_of(Derivative(program.outer, "grad", (0,)), (float64, int64), Options()).text)
        print("libcst" in sys.modules or "islpy" in sys.modules)
        """)
    )
    shown = {
        subprocess.run(
            [sys.executable, script, tmp_path / "1"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in "12"
    }
    assert len(shown) == 1
    assert shown.pop().split()[1] == "False"


def test_a_dispatcher_and_the_function_in_it_differ():
    def plain(x):
        return x

    keys_found = [key(calling(f)) for f in (plain, njit(plain), njit(plain), njit(plain, fastmath=True))]
    assert keys_found[1] == keys_found[2]
    assert len(set(keys_found)) == 3
