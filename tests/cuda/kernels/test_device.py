"""Adjoints of users' kernels as kernels: how they are built, and their code for compute capabilities 8.0 and 9.0.

What is counted is what a person would write by hand; values are looked at in `tests/cuda/simulated`.
"""

import math
import re

import numpy as np
import pytest
from numba import cuda, prange

import adjit
from adjit.errors import Unsupported
from adjit.runtime.library.gpus import BACKEND
from adjit.transform import kernel_pipeline
from tests.cuda.compiled import code_of, doubles_unasked, needs_compiler
from tests.cuda.kernels.harness import derived
from tests.cuda.kernels.maps import normal
from tests.cuda.kernels.test_kernels import CASES


@cuda.jit
def misfit(x, d, w, a, total):
    i = cuda.grid(1)
    if i < x.size:
        r = a[0] * math.tanh(a[1] * x[i]) - d[i]
        cuda.atomic.add(total, 0, w[i] * r * r)


@cuda.jit
def seep(p, k, q):
    i = cuda.grid(1)
    if 1 <= i < p.size - 1:
        q[i] = p[i] + k[i] * (p[i - 1] - 2.0 * p[i] + p[i + 1]) - 0.1 * p[i] ** 3


@cuda.jit
def few_bins(x, k, h):
    i = cuda.grid(1)
    if i < x.size:
        h[i] = math.sin(x[i]) * k[0] + k[1] * x[i]


@cuda.jit
def eliminated(a, b, c, d, x):
    """Tridiagonal systems: what is loaded is as much as what a thread keeps."""
    i = cuda.grid(1)
    if i < x.shape[1]:
        up, right = cuda.local.array(24, np.float64), cuda.local.array(24, np.float64)
        up[0] = c[0, i] / b[0, i]
        right[0] = d[0, i] / b[0, i]
        for k in range(1, 24):
            pivot = b[k, i] - a[k, i] * up[k - 1]
            up[k] = c[k, i] / pivot
            right[k] = (d[k, i] - a[k, i] * right[k - 1]) / pivot
        last = right[23]
        x[23, i] = last
        for k in range(22, -1, -1):
            last = right[k] - up[k] * last
            x[k, i] = last


OWN = {
    "eliminated": (eliminated, (2, 8), lambda g: tuple(normal(g, 24, 13) for _ in range(5))),
    "misfit": (
        misfit, (2, 16), lambda g: (normal(g, 27), normal(g, 27), normal(g, 27), normal(g, 2), normal(g, 1))
    ),
    "seep": (seep, (2, 16), lambda g: (normal(g, 27), normal(g, 27), normal(g, 27))),
    "few bins": (few_bins, (2, 16), lambda g: (normal(g, 27), normal(g, 2), normal(g, 27))),
}  # fmt: skip
ALL = {**CASES, **OWN}
REFUSED = {
    "until small",
    "waiting",
    "decay",
    "recursive",
}  # of which nobody knows how long a thread takes


def emitted(name, kind="adjoint", dtype=np.float64):
    kernel, launch, arguments = ALL[name]
    given = [
        a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
        for a in arguments(np.random.default_rng(1))
    ]
    types, asked = derived(kernel, kind, target="cuda")._types(given, launch[1], np.size(launch[0]), None)
    return kernel_pipeline.kernel_source(asked, *types)


# launches, barriers that are written out, atomic additions. By hand: a map with sums and its tail; a stencil, and a
# gather of its contributions; contributions of a filter, their gather, and a tail for the sums; a tree; tiles that are
# filled again, with additions that threads and blocks share; what all others do to one, and what one does to
# all; weights that all rows have, by rows of partial sums and a sum of those.
STRUCTURES = {
    "misfit": (2, 0, 0), "seep": (2, 0, 0), "fir": (3, 0, 0), "log sum exp": (1, 3, 0), "staged": (1, 4, 2),
    "few bins": (2, 0, 0), "scale": (2, 0, 0), "jacobi": (2, 0, 0), "blur": (2, 0, 0), "waves": (2, 0, 0),
    "transposed": (1, 1, 0), "local kept": (1, 2, 0), "small solve": (1, 0, 0), "rows": (1, 0, 0),
    "relaxed": (1, 0, 0), "neurons": (4, 0, 0), "matrix vector": (3, 0, 0),
    "gathered": (1, 0, 1), "softmax": (1, 3, 0), "forces": (2, 0, 0),
}  # fmt: skip


def code_in(text):
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def counts(text):
    text = code_in(text)
    return text.count("@cuda.jit("), text.count("cuda.syncthreads()"), text.count("cuda.atomic.add(")


