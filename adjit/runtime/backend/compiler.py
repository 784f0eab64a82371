"""numba's compiler, for generated code: what that never contains is not looked for.

In: a generated function and the types of its arguments. Out: what numba's own pipeline makes of it.

    read from the text ─► ends of variables ─► lower ─► LLVM
    (`reading`)           (`lifetimes.py`)     (`lowering.py`, `machine_code.py`)
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, IRLegalization, NativeLowering, NoPythonBackend

from adjit.runtime.backend import lifetimes, machine_code
from adjit.runtime.backend.lowering import GeneratedLower
from adjit.runtime.backend.reading import Reading


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
