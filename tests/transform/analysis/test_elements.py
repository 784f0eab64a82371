"""May a store overwrite what was read? Known loops answered by hand, and random programs against their execution."""

import operator
import time

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.ir.verify import verify
from tests.transform.building import MATRIX, VECTOR, F, I, Program, evaluate


class Model(IndexModel):
    def __init__(self, f):
        super().__init__(f)
        self.stores = [op for op in ir.walk(f.body) if isinstance(op, ir.Store)]

    def overwriters(self, read):
        """The stores that may be the first to overwrite an element that `read` has read."""
        return [store for store in self.stores if self.may_overwrite(read, store)]

    def is_overwritten(self, read):
        return bool(self.overwriters(read))


def model(p: Program, *results) -> Model:
    f = p.function(*results)
    verify(f)
    return Model(f)


class Named(dict):
    """Operations by name: `n.at("here", p, p.get(a, i))` remembers the operation just put out."""

    def at(self, name: str, p: Program, result=None):
        self[name] = p.ops[-1]
        return result


def test_diffusion_in_place():
    p, n = Program(u=VECTOR, steps=I), Named()
    v = p.copy(p["u"])
    size = p.size(v)

    def step(t):
        left = n.at("left", p, p.get(v, 0))

        def cell(i, left):
            here = n.at("here", p, p.get(v, i))
            right = n.at("right", p, p.get(v, p.add(i, 1)))
            p.put(v, i, value=p.add(p.add(left, here), right))
            n.at("store", p)
            return (here,)

        p.loop((1, p.sub(size, 1)), (left,), cell)
        return ()

    p.loop((p["steps"],), (), step, counter="t")
    last = p.get(v, 0)
    n.at("last", p)
    m = model(p, last)
    assert m.may_overwrite(n["here"], n["store"])
    assert m.may_overwrite(n["right"], n["store"])
    assert not m.may_overwrite(n["left"], n["store"])  # v[0] is never stored to
    assert not m.may_overwrite(n["last"], n["store"])
    assert m.overwriters(n["here"]) == [n["store"]]


def test_cholesky_in_place_needs_no_tape():
    """L[j, k] and L[i, k] are final when they are read; only the entry being reduced changes."""
    p, n = Program(A=MATRIX), Named()
    A = p["A"]
    L = p.alloc(p.size(A), p.size(A), fill=0.0, name="L")
    size = p.size(A)

    def column(j):
        def dot(row, tag):
            def term(k, s):
                a = n.at(f"{tag} row", p, p.get(L, row, k))
                b = n.at(f"{tag} column", p, p.get(L, j, k))
                return (p.sub(s, p.mul(a, b)),)

            (s,) = p.loop((j,), (p.get(A, row, j),), term, counter="k")
            return s

        p.put(L, j, j, value=p.do(np.sqrt, dot(j, "pivot")))
        n.at("store pivot", p)

        def below(i):
            pivot = n.at("pivot", p, p.get(L, j, j))
            p.put(L, i, j, value=p.do(operator.truediv, dot(i, "below"), pivot))
            n.at("store below", p)
            return ()

        p.loop((p.add(j, 1), size), (), below)
        return ()

    p.loop((size,), (), column, counter="j")
    m = model(p, L)
    for read in ("pivot row", "pivot column", "below row", "below column", "pivot"):
        assert not m.is_overwritten(n[read]), read


def test_a_double_buffer_is_overwritten():
    p, n = Program(a=VECTOR, steps=I), Named()

    def step(t, u, v):
        def cell(i):
            e = n.at("read", p, p.get(u, i))
            p.put(v, i, value=e)
            n.at("store", p)
            return ()

        p.loop((p.size(p["a"]),), (), cell)
        return v, u

    u, _ = p.loop((p["steps"],), (p.copy(p["a"]), p.copy(p["a"])), step, counter="t")
    m = model(p, u)
    assert m.may_overwrite(n["read"], n["store"])


