"""Between two barriers the order of the threads is of no account: forwards, backwards and shuffled loops agree.

A race of an adjoint shows here, where one thread reads what another one is yet to store, or clears what it is yet to
add to.
"""

import dataclasses
import functools
import operator

import numpy as np
import pytest
from numba import types

from adjit.api.arguments.trees import leaves
from adjit.runtime.compile import load
from adjit.runtime.library.xoroshiro import States, is_states
from adjit.transform import ir
from adjit.transform.emit import emit
from adjit.transform.frontend import Launched
from adjit.transform.gpu.kernels import Asked, without_levels
from adjit.transform.kernel_pipeline import derived_nest
from adjit.transform.strategy import READABLE
from tests.cuda.kernels.harness import copies, derived, is_float, shadow
from tests.cuda.kernels.test_kernels import CASES, NAMES


def turned(op):
    """A loop over threads or blocks that runs from last to first."""
    if not isinstance(op, ir.For) or op.level is None:
        return op
    b = ir.Builder()
    first = b.call(operator.sub, op.stop, op.step, type=types.intp)
    last = b.call(operator.sub, op.start, op.step, type=types.intp)
    step = ir.integer(-op.step.value)
    return (*b.ops, dataclasses.replace(op, start=first, stop=last, step=step))


def shuffled(op):
    """A loop over threads in an order in which neighbours are apart."""
    if not isinstance(op, ir.For) or op.level != "threads":
        return op
    trips = range(op.start.value, op.stop.value, op.step.value)
    factor = next(k for k in (5, 7, 3, 11, 1) if np.gcd(k, len(trips)) == 1)
    b, counter = ir.Builder(), ir.Var("turn", types.intp)
    far = b.call(operator.mul, counter, ir.integer(factor), type=types.intp)
    far = b.call(operator.add, far, ir.integer(3), type=types.intp)
    far = b.call(operator.mod, far, ir.integer(len(trips)), type=types.intp)
    far = b.call(operator.mul, far, op.step, type=types.intp)
    b.emit(ir.Call(callee=operator.add, args=(far, op.start), outs=op.body.args[:1]))
    body = ir.Region((counter, *op.body.args[1:]), (*b.ops, *op.body.ops), op.body.yields)
    return dataclasses.replace(op, start=ir.integer(0), stop=ir.integer(len(trips)), step=ir.integer(1), body=body)


ORDERS = {"backwards": turned, "shuffled": shuffled}


def of_nest(kind, name, order=None):
    """What a derived launch leaves in the arguments and the shadows."""
    kernel, launch, arguments = CASES[name]
    return launched(kernel, launch, arguments(np.random.default_rng(3)), kind, order)


@functools.lru_cache(maxsize=8)
def nest_of(asked, given, shadows):
    """One for all orders."""
    return derived_nest(asked, given, shadows)


def launched(kernel, launch, arguments, kind, order=None):
    given = [States(a["s0"], a["s1"]) if is_states(a) else a for a in copies(arguments)]
    active = [k for k, a in enumerate(given) if is_float(a)]
    g = np.random.default_rng(5)
    shadows = [shadow(given[k], g.normal(size=np.shape(given[k]))) for k in active]
    grid, block = (tuple(np.atleast_1d(n).tolist()) for n in launch[:2])
    asked = Asked(kernel, kind, Launched((*block, 1, 1)[:3], len(grid)), tuple(active), READABLE)
    own = derived(kernel, kind)
    made = nest_of(asked, *(tuple(map(own.type_of, each)) for each in (given, shadows)))
    if order is not None:
        made = ir.with_body(made, ir.rewritten(made.body, ORDERS[order]))
    emitted = emit(without_levels(made))
    run = load(emitted.text, emitted.globals, emitted.name, f"{kernel.__name__} {order}", is_plain=True)
    with np.errstate(all="ignore"):
        run(*given, *grid, launch[3] if len(launch) > 3 else 0, *shadows)
    return [a for a in leaves((*given, *shadows)) if isinstance(a, np.ndarray)]


# what the threads of its trips keep, of which nobody knows how many there are, is in lists in their order
IN_ORDER = {"until small"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [one for one in NAMES if one.values[0] not in IN_ORDER])
@pytest.mark.parametrize("kind", ["tangent", "adjoint"])
def test_threads_in_any_order(kind, name):
    expected = of_nest(kind, name)
    for order in ORDERS:
        for one, other in zip(expected, of_nest(kind, name, order), strict=True):
            tolerance = 1e-5 if one.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
