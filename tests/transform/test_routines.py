"""Functions of a long program stay functions: each is in its source once, however often it is called."""

import importlib.util
import math
import subprocess
import sys
import types

import numpy as np
import pytest

import adjit
from adjit.transform.frontend.walk import routines
from tests.defining import define

X = np.array([0.7, 0.4, 0.9])


@pytest.fixture
def always(monkeypatch):
    """Functions that are called twice stay functions, however short the program is."""
    monkeypatch.setattr(routines, "MOST_WRITTEN_OUT", -1)
    monkeypatch.setattr(routines, "MOST_SHORT", 1)


def diamond(levels):
    """A function that calls the one below it twice, and so on."""
    text = "def f0(x):\n    return math.sin(x) + 0.9\n\n\n"
    for k in range(1, levels + 1):
        text += f"def f{k}(x):\n    return f{k - 1}(x) * 0.7 * f{k - 1}(x + 0.{k})\n\n\n"
    return define(text, f"<diamond {levels}>", math=math)[f"f{levels}"]


def slope(function, x, h=1e-6):
    return (function(x + h) - function(x - h)) / (2 * h)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_diamond_of_calls(target):
    function = diamond(9)
    gradient = adjit.value_and_grad(function, target=target)
    assert gradient.source(0.3).count("\n") < 150
    value, bar = gradient(0.3)
    assert value == pytest.approx(function(0.3), rel=1e-12)
    assert bar == pytest.approx(slope(function, 0.3), rel=1e-5)


@pytest.mark.parametrize("levels", [30, 60])
def test_the_source_grows_with_the_levels(levels):
    assert adjit.grad(diamond(levels), target="python").source(0.3).count("\n") < 16 * levels


def test_a_short_program_is_written_out():
    assert "\ndef " not in adjit.grad(diamond(3)).source(0.3)


def anomaly(m, e):
    big = m
    for _ in range(5):
        big -= (big - e * math.sin(big) - m) / (1.0 - e * math.cos(big))
    return big


def orbits(x):
    return anomaly(x[0], x[1]) * anomaly(x[2], x[1]) + anomaly(x[0], 0.3)


def pair(x, y):
    if x > y:
        return x * y, y
    return math.sin(x), x + y


def of_pairs(x):
    p, q = pair(x[0], x[1])
    r, s = pair(x[1], x[2])
    return p * q + r * s * x[2]


def power(x, n):
    t = 1.0
    for _ in range(n):
        t *= x
    return t


def of_counts(x):
    return power(x[0], 3) + power(x[1], 3) * power(x[2], 2)


def squared(z):
    return z * z + 1j * z


def of_complex(x):
    return (squared(x[0] + 1j * x[1]) * squared(x[2] + 0.5j)).real


def halved(x, n):
    return x if n <= 0 else 0.5 * halved(x * 1.1, n - 1) + math.sin(x)


def of_recursion(x):
    return halved(x[0], 4) + halved(x[1] * x[2], 4)


def with_an_inner_derivative(x):
    return adjit.grad(anomaly)(x[0], x[1]) + anomaly(x[0], x[1]) * anomaly(x[1], x[2])


def of_one_argument(x, y):
    return math.exp(y) * 2.0


def of_some_arguments(x):
    return of_one_argument(x[0], x[1]) + of_one_argument(x[1], x[2])


def density(t):
    return t * t + math.sin(t)


gas = types.SimpleNamespace(density=density)


def with_a_variable_of_its_name(x):
    density = gas.density(x[0])
    other = gas.density(density)
    return density * other + gas.density(x[2])


def applied(function, t):
    return function(t) * function(t + 1.0)


def of_functions(x):
    def own(t):
        return x[0] * t * t

    slope = adjit.grad(lambda t: x[1] * t * t)
    return applied(own, x[1]) + applied(math.sin, x[2]) * applied(slope, x[2]) + applied(math.sin, x[0])


