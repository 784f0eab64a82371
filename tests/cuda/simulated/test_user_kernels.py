"""Users' kernels: their tangents and adjoints as kernels, against the nests, each other, and the race checker.

The nests' are checked against differences in `tests/cuda/kernels`. In single precision they are what is differentiated
there as well.
"""

import numpy as np
import pytest
from numba import cuda

import adjit
from adjit.runtime.cuda.check import UNWRITTEN
from adjit.runtime.cuda.launch import load
from adjit.runtime.library.xoroshiro import is_states
from adjit.transform import kernel_pipeline
from tests.cuda.kernels import elements
from tests.cuda.kernels.harness import copies, derived, is_float, shadow
from tests.cuda.kernels.test_kernels import CASES, SELDOM
from tests.cuda.kernels.test_random import arguments_of, kernel_of, launch_of
from tests.cuda.simulated.checks import on_device, on_host, simulated, watched

SUFFIXES = {"tangent": "_dot", "adjoint": "_bar"}
# a loop of which nobody knows how many trips it makes keeps its values in lists
REFUSED = {
    "until small": "an unknown number of iterations", "waiting": "an unknown number of iterations",
    "decay": "an unknown number of iterations", "recursive": "calls itself",
}  # fmt: skip


def numbers(array):
    """The array, or the words of states that kernels draw from."""
    return np.stack([array[name] for name in array.dtype.names]) if array.dtype.names else array


def launched(kernel, launch, arguments, kind, target):
    """What a derived launch leaves in arguments and shadows, by name; and what is wrong with it."""
    made = derived(kernel, kind, target=target)
    g = np.random.default_rng(5)
    active = [k for k, a in enumerate(arguments) if is_float(a)]
    named = {
        made.parameters[k] + SUFFIXES[kind]: shadow(arguments[k], g.normal(size=np.shape(arguments[k]))) for k in active
    }
    given = dict(zip(made.parameters, copies(arguments), strict=True))
    if target == "cuda":
        given, named = ({name: on_device(a) for name, a in each.items()} for each in (given, named))
    with watched() as found:
        made[launch](**given, **named)
    left = {name: numbers(np.asarray(on_host(a))) for name, a in {**given, **named}.items()}
    return left, [fault for fault in found if UNWRITTEN not in fault]


def check(kernel, launch, arguments):
    left = {}
    # normal numbers are drawn in single precision, by functions that a GPU has of its own
    is_single = any(getattr(a, "dtype", None) == np.float32 or is_states(a) for a in arguments)
    for kind in SUFFIXES:
        expected, _ = launched(kernel, launch, arguments, kind, "python")
        left[kind], faults = launched(kernel, launch, arguments, kind, "cuda")
        assert faults == []
        for name, value in expected.items():
            scale = 1.0 + np.abs(value).max(initial=0.0)
            np.testing.assert_allclose(
                left[kind][name] / scale, value / scale, rtol=0, atol=3e-5 if is_single else 1e-12
            )
    # the tangents and the adjoints were given the same numbers
    g = np.random.default_rng(5)
    active = [n for n, a in zip(derived(kernel, "primal").parameters, arguments, strict=True) if is_float(a)]
    given = {n: g.normal(size=np.shape(a)) for n, a in zip(active, filter(is_float, arguments), strict=True)}
    arrays = [n for n, a in zip(active, filter(is_float, arguments), strict=True) if isinstance(a, np.ndarray)]
    numbers = set(active) - set(arrays)
    changed = sum(np.vdot(given[n], left["tangent"][f"{n}_dot"]) for n in arrays)
    pulled = sum(np.vdot(left["adjoint"][f"{n}_bar"] - (given[n] if n in numbers else 0.0), given[n]) for n in active)
    scale = 1.0 + sum(np.linalg.norm(given[n]) ** 2 for n in active)
    assert abs(changed - pulled) < (1e-4 if is_single else 1e-10) * scale


# nineteen of twenty are left to the long run, but for some that went wrong once
OFTEN = {
    "allen cahn",
    "attention",
    "iterated",
    "two of a branch",
    "stored again",
    "swapping",
    "logistic maps",
    "attend row",
    "greatest",
    "softmax of rows",
    "walks",
}
NAMES = [
    pytest.param(n, marks=[pytest.mark.long] if (k % 20 or n in SELDOM) and n not in OFTEN else [])
    for k, n in enumerate(sorted(CASES.keys() - REFUSED))
]


@pytest.mark.parametrize("name", NAMES)
def test_kernels_do_what_their_nests_do(name):
    kernel, launch, arguments = CASES[name]
    check(kernel, launch, arguments(np.random.default_rng(3)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_kernels_cannot_keep_is_refused(name):
    kernel, launch, arguments = CASES[name]
    with pytest.raises(adjit.Unsupported, match=REFUSED[name]) as fault:
        launched(kernel, launch, arguments(np.random.default_rng(3)), "adjoint", "cuda")
    assert fault.value.place is not None


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(k, marks=pytest.mark.long) for k in range(300, 360))])
def test_random_kernels(seed, tmp_path):
    check(kernel_of(seed, tmp_path), launch_of(seed), arguments_of(seed))


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(k, marks=pytest.mark.long) for k in range(100, 180))])
def test_random_kernels_of_elements(seed, tmp_path):
    kernel = kernel_of(seed, tmp_path, elements.text_of)
    check(kernel, elements.LAUNCHES[seed % 2], elements.arguments_of(seed))


