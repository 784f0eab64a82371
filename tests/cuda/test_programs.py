"""Programs that launch kernels, as a whole: on NumPy's arrays, their launches and code, and what is refused."""

import numpy as np
import pytest
from numba import cuda, float64

import adjit
from tests.cuda.compiled import needs_compiler, report
from tests.cuda.kernels.blocks import until_small
from tests.cuda.kernels.fields_at_random import attend_row
from tests.cuda.launching import (
    PROGRAMS,
    arguments,
    blocks_of,
    chosen,
    diffuse,
    layers,
    layers_in_numpy,
    of_any_width,
    picked,
    push,
    weigh,
    with_blocks,
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_the_cpu(name):
    program, in_numpy, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(2))[name]
    value, bars = adjit.value_and_grad(program, wrt=wrt, target="python")(*given)
    expected = adjit.value_and_grad(in_numpy, wrt=tuple(range(len(wrt))), target="python")(*given)
    assert value == pytest.approx(expected[0], rel=1e-12)
    for bar, own in zip(bars, expected[1], strict=True):
        np.testing.assert_allclose(bar, own, rtol=1e-10, atol=1e-12)
    # against differences
    g = np.random.default_rng(9)
    dots = [g.normal(size=np.shape(a)) for a in given[: len(wrt)]]
    step = 1e-6
    ends = [
        in_numpy(*(a + sign * step * d for a, d in zip(given, dots, strict=False)), *given[len(wrt) :])
        for sign in (1, -1)
    ]
    changed = sum(np.vdot(bar, dot) for bar, dot in zip(bars, dots, strict=True))
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(changed, rel=1e-5)


def test_compiled_for_the_cpu():
    given = arguments(np.random.default_rng(2))["layers"]
    found = adjit.grad(layers, wrt=("x0", "c"))(*given)
    for bar, own in zip(found, adjit.grad(layers, wrt=("x0", "c"), target="python")(*given), strict=True):
        np.testing.assert_allclose(bar, own, rtol=1e-12)


FACTOR = 2.0


