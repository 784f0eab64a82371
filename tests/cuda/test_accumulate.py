"""accumulate="float64": what of the text it changes, the code of that, and what is refused."""

import re

import numpy as np
import pytest

import adjit
from tests.cuda.compiled import code_of_kernel, doubles_unasked, needs_compiler, report
from tests.cuda.wide import columns, scaled, total, turned

TYPES = "float32[::1], float32[::1]"


def gradient(function, **options):
    return adjit.value_and_grad(function, wrt=("x", "a"), target="cuda", **options)


def test_sums_alone_are_in_double_precision():
    made, usual = (gradient(total, **options).source(TYPES) for options in ({"accumulate": "float64"}, {}))
    assert "np.float64(" not in usual
    # the value, and what flows into a; the terms are not
    assert len(re.findall(r"\+= np\.float64\(", made)) == 2
    assert "float64[:, ::1])" in made
    assert "x_bar[i] = a_item" in made


def test_what_is_in_double_precision_stays_as_it_is():
    types = "float64[::1], float64[::1]"
    assert gradient(total, accumulate="float64").source(types) == gradient(total).source(types)


def test_sums_of_rows_that_threads_keep():
    text = adjit.grad(columns, "a", target="cuda", accumulate="float64").source("float32[:, ::1], float32[::1]")
    assert "a_bar_sum += np.float64(x[i_2, j])" in text
    assert "total += a_bar_parts[row, j]\n        a_bar[j] += np.float32(total)" in text


@needs_compiler
def test_the_code_has_additions_in_double_precision_alone():
    derived = gradient(total, accumulate="float64")
    assert sum(doubles_unasked(derived.emitted(TYPES)).values()) == 0  # all kernels name it
    for kernel, code in report(derived, TYPES).items():
        assert not re.search(r"^\s*(?:mul|fma|div)[.\w]*\.f64", code.ptx, re.M), kernel
        assert re.search(r"^\s*add[.\w]*\.f64", code.ptx, re.M), kernel
        assert not code.spills


@needs_compiler
@pytest.mark.parametrize(
    "kernel, types",
    [(turned, "float32[::1], float32, float32[::1]"), (scaled, "float32[::1], float32, float32[::1]")],
)
def test_adjoints_of_kernels(kernel, types):
    adjoint = adjit.cuda.adjoint(kernel, accumulate="float64")
    text = adjoint.source(types, block=8)
    assert "np.float64(" in text
    assert text != adjit.cuda.adjoint(kernel).source(types, block=8)
    assert "float64" not in adjit.cuda.adjoint(kernel).source(types, block=8)
    assert all(row[-1] for row in adjoint.explain(types, block=8, cc=(9, 0)).resources)
    assert code_of_kernel(kernel, types).doubles == 0


@pytest.mark.parametrize("target", ["cpu", "python", "cuda-device"])
def test_refused_for_other_targets(target):
    with pytest.raises(adjit.WrongCall, match=f'accumulate="float64" with target="{target}"'):
        adjit.grad(total, target=target, accumulate="float64")


@pytest.mark.parametrize("given", ["float32", np.float64, True])
def test_refused_of_what_is_no_precision(given):
    with pytest.raises(adjit.WrongCall, match="accumulate="):
        adjit.grad(total, target="cuda", accumulate=given)
