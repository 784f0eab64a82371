"""Adjoints are built like those one writes by hand: so many stretches, arrays of a block, and additions to share.

What threads add to elements that others add to as well would be atomics on a GPU, were nothing else done about them;
the boundaries of stretches are its barriers.
"""

import numpy as np
import pytest

import adjit.cuda
from adjit.api.arguments.types import specialised, type_of
from adjit.transform import ir
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.outlined_region import alone
from adjit.transform.frontend import Launched
from adjit.transform.gpu.kernels import Asked
from adjit.transform.kernel_pipeline import derived_nest
from adjit.transform.strategy import READABLE, Strategy
from tests.cuda.kernels.harness import is_float, shadow
from tests.cuda.kernels.test_kernels import CASES

MECHANICAL = Strategy(tuned=False, without=frozenset({"tiles"}))


def nest_of(name, strategy=READABLE, kind="adjoint"):
    kernel, launch, arguments = CASES[name]
    given = arguments(np.random.default_rng(1))
    active = [k for k, a in enumerate(given) if is_float(a)]
    types = [specialised(type_of(a)) for a in given]
    shadows = [specialised(type_of(shadow(given[k], np.zeros(np.shape(given[k]))))) for k in active]
    grid, block = (tuple(np.atleast_1d(n).tolist()) for n in launch[:2])
    asked = Asked(kernel, kind, Launched((*block, 1, 1)[:3], len(grid)), tuple(active), strategy)
    return derived_nest(asked, types, shadows)


def stretches(region):
    """The loops over threads, of each stretch the outermost."""
    for op in region.ops:
        if isinstance(op, ir.For) and op.level == "threads":
            yield op
        else:
            for inside in op.regions:
                yield from stretches(inside)


def arrays_of_block(region):
    for op in region.ops:
        if isinstance(op, ir.Alloc):
            yield op.out.name
        elif not (isinstance(op, ir.For) and op.level == "threads"):
            for inside in op.regions:
                yield from arrays_of_block(inside)


def shared_additions(function, loop):
    """The arrays to elements of which several trips of a loop add."""
    found = LoopDependences(alone(function, loop)).of(loop)
    if isinstance(found, Serial):
        return []  # of plain stores, which the kernel has no races in
    return sorted({v.name for v in (*found.added, *found.shared)})


# how many stretches, the arrays of a block, and for each stretch that has some what it adds to elements of others
STRUCTURES = {
    "log sum exp": (5, ["exp_tape", "part", "part_bar"], []),
    "staged": (6, ["acc_kept", "acc_kept_bar", "tile", "tile_bar", "y_item_tape"], [["tile_bar"]]),
    "transposed": (2, ["tile", "tile_bar"], []),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_adjoints_with_barriers(name):
    count, arrays, additions = STRUCTURES[name]
    made = nest_of(name)
    found = list(stretches(made.body))
    assert len(found) == count
    assert sorted(arrays_of_block(made.body)) == arrays
    assert [shared for loop in found if (shared := shared_additions(made, loop))] == additions


@pytest.mark.parametrize("name", ["fir", "blur"])
def test_a_tile_that_is_a_cache_is_seen_through(name):
    made = nest_of(name)
    assert not list(stretches(made.body))
    (loop,) = [op for op in made.body.ops if isinstance(op, ir.For)]
    assert loop.parallel
    assert not any(isinstance(op, ir.Alloc) for op in made.body.inside)


def test_a_tile_that_is_not_seen_through_has_a_shadow():
    mechanical = nest_of("fir", MECHANICAL)
    assert len(list(stretches(mechanical.body))) == 3
    assert sorted(arrays_of_block(mechanical.body)) == ["tile", "tile_bar", "y_item_tape"]
    additions = [shared_additions(mechanical, loop) for loop in stretches(mechanical.body)]
    assert additions == [[], ["h_bar", "tile_bar"], []]


@pytest.mark.parametrize("name", ["scale", "heat", "strided", "strided while", "jacobi", "waves", "streaming", "rows"])
def test_kernels_of_elements_are_loops_over_elements(name):
    made = nest_of(name, kind="tangent")
    loops = [op for op in made.body.inside if isinstance(op, ir.For)]
    assert all(loop.level is None for loop in loops)
    assert loops[0].parallel
    # bounds say what the guard did, where that is about elements alone
    guards = [op for op in loops[-1].body.ops if isinstance(op, ir.If) and not op.outs]
    assert not guards


def test_block_shapes_are_specialised_on_and_grids_are_not():
    kernel, _, _ = CASES["log sum exp"]
    made = adjit.cuda.adjoint(kernel, target="python")
    for rows in (1, 2, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 8))
        x_bar, out_bar = np.zeros_like(x), np.ones(rows)
        made[rows, 8](x, np.zeros(rows), x_bar=x_bar, out_bar=out_bar)
        np.testing.assert_allclose(x_bar, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(out_bar, 0.0)
    assert len(made._made) == 1
