"""Traffic, railways, ships and routes."""

import bisect
import heapq
import itertools
import math
import operator
from collections import deque, namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numba import njit

from tests.field_programs import program, rng


# ---------------------------------------------------------------- platoon_of_cars
class Car:
    def __init__(self, pos, vel):
        self.pos = pos
        self.vel = vel

    def __repr__(self):
        return f"Car({self.pos:.2f}, {self.vel:.2f})"


@program(
    "traffic: cellular car following with lists of objects and next()",
    lambda: (np.array([30.0, 1.5, 2.0]), np.array([0.0, 15.0, 28.0, 50.0])),
    wrt=(0, 1),
)
def platoon_of_cars(theta, x0):
    v0, T, a = theta
    cars = [Car(x, 10.0) for x in x0]
    lead = cars[-1]
    dt = 0.25
    for _ in range(30):
        accs = []
        for c, front in zip(cars, cars[1:]):
            gap = front.pos - c.pos - 5.0
            dv = c.vel - front.vel
            s_star = 2.0 + max(0.0, c.vel * T + c.vel * dv / (2 * np.sqrt(a * 1.5)))
            accs.append(a * (1 - (c.vel / v0) ** 4 - (s_star / gap) ** 2))
        accs.append(0.2 if lead.vel < 12 else 0.0)
        for c, acc in zip(cars, accs):
            c.vel = max(c.vel + dt * acc, 0.0)
            c.pos += c.vel * dt
    gaps = [f.pos - c.pos for c, f in zip(cars, cars[1:])]
    return min(gaps) + np.std([c.vel for c in cars]) + sum(gaps) / len(gaps)


# ---------------------------------------------------------------- idm
@dataclass
class FollowingCar:
    x: float
    v: float

    def accel(self, leader, T, a):
        gap = leader.x - self.x - 4.0
        dv = self.v - leader.v
        s = 2.0 + max(0.0, self.v * T + self.v * dv / (2 * math.sqrt(a * 1.5)))
        return a * (1 - (self.v / 30.0) ** 4 - (s / gap) ** 2)


@program("traffic: IDM car following, objects in list with leader reference", lambda: (1.5, 1.0), wrt=(0, 1))
def idm(T, a):
    cars = [FollowingCar(x=40.0 - 10.0 * i, v=10.0 + i) for i in range(4)]
    for k in range(20):
        acc = [1.0 if k < 10 else -1.0]
        acc += [c.accel(l, T, a) for l, c in zip(cars, cars[1:])]
        for c, ac in zip(cars, acc):
            c.v = max(0.0, c.v + 0.2 * ac)
            c.x += 0.2 * c.v
    return sum(c.x for c in cars) / len(cars) + min(l.x - c.x for l, c in zip(cars[:-1], cars[1:]))


# ---------------------------------------------------------------- ring_road
DRIVERS = {"calm": dict(a=0.8, b=1.5, T=1.6), "fast": dict(a=1.4, b=2.0, T=1.0)}


@program(
    "traffic: intelligent driver model on a ring, cars as dicts, following types chosen per driver",
    lambda: (np.array([28.0, 30.0, 25.0, 33.0]), 1.1),
    wrt=(0, 1),
)
def ring_road(v0, gap_factor):
    kinds = ["calm", "fast", "calm", "fast"]
    cars = [{"x": 20.0 * i, "v": 8.0 + i, "kind": kind} for i, kind in enumerate(kinds)]
    length = 90.0
    for step in range(40):
        accelerations = []
        for i, car in enumerate(cars):
            ahead = cars[(i + 1) % len(cars)]
            gap = (ahead["x"] - car["x"]) % length - 4.0
            p = DRIVERS[car["kind"]]
            dv = car["v"] - ahead["v"]
            s = 2.0 + max(0.0, gap_factor * p["T"] * car["v"] + car["v"] * dv / (2 * math.sqrt(p["a"] * p["b"])))
            accelerations.append(p["a"] * (1 - (car["v"] / v0[i]) ** 4 - (s / gap) ** 2))
        for car, acc in zip(cars, accelerations):
            car["x"] += 0.1 * car["v"]
            car["v"] = max(car["v"] + 0.1 * acc, 0.0)
    speeds = np.array([c["v"] for c in cars])
    return speeds.mean() - speeds.var()