def test_gauss_seidel():
    p, n = Program(v=VECTOR), Named()
    v = p["v"]

    def cell(i):
        n.at("left", p, p.get(v, p.sub(i, 1)))
        n.at("right", p, p.get(v, p.add(i, 1)))
        p.put(v, i, value=0.0)
        n.at("store", p)
        return ()

    p.loop((1, p.sub(p.size(v), 1)), (), cell)
    m = model(p)
    assert not m.may_overwrite(n["left"], n["store"])  # one sweep: the left neighbour is done
    assert m.may_overwrite(n["right"], n["store"])


def test_repeated_gauss_seidel():
    p, n = Program(v=VECTOR, sweeps=I), Named()
    v = p["v"]

    def cell(i):
        n.at("left", p, p.get(v, p.sub(i, 1)))
        p.put(v, i, value=0.0)
        n.at("store", p)
        return ()

    p.loop((p["sweeps"],), (), lambda t: p.loop((1, p.sub(p.size(v), 1)), (), cell) and (), counter="t")
    assert model(p).may_overwrite(n["left"], n["store"])


def test_a_recurrence_into_its_own_array():
    p, n = Program(out=VECTOR, x=F), Named()
    out = p["out"]

    def step(k):
        e = n.at("read", p, p.get(out, p.sub(k, 1)))
        p.put(out, k, value=p.add(p.mul(e, e), p["x"]))
        n.at("store", p)
        return ()

    p.loop((1, p.size(out)), (), step, counter="k")
    assert not model(p).may_overwrite(n["read"], n["store"])


def test_an_index_that_may_wrap_is_any_element():
    """`out[k - 1]` from k = 0 reads the last element, which the last trip stores."""
    p, n = Program(out=VECTOR), Named()

    def step(k):
        p.put(p["out"], k, value=n.at("read", p, p.get(p["out"], p.sub(k, 1))))
        n.at("store", p)
        return ()

    p.loop((p.size(p["out"]),), (), step, counter="k")
    assert model(p).may_overwrite(n["read"], n["store"])


def scratch(p, n, trips, stop_early=False):
    """`for k: for j: Qx[j] = x;  for l: Qx[l] += x;  for j: s += Qx[j] * Qx[j]`"""
    Qx = p.alloc(p["d"], name="Qx")

    def first(j):
        p.put(Qx, j, value=p["x"])
        n.at("set", p)
        return ()

    def second(l):
        p.put(Qx, l, value=p["x"], add=True)
        n.at("add", p)
        return ()

    def third(j, s):
        e = n.at("read", p, p.get(Qx, j))
        return (p.add(s, p.mul(e, e)),)

    def body(k, s):
        p.loop((p["d"],), (), first, counter="j")
        p.loop((1, p["d"]), (), second, counter="l")
        (s,) = p.loop((p["d"],), (s,), third, counter="j")
        return (s, p.do(operator.gt, s, 9.0)) if stop_early else (s,)

    return p.loop((trips,), (0.0,), body, stops=stop_early, counter="k")


@pytest.mark.parametrize("stop_early", [False, True])
def test_scratch_is_overwritten_by_its_first_store_only(stop_early):
    p, n = Program(d=I, x=F, trips=I), Named()
    m = model(p, *scratch(p, n, p["trips"], stop_early))
    assert m.may_overwrite(n["read"], n["set"])
    assert not m.may_overwrite(n["read"], n["add"])
    assert m.may_overwrite(n["set"], n["set"]) is False  # a plain store reads nothing
    assert m.may_overwrite(n["add"], n["set"])  # += reads what it adds to


def test_scratch_of_one_trip_is_not_overwritten():
    p, n = Program(d=I, x=F), Named()
    m = model(p, *scratch(p, n, 1))
    assert not m.is_overwritten(n["read"])


def test_scratch_made_in_each_trip_is_not_overwritten():
    p, n = Program(d=I, x=F), Named()

    def body(k, s):
        w = p.alloc(p["d"])
        p.put(w, 0, value=p["x"])
        n.at("store", p)
        return (p.add(s, n.at("read", p, p.get(w, 0))),)

    m = model(p, *p.loop((p["d"],), (0.0,), body))
    assert not m.may_overwrite(n["read"], n["store"])


