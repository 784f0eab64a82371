"""Which clears ask what was loaded: those of elements that nothing has changed since."""

import operator

import pytest

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.gpu.memory_order import in_memory_order
from tests.transform.building import VECTOR, F, I, Program


def in_order(between, **options):
    """`item = y[i]`, what is between, `y[i] = 0`, `x[i] = item`, in order."""
    p = Program(x=VECTOR, y=VECTOR, z=VECTOR, i=I, j=I, v=F)
    item = ir.Var("item", F)
    p.emit(ir.Load(array=p["y"], index=(p["i"],), out=item))
    between(p)
    p.emit(ir.Store(array=p["y"], index=(p["i"],), value=ir.Const(0.0, F), **({"handed_on": True} | options)))
    p.emit(ir.Store(array=p["x"], index=(p["i"],), value=item))
    function = p.function()
    return in_memory_order(function.body.ops, Aliases(function))


def nothing(p):
    pass


def other_array(p):
    p.emit(ir.Store(array=p["z"], index=(p["j"],), value=p["v"]))


def other_element(p):
    p.emit(ir.Store(array=p["y"], index=(p["j"],), value=p["v"]))


def view(p):
    out = ir.Var("part", VECTOR)
    p.emit(ir.Slice(base=p["y"], selectors=(ir.Span(start=p["j"]),), out=out))
    p.emit(ir.Store(array=out, index=(p["i"],), value=p["v"]))


def in_a_branch(p):
    test = ir.Var("test", ir.boolean(True).type)
    p.emit(ir.Call(callee=operator.lt, args=(p["i"], p["j"]), outs=(test,)))
    store = ir.Store(array=p["y"], index=(p["j"],), value=p["v"])
    p.emit(ir.If(condition=test, then=ir.Region((), (store,), ())))


@pytest.mark.parametrize("between", [nothing, other_array])
def test_clears_ask_what_was_loaded(between):
    ops = in_order(between)
    (branch,) = (op for op in ops if isinstance(op, ir.If))
    (test,) = (op for op in ops if branch.condition in op.results)
    (load,) = (op for op in ops if isinstance(op, ir.Load))
    assert test.callee is operator.ne
    assert test.args == (load.out, ir.Const(0.0, F))
    assert load.early
    assert [type(op) for op in branch.then.ops] == [ir.Store]
    assert branch.then.ops[0].array.name == "y"


@pytest.mark.parametrize("between", [other_element, view, in_a_branch])
def test_what_may_have_changed_is_cleared_in_any_case(between):
    ops = in_order(between)
    clears = [op for op in ops if isinstance(op, ir.Store) and op.array.name == "y" and op.handed_on]
    assert len(clears) == 1


def test_what_is_no_clear_is_stored():
    assert not any(isinstance(op, ir.If) for op in in_order(nothing, handed_on=False))


def with_a_barrier(*ops, before=()):
    """A barrier between some operations and others, in order; which arrays are loaded from before it."""
    p = Program(x=VECTOR, y=VECTOR, z=VECTOR, i=I, j=I, v=F)
    made = {name: ir.Var(name, F) for name in ("first", "second")}

    def op(text):
        kind, array, index, value = text.split()
        place = (p[index],)
        if kind == "load":
            return ir.Load(array=p[array], index=place, out=made[value])
        return ir.Store(
            array=p[array], index=place, value=made[value] if value in made else p[value], add=kind == "add"
        )

    for text in before:
        p.emit(op(text))
    p.emit(ir.Barrier())
    for text in ops:
        p.emit(op(text))
    function = p.function()
    found = in_memory_order(function.body.ops, Aliases(function))
    wait = next(k for k, op in enumerate(found) if isinstance(op, ir.Barrier))
    return [op.array.name for op in found[:wait] if isinstance(op, ir.Load)], found[wait + 1 :]


def test_loads_of_what_a_thread_touches_once_stand_before_barriers():
    early, late = with_a_barrier("add x i v")
    assert early == ["x"]
    assert [type(op) for op in late] == [ir.Call, ir.Store]
    assert not late[-1].add
    assert with_a_barrier("load x i first", "store y i first")[0] == ["x"]
    # what is loaded and put back
    assert with_a_barrier("load x i first", "store x i v")[0] == ["x"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["store x i v"], ["load x i first", "store y i first"]),
        (["store x i v"], ["add x i v"]),
        (["store x j v"], ["load x i first"]),
        ([], ["add x i v", "load x j first"]),
        ([], ["store x j v", "load x i first"]),
        ([], ["load x i first", "store x j v"]),
    ],
)
def test_what_other_threads_may_have_stored_is_loaded_where_it_stands(before, after):
    assert with_a_barrier(*after, before=before)[0] == []


def test_a_few_loads_stand_before_barriers():
    from adjit.transform.gpu import memory_order

    names = [f"a{k}" for k in range(memory_order.MOST_AHEAD + 3)]
    p = Program(**dict.fromkeys(names, VECTOR), i=I, v=F)
    p.emit(ir.Barrier())
    for name in names:
        p.emit(ir.Store(array=p[name], index=(p["i"],), value=p["v"], add=True))
    function = p.function()
    found = in_memory_order(function.body.ops, Aliases(function))
    wait = next(k for k, op in enumerate(found) if isinstance(op, ir.Barrier))
    assert sum(isinstance(op, ir.Load) for op in found[:wait]) == memory_order.MOST_AHEAD
