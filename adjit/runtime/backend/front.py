"""numba's front end for generated code: what it works out for passes that are not run is left out.

In: numba's untyped form of a function. Out: the same form as its own passes give, in less time.

    from bytecode          without looking for what generated code has none of
    single assignment      one walk for all variables, where numba rewrites every block for each of them
    array expressions      where there are some, and in their blocks alone
    ends of variables      by `lifetimes.py`
    the other passes       without liveness, which numba works out anew after each and lowering asks for once

The names are those that numba gives, so that what follows cannot tell the difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba.core import ir, ir_utils, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler_machinery import register_pass
from numba.core.consts import ConstantInference
from numba.core.errors import ConstantInferenceError
from numba.core.interpreter import Interpreter
from numba.core.rewrites.registry import rewrite_registry
from numba.core.ssa import _find_defs_violators, _iterated_domfronts
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import IRLegalization, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.np.ufunc.dufunc import DUFunc

from adjit.runtime.backend import lifetimes

# What numba rewrites of what it has read, and the instruction without which there is none.
_ASKED_BY = {
    "peep_hole_delete_with_exit": ("BEFORE_WITH", "SETUP_WITH", "LOAD_SPECIAL"),
    "peep_hole_fuse_dict_add_updates": ("DICT_UPDATE", "DICT_MERGE"),
}


@register_pass(mutates_CFG=True, analysis_only=False)
class Translation(TranslateByteCode):
    """numba's reading of bytecode."""

    def run_pass(self, state: Any) -> bool:
        state["func_ir"] = _Reader(state["func_id"]).interpret(state["bc"])
        return True


class _Reader(Interpreter):
    """Looks for what it would rewrite only where the bytecode has what that is made of."""

    def post_process(self, peepholes: list[Any], func_ir: Any) -> Any:
        there = {instruction.opname for instruction in self.bytecode}
        asked = [p for p in peepholes if there.intersection(_ASKED_BY.get(p.__name__, there))]
        return super().post_process(asked, func_ir)


@register_pass(mutates_CFG=True, analysis_only=False)
class Canonical(IRProcessing):
    """Loops with one way back each."""

    def run_pass(self, state: Any) -> bool:
        if state.func_ir.is_generator:
            return bool(super().run_pass(state))
        state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        state.func_ir.generator_info = None
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class ConstantRewrites(GenericRewrites):
    """Constants in the place of variables that hold them, where numba has instructions for that."""

    def run_pass(self, state: Any) -> bool:
        state.func_ir._consts = _Constants(state.func_ir)
        _rewrite(state, "before-inference", list(state.func_ir.blocks))
        return True


_NO_CONSTANT = ConstantInferenceError("not a constant")


class _Constants(ConstantInference):
    """numba's search for constants, which writes a message, in colours, for each variable that is none."""

    def infer_constant(self, name: str, loc: Any = None) -> Any:
        if name not in self._cache:
            try:
                self._cache[name] = True, self._do_infer(name)
            except ConstantInferenceError:
                self._cache[name] = False, None
        is_known, value = self._cache[name]
        if not is_known:
            self._fail(name)
        return value

    def _do_infer(self, name: str) -> Any:
        try:
            made = self._func_ir.get_definition(name)
        except KeyError:
            self._fail(name)
        if isinstance(made, ir.Const | ir.Global | ir.FreeVar):
            return made.infer_constant()
        return self._infer_expr(made) if isinstance(made, ir.Expr) else self._fail(made)

    def _fail(self, val: Any) -> Any:
        raise _NO_CONSTANT.with_traceback(None)


@register_pass(mutates_CFG=True, analysis_only=False)
class ArrayExpressions(NopythonRewrites):
    """numba's fusion of array expressions, and its arrays without lists, where there are any."""

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        if not lifetimes.is_known(blocks):
            return bool(super().run_pass(state))
        found = [label for label, block in blocks.items() if any(_is_for_rewriting(s, state) for s in block.body)]
        if found:
            # what they look for ends after its use
            lifetimes.with_dels(blocks)
            _rewrite(state, "after-inference", found)
            ir_utils.remove_dels(blocks)
        return bool(found)


