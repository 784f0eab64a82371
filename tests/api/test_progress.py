"""Long derivatives that are watched: the same numbers, bars, and Ctrl-C, which ends them within a second."""

import io
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import adjit
from adjit.api import progress
from adjit.api.progress import line_of
from adjit.api.specialise import dispatch
from tests.programs.diffusion import diffuse


def until_small(u, alpha, steps):
    total, trips = 1.0, 0
    w = u
    while total > 1e-3 and trips < steps:
        w = w * (1.0 - alpha * np.sin(w))
        for x in w:
            if x > 10.0:
                break
            total *= 0.9 + 0.01 * x
        trips += 1
    return total + w[0]


def on_a_path(u, alpha, steps):
    total = 0.0
    if alpha > 0.05:
        for t in range(steps):
            for i in range(u.size):
                total = np.sin(total + u[i] * alpha)
                if total > 0.99:
                    return total * 2.0
    else:
        for t in range(steps):
            total += alpha
    return total * u[0]


def marked(u, alpha, steps):
    v = u
    for t in adjit.checkpoint(range(steps)):
        v = v + alpha * np.sin(v)
    return np.sum(v)


PROGRAMS = (diffuse, until_small, on_a_path, marked)
U, V = np.random.default_rng(1).uniform(0.2, 0.9, 12), np.random.default_rng(2).standard_normal(12)


def reverse(f):
    value, gradient = adjit.value_and_grad(f, wrt=("u", "alpha"))(U, 0.1, 9)
    return [value, *gradient]


def apart(f):
    value, pullback = adjit.vjp(f, U, 0.1, 9)
    return [value, *pullback(1.0)[:2]]


def along(f):
    return [*adjit.jvp(f, (U, 0.1, 9), (V, 0.3, None)), adjit.hvp(f)(U, 0.1, 9, V)]


def same(run):
    expected = run()
    with adjit.progress(bar=False):
        found = run()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", PROGRAMS)
def test_what_is_watched_gives_the_same(f):
    same(lambda: reverse(f))


@pytest.mark.long
@pytest.mark.parametrize("kind", (apart, along))
@pytest.mark.parametrize("f", PROGRAMS)
def test_each_kind_gives_the_same(f, kind):
    same(lambda: kind(f))


def test_results_that_are_built_up_of_arrays_and_tuples():
    def built(x, n):
        total, rows = np.zeros((2, x.size)), 0
        for t in range(n):
            for i in range(x.size):
                total[t % 2, i] += x[i] ** t
            rows += 1
        return (total.T, total[1]), rows

    expected, _ = adjit.vjp(built, U, 5)
    with adjit.progress(bar=False):
        found, pullback = adjit.vjp(built, U, 5)
        x_bar, _ = pullback(((np.ones((U.size, 2)), np.ones(U.size)), 0))
    np.testing.assert_array_equal(found[0][0], expected[0][0])
    np.testing.assert_allclose(x_bar, sum(t * U ** (t - 1) * (1 + t % 2) for t in range(1, 5)), rtol=1e-13)


