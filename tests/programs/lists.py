"""Lists: made at once, growing in loops and branches, under several names, of numbers, arrays, tuples and lists."""

import numpy as np

from tests.programs.rows import Rows, vector, wave

LISTS = Rows()
add = LISTS.add(lambda: (wave(6),), (0,))


@LISTS.add(lambda: (wave(6),), (0,), compiled=True)
def grows_in_a_loop(x):
    out = []
    for i in range(x.size):
        out.append(x[i] ** 2)
    return sum(out) * max(out)


@add
def grows_in_a_branch(x):
    points = []
    for i in range(x.size):
        if x[i] > 0:
            points.append((x[i], x[i] ** 2))
    s = 0.0
    for a, b in points:
        s += a * b
    P = np.array(points)
    return s + np.sum(P[:, 1])


@LISTS.add(lambda: (wave(6),), (0,), compiled=True)
def of_arrays(x):
    rows = []
    v = x.copy()
    for t in range(5):
        v = np.sin(v) + x
        rows.append(v)
    return np.sum(np.array(rows) ** 2) + rows[-1] @ rows[1]


@add
def comprehensions(x):
    squares = [xi * xi for xi in x]
    positive = np.array([np.sin(v) for v in x if v > 0])
    pairs = [a * b for a, b in zip(x[1:], x)]
    table = [[u * v for u in x] for v in x[:3]]
    return sum(squares) + np.sum(positive) + min(pairs) + np.sum(np.array(table) ** 2)


@add
def generators(x):
    total = sum(a * b for a, b in zip(x, reversed(x)))
    total += max(v * w for v in x for w in x if v != w)
    return total if any(v > 0.5 for v in x) and all(v < 9 for v in x) else -total


@add
def last_of_a_list(x):
    h = [x[0]]
    for k in range(6):
        h.append(np.cos(h[-1]) * x[1])
    return h[-1] + h[2] + len(h)


@add
def known_items(x):
    layers = [x, 2 * x, 3 * x]
    layers[1] = layers[0] * layers[2]
    same = layers
    same.append(x**2)
    same += [x**3]
    first, *rest = layers
    return sum(np.sum(a) for a in rest) + np.sum(layers[4]) + len(layers)


@add
def replaced_in_a_loop(x):
    s = [xi for xi in x]
    for k in range(3):
        s = [0.5 * (s[i] + s[i - 1]) for i in range(len(s))]
    return sum(v * v for v in s)


def push(stack, value):
    stack.append(value)


@LISTS.add(lambda: (wave(6),), (0,), compiled=True)
def a_stack(x):
    stack = [1.0]
    push(stack, x[0])
    push(stack, x[1])
    t = 0.0
    while stack:
        v = stack.pop()
        t += v * (1 + len(stack))
        if len(stack) == 1 and t < 3.0:
            stack.append(v * v + 1.0)
    return t


@add
def rows_of_rows(x):
    grid = []
    for i in range(3):
        row = []
        for j in range(x.size):
            row.append(x[j] ** (i + 1))
        grid.append(row)
    G = np.array(grid)
    return np.sum(G * G) + grid[1][2]


@add
def filled(x):
    buffer = [0.0] * x.size
    for i in range(x.size):
        buffer[i] = x[i] ** 2 + (buffer[i - 1] if i > 0 else 0.0)
    whole = [x[1], *buffer, x[0], *x[:2]]
    return whole[-1] + buffer[1] + sum(whole[2:5]) + np.mean(whole)


@add
def integers_then_floats(x):
    history = [0]
    for v in x:
        history.append(history[-1] + v)
    del v
    return history[3] * history[-1]


@add
def picked_out(x):
    queue = list(x)
    first = queue.pop(0)
    queue.insert(1, first * first)
    queue.extend([v * 2 for v in x[:2]])
    queue.reverse()
    return sum(k * v for k, v in enumerate(queue)) + sorted(x)[2] + sorted([x[0], x[3]], reverse=True)[0]


@add
def mapped(x):
    def halved(v):
        return 0.5 * v

    return sum(map(halved, x)) + sum(map(lambda a, b: a * b, x, x[::-1])) + tuple(x[k] for k in range(3))[1]


@add
def sliced_by_objects(x):
    window = slice(1, 4)
    M = x.reshape(2, 3)
    places = (slice(None), slice(0, 2))
    return np.sum(x[window] ** 2) + np.sum(M[places]) + np.sum(M[tuple(slice(0, n - 1) for n in M.shape)] ** 2)


@add
def backwards(x):
    s = 0.0
    for i in reversed(range(1, x.size)):
        s = s * x[i] + x[i - 1]
    for v in reversed([x[0], x[1]]):
        s = s + v * s
    return s


@add
def found_until(x):
    found = [x[0] + 2.0]
    while len(found) < 20:
        v = 0.5 * (found[-1] + (2.0 + x[1] ** 2) / found[-1])
        found.append(v)
        if abs(found[-1] - found[-2]) < 1e-14:
            break
    return found[-1] + sum(found[:3])