def conditional(p, n, condition):
    """`for i: read a[i]; if condition: a[i] = 1;  a[i] = 2`"""
    a = p["a"]

    def body(i):
        n.at("read", p, p.get(a, i))

        def then():
            p.put(a, i, value=1.0)
            n.at("may", p)
            return ()

        p.branch(condition(i), then)
        p.put(a, i, value=2.0)
        n.at("must", p)
        return ()

    p.loop((p.size(a),), (), body)
    return model(p)


def test_a_store_in_a_branch_does_not_hide_the_next():
    p, n = Program(a=VECTOR, c=types.boolean), Named()
    m = conditional(p, n, lambda i: p["c"])
    assert m.overwriters(n["read"]) == [n["may"], n["must"]]


def test_conditions_on_integers_are_understood():
    p, n = Program(a=VECTOR), Named()
    m = conditional(p, n, lambda i: p.do(operator.ge, i, 0))
    assert m.overwriters(n["read"]) == [n["may"]]


def test_a_store_in_the_branch_of_the_read_hides_the_next():
    p, n = Program(a=VECTOR, c=types.boolean), Named()

    def then():
        n.at("read", p, p.get(p["a"], 0))
        p.put(p["a"], 0, value=1.0)
        n.at("first", p)
        return ()

    p.branch(p["c"], then)
    p.put(p["a"], 0, value=2.0)
    n.at("second", p)
    assert model(p).overwriters(n["read"]) == [n["first"]]


def test_branches_exclude_each_other():
    p, n = Program(a=VECTOR, c=types.boolean), Named()

    def orelse():
        p.put(p["a"], 0, value=1.0)
        n.at("store", p)
        return ()

    p.branch(p["c"], lambda: n.at("read", p, p.get(p["a"], 0)) and (), orelse)
    assert not model(p).may_overwrite(n["read"], n["store"])


def test_while_loops():
    p, n = Program(a=VECTOR), Named()

    def body(t):
        n.at("read", p, p.get(p["a"], 0))
        n.at("other", p, p.get(p["a"], 1))
        p.put(p["a"], 0, value=1.0)
        n.at("first", p)
        p.put(p["a"], 0, value=2.0)
        n.at("second", p)
        return (p.mul(t, 0.5),)

    p.repeat((9.0,), lambda t: p.do(operator.gt, t, 1.0), body)
    p.put(p["a"], 0, value=3.0)
    p.put(p["a"], 1, value=3.0)
    n.at("after", p)
    m = model(p)
    assert m.overwriters(n["read"]) == [n["first"]]
    assert m.overwriters(n["other"]) == [n["after"]]


def test_a_store_that_a_while_loop_may_skip_hides_nothing():
    p, n = Program(a=VECTOR), Named()
    n.at("read", p, p.get(p["a"], 0))

    def body(t):
        p.put(p["a"], 0, value=1.0)
        n.at("inside", p)
        return (p.mul(t, 0.5),)

    p.repeat((9.0,), lambda t: p.do(operator.gt, t, 1.0), body)
    p.put(p["a"], 0, value=3.0)
    n.at("after", p)
    assert model(p).overwriters(n["read"]) == [n["inside"], n["after"]]


def test_views_are_followed_to_their_root():
    p, n = Program(m=MATRIX, k=I), Named()
    even = p.view(p["m"], (None, None, 2), 0)
    odd = p.view(p["m"], (1, None, 2), 0)
    t = ir.Var("t", types.Array(F, 2, "F"))
    p.emit(ir.Transpose(base=p["m"], axes=(1, 0), out=t))

    def body(i):
        n.at("even", p, p.get(even, i))
        p.put(odd, i, value=1.0)
        n.at("store odd", p)
        p.put(t, 1, i, value=1.0)
        n.at("store column 1", p)
        p.put(t, 0, i, value=1.0)
        n.at("store column 0", p)
        return ()

    p.loop((p["k"],), (), body)
    assert model(p).overwriters(n["even"]) == [n["store column 0"]]


