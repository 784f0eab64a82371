"""How LLVM writes machine code for generated code: without what costs it most and gains nothing.

    with quickly():
        ...             no loop strength reduction, nor a second order of instructions, in what is compiled here

    new_library(state)  the library of a function, which LLVM's passes go over once
    Unrolling(...)      which of its loops LLVM leaves at one trip at a time

LLVM looks for the cheapest way to step all addresses of a loop, which takes it half of the time in which it writes
machine code, for loops in SIMD lanes with their remainders two thirds. On x86 an address is a base, a scaled index and
an offset anyway: over 28 workloads the code takes 1.00 of the time without. Nor are instructions ordered again once
registers are given out, which processors do themselves (machine code in 0.91 of the time). ADJIT_LSR=1 has it all done.

numba has LLVM simplify each function, and then, in the module, all of them again, at its highest level. Generated code
is simplified already: one level lower, once, it is as fast (1.00 over 13 workloads), and a first
gradient takes 0.88 of the time. Before that choices are laid straight: a division whose result an element may get
would be made in its loop, which is no loop over vectors then (the gradient of a greatest element takes 0.5 of the
time, that of a softmax 0.83). ADJIT_PASSES=3 has numba's own passes made.

A third of the code would be loops of which LLVM makes four or eight trips one: those that are left over beside vectors,
and that long bodies make no faster. It does that to short ones that are not made of vectors alone: over 13 workloads
a first gradient takes 0.97 of the time, the gradient 1.00. Nor does it write out the trips of one that has at most
eight, but may have fewer, as blocks of lanes do (0.98, and 1.00), or make a loop twice, for arrays that may be strided
like others, to hand on in a register what the trip before stored (0.99, and 1.00).

Whether arrays share memory LLVM asks in front of the loop around, of all that its trips get to. Of one row of an array
and the next that is the same memory, and the inner loop has no vectors. So where a loop stores to one row and gets to
another, that is asked of each pair: the gradient of a total variation takes 0.55 of the time. Where none does, it would
be asked too often (a recurrent cell of 64 units would take 1.06).

Of a loop over vectors LLVM makes up to four trips one, and then a second loop, over shorter vectors, for what that
leaves over, before the one for single elements. Eight doubles a trip are as fast, and leave so few over that there is
no second loop: over 31 workloads a first gradient takes 0.965 of the time, the gradient 1.00. A short sum, each of
whose vectors waits for the one before, stays as it was. ADJIT_INTERLEAVE=4 has all as it was.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba import types
from numba.core import config, ir
from numba.core.codegen import JITCodeLibrary, _parse_refprune_flags
from numba.core.registry import cpu_target

from adjit import switches
from adjit.runtime.library.hints import IN_ANY_ORDER

_config: Any = config
_is_inside = False  # of `quickly`; what compiles holds numba's lock

# LLVM's options while generated code is compiled, and otherwise
_OPTIONS = {
    "-disable-lsr=true": "-disable-lsr=false",
    "-disable-post-ra=true": "-disable-post-ra=false",
    "-disable-postra-machine-licm=true": "-disable-postra-machine-licm=false",
    "-disable-postra-machine-sink=true": "-disable-postra-machine-sink=false",
    "-disable-x86-domain-reassignment=true": "-disable-x86-domain-reassignment=false",
    "-unroll-max-upperbound=1": "-unroll-max-upperbound=8",
    "-loop-load-elimination-scev-check-threshold=0": "-loop-load-elimination-scev-check-threshold=8",
}

_EACH_ROW = {"-hoist-runtime-checks=false": "-hoist-runtime-checks=true"}

# How many vectors LLVM's own loops take a trip, with AVX; and how many short sums do.
_USUAL, _SUMS = 4, 4

# A loop of more operations is not faster with several trips in one. The second is for those without branches that hand
# on floats, which go from trip to trip without a move then (a diffusion of 9 and 10 operations takes 1.46 of the time
# trip by trip).
_SHORT, _HANDING_ON = 8, 16
_OPERATIONS = frozenset(("binop", "inplace_binop", "unary", "getitem", "static_getitem", "call"))


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """For what is compiled within. LLVM's options are those of the process, so others are compiled as ever outside."""
    global _is_inside
    if _is_inside or not is_on():
        yield
        return
    _is_inside = True
    try:
        with _with_options(_OPTIONS | _interleaving()):
            yield
    finally:
        _is_inside = False


@contextlib.contextmanager
def _with_options(options: Mapping[str, str]) -> Iterator[None]:
    """Options of LLVM's within, and what they are outside."""
    for within in options:
        llvm.set_option("", within)
    try:
        yield
    finally:
        for outside in options.values():
            llvm.set_option("", outside)


