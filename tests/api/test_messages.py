"""What somebody meets on a first day with adjit, and what it says: each row a mistake, and the words that help."""

import asyncio
import collections
import dataclasses
import functools
import inspect
import linecache
import re
import sys
import time
import types
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjit
from adjit.api.specialise.options import Asked, Options, make_options
from adjit.errors import NotScalar, SourceUnavailable, TypeMismatch, Unsupported, WrongCall, WrongWrt

X = np.array([1.0, 2.0])


def squares(x):
    return np.sum(x * x)


def without_return(x):
    x * 2.0


class Starred:
    def all_of_them(self, *args):
        return args[0] * args[1]

    def by_keyword(self, x, **options):
        return x * options["k"]


def timed(x):
    start = time.perf_counter()
    return x * start


def read_from_a_file(x):
    return x * np.sum(np.loadtxt("table.txt"))


def imported(x):
    return __import__("math").sin(x)


async def coroutine(x):
    return x * x


def raised_to_a_power(p):
    return p[0] + (p**2)[0]


def executed(filename: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile("def f(x): return x * x", filename, "exec"), scope)
    return scope["f"]


class Decorated:
    k = 3.0

    @adjit.grad(target="python")
    def energy(self, x):
        return self.k * x

    @adjit.grad(target="python", wrt="x")
    def named(self, x):
        return self.k * x


class Slots:
    __slots__ = ("k",)

    def energy(self, x):
        return self.k * x


grad = functools.partial(adjit.grad, target="python")

# what is done, the error, and the words
ROWS = {
    "a list of integers": (lambda: grad(squares)([1, 2]), WrongWrt, "`x` of squares is a list of integers.*np.array"),
    "a list of strings": (lambda: grad(squares)(["a"]), WrongWrt, "is a list of strings"),
    "a string": (lambda: grad(squares)("abc"), WrongWrt, "is the string 'abc'"),
    "a tuple of integers": (lambda: grad(squares)((1, 2)), WrongWrt, "is a tuple of integers"),
    "an integer": (lambda: grad(squares)(3), WrongWrt, "is an integer, which has no derivative"),
    "an array of integers": (lambda: grad(squares)(np.arange(2)), WrongWrt, r"Pass x.astype\(float\)"),
    "the name that JAX has": (lambda: grad(squares, argnums=1), WrongCall, "adjit calls it wrt: write wrt=1"),
    "the argument too early": (lambda: grad(squares, X), WrongWrt, r"write adjit.grad\(f\)\(x\)"),
    "no return": (lambda: grad(without_return)(1.0), NotScalar, "End the function with `return`"),
    "self in wrt": (lambda: Decorated().energy(1.0), WrongWrt, 'Name another parameter: wrt="x"'),
    "slots": (lambda: grad(Slots().energy)(1.0), TypeMismatch, "whose class has __slots__"),
    "*args": (lambda: grad(Starred().all_of_them)(1.0, 2.0), Unsupported, r"lambda x, y: all_of_them\(x, y\)"),
    "**kwargs": (lambda: grad(Starred().by_keyword)(1.0, k=2.0), Unsupported, r"lambda x, k: by_keyword\(x, k=k\)"),
    "a clock": (lambda: grad(timed)(1.0), Unsupported, "Take it out, and time the call"),
    "a file": (lambda: grad(read_from_a_file)(1.0), Unsupported, "Call it before the function, and pass its result"),
    "an import": (lambda: grad(imported)(1.0), Unsupported, "__import__.*Import the module at the top"),
    "a coroutine": (lambda: grad(coroutine)(1.0), SourceUnavailable, "It is a coroutine.*plain function"),
    "a power of a list": (
        lambda: grad(raised_to_a_power)([1.0, 2.0]),
        Unsupported,
        r"`\*\*` of a list and a number.*np.array\(...\) of the list",
    ),
    "the prompt": (lambda: grad(executed("<stdin>"))(1.0), SourceUnavailable, "prompt before version 3.13"),
    "%%time": (lambda: grad(executed("<timed exec>"))(1.0), SourceUnavailable, "Move the definition into a cell"),
    "exec": (lambda: grad(executed("<string>"))(1.0), SourceUnavailable, "executed as a string"),
    "too few axes": (
        lambda: adjit.vmap(lambda x, y: x * y, in_axes=(0,), target="python")(X, 2.0),
        WrongCall,
        r"in_axes=\(0,\).*one per argument",
    ),
    "an unknown type": (lambda: grad(squares).source("array, int"), TypeMismatch, "'array' is not a type"),
}


