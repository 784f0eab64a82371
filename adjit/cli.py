"""The command line: shows the code that adjit generates, and why it is as it is; fills, shows and clears the cache.

adjit source bonds.py:energy --wrt x --types "float64[:], float64"      prints the gradient's source
adjit source bonds.py:energy --wrt x --types ... -o gradient.py         writes it as a module that needs no adjit
adjit explain bonds.py:energy --wrt x --types "float64[:], float64"     prints what was decided for it
adjit report bonds.py:energy --wrt x --values "np.ones(9), 0.5"         writes a page to look at, report.html
adjit compile bonds.py:energy --wrt x --types "float64[:], float64"     keeps its machine code for later processes
adjit cache                                                             shows what is kept; --clear removes it
adjit --version                                                         says which versions of what are at work
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np

import adjit
from adjit.api.ahead import precompile
from adjit.api.cache import cache_info, clear_cache, why_off
from adjit.api.dispatch import Derived, Interpreted, derive
from adjit.api.functions import grad, hessian, hvp, jacfwd, jacobian, jacrev, value_and_grad
from adjit.api.notation import to_types
from adjit.api.options import Options
from adjit.errors import AdjitError, NotCached
from adjit.transform.source.derivative import Wrt, made, root


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is 1 if adjit refuses the function."""
    asked = _parser().parse_args(arguments)
    if asked.command == "cache":
        return _cache(asked.clear)
    try:
        function = _function(asked.function)
        if asked.command == "compile":
            return _compile(function, asked)
        values = _values(asked.values, function) if getattr(asked, "values", None) is not None else None
        derived, given = _derived(function, asked.types, _wrt(asked.wrt), asked.mode, values)
        if asked.command == "explain":
            print(str(derived.explain(*given)).rstrip())
        elif asked.command == "report":
            derived.report(asked.output, *given)
        elif asked.output:
            derived.save(asked.output, *given, tuned=asked.tuned)
        else:
            print(derived.source(*given, tuned=asked.tuned).rstrip())
    except AdjitError as fault:
        print(fault.message, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="adjit", description="Automatic differentiation by source transformation.")
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    for name, what in (
        ("source", "print the source of a derivative"),
        ("explain", "print what is active, stored and recomputed in a derivative, and why"),
        ("report", "write a page with the function beside its derivative, and what was decided"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("function", metavar="FILE.py:function", help="the function to differentiate")
        command.add_argument("--types", default="", help='the argument types, such as "float64[:, :], int"')
        command.add_argument("--wrt", default="0", help="names or positions of parameters, separated by commas")
        command.add_argument(
            "--mode", choices=("reverse", "forward"), default="reverse", help="the gradient or the jvp"
        )
        if name == "source":
            command.add_argument("--tuned", action="store_true", help="as it is compiled, not as it is best read")
            command.add_argument("-o", "--output", metavar="FILE.py", help="write it there, as a module of its own")
        else:
            command.add_argument("--values", help='in the place of types, values: "np.ones(1000), 0.1, 50"')
        if name == "report":
            command.add_argument("-o", "--output", metavar="FILE.html", default="report.html", help="the page")
    command = commands.add_parser("compile", help="compile a derivative, and keep it for later processes")
    command.add_argument("function", metavar="FILE.py:function", help="a function, or a derivative of one")
    command.add_argument("--types", action="append", required=True, help="the argument types; may be given many times")
    command.add_argument("--wrt", default="0", help="names or positions of parameters, separated by commas")
    command.add_argument(
        "--kind", choices=list(_KINDS), default="value_and_grad", help="what a function's derivative is"
    )
    command = commands.add_parser("cache", help="show what is kept for later processes")
    command.add_argument("--clear", action="store_true", help="remove it")
    return parser


def _versions() -> str:
    """For bug reports."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"adjit {adjit.__version__} (Python {python}, numba {numba.__version__}, NumPy {np.__version__})"


_KINDS = {kind.__name__: kind for kind in (grad, value_and_grad, hvp, hessian, jacobian, jacfwd, jacrev)}


def _compile(function: Any, asked: argparse.Namespace) -> int:
    """Compiles ahead; 1 if that cannot be kept."""
    derived = function if hasattr(function, "precompile") else _KINDS[asked.kind](function, _wrt(asked.wrt))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NotCached)
        precompile(derived, *asked.types)
    not_kept = [str(one.message) for one in said if issubclass(one.category, NotCached)]
    for text in not_kept:
        print(text, file=sys.stderr)
    return 1 if not_kept else 0


def _cache(clear: bool) -> int:
    """Shows what is kept, or removes it."""
    found = cache_info()
    if clear:
        clear_cache()
    said = "removed" if clear else "kept"
    print(f"{found.folder}: {found.entries:,} derivatives of {found.bytes / 1e6:,.1f} MB {said}")
    why = why_off()
    if why is not None:
        print(f"Nothing is kept or taken from there: {why}.")
    return 0


def _function(where: str) -> Any:
    filename, _, name = where.rpartition(":")
    if not filename:
        raise SystemExit(f"adjit: {where!r} is not of the form FILE.py:function")
    path = Path(filename)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"adjit: there is no Python file {filename!r}")
    found: Any = importlib.util.module_from_spec(spec)
    # as for `python FILE.py`: files beside it can be imported, and its own functions find their module
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = found
    try:
        spec.loader.exec_module(found)
    except Exception as fault:  # whatever the user's file raises
        raise SystemExit(f"adjit: {filename} cannot be imported: {_told(fault, path)}") from fault
    for part in name.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"adjit: there is no {name!r} in {filename}")
        found = getattr(found, part)
    return found


def _told(fault: Exception, path: Path) -> str:
    """What the file raised, and its line that did."""
    frames = traceback.extract_tb(fault.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    line = fault.lineno if isinstance(fault, SyntaxError) else lines[-1] if lines else None
    return f"{type(fault).__name__}: {fault}" + ("" if line is None or "line" in str(fault) else f" (line {line})")


def _wrt(text: str) -> Wrt:
    parts: list[int | str] = [int(p) if p.lstrip("-").isdigit() else p for p in text.replace(" ", "").split(",") if p]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _values(text: str, function: Any) -> tuple[Any, ...]:
    """The values that are written so, with the names of the function's file, and NumPy as np."""
    scope = {"np": np} | getattr(root(getattr(function, "derivative", function)), "__globals__", {})
    try:
        found = eval(f"({text.strip().rstrip(',')},)", scope)
    except Exception as fault:  # whatever is written there raises
        raise SystemExit(f"adjit: --values {text!r} cannot be evaluated: {type(fault).__name__}: {fault}") from fault
    return tuple(found)


def _derived(
    function: Any, types: str, wrt: Wrt, mode: str, values: Sequence[Any] | None = None
) -> tuple[Derived | Interpreted, Sequence[Any]]:
    """The derived function that is asked for, and its arguments as text, types or values."""
    if isinstance(function, Derived | Interpreted):
        return function, (types,) if values is None else values
    if mode == "reverse":
        return grad(function, wrt), (types,) if values is None else values
    given = to_types(types) if values is None else tuple(map(numba.typeof, values))
    tangent = made("jvp", function, wrt)
    # no tangent for what is held fixed
    tangents = [type_ if k in (tangent.wrt or ()) else numba.types.none for k, type_ in enumerate(given)]
    return derive(tangent, Options()), (*given, *tangents)
