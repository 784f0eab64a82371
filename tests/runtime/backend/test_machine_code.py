"""Loop strength reduction and passes made twice are left out of generated code, and of nothing else."""

import platform
import re
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

import adjit
from adjit.runtime.backend import compiler, machine_code
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.library.hints import reassociable_add

on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="for addresses of x86")


# Every s-th element of p becomes zero: an index that is multiplied, or with strength reduction an address that steps.
STRIDED = """
define void @clear(ptr %p, i64 %n, i64 %s) {
begin:
  br label %trip
trip:
  %i = phi i64 [ 0, %begin ], [ %next, %trip ]
  %k = mul i64 %i, %s
  %element = getelementptr double, ptr %p, i64 %k
  store double 0.0, ptr %element
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %trip, label %done
done:
  ret void
}
"""


def machine_code_now():
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(opt=3).emit_assembly(llvm.parse_assembly(STRIDED))


@on_x86
def test_it_is_left_out_within_and_done_after():
    before = machine_code_now()
    with machine_code.quickly():
        within = machine_code_now()
        with machine_code.quickly():
            assert machine_code_now() == within
        assert machine_code_now() == within
    assert machine_code_now() == before != within


@on_x86
def test_it_is_done_after_an_error():
    before = machine_code_now()
    with pytest.raises(ZeroDivisionError), machine_code.quickly():
        raise ZeroDivisionError
    assert machine_code_now() == before


def test_it_has_a_switch(monkeypatch):
    before = machine_code_now()
    monkeypatch.setenv("ADJIT_LSR", "1")
    with machine_code.quickly():
        assert machine_code_now() == before


def test_it_is_done_elsewhere(monkeypatch):
    before = machine_code_now()
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with machine_code.quickly():
        assert machine_code_now() == before


@on_x86
@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_derivatives_are_compiled_so(monkeypatch):
    outside, seen = machine_code_now(), []
    lower = compiler.GeneratedLower.lower

    def lowered(self):
        seen.append(machine_code_now())
        return lower(self)

    monkeypatch.setattr(compiler.GeneratedLower, "lower", lowered)
    adjit.grad(lambda x: x * x)(2.0)
    assert seen
    assert outside not in seen


def new_library():
    state = SimpleNamespace(
        targetctx=cpu_target.target_context, func_id=SimpleNamespace(func_qualname="strided"), library=None
    )
    return machine_code.new_library(state)


