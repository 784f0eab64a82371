"""Calls of libraries that are compiled apart: once for each type, linked by a symbol, and kept for all programs.

In: a callee and the types of its arguments. Out: the symbol of a function that machine code calls, and what it returns.

    np.linalg.solve(a, b)      call i32 @adjit_call_5f0c...(...)      not the 20 functions that numba makes of it

numba compiles what a function calls for each process anew, and optimises it again, with its callees, in each function
that calls it: of a Kalman filter's gradient that was nine tenths. What is called so works for long, and there is
nothing in it for the caller's loops. What `linear_algebra.py` has is compiled from there; the rest is numba's own.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import errors
from numba.core.compiler import Compiler, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.funcdesc import ExternalFunctionDescriptor
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import signature

from adjit import switches
from adjit.runtime.backend import arrays, calls, linear_algebra, products, rows, third_party_overloads
from adjit.runtime.backend.calls import Call
from adjit.runtime.backend.inference import inferred_signature, is_for_types
from adjit.runtime.backend.signatures import known_type
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.library import index_range

_OF_MATRICES = (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "norm", "pinv",
    "qr", "slogdet", "solve", "svd",
)  # fmt: skip
_OF_ARRAYS = (
    "argmax", "argmin", "argsort", "convolve", "correlate", "diag", "digitize", "dot", "eye", "identity", "interp",
    "max", "median", "min", "nanmedian", "percentile", "quantile", "repeat", "roll", "searchsorted", "sort", "trace",
    "tril", "triu", "unique", "vdot",
)  # fmt: skip
_CALLEES = frozenset(
    (*(getattr(np.linalg, n) for n in _OF_MATRICES), *(getattr(np, n) for n in _OF_ARRAYS), operator.matmul)
)
# The modules whose compiled functions are called so: what rules compute with.
_HOME = "adjit.rules."
# Those whose implementations of the callees these are made for.
_KNOWN = ("numba", "adjit")

_made: dict[tuple[Any, ...], Call | None] = {}
_returned: dict[tuple[Any, ...], types.Type | None] = {}
_stand_ins: dict[tuple[Any, int], Callable[..., Any]] = {}


def is_on() -> bool:
    """Whether calls are compiled apart: not with ADJIT_APART=0."""
    return switches.is_on("ADJIT_APART", usually=True)


def is_apart(callee: Any) -> bool:
    """Whether calls of it are compiled apart, where the arguments allow it."""
    if not callable(callee) or not is_on():
        return False
    if isinstance(callee, Dispatcher):
        return callee is index_range or str(callee.py_func.__module__).startswith(_HOME)
    return _is_callee(callee)


def _is_callee(callee: Any) -> bool:
    try:
        return callee in _CALLEES
    except TypeError:
        return False


def known_call(callee: Any, args: Sequence[types.Type]) -> Call | None:
    """The function for arguments of these types; None where numba has none, or the call is not one to compile apart."""
    if not _is_compiled_for(callee, args):
        return None
    with global_compiler_lock:
        flags = _flags()
        if flags.boundscheck:
            return None
        key = _key(callee, args, flags)
        if key not in _made:
            # for a call of its own in it
            _made[key] = None
            _made[key] = _made_or_kept(callee, tuple(args), flags)
        return _made[key]


def known_result(callee: Any, args: Sequence[types.Type]) -> types.Type | None:
    """What that function returns, which is not compiled for the question; None where there is none."""
    if not _is_compiled_for(callee, args):
        return None
    with global_compiler_lock:
        flags = _flags()
        key = _key(callee, args, flags)
        call = _made.get(key)
        if call is None and key not in _returned:
            # for a call of its own in it
            _returned[key] = None
            _returned[key] = _inferred(callee, tuple(args), flags)
        return _returned[key] if call is None else call.returns


def _is_compiled_for(callee: Any, args: Sequence[types.Type]) -> bool:
    is_of_numbers = isinstance(callee, Dispatcher) and not any(isinstance(t, types.Array) for t in args)
    return not is_of_numbers and all(map(_is_taken, args))


def _key(callee: Any, args: Sequence[types.Type], flags: Any) -> tuple[Any, ...]:
    return callee, tuple(args), flags.fastmath.encode(), flags.error_model


def _flags() -> Any:
    """What numba compiles the function with for the one that is being compiled now."""
    flags: Any = Flags()
    asked = ConfigStack.top_or_none()
    if asked is not None:
        flags.fastmath, flags.error_model, flags.boundscheck = asked.fastmath, asked.error_model, asked.boundscheck
    flags.nrt = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags


def _is_taken(type_: types.Type) -> bool:
    if isinstance(type_, types.Literal):
        return False
    numbers = types.Integer | types.Float | types.Complex | types.Boolean
    return isinstance(type_, numbers) or (isinstance(type_, types.Array) and isinstance(type_.dtype, numbers))


def _made_or_kept(callee: Any, args: tuple[types.Type, ...], flags: Any) -> Call | None:
    if not isinstance(callee, Dispatcher) and third_party_overloads.implementers([callee], _KNOWN):
        # what it does then is for their implementation to say
        return None
    settings = f"{flags.fastmath.encode()} {flags.error_model} {calls.stamp()}"
    said = f"{_path(callee)}({', '.join(map(repr, args))}) {settings}"
    name = hashlib.blake2b(said.encode(), digest_size=20).hexdigest()
    call = calls.kept(name)
    if call is None:
        result = _compiled(callee, args, flags, name)
        call = None if result is None else calls.made(name, result)
    return call


# Those that typings raise which expect something else.
_FAILURES = (errors.NumbaError, NotImplementedError, ValueError, AttributeError, IndexError, TypeError)


def _compiled(callee: Any, args: tuple[types.Type, ...], flags: Any, name: str) -> Any:
    """What numba makes of the function; None where it has none for these types."""
    function, pipeline = _to_compile(callee, args)
    contexts = cpu_target.typing_context, cpu_target.target_context
    try:
        return compile_extra(*contexts, _named(function, name), args, None, flags, {}, pipeline_class=pipeline)
    except _FAILURES:
        return None


def _inferred(callee: Any, args: tuple[types.Type, ...], flags: Any) -> types.Type | None:
    function, pipeline = _to_compile(callee, args)
    try:
        found: types.Type = inferred_signature(function, args, flags, pipeline, {}).return_type
        return found
    except _FAILURES:
        return None


def _to_compile(callee: Any, args: tuple[types.Type, ...]) -> tuple[Any, Any]:
    """The function that is compiled for a call, and the pipeline."""
    # the pipeline replaces calls by what is made here
    from adjit.runtime.backend.compiler import GeneratedCompiler

    if callee in products.OWN or callee in rows.OWN:
        return callee, GeneratedCompiler
    own = callee.py_func if isinstance(callee, Dispatcher) else linear_algebra.own_form(callee, args)
    return (_calling(callee, len(args)), Compiler) if own is None else (own, GeneratedCompiler)


def _named(function: Any, name: str) -> Any:
    """A copy whose symbols are its own: two processes count what they compile, each for itself."""
    made = type(function)(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__qualname__ = f"{function.__name__}_{name}"
    return made


@functools.cache
def _calling(callee: Any, count: int) -> Any:
    """A function that calls it with so many arguments."""
    parameters = ", ".join(f"a{k}" for k in range(count))
    scope: dict[str, Any] = {"__name__": __name__, "callee": callee}
    exec(f"def call({parameters}):\n    return callee({parameters})\n", scope)
    return scope["call"]


def _path(callee: Any) -> str:
    function = callee.py_func if isinstance(callee, Dispatcher) else callee
    return f"{function.__module__}.{function.__qualname__}"


def for_python(value: Any) -> Any:
    """What plain Python calls in the place of a compiled function of the rules: it is compiled as generated code is."""
    if not isinstance(value, Dispatcher) or not is_apart(value) or is_plain():
        return value
    return _for_python(value)


@functools.cache
def _for_python(dispatcher: Any) -> Any:
    return as_generated(dispatcher.py_func, dispatcher.targetoptions)


def as_generated(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """What compiles a function as generated code is, with these options of numba's."""
    # the pipeline replaces calls by what is made here
    from adjit.runtime.backend.compiler import GeneratedCompiler

    return numba.jit(**options, pipeline_class=GeneratedCompiler)(function)


