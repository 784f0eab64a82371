"""Programs with containers and objects, whose golden outputs stand in `containers/`."""

import heapq
import itertools
import math
from collections import Counter, defaultdict, deque

import numpy as np

from tests.golden.primals import Case


def trajectory(position, velocity, step, count):
    """A list that grows: the points of a flight, and its length."""
    points = [position]
    for _ in range(count):
        velocity = velocity - 9.81 * step
        points.append(points[-1] + velocity * step)
    length = 0.0
    for before, after in itertools.pairwise(points):
        length += math.hypot(step, after - before)
    return length


def decay(rates, times):
    """A dictionary of parameters."""
    parameters = {"amplitude": rates[0], "rate": rates[1]}
    parameters["offset"] = 0.1 * rates[0]
    total = 0.0
    for t in times:
        total += parameters["amplitude"] * math.exp(-parameters["rate"] * t) + parameters["offset"]
    return total


class Body:
    def __init__(self, mass, position):
        self.mass = mass
        self.position = position
        self.force = 0.0

    @property
    def moment(self):
        return self.mass * self.position

    def pull(self, other):
        distance = other.position - self.position
        self.force += self.mass * other.mass / (1.0 + distance * distance)


def forces(masses, positions):
    """Objects in a list, each of which changes by what the others are."""
    bodies = [Body(m, p) for m, p in zip(masses, positions)]
    for one in bodies:
        for other in bodies:
            if other is not one:
                one.pull(other)
    return sum(body.force * body.moment for body in bodies)


def moving_average(signal, width):
    """A queue of the last values."""
    window = deque(maxlen=width)
    total = 0.0
    for value in signal:
        window.append(value)
        mean = sum(window) / len(window)
        total += (value - mean) ** 2
    return total


def weights_of_words(weights, words):
    """Counts, and sums by key."""
    counts = Counter(words)
    sums = defaultdict(float)
    for word, weight in zip(words, weights):
        sums[word] += weight * weight
    return sum(math.sqrt(total) / counts[word] for word, total in sums.items())


def triangle(x, rows):
    """Lists in a list."""
    table = [[x]]
    for k in range(1, rows):
        last = table[-1]
        table.append([last[0] * 0.5] + [last[j - 1] + x * last[j] for j in range(1, k)] + [last[-1] ** 2])
    return sum(math.sin(entry) for row in table for entry in row)


def scores(x, y):
    """Python's functions of iterables."""
    ranked = sorted(zip(x, y), key=lambda pair: pair[0])
    gains = [rank * value for rank, (_, value) in enumerate(ranked, 1) if value > 0.0]
    best = max(itertools.accumulate(gains))
    return best + sum(filter(lambda gain: gain < 2.0, gains))


def series(x, tolerance):
    """A generator, read as far as is needed."""

    def terms():
        term, k = 1.0, 0
        while True:
            yield term
            k += 1
            term *= x / k

    return sum(itertools.takewhile(lambda term: abs(term) > tolerance, terms()))


class Layer:
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias

    @property
    def penalty(self):
        return np.sum(self.weights**2)

    def __call__(self, x):
        return np.tanh(self.weights @ x + self.bias)


def network(first, second, x):
    """A class with a property and a method."""
    layers = [Layer(first, 0.1), Layer(second, -0.1)]
    for layer in layers:
        x = layer(x)
    return np.sum(x) + 1e-3 * sum(layer.penalty for layer in layers)


def tree_sum(values, depth):
    """A recursion over a tree of tuples."""

    def build(first, last):
        if last - first == 1:
            return values[first]
        middle = (first + last) // 2
        return build(first, middle), build(middle, last)

    def fold(node):
        if isinstance(node, tuple):
            left, right = node
            return math.tanh(fold(left) + 0.5 * fold(right))
        return node

    return fold(build(0, 2**depth))


def momentum(x, rate, steps):
    """A closure with state."""
    velocity = 0.0

    def step(gradient):
        nonlocal velocity
        velocity = 0.9 * velocity - rate * gradient
        return velocity

    for _ in range(steps):
        x += step(x**3 - x)
    return x


def shortest(costs, hops):
    """A heap: the shortest way along a ring with short cuts."""
    n = len(costs)
    reached = {}
    waiting = [(0.0, 0)]
    while waiting:
        cost, node = heapq.heappop(waiting)
        if node in reached:
            continue
        reached[node] = cost
        for hop in hops:
            heapq.heappush(waiting, (cost + costs[node] * math.sqrt(hop), (node + hop) % n))
    return sum(reached.values())


_draw = np.random.default_rng(5)
CONTAINERS = (
    Case("trajectory", trajectory, (1.0, 12.0, 0.05, 8), (0, 1)),
    Case("decay", decay, (np.array([1.5, 0.4]), np.linspace(0.0, 2.0, 5)), (0,)),
    Case("forces", forces, (np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, 3.0])), (0, 1)),
    Case("moving_average", moving_average, (_draw.normal(size=9), 3), (0,)),
    Case("weights_of_words", weights_of_words, (np.array([0.5, 1.5, 1.0, 2.0]), np.array([3, 1, 3, 2])), (0,)),
    Case("triangle", triangle, (0.4, 5), (0,)),
    Case("scores", scores, (np.array([0.3, -1.0, 0.8, 2.0]), np.array([0.5, 1.2, -0.4, 0.9])), (1,)),
    Case("series", series, (0.7, 1e-6), (0,)),
    Case("network", network, (_draw.normal(size=(4, 3)), _draw.normal(size=(2, 4)), _draw.normal(size=3)), (0, 1)),
    Case("tree_sum", tree_sum, (_draw.normal(size=8), 3), (0,)),
    Case("momentum", momentum, (0.3, 0.1, 6), (0, 1)),
    Case("shortest", shortest, (0.5 + _draw.random(6), (1, 2)), (0,)),
)