@pytest.mark.parametrize("name", STRUCTURES)
def test_adjoints_are_built_as_by_hand(name):
    assert counts(emitted(name).text) == STRUCTURES[name]


def test_sums_and_gathers_leave_both_axes_to_threads():
    text = emitted("upwind").text
    assert text.count("cuda.grid(2)") == 2
    assert "for j" not in text


def test_threads_that_share_a_row_make_trips_alike():
    text = emitted("attend row").text
    assert "for trip in range(j_trips):\n        biggest_tape[trip] = biggest\n        j = t + trip * 8" in text
    assert "biggest_tape_slots = empty((most, thread_count(shape)))" in text
    assert "j_trips = max((n + 7) // 8, 0)" in text


def test_tiles_are_shared_and_registers_are_the_threads():
    text = emitted("staged").text
    assert re.findall(r"(\w+) = cuda\.shared\.array", text) == ["tile", "tile_bar"]
    assert "acc_kept = cuda.local.array(1, np.float64)" in text
    # the mirror fills the tile again
    assert code_in(text).count("tile[t] = math.sin(x[j])") == 2
    text = emitted("log sum exp").text
    assert "exp_tape = cuda.local.array(3, np.float64)" in text


def test_shadows_that_have_no_room_in_shared_memory_are_in_global_memory():
    text = emitted("wide tile").text
    assert re.findall(r"(\w+) = cuda\.shared\.array", text) == ["tile"]
    assert "tile_bar = tile_bar_slots[b, :]" in text
    assert "tile_bar_slots = empty((block_count(shape), 3200))" in text


def test_what_differs_in_length_by_thread_is_an_array_of_all_threads():
    text = emitted("swapping").text
    assert "b_old_tape_slots = empty((max(steps, 0), thread_count(shape)))" in text


def test_all_threads_of_a_large_block_find_registers():
    kernel, _, arguments = CASES["staged"]
    made = derived(kernel, "adjoint", target="cuda")
    given = arguments(np.random.default_rng(1))
    assert "bounds" not in made.source(*given, block=8)
    text = made.source(*given, block=1024)
    assert "**bounds(1024)" in text
    compile(text, "<source>", "exec")


def test_source_is_the_same_each_time():
    assert emitted("staged").text == emitted("staged").text


def test_explanations_have_a_table_of_launches():
    kernel, launch, arguments = CASES["staged"]
    found = derived(kernel, "adjoint", target="cuda").explain(*arguments(np.random.default_rng(1)), block=launch[1])
    ((name, _, threads, additions),) = found.launches
    assert (name, threads) == ("staged_adjoint_kernel", "blocks of 8, for blocks trips")
    assert "tile_bar: atomic additions in the block's memory" in additions


# ---------------------------------------------------------------------------------------------------------------- code

# of elements of a thread's own, gathers, sums; `block_total` and `block_sum` are barriers and no atomics
WITHOUT_ATOMICS = ["misfit", "seep", "fir", "log sum exp", "blur", "softmax", "small solve", "transposed"]
# all of local memory: sines and cosines of numbers of double precision have some, and what loops index
WITHOUT_STACK = {"misfit", "seep", "fir", "log sum exp", "blur", "transposed"}
# of each kernel in order, for 9.0, by numba-cuda: they may be a tenth more, and fewer
REGISTERS = {
    "misfit": [40, 30], "seep": [32, 20], "fir": [40, 40, 32], "log sum exp": [34], "transposed": [22],
}  # fmt: skip


@needs_compiler
def test_a_large_block_is_compiled_for():
    kernel, _, arguments = CASES["staged"]
    made = derived(kernel, "adjoint", target="cuda")
    types, asked = made._types(arguments(np.random.default_rng(1)), 1024, None, None)
    (code,) = code_of(kernel_pipeline.kernel_source(asked, *types)).values()
    assert ".maxntid 1024" in code.ptx
    assert code.registers is None or code.registers <= 64


def codes(name, dtype=np.float64, cc=(9, 0)):
    return code_of(emitted(name, dtype=dtype), cc)


@needs_compiler
@pytest.mark.parametrize("name", WITHOUT_ATOMICS)
def test_no_atomics_and_no_spills(name):
    found = codes(name)
    for kernel, code in found.items():
        assert code.atomics == 0, kernel
        assert not code.spills, kernel
        assert name not in WITHOUT_STACK or "__local_depot" not in code.ptx, kernel
    registers = [code.registers for code in found.values()]
    if name in REGISTERS and BACKEND == "numba-cuda" and None not in registers:
        assert all(own <= 1.1 * known for own, known in zip(registers, REGISTERS[name], strict=True)), registers