def complex_rows(x):
    return x * 1j


NAMED = {
    "jacobian(squares)": lambda: adjit.jacobian(squares, target="python")(),
    "hessian(squares)": lambda: adjit.hessian(squares, target="python")({1}),
    "grad(squares)": lambda: adjit.grad(squares, target="python")(),
    "hvp(squares)": lambda: adjit.hvp(squares, target="python")(X),
    "jacobian(complex_rows)": lambda: adjit.jacobian(complex_rows, target="python", sparse=True)({1}),
    "hessian(complex_rows)": lambda: adjit.hessian(complex_rows, target="python", sparse=True)({1}),
    "of complex_rows": lambda: adjit.jacobian(complex_rows, target="python")(1.0),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_derivative_has_the_name_that_the_user_gave_it(name: str) -> None:
    with pytest.raises(adjit.errors.AdjitError, match=re.escape(name)) as found:
        NAMED[name]()
    assert "jacfwd" not in str(found.value)
    assert "jacrev" not in str(found.value)


def test_representations_have_that_name() -> None:
    for kind in ("hessian", "jacobian", "jacfwd", "jacrev", "hvp", "grad"):
        assert repr(getattr(adjit, kind)(squares)) == f"<{kind} of squares with respect to (0,)>"
    for kind in ("hessian", "jacobian"):
        assert repr(getattr(adjit, kind)(squares, sparse=True)) == f"<sparse {kind} of squares with respect to (0,)>"


OPERATORS = {
    "**": lambda x: ([x, x] ** 2)[0],
    "-": lambda x: ([x, x] - [x, 1.0])[0],
    "@": lambda x: [x, x] @ [x, x],
    "~": lambda x: (~[x, x])[0],
    "<": lambda x: {"a": x} < {"a": x},
}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_are_named_by_their_signs(sign: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(f"`{sign}` of a ")):
        grad(OPERATORS[sign])(1.0)


def of_an_array_instead(x):
    return (np.array([x, x]) ** 2)[0]


def test_the_way_out_of_a_list_works() -> None:
    assert grad(of_an_array_instead)(3.0) == 6.0


def beyond_its_end(x, k):
    return x[k]


@pytest.mark.parametrize("name", ["<ipython-input-3-abc>", "/tmp/ipykernel_12/3405.py"])
def test_lines_of_a_notebook_are_those_of_its_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def cell(x, k):\n    return [x[k]] ** 2\n\n\ndef beyond(x, k):\n    return x[k]\n"
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
    compiler = types.SimpleNamespace(format_code_name=lambda file: ("Cell", "In[3]") if file == name else None)
    shell = types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    with pytest.raises(Unsupported, match=re.escape("  Cell In[3], line 2 in cell\n    return [x[k]] ** 2\n")):
        grad(scope["cell"])(X, 0)
    with pytest.raises(IndexError, match=re.escape("  Cell In[3], line 6 in beyond\n")):
        grad(scope["beyond"])(X, 5)
    assert "Gradient of beyond at Cell In[3], line 5 with" in str(grad(scope["beyond"]).explain(X, 1))
    # a file that is none keeps its own name
    with pytest.raises(IndexError, match=r"test_messages.py:\d+ in beyond_its_end"):
        grad(beyond_its_end)(X, 5)
    # and what is kept has the name of the file, as cells get other numbers
    assert "In[3]" not in grad(scope["beyond"]).source(X, 1)


@pytest.mark.parametrize("row", ROWS)
def test_it_says_what_to_do(row: str) -> None:
    run, kind, words = ROWS[row]
    with pytest.raises(kind, match=f"(?s){words}"):
        run()


def test_a_coroutine_still_runs() -> None:
    assert asyncio.run(coroutine(2.0)) == 4.0


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_derivative_in_a_class_is_a_method(target: str) -> None:
    class Spring:
        k = 3.0
        force = adjit.grad(Decorated.__dict__["named"].__wrapped__, wrt="x", target=target)

    assert Spring().force(1.0) == 3.0


# ---------------------------------------------------------------------------------- libraries whose arrays are not ours


class DataFrame:
    """As pandas has one, as far as is known of it before it is refused."""

    def __getitem__(self, key: str) -> Any:
        return X


class Bar:
    def __init__(self, items: Any) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)


