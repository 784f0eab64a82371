"""What goes into a result as a number, and what has a say in it alone."""

import operator

import numpy as np

from adjit import stop_gradient
from adjit.transform import ir
from adjit.transform.derive.control_dependence import Dependences
from tests.transform.building import VECTOR, F, I, Program


def ways(p: Program, *results):
    """For each parameter "data", "control" or "", by its way to the results."""
    found = Dependences(p.function(*results))
    outputs = [r for r in results if isinstance(r, ir.Var)]

    def way(var):
        if found.is_in(var, found.goes_into(outputs, with_control=False)):
            return "data"
        assert found.is_only_deciding(var, outputs) == (found.way(var, outputs) is not None)
        return "control" if found.is_only_deciding(var, outputs) else ""

    return {name: way(var) for name, var in p.params.items()}


def test_branches_decide_on_what_differs():
    p = Program(x=F, y=F, z=F)
    above = p.do(operator.gt, p["x"], 0.0)
    chosen, same = p.branch(above, lambda: (p["y"], p["z"]), lambda: (1.0, p["z"]))
    assert ways(p, chosen) == {"x": "control", "y": "data", "z": ""}
    assert ways(p, same) == {"x": "", "y": "", "z": "data"}


def test_stores_in_a_branch():
    p = Program(x=F)
    y, other = p.alloc(2), p.alloc(2)
    above = p.do(operator.gt, p["x"], 0.0)

    def store():
        p.put(y, 0, value=2.0)
        return ()

    p.branch(above, store, lambda: ())
    assert ways(p, p.get(y, 0)) == {"x": "control"}
    assert ways(p, p.get(other, 0)) == {"x": ""}


def test_indices_and_rounding():
    p = Program(x=F, table=VECTOR)
    k = p.do(ir.cast, p.do(np.floor, p["x"]), type=I)
    assert ways(p, p.get(p["table"], k)) == {"x": "control", "table": "data"}
    assert ways(p, p.do(ir.cast, k, type=F)) == {"x": "control", "table": ""}
    assert ways(p, p.add(p.do(np.floor, p["x"]), p["x"])) == {"x": "data", "table": ""}


def test_what_is_held_ends_both():
    p = Program(x=F)
    held = p.do(stop_gradient, p["x"])
    (y,) = p.branch(p.do(operator.gt, held, 0.0), lambda: (held,), lambda: (1.0,))
    assert ways(p, y) == {"x": ""}


def test_the_extents_of_an_argument_are_nobodys_decision():
    p = Program(a=VECTOR, n=F)
    size = p.extent(p["a"], 0)
    count = p.do(ir.cast, p["n"], type=I)
    made = p.alloc(count)
    assert ways(p, p.do(ir.cast, size, type=F)) == {"a": "", "n": ""}
    assert ways(p, p.do(ir.cast, p.extent(made, 0), type=F)) == {"a": "", "n": "control"}
    part = p.view(p["a"], (count, None, None))
    assert ways(p, p.get(part, 0)) == {"a": "data", "n": "control"}


def test_derivatives_made_inside_are_functions_like_others():
    p = Program(x=F)
    sign = p.do(np.sign, p["x"])
    function = p.function(sign)
    assert Dependences(function).is_only_deciding(p["x"], [sign])
    assert not Dependences(function, [((p["x"],), (sign,))]).is_only_deciding(p["x"], [sign])
