"""More lists and objects that are items of lists and dictionaries, and are changed where they are."""

import copy
from dataclasses import dataclass

import numpy as np

from tests.programs.rows import Rows, vector, wave

ITEMS = Rows()
add = ITEMS.add(lambda: (wave(4),), (0,))


@dataclass
class Particle:
    x: float
    v: float
    w: np.ndarray

    def step(self, dt):
        self.x += dt * self.v
        self.w = self.w * 2.0


@dataclass
class Tagged:
    value: float
    tags: list


def particles(x):
    return [Particle(a, 1.0, np.ones(2)) for a in x]


@ITEMS.add(lambda: (wave(4),), (0,), compiled=True)
def objects_of_a_list_change_in_a_loop(x):
    ps = particles(x)
    for _ in range(3):
        for p in ps:
            p.step(x[0])
            if p.x > 0.5:
                p.v = p.x**2
    return sum(p.x * p.w[0] for p in ps)


@add
def a_method_that_a_function_calls_changes_them(x):
    def kick(those, by):
        for p in those:
            p.v += by

    ps = particles(x)
    group = {"all": ps}
    kick(group["all"], x[1])
    for p in ps:
        p.step(1.0)
    return sum(p.x for p in ps)


@add
def pairs_of_objects(x):
    ps = particles(x)
    for i in range(len(ps)):
        for j in range(i + 1, len(ps)):
            a, b = ps[i], ps[j]
            d = a.x - b.x
            a.v -= d
            b.v += d
    for p in ps:
        p.step(0.1)
    return sum(p.x**2 for p in ps)


@add
def an_object_that_was_taken_out_before(x):
    ps = particles(x)
    last = ps[-1]
    for p in ps:
        p.x = p.x * x[1]
    return last.x


@add
def one_of_them_by_its_number(x):
    ps = particles(x)
    ps[0].x = x[2] * x[1]
    ps[-1].v += x[0]
    return sum(p.x * p.v for p in ps)


@add
def a_list_and_a_number_of_each(x):
    ps = [Tagged(a, [a, 0.0]) for a in x]
    for q in ps:
        q.tags[1] = q.value * x[0]
        q.value = 3.0 * x[1]
    return sum(q.tags[1] * q.value for q in ps)


@ITEMS.add(lambda: (wave(4),), (0,), compiled=True)
def a_table_of_lists(x):
    n = len(x)
    g = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            g[i][j] = x[i] * x[j] + (g[i - 1][j] if i else 0.0)
    return sum(sum(row) for row in g)


@add
def rows_of_so_many_numbers(x):
    m = [[0.0] * 3 for _ in range(len(x))]
    for i in range(len(x)):
        row = m[i]
        row[1] = x[i]
        m[i][2] = x[0] * x[i]
    return m[1][1] * m[2][2]


@add
def dictionaries_in_a_list(x):
    m = [{"a": a, "b": 0.0} for a in x]
    for d in m:
        d["b"] += d["a"] * x[1]
        m[0]["a"] = 2.0 * x[2]
    return sum(d["a"] * d["b"] for d in m)


@add
def objects_in_a_dictionary(x):
    d = {}
    for i in range(len(x)):
        d[i] = Particle(x[i], x[1], np.ones(2))
    for i in range(len(x)):
        d[i].x += x[0]
    for p in d.values():
        p.v = p.x**2
    return sum(p.v * p.x for p in d.values())


@add
def a_deep_copy_stays(x):
    ps = particles(x)
    old = copy.deepcopy(ps)
    for p in ps:
        p.x *= x[0]
    return sum(p.x - 2.0 * q.x for p, q in zip(ps, old))


@add
def copies_of_what_a_loop_changes(x):
    history = []
    state = {"a": x[0], "b": x[1]}
    for _ in range(len(x)):
        state["a"] += state["b"]
        history.append(dict(state))
    return sum(one["a"] ** 2 for one in history)


@add
def what_is_taken_from_a_stack(x):
    stack = [[x[0], 1.0]]
    total = 0.0
    while stack:
        top = stack.pop()
        top[0] *= 2.0
        total += top[0]
        if top[1] < 3:
            stack.append([top[0], top[1] + 1])
    return total


@add
def one_list_that_is_several_items(x):
    n = [[0.0] * 3] * 2
    n[0][0] = x[0] * x[1]
    rows = [[x[2]], [x[1]]] * 2
    rows[0].append(x[3])
    return n[1][0] + len(rows[2]) * rows[2][1]


@add
def pairs_of_neighbours_are_read_and_then_changed(x):
    ps = particles(x)
    for _ in range(2):
        forces = [b.x - a.x for a, b in zip(ps, ps[1:])]
        for p, f in zip(ps, forces):
            p.x += 0.1 * f
    return sum(p.x**2 for p in ps)


@add
def an_item_of_a_known_list_found_at_run_time(x):
    ps = [Particle(x[0], 1.0, np.ones(2)), Particle(x[1], 2.0, np.ones(2))]
    k = int(x[2] > 0.0)
    ps[k].x = ps[0].x * x[3]
    return ps[0].x * 2.0 + ps[1].x


@add
def sums_by_key(x):
    cells = {}
    for p in x:
        key = int(p * 2.0)
        if key not in cells:
            cells[key] = [0.0, 0.0]
        cells[key][0] += p
        those = cells[key]
        those[1] += p * p
    return sum(c[0] * c[1] for c in cells.values())


@ITEMS.add(lambda: (wave(3),), (0,), compiled=True)
def a_table_of_known_size(x):
    rows = [[0.0] * 3 for _ in range(3)]
    for k in range(len(x)):
        rows[k][k] = x[k]
        rows[0][k] += x[0]
    return sum(sum(row) * (i + 1) for i, row in enumerate(rows))


@dataclass
class Body:
    mass: float
    speed: float
    kind: str = "planet"
    parent: object = None


@add
def objects_with_texts_and_none(x):
    bodies = [Body(a, 1.0) for a in x]
    for b in bodies:
        if b.kind == "planet" and b.parent is None:
            b.speed += b.mass
    pairs = [("a", v * v, None) for v in x]
    total = sum(b if name == "a" else 0.0 for name, b, _ in pairs)
    heaviest, most = None, -np.inf
    for b in (Body(x[0], x[1]), Body(x[1], x[2])):
        if b.mass * x[3] > most:
            heaviest, most = b, b.mass * x[3]
    return sum(b.speed * b.mass for b in bodies) + total + heaviest.speed


@ITEMS.add(lambda: (vector(0.5, 1.5, 2.5), 3), second=False)
def an_object_after_it_is_appended(x, n):
    history = []
    for a in x:
        p = Particle(a, 1.0, np.ones(2))
        history.append(p)
        p.x += x[1]
    return sum(one.x for one in history)


@ITEMS.add(lambda: (vector(0.5, 1.5, 2.5), 3), second=False)
def one_that_a_loop_found(x, n):
    ps = particles(x)
    for k, p in enumerate(ps):
        if k == 1:
            found = p
    for p in ps:
        p.x *= 3.0
    return found.x


@ITEMS.add(lambda: (vector(0.5, 1.5, 2.5), 3), second=False)
def an_integer_that_becomes_a_float(x, n):
    rows = [[a, 0] for a in x]
    for row in rows:
        row[1] = 0.5 * row[0]
    return sum(row[1] for row in rows)
