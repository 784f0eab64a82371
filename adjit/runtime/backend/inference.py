"""What numba infers of a function, where nobody is going to run it.

In: a function, and the types of its arguments. Out: its signature, and no machine code.

    with only_types():
        context.resolve_function_type(sort, (float64[:],), {})        # float64[:], and np.sort is not compiled

numba learns what a call of an overload returns by compiling it, with all that it calls. Typed IR asks for nothing but
that; what generated code calls is compiled where it calls it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from numba.core import errors, types
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import BaseTypeInference
from numba.core.typing.templates import Signature, make_concrete_template, signature

_NO_FLAGS = object()


class FindsTypes:
    """A pass after which the types are known."""


class _State(threading.local):
    """The flags of the innermost compilation of which only types are asked; what is compiled within has others."""

    flags: object = _NO_FLAGS


_state = _State()
_inferred: weakref.WeakKeyDictionary[Any, dict[Any, Signature | errors.TypingError]] = weakref.WeakKeyDictionary()


@contextlib.contextmanager
def only_types() -> Iterator[None]:
    """Has numba infer what calls return, and compile none of them."""
    before, _state.flags = _state.flags, ConfigStack.top_or_none()
    try:
        yield
    finally:
        _state.flags = before


def is_for_types() -> bool:
    """Whether only types are asked of what is being typed now."""
    return _state.flags is ConfigStack.top_or_none()


def inferred_signature(function: Any, args: tuple[types.Type, ...], flags: Any, pipeline: Any, named: Any) -> Signature:
    """The signature of a function compiled with these flags by this pipeline. `named`: the types of its variables."""
    contexts = cpu_target.typing_context, cpu_target.target_context
    before = _state.flags
    try:
        found: Signature = compile_extra(*contexts, function, args, None, flags, named, pipeline_class=_up_to(pipeline))
        return found
    finally:
        _state.flags = before


@functools.cache
def _up_to(pipeline: Any) -> Any:
    """A pipeline that ends with the inference."""

    class Inference(pipeline):  # type: ignore[misc]
        def define_pipelines(self) -> list[PassManager]:
            whole = super().define_pipelines()[0]
            made = PassManager("inference")
            made.add_pass(_Begun, "only types are asked")
            for step, title in whole.passes:
                made.add_pass(step, title)
                if issubclass(step, BaseTypeInference | FindsTypes):
                    break
            made.add_pass(_Told, "the signature")
            made.finalize()
            return [made]

    return Inference


@register_pass(mutates_CFG=False, analysis_only=True)
class _Begun(AnalysisPass):
    _name = "only_types_are_asked"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        _state.flags = ConfigStack.top_or_none()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Told(AnalysisPass):
    _name = "the_signature"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.cr = signature(state.return_type, *state.args)
        return False


# ------------------------------------------------------------------------------------------ what numba asks dispatchers


def _signature_of(dispatcher: Any, args: tuple[types.Type, ...]) -> Signature:
    """What a dispatcher would be compiled to."""
    if args in dispatcher.overloads:
        found: Signature = dispatcher.overloads[args].signature
        return found
    with global_compiler_lock:
        compiler = dispatcher._compiler
        flags: Any = Flags()
        compiler.targetdescr.options.parse_as_flags(flags, compiler.targetoptions)
        flags = compiler._customize_flags(flags)
        known = _inferred.setdefault(dispatcher, {})
        key = args, ConfigStack.top_or_none()
        if key not in known:
            function = compiler._get_implementation(args, {})
            try:
                # by the counter numba sees a function that calls itself
                with dispatcher._compiling_counter:
                    known[key] = inferred_signature(function, args, flags, compiler.pipeline_class, compiler.locals)
            except errors.TypingError as fault:
                known[key] = fault
        told = known[key]
    if isinstance(told, errors.TypingError):
        raise told
    return told


def _get_call_template(dispatcher: Any, args: Any, kws: Any) -> Any:
    is_for_the_cpu = dispatcher.targetdescr is cpu_target and dispatcher._can_compile
    if not is_for_types() or not is_for_the_cpu or dispatcher.targetoptions.get("forceobj"):
        return _compiling(dispatcher, args, kws)
    pysig, args = dispatcher.fold_argument_types(args, kws)
    name = dispatcher.py_func.__name__
    told = [_signature_of(dispatcher, tuple(args))]
    return make_concrete_template(f"CallTemplate({name})", key=name, signatures=told), pysig, args, {}


def _get_overload(dispatcher: Any, sig: Any) -> Any:
    """Nothing, where it is not compiled: it is asked again where it is to be called."""
    if is_for_types() and tuple(sig) not in dispatcher.overloads:
        return None
    return _compiled(dispatcher, sig)


_asked: Any = Dispatcher
_compiling, _compiled = _asked.get_call_template, _asked.get_overload
_asked.get_call_template, _asked.get_overload = _get_call_template, _get_overload
