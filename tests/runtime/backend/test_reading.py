"""Functions read from their text are what numba makes of their bytecode, bit for bit."""

import operator

import numpy as np
import pytest
from numba import njit
from numba.core import types
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from adjit.runtime.backend import compiler
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.reading import type_queries
from adjit.runtime.backend.versions import is_plain
from tests.runtime.backend import flow
from tests.runtime.backend.flow import bits

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

PROGRAMS = [
    flow.joined, flow.swapped, flow.widened, flow.left_early, flow.last_of_loops, flow.conditions, flow.parts,
    flow.lists, flow.calls, flow.maybe_undefined,
]  # fmt: skip


def outcome(run, *arguments):
    try:
        return bits(run(*arguments))
    except (ValueError, AssertionError) as fault:
        return type(fault), fault.args


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    compiler.not_read.clear()
    own, plain = njit(pipeline_class=GeneratedCompiler)(program), njit(program)
    for n in (8, 3):
        for seed in range(3):
            a = np.random.default_rng(seed).normal(size=8) * (1.0 + 5.0 * (seed == 2))
            assert outcome(own, n, a) == outcome(plain, n, a.copy())
    assert not compiler.not_read
    assert [s.return_type for s in own.nopython_signatures] == [s.return_type for s in plain.nopython_signatures]


@pytest.mark.parametrize("program", [flow.swapped, flow.parts, flow.lists, flow.maybe_undefined, flow.joined])
def test_memory_is_given_back(program):
    own, a = njit(pipeline_class=GeneratedCompiler)(program), np.linspace(-1.0, 2.0, 8)
    own(5, a)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(3):
            own(5, a)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free


def test_a_function_without_a_result():
    a = np.zeros(2)
    assert njit(pipeline_class=GeneratedCompiler)(flow.nothing)(3, a) is None
    assert a[0] == 3.0


def generator(n):
    for i in range(n):
        yield i * 0.5


def several_types(n):
    x = 1.0
    for i in range(n):
        x = (x, 1.0)[1] if i else n * 1j
    return x


def test_what_is_not_read_is_left_to_numba():
    compiler.not_read.clear()

    def total(n):
        found = 0.0
        for x in generator_compiled(n):
            found += x
        return found

    generator_compiled = njit(pipeline_class=GeneratedCompiler)(generator)
    assert njit(pipeline_class=GeneratedCompiler)(total)(4) == 3.0
    assert compiler.not_read
    assert njit(pipeline_class=GeneratedCompiler)(several_types)(1) == njit(several_types)(1) == 1j


def test_without_reading(monkeypatch):
    monkeypatch.setenv("ADJIT_READING", "0")
    compiler.not_read.clear()
    assert njit(pipeline_class=GeneratedCompiler)(flow.widened)(2, np.ones(2)) == (2.0, 4)
    assert len(compiler.not_read) == 1


def test_known_signatures_are_those_of_numba():
    context = cpu_target.typing_context
    for operation, args in type_queries._known_signatures():
        known = type_queries._known_signatures()[operation, args]
        own = context.resolve_function_type(context.resolve_value_type(operation), args, {})
        assert (known.return_type, known.args) == (own.return_type, own.args)


def test_parts_of_arrays_are_those_of_numba():
    context = cpu_target.typing_context
    get, put = (context.resolve_value_type(one) for one in (operator.getitem, operator.setitem))
    for layout in "CFA":
        array = types.Array(types.float64, 2, layout)
        for index in (types.int64, types.UniTuple(types.int64, 2), types.Tuple((types.int64, types.slice2_type))):
            found = type_queries.signature(context, operator.getitem, (array, index))
            assert found == context.resolve_function_type(get, (array, index), {})
            given = array, index, types.int32
            assert type_queries.set_signature(context, given) == context.resolve_function_type(put, given, {})
