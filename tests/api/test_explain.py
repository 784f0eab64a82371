"""Explanations: what they say of a few programs, and that what they say is so."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import defaultdict
from pathlib import Path

import numba
import numpy as np
import pytest

import adjit
from adjit.api.specialise.dispatch import Options, derive
from adjit.transform import pipeline
from adjit.transform.pipeline import Derivative
from tests.golden import primals
from tests.golden.explained import programs
from tests.programs.table import TABLE

GOLDEN = Path(programs.__file__).parent

OWN = {name: (derived, arguments) for name, (derived, arguments) in programs.CASES.items() if name != "diffuse_types"}
OTHERS = {
    case.name: (adjit.value_and_grad(case.function, wrt=case.wrt), case.arguments)
    for case in primals.CASES
    if case.mode != "forward" and case.name not in OWN
}
ALL = OWN | OTHERS


# --------------------------------------------------------------------------------------------------------------- texts


@pytest.mark.parametrize("name", programs.CASES)
def test_text(name, request):
    derived, arguments = programs.CASES[name]
    text = f"{derived.explain(*arguments)}\n"
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert all(len(line) <= 100 for line in text.splitlines())


def test_no_text_is_left_over():
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(programs.CASES)


# -------------------------------------------------------------------------------------------------- bytes, as they are


class _Watching(ast.NodeTransformer):
    """`name = <something made here>` becomes `name = _made("name", ...)`."""

    def __init__(self, names):
        self.names = names

    def visit_Assign(self, node):
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.names and isinstance(node.value, ast.Call | ast.BinOp):
            node.value = ast.Call(ast.Name("_made", ast.Load()), [ast.Constant(target.id), node.value], [])
        return node


def bytes_made(derived, arguments, names):
    """The bytes of each array that the generated code makes, by its name in that code."""
    types = derived.argument_types(*arguments)
    emitted = pipeline.source(derived.derivative, types, vectormath=True)
    found = defaultdict(set)

    def made(name, value):
        found[name].add(value.nbytes)
        return value

    tree = ast.fix_missing_locations(_Watching(names).visit(ast.parse(emitted.text)))
    scope = {**emitted.globals, "_made": made}
    exec(compile(tree, "<watched>", "exec"), scope)
    with np.errstate(all="ignore"):
        scope[emitted.name](*arguments)
    return found


@pytest.mark.parametrize("name", ALL)
def test_bytes_are_those_of_the_arrays_made(name):
    derived, arguments = ALL[name]
    told = derived.explain(*arguments)
    sizes = defaultdict(set)
    for array in told.arrays:
        if not array.grows:
            assert array.bytes is not None, array
            sizes[array.name].add(array.bytes)
    found = bytes_made(derived, arguments, set(sizes))
    assert {name: sizes[name] for name in found} == found
    # arrays that stand inside an expression have no name, and are few
    assert len(set(sizes) - set(found)) <= 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_bytes_in_programs_of_all_kinds(row):
    derived = derive(Derivative(row.function, "split_forward", tuple(row.active)), Options(target="python"))
    try:
        bytes_made(derived, row.arguments(), set())
    except adjit.errors.Stretched:
        derived = derived.stretching
    told = derived.explain(*row.arguments())
    assert all(len(line) <= 100 for line in str(told).splitlines())
    sizes = defaultdict(set)
    for array in told.arrays:
        sizes[array.name].add(array.bytes)
    # what is as large as its contents say is not known before it runs
    known = {name for name, found in sizes.items() if None not in found}
    for name, found in bytes_made(derived, row.arguments(), known).items():
        assert found <= sizes[name], name


@pytest.mark.parametrize("name", ALL)
def test_every_array_made_is_told_of(name):
    derived, arguments = ALL[name]
    told = derived.explain(*arguments)
    tree = ast.parse(derived.source(*arguments, tuned=True))
    makers = {"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "full_like", "copy"}
    made = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in makers
    ]
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.List | ast.ListComp)]
    assert len(told.arrays) >= len(made) + len(lists)
    assert told.total == (None if lists else sum(array.bytes for array in told.arrays))


def test_numbers_follow_the_arguments():
    gradient = adjit.grad(primals.diffuse, wrt="alpha")
    for size, steps in ((12, 5), (3, 7), (2, 4), (30, 0)):
        arrays = {a.name: a for a in gradient.explain(np.ones(size), 0.1, steps).arrays}
        assert arrays["sum_tape"].formula == "8 * steps * (n - 2)"
        assert arrays["sum_tape"].bytes == 8 * steps * max(size - 2, 0)


def test_types_give_formulas_alone():
    gradient = adjit.grad(primals.diffuse, wrt="alpha")
    by_text, by_type = (
        gradient.explain("float64[:], float, int"),
        gradient.explain(numba.float64[::1], numba.float64, numba.int64),
    )
    assert str(by_text) == str(by_type)
    assert all(array.bytes is None for array in by_text.arrays)
    assert by_text.total is None


# ------------------------------------------------------------------------------------------------------- its variables


def assigned(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


@pytest.mark.parametrize("name", ALL)
def test_every_variable_is_there(name):
    derived, arguments = ALL[name]
    function = derived.derivative.function
    told = derived.explain(*arguments)
    assert {v.name for v in told.variables if v.function == function.__name__} == assigned(function)


def reasons(function, wrt, *arguments):
    return {v.name: (v.is_active, v.why) for v in adjit.grad(function, wrt=wrt).explain(*arguments).variables}


def test_reasons():
    def tested(x, y, n, flags):
        same = x
        bound = y * 2.0
        seen = x * x
        if seen > bound:
            side = x
        else:
            side = y
        steps = np.floor(x)
        whole = int(x)
        one = 1.0
        dead = side * x
        return side * one * n + flags.size

    found = reasons(tested, "x", 1.5, 2.0, 3, np.ones(2, bool))
    assert found == {
        "x": (True, "in wrt"),
        "y": (False, "not in wrt"),
        "n": (False, "an integer"),
        "flags": (False, "booleans"),
        "same": (True, "depends on x"),
        "bound": (False, "does not depend on x"),
        "seen": (False, "depends on x, but is only compared"),
        "side": (True, "depends on x"),
        "steps": (False, "does not depend on x"),
        "whole": (False, "an integer"),
        "one": (False, "a constant"),
        "dead": (False, "depends on x, but does not reach the result"),
    }


def test_an_argument_that_nothing_depends_on():
    assert reasons(lambda x, y: y * y, "x", 1.0, 2.0)["x"] == (
        False,
        "in wrt, but the result does not depend on it",
    )


# ------------------------------------------------------------------------------------------------ what becomes of loops


def loops(function, wrt, *arguments, **options):
    told = adjit.grad(function, wrt=wrt, **options).explain(*arguments)
    return [(line.strategy, line.why) for line in told.loops]


def test_the_reason_why_trips_stay_apart_is_named():
    def recurrence(x, n):
        s = x
        for _ in range(n):
            s = np.sin(s)
        return s

    ((strategy, why),) = loops(recurrence, "x", 1.0, 5)
    assert strategy == "forward loop, then reverse loop"
    assert why == "in the reverse, `s_bar` goes from one iteration to the next, and is not a sum"


def test_a_loop_that_is_left_early():
    def search(x, limit):
        total = 0.0
        for i in range(x.size):
            total += np.exp(x[i])
            if total > limit:
                break
        return total

    ((strategy, why),) = loops(search, "x", np.ones(4), 5.0)
    assert strategy == "forward loop, then reverse loop"
    assert why == "the number of iterations is only known after the loop"


def test_without_fusion_a_pair_stays_apart():
    derived, arguments = programs.CASES["walk"]
    ((fused, _),) = loops(programs.walk, ("x", "w"), *arguments)
    assert fused == "both sweeps in one loop, iteration by iteration"


def test_a_loop_that_nothing_flows_through():
    def counted(x, w):
        n = 0
        for i in range(w.size):
            if w[i] > 0.0:
                n += 1
        return x * n

    assert loops(counted, "x", 1.0, np.ones(3)) == [("forward loop only", "no derivative depends on it")]


def test_derivatives_of_derivatives_are_told_of_as_one():
    def cube(x):
        y = x * x
        return y * x

    told = adjit.grad(adjit.grad(cube)).explain(2.0)
    assert told.title.startswith("Gradient of cube_grad")
    assert {"x", "y"} <= {v.name for v in told.variables}


def test_the_interpreted_target_is_told_of_alike():
    compiled, interpreted = (adjit.grad(primals.diffuse, wrt="u", target=t) for t in ("cpu", "python"))
    arguments = (np.ones(5), 0.1, 3)
    assert str(compiled.explain(*arguments)) == str(interpreted.explain(*arguments))


def stacked(x):
    rows = []
    for i in range(x.size):
        rows.append([x[i]])
    for row in rows:
        row.append(2.0 * row[0])
    total = 0.0
    for row in rows:
        total += row[0] * row[1]
    return total


def test_why_a_program_is_read_again():
    found = adjit.grad(stacked, target="python").explain("float64[:]")
    line = inspect.getsourcelines(stacked)[1] + 5
    assert found.restarts == (
        (line, "a list or an object changes that is an item of a growing list"),
        (line, "arrays or lists in a growing list have different lengths"),
    )
    assert f"Read again\n  line  because\n  L{line}" in str(found)
    assert adjit.grad(with_ifs, target="python").explain(np.ones(3)).restarts == ()


def with_ifs(x):
    return x[0] if x[1] > 0.0 else x[2]