def test_bars_say_the_loop_and_the_sweep(monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr(progress, "_OFTEN", 0.002)
    gradient = adjit.grad(diffuse, wrt="alpha")
    with adjit.progress(said, after=0.0):
        # at least some hundredths of a second in each sweep
        gradient(np.ones(600), 0.1, 80_000)
    line = diffuse.__code__.co_firstlineno + 2
    assert f"grad(diffuse)  L{line} forward  [" in said.getvalue()
    assert f"grad(diffuse)  L{line} reverse  [" in said.getvalue()
    # what was there is taken away
    *_, cleared, end = said.getvalue().split("\r")
    assert not end
    assert not cleared.strip()


def test_a_bar_is_as_long_as_what_is_done():
    assert line_of(12, 1, 5, 10, 67.0) == "L12 reverse  [##########..........]  50%  1:07"
    assert line_of(12, 0, 5, 0, 3.0) == "L12 forward  0:03"
    assert line_of(0, 0, 0, 0, 3.0) == "0:03"


def test_nothing_of_it_is_left_outside():
    gradient = adjit.grad(diffuse, wrt="alpha")
    plain = dispatch._call
    with pytest.raises(ZeroDivisionError), adjit.progress(bar=False):
        with adjit.progress(bar=False):
            gradient(U, 0.1, 3)
        assert dispatch._call is not plain
        raise ZeroDivisionError
    assert dispatch._call is plain
    assert "adjit.progress" not in [t.name for t in threading.enumerate()]
    assert "is_stopped" not in gradient.source(U, 0.1, 3, tuned=True)


def test_threads_are_watched_together():
    gradient = adjit.grad(diffuse, wrt="u")
    expected, found = gradient(U, 0.1, 50), {}
    with adjit.progress(bar=False):
        threads = [threading.Thread(target=lambda k=k: found.update({k: gradient(U, 0.1, 50)})) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 3
    for one in found.values():
        np.testing.assert_array_equal(one, expected)


def test_others_are_told_of_signals_as_before():
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.fileno())
    kept = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        with adjit.progress(bar=False):
            os.kill(os.getpid(), signal.SIGUSR1)
        ours.settimeout(10.0)
        assert ours.recv(1) == bytes([signal.SIGUSR1])
        assert signal.set_wakeup_fd(-1) == theirs.fileno()
    finally:
        signal.signal(signal.SIGUSR1, kept)
        signal.set_wakeup_fd(before)
        ours.close()
        theirs.close()


def rows(u, k):
    made = np.empty_like(u)
    made[0], made[-1] = u[0], u[-1]
    for t in range(2):
        for i in range(1, u.size - 1):
            made[i] = np.sin(u[i - 1] * k) + u[i + 1] ** 2 * (t + 1)
    return made


def in_dictionaries(params, n):
    total = 0.0
    for t in range(n):
        for w in params["ws"]:
            total += np.sum(w**2) * params["k"]
    return total


def unpacked(p, n):
    first, *rest = p
    total = 0.0
    for t in range(n):
        for q in rest:
            total += np.sin(q * first)
    return total


def stretched(a, b):
    total = 0.0
    for t in range(2):
        total += np.sum(np.sin(a * b) * t)
        for i in range(3):
            total += a[i]
    return total


def into():
    out = np.empty(12)
    adjit.grad(diffuse).into(U, 0.1, 5, out=out)
    return (out,)


OTHERS = {
    "sparse": lambda: (adjit.jacobian(rows, sparse=True)(U, 0.7).toarray(), adjit.jacobian(rows)(U, 0.7)),
    "several": lambda: adjit.vjp(rows, U, 0.7)[1](np.eye(12), several=True),
    "vmap": lambda: (adjit.vmap(adjit.grad(diffuse), in_axes=(0, None, None))(np.stack([U, V]), 0.1, 3),),
    "dictionaries": lambda: adjit.grad(in_dictionaries)({"ws": [U, V], "k": 0.3}, 3)["ws"],
    "constants": lambda: (adjit.grad(unpacked)(U, 3),),
    "stretched": lambda: adjit.grad(stretched, wrt=(0, 1))(U, np.ones(1)),
    "single": lambda: (adjit.grad(diffuse)(U.astype(np.float32), np.float32(0.1), 5),),
    "into": into,
}


@pytest.mark.long
@pytest.mark.parametrize("run", OTHERS.values(), ids=OTHERS)
def test_other_calls_give_the_same(run):
    same(run)


# Each call would take minutes. What is left behind would be 80 MB a call.
INTERRUPTED = """
import os, resource, signal, threading, time
import numpy as np
import adjit
from tests.programs.diffusion import diffuse

def interrupted(run, *arguments):
    def later():
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    sent = []
    thread = threading.Thread(target=later)
    thread.start()
    try:
        run(*arguments)
    except KeyboardInterrupt:
        thread.join()
        return time.monotonic() - sent[0]
    return -1.0

# what starts this process may have it ignore Ctrl-C, as shells do in the background
signal.signal(signal.SIGINT, signal.default_int_handler)
u = np.random.default_rng(1).standard_normal(10_000)
gradient = adjit.grad(diffuse, wrt="u")
expected = gradient(u, 0.1, 100)
again = lambda: {again}
with adjit.progress(bar=False):
    {run}(u, 0.1, 10)
    print(interrupted({run}, u, 0.1, {steps}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(max(interrupted({run}, u, 0.1, {steps}) for trip in range(4)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(abs(gradient(u, 0.1, 100) - expected).max())
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
RUNS = {
    "gradient": ("gradient", 1_000_000_000),
    "checkpointed": ("adjit.grad(diffuse, wrt='u', memory_limit=10**7)", 1_000_000),
    "python": ("adjit.grad(diffuse, wrt='u', target='python')", 1_000),
    "tangent": ("lambda u, a, n: adjit.jvp(diffuse, (u, a, n), (u, 0.0, None))", 100_000_000),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name != "gradient")) for name in RUNS])
def test_ctrl_c_ends_a_call_within_a_second(name):
    run, steps = RUNS[name]
    code = INTERRUPTED.format(run=f"({run})", steps=steps, again="None").replace("again = lambda: None\n", "")
    root = str(Path(adjit.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": root}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=120)
    assert ran.returncode == 0, ran.stderr
    first, others, kilobytes, error, is_restored = ran.stdout.split()
    assert 0.0 <= float(first) < 1.0
    assert 0.0 <= float(others) < 1.0
    assert int(kilobytes) < 20_000
    assert float(error) == 0.0
    assert is_restored == "True"