# bytes, of loops over a thread's own array that are quicker written out all the same
SPILLED = {("logistic maps", "adjoint"): 128}


def check_code(name, kind, cc):
    """No spills, and atomic additions where the text has some, in the memory where its arrays are."""
    made = emitted(name, kind)
    found = code_of(made, cc)
    assert all((code.spills or 0) <= SPILLED.get((name, kind), 0) for code in found.values())
    text = code_in(made.text)
    added_to = set(re.findall(r"cuda\.atomic\.(?:add|max|min)\((\w+)", text))
    assert bool(added_to) == any(code.atomics for code in found.values())
    if added_to <= set(re.findall(r"(\w+) = cuda\.shared\.array", text)):
        assert not any(code.has_global_atomics for code in found.values())


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
@pytest.mark.parametrize("kind", ["tangent", "adjoint"])
@pytest.mark.parametrize("name", sorted(ALL.keys() - REFUSED))
def test_all_kernels_compile(name, kind, cc):
    if BACKEND == "numba-cuda-mlir" and name.startswith("swapping") and kind == "adjoint":
        with pytest.raises(Unsupported, match="a choice between shared arrays"):
            emitted(name, kind)
        return
    check_code(name, kind, cc)


@needs_compiler
@pytest.mark.parametrize("name", ["soft dtw", "eliminate"])
def test_code_adds_to_shared_memory_where_the_text_does(name):
    # a value with a condition in it would have the array handed on by two branches
    check_code(name, "adjoint", (9, 0))


@needs_compiler
def test_code_that_would_add_to_the_wrong_memory_is_refused():
    if BACKEND == "numba-cuda-mlir":
        with pytest.raises(Unsupported, match="a choice between shared arrays") as fault:
            emitted("swapping")
        assert fault.value.place is not None
    else:
        check_code("swapping", "adjoint", (9, 0))


@needs_compiler
@pytest.mark.parametrize("name", ["fir", "staged"])
def test_an_older_device(name):
    for kernel, code in codes(name, cc=(8, 0)).items():
        assert ".target sm_80" in code.ptx
        assert not code.spills, kernel


@needs_compiler
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
def test_tapes_of_many_trips_are_no_registers(cc):
    (code,) = codes("eliminated", cc=cc).values()
    assert not code.spills
    assert code.registers is None or code.registers <= 64


def test_loops_over_long_tapes_are_of_as_many_trips_as_the_host_says():
    text = emitted("eliminated").text
    assert "for k in range(1, trips + 1):" in text
    assert "for k in range(trips - 1, -1, -1):" in text
    assert "x_bar, stop, 23)" in text
    # a short one is written out, and its tape is registers; so is one that is most of what a thread loads
    for name in ("log sum exp", "logistic maps"):
        assert "trips" not in emitted(name).text


@needs_compiler
@pytest.mark.parametrize("name, count", [("single", 2 * 3), ("cube", 0), ("gathered", 0)])
def test_single_precision_stays_so(name, count):
    # in double precision: what the range reductions of sines and cosines have
    assert sum(code.doubles for code in codes(name, np.float32).values()) <= count


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ALL.keys() - REFUSED))
def test_no_double_precision_is_added(name):
    # of a number in single precision times a whole number, Python's own
    known = {"histogram": 3}
    assert sum(doubles_unasked(emitted(name, dtype=np.float32)).values()) <= known.get(name, 0)


@needs_compiler
@pytest.mark.skipif(BACKEND != "numba-cuda", reason="of numba-cuda, which is told")
def test_loads_of_what_is_not_stored_to_are_through_a_cache_of_their_own():
    (code,) = codes("eliminated").values()
    assert "ld.global.nc.f64" in code.ptx
    # of buffers that take turns, either may be the other
    source = adjit.grad(seeping, target="cuda").emitted("float64[:], int64")
    apart = [flags for name, flags in source.apart.items() if not name.endswith("tail")]
    assert any(False in flags for flags in apart)
    assert any(True in flags for flags in apart)


def seeping(u0, steps):
    u, v = u0.copy(), u0.copy()
    for t in range(steps):
        for i in prange(1, u.size - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


@cuda.jit
def drained(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]
        x[i] = 0.0


def test_clears_ask_what_was_loaded():
    types = "float64[::1], float64[::1]"
    text = code_in(adjit.cuda.adjoint(drained).source(types, block=8))
    assert re.search(r"if stored_bar != 0.0:\n +y_bar\[i\] = 0.0\n", text)
    # of which nothing is loaded; and one of the user's, where the sign of what was there counts
    assert re.search(r"^        x_bar\[i\] = ", text, re.M)
    assert "!=" not in adjit.cuda.tangent(drained).source(types, block=8)
