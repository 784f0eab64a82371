"""numba's compiler, for generated code: what that never contains is not looked for.

In: a generated function and the types of its arguments. Out: what numba's own pipeline makes of it.

    translate ─► inline closures ─► ... ─► infer types ─► array expressions ─► ... ─► lower ─► LLVM
                 (there are none)                        (loops, already)             (`lowering.py`)
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numba import types
from numba.core import ir
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import CompilerPass, FunctionPass, PassManager, register_pass
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

from adjit.runtime.backend import apart, front, machine_code
from adjit.runtime.backend.inference import asking_once
from adjit.runtime.backend.lowering import GeneratedLower
from adjit.runtime.backend.stand_ins import stand_in


class GeneratedCompiler(Compiler):
    """The pipeline of generated functions that run in one thread; numba's own for the others."""

    def define_pipelines(self) -> list[PassManager]:
        pipelines: list[PassManager] = super().define_pipelines()
        flags = self.state.flags
        if flags.force_pyobject or flags.auto_parallel.enabled or flags.debuginfo:
            return pipelines
        (whole,) = pipelines
        made = PassManager(whole.pipeline_name)
        for step, title in whole.passes:
            if step is InlineClosureLikes:
                made.add_pass(StandIns, "callees that need no compilation of their own")
            else:
                made.add_pass(_OWN.get(step, step), title)
        made.finalize()
        return [made]


@register_pass(mutates_CFG=True, analysis_only=False)
class StandIns(FunctionPass):
    """Puts the stand-ins where generated code calls what they stand for."""

    _name = "stand_ins"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        found = False
        for block in function.blocks.values():
            body = []
            for statement in block.body:
                made = _replaced(function, statement)
                found = found or made is not None
                body.extend([statement] if made is None else made)
            block.body = body
        return found


def _replaced(function: Any, statement: Any) -> list[Any] | None:
    """A call of what stands in, for one of what it stands for."""
    value = statement.value if isinstance(statement, ir.Assign) else None
    if not isinstance(value, ir.Expr):
        return None
    if value.op == "call" and not value.kws and value.vararg is None:
        definitions = function._definitions[value.func.name]
        callee, given = (_callee(function, definitions[0]) if len(definitions) == 1 else None), value.args
    elif value.op == "binop" and value.fn is operator.matmul:
        callee, given = value.fn, [value.lhs, value.rhs]
    else:
        return None
    made = stand_in(callee, len(given)) or apart.stand_in(callee, len(given))
    if made is None:
        return None
    place = statement.target.scope.redefine("$stand_in", loc=value.loc)
    named = ir.Global(made.__name__, made, value.loc)
    function._definitions[place.name].append(named)
    called = ir.Expr.call(place, list(given), (), value.loc)
    function._definitions[statement.target.name].remove(value)
    function._definitions[statement.target.name].append(called)
    return [ir.Assign(named, place, value.loc), ir.Assign(called, statement.target, statement.loc)]


def _callee(function: Any, definition: Any) -> Any:
    """The object that a definition names: a global, or an attribute of NumPy or of a module of it."""
    if isinstance(definition, ir.Global | ir.FreeVar):
        return definition.value
    if isinstance(definition, ir.Expr) and definition.op == "getattr":
        owner = function._definitions[definition.value.name]
        if len(owner) == 1:
            found = _callee(function, owner[0])
            return getattr(found, definition.attr, None) if found is np or found is np.linalg else None
    return None


class _Remembering(CompilerPass):
    """A pass of numba's that asks the typing context for the same thing over and over."""

    def run_pass(self, state: Any) -> bool:
        own = state.typingctx
        state.typingctx = _remembering(own)
        try:
            return bool(super().run_pass(state))  # type: ignore[safe-super]
        finally:
            state.typingctx = own


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberingInference(_Remembering, NopythonTypeInference):
    """The inference asks for the type of `float64 * float64`, or `a[i]`, at each of them, several times."""


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberingInlining(_Remembering, InlineOverloads):
    """The inlining of overloads asks what is known of `+` at each of them."""


def _remembering(context: Any) -> Any:
    """A typing context with all that `context` has, which remembers what operators make of numbers and arrays."""
    kind: Any = type(context)
    made: Any = object.__new__(_remembering_kind(kind))
    made.__dict__ = context.__dict__
    return made


@functools.cache
def _remembering_kind(kind: Any) -> Any:
    class Remembering(kind):  # type: ignore[misc]
        @property
        def callstack(self) -> Any:
            return asking_once(self.__dict__["callstack"])

        def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
            resolve = functools.partial(super().resolve_function_type, func, args, kws)
            is_known = not kws and _is_operator(getattr(func, "typing_key", func))
            return _resolved(func, tuple(args), resolve) if is_known else resolve()

        def resolve_value_type(self, val: Any) -> Any:
            # no value of these kinds has a type of its own
            known = self._lookup_global(val) if isinstance(val, BuiltinFunctionType | FunctionType) else None
            return super().resolve_value_type(val) if known is None else known

        def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
            given = target, index, value
            return _resolved(operator.setitem, given, functools.partial(super().resolve_setitem, *given))

    return Remembering


_known: dict[tuple[Any, tuple[types.Type, ...]], Any] = {}


def _resolved(asked: Any, args: tuple[types.Type, ...], resolve: Callable[[], Any]) -> Any:
    """What numba says of these types; it is asked once."""
    if not all(map(_is_plain, args)):
        return resolve()
    key = asked, args
    if key not in _known:
        _known[key] = resolve()
    return _known[key]


def _is_operator(callee: Any) -> bool:
    return callee is bool or callee is range or getattr(callee, "__module__", None) == "_operator"


def _is_plain(kind: types.Type) -> bool:
    """Whether it is a number, an array of numbers, or what stands between the brackets of one."""
    if isinstance(kind, types.Array):
        return isinstance(kind.dtype, types.Number | types.Boolean)
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_plain, kind.types))  # type: ignore[attr-defined]
    return isinstance(kind, types.Number | types.Boolean | types.SliceType | types.NoneType | types.EllipsisType)


@register_pass(mutates_CFG=True, analysis_only=False)
class GeneratedLowering(NativeLowering):
    """LLVM's instructions, by `lowering.py`, and the machine code of them."""

    lowering_class = GeneratedLower

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = machine_code.new_library(state)
        with machine_code.quickly():
            return bool(super().run_pass(state))


_OWN = {
    **front.PASSES,
    NopythonTypeInference: RememberingInference,
    InlineOverloads: RememberingInlining,
    NativeLowering: GeneratedLowering,
}