def summed(x):
    return x.sum()


DataFrame.__module__, Bar.__module__, Bar.__name__ = "pandas.core.frame", "tqdm.std", "tqdm"
FRAME = DataFrame()
torch_sum = types.FunctionType(summed.__code__, {"__name__": "torch"}, "sum")
torch_sum.__module__ = "torch.functional"
tqdm = Bar


def of_a_frame(x):
    return np.sum(x * FRAME["t"])


def of_a_column(x):
    return np.sum(x * FRAME.t)


def of_torch(x):
    return torch_sum(x * x)


def with_a_bar(x):
    s = 0.0
    for k in tqdm(range(3)):
        s += k * x
    return s


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (of_a_frame, r"pandas.DataFrame.*to_numpy\(\)"),
        (of_a_column, r"pandas.DataFrame.*to_numpy\(\)"),
        (of_torch, r"torch.sum.*Write np.sum"),
        (with_a_bar, r"tqdm.*for i in adjit.progress\(range\(n\)\)"),
    ],
)
def test_libraries_that_compiled_code_has_nothing_of(function, words: str) -> None:
    with pytest.raises(Unsupported, match=f"(?s){words}"):
        grad(function)(1.5 if function is with_a_bar else X)


# ------------------------------------------------------------------------------------------------ attributes of objects


class Model:
    scale = 2.0

    def __init__(self, **others: Any) -> None:
        self.k = 2.0
        self.__dict__.update(others)

    def energy(self, x):
        return self.k * np.sum(x * x)

    def counted(self, x):
        return len(self.tags) * np.sum(x * x)

    @classmethod
    def of_the_class(cls, x):
        return cls.scale * np.sum(x * x)


TAGS = {
    "a set": ({1, 2}, "of type set"),
    "a deque": (collections.deque([1]), "of type collections.deque"),
    "a masked array": (np.ma.array([1.0]), "a masked array"),
    "a matrix": (np.matrix([[1.0]]), "of type numpy.matrix"),
    "a list of sets": ([{1}], "of type set"),
}


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_nothing_reads_is_no_obstacle(target: str) -> None:
    made = adjit.grad(Model.energy, wrt="x", target=target)
    for value, _ in TAGS.values():
        for _ in range(2):
            np.testing.assert_array_equal(made(Model(tags=value), X), 4.0 * X)
    inner = Model()
    inner.parent = Model(child=inner)
    np.testing.assert_array_equal(made(inner, X), 4.0 * X)
    # of the object itself, and of a part of it
    found = adjit.grad(Model.energy, wrt="self", target=target)(Model(tags={1}, name="a"), X)
    assert vars(found) == {"k": 5.0, "name": "a"}
    assert adjit.grad(Model.energy, wrt="self.k", target=target)(Model(tags={1}), X) == 5.0


@pytest.mark.parametrize("tag", TAGS)
def test_what_is_read_is_named(tag: str) -> None:
    value, told = TAGS[tag]
    with pytest.raises(Unsupported, match=f"attribute `tags` of Model is {told}"):
        grad(Model(tags=value).counted)(X)
    # none of the other attributes is in the way
    np.testing.assert_array_equal(grad(Model(tags=[1.0, 2.0], others=value).counted)(X), 4.0 * X)


def test_class_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_array_equal(grad(Model.of_the_class)(X), 4.0 * X)
    monkeypatch.setattr(Model, "scale", 3.0)
    np.testing.assert_array_equal(grad(Model.of_the_class)(X), 6.0 * X)


# ----------------------------------------------------------------------------------------------------- lists as results


def turned(t, y):
    return [y[1], -y[0] * t]


def collected(y):
    found = []
    for one in y:
        if one > 0.0:
            found.append(one * one)
    return found


def rows(y):
    return [[y[0], 2], [y[1], y[0] * y[1]]], y[0]


def with_more(x):
    return x * x, [x, 3.0 * x]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_list_as_a_result_is_an_array(target: str) -> None:
    found = adjit.jacobian(turned, wrt="y", target=target)(2.0, X)
    np.testing.assert_array_equal(found, [[0.0, 1.0], [-2.0, 0.0]])
    np.testing.assert_array_equal(adjit.jacrev(collected, target=target)(X), np.diag(2.0 * X))
    matrix, first = adjit.jacfwd(rows, target=target)(X)
    np.testing.assert_array_equal(matrix, [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 1.0]]])
    np.testing.assert_array_equal(first, [1.0, 0.0])
    bar, aux = adjit.grad(with_more, has_aux=True, target=target)(2.0)
    assert bar == 4.0
    np.testing.assert_array_equal(aux, [2.0, 6.0])
    value, pullback = adjit.vjp(turned, 2.0, X, target=target)
    np.testing.assert_array_equal(value, [2.0, -2.0])
    np.testing.assert_array_equal(pullback(np.array([1.0, 0.0]))[1], [0.0, 1.0])