# ---------------------------------------------------------------- platoon_cost
@njit
def idm_accel(v, dv, gap, v0, T, a, b, s0):
    s_star = s0 + v * T + v * dv / (2.0 * np.sqrt(a * b))
    return a * (1.0 - (v / v0) ** 4 - (s_star / gap) ** 2)


@program(
    "traffic flow: intelligent driver model: mean squared acceleration of a small platoon behind a braking leader",
    lambda: (np.array([100.0, 78.0, 55.0, 30.0]), np.array([18.0, 19.0, 17.5, 20.0]), 30.0, 1.5, 1.2, 2.0),
    wrt=(0, 1, 2, 3, 4, 5),
)
@njit
def platoon_cost(x0, v_init, v0, T, a, b):
    """Intelligent driver model: mean squared acceleration of a small platoon behind a braking leader."""
    n = x0.shape[0]
    dt = 0.2
    x = x0.copy()
    v = v_init.copy()
    acc = np.zeros(n)
    cost = 0.0
    for step in range(20):
        acc[0] = -0.5 if step < 8 else 0.3
        for i in range(1, n):
            gap = x[i - 1] - x[i] - 5.0
            acc[i] = idm_accel(v[i], v[i] - v[i - 1], gap, v0, T, a, b, 2.0)
        for i in range(n):
            v[i] += dt * acc[i]
            x[i] += dt * v[i]
            cost += acc[i] * acc[i]
    return cost / (20 * n)


# ---------------------------------------------------------------- total_time_spent
class MotorwayStretch:
    TAU, NU, KAPPA, DELTA = 18 / 3600, 60.0, 40.0, 0.0122
    JAM, LANES, LENGTH, DT = 180.0, 2, 0.5, 10 / 3600

    def __init__(self, free_speed, critical, exponent, density, merge=4):
        self.vf, self.rho_c, self.a = free_speed, critical, exponent
        self.rho = density.copy()
        self.v = self.desired(self.rho)
        self.merge = merge
        self.queue = {"mainline": 0.0, "ramp": 0.0}
        self.rate = 1200.0

    def desired(self, rho):
        return self.vf * np.exp(-((rho / self.rho_c) ** self.a) / self.a)

    def _discharge(self, origin, demand, limit):
        flow = min(demand + self.queue[origin] / self.DT, limit)
        self.queue[origin] += self.DT * (demand - flow)
        return flow

    def step(self, main_demand, ramp_demand, target):
        dt, length, lanes = self.DT, self.LENGTH, self.LANES
        self.rate = min(max(self.rate + 70.0 * (target - self.rho[self.merge]), 240.0), 1800.0)
        room = min(1.0, (self.JAM - self.rho[self.merge]) / (self.JAM - self.rho_c))
        ramp = self._discharge("ramp", ramp_demand, min(self.rate, 2000.0 * room))
        inflow = self._discharge("mainline", main_demand, 4000.0)

        q = self.rho * self.v * lanes
        upstream_v = np.concatenate(([self.v[0]], self.v[:-1]))
        downstream_rho = np.append(self.rho[1:], min(self.rho[-1], self.rho_c))
        relaxation = (self.desired(self.rho) - self.v) * dt / self.TAU
        convection = self.v * (upstream_v - self.v) * dt / length
        anticipation = self.NU * dt / (self.TAU * length) * (downstream_rho - self.rho) / (self.rho + self.KAPPA)
        dv = relaxation + convection - anticipation
        dv[self.merge] -= self.DELTA * dt * ramp * self.v[self.merge] / (length * lanes * (self.rho[self.merge] + 40))

        net = np.r_[inflow, q[:-1]] - q
        net[self.merge] += ramp
        self.rho += dt / (length * lanes) * net
        self.v = np.maximum(self.v + dv, 5.0)
        return dt * (self.rho.sum() * length * lanes + sum(self.queue.values()))


@program(
    "traffic flow: the second-order macroscopic model METANET of a motorway with a ramp metered by ALINEA",
    lambda: (np.array([24.0, 25.5, 23.0, 26.0, 28.0, 27.0, 25.0, 22.0]), 108.0, 33.5, 1.87, 31.0),
    wrt=(0, 1, 2, 3, 4),
    near_kink=True,
)
def total_time_spent(density, free_speed, critical, exponent, target, n_steps=150):
    road = MotorwayStretch(free_speed, critical, exponent, density)
    clock = (k * MotorwayStretch.DT for k in range(n_steps))
    demands = ((3100 + 700 * math.sin(9 * t), 500 + 900 * math.exp(-(((t - 0.15) / 0.08) ** 2))) for t in clock)
    return sum(road.step(main, ramp, target) for main, ramp in demands)


