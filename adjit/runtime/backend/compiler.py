"""numba's compiler, for generated code: what that never contains is not looked for.

In: a generated function and the types of its arguments. Out: what numba's own pipeline makes of it.

    translate ─► inline closures ─► ... ─► infer types ─► array expressions ─► ... ─► lower ─► LLVM
                 (there are none)                        (loops, already)             (`lowering.py`)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import ir
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes
from numba.np.ufunc.dufunc import DUFunc

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
        definitions = state.func_ir._definitions
        calls = [call for block in state.func_ir.blocks.values() for call in block.find_exprs("call")]
        stand_ins = {call.func.name: made for call in calls if (made := _stand_in(state.func_ir, call)) is not None}
        for block in state.func_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                name = assignment.target.name
                if name in stand_ins:
                    made = stand_ins[name]
                    assignment.value = ir.Global(made.__name__, made, assignment.loc)
                    definitions[name] = [assignment.value]
        return bool(stand_ins)


def _stand_in(function: Any, call: ir.Expr) -> Callable[..., Any] | None:
    """What stands for the callee of a call with positional arguments only."""
    found = function._definitions[call.func.name]
    if call.kws or call.vararg is not None or len(found) != 1:
        return None
    return stand_in(_callee(function, found[0]), len(call.args))


def _callee(function: Any, definition: Any) -> Any:
    """The object that a definition names: a global, or an attribute of NumPy."""
    if isinstance(definition, ir.Global | ir.FreeVar):
        return definition.value
    if isinstance(definition, ir.Expr) and definition.op == "getattr":
        owner = function._definitions[definition.value.name]
        if len(owner) == 1 and isinstance(owner[0], ir.Global) and owner[0].value is np:
            return getattr(np, definition.attr, None)
    return None


@register_pass(mutates_CFG=True, analysis_only=False)
class ArrayExpressions(NopythonRewrites):
    """numba's fusion of array expressions, where there are any."""

    def run_pass(self, state: Any) -> bool:
        if any(_is_for_rewriting(statement, state) for b in state.func_ir.blocks.values() for statement in b.body):
            return bool(super().run_pass(state))
        return False


def _is_for_rewriting(statement: ir.Stmt, state: Any) -> bool:
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Expr):
        return False
    made, kind = statement.value, state.typemap[statement.target.name]
    if made.op == "call":
        callee = getattr(state.typemap[made.func.name], "typing_key", None)
        return isinstance(kind, types.Array) and isinstance(callee, np.ufunc | DUFunc)
    return made.op == "build_list" or (isinstance(kind, types.Array) and made.op in ("unary", "binop", "inplace_binop"))


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberingInference(NopythonTypeInference):
    """numba's inference, which asks for the type of `float64 * float64` at each product, several times."""

    def run_pass(self, state: Any) -> bool:
        own = state.typingctx
        state.typingctx = _remembering(own)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = own


def _remembering(context: Any) -> Any:
    """A typing context with all that `context` has, which remembers what operators make of numbers."""
    kind: Any = type(context)
    made: Any = object.__new__(_remembering_kind(kind))
    made.__dict__ = context.__dict__
    return made


@functools.cache
def _remembering_kind(kind: Any) -> Any:
    class Remembering(kind):  # type: ignore[misc]
        def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
            is_operator = getattr(getattr(func, "typing_key", None), "__module__", None) == "_operator"
            if kws or not is_operator or not all(isinstance(a, types.Number | types.Boolean) for a in args):
                return super().resolve_function_type(func, args, kws)
            key = func, tuple(args)
            if key not in _known:
                _known[key] = super().resolve_function_type(func, args, kws)
            return _known[key]

    return Remembering


_known: dict[tuple[Any, tuple[types.Type, ...]], Any] = {}


@register_pass(mutates_CFG=True, analysis_only=False)
class GeneratedLowering(NativeLowering):
    """LLVM's instructions, by `lowering.py`."""

    lowering_class = GeneratedLower


_OWN = {
    NopythonTypeInference: RememberingInference,
    NopythonRewrites: ArrayExpressions,
    NativeLowering: GeneratedLowering,
}
