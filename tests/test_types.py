"""What mypy sees of a program that uses adjit: a type without Any for each call, and an error for each wrong one."""

import ast
import dataclasses
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import adjit
from adjit.api.specialise.options import Asked, Options

HERE = Path(__file__).parent
ROOT = HERE.parent
LINE = re.compile(r"(\w+\.py):(\d+): (note|error): (.*)")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of each line of the files, errors by their codes."""
    cache = tmp_path_factory.mktemp("mypy")
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--cache-dir", cache]
    files = [HERE / "typed" / f"{name}.py" for name in ("user", "untyped", "wrong")]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], capture_output=True, text=True, cwd=cache, env=environment
    )
    found = {}
    for name, line, kind, text in LINE.findall(ran.stdout):
        what = text.rpartition("[")[2].rstrip("]") if kind == "error" else text
        found.setdefault((name, kind), {}).setdefault(int(line), []).append(what)
    assert found, ran.stdout + ran.stderr
    return found


def test_types_of_right_calls_have_no_any(said):
    assert ("user.py", "error") not in said
    text = (HERE / "typed" / "user.py").read_text("utf-8").splitlines()
    revealed = {k: " ".join(notes) for k, notes in said["user.py", "note"].items()}
    assert len(revealed) == sum(line.lstrip().startswith("reveal_type") for line in text) > 10
    assert {text[k - 1]: seen for k, seen in revealed.items() if re.search(r"\bAny\b|\bobject\b", seen)} == {}


def test_derived_functions_have_the_parameters_of_the_function(said):
    vector = "numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]"
    revealed = " ".join(note for notes in said["user.py", "note"].values() for note in notes)
    assert f'"adjit._Gradient[[x: {vector}, k: float =], {vector}]"' in revealed
    assert f"adjit._Gradient[[x: {vector}, k: float], tuple[float, {vector}]]" in revealed  # a decorator with options


def test_functions_without_types_are_taken(said):
    assert ("untyped.py", "error") not in said
    revealed = said["untyped.py", "note"]
    assert len(revealed) == 4
    assert [notes for notes in revealed.values() if re.search(r"\bNever\b", " ".join(notes))] == []


def test_wrong_calls_are_errors(said):
    text = (HERE / "typed" / "wrong.py").read_text("utf-8").splitlines()
    marked = {k: line.rpartition("  # ")[2].split() for k, line in enumerate(text, 1) if "  # " in line}
    assert {k: sorted(codes) for k, codes in said["wrong.py", "error"].items()} == {
        k: sorted(codes) for k, codes in marked.items()
    }


def test_the_users_file_uses_every_name():
    text = (HERE / "typed" / "user.py").read_text("utf-8")
    assert [name for name in adjit.__all__ if not re.search(rf"\badjit\.{name}\b", text)] == []


def test_the_stub_has_the_names_of_the_package():
    tree = ast.parse((ROOT / "adjit" / "__init__.pyi").read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {name for name in names - {None} if not name.startswith("_")} == {*adjit.__all__, "bridges", "cuda"}


def raised_in(function):
    """The errors that a function raises in its own body."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {call.func.id for call in calls if isinstance(call, ast.Call)}


def test_every_name_has_a_docstring_that_names_its_errors():
    public = {name: getattr(adjit, name) for name in adjit.__all__}
    public |= {f"rules.{name}": getattr(adjit.rules, name) for name in adjit.rules.__all__}
    assert [name for name, value in public.items() if not inspect.getdoc(value)] == []
    functions = {name: value for name, value in public.items() if inspect.isfunction(value)}
    silent = [
        f"{name}: {fault}"
        for name, function in functions.items()
        for fault in raised_in(function)
        if not re.search(rf"Raises[^.]*(\.[^.]+)*\b{fault}\b", inspect.getdoc(function))
    ]
    assert silent == []
    making = "grad value_and_grad jvp vjp hvp jet jacfwd jacrev jacobian hessian vmap implicit check_grads".split()
    assert [name for name in making if "Raises" not in inspect.getdoc(functions[name])] == []


def test_the_stub_has_the_options():
    tree = ast.parse((ROOT / "adjit" / "__init__.pyi").read_text("utf-8"))
    names = {
        f"{node.module}.{one.name}": one.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    assert names["adjit.api.specialise.options.Asked"] == "_Options"
    # a strategy is for adjit's own tests
    assert set(Asked.__annotations__) == {field.name for field in dataclasses.fields(Options)} - {"strategy"}


@pytest.mark.long
def test_the_stub_has_the_signatures_of_the_package():
    ran = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "adjit", "--mypy-config-file", "pyproject.toml", "--concise"],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    # `help` shows the options by name, which are Unpack[...] in the stub
    names = "|".join(Asked.__annotations__)
    options = re.compile(rf'stub does not have parameter "({names})"|does not have \*\*kwargs parameter "options"')
    lines = [line for line in ran.stdout.splitlines() if not options.search(line)]
    of_the_stub = [line for line in lines if re.match(r"adjit\.[a-z]\w* ", line)]
    assert "Traceback" not in ran.stderr
    assert of_the_stub == [], ran.stdout
