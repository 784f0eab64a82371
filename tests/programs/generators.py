"""Generators: run through by loops, by other generators and by what takes their items."""

import dataclasses
import itertools
import math

import numpy as np

from tests.programs.rows import Rows

GENERATORS = Rows()
add = GENERATORS.add


def steps(x, tol):
    y = x
    while abs(y * y - x) > tol:
        y = 0.5 * (y + x / y)
        yield y


@add(lambda: (1.7,))
def sum_of_steps(x):
    s = 0.0
    for y in steps(x, 1e-09):
        s += y * y
    return s


@add(lambda: (1.7,))
def counted_steps_until_a_break(x):
    s = 0.0
    for k, y in enumerate(steps(x, 1e-09)):
        if k == 2:
            break
        s += y * y * (k + 1)
    return s


def forever(x):
    while True:
        x = np.sin(x) + 0.1
        yield x


@add(lambda: (1.7,))
def zip_of_a_range_and_an_endless_one(x):
    s = 0.0
    for k, y in zip(range(5), forever(x)):
        s += k * y
    return s


@add(lambda: (1.7,))
def sums_and_largest_of_some(x):
    return sum(itertools.islice(forever(x), 4)) + max(steps(x, 0.001)) + np.mean(list(steps(x, 1e-06)))


@add(lambda: (np.array([[0.3, 1.2], [0.5, 2.0], [1.1, 0.2]]),))
def bonds_of_a_chain(x):

    def bonds(p):
        for a, b in zip(p[:-1], p[1:]):
            yield (b - a)

    return sum((np.sum(b**2) for b in bonds(x)))


def tree(n, x):
    if n == 0:
        yield x
        return
    yield from tree(n - 1, x * 0.5)
    yield from tree(n - 1, x * x)


@add(lambda: (1.7,))
def walk_through_a_tree(x):
    s = 0.0
    for v in tree(3, x):
        s += np.exp(v)
    return s


class Walk:
    def __init__(self, x, n):
        self.x, self.n = (x, n)

    def __iter__(self):
        y = self.x
        for i in range(self.n):
            y = y * y * 0.9 + 0.1 * i
            yield (i, y)


@add(lambda: (1.7,), compiled=True)
def an_object_that_yields(x):
    s = 0.0
    for i, y in Walk(x, 4):
        if i == 1:
            continue
        s += y * i
    else:
        s *= 2
    return s


@add(lambda: (1.7,), compiled=True)
def loops_in_loops_that_return(x):
    last = 0.0
    best = None
    for a in steps(x, 1e-05):
        for b in steps(a, 1e-05):
            if b > 1.2:
                continue
            last = a * b + last
            if last > 50:
                return last
        best = a if best is None else min(best, a)
    return last + best


@add(lambda: (1.7,))
def map_of_an_endless_one(x):
    g = forever(x)
    t = 0.0
    for y in map(lambda v: v * v, g):
        t += y
        if t > 5:
            break
    return t


@add(lambda: (1.7,))
def items_are_appended_until_enough(x):
    out = []
    for y in forever(x):
        out.append(y)
        if len(out) >= 5:
            break
    return np.prod(out)


def sim(n, dt, th):
    pos, vel = (np.array([1.0, 0.0]), np.array([0.0, th]))
    for i in range(n):
        vel = vel - dt * pos
        pos = pos + dt * vel
        yield (i * dt, pos, vel)


@add(lambda: (1.7,), compiled=True)
def arrays_are_yielded(th):
    e = 0.0
    for t, p, v in sim(20, 0.1, th):
        e += p @ p * t + 0.5 * (v @ v)
    return e


@add(lambda: (1.7,))
def run_through_twice(x):
    g = steps(x, 0.0001)
    a = sum(g)
    return a + sum(g)


@add(lambda: (1.7,), compiled=True)
def an_exception_ends_it(x):
    s = 0.0
    try:
        for y in forever(x):
            s += y
            if s > 4:
                raise ValueError("x")
    except ValueError:
        return s * 2
    return s


@add(lambda: (1.7,))
def items_are_unpacked(x):
    a, b, c = tri(x)
    return a * b + c


def tri(x):
    yield x
    yield (x * x)
    if x > 0:
        yield np.sin(x)
    else:
        yield np.cos(x)


@add(lambda: (1.7,))
def a_star_before_it(x):
    return np.array([*tri(x)]).sum() + sum((v * w for v, w in zip(tri(x), [1.0, 2.0, 3.0])))


@add(lambda: (1.7,))
def with_an_else(x):
    s = 0.0
    for k in range(3):
        for y in steps(x + k, 0.0001):
            s += y
            if y > 100:
                break
        else:
            s += 1.0
    return s