def single(values):
    return [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in values]


@pytest.mark.parametrize(
    "name",
    [
        "heat",
        "gathered",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("jacobi", "periodic", "particles", "summed")),
    ],
)
def test_single_precision(name):
    kernel, launch, arguments = CASES[name]
    check(kernel, launch, single(arguments(np.random.default_rng(3))))


def test_arrays_of_the_host_are_refused():
    kernel, launch, arguments = CASES["heat"]
    given = arguments(np.random.default_rng(3))
    with pytest.raises(adjit.WrongDevice, match="u"):
        derived(kernel, "adjoint", target="cuda")[launch](*given, u_bar=given[0], v_bar=given[1])


def test_shadows_that_do_not_fit_and_arguments_that_overlap():
    kernel, launch, arguments = CASES["heat"]
    u, v, c = map(on_device, arguments(np.random.default_rng(3)))
    made = derived(kernel, "adjoint", target="cuda")
    short = cuda.to_device(np.zeros(2))
    with pytest.raises(adjit.TypeMismatch, match="u_bar"):
        made[launch](u, v, c, u_bar=short, v_bar=v)
    with pytest.raises(adjit.Aliased):
        made[launch](u, v, c, u_bar=u, v_bar=on_device(np.zeros(v.shape)))


def test_what_the_adjoint_does_not_read_may_be_left_out():
    kernel, launch, arguments = CASES["heat"]
    u, v, c = arguments(np.random.default_rng(3))
    left = []
    for given in (v, None):
        u_bar, v_bar = on_device(np.zeros(u.shape)), on_device(np.ones(v.shape))
        values = [a if a is None else on_device(a) for a in (u, given, c)]
        derived(kernel, "adjoint", target="cuda")[launch](*values, u_bar=u_bar, v_bar=v_bar)
        left.append(on_host(u_bar))
    np.testing.assert_array_equal(*left)


# ---------------------------------------------------------------------------------------------------- the race checker


def with_line(text, number, instead):
    """The text with another statement in the place of a line."""
    lines = text.splitlines()
    lines[number] = lines[number][: len(lines[number]) - len(lines[number].lstrip())] + instead
    return "\n".join(lines)


def emitted(name):
    kernel, launch, arguments = CASES[name]
    given = arguments(np.random.default_rng(3))
    types, asked = derived(kernel, "adjoint", target="cuda")._types(given, launch[1], np.size(launch[0]), None)
    return kernel_pipeline.kernel_source(asked, *types), launch, given


def faults_of(text, names, name, launch, given):
    """What the checker says of an adjoint whose text was changed."""
    host = load(text, names, name, f"{name} changed {abs(hash(text))}")
    g = np.random.default_rng(5)
    shadows = [g.normal(size=np.shape(a)) for a in given if is_float(a)]
    with watched() as found, np.errstate(all="ignore"):
        host(*map(on_device, given), *np.atleast_1d(launch[0]).tolist(), (*launch, 0, 0)[3], *map(on_device, shadows))
    return [fault for fault in found if "no barrier between them" in fault or "two blocks" in fault]


@simulated
@pytest.mark.parametrize("name", ["log sum exp", "staged", "transposed", "in parts", "local kept"])
def test_each_barrier_is_needed(name):
    made, launch, given = emitted(name)
    places = [k for k, line in enumerate(made.text.splitlines()) if line.strip() == "cuda.syncthreads()"]
    assert places
    for place in places:
        assert faults_of(with_line(made.text, place, "pass"), made.globals, made.name, launch, given), place
    assert not faults_of(made.text, made.globals, made.name, launch, given)


@simulated
def test_each_atomic_addition_is_needed():
    made, launch, given = emitted("staged")
    lines = made.text.splitlines()
    places = [k for k, line in enumerate(lines) if line.lstrip().startswith("cuda.atomic.add(")]
    assert len(places) == 2
    for place in places:
        array, index, value = lines[place].strip().removeprefix("cuda.atomic.add(")[:-1].split(", ", 2)
        changed = with_line(made.text, place, f"{array}[{index}] += {value}")
        assert faults_of(changed, made.globals, made.name, launch, given), lines[place]


@pytest.mark.long
def test_a_block_of_many_threads():
    kernel, _, arguments = CASES["counting"]
    check(kernel, (1, 288), arguments(np.random.default_rng(3)))


@cuda.jit
def racing(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i // 2] = x[i]


def test_races_that_only_the_data_show_are_looked_for(monkeypatch):
    x, y = (on_device(np.arange(8.0)) for _ in range(2))
    x_dot, y_dot = (on_device(np.ones(8)) for _ in range(2))
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    with pytest.raises(adjit.Race, match="two threads|two blocks"):
        derived(racing, "tangent", target="cuda")[1, 8](x, y, x_dot=x_dot, y_dot=y_dot)
