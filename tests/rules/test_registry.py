"""Registration and lookup, and that the built-in tables cover numba and are covered by the table of examples."""

import math
import operator
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.typing import mathdecl, npydecl

import adjit
from adjit import rules
from adjit.rules import registry
from adjit.rules.numpy.linalg import equal_eigenvalues, factorisations
from adjit.rules.registry import Table, lookup, registered
from adjit.rules.scipy.optimize import scalar_roots
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.library import reassociable_add, reassociable_sub
from tests.rules.more_numpy_rows import CALLED
from tests.rules.numpy_rows import ALSO_SHOWN
from tests.rules.sampling_rows import METHODS
from tests.rules.table import ARRAYS, CONSTANTS, TABLE, WITHOUT_EXAMPLE, Row

# By these roots know of the order of their derivatives (tests/programs/test_roots.py); the last has no rule.
NO_FOURTH = scalar_roots.root_third_derivative
ORDERS_OF_ROOTS = (
    scalar_roots.root, scalar_roots.root_derivative, scalar_roots.root_second_derivative, NO_FOURTH,
)  # fmt: skip

# The compiler's own, in derivatives that are differentiated again
# (tests/transform/sweeps/test_matrix_pass_fusion.py), and in those of factorisations
# (tests/programs/test_functions_of_matrices.py).
OF_SPECTRA = (
    factorisations.turns, factorisations.turns_asked_for, equal_eigenvalues.moved,
    equal_eigenvalues.spectrum, equal_eigenvalues.singular_spectrum, equal_eigenvalues.hermitian_spaces,
)  # fmt: skip
OWN = (reassociable_add, reassociable_sub, *OF_SPECTRA, *(f.py_func for f in OF_SPECTRA))


@pytest.fixture(autouse=True)
def _no_lasting_registrations(monkeypatch):
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))


def is_of_distribution(callee):
    """Whether it is a method of scipy.stats, which test_scipy_stats.py has all of."""
    return type(getattr(callee, "__self__", None)).__module__.startswith("scipy.stats")


def test_every_rule_has_a_row() -> None:
    lookup(np.sin)  # which loads the built-in rules
    shown = (
        ({row.callee for row in TABLE} | {getattr(row.callee, "py_func", None) for row in TABLE} | set(WITHOUT_EXAMPLE))
        | set(ALSO_SHOWN)
        | set(OWN)
        | set(CALLED)
        | {part for mark in ORDERS_OF_ROOTS for part in (mark, mark.py_func)}
    )
    assert [c for c in registry.builtin.entries if c not in shown and not is_of_distribution(c)] == []


def test_every_row_has_a_rule() -> None:
    assert [row.name for row in TABLE if lookup(row.callee) is None] == []
    assert [c for c in WITHOUT_EXAMPLE if lookup(c) is None and c not in METHODS] == []


# numba takes seconds for those that are compiled, which the table's own tests run
EXAMPLES = [
    pytest.param(row, id=row.name, marks=pytest.mark.long if is_dispatcher(row.callee) else ())
    for row in (*ARRAYS, *CONSTANTS)
]


@pytest.mark.parametrize("row", EXAMPLES)
def test_examples_run_and_are_finite(row: Row) -> None:
    found = row.function(*row.sample(np.random.default_rng(1)))
    if "nan" not in row.name:
        assert np.all(np.isfinite(found))


# ----------------------------------------------------------------------------------------------------- what numba knows

# Two results, of which one is an integer or a step function; and what has no float argument to differentiate.
WITHOUT_RULE = {math.frexp}


def test_each_ufunc_of_numba_is_covered() -> None:
    missing = [u.__name__ for u in npydecl.supported_ufuncs if u not in WITHOUT_RULE and lookup(u) is None]
    assert missing == []


def test_each_operator_of_numba_is_covered() -> None:
    kinds = ("NumpyRulesArrayOperator", "NumpyRulesInplaceArrayOperator", "NumpyRulesUnaryArrayOperator")
    known = [op for kind in kinds for op in getattr(npydecl, kind)._op_map]
    assert len(known) == 33
    others = [
        operator.matmul,
        operator.imatmul,
        operator.is_,
        operator.is_not,
        operator.not_,
        operator.truth,
        operator.contains,
    ]
    assert [op.__name__ for op in [*known, *others] if lookup(op) is None] == []


