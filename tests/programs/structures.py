"""Dictionaries, dataclasses, objects and what is called with them: made inside, read, changed, and as arguments."""

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from tests.programs.rows import Rows, wave

STRUCTURES = Rows()
add = STRUCTURES.add(lambda: (2.0, wave(3)), (0, 1))


@dataclasses.dataclass
class Well:
    depth: float
    centre: np.ndarray
    name: str = "well"
    sites: int = 3

    def energy(self, y):
        return 0.5 * self.depth * np.sum((y - self.centre) ** 2) * self.factor

    @property
    def factor(self):
        return 2.0 * self.depth + self.sites

    @staticmethod
    def scaled(v, by=2.0):
        return v * by


class Spring:
    def __init__(self, k, x0):
        self.k = k
        self.x0 = x0
        self.calls = 0
        self.seen = []

    def force(self, x):
        self.calls += 1
        self.seen.append(x)
        return -self.k * (x - self.x0)

    def __call__(self, x):
        return 2.0 * self.force(x)


class Pair(NamedTuple):
    weight: float
    values: np.ndarray


@add
def an_object_that_counts(k, y):
    spring = Spring(k, y[0])
    x, v = y[1], 0.0
    for _ in range(5):
        v = v + 0.1 * spring.force(x)
        x = x + 0.1 * v
    return x + spring(x) + spring.calls * sum(spring.seen)


@add
def a_dictionary(k, y):
    d = {"a": k, "b": y}
    d["c"] = d["a"] * 2
    d["b"] = d["b"] + 1
    d["c"] += k**2
    total = 0.0
    for key, value in d.items():
        total += np.sum(value) * (2 if key == "b" else 1)
    more = {**d, "z": k**2}
    doubled = {name: value * 2 for name, value in more.items() if name != "b"}
    return total + more.get("z", 0.0) + doubled["c"] + ("q" in doubled) + doubled.pop("a") * len(doubled)


def _linear(a, b, c=1.0):
    return a * b + c


def _three(a, b, c):
    return a * b - c


@add
def partials_and_stars(k, y):
    bound = functools.partial(_linear, k, c=y[0])
    options = dict(c=k)
    return bound(y[1]) + _linear(*(k, y[1]), **options) + _three(*y) + functools.reduce(_linear, [k, y[2], y[0]])


@dataclasses.dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    time: float = 0.0
    path: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.start = self.position[0]


def advance(state, k, dt):
    state.velocity = state.velocity - dt * k * state.position
    state.position = state.position + dt * state.velocity
    state.time += dt
    state.path.append(state.position)


@STRUCTURES.add(lambda: (2.0, wave(3)), (0, 1), compiled=True)
def a_state_that_functions_change(k, y):
    state = State(y, np.zeros(3))
    same = state
    for _ in range(4):
        advance(state, k, 0.1)
    later = dataclasses.replace(state, time=k)
    return np.sum(np.array(state.path) ** 2) + same.time * same.start + later.time * later.position[1]


@dataclasses.dataclass(frozen=True)
class Dual:
    a: float
    b: float

    def __add__(self, other):
        return Dual(self.a + other.a, self.b + other.b)

    def __mul__(self, other):
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    def __rmul__(self, other):
        return Dual(other * self.a, other * self.b)

    def __getitem__(self, k):
        return self.a if k == 0 else self.b


@add
def operators_of_a_class(k, y):
    x = Dual(k, 1.0)
    z = x * x + 3.0 * x
    for _ in range(3):
        z = z * x + x
    return z.a * y[0] + z[1] * y[1]


@add
def chosen_objects(k, y):
    if k > 1.0:
        p = Pair(k, y)
    else:
        p = Pair(2 * k, y * 2)
    held = {"low": p, "high": Pair(k * k, y)}
    return sum(q.weight * np.sum(q.values) for q in held.values()) + isinstance(k, float) + hasattr(p, "weight")


@add
def of_many_kinds(k, y):
    total = math.dist((k, y[0]), (y[1], 3.0))
    for i, j in itertools.combinations(range(3), 2):
        total += y[i] * y[j]
    letters = "ACGA"
    rates = {"A": k, "C": y[0], "G": y[1]}
    for a, b in zip(letters, letters[1:]):
        total += rates[a] * rates[b] * (2.0 if (a, b) in {("A", "C"), ("G", "A")} else 1.0)
    return total + math.prod([k, y[2]]) + math.fsum(y) + math.prod(y) * math.prod(y * k, start=k)


def _power(x, n):
    return 1.0 if n == 0 else x * _power(x, n - 1)


@add
def recursion_of_known_depth(k, y):
    return _power(k, 5) + _power(y[0], 3)


TABLE = [("a", 1.5, [1.0, 2.0]), ("b", 2.5, [3.0, 4.0]), ("c", 0.5, [5.0, 6.0])]
SETTINGS = {"tol": 1e-3, "weights": [0.25, 0.5, 0.25]}


@add
def globals_that_are_lists(k, y):
    total = 0.0
    for v, (name, rate, pair) in zip(y, TABLE):
        total += k * rate * v * pair[1] + (name == "b")
    for v, (name, rate, pair) in zip(np.array([k, 2.0 * k]), TABLE):
        total += v * rate
    for i, (name, rate, pair) in zip(range(2), TABLE):
        total += i * rate * y[0]
    return total + SETTINGS["tol"] * k + sum(w * v for w, v in zip(SETTINGS["weights"], y)) + len(TABLE)