# ---------------------------------------------------------------- logit_assignment
@program("user equilibrium BPR with logit assignment", lambda: (np.array([10.0, 12.0, 8.0]), 0.4), wrt=(0, 1))
def logit_assignment(cap, theta):
    free = np.array([5.0, 7.0, 6.0])
    flow = np.full(3, 10.0)
    for k in range(1, 30):
        cost = free * (1 + 0.15 * (flow / cap) ** 4)
        p = np.exp(-theta * (cost - cost.min()))
        p /= p.sum()
        flow += (30 * p - flow) / (k + 1)
    cost = free * (1 + 0.15 * (flow / cap) ** 4)
    return (flow * cost).sum()


# ---------------------------------------------------------------- user_equilibrium
@program(
    "user equilibrium by Frank-Wolfe on a small network of dicts",
    lambda: ({"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.5, "e": 0.25}, 6.0),
)
def user_equilibrium(t0, demand):
    capacity = {"a": 3.0, "b": 4.0, "c": 3.5, "d": 3.0, "e": 2.0}
    routes = [("a", "d"), ("b", "c"), ("a", "e", "c")]
    flow = dict.fromkeys(t0, 0.0)

    def cost(link):
        return t0[link] * (1 + 0.15 * (flow[link] / capacity[link]) ** 4)

    for it in range(12):
        times = [sum(cost(l) for l in r) for r in routes]
        best = times.index(min(times))
        step = 2.0 / (it + 2)
        for link in flow:
            target = demand if link in routes[best] else 0.0
            flow[link] += step * (target - flow[link])
    return sum(flow[l] * cost(l) for l in flow)


# ---------------------------------------------------------------- total_travel_time
@program(
    "shortest travel times with flows that congest, the method of successive averages",
    lambda: (np.array([10.0, 6.0, 8.0, 12.0, 5.0]), np.array([4.0, 5.0, 3.0, 6.0, 2.0]), 9.0),
    wrt=(0, 1, 2),
)
def total_travel_time(capacity, free, demand):
    edges = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")]
    routes = [["s", "a", "t"], ["s", "b", "t"], ["s", "a", "b", "t"]]
    uses = [[edges.index(pair) for pair in zip(route, route[1:])] for route in routes]
    flow = np.zeros(len(edges))
    for k in range(1, 16):
        time = free * (1 + 0.15 * (flow / capacity) ** 4)
        costs = np.array([time[use].sum() for use in uses])
        choice = np.exp(-0.8 * (costs - costs.min()))
        choice /= choice.sum()
        loaded = np.zeros_like(flow)
        for use, share in zip(uses, choice):
            np.add.at(loaded, use, demand * share)
        flow += (loaded - flow) / k
    return flow @ (free * (1 + 0.15 * (flow / capacity) ** 4))


# ---------------------------------------------------------------- gravity_model
@program(
    "transport planning: gravity model with IPF balancing, deterrence, entropy",
    lambda: (0.12, np.array([100.0, 250.0, 180.0]), np.array([120.0, 210.0, 200.0])),
    wrt=(0, 1, 2),
)
def gravity_model(beta, origins, destinations):
    names = np.array(["north", "centre", "south"])
    cost = np.array([[2.0, 7.0, 12.0], [6.0, 1.5, 5.0], [11.0, 5.5, 2.5]])
    destinations = destinations * origins.sum() / destinations.sum()
    T = np.exp(-beta * cost)
    for _ in range(25):
        T *= (origins / T.sum(axis=1))[:, None]
        T *= destinations / T.sum(axis=0)
    share = T / T.sum()
    intra = np.trace(T)
    central = T[names == "centre"].sum() + T[:, names == "centre"].sum()
    mean_cost = np.average(cost, weights=T)
    return mean_cost - np.sum(share * np.log(share)) + intra / central


# ---------------------------------------------------------------- assignment
@program(
    "transportation: traffic assignment Frank-Wolfe with Dijkstra inside",
    lambda: (np.array([1.0, 2.0, 1.5, 1.0, 2.5]), 3.0),
    wrt=(0, 1),
)
def assignment(t0, demand):
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)]
    flow = np.zeros(5)
    for it in range(6):
        cost = t0 * (1 + 0.15 * (flow / 2) ** 4)
        dist = {0: 0.0, 1: math.inf, 2: math.inf, 3: math.inf}
        pred = {}
        todo = set(dist)
        while todo:
            u = min(todo, key=lambda n: dist[n])
            todo.remove(u)
            for e, (i, j) in enumerate(edges):
                if i == u and dist[u] + cost[e] < dist[j]:
                    dist[j] = dist[u] + cost[e]
                    pred[j] = e
        aux = np.zeros(5)
        node = 3
        while node != 0:
            aux[pred[node]] = demand
            node = edges[pred[node]][0]
        flow = flow + (aux - flow) * 2 / (it + 2)
    return np.sum(t0 * (flow + 0.03 * flow**5 / 16))