@add(lambda: (1.7,))
def a_dictionary_of_what_is_yielded(x):
    d = {k: v for k, v in Walk(x, 3)}
    s = 0.0
    for k, v in zip(forever(x), [1.0, 2.0]):
        s += k * v
    return s + d[2]


def evolve(n, x):
    s = x.copy()
    for i in range(n):
        s *= 0.9
        s[0] += 0.1
        yield s


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def the_same_array_each_time(x):
    t = 0.0
    for s in evolve(4, x):
        t += s.sum() ** 2
    return t


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def copies_of_the_same_array(x):
    allof = [s.copy() for s in evolve(4, x)]
    return np.sum(np.array(allof) ** 2)


@dataclasses.dataclass
class Box:
    v: float
    hist: list

    def run(self, n):
        for i in range(n):
            self.v = self.v * 1.1 + 0.1
            self.hist.append(self.v)
            yield i


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def both_change_an_object(x):
    b = Box(x[0], [])
    t = 0.0
    for i in b.run(4):
        t += b.v * i
        b.v *= x[1]
    return t + sum(b.hist)


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def both_change_a_list(x):
    state = [0.0]

    def gen():
        for i in range(3):
            yield (x[0] * state[0] + 1)

    for v in gen():
        state[0] += v * x[1]
    return state[0]


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),), compiled=True)
def pairs_with_continue_and_break(x):

    def pairs(n):
        for i in range(n):
            for j in range(i):
                if (i + j) % 3 == 0:
                    continue
                yield (i, j)

    e = 0.0
    for i, j in pairs(len(x)):
        d = x[i] - x[j]
        if d > 10:
            break
        e += d * d * (i + j)
    return e


def weighted(items, w):
    t = 0.0
    for k, v in items:
        t += v * w**k
    return t


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def passed_to_a_helper(x):
    return weighted(enumerate(evolve1(x)), x[1])


def evolve1(x):
    for v in x:
        yield (v * v)


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def zip_with_a_count(x):
    return weighted(zip(itertools.count(), (math.sin(v) for v in evolve1(x))), x[2])


def newton(f, df, x):
    while True:
        x = x - f(x) / df(x)
        yield x


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def newton_until_it_settles(x):
    last = x[0]
    for r in newton(lambda z: z**3 - x[1], lambda z: 3 * z * z, x[0] + 1):
        if abs(r - last) < 1e-13:
            break
        last = r
    return last * x[2]


def blocks(a, n):
    for i in range(0, len(a), n):
        yield a[i : i + n]


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def blocks_of_an_array(x):
    return sum((np.prod(b) for b in blocks(x, 2))) + max((b.sum() for b in blocks(x, 2)))


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def the_best_block(x):
    best, arg = (np.inf, None)
    for i, b in enumerate(blocks(x, 2)):
        v = b @ b
        if v < best:
            best, arg = (v, i)
    return best * (arg + 1)


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def held_by_a_variable(x):
    it = evolve1(x)
    a = 0.0
    for v in it:
        a += v
        if a > 0.5:
            break
    return a


def chain(*its):
    for it in its:
        yield from it


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def yield_from_several(x):
    t = 0.0
    for k, v in enumerate(chain(x, [1.0, x[0]], evolve1(x))):
        t += v * k
    return t


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def made_anew_in_a_loop(x):
    t, n = (0.0, 0)
    while n < 3:
        for v in evolve1(x):
            t += v * n
            if t > 2.0:
                return t * x[0]
        n += 1
    return t


def rk4(f, y, h, n):
    for k in range(n):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        yield ((k + 1) * h, y)


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),), compiled=True)
def steps_of_an_integrator(x):
    a, b = (x[0], x[1])
    f = lambda y: np.array([y[1], -a * y[0] - b * y[1]])
    cost, peak = (0.0, 0.0)
    traj = []
    for t, y in rk4(f, np.array([1.0, 0.0]), 0.1, 10):
        cost += (y[0] - np.cos(t)) ** 2
        peak = max(peak, abs(y[1]))
        traj.append(y)
    return cost + peak + np.array(traj)[:, 0].std()


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def taken_by_containers(x):
    d = dict(enumerate(evolve1(x)))
    a, *rest = evolve1(x)
    rest += evolve1(x[:2])
    rest.extend(evolve1(x))
    return sum((d[k] * (k + 1) for k in d)) + a * rest[-1] + len(rest)


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def several_in_a_list(x):
    gens = [evolve1(x), evolve1(x[1:])]
    t = 0.0
    for g in gens:
        for v in g:
            t += v
    return t