@add
def layers_by_number(k, y):
    weights = {"W0": np.outer(y, y[:2]), "b0": y[:2], "W1": np.outer(y[:2], y) * k, "b1": k * y}
    sizes = [y, y[:2], y]
    h = y
    for i in range(2):
        h = np.tanh(h @ weights[f"W{i}"] + weights[f"b{i}"])
    for i in range(len(sizes)):
        if i == 1:
            continue
        h = h * sizes[i]
    return np.sum(h)


# ----------------------------------------------------------------------------------------------------- as arguments


def well_of_an_object(well, y):
    return well.energy(y) + Well.scaled(well.depth, by=y[0])


def layers_of_a_dictionary(parameters, y):
    h = y
    for w, b in parameters["layers"]:
        h = np.tanh(w @ h + b)
    return np.sum(h) * parameters["scale"]


def points_of_a_list(points, y):
    s = 0.0
    for a, b in points:
        s += a * b * y[0]
    return s + len(points) * y[1]


def a_long_list(points, y):
    s = 0.0
    for k, (a, b) in enumerate(points):
        s += a * b * y[k % 3]
    return s + points[-1][0] * points[2][1]


def numbers_of_a_list(numbers, y):
    a, b, c, d = numbers
    return np.sum(np.array(numbers)) * y[0] + numbers[1] * a - b * c + d + max(numbers)


def a_function_given(function, y):
    return np.sum(function(y) * y)


class Law:
    gain = 2.0

    def __init__(self, k):
        super().__init__()
        self.k, self.calls = k, 0

    def __call__(self, x):
        self.calls += 1
        return self.k * x

    @property
    def stiffness(self):
        return 2.0 * self.k

    @classmethod
    def of(cls, k):
        return cls(k, 0.5)

    @staticmethod
    def square(x):
        return x * x


class Shifted:
    def __call__(self, x):
        return super().__call__(x + 1.0) - self.k


class Cubic(Shifted, Law):
    def __init__(self, k, b):
        super().__init__(k)
        self.b = b

    def harder(self):
        self.k = self.k * 1.5
        return self.k

    def __call__(self, x):
        return super().__call__(x * self.harder()) + self.b * super().square(x) * super().gain

    @property
    def stiffness(self):
        return super(Cubic, self).stiffness + 6.0 * self.b


@add
def what_classes_inherit(k, y):
    laws = [Cubic(k * y[i], y[1]) for i in range(y.size)]
    other = Cubic.of(k)
    return sum(law(y[0]) + law.stiffness for law in laws) + other(k) * other.calls + Law.__call__(other, y[2])


@dataclasses.dataclass
class Run:
    """A state that keeps what it has been, and is never changed itself."""

    level: float
    past: list = dataclasses.field(default_factory=list)

    def __add__(self, other):
        return Run(self.level + other.level, self.past)

    def __rmul__(self, factor):
        return Run(factor * self.level)


@add
def a_state_made_anew(x, y):
    state, levels = Run(x), []
    for k in range(y.size):
        state = state + 0.5 * Run(y[k] * x)
        state.past.append(state.level**2)
        levels.append(state.level)
    return sum(state.past) + levels[1] * levels[2]


@add
def a_state_made_anew_on_one_path(x, y):
    state = Run(x)
    for k in range(y.size):
        if y[k] > 0.1:
            state = Run(state.level * y[k], state.past)
        state.past.append(state.level)
    return state.level * sum(state.past)


@add
def a_list_of_unknown_length_in_objects(x, y):
    marks = []
    for k in range(y.size):
        run = Run(x * y[k], marks)
        run.past.append(run.level**2)
    pair = Pair(x, marks)
    return sum(marks) + pair.values[1] * pair.weight


@add
def two_names_of_one_list_in_objects(x, y):
    run = Run(x)
    first = run
    for k in range(y.size):
        run = Run(run.level * y[k], run.past)
        first.past.append(run.level)
    return sum(run.past) + first.level


@add
def objects_that_share_a_list_in_a_list(x, y):
    run = Run(x)
    runs = [run]
    for k in range(y.size):
        run = Run(run.level + y[k], run.past)
        run.past.append(run.level)
        runs.append(run)
    return sum(one.level for one in runs) + sum(run.past)


@add
def a_dictionary_made_anew(x, y):
    state = {"past": [x], "sum": 0.0}
    for k in range(y.size):
        state = {"past": state["past"], "sum": state["sum"] + y[k] * x}
        state["past"].append(state["sum"])
    return sum(state["past"])


@add
def two_objects_that_hand_on_their_lists(x, y):
    one, other = Run(x), Run(x)
    for k in range(y.size):
        one = Run(one.level + 1.0, other.past)
        other = Run(other.level * y[k], one.past)
        one.past.append(other.level)
    return sum(one.past) + sum(other.past) * other.level


def another_list_on_one_path(x, y):
    run = Run(x)
    other = Run(2.0 * x, run.past)
    if y[0] < 0.0:
        run = Run(x * x, [x])
    run.past.append(x)
    return sum(other.past) * 3.0 + sum(run.past)


def another_list_in_some_iterations(x, y):
    run = Run(x)
    past = run.past
    for k in range(y.size):
        run = Run(run.level * 2.0, run.past) if y[k] > 0.0 else Run(run.level, [1.0])
        run.past.append(run.level)
    return sum(past) + sum(run.past)
