"""What is compiled ahead is what a call asks for."""

from dataclasses import dataclass

import numpy as np
import pytest
from numba import float64, int64, types

import adjit
from adjit.api.specialise import dispatch


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))


@dataclass
class Spring:
    k: float

    def energy(self, x, n=2):
        return self.k * np.sum(x**n)


def energy_of(spring, x):
    return spring.energy(x)


VECTOR = types.Array(float64, 1, "C")


@pytest.mark.parametrize("signature", ["float64[:], int64", (VECTOR, int64), (np.ones(2), 3), float64(VECTOR, int64)])
def test_a_call_finds_what_was_compiled_ahead(signature):
    def made():
        def powers(x, n):
            return np.sum(x**n)

        return adjit.grad(powers)

    adjit.precompile(made(), signature)
    before = adjit.cache_info()
    assert before.entries == 1
    assert made()(np.array([1.0, 2.0]), 3).tolist() == [3.0, 12.0]
    after = adjit.cache_info()
    assert (after.hits - before.hits, after.misses) == (1, before.misses)


def test_several_signatures_and_what_has_a_default():
    def shifted(x, k=2.0):
        return k * x * x

    gradient = adjit.grad(shifted)
    adjit.precompile(gradient, "float64", "float64, float64")
    misses = adjit.cache_info().misses
    assert (gradient(3.0), gradient(3.0, 5.0)) == (12.0, 30.0)
    assert (adjit.cache_info().entries, adjit.cache_info().misses) == (2, misses)


def test_structured_arguments_methods_and_parts():
    x = np.array([1.0, 2.0])

    def found():
        of_method = adjit.grad(Spring(3.0).energy)
        of_object = adjit.grad(energy_of)
        of_part = adjit.grad(energy_of, wrt="spring.k")
        return [(of_method, (x,)), (of_object, (Spring(3.0), x)), (of_part, (Spring(3.0), x))]

    for derived, arguments in found():
        adjit.precompile(derived, arguments)
    misses = adjit.cache_info().misses
    assert adjit.cache_info().entries == 3
    # as in a later process
    dispatch._slot.cache_clear()
    hits = adjit.cache_info().hits
    values = [derived(*arguments) for derived, arguments in found()]
    assert values[0].tolist() == [6.0, 12.0]
    assert (values[1].k, values[2]) == (5.0, 5.0)
    assert (adjit.cache_info().hits, adjit.cache_info().misses) == (hits + 3, misses)


def test_jacobians_of_types_are_compiled_both_ways():
    def squares(x):
        return x * x

    jacobian = adjit.jacobian(squares)
    adjit.precompile(jacobian, "float64[:]")
    misses = adjit.cache_info().misses
    assert jacobian(np.array([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert adjit.cache_info().misses == misses


def test_what_cannot_be_kept_is_said(monkeypatch):
    large = np.ones(200_000)

    def decay(x):
        return x * large[0]

    with pytest.warns(adjit.NotCached, match="decay is compiled in each process: .*1,600,000 bytes"):
        adjit.precompile(adjit.grad(decay), "float64")
    monkeypatch.setenv("ADJIT_CACHE", "0")
    with pytest.warns(adjit.NotCached, match="its cache is off"):
        adjit.precompile(adjit.grad(lambda x: x * x), "float64")


@pytest.mark.parametrize(
    "arguments, what",
    [
        ((len, "float64"), "an object that is not a derivative"),
        ((adjit.grad(np.sin),), "without types"),
        ((adjit.grad(np.sin), 1.0), "signature 1.0"),
        ((adjit.grad(np.sin, target="python"), "float64"), 'target="python"'),
    ],
)
def test_what_is_refused(arguments, what):
    with pytest.raises(adjit.AdjitError, match=what):
        adjit.precompile(*arguments)
