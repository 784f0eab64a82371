import functools
import itertools
import math
import operator
import statistics
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# avalanche safety: a slab on a weak layer, the critical crack length by bisection, a skier's load on top
@dataclass(frozen=True)
class Layer:
    thickness: float
    density: float

    @property
    def load(self):
        return self.thickness * self.density * 9.81


@prog("avalanche", lambda: (np.array([0.12, 0.25, 0.4]), 38.0, 1.6), (0, 1, 2))
def stability(thickness, angle, toughness):
    slab = [Layer(h, rho) for h, rho in zip(thickness, (110.0, 180.0, 240.0), strict=True)]
    slope = math.radians(angle)
    load = sum(layer.load for layer in slab)
    shear, normal = load * math.sin(slope), load * math.cos(slope)
    depth = sum(layer.thickness for layer in slab)
    stiff = 5.07e6 * sum(l.thickness * (l.density / 917.0) ** 5.13 * 1e3 for l in slab) / depth

    def released(r):
        shear_part = (shear * r) ** 2 / (2 * stiff * depth)
        bending = normal**2 * r**4 / (2.4 * stiff * depth**3)
        return shear_part + bending

    low, high = 0.0, 5.0
    for _ in range(60):
        mid = (low + high) / 2
        if released(mid) < toughness:
            low = mid
        else:
            high = mid
    crack = (low + high) / 2
    # one step of Newton, so that it is exact
    step = 1e-4
    crack -= (released(crack) - toughness) / ((released(crack + step) - released(crack - step)) / (2 * step))
    skier = 0.155 * 500 / (depth + 0.3) * math.cos(slope) * math.sin(slope) ** 2
    return crack + 2.1e3 / (shear + skier)


# typography: optimal line breaks (as TeX has them), the badness of a paragraph by its widths of words and spaces
@prog("line_breaks", lambda: (np.array([5.2, 3.1, 7.4, 2.2, 6.3, 4.1, 5.5, 3.3, 8.0, 1.9, 4.4]), 1.0, 0.45), (0, 1, 2))
def demerits(widths, space, stretch, measure=19.0):
    n = len(widths)

    @functools.cache
    def best(k):
        if k == n:
            return 0.0, ()
        found = []
        for last in range(k, n):
            natural = sum(widths[k : last + 1]) + space * (last - k)
            if natural > measure and last > k:
                break
            if last == n - 1:
                return 0.0, (last,)
            ratio = (measure - natural) / (stretch * max(last - k, 0.5))
            rest, breaks = best(last + 1)
            found.append(((1 + 0.01 * abs(ratio) ** 3) ** 2 + rest, (last, *breaks)))
        return min(found)

    total, breaks = best(0)
    return total + 0.01 * len(breaks) * space


# beekeeping: a colony through a season, brood in cohorts, foragers by weather, swarming when it is full
class Hive:
    def __init__(self, eggs_a_day, mortality):
        self.rate, self.mortality = eggs_a_day, mortality
        self.brood = deque([0.0] * 21, maxlen=21)
        self.bees, self.honey = 9000.0, 12.0
        self.swarms = 0

    def __len__(self):
        return int(self.bees)

    def day(self, flow, temperature):
        capacity = 60000.0
        laid = self.rate * max(0.0, min(1.0, (temperature - 5) / 15)) * (1 - self.bees / capacity)
        hatched = self.brood[0]
        self.brood.append(laid)
        foragers = 0.35 * self.bees if temperature > 12 else 0.0
        self.bees += 0.92 * hatched - self.mortality * self.bees - 0.02 * foragers * flow
        self.honey += 3e-5 * foragers * flow - 1.4e-6 * self.bees - 4e-6 * sum(self.brood)
        if self.bees > 45000 and not self.swarms:
            self.bees *= 0.5
            self.swarms += 1
        return self


@prog("apiary", lambda: (1800.0, 0.028, np.array([0.6, 1.4, 0.3])), (0, 1, 2))
def harvest(eggs, mortality, flows):
    hive = Hive(eggs, mortality)
    for week, flow in zip(range(1, 25), itertools.cycle(flows)):
        temperature = 14 + 9 * math.sin(2 * math.pi * (week - 6) / 52)
        for _ in range(7):
            hive.day(flow, temperature)
    assert len(hive) > 0, "the colony died"
    return hive.honey + 1e-4 * hive.bees


