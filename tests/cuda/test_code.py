"""The code of generated kernels, for compute capabilities 8.0 and 9.0: compiled, and assembled where ptxas is there."""

import pytest

import adjit
from tests.cuda.compiled import adjoint, compiled, doubles_unasked, needs_compiler, report
from tests.cuda.simulated.functions import FUNCTIONS
from tests.cuda.simulated.functions_of_rows import FUNCTIONS_OF_ROWS
from tests.cuda.simulated.rows_of_fields import ROWS_OF_FIELDS

pytestmark = needs_compiler
ALL = FUNCTIONS | FUNCTIONS_OF_ROWS | ROWS_OF_FIELDS

# elements of a thread's own, sums, sums over one loop, gathers
WITHOUT_ATOMICS = [
    "chain", "misfit", "in_threads", "two_sums", "sums_over_columns", "centred", "seep", "heat_plane", "leapfrog",
    "permuted", "monte_carlo", "ensemble", "small_solves", "histogram_of_rows", "recurrence", "clusters",
    "coupled", "potential", "softmax_rows", "rows_times", "network",
]  # fmt: skip
WITH_ATOMICS = ["gathered", "on_edges"]
# in double precision, where the program is in single: what the range reductions of sines and cosines have
SINGLE = {"chain": 2 * 3, "two_sums": 0, "centred": 0, "softmax_rows": 0, "permuted": 0}


def codes(name, dtype, cc=(9, 0)):
    function, shapes = FUNCTIONS[name]
    return report(*adjoint(function, shapes, dtype), cc)


@pytest.mark.parametrize("name", WITHOUT_ATOMICS)
def test_no_atomics_and_no_spills(name):
    for kernel, code in codes(name, "float64").items():
        assert code.atomics == 0, kernel
        assert not code.spills, kernel


@pytest.mark.parametrize("name", ["softmax_by_rows", "cross_entropy", "turned_twice", "some_rows", "down_columns"])
def test_rows_have_no_atomics_and_no_spills(name):
    function, shapes = FUNCTIONS_OF_ROWS[name]
    for kernel, code in report(*adjoint(function, shapes, "float64")).items():
        assert code.atomics == 0, kernel
        assert not code.spills, kernel


@pytest.mark.parametrize("name", WITH_ATOMICS)
def test_elements_that_are_not_known_are_added_to_atomically(name):
    assert sum(code.atomics for code in codes(name, "float64").values()) > 0


@pytest.mark.parametrize("name", ["misfit", "seep"])
def test_an_older_device(name):
    for kernel, code in codes(name, "float64", (8, 0)).items():
        assert ".target sm_80" in code.ptx
        assert code.atomics == 0, kernel


@pytest.mark.long
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
@pytest.mark.parametrize("name", ALL)
def test_all_functions_compile(name, cc):
    function, shapes = ALL[name]
    derived, types = adjoint(function, shapes, "float64")
    found = report(derived, types, cc)
    assert not any(code.spills for code in found.values())
    has_atomics = any(line.lstrip().startswith("cuda.atomic.add(") for line in derived.emitted(types).text.splitlines())
    assert has_atomics == any(code.atomics for code in found.values())


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_stays_so(name):
    assert sum(code.doubles for code in codes(name, "float32").values()) <= SINGLE[name]


# NumPy divides a sum in single precision by a whole number in double precision
OF_NUMPY = {"by_mean": 6}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"damped_until", "checkpointed"}))  # of one type in double
def test_no_double_precision_is_added(name):
    function, shapes = FUNCTIONS[name]
    derived, types = adjoint(function, shapes, "float32")
    assert sum(doubles_unasked(derived.emitted(types)).values()) <= OF_NUMPY.get(name, 0)


ONE = "cbrt ceil degrees floor radians rint sign signbit trunc".split()
TWO = "fmax fmin greater heaviside lesser logaddexp logaddexp2 maximum minimum logical_and logical_or".split()


@pytest.mark.parametrize("type_", ["float64", "float32"])
def test_device_functions_compile(type_):
    lines = [f"    total += {name}(x[i])" for name in ONE] + [f"    total += {name}(x[i], x[i + 1])" for name in TWO]
    text = "def kernel(x):\n    i = cuda.grid(1)\n    total = 0.0\n" + "\n".join(lines) + "\n    x[i] = total\n"
    assert compiled(text, {name: getattr(adjit.cuda, name) for name in (*ONE, *TWO)}, f"{type_}[::1]")


def test_powers_of_whole_numbers_are_products():
    for code in codes("seep", "float64").values():
        assert code.calls == 0
