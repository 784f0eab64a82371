"""SciPy's special functions in compiled code: those of `scipy.special.cython_special`, called by address.

In: scipy.special, if the program has imported it. Out: numba knows its ufuncs, on numbers; symbols for machine code.

    gammaln(x)      call double @adjit_special_gammaln(double %x, i32 0)

Machine code holds the name and no address, so that it can be kept for later processes.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.extending import get_cython_function_address, lower_builtin, type_callable

LIBRARY = "scipy.special"
HOME = "scipy.special.cython_special"
PREFIX = "adjit_special_"

_CAPSULE = re.compile(r'"(?P<result>\w+) \((?P<arguments>.*)\)"')
_FUSED = re.compile(r"__pyx_fuse_\d+(_\d+)*")
_KINDS: dict[str, types.Type] = {"double": types.float64, "long": types.int64, "Py_ssize_t": types.intp}


@dataclass(frozen=True)
class Form:
    """A function of Cython's: its name there, what it takes, and whether it gives two numbers, by pointers."""

    key: str
    arguments: tuple[types.Type, ...]
    gives_two: bool

    def takes(self, given: Sequence[types.Type]) -> bool:
        return len(given) == len(self.arguments) and all(map(_fits, given, self.arguments))


def _fits(given: types.Type, taken: types.Type) -> bool:
    is_whole = isinstance(given, types.Integer | types.Boolean)
    return is_whole or (isinstance(given, types.Float) and taken == types.float64)


def is_loaded() -> bool:
    """Whether the program has imported scipy.special, so that there may be functions of it to compile."""
    return LIBRARY in sys.modules


def forms(function: Any) -> tuple[Form, ...]:
    """What compiled code calls for this ufunc of SciPy's; those that take integers come first."""
    known = isinstance(function, np.ufunc) and is_loaded()
    return _ufuncs().get(function, ()) if known else ()


@functools.cache
def give_symbols() -> None:
    """Tells LLVM where the functions are, for machine code that names them."""
    for form in (form for found in _ufuncs().values() for form in found):
        llvm.add_symbol(PREFIX + form.key, get_cython_function_address(HOME, form.key))


def prepare(callee: Any) -> None:
    """Tells numba of the ufuncs if this is one of them, or may call one: what it refuses once, it refuses for good."""
    if is_loaded():
        is_numpys = isinstance(callee, np.ufunc) and getattr(np, callee.__name__, None) is callee
        if isinstance(callee, Dispatcher) or (isinstance(callee, np.ufunc) and not is_numpys):
            _tell_numba()


@functools.cache
def _tell_numba() -> None:
    """Has numba type and lower calls of the ufuncs."""
    give_symbols()
    for function, found in _ufuncs().items():
        type_callable(function)(functools.partial(_typer, found))
        lower_builtin(function, *[types.Any] * function.nin)(_lower(found))
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


@functools.cache
def _ufuncs() -> dict[Any, tuple[Form, ...]]:
    """The ufuncs of SciPy's of which Cython has a form that takes real numbers."""
    found: dict[str, list[Form]] = {}
    for key, capsule in importlib.import_module(HOME).__pyx_capi__.items():
        form = _form(key, str(capsule))
        if form is not None:
            found.setdefault(_FUSED.sub("", key), []).append(form)
    made: dict[Any, tuple[Form, ...]] = {}
    for function in vars(importlib.import_module(LIBRARY)).values():
        if isinstance(function, np.ufunc):
            shape = function.nin, function.nout
            fitting = [f for f in found.get(function.__name__, ()) if (len(f.arguments), 1 + f.gives_two) == shape]
            if fitting:
                made[function] = tuple(sorted(fitting, key=lambda form: form.arguments.count(types.float64)))
    return made


def _form(key: str, capsule: str) -> Form | None:
    shown = _CAPSULE.search(capsule)
    if shown is None:
        return None
    arguments = shown["arguments"].split(", ")
    if shown["result"] == "double" and arguments[-1] == "int __pyx_skip_dispatch":
        taken, gives_two = arguments[:-1], False
    elif shown["result"] == "void" and arguments[-2:] == ["double *"] * 2:
        taken, gives_two = arguments[:-2], True
    else:
        return None
    return Form(key, tuple(_KINDS[a] for a in taken), gives_two) if {*taken} <= _KINDS.keys() else None


# ------------------------------------------------------------------------------------------------- what numba is told


def _chosen(found: Sequence[Form], given: Sequence[types.Type]) -> Form | None:
    return next((form for form in found if form.takes(given)), None)


def _typer(found: Sequence[Form], context: Any) -> Callable[..., types.Type | None]:
    def result(*given: types.Type) -> types.Type | None:
        form = _chosen(found, given)
        if form is None:
            return None
        kind = types.float32 if all(t == types.float32 for t in given) else types.float64
        return types.UniTuple(kind, 2) if form.gives_two else kind

    # numba looks at the parameters, by number
    by_count: dict[int, Callable[..., types.Type | None]] = {
        1: lambda a: result(a),
        2: lambda a, b: result(a, b),
        3: lambda a, b, c: result(a, b, c),
        4: lambda a, b, c, d: result(a, b, c, d),
    }
    return by_count[len(found[0].arguments)]


def _lower(found: Sequence[Form]) -> Any:
    """What writes the instructions of a call."""

    def lower(context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value]) -> ir.Value:
        form = _chosen(found, signature.args)
        assert form is not None
        given = [context.cast(builder, *a) for a in zip(args, signature.args, form.arguments, strict=True)]
        if not form.gives_two:
            function = _declared(builder, form, ir.DoubleType(), [*(g.type for g in given), ir.IntType(32)])
            value = builder.call(function, [*given, ir.IntType(32)(0)])
            return context.cast(builder, value, types.float64, signature.return_type)
        places = [cgutils.alloca_once(builder, ir.DoubleType()) for _ in range(2)]
        builder.call(_declared(builder, form, ir.VoidType(), [a.type for a in (*given, *places)]), [*given, *places])
        kind = signature.return_type.dtype
        numbers = [context.cast(builder, builder.load(p), types.float64, kind) for p in places]
        return context.make_tuple(builder, signature.return_type, numbers)

    return lower


def _declared(builder: ir.IRBuilder, form: Form, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
    kind = ir.FunctionType(result, arguments)
    function = cgutils.get_or_insert_function(builder.module, kind, PREFIX + form.key)
    function.attributes.add("nounwind")
    return function
