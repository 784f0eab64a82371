"""numba's compiler, for generated code: what that never contains is not looked for.

In: a generated function and the types of its arguments. Out: what numba's own pipeline makes of it.

    read from the text ─► ends of variables ─► lower ─► LLVM
    (`reading`)           (`lifetimes.py`)     (`lowering.py`, `machine_code.py`)
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, IRLegalization, NativeLowering, NoPythonBackend

from adjit.runtime.backend import apart, lifetimes, machine_code
from adjit.runtime.backend.inference import FindsTypes
from adjit.runtime.backend.lowering import GeneratedLower
from adjit.runtime.backend.reading import texts
from adjit.runtime.backend.reading.asking import NotRead
from adjit.runtime.backend.reading.statements import read
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
            made.add_pass(step, step.__doc__ or step.__name__)
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
                raise NotRead("its text is not at hand")
            read(state, tree, _stand_in)
        except NotRead as why:
            not_read.append(f"{state.func_id.func_qualname}: {why}")
            _numbas_passes(state).run(state)
        return True


def is_reading() -> bool:
    """Whether functions are read from their text: not with ADJIT_READING=0."""
    return os.environ.get("ADJIT_READING", "1") != "0"


def _stand_in(callee: Any, count: int) -> Any:
    return stand_in(callee, count) or apart.stand_in(callee, count)


def _numbas_passes(state: Any) -> PassManager:
    """numba's own, to its typed form."""
    made = PassManager("numba's own")
    for part in (DefaultPassBuilder.define_untyped_pipeline(state), DefaultPassBuilder.define_typed_pipeline(state)):
        for step, title in part.passes:
            made.add_pass(step, title)
    made.finalize()
    return made


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
