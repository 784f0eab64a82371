"""numba's compiler, for generated code: what that never contains is not looked for.

In: a generated function and the types of its arguments. Out: what numba's own pipeline makes of it.

    read from the text ─► ends of variables ─► lower ─► LLVM
    (`reading`)           (`lifetimes.py`)     (`lowering.py`, `machine_code.py`)
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np
from numba.core import ir
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, IRLegalization, NativeLowering, NoPythonBackend
from numba.core.untyped_passes import InlineClosureLikes

from adjit import switches
from adjit.errors import InternalError
from adjit.runtime.backend import lifetimes, machine_code, separate_compilation
from adjit.runtime.backend.inference import FindsTypes
from adjit.runtime.backend.lowering import GeneratedLower
from adjit.runtime.backend.reading import texts
from adjit.runtime.backend.reading.statements import read
from adjit.runtime.backend.reading.type_queries import NotRead
from adjit.runtime.backend.reading.verifier import fault_of
from adjit.runtime.backend.stand_ins import stand_in

# Why functions were left to numba, the latest last.
not_read: deque[str] = deque(maxlen=100)


class GeneratedCompiler(Compiler):
    """The pipeline of generated functions that run in one thread; numba's own for the others."""

    def define_pipelines(self) -> list[PassManager]:
        flags = self.state.flags
        if flags.force_pyobject or flags.auto_parallel.enabled or flags.debuginfo:
            pipelines: list[PassManager] = super().define_pipelines()
            return pipelines
        made = PassManager("generated")
        for step in (Reading, Ends, AnnotateTypes, GeneratedLowering, NoPythonBackend):
            made.add_pass(step, step.__name__)
        made.finalize()
        return [made]


@register_pass(mutates_CFG=True, analysis_only=False)
class Reading(FindsTypes, FunctionPass):
    """From a function to numba's typed form of it."""

    _name = "reading"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        tree = texts.syntax_of(state.func_id.func) if is_reading() else None
        try:
            if tree is None:
                raise NotRead("its source is not available")
            record = read(state, tree, _stand_in)
            fault = switches.is_on("ADJIT_VERIFY") and fault_of(state.func_ir.blocks, record.called, record.events)
            if fault:
                raise InternalError(f"{state.func_id.func_qualname} is compiled to other code than its source: {fault}")
        except NotRead as why:
            not_read.append(f"{state.func_id.func_qualname}: {why}")
            _numbas_passes(state).run(state)
        return True


def is_reading() -> bool:
    """Whether functions are read from their text: not with ADJIT_READING=0."""
    return switches.is_on("ADJIT_READING", usually=True)


def _stand_in(callee: Any, count: int) -> Any:
    return stand_in(callee, count) or separate_compilation.stand_in(callee, count)


def _numbas_passes(state: Any) -> PassManager:
    """numba's own, to its typed form, with the same callees."""
    made = PassManager("numba's own")
    for part in (DefaultPassBuilder.define_untyped_pipeline(state), DefaultPassBuilder.define_typed_pipeline(state)):
        for step, title in part.passes:
            made.add_pass(step, title)
            if step is InlineClosureLikes:
                made.add_pass(StandIns, "callees that need no separate compilation")
    made.finalize()
    return made


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
    made = _stand_in(callee, len(given))
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


@register_pass(mutates_CFG=True, analysis_only=False)
class Ends(IRLegalization):
    """A `del` where a variable ends that refers to memory."""

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        if function.is_generator or state.flags.dbg_extend_lifetimes or not lifetimes.is_known(function.blocks):
            return bool(super().run_pass(state))
        models = state.targetctx.data_model_manager
        refers = {kind: models[kind].contains_nrt_meminfo() for kind in set(state.typemap.values())}
        counted = {name for name, kind in state.typemap.items() if refers[kind]}
        lifetimes.with_dels(function.blocks, counted)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class GeneratedLowering(NativeLowering):
    """LLVM's instructions, by `lowering.py`, and the machine code of them."""

    lowering_class = GeneratedLower

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = machine_code.new_library(state)
        with machine_code.quickly():
            return bool(super().run_pass(state))
