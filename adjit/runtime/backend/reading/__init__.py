"""numba's typed form of a function, from its text: without bytecode, and without inference by rounds.

In: a function whose source is at hand, and the types of its arguments. Out: numba's statements, in single-assignment
form, with the type of each variable and the signature of each call.

    s += x[i] * k      $4 = getitem(x, i)  float64      $5 = $4 * k  float64      $6 = s.1 + $5  float64

numba compiles a function to bytecode, finds out what the bytecode was made of, renames variables, and passes types
round until none changes. Generated code is structured and has one type a variable, so one walk over its syntax finds
the same: names are looked up, not inferred. What the walk does not know, a `with`, say, or a call that numba puts the
body of in its place, it leaves to numba, and with it the whole function. ADJIT_READING=0 leaves all to numba.

    names.py            which names are needed after a statement
    asking.py           what numba says of the types of an operation
    expressions.py      the statements that compute an expression
    statements.py       blocks, and what a variable is where ways meet
"""

from __future__ import annotations

import os
from typing import Any

from numba.core import errors, ir
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass

from adjit.runtime.backend.inference import FindsTypes
from adjit.runtime.backend.reading.asking import NotRead
from adjit.runtime.backend.reading.statements import Place, Reader, Wider
from adjit.runtime.compile import syntax_of

# Why functions were not read, for those who want to know; the latest last.
not_read: list[str] = []


def is_on() -> bool:
    """Whether functions are read from their text: not with ADJIT_READING=0."""
    return os.environ.get("ADJIT_READING", "1") != "0"


@register_pass(mutates_CFG=True, analysis_only=False)
class Reading(FindsTypes, FunctionPass):
    """From a function to numba's typed form of it."""

    _name = "reading"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        try:
            _read(state)
        except NotRead as why:
            not_read.append(f"{state.func_id.func_qualname}: {why}")
            _numbas_passes(state).run(state)
        return True


def _read(state: Any) -> None:
    tree = syntax_of(state.func_id.func) if is_on() else None
    if tree is None:
        raise NotRead("its text is not at hand")
    try:
        reader = _reader(state, tree)
    except errors.NumbaError as why:
        # numba says it better, and where
        raise NotRead(str(why)) from None
    function = state.func_id
    state.func_ir = ir.FunctionIR(
        reader.blocks, False, function, reader.beginning, reader.definitions, function.arg_count, function.arg_names
    )
    state.func_ir.generator_info = None
    state.typemap, state.calltypes, state.return_type = reader.typemap, reader.calltypes, reader.returned
    state.typing_errors = []


def _reader(state: Any, tree: Any) -> Reader:
    """What has read the function."""
    wider: dict[Place, Any] = {}
    while True:
        reader = Reader(state, tree, wider)
        try:
            with state.typingctx.callstack.register(state.targetctx.target, reader, state.func_id, state.args):
                reader.read()
            return reader
        except Wider as found:
            if wider.get(found.place) == found.kind:
                raise NotRead("a name of several types") from None
            wider[found.place] = found.kind


def _numbas_passes(state: Any) -> PassManager:
    """numba's own, to its typed form."""
    made = PassManager("numba's own")
    for part in (DefaultPassBuilder.define_untyped_pipeline(state), DefaultPassBuilder.define_typed_pipeline(state)):
        for step, title in part.passes:
            made.add_pass(step, title)
    made.finalize()
    return made