# ---------------------------------------------------------------- train_energy
@program(
    "railway: speed profile with deque of recent accelerations",
    lambda: (np.array([0.8, 0.02, 0.0004]), np.sin(np.linspace(0, 6, 60)) * 0.01),
)
def train_energy(davis, grade):
    a, b, c = davis
    v, energy = 10.0, 0.0
    last = deque(maxlen=5)
    for g in grade:
        res = a + b * v + c * v * v + 9.81 * g
        drive = max(0.0, 1.5 * (25.0 - v) / 25.0)
        acc = drive - res / 10
        last.append(acc)
        v = max(v + sum(last) / len(last), 1.0)
        energy += drive * v
    return energy / 1000


# ---------------------------------------------------------------- train_run
@program(
    "railways: a train's time and energy over a line with grades and speed limits, coasting before the stations",
    lambda: (np.array([310.0, 2.4, 0.055, 0.0041]), 27.0, 0.623),
)
def train_run(train, vmax, coast):
    mass, a, b, c = train
    limits = [(0.0, 25.0), (1200.0, 60.0), (5200.0, 33.0), (6400.0, 60.0)]
    grades = {0.0: 0.0, 1500.0: 0.008, 3000.0: -0.006, 4500.0: 0.0, 7000.0: 0.004}
    positions = list(grades)
    length, ds = 9000.0, 60.0
    v2, t, energy = 1.0, 0.0, 0.0
    s = 0.0
    while s < length - ds:
        limit = limits[bisect.bisect([p for p, _ in limits], s) - 1][1]
        grade = grades[positions[bisect.bisect(positions, s) - 1]]
        v = math.sqrt(v2)
        resistance = a + b * v + c * v * v + mass * 9.81 * grade
        target = min(limit, vmax)
        braking = v2 - 2 * 0.7 * (length - s) > 0.0
        if braking:
            force = -0.7 * mass * 1.06
        elif s > coast * length and v > 0.6 * target:
            force = 0.0
        elif v < target:
            force = min(280.0, 4200.0 / max(v, 1.0))
        else:
            force = min(max(resistance, 0.0), 280.0)
        v2_next = max(v2 + 2 * ds * (force - resistance) / (mass * 1.06), 0.5)
        v_mean = 0.5 * (v + math.sqrt(v2_next))
        t += ds / v_mean
        energy += max(force, 0.0) * ds / 3.6e6 * 1e3
        v2, s = v2_next, s + ds
    return t / 60.0 + 0.05 * energy


# ---------------------------------------------------------------- journey
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


@program(
    "railway engineering: a run with traction, coasting and braking, energy and time, by distance",
    lambda: (np.array([2500.0, 30.0, 6.5]), 180e3, 0.72, 210e3),
    wrt=(0, 1, 2, 3),
    refused="a value whose type depends on the path taken",
)
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


# ---------------------------------------------------------------- cost_of_transit
Barge = namedtuple("Barge", "arrival length draught")


