"""Loops over prange: that they run in parallel where that is right, and say why not elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import prange

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.programs.pranges import PRANGES

HERE = Path(__file__).resolve().parents[4]

# What the comments over the loops of value and gradient say, forward sweep first.
STRATEGIES = {
    "squares": ["parallel: y disjoint", "parallel: x_bar disjoint"],
    "total": ["parallel: x_bar disjoint; s, w_bar one per chunk, added up in order"],
    "shifted": ["parallel: y disjoint", "parallel: x_bar shared by neighbouring iterations"],
    "looked_up": [
        "parallel: y disjoint",
        "parallel: x_bar disjoint; w_bar one per chunk, added up in order",
    ],
    "histogram": ["parallel: h one per chunk, added up in order", "parallel: x_bar disjoint"],
    "linear_diffusion": [
        "parallel: w disjoint",
        "parallel: w_bar_n2 disjoint",
    ],
    "paths": ["parallel: x_tape one per chunk; s, start_bar, drift_bar, spread_bar one per chunk, added up in order"],
    "in_place": ["parallel: y_item_tape, sin_tape, y disjoint", "parallel: y_bar disjoint"],
    "strided": ["parallel: y disjoint", "parallel: x_bar disjoint"],
    "nested": ["parallel: y disjoint", "parallel: a_bar disjoint"],
    "extreme": [
        "serial: an iteration starts from the most that the last one left",
        "serial: an iteration starts from the most_bar that the last one left",
    ],
    "checked_trips": ["serial: an iteration may raise an error"],
    "cells": ["parallel: x_bar disjoint; w_bar, s one per chunk, added up in order"],
    "cells_kept": [
        "serial: an iteration may raise an error",
        "parallel: x_bar disjoint; w_bar one per chunk, added up in order",
    ],
    "swapped": ["parallel: y disjoint", "parallel: y_bar, x_bar disjoint"],
    "dependent": [
        "serial: an iteration may use elements of y that another one stores to",
        "serial: an iteration may use elements of y_bar that another one stores to",
    ],
}


def source(name, **options):
    row = PRANGES[name]
    arguments = row.arguments(np.random.default_rng(0), 20)
    return adjit.value_and_grad(row.function, wrt=row.wrt, **options).source(*arguments, tuned=True)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_is_done_about_each_array(name):
    # one that is longer than a line goes on in the next
    text = re.sub(r"(private to a chunk,.*)\n *# ", r"\1 ", source(name, parallel=True))
    comments = [line.strip(" #") for line in text.splitlines() if line.lstrip().startswith("# ")]
    assert [c for c in comments if c.startswith(("parallel:", "serial:"))] == STRATEGIES[name]


def test_indices_are_checked_before_the_trips_run_in_parallel():
    text = source("cells", parallel=True)
    checks, _, trips = text.partition("# parallel:")
    assert checks.count("check_index(") == 2
    assert "vectormath" not in checks
    assert "check_index(" not in trips
    assert "check_index(" not in source("cells", parallel=True, boundscheck=False)
    row = PRANGES["cells"]
    x, w = row.arguments(np.random.default_rng(0), 40)
    for name, k in (("cells", 3), ("cells_kept", 3)):
        for target in ("python", "cpu"):
            derived = adjit.value_and_grad(PRANGES[name].function, wrt=(0, 1), parallel=True, target=target)
            with pytest.raises(
                IndexError, match=rf"(?s)index {k} is out of bounds for axis 0 of `w`.*pranges\.py:\d+ in {name}"
            ):
                derived(x, w[:k])


@pytest.mark.parametrize("name", PRANGES)
def test_nothing_is_parallel_unless_asked_for(name):
    text = source(name)
    assert "prange(" not in text
    assert "parallel:" not in text
    assert "serial:" not in text


def same(left, right):
    if isinstance(left, tuple | list):
        return all(same(a, b) for a, b in zip(left, right, strict=True))
    if left is None:
        return right is None
    tolerance = 1e-5 if np.asarray(left).dtype == np.float32 else 1e-11
    return np.allclose(left, right, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PRANGES)
def test_every_mode_is_that_of_the_serial_function(name):
    """Where plain Python runs the text, prange is range: this is about what the text says, not about threads."""
    row = PRANGES[name]
    draw = np.random.default_rng(1)
    arguments = row.arguments(draw, 6)
    tangents = tuple(
        draw.standard_normal(np.shape(a)).astype(np.asarray(a).dtype)[()]
        if np.asarray(a).dtype.kind == "f"
        else np.zeros_like(a)
        for a in arguments
    )

    def results(**options):
        function = row.function
        value, pullback = adjit.vjp(function, *arguments, **options)
        yield value, pullback(np.asarray(value).dtype.type(1.0))
        yield adjit.jvp(function, arguments, tangents, **options)
        gradient = adjit.grad(function, wrt=row.wrt, **options)
        yield gradient(*arguments)
        yield adjit.jvp(gradient, arguments, tangents, **options)
        yield adjit.hessian(function, row.wrt[0], **options)(*arguments)

    for serial, parallel in zip(
        results(target="python"), results(target="python", strategy=CHEAPEST, parallel=True), strict=True
    ):
        assert same(serial, parallel)


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 10))])
def test_threads_do_not_change_results(part):
    """Gradients by 1, 2 and 8 threads, for all programs, as `threaded.py` says."""
    environment = {**os.environ, "NUMBA_NUM_THREADS": "8", "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-W", "error", "-m", "tests.programs.threaded", *list(PRANGES)[part::10]]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def mismatched(x, w):
    y = np.zeros((x.size, 3))
    for i in prange(x.size):
        y[i] = x[i] * w
    return np.sum(y)


def test_an_error_that_all_trips_make_gets_out():
    gradient = adjit.grad(mismatched, parallel=True)
    np.testing.assert_allclose(gradient(np.ones(4), np.arange(3.0)), np.full(4, 3.0))
    with pytest.raises(ValueError, match="cannot take a value of length"):
        gradient(np.ones(4), np.ones(2))
    # without a trip there is nothing wrong
    assert gradient(np.ones(0), np.ones(2)).size == 0


def test_compiled_pullbacks_and_hessians():
    row = PRANGES["looked_up"]
    arguments = row.arguments(np.random.default_rng(2), 50)
    (value, pullback), (expected, serial) = (
        adjit.vjp(row.function, *arguments, parallel=True),
        adjit.vjp(row.function, *arguments, target="python", strategy=CHEAPEST),
    )
    np.testing.assert_allclose(value, expected)
    for left, right in zip(pullback(2.0)[:2], serial(2.0)[:2], strict=True):
        np.testing.assert_allclose(left, right)
    hessians = [adjit.hessian(row.function, 1, **o)(*arguments) for o in ({"parallel": True}, {"target": "python"})]
    np.testing.assert_allclose(*hessians)


# ------------------------------------------------------------------------------------- what is inside of a chunk


def chunk_bodies(text):
    """The lines inside of each loop over chunks that runs in parallel, and all other lines."""
    bodies, others, depth = [], [], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent > depth:
            bodies[-1].append(line.strip())
            continue
        depth = indent if "in prange(" in line else None
        if depth is not None:
            bodies.append([])
        others.append(line.strip())
    return bodies, others


@pytest.mark.parametrize("name", ["log_likelihood", "packed", "paths", "coupled", "some"])
def test_lanes_in_a_chunk_have_arrays_of_their_own(name):
    bodies, others = chunk_bodies(source(name, parallel=True))
    assert any("for lane in range(lanes):" in body for body in bodies)
    made = [line for body in bodies for line in body if "_lanes = workspace.empty(width)" in line]
    assert made
    assert not any("width)" in line or "lanes" in line for line in others if not line.startswith("#"))


def test_strips_in_a_chunk_have_arrays_of_their_own():
    bodies, others = chunk_bodies(source("options", parallel=True))
    assert sum("= np.empty(32)" in line for line in bodies[0]) == 1
    assert not any("np.empty(32)" in line for line in others)
    # both sweeps are one loop, and all its functions are those that vectors have
    assert len(bodies) == 1
    code = "\n".join(line for line in bodies[0] if not line.startswith("#"))
    called = set(re.findall(r"\b[a-z]+\.[a-z]+\(", code))
    assert called == {"np.empty(", "math.sqrt(", "vectormath.log(", "vectormath.erf(", "vectormath.exp("}


def test_chunks_in_lanes_are_whole_blocks():
    (body, *_), others = chunk_bodies(source("log_likelihood", parallel=True))
    assert "blocks = (n + 15) // 16" in others
    assert body[2:4] == [
        "first = 16 * (blocks * chunk // chunks)",
        "end = min(16 * (blocks * (chunk + 1) // chunks), n)",
    ]


def test_without_lanes_trips_stay_one_by_one():
    text = source("product", parallel=True, strategy=Strategy(without=frozenset({"lanes"})))
    assert "for i in prange(a.shape[0]):" in text
    assert "blocks" not in text


@pytest.mark.parametrize(
    "name", ["options", *(pytest.param(name, marks=pytest.mark.long) for name in ("packed", "coupled", "damped"))]
)
def test_large_enough_for_lanes_and_strips(name):
    """Against the serial gradient, compiled as well, with blocks, strips and chunks that are full and that are not."""
    row = PRANGES[name]
    arguments = row.arguments(np.random.default_rng(3), 1500)
    wanted, gradients = adjit.value_and_grad(row.function, wrt=row.wrt)(*arguments)
    value, found = adjit.value_and_grad(row.function, wrt=row.wrt, parallel=True)(*arguments)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for left, right in zip(found, gradients, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)


def versions(x, k_2):
    """numba calls the second version of `k` k_2 in parallel code."""
    total = 0.0
    for i in prange(x.size):
        k = x[i]
        for _ in range(2):
            k = k * np.sin(k) + k_2
        k_3 = k * k
        k = k_3 + k
        total += k * k_3
    return total


def test_names_that_numba_gives_to_versions_of_variables():
    x = np.linspace(0.1, 1.0, 7)
    found = adjit.grad(versions, wrt=(0, 1), parallel=True)(x, 0.3)
    wanted = adjit.grad(versions, wrt=(0, 1))(x, 0.3)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    assert found[1] == pytest.approx(wanted[1])