def test_each_math_function_of_numba_is_covered() -> None:
    known = [f for f, _ in mathdecl.registry.globals if callable(f)]
    assert len(known) >= 41
    assert [f.__name__ for f in known if f not in WITHOUT_RULE and lookup(f) is None] == []


def test_every_entry_says_something() -> None:
    for callee in registered():
        entry = lookup(callee)
        kinds = [entry.partials, entry.decomposition, entry.is_linear_map, entry.constant or entry.effect]
        assert sum(bool(k) for k in kinds) == (callee not in (NO_FOURTH, NO_FOURTH.py_func)), callee


# --------------------------------------------------------------------------------------------------------- the registry


def test_in_place_operators_are_the_plain_ones() -> None:
    assert lookup(operator.iadd) is lookup(operator.add)
    assert lookup(pow) is lookup(operator.pow)
    assert lookup(operator.imatmul) is lookup(operator.matmul)


def test_unknown_and_unhashable_callees_have_no_entry() -> None:
    assert lookup(print) is None
    assert lookup([]) is None


def test_a_users_rule_replaces_all_that_is_built_in() -> None:
    assert lookup(np.dot).transposes

    @rules.tangent(np.dot)
    def mine(a, b, a_dot, b_dot, *, y):
        return a_dot

    assert lookup(np.dot).tangent is mine
    assert not lookup(np.dot).transposes


def test_registering_twice_replaces() -> None:
    def f(x):
        return x

    rules.partials(f, lambda x: 1)
    second = rules.partials(f, lambda x: -1)
    assert lookup(f).partials is second
    rules.constant(f)
    assert lookup(f).partials is None
    assert lookup(f).constant


def test_tangent_transposes_and_adjoint_go_together() -> None:
    def f(a, b):
        return a * b

    @rules.tangent(f)
    def tangent(a, b, a_dot, b_dot, *, y):
        return a_dot * b + a * b_dot

    first = rules.linear(f, transpose=lambda a, b, *, y, y_bar: b * y_bar)
    assert first is None
    rules.linear(f, transpose=lambda a, b, *, y, y_bar: a * y_bar, argument=1)
    assert lookup(f).tangent is tangent
    assert set(lookup(f).transposes) == {0, 1}


def test_a_dispatcher_and_its_python_function_share_an_entry() -> None:
    @numba.njit
    def f(x):
        return x * x

    rules.partials(f, lambda x: 2 * x)
    assert lookup(f) is lookup(f.py_func) is not None

    def g(x):
        return x

    rules.constant(g)
    assert lookup(numba.njit(g)).constant


def test_effects() -> None:
    assert lookup(np.random.random).effect
    assert lookup(np.random.random).constant

    def measure(x):
        return x

    rules.effect(measure, constant=False)
    assert lookup(measure).effect
    assert not lookup(measure).constant


def test_entry_points_return_what_they_decorate() -> None:
    table = Table()

    def f(x):
        return x

    assert table.decomposition(f)(f) is f
    assert table.adjoint(f)(f) is f
    assert table.find(f).adjoint is f


def test_importing_the_package_loads_no_rules() -> None:
    code = "import sys; import adjit.rules; sys.exit('adjit.rules.elementary' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_forward_mode_of_what_has_an_adjoint_alone_is_refused() -> None:
    def total(x):
        return np.sum(x)

    def squared(x):
        return total(x) ** 2

    rules.adjoint(total)(lambda x, *, y, y_bar: np.full(x.size, y_bar))
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(adjit.grad(squared, target="python")(x), [6.0, 6.0])
    with pytest.raises(
        adjit.NoRule, match=r"(?s)total has no rule for forward mode.*a rule for reverse mode.*tangent\(total\)"
    ):
        adjit.jvp(squared, (x,), (x,), target="python")