def depth(t, n):
    if n <= 0.0:
        return t
    return t * depth(0.5 * t, n - 0.3)


def of_unknown_depth(x):
    return depth(x[0], x[1]) + depth(x[1], x[0]) * depth(x[2], x[1])


PROGRAMS = [
    orbits, of_pairs, of_counts, of_complex, of_recursion, with_an_inner_derivative, of_some_arguments,
    with_a_variable_of_its_name, of_functions, of_unknown_depth,
]  # fmt: skip


def fresh(function):
    """The same function as another object, of which nothing is known yet."""
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__)
    made.__module__ = function.__module__
    return made


@pytest.mark.parametrize("function", PROGRAMS)
def test_derivatives_are_those_of_the_program_written_out(function, monkeypatch):
    found = []
    for most in (10**9, -1):
        monkeypatch.setattr(routines, "MOST_WRITTEN_OUT", most)
        monkeypatch.setattr(routines, "MOST_SHORT", 1)
        made = fresh(function)
        gradient = adjit.value_and_grad(made, target="cpu" if function is orbits else "python")
        assert ("\ndef " in gradient.source(X)) == (most < 0 and function is not of_unknown_depth)
        value, bar = gradient(X)
        tangents, matrix = (of(made, target="python")(X) for of in (adjit.jacfwd, adjit.hessian))
        found.append(np.concatenate([[value], bar, tangents, matrix.ravel()]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-14)


def test_a_routine_is_there_once_for_what_it_is_called_with(always):
    text = adjit.grad(fresh(of_counts), target="python").source(X)
    # for two counts, and their adjoints
    assert [text.count(f"def {name}(") for name in ("power", "power_2", "power_vjp", "power_2_vjp")] == [1, 1, 1, 1]


def checked(x):
    if x < 0.0:
        raise ValueError("a negative number")
    return math.sqrt(x) * x


def of_checked(x):
    return checked(x[0]) + checked(x[1])


def smooth(a, b):
    t = math.sin(a) * b
    for k in range(3):
        t = t * 0.5 + math.cos(a * b + k)
    return t + a * b


def bump(a):
    return math.exp(-a * a) * math.sin(a) + a * math.tanh(a) + a * a * math.sqrt(1.0 + a * a)


def of_a_loop(x):
    total = bump(x[0])
    for i in range(1, x.size):
        total += smooth(x[i], x[i - 1])
    return total * bump(total) + bump(x[1])


def test_a_short_function_of_one_loop_is_written_out_there(monkeypatch):
    monkeypatch.setattr(routines, "MOST_WRITTEN_OUT", 40)
    monkeypatch.setattr(routines, "MOST_SHORT", 1)
    text = adjit.grad(of_a_loop, target="python").source(X)
    assert "def bump_vjp(" in text
    assert "def smooth" not in text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_a_routine_raises(target, always):
    gradient = adjit.grad(fresh(of_checked), target=target)
    assert "def checked_vjp(x, out_bar)" in gradient.source(X)
    with pytest.raises(ValueError, match="a negative number"):
        gradient(-X)


def bisected(a):
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        if middle * middle < a:
            low = middle
        else:
            high = middle
    return low


def of_bisections(x):
    return bisected(x[0]) + bisected(x[1])


def test_what_only_decides_in_a_routine_is_refused(always):
    with pytest.raises(adjit.errors.NotDifferentiable, match="only through conditions"):
        adjit.grad(fresh(of_bisections))(X)


def residual(x, y):
    return (x - y) ** 2 * math.sqrt(y)


def of_known_data(x, y):
    total = 0.0
    for k in range(x.size):
        r = residual(x[k], y[k])
        if not math.isnan(r):
            total += r
    return total + residual(x[0], 2.0)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_missing_data_stays_out(mode, always):
    y = np.array([0.1, np.nan, 0.3])
    made = fresh(of_known_data)
    found = adjit.grad(made)(X, y) if mode == "reverse" else adjit.jacfwd(made)(X, y)
    wanted = 2.0 * (X - y) * np.sqrt(y)
    wanted[1] = 0.0
    wanted[0] += 2.0 * (X[0] - 2.0) * math.sqrt(2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def drawn(x):
    return x * np.random.random()


def of_draws(x):
    return drawn(x[0]) + drawn(x[1])


def written(x, out):
    out[0] += x * x
    return math.sin(x)


def of_stores(x):
    out = np.zeros(1)
    return written(x[0], out) + written(x[1], out) * out[0]


@pytest.mark.parametrize("function", [of_draws, of_stores])
def test_what_does_more_than_to_give_numbers_is_written_out(function, always):
    assert "\ndef " not in adjit.grad(fresh(function), target="python").source(X)


@pytest.mark.parametrize("tuned", [False, True])
def test_a_saved_module_has_the_functions(tuned, tmp_path, always):
    gradient = adjit.value_and_grad(fresh(with_a_variable_of_its_name))
    path = tmp_path / "saved.py"
    gradient.save(path, X, tuned=tuned)
    spec = importlib.util.spec_from_file_location("saved", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    value, bar = gradient(X)
    found, own = module.with_a_variable_of_its_name_value_and_grad(X)
    assert found == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(own, bar, rtol=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{"parallel": True}, {"debug": "nan"}, {"memory_limit": 10_000}])
def test_options(options, always):
    gradient = adjit.grad(fresh(of_pairs), **options)
    assert "def pair_vjp(" in gradient.source(X)
    np.testing.assert_allclose(gradient(X), adjit.grad(fresh(of_pairs), target="python")(X), rtol=1e-12)


WEIGHTS = np.array([0.5, 2.0])


def weighted(t):
    return WEIGHTS[0] * math.sin(t) + WEIGHTS[1] * t * t


def of_weights(x):
    return weighted(x[0]) * weighted(x[1]) + WEIGHTS[0] * x[2]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_global_arrays_are_those_of_the_first_call_in_all_functions(target, always):
    weights = WEIGHTS.copy()
    names = {**globals(), "WEIGHTS": weights}
    names["weighted"] = types.FunctionType(weighted.__code__, names, "weighted")
    made = types.FunctionType(of_weights.__code__, names, "of_weights")
    gradient = adjit.grad(made, target=target)
    first = gradient(X)
    weights[:] = 7.0
    np.testing.assert_array_equal(gradient(X), first)


def test_the_cache_keeps_the_functions(tmp_path, monkeypatch):
    for switch in ("ADJIT_VERIFY", "ADJIT_CACHE"):
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    (tmp_path / "waves.py").write_text(
        "import math\n\n\n"
        "def wave(x, y):\n    return math.sin(x * y) * math.exp(-y * y)\n\n\n"
        "def both(x):\n    return wave(x[0], x[1]) * wave(x[1], x[2])\n"
    )
    program = (
        "import sys, numpy as np, adjit\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import waves\n"
        "from adjit.transform.frontend.walk import routines\n"
        "routines.MOST_WRITTEN_OUT, routines.MOST_SHORT = -1, 1\n"
        "x = np.array([0.7, 0.4, 0.9])\n"
        "gradient = adjit.grad(waves.both)\n"
        "print(gradient(x), gradient.source(x, tuned=True).count('def '), adjit.cache_info().hits)\n"
    )
    found = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split("] ")
        for _ in range(2)
    ]
    assert [each[0] for each in found] == [found[0][0]] * 2
    assert [each[1].split() for each in found] == [["3", "0"], ["3", "1"]]


def test_a_report_shows_the_functions(tmp_path, always):
    gradient = adjit.grad(fresh(of_some_arguments))
    gradient.report(tmp_path / "page.html", X)
    assert "of_one_argument_vjp" in (tmp_path / "page.html").read_text()


def test_explain_says_why_there_are_functions(always):
    assert "long when each call" in str(adjit.grad(fresh(orbits)).explain(X))
