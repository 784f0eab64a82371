"""Lists and objects that are items of lists and dictionaries that grow, and are changed where they are."""

from dataclasses import dataclass

import numpy as np

from tests.programs.rows import Rows, wave

ITEMS = Rows()
add = ITEMS.add


@dataclass
class Body:
    mass: float
    at: float
    speed: float

    def push(self, force, dt):
        self.speed += force / self.mass * dt

    def drift(self, dt):
        self.at = self.at + self.speed * dt


@dataclass
class Point:
    at: np.ndarray
    speed: np.ndarray
    mass: float

    def step(self, dt):
        self.speed = self.speed - dt * self.at / self.mass
        self.at = self.at + dt * self.speed


class Mean:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value):
        self.total += value
        self.count += 1


def bodies(x):
    return [Body(1.0 + k, x[k], 0.1 * k) for k in range(x.size)]


@add(lambda: (wave(4),), compiled=True)
def methods_of_items(x):
    several = bodies(x)
    for _ in range(4):
        for one in several:
            force = 0.0
            for other in several:
                force += other.mass * (other.at - one.at)
            one.push(force, 0.1)
        for one in several:
            one.drift(0.1)
    return sum(one.at**2 + one.speed for one in several)


@add(lambda: (wave(4),), second=False)
def two_items_at_once(x):
    several = []
    for k in range(x.size):
        several.append(Body(1.0 + k, x[k], 0.0))
    for i in range(x.size):
        for j in range(i + 1, x.size):
            a, b = several[i], several[j]
            apart = a.at - b.at
            a.speed -= apart * b.mass
            b.speed += apart * a.mass
    return sum(0.5 * one.mass * one.speed**2 for one in several)


@add(lambda: (wave(3),), compiled=True)
def arrays_of_items(x):
    points = []
    for k in range(x.size):
        points.append(Point(np.array([x[k], x[k] * 2]), np.zeros(2), 1.0 + k))
    for _ in range(3):
        for point in points:
            point.step(0.1)
    total = 0.0
    for point in points:
        total += point.at @ point.at + point.speed.sum()
    return total


def scaled(entry, factor):
    entry["value"] = entry["value"] * factor
    return entry["value"]


@add(lambda: (wave(4),), second=False)
def dictionaries_changed_by_a_function(x):
    entries = [{"value": x[k], "weight": 1.0} for k in range(x.size)]
    total = 0.0
    for k, entry in enumerate(entries):
        total += scaled(entry, x[k])
        entry["weight"] += k
    for entry in entries:
        total += entry["value"] * entry["weight"]
    return total


@add(lambda: (wave(7), 3), second=False)
def objects_in_bins(x, n):
    bins = [Mean() for _ in range(n)]
    for i in range(x.size):
        bins[i % n].add(x[i] ** 2)
    return sum(one.total / one.count for one in bins)


@add(lambda: (wave(7), 3), second=False)
def lists_by_key(x, n):
    groups = {}
    for i in range(x.size):
        if i % n not in groups:
            groups[i % n] = [0.0, 0]
        groups[i % n][0] += x[i] ** 2
        groups[i % n][1] += 1
    return sum(total / count for total, count in groups.values())


@add(lambda: (wave(5),), second=False)
def values_and_items_of_a_dictionary(x):
    groups = {}
    for i in range(x.size):
        groups[i] = [x[i], 1.0]
    for key, group in groups.items():
        group[1] = group[0] * key
    for group in groups.values():
        group[0] = 1.5
    total = 0.0
    for key in groups:
        total += groups[key][1] * groups[key][0]
    return total


@add(lambda: (wave(5),), second=False)
def the_largest_is_changed(x):
    several = bodies(x)
    best = 0
    for i in range(x.size):
        if several[i].at > several[best].at:
            best = i
    largest = several[best]
    largest.at = 2.0 * largest.at**2
    return sum(one.at for one in several)


@add(lambda: (wave(5),), second=False)
def sorted_then_changed(x):
    several = bodies(x)
    several.sort(key=lambda one: one.at)
    for k, one in enumerate(several):
        one.speed = k * one.at
    return sum(one.mass * one.speed for one in several)


@add(lambda: (wave(5),), second=False)
def taken_out_then_changed(x):
    several = bodies(x)
    last = several.pop()
    last.at *= 3.0
    return last.at**2 + sum(one.at for one in several)


@add(lambda: (wave(4),), second=False)
def rows_of_a_matrix_of_lists(x):
    n = x.size
    matrix = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            matrix[i][j] = x[i] * x[j] + i
    for row in matrix:
        row[0] *= 2.0
    return sum(sum(row) for row in matrix)


@add(lambda: (wave(5),), second=False)
def in_a_while_loop(x):
    pairs = [[1.0, x[i]] for i in range(x.size)]
    i = 0
    while i < x.size:
        pair = pairs[i]
        pair[0] = pair[0] * pair[1]
        if pair[0] > 0.3:
            pair[1] = 0.5
        i += 1
    return sum(a * b for a, b in pairs)


@add(lambda: (wave(5),), second=False)
def changed_after_it_is_appended(x):
    several = []
    for k in range(x.size):
        one = Body(1.0, x[k], 0.0)
        several.append(one)
        one.speed = x[k] * 2.0
    return sum(one.at * one.speed for one in several)


@add(lambda: (wave(4),), second=False)
def integers_become_floats(x):
    rows = [[0, 1] for _ in range(x.size)]
    for k, row in enumerate(rows):
        row[0] = row[0] + x[k]
    return sum(a * b for a, b in rows) + rows[1][0] ** 2