@program(
    "inland shipping: a lock schedule on a canal, waiting times with a soft queue, fuel by the cube of speed",
    lambda: (np.array([0.0, 0.4, 0.5, 1.7, 1.9, 3.2]), np.array([2.4, 2.1, 2.6, 2.2]), 0.35),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- pollution_routing_cost
class Drop(NamedTuple):
    name: str
    x: float
    y: float
    due: float = math.inf
    demand: float = 0.0


DEPOT = Drop("depot", 0.0, 0.0)


CUSTOMERS = (
    Drop("Almere", 21.0, 9.0, 3.0),
    Drop("Breda", -14.0, -78.0, 4.5),
    Drop("Delft", -44.0, -38.0, 1.2),
    Drop("Ede", 48.0, -31.0, 2.5),
    Drop("Gouda", -18.0, -36.0, 2.0),
)


@program(
    "freight logistics: the pollution-routing problem, the cheapest order of the "
    "drops with fuel that depends on the load",
    lambda: (np.array([3.1, 4.4, 2.2, 1.7, 3.9]), 68.0, np.array([1.72, 33.0]), 0.4),
    wrt=(0, 1, 2, 3),
    slow=True,
)
def pollution_routing_cost(demand_t, speed, prices, service_h):
    diesel, wage = prices
    drops = [drop._replace(demand=w) for drop, w in zip(CUSTOMERS, demand_t)]

    def fuel_litres(km, load_t, curb_t=7.5, drag_area=5.2, rolling=0.0085):
        v = speed / 3.6
        force = (curb_t + load_t) * 1e3 * 9.81 * rolling + 0.5 * 1.2 * drag_area * v**2
        engine = 0.2 * 33.0 * 5.0 * (km / speed) * 3600 / 44000 / 0.737 * 0.18
        return engine + force * km * 1e3 / 0.36 / 36.5e6

    def route_cost(order):
        legs = list(itertools.pairwise([DEPOT, *order, DEPOT]))
        km = [1.22 * math.hypot(b.x - a.x, b.y - a.y) for a, b in legs]
        total = sum(d.demand for d in order)
        aboard = itertools.accumulate((d.demand for d in order), operator.sub, initial=total)
        litres = sum(itertools.starmap(fuel_litres, zip(km, aboard)))
        arrivals = itertools.accumulate(km, lambda t, leg: t + leg / speed + service_h, initial=-service_h)
        _, *times = arrivals
        lateness = sum(max(0.0, t - d.due) ** 1.5 for t, d in zip(times, order))
        return diesel * litres + wage * times[-1] + 45.0 * lateness

    costs = sorted(map(route_cost, itertools.permutations(drops)))
    best, runner_up = costs[:2]
    return float(best + 0.1 * (runner_up - best))


# ---------------------------------------------------------------- mean_journey
@program(
    "elevator traffic: a group of lifts in the morning peak, trips with limited jerk, "
    "a heap of the lifts by when they are free",
    lambda: (np.array([2.5, 0.9, 1.4]), rng(31).exponential(3.7, size=40), rng(32).uniform(size=40), 1.15),
    wrt=(0, 1, 3),
)
def mean_journey(kinematics, gaps, draws, transfer):
    speed, acceleration, jerk = kinematics
    population = {1: 30, 2: 45, 3: 45, 4: 20, 5: 60, 7: 35, 8: 10, 11: 5}
    share = np.cumsum(list(population.values())) / sum(population.values())
    floors = [list(population)[i] for i in np.searchsorted(share, draws)]

    def travel(distance):
        # full speed, full acceleration or neither is reached
        if distance >= (acceleration**2 * speed + speed**2 * jerk) / (jerk * acceleration):
            return distance / speed + speed / acceleration + acceleration / jerk
        if distance >= 2 * acceleration**3 / jerk**2:
            return acceleration / jerk + math.sqrt(4 * distance / acceleration + (acceleration / jerk) ** 2)
        return (32 * distance / jerk) ** (1 / 3)

    arrivals = np.cumsum(gaps)
    waiting = list(zip(arrivals, floors))
    lifts = [(0.0, 0), (4.1, 1), (11.3, 2)]
    heapq.heapify(lifts)
    waits, journeys = [], []
    while waiting:
        free, lift = heapq.heappop(lifts)
        depart = max(free, waiting[0][0])
        aboard = []
        while waiting and len(aboard) < 6 and waiting[0][0] <= depart + 1.5:
            aboard.append(waiting.pop(0))
            depart += 0.8 if len(aboard) > 1 else transfer
        waits.extend(max(depart - arrived, 0.0) for arrived, _ in aboard)
        clock, here = depart, 0
        for floor, group in itertools.groupby(sorted(aboard, key=lambda p: p[1]), key=lambda p: p[1]):
            group = list(group)
            clock += travel(3.6 * (floor - here)) + 2.9 + transfer * len(group)
            journeys += [clock - arrived for arrived, _ in group]
            here = floor
        heapq.heappush(lifts, (clock + travel(3.6 * here), lift))
    longest = np.sort(np.array(waits))[-4:]
    return np.mean(journeys) + 0.5 * longest.mean() + 0.1 * max(t for t, _ in lifts)