def _interleaving() -> dict[str, str]:
    """The option for vectors of eight doubles a trip together, and what it is otherwise."""
    if not is_interleaved():
        return {}
    option = "-force-target-max-vector-interleave={}"
    return {option.format(1 if has_wide_vectors() else 2): option.format(_USUAL)}


def is_interleaved() -> bool:
    """Whether a trip takes eight doubles: with AVX, and not with ADJIT_INTERLEAVE=4."""
    return _vectors()[0] and os.environ.get("ADJIT_INTERLEAVE", "0") != str(_USUAL)


def has_wide_vectors() -> bool:
    """Whether LLVM chooses vectors of 512 bits: where there are, but on Intel's."""
    return _vectors()[1]


def has_fused_products() -> bool:
    """Whether the machine multiplies and adds in one instruction."""
    return "+fma" in _features() or platform.machine() in ("arm64", "aarch64")


@functools.cache
def _vectors() -> tuple[bool, bool]:
    """Whether there is AVX, and whether vectors are of 512 bits."""
    name = cpu_target.target_context.codegen()._get_host_cpu_name()
    return "+avx" in _features(), "+avx512f" in _features() and name.startswith("znver")


@functools.cache
def _features() -> frozenset[str]:
    """What LLVM says that the processor has, as "+fma"."""
    return frozenset(cpu_target.target_context.codegen()._get_host_cpu_features().split(","))


def is_on() -> bool:
    """Whether loops are compiled without strength reduction: on x86, and not with ADJIT_LSR=1."""
    return platform.machine() in ("x86_64", "AMD64") and not switches.is_on("ADJIT_LSR")


def is_sparing() -> bool:
    """Whether generated code is simplified once: not with ADJIT_PASSES=3, nor where numba times its own passes."""
    return os.environ.get("ADJIT_PASSES", "1") != "3" and not _config.LLVM_PASS_TIMINGS


class _Library(JITCodeLibrary):
    """numba's own, but for its passes, which go over each function twice, and over those of other modules.

    asks_each_row: whether rows share memory is asked of each pair of them.
    """

    asks_each_row = False

    def _optimize_functions(self, ll_module: Any) -> None:
        # the passes on modules do it
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        builder = self._codegen._pass_builder(opt=0, loop_vectorize=True, slp_vectorize=False)
        passes = builder.getModulePassManager()
        passes.add_sroa_pass()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
        # `a if test else b` is a choice then, before what makes a is moved to where it is chosen
        passes.add_simplify_cfg_pass()
        if _config.LLVM_REFPRUNE_PASS:
            passes.add_refprune_pass(_parse_refprune_flags())
        passes.run(self._final_module, builder)
        passes, builder = self._codegen._module_pass_manager(opt=2)
        with _with_options(_EACH_ROW if self.asks_each_row else {}):
            passes.run(self._final_module, builder)


def new_library(state: Any) -> Any:
    """An empty library for the function that is compiled, which is kept as machine code, as numba's own are."""
    codegen = state.targetctx.codegen()
    made = codegen.create_library(state.func_id.func_qualname)
    if type(made) is JITCodeLibrary and is_sparing():
        made.__class__ = _Library
    made.enable_object_caching()
    return made


# What is said of a loop: that no trips are made one; that none are of what vectors leave over; how many vectors are
# added up side by side.


def _trip_by_trip(module: Any) -> Any:
    return module.add_metadata(["llvm.loop.unroll.runtime.disable"])


def _left_over(module: Any) -> Any:
    is_done = module.add_metadata(["llvm.loop.isvectorized", llvm_ir.IntType(32)(1)])
    return module.add_metadata(["llvm.loop.vectorize.followup_epilogue", _trip_by_trip(module), is_done])


def _side_by_side(module: Any) -> Any:
    return module.add_metadata(["llvm.loop.interleave.count", llvm_ir.IntType(32)(_SUMS)])


_Said = Callable[[Any], Any]


def _key_of(kind: Any) -> Any:
    return getattr(kind, "typing_key", None)