@cuda.jit
def scaled(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = FACTOR * x[i]


def with_a_global(x):
    y = cuda.device_array_like(x)
    scaled[1, 8](x, y)
    return np.sum(y)


def test_what_a_kernel_reads_is_seen_when_it_is_bound_anew(monkeypatch):
    assert adjit.grad(with_a_global, target="python")(np.ones(3)) == pytest.approx([2.0] * 3)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert adjit.grad(with_a_global, target="python")(np.ones(3)) == pytest.approx([5.0] * 3)


def test_the_launches_of_a_time_loop():
    text = adjit.grad(layers, wrt=("x0", "c"), target="cuda").source("float64[::1], float64[::1], int64")
    host = text[text.rindex("\ndef ") :]
    # a launch a trip, into memory of its own; back, one that makes what neighbours contribute again
    assert "x_bar_2, y_bar_2 = y_bar_2, x_bar_2" in host
    forward, reverse = host.split("# ---- reverse sweep")
    assert forward.count("layers_grad_L") == 1
    assert "min(" not in host
    assert "x_tape.append(x)" in host
    assert "copy(y" not in host
    loop = reverse[reverse.index("for ") :].split("\n    if ")[0]
    assert loop.count("[cover(") == 1
    assert not any(line.lstrip().startswith("cuda.atomic") for line in text.splitlines())


def test_blocks_stay_blocks():
    made = adjit.grad(with_blocks, target="cuda")
    text = made.source("float64[:, ::1], int64")
    assert text.count("in_blocks(x0.shape[0], block=(8,))") == 2
    assert "cuda.syncthreads()" in text
    assert "cuda.atomic" not in text
    table = made.explain("float64[:, ::1], int64").launches
    assert any("blocks" in threads for _, _, threads, _ in table)


def test_blocks_that_are_chosen_are_kernels_each():
    text = adjit.grad(chosen, target="cuda").source("float64[:, ::1], int64, bool")
    host = text[text.rindex("\ndef ") :]
    # blocks of both shapes reach all elements; a tape of all trips, and no launch for a single element
    assert host.count("[cover(x0.shape[1], x0.shape[0])]") >= 4
    assert host.count("= empty((step_trips, ") == 3
    assert "one_thread" not in host
    assert "append" not in host


@pytest.mark.parametrize("width", [4, 64])
def test_blocks_of_a_shape_that_is_an_argument(width):
    given = arguments(np.random.default_rng(2))["any width"][:3]
    expected = adjit.grad(layers_in_numpy, wrt=(0, 1), target="python")(*given)
    found = adjit.grad(of_any_width, wrt=(0, 1), target="python")(*given, width)
    for bar, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(bar, own, rtol=1e-12)


@cuda.jit
def paired(a, b, out):
    """What is only loaded may be one array; in the mirror each thread adds to several elements of its shadow."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * b[(i + 1) % b.size] + a[i] * b[i]


def of_itself(x):
    out = cuda.device_array_like(x)
    paired[blocks_of(x.size), 8](x, x, out)
    paired[blocks_of(x.size), 8](out, x, out.copy())
    return np.sum(out * out)


def in_one_block(x):
    """As many threads as the array has elements."""
    out = cuda.device_array_like(x)
    paired[1, x.size](x, x, out)
    return np.sum(out * out)


def of_itself_in_numpy(x):
    return np.sum((x * np.roll(x, -1) + x * x) ** 2)


@cuda.reduce
def sum_of(a, b):
    return a + b


largest_of = cuda.reduce(lambda a, b: max(a, b))


def reduced(x):
    return sum_of(x, init=2.0) * largest_of(x)


def test_reductions_by_functions():
    x = np.array([0.3, 0.9, 0.5])
    found = adjit.value_and_grad(reduced, target="python")(x)
    assert found[0] == pytest.approx((x.sum() + 2.0) * 0.9)
    np.testing.assert_allclose(found[1], [0.9, 0.9 + x.sum() + 2.0, 0.9])
    text = adjit.grad(lambda x: sum_of(x) ** 3, target="cuda").source("float64[::1]")
    assert "block_sum" in text
    assert "[one_thread()]" not in text
    with pytest.raises(adjit.Unsupported, match="`size` or `res`"):
        adjit.grad(lambda x: sum_of(x, size=2), target="python")(x)


def through_the_host(x):
    held = np.empty(x.size)
    given = cuda.to_device(x)
    found = given.copy_to_host(held)
    return np.sum(held * found)


def test_copies_into_arrays_of_the_host():
    x = np.linspace(0.1, 0.9, 5)
    np.testing.assert_allclose(adjit.grad(through_the_host, target="python")(x), 2.0 * x)


@pytest.mark.parametrize("program", [of_itself, in_one_block])
def test_arrays_that_are_only_loaded_may_be_one(program):
    x = np.random.default_rng(6).normal(size=11)
    wanted = adjit.grad(of_itself_in_numpy, target="python")(x)
    np.testing.assert_allclose(adjit.grad(program, target="python")(x), wanted, rtol=1e-12)
    if program is in_one_block:
        np.testing.assert_allclose(
            adjit.grad(program, target="python")(x[:5]), adjit.grad(of_itself_in_numpy, target="python")(x[:5])
        )


@needs_compiler
@pytest.mark.parametrize(
    "name, types",
    [
        ("layers", "float64[::1], float64[::1], int64"),
        pytest.param("with blocks", "float64[:, ::1], int64", marks=pytest.mark.long),
    ],
)
def test_code(name, types):
    program, _, wrt = PROGRAMS[name]
    for kernel, code in report(adjit.grad(program, wrt=wrt, target="cuda"), types).items():
        assert not code.spills, kernel
        assert code.atomics == 0, kernel


# ------------------------------------------------------------------------------------------------------ what is refused


def of_any_block(x, width):
    y = cuda.device_array_like(x)
    diffuse[4, width](x, y, x.copy())
    return np.sum(y)


def with_a_number_for_a_stream(x, stream):
    push[4, 8, stream](x, x.copy(), 0.1)
    return np.sum(x)


def onto_itself(x):
    y = x.copy()
    diffuse[4, 8](y, y, x)
    return np.sum(y)


def onto_a_part(x):
    y = x.copy()
    push[1, 8](y[2:], y[:-2], 0.1)
    return np.sum(y)


def with_mapped_memory(x):
    return np.sum(cuda.mapped_array(8))


def with_managed_memory(x):
    return np.sum(cuda.managed_array(8))


@cuda.jit
def taking_turns(x, y):
    whole = cuda.shared.array((2, 8), float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    one, other = whole[0], whole[1]
    one[t] = x[b, t]
    cuda.syncthreads()
    for _ in range(3):
        other[t] = one[(t + 1) % 8] + 0.5 * one[t]
        cuda.syncthreads()
        one, other = other, one
    y[b, t] = one[t] * one[7 - t]


def with_parts_that_change_places(x):
    y = cuda.device_array_like(x)
    taking_turns[x.shape[0], 8](x, y)
    return np.sum(y * y)


def telling(x):
    total = cuda.to_device(np.zeros(1))
    weigh[4, 8](x, total)
    print("so far", total[0])
    return total[0]


@cuda.jit
def drawn(states, x, y):
    i = cuda.grid(1)
    y[i] = x[i] * states[i]["s0"]


STATES = np.zeros(8, [("s0", np.uint64), ("s1", np.uint64)])


def of_records(x):
    y = cuda.device_array_like(x)
    drawn[1, 8](STATES, x, y)
    return np.sum(y)


def onto_rows_from_the_end(x, t):
    y = np.zeros((2, x.size))
    diffuse[4, 8](y[t - 2], y[t], x)
    return np.sum(y)


def onto_parts_that_overlap(x):
    y = np.zeros(9)
    diffuse[4, 8](y[:5], y[4:], x)
    return np.sum(y)


def loads_what_it_stores(x):
    out = cuda.device_array_like(x)
    paired[2, 8](out, x, out)
    return np.sum(out)


def with_another_argument(x):
    weigh[4, 8](x, x.copy(), x)
    return np.sum(x)


def timed(x):
    begin, end = cuda.event(), cuda.event()
    begin.record()
    end.record()
    return np.sum(x) * begin.elapsed_time(end)


def with_pinned_memory(x):
    cuda.pinned(x)
    return np.sum(x)


def with_an_index(x):
    return np.sum(x) * cuda.grid(1)


@cuda.jit
def launching(x):
    weigh[1, 1](x, x)


def nested(x):
    launching[1, 1](x)
    return np.sum(x)


def too_large(x):
    total = cuda.device_array(1)
    weigh[1, 2048](x, total)
    return total[0]


REFUSED = [
    (
        of_any_block,
        "float64[::1], int64",
        "a block whose shape is only known at run time",
        "literal",
        "diffuse[4, width]",
    ),
    (with_a_number_for_a_stream, "float64[::1], int64", "a stream from outside", "Leave it out", "push[4, 8, stream]"),
    (onto_itself, "float64[::1]", "`p` and `q` may share memory", "a copy", "diffuse[4, 8](y, y, x)"),
    (onto_a_part, "float64[::1]", "`x` and `v` may share memory", "a copy", "push[1, 8]"),
    (
        loads_what_it_stores,
        "float64[::1]",
        "`a` and `out` may share memory",
        "stores to one of them",
        "paired[2, 8]",
    ),
    (with_mapped_memory, "float64[::1]", "`cuda.mapped_array` in a program", "outside", "cuda.mapped_array(8)"),
    (with_managed_memory, "float64[::1]", "`cuda.managed_array` in a program", "outside", "cuda.managed_array(8)"),
    (with_parts_that_change_places, "float64[:, ::1]", "parts of an array that are exchanged", "exchange indices", ""),
    (telling, "float64[::1]", "print of a value on the device", "outside", 'print("so far", total[0])'),
    (of_records, "float64[::1]", "drawn, an array of records", "Pass its fields", "drawn[1, 8](STATES, x, y)"),
    (with_another_argument, "float64[::1]", "weigh", "one value", "weigh[4, 8]"),
    (timed, "float64[::1]", "`event.elapsed_time`", "outside", "begin.elapsed_time(end)"),
    (with_pinned_memory, "float64[::1]", "`cuda.pinned` in a program", "outside", "cuda.pinned(x)"),
    (with_an_index, "float64[::1]", "`cuda.grid` outside of a kernel", "Launch a kernel", "cuda.grid(1)"),
    (nested, "float64[::1]", "a kernel that launches another one", "from the host", "weigh[1, 1]"),
    (too_large, "float64[::1]", "2048", "1,024", "weigh[1, 2048]"),
]


@pytest.mark.parametrize("program, types, what, instead, line", REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_refused_at_its_line(program, types, what, instead, line):
    with pytest.raises(adjit.AdjitError) as fault:
        adjit.grad(program, target="cuda").source(types)
    assert what in fault.value.what
    assert instead in str(fault.value)
    assert fault.value.place is not None
    assert line in fault.value.place.text


# ---------------------------------------------------------------------------------------------------- races in launches


@cuda.jit
def swapped_late(x, order, y):
    t = cuda.threadIdx.x
    part = cuda.shared.array(8, float64)
    part[t] = x[t]
    cuda.syncthreads()
    part[order[t]] = 2.0 * part[t]
    cuda.syncthreads()
    y[t] = part[t]


def twice_permuted(x, order, steps):
    a, b = cuda.to_device(x), cuda.device_array_like(x)
    for step in range(steps):
        if step == 1:
            order = order // 2
        picked[2, 4](a, order, b)
        a, b = b, a
    return np.sum(a * a)


def doubled(x, order):
    y = cuda.device_array_like(x)
    swapped_late[1, 8](x, order, y)
    return np.sum(y * y)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_races_pass_the_check(name, monkeypatch):
    program, _, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(2))[name]
    expected = adjit.grad(program, wrt=wrt, target="python")(*given)
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    for bar, own in zip(adjit.grad(program, wrt=wrt, target="python")(*given), expected, strict=True):
        np.testing.assert_array_equal(bar, own)


@pytest.mark.parametrize(
    "program, given, kernel",
    [
        # the first launch has none; what the second one is given follows from what the program makes
        (twice_permuted, (np.linspace(0.0, 1.0, 8), np.arange(8)[::-1].copy(), 2), "picked"),
        (doubled, (np.linspace(0.0, 1.0, 8), np.array([1, 0, 3, 2, 5, 4, 7, 6])), "swapped_late"),
    ],
)
def test_races_of_launches_in_programs_are_found(program, given, kernel, monkeypatch):
    assert adjit.grad(program, target="python")(*given).shape == (8,)
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    for call in (
        lambda: adjit.grad(program, target="python")(*given),
        lambda: adjit.hvp(program, target="python")(*given, given[0]),
        lambda: adjit.vjp(program, *given, target="python")[1](1.0),
        lambda: adjit.jvp(lambda x: program(x, *given[1:]), given[:1], given[:1], target="python"),
    ):
        with pytest.raises(adjit.Race, match=f"the kernel {kernel} has a race: two threads") as fault:
            call()
        assert fault.value.place is not None
        assert fault.value.place.function == kernel


def test_what_a_launch_leaves_decides_what_the_program_does_next(monkeypatch):
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")

    def program(x, order):
        y = cuda.device_array_like(x)
        before = y[0]
        picked[2, 4](x, order, y)
        if y[0] > 0.5:
            picked[2, 4](x, order // 2, y)
        return np.sum(y * y) + 0.0 * before

    order, x = np.arange(8), np.linspace(0.0, 1.0, 8)
    assert adjit.grad(program, target="python")(x, order).shape == (8,)
    with pytest.raises(adjit.Race):
        adjit.grad(program, target="python")(x + 1.0, order)


def of_rows(q, k, v):
    out = cuda.device_array((q.shape[0], v.shape[1]))
    attend_row[q.shape[0], 8](q, k, v, out, 0.5)
    return np.sum(out * out)


def of_rows_in_numpy(q, k, v):
    w = np.exp(0.5 * q @ k.T)
    out = (w / np.sum(w, axis=1).reshape(-1, 1)) @ v
    return np.sum(out * out)


def of_any_length(x):
    y = cuda.device_array_like(x)
    until_small[2, 8](x, y)
    return np.sum(y)


def test_threads_of_a_launch_make_trips_alike():
    g = np.random.default_rng(4)
    given = g.normal(size=(3, 4)), g.normal(size=(13, 4)), g.normal(size=(13, 5))
    wanted = adjit.grad(of_rows_in_numpy, wrt=(0, 1, 2), target="python")(*given)
    for bar, own in zip(adjit.grad(of_rows, wrt=(0, 1, 2), target="python")(*given), wanted, strict=True):
        np.testing.assert_allclose(bar, own, rtol=1e-11, atol=1e-13)
    text = adjit.grad(of_rows, wrt=(0, 1, 2), target="cuda").source(*["float64[:, ::1]"] * 3)
    assert "for trip in range(j_trips):" in text
    with pytest.raises(adjit.Unsupported, match="an unknown number of iterations") as fault:
        adjit.grad(of_any_length, target="cuda").source("float64[::1]")
    assert fault.value.place is not None
