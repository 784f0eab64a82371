"""What is kept and what is computed again: the cheapest choice, seen in the tapes of the generated source."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.storage import min_cut
from adjit.transform.storage.planning import _Network
from adjit.transform.strategy import CHEAPEST


def tapes(function, *arguments):
    source = adjit.grad(function, wrt=tuple(range(len(arguments))), target="python", strategy=CHEAPEST).source(
        *arguments, tuned=True
    )
    return sorted(re.findall(r"^ *(\w+_tape\w*) =", source, re.MULTILINE))


def check(function, *arguments):
    found = adjit.grad(function, wrt=tuple(range(len(arguments))), target="python", strategy=CHEAPEST)(*arguments)
    for k, gradient in enumerate(found):
        for place in np.ndindex(np.shape(gradient)):
            moved = [[np.array(a, dtype=float) for a in arguments] for _ in range(2)]
            moved[0][k][place] += 1e-6
            moved[1][k][place] -= 1e-6
            up, down = (function(*(a if a.ndim else float(a) for a in m)) for m in moved)
            assert np.asarray(gradient)[place] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-8)


X = np.array([0.4, 0.7, 1.3, 0.9])


def shared_sum(x, a):
    """Seven values would have to be kept, or the one sum of them that is read."""
    s = 1.0
    for i in range(2, x.size):
        t = s * x[i] + s * x[i - 1] + x[i - 2]
        s = s + a * t * t
    return s


def test_arithmetic_is_computed_again():
    # the carried value is all that is kept
    assert tapes(shared_sum, X, 0.3) == ["s_tape"]
    check(shared_sum, X, 0.3)


def transcendental(x, a):
    s = a
    for i in range(x.size):
        s = s + math.exp(x[i] * s) * math.sin(s)
    return s


def test_expensive_results_are_worth_a_slot():
    assert tapes(transcendental, X * 0.1, 0.3) == ["exp_tape", "s_tape", "sin_tape"]
    check(transcendental, X * 0.1, 0.3)


def of_many(x, a):
    """The exponential's argument is needed for nothing but its own partial, its result is kept."""
    s = a
    for i in range(x.size):
        e = math.exp(-x[i] * x[i])
        s = math.sqrt(s * s + e * e * e + e)
    return s


def test_a_chain_hangs_on_what_is_kept():
    found = tapes(of_many, X, 0.3)
    assert "e_tape" in found or "exp_tape" in found
    assert len(found) == 2
    check(of_many, X, 0.3)


def branch(x, a):
    s = a
    for i in range(x.size):
        if x[i] > 0.6:
            w = x[i] * x[i]
        else:
            w = 1.0 - x[i]
        s = s * w + s
    return s


def test_a_cheap_branch_is_evaluated_again():
    assert tapes(branch, X, 0.3) == ["s_tape"]
    check(branch, X, 0.3)


def smallest_cut(edges, size):
    """By trying all."""
    best = None
    for inside in itertools.product((0, 1), repeat=size - 2):
        side = (1, 0, *inside)
        cut = sum(c for (a, b), c in edges.items() if side[a] and not side[b])
        best = cut if best is None else min(best, cut)
    return best


@pytest.mark.parametrize("largest", [min_cut.LARGE, 0])
@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_the_smallest(monkeypatch, seed, largest):
    monkeypatch.setattr(min_cut, "LARGE", largest)
    draw = np.random.default_rng(seed)
    network = _Network()
    nodes = [network.node(k) for k in range(7)]
    for node in nodes:
        if draw.random() < 0.5:
            network.edge(_Network.SOURCE, node, int(draw.integers(1, 20)))
        if draw.random() < 0.5:
            network.edge(node, _Network.SINK, int(draw.integers(1, 20)))
        for other in nodes:
            if other != node and draw.random() < 0.3:
                network.edge(node, other, int(draw.integers(1, 20)))
    chosen = network.source_side() | {_Network.SOURCE}
    cut = sum(c for (a, b), c in network.edges.items() if a in chosen and b not in chosen)
    assert cut == smallest_cut(network.edges, 9)


@pytest.mark.parametrize("seed", range(20))
def test_large_networks_have_the_same_cut(monkeypatch, seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(5, 60))
    pairs = {(int(a), int(b)) for a, b in draw.integers(0, size, (3 * size, 2)) if a not in (b, 1) and b != 0}
    edges = {pair: int(draw.choice([1, 2, 3, 20, 10**8])) for pair in sorted(pairs)}
    found = min_cut.source_side(edges, size, 0, 1)
    monkeypatch.setattr(min_cut, "LARGE", 0)
    assert found == min_cut.source_side(edges, size, 0, 1)