def largest(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.max(x[i])
    return total


def test_a_choice_of_something_divided_is_made_for_vectors():
    """The equal shares of the greatest elements: the division stays outside of the loop over a row."""
    made = adjit.grad(largest, cache=False)
    made(np.ones((3, 40)))
    (text,) = made.inspect_llvm().values()
    assert re.search(r"store <\d+ x double>", text.split("fdiv", 1)[1])


@pytest.fixture
def levels(monkeypatch):
    """The levels of the passes that are made of libraries."""
    seen, codegen = [], cpu_target.target_context.codegen()
    build = type(codegen)._pass_builder

    def built(self, **settings):
        seen.append(settings.get("opt", 3))
        return build(self, **settings)

    monkeypatch.setattr(type(codegen), "_pass_builder", built)
    return seen


@pytest.mark.parametrize("switch, expected", [("1", [0, 2]), ("3", [3, 0, 3])])
def test_passes_are_made_once(monkeypatch, levels, switch, expected):
    monkeypatch.setenv("ADJIT_PASSES", switch)
    library = new_library()
    library.add_llvm_module(llvm.parse_assembly(STRIDED))
    with global_compiler_lock:
        library.finalize()
    assert levels == expected
    assert "define void @clear" in library.get_llvm_str()


@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_derivatives_are_compiled_with_few_passes(levels):
    adjit.grad(lambda x: x * x * x)(2.0)
    assert set(levels) == {0, 2}


def recurrence(x):
    s, t = 0.0, 0.0
    for k in range(x.size):
        s = 0.9 * s + 0.1 * x[k]
        t += s * s
    return t


def gathered(x, order):
    total = 0.0
    for k in range(order.size):
        total += x[order[k]] * x[k]
    return total


def in_order(x, y):
    for k in range(1, x.size):
        y[k] = x[k - 1] * x[k]


def columns(x, y):
    for k in range(x.shape[0]):
        y[k, 0] = 2.0 * x[k, 1]


def looked_up(x, order):
    for k in range(x.size):
        x[order[k]] = 2.0


def summed(x):
    total = 0.0
    for k in range(x.size):
        total += x[k]
    return total


def added_up(x, y):
    total = 0.0
    for k in range(x.size):
        total = reassociable_add(total, x[k] * y[k])
    return total


def two_of_a_kind(x, y):
    """What is said of the one is not said of the other."""
    s = 0.0
    for k in range(x.size):
        s = 0.5 * s + x[k]
    for k in range(x.size):
        s = reassociable_add(s, x[k] * y[k])
    return s


def long_sum(x):
    total = 0.0
    for k in range(x.size):
        item = x[k]
        item = item * item * item + item * item + item * item * item * item + item * item * item * item
        total = reassociable_add(total, item * item * item - item)
    return total


def long(x, order):
    for k in range(order.size):
        item = x[order[k]]
        x[order[k]] = item + item * item + item * item * item * item


def handed_on(x, alpha):
    left = x[0]
    for i in range(1, x.size - 1):
        here = x[i]
        x[i] = here + alpha * (left - 2.0 * here + x[i + 1])
        left = here
    return left


def handed_on_through_much(x):
    s = 0.0
    for k in range(x.size):
        item = x[k]
        item = item * item * item + item * item + item * item * item * item + item * item * item * item
        s = 0.5 * s + item * item * item - item * item
    return s


def handed_on_by_two_ways(x, limit):
    total = 0.0
    for k in range(x.size):
        if x[k] < limit:
            total += 0.5 * x[k] * x[k]
        else:
            total += limit * (x[k] - 0.5 * limit)
    return total


def nested(x, order):
    total = 0.0
    for _ in range(x.size):
        for k in range(order.size):
            total += x[order[k]]
    return total


LINE, TABLE, PLACES = types.float64[::1], types.float64[:, ::1], types.int64[::1]
ALONE, LEFT_OVER, SIDE_BY_SIDE = (
    (machine_code._trip_by_trip,),
    (machine_code._left_over,),
    (machine_code._side_by_side,),
)


@pytest.mark.parametrize(
    "function, kinds, said",
    [
        (recurrence, (LINE,), {LEFT_OVER}),
        (summed, (LINE,), {LEFT_OVER}),
        (added_up, (LINE, LINE), {LEFT_OVER + SIDE_BY_SIDE}),
        (added_up, (types.float64[:], LINE), {SIDE_BY_SIDE}),
        (long_sum, (LINE,), {ALONE}),
        (two_of_a_kind, (LINE, LINE), {LEFT_OVER, LEFT_OVER + SIDE_BY_SIDE}),
        (in_order, (LINE, LINE), {ALONE}),
        (in_order, (types.float64[:], LINE), set()),
        (columns, (TABLE, TABLE), set()),
        (looked_up, (LINE, PLACES), set()),
        (gathered, (LINE, PLACES), set()),
        (long, (LINE, PLACES), {ALONE}),
        (handed_on, (LINE, types.float64), {LEFT_OVER}),
        (handed_on_through_much, (LINE,), {ALONE}),
        (handed_on_by_two_ways, (LINE, types.float64), {ALONE}),
        (nested, (LINE, PLACES), {ALONE}),
    ],
)
@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_which_loops_are_unrolled(monkeypatch, function, kinds, said):
    seen, say = [], machine_code.Unrolling.say

    def noted(self, module, jump, branch):
        seen.append(self)
        say(self, module, jump, branch)

    monkeypatch.setattr(machine_code.Unrolling, "say", noted)
    made = njit(pipeline_class=compiler.GeneratedCompiler)(function)
    made.compile(kinds)
    (text,) = made.inspect_llvm().values()
    (unrolling,) = set(seen)
    assert set(unrolling._said.values()) == said
    assert len(set(map(id, unrolling._nodes.values()))) == len(said)
    # LLVM says it of loops of its own, too
    assert ALONE not in said or "llvm.loop.unroll.runtime.disable" in text
    # as numba reads them
    monkeypatch.setenv("ADJIT_READING", "0")
    njit(pipeline_class=compiler.GeneratedCompiler)(function).compile(kinds)
    assert set(seen[-1]._said.values()) == said


def scaled(x, y):
    for k in range(x.size):
        y[k] = 2.0 * x[k]


@on_x86
@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_how_many_vectors_a_trip_takes(monkeypatch):
    """Eight doubles; of a sum more. As many as LLVM chooses with the switch, and outside of generated code."""
    if not machine_code.is_interleaved():
        pytest.skip("for AVX")

    def doubles(function, pipeline):
        """Loaded as vectors, by what is written of them."""
        made = njit(function, **({"pipeline_class": pipeline} if pipeline else {}))
        made.compile((LINE, LINE))
        (text,) = made.inspect_llvm().values()
        return sum(map(int, re.findall(r"load <(\d+) x double>", text)))

    few, many = (doubles(function, compiler.GeneratedCompiler) for function in (scaled, added_up))
    assert few == 8
    assert many > 2 * 8
    assert doubles(scaled, None) > 8
    monkeypatch.setenv("ADJIT_INTERLEAVE", "4")
    assert doubles(scaled, compiler.GeneratedCompiler) > 8


def to_the_next_row(x, y):
    for i in range(x.shape[0] - 1):
        for j in range(x.shape[1]):
            y[i, j] += x[i, j]
            y[i + 1, j] -= x[i, j]


def to_its_own_row(x, y):
    for i in range(x.shape[0] - 1):
        for j in range(x.shape[1]):
            y[i, j] += x[i, j] - x[i + 1, j]


@pytest.mark.parametrize("function, expected", [(to_the_next_row, True), (to_its_own_row, False)])
@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
def test_of_which_rows_it_is_asked_whether_they_share_memory(monkeypatch, function, expected):
    """And outside of these functions LLVM asks as ever."""
    seen, set_option = [], llvm.set_option
    monkeypatch.setattr(llvm, "set_option", lambda name, option: (seen.append(option), set_option(name, option)))
    njit(pipeline_class=compiler.GeneratedCompiler)(function).compile((TABLE, TABLE))
    asked = [option for option in seen if "hoist-runtime-checks" in option]
    assert asked == (["-hoist-runtime-checks=false", "-hoist-runtime-checks=true"] if expected else [])