# crystallography of quasicrystals / tilings: diffraction of a Fibonacci chain made by substitution
@prog("fibonacci_chain", lambda: (1.618, 1.0, np.array([1.1, 2.3, 3.7])), (0, 1, 2))
def peaks(long, short, q):
    word = "L"
    for _ in range(7):
        word = "".join({"L": "LS", "S": "L"}[letter] for letter in word)
    spacing = {"L": long, "S": short}
    sites = np.array(list(itertools.accumulate((spacing[w] for w in word), initial=0.0)))
    amplitude = np.exp(1j * np.outer(q, sites)).sum(axis=1) / len(sites)
    counted = Counter(word)
    mean = (counted["L"] * long + counted["S"] * short) / len(word)
    return float(np.sum(np.abs(amplitude) ** 2)) * 10 + mean


# inland shipping: a lock schedule on a canal, waiting times with a soft queue, fuel by the cube of speed
Barge = namedtuple("Barge", "arrival length draught")


@prog("canal", lambda: (np.array([0.0, 0.4, 0.5, 1.7, 1.9, 3.2]), np.array([2.4, 2.1, 2.6, 2.2]), 0.35), (0, 1, 2))
def cost_of_transit(arrivals, speeds, cycle):
    barges = [Barge(a, 80.0 + 5 * k, 2.5 + 0.1 * k) for k, a in enumerate(arrivals)]
    reaches = (12.0, 8.5, 15.0, 6.0)
    free_at = [0.0] * len(reaches)
    delay = fuel = 0.0
    for barge in sorted(barges, key=lambda b: (b.arrival, -b.length)):
        t = barge.arrival
        for lock, (reach, speed) in enumerate(zip(reaches, speeds)):
            squat = 1 + 0.05 * barge.draught * speed**2 / 9.81
            t += reach / (3.6 * speed)
            fuel += reach * speed**2 * squat * barge.length / 1000
            if (wait := free_at[lock] - t) > 0:
                delay += wait
                t = free_at[lock]
            free_at[lock] = t + cycle
            t += cycle
    makespan = max(free_at)
    return delay + 0.2 * fuel + 0.1 * makespan


# dialectology: distances of pronunciations by weighted edits of features, a map by classical scaling
FEATURES = {"a": (1.0, 0.0), "e": (0.6, 0.5), "i": (0.0, 1.0), "o": (0.5, -0.4), "u": (0.1, -1.0)}
WORDS = ["hais", "haus", "hus", "huos", "heis"]


@prog("dialects", lambda: (np.array([1.0, 0.7]), 0.9), (0, 1))
def stress_of_map(weights, gap):
    def vowel(a, b):
        if a == b:
            return 0.0
        if a in FEATURES and b in FEATURES:
            return math.sqrt(sum(w * (x - y) ** 2 for w, x, y in zip(weights, FEATURES[a], FEATURES[b])))
        return 2.0

    def edits(left, right):
        row = [k * gap for k in range(len(right) + 1)]
        for i, a in enumerate(left, start=1):
            previous, row[0] = row[0], i * gap
            for j, b in enumerate(right, start=1):
                previous, row[j] = row[j], min(row[j] + gap, row[j - 1] + gap, previous + vowel(a, b))
        return row[-1]

    n = len(WORDS)
    D = np.zeros((n, n))
    for i, j in itertools.combinations(range(n), 2):
        D[i, j] = D[j, i] = edits(WORDS[i], WORDS[j])
    J = np.eye(n) - np.ones((n, n)) / n
    B = -0.5 * J @ D**2 @ J
    values = np.linalg.eigvalsh(B)
    positive = values[values > 1e-9]
    return positive[-2:].sum() / positive.sum() + D.mean()


# railway engineering: a run with traction, coasting and braking, energy and time, by distance
@dataclass
class Train:
    mass: float
    davis: tuple
    speed: float = 0.1
    energy: float = 0.0
    log: list = field(default_factory=list)

    def step(self, force, gradient, ds):
        a, b, c = self.davis
        resistance = a + b * self.speed + c * self.speed**2
        net = force - resistance - self.mass * 9.81 * gradient
        squared = self.speed**2 + 2 * net / self.mass * ds
        new = math.sqrt(max(squared, 0.01))
        self.energy += max(force, 0.0) * ds
        self.log.append(ds / (0.5 * (self.speed + new)))
        return replace(self, speed=new)