@pytest.mark.parametrize("upwards", [True, False])
def test_reversed_views_and_loops(upwards):
    """Reads a[n - 1 - i] and stores to the element before: the next one to be read, or the last that was."""
    p, n = Program(a=VECTOR), Named()
    size = p.size(p["a"])
    backwards = p.view(p["a"], (None, None, -1))

    def body(i):
        n.at("read", p, p.get(backwards, i))
        p.put(p["a"], p.sub(p.sub(size, 2), i), value=1.0)
        n.at("store", p)
        return ()

    p.loop((0, p.sub(size, 1)) if upwards else (p.sub(size, 2), -1, -1), (), body)
    assert model(p).may_overwrite(n["read"], n["store"]) is not upwards


def test_whole_arrays_and_slices_of_them():
    p, n = Program(a=VECTOR, k=I), Named()
    n.at("all", p, p.do(np.sum, p["a"], type=F))
    n.at("front", p, p.do(np.sum, p.view(p["a"], (0, 4, None)), type=F))
    p.put(p["a"], 4, value=1.0)
    n.at("store", p)
    n.at("later", p, p.do(np.sum, p["a"], type=F))
    m = model(p)
    assert m.may_overwrite(n["all"], n["store"])
    assert not m.may_overwrite(n["front"], n["store"])
    assert not m.may_overwrite(n["later"], n["store"])


def test_negative_literals_count_from_the_end():
    p, n = Program(a=VECTOR), Named()
    size = p.size(p["a"])
    n.at("last", p, p.get(p["a"], -1))

    def body(i):
        p.put(p["a"], i, value=1.0)
        n.at("store", p)
        return ()

    p.loop((p.sub(size, 1),), (), body)
    assert not model(p).may_overwrite(n["last"], n["store"])


def test_subscripts_from_memory_are_any_element():
    p, n = Program(a=VECTOR, index=types.Array(I, 1, "C")), Named()

    def body(i):
        n.at("read", p, p.get(p["a"], i))
        p.put(p["a"], p.get(p["index"], i), value=1.0)
        n.at("store", p)
        return ()

    p.loop((p.size(p["index"]),), (), body)
    m = model(p)
    assert m.may_overwrite(n["read"], n["store"])


def test_arguments_are_apart_from_each_other():
    p, n = Program(a=VECTOR, b=VECTOR), Named()
    n.at("read", p, p.get(p["a"], 0))
    p.put(p["b"], 0, value=1.0)
    n.at("store", p)
    assert not model(p).may_overwrite(n["read"], n["store"])


def test_a_question_takes_milliseconds():
    p, n = Program(d=I, x=F, trips=I), Named()
    f = p.function(*scratch(p, n, p["trips"]))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        Model(f).overwriters(n["read"])
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.05  # two stores; about 5 ms where this was written


# ------------------------------------------------------------------------------------- against the execution itself