class Unrolling:
    """Which loops LLVM may unroll, of a function in numba's form, and of how many vectors it makes a trip.

        for j in range(1, m - 1):               made of vectors: what they leave over goes trip by trip
            v[i, j] = u[i, j] + k[i, j]
        for k in range(n):                      short, and in order: several trips in one
            s = 0.9 * s + x[k]
        for k in range(n):                      each sum waits for the one before: several side by side
            s = reassociable_add(s, x[k] * y[k])

    set_once: its variables that are assigned once. type_of, definition: of a variable.
    """

    def __init__(
        self,
        blocks: Mapping[int, Any],
        set_once: frozenset[str] | set[str],
        type_of: Callable[[str], Any],
        definition: Callable[[Any], Any],
    ) -> None:
        self._type_of, self._definition = type_of, definition
        takes_several = is_interleaved()
        ends = [(target, label) for label, block in blocks.items() for target in _targets(block) if target <= label]
        # by the jump back to where a loop begins
        self._said: dict[int, tuple[_Said, ...]] = {}
        self.has_rows_apart = False  # whether a loop stores to one row of an array and gets to another
        self._nodes: dict[tuple[_Said, ...], Any] = {}
        for first, last in ends:
            has_inner = any((first, last) != other and first <= other[0] and other[1] <= last for other in ends)
            jump = id(blocks[last].body[-1])
            if has_inner:
                self._said[jump] = (_trip_by_trip,)
                continue
            labels = [label for label in sorted(blocks) if first <= label <= last]
            body = [s for label in labels for s in blocks[label].body]
            self.has_rows_apart = self.has_rows_apart or self._gets_to_rows_apart(body)
            count, is_handed_on, is_in_order, has_sum = self._looked_at(body, set_once)
            is_straight = len(labels) == 2
            most = _HANDING_ON if is_handed_on and is_straight else _SHORT
            said: tuple[_Said, ...] = ()
            if count > most or (is_in_order and not is_handed_on):
                said = (_trip_by_trip,)
            elif is_in_order:
                said = (_left_over,)
            if has_sum and count <= _SHORT and takes_several:
                said = (*said, _side_by_side)
            if said:
                self._said[jump] = said

    def _gets_to_rows_apart(self, body: list[Any]) -> bool:
        rows, stored = dict[str, set[tuple[str, ...]]](), set[str]()
        for statement in body:
            value = statement.value if isinstance(statement, ir.Assign) else statement
            if isinstance(value, ir.SetItem):
                array, index = value.target, value.index
                stored.add(array.name)
            elif isinstance(value, ir.Expr) and value.op == "getitem":
                array, index = value.value, value.index
            else:
                continue
            made = self._definition(index)
            if isinstance(made, ir.Expr) and made.op == "build_tuple":
                rows.setdefault(array.name, set()).add(tuple(item.name for item in made.items[:-1]))
        return any(len(rows.get(name, ())) > 1 for name in stored)

    def _looked_at(self, body: list[Any], set_once: frozenset[str] | set[str]) -> tuple[int, bool, bool, bool]:
        """How many operations there are in a loop, whether it hands on a float, whether it goes through its arrays
        element by element as they lie, and whether it adds up in any order."""
        count, changing, looked_up = 0, set[str](), set[str]()
        is_handed_on, is_in_order, has_sum = False, True, False

        def is_next(array: ir.Var, index: ir.Var) -> bool:
            return index.name not in looked_up and self._is_next(array, index, changing)

        for statement in body:
            if isinstance(statement, ir.SetItem):
                count += 1
                is_in_order = is_in_order and is_next(statement.target, statement.index)
            if not isinstance(statement, ir.Assign):
                continue
            target, value = statement.target.name, statement.value
            if target not in set_once and isinstance(self._type_of(target), types.Float):
                is_handed_on = True
            if isinstance(value, ir.Var):
                names, op = {value.name}, None
            elif isinstance(value, ir.Expr):
                names, op = {variable.name for variable in value.list_vars()}, value.op
                if op == "getitem":
                    is_in_order = is_in_order and is_next(value.value, value.index)
            else:
                continue
            count += op in _OPERATIONS
            if isinstance(value, ir.Expr) and op == "call":
                has_sum = has_sum or _key_of(self._type_of(value.func.name)) in IN_ANY_ORDER
            if op in ("getitem", "call") or not looked_up.isdisjoint(names):
                looked_up.add(target)
            if op == "iternext" or target in looked_up or not changing.isdisjoint(names):
                changing.add(target)
        return count, is_handed_on, is_in_order, has_sum

    def _is_next(self, array: ir.Var, index: ir.Var, changing: set[str]) -> bool:
        """Whether from trip to trip an element stays the same, or may be the next one in memory."""
        kind = self._type_of(array.name)
        if not isinstance(kind, types.Array) or index.name not in changing:
            return True
        made = self._definition(index)
        if kind.layout != "C":
            return False
        if isinstance(made, ir.Expr) and made.op == "build_tuple":
            return not any(item.name in changing for item in made.items[:-1])
        return kind.ndim == 1

    def say(self, module: Any, jump: Any, branch: Any) -> None:
        """Tells LLVM, at the branch that was made of a jump, if that goes back to where a loop begins."""
        said = self._said.get(id(jump))
        if said is None:
            return
        if said not in self._nodes:
            parts = [write(module) for write in said]
            # what is said of a loop names itself first
            made = module.add_metadata(parts)
            made.operands = (made, *parts)
            self._nodes[said] = made
        branch.set_metadata("llvm.loop", self._nodes[said])


def _targets(block: Any) -> tuple[int, ...]:
    end = block.body[-1]
    if isinstance(end, ir.Jump):
        return (end.target,)
    return (end.truebr, end.falsebr) if isinstance(end, ir.Branch) else ()
