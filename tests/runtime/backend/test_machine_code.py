"""Loop strength reduction is left out of generated code, on x86, and of nothing else."""

import platform

import llvmlite.binding as llvm
import pytest

import adjit
from adjit.runtime.backend import compiler, machine_code
from adjit.runtime.backend.versions import is_plain

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