@st.composite
def programs(draw):
    """Loops, branches and swaps around reads of and stores into two arrays and views of them."""
    p = Program(a=VECTOR, b=VECTOR, m=I, c=types.boolean, index=types.Array(I, 1, "C"))
    size = p.size(p["a"])

    def subscript(counters):
        i = draw(st.sampled_from([*counters, *counters, *counters, 0, 1, -1, "memory"]))
        if isinstance(i, str):
            return p.get(p["index"], draw(st.integers(0, 2)))
        if isinstance(i, int):
            return i
        match draw(st.sampled_from(["plain", "plain", "plus", "minus", "mirror", "twice"])):
            case "plus":
                return p.add(i, 1)
            case "minus":
                return p.sub(i, 1)
            case "mirror":
                return p.sub(p.sub(size, 2), i)
            case "twice":
                return p.mul(i, 2)
        return i

    def block(arrays, counters, depth):
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from("rrsslliwtx" if depth < 3 else "rs"))
            target = draw(st.sampled_from(arrays))
            if kind in "rs" and draw(st.booleans()):
                target = p.view(target, draw(st.sampled_from([(1, None, None), (None, None, -1), (0, 7, None)])))
            if kind == "r":
                p.get(target, subscript(counters))
            elif kind == "s":
                p.put(target, subscript(counters), value=1.0, add=draw(st.booleans()))
            elif kind == "l":
                bounds = [(0, 3, 1), (1, p["m"], 1), (2, -1, -1), (0, p["m"], 2), *((0, c, 1) for c in counters)]
                stops = draw(st.booleans())

                def body(i):
                    block(arrays, [*counters, i], depth + 1)
                    return (p.do(operator.gt, i, 1),) if stops else ()

                p.loop(draw(st.sampled_from(bounds)), (), body, stops=stops)
            elif kind == "x":

                def swap(i, u, v):
                    block([u, v], [*counters, i], depth + 1)
                    return v, u

                arrays = [*p.loop((draw(st.sampled_from([1, 2, p["m"]])),), (arrays[0], arrays[1]), swap), *arrays]
            elif kind == "w":

                def turn(t):
                    block(arrays, counters, depth + 1)
                    return (p.add(t, 1),)

                p.repeat((0,), lambda t: p.do(operator.lt, t, 2), turn)
            else:
                test = p["c"] if kind == "i" or not counters else p.do(operator.lt, counters[-1], 1)
                p.branch(test, lambda: block(arrays, counters, depth + 1), lambda: block(arrays, counters, depth + 1))
        return ()

    block([p["a"], p["b"]], [], 0)
    return p.function()


def address(array: np.ndarray, index) -> int:
    start, *_ = array.__array_interface__["data"]
    if any(not -n <= i < n for i, n in zip(index, array.shape, strict=True)):
        raise IndexError
    return start + sum((i % n) * s for i, n, s in zip(index, array.shape, array.strides, strict=True))


@settings(max_examples=100, deadline=None)
@given(programs(), st.integers(0, 4), st.booleans())
def test_no_overwriting_is_missed_on_random_programs(f, m, c):
    verify(f)
    model = IndexModel(f)
    reads: dict[int, set[ir.Op]] = {}  # by address: who has read what is there now

    def watch(op, values):
        if isinstance(op, ir.Load):
            reads.setdefault(address(values[0], values[1:]), set()).add(op)
        elif isinstance(op, ir.Store):
            place = address(values[0], values[1:-1])
            for read in reads.pop(place, ()):
                assert model.may_overwrite(read, op), (read, op)
            if op.add:
                reads[place] = {op}

    try:
        evaluate(f, np.zeros(8), np.zeros(8), m, c, np.array([0, 3, -2]), watch=watch)
    except IndexError:
        reject()  # indices are taken to be in bounds


def test_what_a_nest_changes_after_it_was_read():
    p, n = Program(u=VECTOR, steps=I), Named()
    v, w = p.copy(p["u"]), p.copy(p["u"], "w")

    def step(t):
        def cell(i):
            p.put(w, i, value=p.get(p["u"], i))
            n.at("made", p)
            n.at("again", p, p.get(w, i))
            here = n.at("cleared", p, p.get(v, i))
            p.put(v, i, value=0.0)
            n.at("clear", p)
            n.at("right", p, p.get(v, p.add(i, 1)))
            p.put(w, p.add(i, 1), value=here)
            n.at("ahead", p)
            return ()

        p.loop((p.sub(p.size(v), 1),), (), cell)
        return ()

    p.loop((p["steps"],), (), step, counter="t")
    m = model(p, v, w)
    (nest,) = (op for op in ir.walk(m._function.body) if isinstance(op, ir.For) and op.body.args[0].name == "i")
    # the next step stores to it, but not this one
    assert not m.may_change(n["again"], n["made"], nest)
    assert m.may_overwrite(n["again"], n["made"])
    assert not m.may_change(n["again"], n["ahead"], nest)
    assert not m.may_change(n["again"], n["clear"], nest)
    assert m.may_change(n["cleared"], n["clear"], nest)
    assert m.may_change(n["right"], n["clear"], nest)