def _rewrite(state: Any, when: str, labels: list[int]) -> None:
    """Does what is registered to be done then, as long as there is something to do, in these blocks."""
    blocks = state.func_ir.blocks
    for kind in rewrite_registry.rewrites[when]:
        rewrite = kind(state)
        todo = [(label, blocks[label]) for label in labels]
        while todo:
            label, block = todo.pop()
            if rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
                blocks[label] = rewrite.apply()
                todo.append((label, blocks[label]))


def _is_for_rewriting(statement: ir.Stmt, state: Any) -> bool:
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Expr):
        return False
    made, kind = statement.value, state.typemap[statement.target.name]
    if made.op == "call":
        callee = getattr(state.typemap[made.func.name], "typing_key", None)
        return isinstance(kind, types.Array) and isinstance(callee, np.ufunc | DUFunc)
    return made.op == "build_list" or (isinstance(kind, types.Array) and made.op in ("unary", "binop", "inplace_binop"))


@register_pass(mutates_CFG=True, analysis_only=False)
class SingleAssignment(ReconstructSSA):
    """A variable of its own for each assignment, and one for what reaches a block on several ways."""

    def run_pass(self, state: Any) -> bool:
        if state.func_ir.is_generator:
            return bool(super().run_pass(state))
        _Renaming(state.func_ir.blocks).run()
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class WithoutPhis(PreLowerStripPhis):
    """What reaches a block on several ways, as assignments on each of them."""

    def run_pass(self, state: Any) -> bool:
        if state.func_ir.is_generator:
            return bool(super().run_pass(state))
        exported: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for block in state.func_ir.blocks.values():
            phis: list[Any] = [s for s in block.body if isinstance(s, ir.Assign) and _is_phi(s.value)]
            for phi in phis:
                for label, value in zip(phi.value.incoming_blocks, phi.value.incoming_values, strict=True):
                    exported[label].append((phi.target, value))
            if phis:
                block.body = [statement for statement in block.body if not _is_phi(getattr(statement, "value", None))]
        for label, pairs in exported.items():
            _assign_early(state.func_ir.blocks[label], pairs, state.func_ir.loc)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class Ends(IRLegalization):
    """A `del` where a variable ends."""

    def run_pass(self, state: Any) -> bool:
        function = state.func_ir
        if function.is_generator or state.flags.dbg_extend_lifetimes or not lifetimes.is_known(function.blocks):
            return bool(super().run_pass(state))
        function.blocks = canonicalize_cfg(function.blocks)
        lifetimes.with_dels(function.blocks)
        return True


def _is_phi(value: Any) -> bool:
    return isinstance(value, ir.Expr) and value.op == "phi"


def _assign_early(block: Any, pairs: list[tuple[Any, Any]], start: Any) -> None:
    """Puts assignments right after the last one to what they read, as numba does: each in front of those before it."""
    after: dict[str | None, list[Any]] = defaultdict(list)
    last = {s.target.name: k for k, s in enumerate(block.body) if isinstance(s, ir.Assign)}
    for target, value in pairs:
        # what has no value on this way is null
        source = ir.Expr.null(loc=start) if value is ir.UNDEFINED else value
        name = None if value is ir.UNDEFINED or value.name not in last else value.name
        after[name].insert(0, ir.Assign(value=source, target=target, loc=source.loc))
    body = after.pop(None, [])
    places = {last[name]: made for name, made in after.items() if name is not None}
    for k, statement in enumerate(block.body):
        body.append(statement)
        body.extend(places.get(k, ()))
    block.body = body