def test_a_right_hand_side_as_scipy_writes_it() -> None:
    jac = adjit.jacobian(turned, wrt="y")
    found = solve_ivp(turned, (0.0, 1.0), [1.0, 0.0], method="BDF", jac=jac, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.y[:, -1], solve_ivp(turned, (0.0, 1.0), [1.0, 0.0], rtol=1e-9).y[:, -1], rtol=1e-3)


@pytest.mark.parametrize("result", [{"a": 1.0}, "text"])
def test_other_results_are_refused(result) -> None:
    with pytest.raises(Unsupported, match="(?s)returns an? .*numbers and arrays, in tuples or lists"):
        grad(lambda x: (x * x, result), has_aux=True)(2.0)


# -------------------------------------------------------------------------------- what the program itself says


def only_for_a(x, name):
    if name == "a":
        return x
    raise KeyError(name)


def never(x):
    if x > 1.0:
        raise ValueError("too large")
    raise TypeError("too small")


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_function_that_raises_on_all_ways_raises(target: str) -> None:
    with pytest.raises(KeyError, match="b"):
        adjit.grad(only_for_a, target=target)(1.0, "b")
    for x, kind in ((2.0, ValueError), (0.5, TypeError)):
        for made in (adjit.grad(never, target=target), adjit.jacobian(never, target=target)):
            with pytest.raises(kind):
                made(x)


def told(x, n):
    if n == 0:
        raise ValueError(f"got {x:.2f} and {n!r}")
    if n == 1:
        raise ValueError("got {} and {:d}".format(x, n))  # noqa: UP032
    if n == 2:
        raise ValueError("got %s of %d" % (x, n))  # noqa: UP031
    raise ValueError("no " + str(x))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_messages_contain_the_values(target: str) -> None:
    said = []
    for n in range(4):
        with pytest.raises(ValueError) as raised:
            adjit.grad(told, target=target)(1.0, n)
        said += raised.value.args
    assert said == ["got 1.00 and 0", "got 1.0 and 1", "got 1.0 of 2", "no 1.0"]


# ------------------------------------------------------------------------------------------------------------------ Tab


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_tab_offers_what_users_call(target: str) -> None:
    def names(made: Any) -> list[str]:
        return [name for name in dir(made) if not name.startswith("_")]

    assert names(adjit.grad(squares, target=target)) == ["explain", "into", "precompile", "report", "save", "source"]
    assert names(adjit.hvp(squares, target=target)) == ["explain", "precompile", "report", "save", "source"]


# ----------------------------------------------------------------------------------------------------- help, Shift-Tab

TRANSFORMATIONS = (
    "grad value_and_grad jvp vjp hvp jet jacfwd jacrev jacobian hessian vmap check_grads rounding_error".split()
)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_options_are_named_and_told_of(name: str) -> None:
    function = getattr(adjit, name)
    shown = inspect.signature(function)
    assert not any(p.kind is p.VAR_KEYWORD for p in shown.parameters.values())
    options = {name: p.default for name, p in shown.parameters.items() if name in Asked.__annotations__}
    assert options == {name: getattr(Options(), name) for name in Asked.__annotations__}
    sentences = {
        n for names in re.findall(r"- ((?:`\w+`(?:, )?)+): ", function.__doc__) for n in re.findall(r"\w+", names)
    }
    assert set(Asked.__annotations__) <= sentences
    # what is not an option of all is said, too
    own = set(shown.parameters) - set(options) - {"function", "arguments", "primals", "args", "order", "wrt"}
    assert own <= sentences


def test_the_options_are_those_that_are_taken() -> None:
    with pytest.raises(WrongCall) as fault:
        make_options({"nothing": 1})
    assert fault.value.why == f"The options are {', '.join(Asked.__annotations__)}."
    assert {field.name for field in dataclasses.fields(Options)} == {*Asked.__annotations__, "strategy"}