@add
def a_default_that_all_calls_share(x):
    def summed(v, known=[]):
        known.append(v)
        return sum(known) * len(known)

    return summed(x[0]) + summed(x[1] * x[2]) + summed(x[3])


@add
def made_anew_in_each_trip(x):
    total = 0.0
    last = []
    for i in range(x.size):
        row = []
        if x[i] > 0.2:
            row.append(x[i])
        row.append(x[i] * 2.0)
        if len(row) > 1:
            last.append(row[1])
            last.append(row[0])
            if len(last) > 3:
                last.pop(0)
        total += row[-1] * len(row)
    return total + sum(last) * len(last)


@add
def in_loops_of_loops(x):
    found = []
    for i in range(x.size):
        for j in range(i):
            found.append(x[i] * x[j])
        if i > 2:
            found.append(x[i])
    more = [v * v for row in x.reshape(2, 3) for v in row]
    return sum(found) * len(found) + more[4] * found[-2]


@add
def chosen_lists(x):
    if x[0] > 0.1:
        knots = [0.0, x[1], 1.0]
    else:
        knots = [0.0, 1.0]
    return np.sum(np.array(knots) ** 2)


@LISTS.add(lambda: (vector(0.5, 1.5), 4), (0,))
def copies_of_a_state(p, steps):
    state = np.array([p[0], p[1]])
    path = [state.copy()]
    for _ in range(steps):
        state[0] += 0.1 * state[1]
        state[1] -= 0.1 * np.sin(state[0])
        path.append(state.copy())
    path = np.array(path)
    return np.sum(path[:, 0] ** 2) + path[-1, 1]


@add
def appends_what_it_pops(x):
    stack = []
    for v in x:
        stack.append(v)
        if len(stack) > 2:
            stack.append(stack.pop() * stack.pop() + 1.0)
    stack[0] += stack.pop()
    return stack[0] * stack[-1] * len(stack)


@add
def arrays_before_others(x):
    gains = []
    for k in range(3):
        gains.insert(0, np.outer(x[k : k + 2], x[k + 1 : k + 4]))
        gains.insert(len(gains) // 2, np.outer(x[2:4], x[:3]))
    return sum(np.sum(gain * gain) for gain in gains) + np.sum(gains[0] @ gains[1].T)


@add
def lists_of_arrays_joined(x):
    first, both, last = [], [], []
    for k in range(3):
        both += first
        first = first + [x * k]
        last = [x[:2] * k] + last
        last.extend([x[1:3], x[2:4] * x[0]])
    return sum(np.sum(row * row) for row in both + first) + sum(np.prod(row) for row in last)


@add
def an_array_joined_once(x):
    rows = []
    for k in range(1):
        rows = rows + [x]
    return np.sum(rows[0] * x)


@add
def arrays_of_any_length_joined(x):
    parts, first = [], []
    for k in range(3):
        parts += [x[: k + 1] * x[k], x]
        first.insert(0, x[k:])
    return sum(np.sum(part) ** 2 for part in parts) + sum(part[0] * part[-1] for part in first)


class Counted:
    def __init__(self, start):
        self.count, self.total = 0.0, start

    def step(self):
        self.count += 1.0
        return self.total * 0.5

    def go(self):
        self.total += self.step()
        return self.total * self.count


@add
def an_object_that_changes_while_its_attribute_does(x):
    counted = Counted(x[0])
    counted.go()
    return counted.go() * x[1]


@LISTS.add(lambda: (wave(6),), second=False)
def arrays_changed_in_the_list(x):
    parts = []
    for k in range(3):
        parts.append(x * k)
    first = parts[0]
    parts[0] += x[1]
    parts[1][2] = x[0]
    for part in parts:
        part -= 0.5
    return sum(np.sum(part**2) for part in parts) + first[3] ** 3


@LISTS.add(lambda: (wave(6),), second=False)
def changed_in_the_list(x):
    path = []
    for k in range(3):
        row = x * k
        path.append(row)
        path[0][1] = x[0] ** 2
    return np.sum(np.array(path) ** 2)


@LISTS.add(lambda: (wave(6),), second=False)
def an_array_changed_under_a_key(x):
    found = {}
    for i in range(x.size):
        found[i % 2] = x * i
        found[i % 2] += x**2
    return np.sum(found[0] ** 2) + found[1][2]


@LISTS.add(lambda: (wave(6),), second=False)
def items_that_are_none_by_annotation(x):
    best: float | None = None
    for v in x:
        if best is None or v > best:
            best = v
    other: float | None = best
    return other * 2.0 if other is not None else 0.0


@add
def pairs_of_a_text_and_a_number_added(x):
    items = []
    for i in range(x.size):
        items.append(("load", x[i] * i))
    total = 0.0
    for name, value in items + items:
        total += value**2 if name == "load" else 0.0
    return total
