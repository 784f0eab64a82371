"""Records of decisions: kept apart by block and by thread, and only of what was kept."""

from __future__ import annotations

import threading

import numba
import pytest

from adjit.transform import pipeline
from adjit.transform.rewrite.notes import (
    Differentiated,
    Elaborated,
    Provided,
    Remark,
    Scheduled,
    Swept,
    note,
    recording,
)
from tests.golden import primals


def texts(records):
    return [record.text for record in records]


def test_nobody_has_to_read():
    note(Remark(None, "lost"))


def test_the_innermost_block_has_what_is_noted():
    with recording() as outer:
        note(Remark(None, "before"))
        with recording() as inner:
            note(Remark(None, "inside"))
        note(Remark(None, "after"))
    assert texts(outer) == ["before", "after"]
    assert texts(inner) == ["inside"]


def test_what_was_tried_is_kept_by_noting_it_on():
    with recording() as kept:
        for attempt in ("first", "second"):
            with recording() as tried:
                note(Remark(None, attempt))
        note(*tried)
    assert texts(kept) == ["second"]


def test_a_block_that_raises_ends():
    with recording() as outer:
        with pytest.raises(ZeroDivisionError), recording():
            note(Remark(None, "lost"))
            raise ZeroDivisionError
        note(Remark(None, "kept"))
    assert texts(outer) == ["kept"]


def test_threads_do_not_meet():
    found = {}
    barrier = threading.Barrier(4)

    def record(number):
        with recording() as records:
            for _ in range(100):
                barrier.wait()
                note(Remark(None, str(number)))
        found[number] = texts(records)

    threads = [threading.Thread(target=record, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: [str(k)] * 100 for k in range(4)}


def explained(function, wrt, *arguments, **options):
    derivative = pipeline.Derivative(function, "grad", wrt, **options)
    return pipeline.explained(derivative, tuple(numba.typeof(a) for a in arguments))


def test_each_decision_is_there_once():
    case = next(case for case in primals.CASES if case.name == "log_likelihood")
    _, records = explained(case.function, case.wrt, *case.arguments)
    for kind in (Elaborated, Differentiated, Swept):
        assert len([r for r in records if isinstance(r, kind)]) == 1
    taped = [r.value for r in records if isinstance(r, Provided) and r.how == "taped"]
    assert len(taped) == len(set(taped))
    loops = [r.loop for r in records if isinstance(r, Scheduled)]
    assert len(loops) == len(set(loops))


def test_that_somebody_reads_changes_nothing():
    case = next(case for case in primals.CASES if case.name == "diffuse")
    derivative = pipeline.Derivative(case.function, "grad", case.wrt)
    types = tuple(numba.typeof(a) for a in case.arguments)
    before = pipeline.source(derivative, types).text
    pipeline.explained(derivative, types)
    assert pipeline.source(derivative, types).text == before


def test_a_derivative_inside_is_not_told_of():
    inner = pipeline.Derivative(primals.damped, "grad", (0,), single=True)
    _, records = explained(inner, (0,), 0.7, 3.0)
    (taken,) = (r for r in records if isinstance(r, Differentiated))
    assert taken.function.name == "damped_grad"
    assert not any(isinstance(r, Elaborated) for r in records)