class _Renaming:
    """Single assignment by the algorithm of numba's own (Choi, Sarkar and Schonberg 1996), all variables at once."""

    def __init__(self, blocks: Mapping[int, Any]) -> None:
        self.blocks = blocks
        self.flow = compute_cfg_from_blocks(blocks)
        found = list(_find_defs_violators(blocks, self.flow))
        self.renamed, self.order = frozenset(found), {name: k for k, name in enumerate(found)}
        self.last: dict[tuple[str, int], Any] = {}  # what a variable is at the end of a block
        self.begins: dict[tuple[str, int], Any] = {}  # and at its beginning
        self.joins: dict[str, frozenset[int]] = {}
        self.phis: dict[int, dict[str, Any]] = defaultdict(dict)

    def run(self) -> None:
        if not self.renamed:
            return
        # what an assignment makes, by the assignment: uses of the old name are renamed afterwards
        targets: dict[int, Any] = {}
        blocks_of: dict[str, set[int]] = defaultdict(set)
        for label, block in self.blocks.items():
            for statement in block.body:
                if isinstance(statement, ir.Assign) and statement.target.name in self.renamed:
                    name = statement.target.name
                    is_first = name not in blocks_of
                    new = statement.target if is_first else block.scope.redefine(name, loc=statement.loc)
                    targets[id(statement)] = self.last[name, label] = new
                    blocks_of[name].add(label)
        fronts = _iterated_domfronts(self.flow)
        for name, labels in blocks_of.items():
            self.joins[name] = frozenset().union(*(fronts[label] for label in labels))
        for label, block in self.blocks.items():
            self._rename(label, block, targets)
        for label, made in self.phis.items():
            # those of the last variable come first, as numba puts them
            phis = [made[name] for name in sorted(made, key=self.order.__getitem__, reverse=True)]
            self.blocks[label].body = phis + self.blocks[label].body

    def _rename(self, label: int, block: Any, targets: Mapping[int, Any]) -> None:
        now: dict[str, Any] = {}
        for statement in block.body:
            is_assignment = isinstance(statement, ir.Assign)
            read = statement.value if is_assignment else statement
            if isinstance(read, ir.Var):
                names = {read.name}
            else:
                names = {v.name for v in read.list_vars()} if isinstance(read, ir.Inst) else set()
            replaced = {}
            for name in names & self.renamed:
                value = now.get(name) or self._at_beginning(name, label, statement.loc)
                if value is not ir.UNDEFINED and value.name != name:
                    replaced[name] = value
            if replaced:
                if isinstance(read, ir.Var):
                    statement.value = replaced[read.name]
                elif is_assignment:
                    statement.value = ir_utils.replace_vars_inner(read, replaced)
                else:
                    ir_utils.replace_vars_stmt(statement, replaced)
            target = targets.get(id(statement))
            if target is not None:
                now[statement.target.name] = target
                statement.target = target

    def _at_beginning(self, name: str, label: int, loc: Any) -> Any:
        """What a variable is where a block begins, UNDEFINED if it is nothing yet."""
        key = name, label
        if key in self.begins:
            return self.begins[key]
        block = self.blocks[label]
        if label in self.joins[name]:
            made = block.scope.redefine(name, loc=block.loc)
            phi: Any = ir.Assign(target=made, value=ir.Expr.phi(loc=block.loc), loc=block.loc)
            self.phis[label][name] = phi
            # a loop comes back to it
            self.begins[key] = made
            self.last.setdefault(key, made)
            for source, _ in self.flow.predecessors(label):
                phi.value.incoming_values.append(self._at_end(name, source, block.loc))
                phi.value.incoming_blocks.append(source)
            return made
        dominator = self.flow.immediate_dominators()[label]
        found = ir.UNDEFINED if dominator == label else self._at_end(name, dominator, loc)
        self.begins[key] = found
        return found

    def _at_end(self, name: str, label: int, loc: Any) -> Any:
        found = self.last.get((name, label))
        return self._at_beginning(name, label, loc) if found is None else found


PASSES: dict[Any, Callable[..., Any]] = {
    TranslateByteCode: Translation,
    IRProcessing: Canonical,
    GenericRewrites: ConstantRewrites,
    ReconstructSSA: SingleAssignment,
    NopythonRewrites: ArrayExpressions,
    PreLowerStripPhis: WithoutPhis,
    IRLegalization: Ends,
}