@prog("train", lambda: (np.array([2500.0, 30.0, 6.5]), 180e3, 0.72, 210e3), (0, 1, 2, 3))
def journey(davis, traction, coasting, braking):
    train = Train(4.2e5, tuple(davis))
    length, ds = 6000.0, 50.0
    gradients = [0.0, 0.004, -0.003, 0.001]
    for k in range(int(length / ds)):
        done = k * ds / length
        match done:
            case _ if train.speed**2 / 2 * train.mass >= braking * (length - k * ds):
                force = -braking
            case x if x < coasting:
                force = min(traction, 3.2e6 / max(train.speed, 1.0))
            case _:
                force = 0.0
        train = train.step(force, gradients[int(done * 4)], ds)
    return train.energy / 1e8 + sum(train.log) / 100


# tea and coffee: extraction from particles of many sizes, strength and balance of a cup poured in stages
@prog("brewing", lambda: (0.021, np.array([45.0, 90.0, 100.0]), 93.0), (0, 1, 2))
def cup(grind, pours, temperature):
    sizes = statistics.NormalDist(0.0, 0.35)
    classes = [math.exp(sizes.inv_cdf((k + 0.5) / 5)) for k in range(5)]
    k0 = grind * math.exp(-1800 * (1 / (temperature + 273.15) - 1 / 366.15))
    inside = {"acids": [0.07] * 5, "sugars": [0.12] * 5, "bitters": [0.09] * 5}
    speed = {"acids": 2.2, "sugars": 1.0, "bitters": 0.45}
    cup_of, water = defaultdict(float), 0.0
    for pour in pours:
        water += pour
        for _ in range(15):
            for what, content in inside.items():
                for k, size in enumerate(classes):
                    out = content[k] * min(1.0, k0 * speed[what] * 2.0 / size**2)
                    content[k] -= out
                    cup_of[what] += 16.0 * out / 5
    strength = sum(cup_of.values()) / water * 100
    balance = cup_of["sugars"] / (cup_of["acids"] + cup_of["bitters"])
    return strength * 2 + balance - 0.3 * abs(strength - 1.3)


# gear trains: tooth contact stresses of a planetary set, ratios as fractions, life by Miner's rule
@prog("planetary", lambda: (2.5, np.array([180.0, 240.0, 310.0]), 0.32), (0, 1, 2))
def damage(module, torques, face):
    sun, planet = 24, 18
    ring = sun + 2 * planet
    ratio = Fraction(ring, sun) + 1
    counts = (4e6, 1.5e6, 2e5)
    total = 0.0
    for torque, cycles in zip(torques, counts):
        share = torque / 3 * 1.1
        radius = module * sun / 2000
        tangential = share / radius
        elastic = 191.0
        geometry = math.prod((2.495, 0.92, math.sqrt((planet / sun + 1) / (planet / sun))))
        stress = elastic * geometry * math.sqrt(1.25 * tangential / (face * 100 * module * sun))
        life = 5e7 * (1350.0 / stress) ** 6.0
        total += cycles * float(ratio) / life
    return total * 100 + 0.01 * module * ring


# museums: humidity in a showcase with a buffer, RLC of moisture, and how far it goes out of the band
def smooth_excess(value, low, high, width=0.5):
    return width * (np.logaddexp(0, (value - high) / width) + np.logaddexp(0, (low - value) / width))


@prog("showcase", lambda: (np.array([0.35, 18.0]), 0.012, np.sin(np.arange(48) / 7.6) * 9 + 52), (0, 1, 2))
def excess(buffer, leakage, room):
    exchange, capacity = buffer
    state = np.array([50.0, 50.0])
    out = []
    A = np.array([[-leakage - exchange, exchange], [exchange / capacity, -exchange / capacity]])
    eye = np.eye(2)
    step = np.linalg.solve(eye - 0.5 * A, eye + 0.5 * A)
    for outside in room:
        state = step @ state + np.linalg.solve(eye - 0.5 * A, np.array([leakage * outside, 0.0]))
        out.append(state[0])
    series = np.asarray(out)
    drift = functools.reduce(operator.add, (abs(b - a) for a, b in itertools.pairwise(out[::8])))
    return smooth_excess(series, 48.0, 52.0).sum() + 0.5 * drift + np.ptp(series)