# ----------------------------------------------------------------------------------------- what numba is told of a call


def stand_in(callee: Any, count: int) -> Callable[..., Any] | None:
    """What stands for the callee in calls with so many arguments, by position; None where nothing does."""
    if not is_apart(callee) or _flags().boundscheck:
        return None
    key = callee, count
    if key not in _stand_ins:

        def function(*arguments: Any) -> Any:
            return callee(*arguments)

        function.__name__ = function.__qualname__ = str(getattr(callee, "__name__", "call"))
        linear_algebra.told(function, count, functools.partial(_signature, callee), _lower(callee))
        _stand_ins[key] = function
        # numba looks for what is new when it begins to compile, and this is in the midst of that
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()
    return _stand_ins[key]


def _signature(callee: Any, context: Any, *args: types.Type) -> Any:
    known = known_type(callee, args)
    if known is None and is_for_types():
        known = known_result(callee, args)
    elif known is None:
        call = known_call(callee, args)
        known = None if call is None else call.returns
    if known is None:
        found = context.resolve_function_type(context.resolve_value_type(callee), args, {})
        known = None if found is None else found.return_type
    return None if known is None else signature(known, *args)


def _lower(callee: Any) -> Any:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        call = known_call(callee, sig.args)
        if call is not None:
            return write_call(context, builder, call, sig.args, args)
        kind = context.typing_context.resolve_value_type(callee)
        own = context.typing_context.resolve_function_type(kind, sig.args, {})
        if own is not None and len(own.args) == len(args):
            given = [context.cast(builder, *a) for a in zip(args, sig.args, own.args, strict=True)]
            return context.get_function(kind, own)(builder, given)
        # with defaults
        return context.compile_internal(builder, _calling(callee, len(args)), sig, args)

    return lower


def write_call(context: Any, builder: Any, call: Call, kinds: Sequence[types.Type], args: Any) -> Any:
    """The instructions of a call, which hands on what the function raises."""
    described = ExternalFunctionDescriptor(call.symbol, call.returns, kinds)
    return arrays.call(context, builder, described, signature(call.returns, *kinds), args)
