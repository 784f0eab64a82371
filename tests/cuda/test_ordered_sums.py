"""deterministic=True: no atomic additions in the code, and what is refused, at its line."""

import pytest

import adjit
from tests.cuda.compiled import code_of_kernel, needs_compiler, report
from tests.cuda.ordering import gathered, interpolated, ragged, shared_reads

TYPES = "float64[::1], int64[::1], float64[::1]"


def atomics(text):
    return sum(line.lstrip().startswith("cuda.atomic.add(") for line in text.splitlines())


def test_additions_are_kept_and_made_after_the_launch():
    assert atomics(adjit.grad(gathered, target="cuda").source(TYPES)) == 1
    text = adjit.grad(gathered, target="cuda", deterministic=True).source(TYPES)
    assert atomics(text) == 0
    assert "add_in_order(x_bar, x_bar_places, x_bar_values)" in text
    assert atomics(adjit.cuda.adjoint(interpolated).source(TYPES, block=8)) == 2
    assert atomics(adjit.cuda.adjoint(interpolated, deterministic=True).source(TYPES, block=8)) == 0


@needs_compiler
def test_code():
    for code in report(adjit.grad(gathered, target="cuda", deterministic=True), TYPES).values():
        assert code.atomics == 0


@needs_compiler
def test_the_kernels_that_add_up_compile():
    from adjit.runtime.cuda import ordered_sums

    kernels = {
        "_numbered": "int64[::1], int64[::1], int64",
        "_exchanged": "int64[::1], int64, int64",
        "_added_up": "float64[:, :, :], int64[::1], float64[::1], int64",
    }
    for name, types in kernels.items():
        code = code_of_kernel(getattr(ordered_sums, name).py_func, types)
        assert code.atomics == 0
        assert not code.spills


REFUSED = [
    (shared_reads, "float64[:, ::1], int64[:, ::1], float64[:, ::1]", "The block uses", "part[k[b, t]]"),
    (ragged, "float64[::1], int64[::1], int64[::1], float64[::1]", "not known before the launch", "x[k[j]]"),
]


@pytest.mark.parametrize("kernel, types, why, line", REFUSED, ids=[row[0].py_func.__name__ for row in REFUSED])
def test_refused_at_its_line(kernel, types, why, line):
    with pytest.raises(adjit.Unsupported, match="in a fixed order") as fault:
        adjit.cuda.adjoint(kernel, deterministic=True).source(types, block=8)
    assert why in fault.value.why
    assert line in fault.value.place.text


@pytest.mark.parametrize("target", ["cpu", "python", "cuda-device"])
def test_an_option_of_a_gpu(target):
    with pytest.raises(adjit.WrongCall, match="deterministic"):
        adjit.grad(gathered, target=target, deterministic=True)
