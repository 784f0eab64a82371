"""The command line: shows the code that adjit generates, and why it is as it is; fills, shows and clears the cache.

    adjit source bonds.py:energy --wrt x --types "float64[:], float64"   prints the source of the gradient
    adjit source bonds.py:energy --wrt x --types ... -o gradient.py      writes it as a module that does not need adjit
    adjit source bonds.py                                                lists the functions of the file
    adjit explain bonds.py:energy --wrt x --types "float64[:], float64"  prints what is active, stored and recomputed
    adjit report bonds.py:energy --wrt x --values "np.ones(9), 0.5"      writes a page for the browser, report.html
    adjit compile chem.bonds:energy --wrt x --types "float64[:], float64" compiles it for later processes
    adjit cache                                                          shows the cache; --clear empties it
    adjit --version                                                      shows the versions, for bug reports

A function is named by its file or by its module. Both are imported, so code that should not run belongs under
`if __name__ == "__main__":`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

import adjit
from adjit.api.functions import grad, hessian, hvp, jacfwd, jacobian, jacrev, value_and_grad
from adjit.api.specialise.ahead_of_time import precompile
from adjit.api.specialise.cache import cache_info, clear_cache, why_off
from adjit.api.specialise.dispatch import Derived, Interpreted, derive
from adjit.api.specialise.notation import to_types
from adjit.api.specialise.options import Options
from adjit.errors import AdjitError, NotCached
from adjit.transform.source.derivative import Wrt, made, parameters, root, specification


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is 1 if adjit refuses the function."""
    try:
        status = _run(_parser().parse_args(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # what reads the output, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    return status


def _run(asked: argparse.Namespace) -> int:
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
            print(f"wrote {asked.output}")
        elif asked.output:
            derived.save(asked.output, *given, tuned=asked.tuned)
            print(f"wrote {asked.output}")
        else:
            print(derived.source(*given, tuned=asked.tuned).rstrip())
    except AdjitError as fault:
        print(fault.message, file=sys.stderr)
        return 1
    except OSError as fault:
        raise SystemExit(f"adjit: {fault.filename} cannot be written: {fault.strerror}") from fault
    return 0


_FUNCTION = "FILE.py:function"
_IMPORTED = "The file is imported: code that should not run belongs under `if __name__ == '__main__':`."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="adjit", description=f"Derivatives of Python functions, as readable source code. {_IMPORTED}"
    )
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    for name, what in (
        ("source", "print the source of a derivative"),
        ("explain", "print what is active, stored and recomputed in a derivative, and why"),
        ("report", "write a page with the function beside its derivative, and an explanation"),
    ):
        command = commands.add_parser(name, help=what, description=f"{what.capitalize()}. {_IMPORTED}")
        command.add_argument("function", metavar=_FUNCTION, help="the function; package.module:function works, too")
        command.add_argument("--types", default="", help='the argument types, such as "float64[:, :], int"')
        command.add_argument("--values", help='example arguments instead of types: "np.ones(1000), 0.1, 50"')
        command.add_argument("--wrt", default="0", help="names or positions of parameters, separated by commas")
        command.add_argument(
            "--mode", choices=("reverse", "forward"), default="reverse", help="the gradient, or value and tangent"
        )
        if name == "source":
            command.add_argument("--tuned", action="store_true", help="print the code that is compiled")
            command.add_argument("-o", "--output", metavar="FILE.py", help="write a module instead")
        if name == "report":
            command.add_argument("-o", "--output", metavar="FILE.html", default="report.html", help="the page to write")
    command = commands.add_parser("compile", help="compile a derivative for later processes")
    command.add_argument("function", metavar=_FUNCTION, help="a function, or a derivative")
    command.add_argument("--types", action="append", required=True, help="the argument types; repeat it for more")
    command.add_argument("--wrt", default="0", help="names or positions of parameters, separated by commas")
    command.add_argument(
        "--kind", choices=list(_KINDS), default="value_and_grad", help="the derivative of a function to compile"
    )
    command = commands.add_parser("cache", help="show the cache of compiled derivatives")
    command.add_argument("--clear", action="store_true", help="empty it")
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
    if not_kept:
        return 1
    print(f"compiled {derived!r} for {_counted(len(asked.types), 'signature')}, kept in {cache_info().folder}")
    return 0


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _cache(clear: bool) -> int:
    """Shows what is kept, or removes it."""
    found = cache_info()
    if clear:
        clear_cache()
    size = f"{found.bytes / 1e6:,.1f} MB" if found.bytes >= 1e5 else f"{found.bytes / 1e3:,.1f} kB"
    print(f"{found.folder}: {_counted(found.entries, 'derivative')}, {size}, {'removed' if clear else 'kept'}")
    why = why_off()
    if why is not None:
        print(f"The cache is not used: {why}.")
    return 0


def _function(where: str) -> Any:
    """The function that a file or a module has under a name; without a name the exit says which there are."""
    filename, _, name = where.rpartition(":")
    if not filename or name.startswith(("/", "\\")):  # as in C:\bonds.py
        filename, name = where, ""
    found = _module(filename)
    names = [f"{filename}:{own}" for own, value in vars(found).items() if _is_own(value, found)]
    instead = f"name a function: {', '.join(names)}" if names else f"{filename} has no functions"
    if not name:
        raise SystemExit(f"adjit: {instead}")
    for part in name.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"adjit: there is no {name!r} in {filename}; {instead}")
        found = getattr(found, part)
    if not callable(found):
        raise SystemExit(f"adjit: {name!r} in {filename} is not a function; {instead}")
    return found


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether it is a function that this module defines."""
    is_function = isinstance(value, FunctionType | Derived | Interpreted) or hasattr(value, "py_func")
    return is_function and getattr(value, "__module__", None) == module.__name__


def _module(where: str) -> ModuleType:
    """The module of this file or of this dotted name. A file of a package is imported as a part of it."""
    path = Path(where)
    if not path.exists() and not where.endswith(".py"):
        folder, name = Path.cwd(), where
        if not _is_there(name, folder):
            raise SystemExit(f"adjit: there is no Python file and no module {where!r}")
    elif not path.exists():
        raise SystemExit(f"adjit: there is no Python file {where!r}")
    else:
        folder, name = path.resolve().parent, path.stem
        while (folder / "__init__.py").exists():
            folder, name = folder.parent, f"{folder.name}.{name}"
    # as for `python FILE.py`: files beside it can be imported
    sys.path.insert(0, str(folder))
    try:
        if "." not in name and path.exists():
            return _alone(path)
        return importlib.import_module(name)
    except Exception as fault:  # whatever the user's file raises
        raise SystemExit(f"adjit: {where} cannot be imported: {_told(fault, path)}") from fault


def _is_there(name: str, folder: Path) -> bool:
    sys.path.insert(0, str(folder))
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
    finally:
        sys.path.remove(str(folder))


def _alone(path: Path) -> ModuleType:
    """The module of a file that is not in a package, whatever other module has its name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"adjit: {str(path)!r} is not a Python file")
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found  # its own functions find their module
    spec.loader.exec_module(found)
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
        derived = function
    elif mode == "reverse":
        derived = grad(function, wrt)
    else:
        derived = derive(made("jvp", function, wrt), Options())
    is_tangent = derived is not function and mode == "forward"
    own = parameters(specification(function)).parameters.values()
    if values is None and not types and any(p.default is p.empty for p in own):
        names = ", ".join(p.name for p in own)
        raise SystemExit(f"adjit: give --types, or example arguments as --values, for the arguments {names}")
    if not is_tangent:
        return derived, (types,) if values is None else values
    given = tuple(to_types(types)) if values is None else tuple(map(numba.typeof, values))
    defaults = (p.default for p in list(own)[len(given) :] if p.default is not p.empty)
    given += tuple(map(numba.typeof, defaults))
    # no tangent for what is held fixed
    tangents = [type_ if k in (derived.derivative.wrt or ()) else numba.types.none for k, type_ in enumerate(given)]
    return derived, (*given, *tangents)