@add(lambda: (np.array([0.3, 0.7, 1.1, 0.4]),))
def a_generator_in_a_generator(x):

    def outer(n):
        for i in range(n):

            def inner():
                for j in range(i):
                    yield (x[j] * i)

            for v in inner():
                yield v

    return sum(outer(3))


def powers(x):
    term, k = 1.0, 0
    while True:
        yield term
        k += 1
        term *= x / k


@add(lambda: (0.7,))
def endless_while_a_test_holds(x):
    total = 0.0
    for term in itertools.takewhile(lambda term: abs(term) > 1e-3, powers(x)):
        total += term
    return total + sum(itertools.takewhile(lambda term: term > 0.1, powers(x * x)))


@add(lambda: (0.7,))
def endless_and_filtered(x):
    small = filter(lambda term: term < 0.5, powers(x))
    return sum(v * k for k, v in zip(range(3), small)) + sum(
        itertools.islice(itertools.filterfalse(math.isinf, powers(x)), 3)
    )


@add(lambda: (0.7,))
def asked_until_the_answer_is_known(x):
    return x * any(powers(x)) + all(v > 0.0 for v in itertools.islice(powers(x), 3)) * x**2


def pair(x):
    yield x
    yield x * x + 1.0


@add(lambda: (0.7,))
def chained_picked_and_dropped(x):
    total = sum(itertools.chain(pair(x), pair(x * x))) + sum(itertools.compress(pair(x), [True, False]))
    for product in itertools.starmap(lambda a, b: a * b, zip(pair(x), [x, 2.0])):
        total += product
    return total * list(itertools.dropwhile(lambda v: v < 1.0, pair(x)))[0]


@add(lambda: (np.array([0.5, 0.3, 0.7, 0.9]),))
def running_totals_beside_what_is_taken(x):
    totals = itertools.accumulate(x, lambda a, b: a * b + 1.0, initial=2.0)
    total = sum(a * b for a, b in zip(totals, itertools.takewhile(lambda v: v < 0.8, x)))
    return total + max(itertools.accumulate(filter(lambda v: v > 0.4, x)))


def doubled_and_squared(x):
    for item in x:
        made = (2.0 * item, 1.0)
        yield made[0]
        yield made[0] * item


@add(lambda: (np.array([0.5, 0.3, 0.7]),))
def known_to_the_generator_under_another_name(x):
    total = 0.0
    for one in doubled_and_squared(x):
        total += math.sin(one)
    return total


@add(lambda: (np.array([0.52, 0.31, 0.72, 0.45]),))
def filtered_in_turns(x):
    total = sum(filter(lambda v: v > 0.4, filter(lambda v: v < 0.7, x)))
    for v in filter(lambda v: v > 0.35, x):
        x = 0.5 * x
        total += v * x[0]
    return total + sum(k * v for k, v in enumerate(filter(lambda v: v > 0.1, x)))


@add(lambda: (np.array([0.52, 0.31, 0.72, 0.45]),))
def combined(x):
    total, found = 0.0, []
    for a, b, c in itertools.combinations(x, 3):
        total += a * b * c**2
    for i, j in itertools.combinations(range(len(x)), 2):
        found.append(x[i] * x[j] ** 2)
    return total + sum(found) * sum(a * b**2 for a, b in itertools.permutations(x, 2))


@add(lambda: (np.array([0.52, 0.31, 0.72]),))
def sums_of_rows_of_a_generator(x):
    def rows():
        for v in x:
            yield v * x

    return np.sum(sum(rows()) * sum(rows(), np.ones(3)))


def leaking_sums(x, n):
    t = 0.0
    for i in range(n):
        t = t * 0.5 + x[i]
        yield t


def squares_of_large_ones(x):
    for v in leaking_sums(x, x.size):
        if v > 0.2:
            yield v * v


@add(lambda: (np.array([0.3, 0.9, -0.2, 0.7]),))
def neighbours_of_a_generator_of_a_generator(x):
    s = 0.0
    k = 0
    for w in squares_of_large_ones(x):
        if k > 0:
            s += previous * w  # noqa: F821
        previous = w
        k += 1
    return s


@add(lambda: (np.array([0.3, 0.9, -0.2, 0.7]),))
def products_of_two_nested_generators(x):
    def products():
        for w in squares_of_large_ones(x):
            for v in leaking_sums(x, 2):
                yield w * v

    k = 0
    s = 0.0
    for a in products():
        if k > 0:
            s += b * a  # noqa: F821
        b = a + 0.1
        k += 1
    return s


@add(lambda: (1.7,))
def any_of_an_endless_one(x):
    return x * any(v * v < 0.9 for v in forever(x))
