"""Crops and forests."""

import math
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import reduce

import numpy as np

from tests.field_programs import program, rng


# ---------------------------------------------------------------- soil_water
@program("soil water with a match statement", lambda: (np.array([0.3, 0.1, 2.0]), rng(17).gamma(0.5, 6, 40)))
def soil_water(p, rain):
    fc, wp, ksat = p
    w, drain = 0.2, 0.0
    for day, r in enumerate(rain):
        match day % 7:
            case 0:
                et = 0.0
            case 1 | 2:
                et = 0.003
            case _:
                et = 0.005
        w += r / 1000
        if w > fc:
            d = (w - fc) * (1 - np.exp(-ksat))
            drain += d
            w -= d
        w -= et * max(0, (w - wp) / (fc - wp))
    return drain * 100 + w


# ---------------------------------------------------------------- crop_yield_by_stages
class Stage(Enum):
    VEGETATIVE = "veg"
    FLOWERING = "flower"
    RIPE = "ripe"


@program(
    "crop growth with phenological stages as a state machine",
    lambda: (np.array([14.0, 18.0, 22.0, 25.0, 20.0, 16.0]), 3.0, 0.5),
    wrt=(1, 2),
)
def crop_yield_by_stages(temps, rue, kext):
    stage, gdd, lai, biomass, grain = Stage.VEGETATIVE, 0.0, 0.3, 0.0, 0.0
    thresholds = {Stage.VEGETATIVE: 25.0, Stage.FLOWERING: 50.0}
    for t in temps:
        gdd += max(t - 8.0, 0.0)
        absorbed = 10.0 * (1 - math.exp(-kext * lai))
        growth = rue * absorbed * (1.0 if t < 24 else 0.8)
        if stage is Stage.VEGETATIVE:
            lai += 0.1 * growth / 3
        elif stage is Stage.FLOWERING:
            grain += 0.6 * growth
        else:
            lai *= 0.8
            grain += 0.2 * growth
        biomass += growth
        if stage in thresholds and gdd > thresholds[stage]:
            stage = Stage.FLOWERING if stage is Stage.VEGETATIVE else Stage.RIPE
    return grain / biomass + 0.01 * grain


# ---------------------------------------------------------------- phenology
@program(
    "growing degree days with cumulative, np.where on searchsorted and digitize, lookups",
    lambda: (np.array([10.0, 30.0]), 15 + 8 * np.sin(np.arange(60) / 10)),
    wrt=(0, 1),
)
def phenology(cardinal, temp):
    tbase, tmax = cardinal
    gdd = np.clip(temp, tbase, tmax) - tbase
    cum = np.cumsum(gdd)
    stages = np.array([50.0, 150.0, 260.0])
    days = np.searchsorted(cum, stages)
    frac = []
    for s, d in zip(stages, days):
        if d >= len(cum):
            frac.append(float(len(cum)))
            continue
        prev = cum[d - 1] if d else 0.0
        frac.append(d + (s - prev) / (cum[d] - prev))
    kc = np.choose(np.digitize(cum, stages), [0.3, 0.7, 1.1, 0.6])
    et = np.dot(kc, 0.0023 * (temp + 17.8))
    return np.diff(frac).sum() + et


# ---------------------------------------------------------------- crop_yield
@program(
    "soil water balance with runoff by curve number, stress on the yield in growth stages",
    lambda: (70.0, 0.45, np.array([0.9, 1.15, 0.7])),
    wrt=(0, 1, 2),
)
def crop_yield(curve_number, depletion, kc):
    rain = [12.0, 0.0, 0.0, 25.0, 3.0, 0.0, 0.0, 0.0, 40.0, 0.0, 0.0, 2.0]
    stages = ["initial"] * 3 + ["mid"] * 5 + ["late"] * 4
    coefficients = dict(zip(("initial", "mid", "late"), kc))
    S = 25400 / curve_number - 254
    taw = 60.0
    store, supply, demand = 30.0, defaultdict(float), defaultdict(float)
    for day, (p, stage) in enumerate(zip(rain, stages)):
        runoff = (p - 0.2 * S) ** 2 / (p + 0.8 * S) if p > 0.2 * S else 0.0
        store = min(store + p - runoff, taw)
        etc = (4.0 + np.sin(day / 3)) * coefficients[stage]
        stress = 1.0 if store > (1 - depletion) * taw else store / ((1 - depletion) * taw)
        eta = stress * etc
        store -= eta
        supply[stage] += eta
        demand[stage] += etc
    sensitivity = {"initial": 0.2, "mid": 0.6, "late": 0.35}
    return reduce(lambda y, s: y * (1 - sensitivity[s] * (1 - supply[s] / demand[s])), sensitivity, 8.0)


# ---------------------------------------------------------------- stress_of_a_crop
@program(
    "soil water in layers, filled from the top, roots that take from the wettest",
    lambda: (np.array([0.32, 0.30, 0.28]), np.array([30.0, 40.0, 60.0]), 0.75),
    wrt=(0, 1, 2),
)
def stress_of_a_crop(capacity, depth, coefficient):
    rain = [0, 12, 0, 0, 25, 3, 0, 0, 0, 0, 8, 0]
    water = 0.6 * capacity * depth
    days = stress = 0
    for day, mm in enumerate(rain):
        excess = float(mm)
        for k in range(len(depth)):
            water[k] += excess
            room = capacity[k] * depth[k]
            excess, water[k] = max(water[k] - room, 0.0), min(water[k], room)
        demand = coefficient * (4.0 + 2.0 * math.sin(0.5 * day))
        order = sorted(range(3), key=lambda k: -water[k] / depth[k])
        for k in order:
            taken = min(demand, 0.3 * water[k])
            water[k] -= taken
            demand -= taken
            if demand <= 0:
                break
        else:
            days += 1
            stress += demand**1.5
    return stress + 0.01 * water.sum() + 0.1 * days


# ---------------------------------------------------------------- grain_yield
class Phase(Enum):
    VEGETATIVE = auto()
    FLOWERING = auto()
    FILLING = auto()
    RIPE = auto()


class Crop:
    """A field of wheat, by thermal time."""

    base = 1.0
    stages = OrderedDict([(Phase.VEGETATIVE, 550.0), (Phase.FLOWERING, 200.0), (Phase.FILLING, 450.0)])

    def __init__(self, rue, k, soil):
        self.rue, self.k = rue, k
        self._water = soil
        self.leaf = 0.2
        self.biomass = self.grain = self.heat = 0.0
        self.phase = Phase.VEGETATIVE

    @property
    def stress(self):
        return min(1.0, max(0.05, self._water / 60.0))

    def advance(self, t):
        self.heat += max(t - self.base, 0.0)
        reached = 0.0
        for phase, length in self.stages.items():
            reached += length
            if self.heat < reached:
                self.phase = phase
                return
        self.phase = Phase.RIPE

    def day(self, t, light, rain):
        self.advance(t)
        caught = light * (1.0 - math.exp(-self.k * self.leaf))
        growth = self.rue * caught * self.stress
        use = 0.12 * caught + 0.3
        self._water = min(max(self._water + rain - use * self.stress, 0.0), 120.0)
        self.biomass += growth
        match self.phase:
            case Phase.VEGETATIVE:
                self.leaf += 0.012 * growth * 0.6
            case Phase.FLOWERING:
                self.leaf *= 1.002
            case Phase.FILLING:
                self.grain += 0.75 * growth
                self.leaf *= 0.985
            case _:
                self.leaf = 0.0


@program(
    "yield of wheat in a season of weather, by stages of thermal time, light and water",
    lambda: (np.array([2.8, 0.55]), 80.0, 1.1),
    wrt=(0, 1),
)
def grain_yield(plant, soil, warmth):
    crop = Crop(*plant, soil)
    g = rng(7)
    rain = g.exponential(2.0, 160) * (g.random(160) < 0.35)
    for d, r in enumerate(rain):
        season = math.sin(math.pi * (d + 20) / 200)
        crop.day(warmth * (4.0 + 14.0 * season), 4.0 + 9.0 * season, r)
        if crop.phase is Phase.RIPE:
            break
    return crop.grain / 100.0 + 0.01 * crop.biomass / (1 + d)


# ---------------------------------------------------------------- leaf_gas_exchange
def farquhar(ci, vcmax, jmax, par, temp):
    """Net photosynthesis, smooth minimum of the Rubisco and light limited rates."""
    tk = temp + 273.15
    arr = lambda k25, ea: k25 * np.exp(ea * (tk - 298.15) / (298.15 * 8.314 * tk))
    kc, ko, gstar = arr(404.9, 79430.0), arr(278.4, 36380.0), arr(42.75, 37830.0)
    vc = arr(vcmax, 65330.0)
    j_abs = 0.36 * par
    b = j_abs + jmax
    j = (b - np.sqrt(b**2 - 4 * 0.7 * j_abs * jmax)) / 1.4
    wc = vc * (ci - gstar) / (ci + kc * (1 + 210.0 / ko))
    wj = j / 4 * (ci - gstar) / (ci + 2 * gstar)
    s = wc + wj
    return (s - np.sqrt(s**2 - 4 * 0.98 * wc * wj)) / (2 * 0.98) - 0.015 * vcmax


@program(
    "plant physiology: daily mean assimilation with a Medlyn-type stomatal closure, fixed-point on ci",
    lambda: (62.0, 110.0, 3.5, [400.0, 1100.0, 1500.0, 800.0], [18.0, 23.0, 27.0, 25.0], [0.6, 1.0, 1.7, 1.4]),
    wrt=(0, 1, 2, 4),
)
def leaf_gas_exchange(vcmax, jmax, g1, par, temp, vpd, ca=410.0):
    """Daily mean assimilation with a Medlyn-type stomatal closure, fixed-point on ci."""
    total = 0.0
    for q, tl, d in zip(par, temp, vpd):
        ci = 0.7 * ca
        for _ in range(30):
            a = farquhar(ci, vcmax, jmax, q, tl)
            gs = 0.02 + 1.6 * (1 + g1 / np.sqrt(d)) * a / ca
            ci = 0.5 * ci + 0.5 * (ca - 1.6 * a / gs)
        total += farquhar(ci, vcmax, jmax, q, tl)
    return total / len(par)


# ---------------------------------------------------------------- stand
class Species:
    def __init__(self, name, rate, cap):
        self.name, self.rate, self.cap = name, rate, cap

    def growth(self, b, total):
        return self.rate * b * (1 - total / self.cap)

    @property
    def label(self):
        return f"{self.name}:{self.cap}"


@program(
    "forestry: stand growth with species classes", lambda: (np.array([0.1, 0.07, 0.12]), np.array([10.0, 5.0, 2.0]))
)
def stand(rates, b0):
    names = ["oak", "beech", "pine"]
    sp = [Species(n, r, 100 + 20 * k) for k, (n, r) in enumerate(zip(names, rates))]
    b = dict(zip(names, b0))
    for year in range(30):
        total = sum(b.values())
        b = {s.name: b[s.name] + s.growth(b[s.name], total) for s in sp}
        if year % 10 == 9:
            oldest = max(b, key=b.get)
            b[oldest] *= 0.7
    return sum(v * (2.0 if k == "oak" else 1.0) for k, v in b.items())


# ---------------------------------------------------------------- stand_volume
@program(
    "forestry: taper and volume, mixed tree list of dicts with missing heights",
    lambda: (
        np.array([1.2, 0.9, -1.1]),
        [
            {"dbh": 23.0, "h": 18.5, "sp": "pine"},
            {"dbh": 31.0, "h": None, "sp": "oak"},
            {"dbh": 12.0, "h": 9.0, "sp": "pine"},
        ],
    ),
)
def stand_volume(b, trees):
    form = {"pine": 0.42, "oak": 0.48}
    total, by_species = 0.0, defaultdict(list)
    for tree in trees:
        d = tree["dbh"]
        h = tree["h"] if tree["h"] is not None else 1.3 + np.exp(b[0] + b[1] * np.log(d)) ** 0.7
        v = form.get(tree["sp"], 0.45) * np.pi / 4 * (d / 100) ** 2 * h * np.exp(b[2] / 10)
        by_species[tree["sp"]].append(v)
        total += v
    shares = np.array([sum(v) for v in by_species.values()]) / total
    return total - np.sum(shares * np.log(shares))


# ---------------------------------------------------------------- standing_volume
@program(
    "forestry: height-diameter curves with random effects shrunk by hand, taper, volume by Smalian's rule",
    lambda: (np.array([28.0, 0.06, 1.2]), rng(7).normal(0, 1.5, 4), np.array([0.9, 0.35])),
    wrt=(0, 1, 2),
)
def standing_volume(curve, plot_effects, taper):
    trees = {0: [12.5, 20.1, 33.0], 1: [15.2, 18.8], 2: [40.3], 3: [22.2, 27.1, 30.5, 11.9]}
    total = 0.0
    for plot, diameters in trees.items():
        shrink = len(diameters) / (len(diameters) + 2.0)
        top = curve[0] + shrink * plot_effects[plot]
        for dbh in diameters:
            h = 1.3 + top * (1.0 - np.exp(-curve[1] * dbh)) ** curve[2]
            ends = np.append(np.arange(0.3, 9.6, 1.2), 9.6) / 10.0 * h

            def diameter(z, dbh=dbh, h=h):
                q = (h - z) / (h - 1.3)
                return dbh * q ** taper[0] * np.exp(taper[1] * (1.0 - q) * q)

            areas = np.pi / 40000.0 * diameter(ends) ** 2
            total += np.sum(np.diff(ends) * (areas[:-1] + areas[1:]) / 2.0)
    return total


# ---------------------------------------------------------------- thinned_stand_value
@dataclass
class Stem:
    x: float
    y: float
    dbh: float  # cm
    height: float = 0.0  # m
    alive: bool = True
    rings: list = field(default_factory=list)

    @property
    def basal_area(self):
        return math.pi * (self.dbh / 200) ** 2

    @property
    def volume(self):
        return 0.42 * self.basal_area * self.height


@program(
    "tree growth forestry: distance-dependent growth of single spruces (Hegyi), "
    "a thinning from below, the present value",
    lambda: (np.array([11.2, 9.4, 14.1, 8.3, 12.7, 10.5, 13.4, 7.6, 15.0, 9.9, 11.8, 12.2]), 26.0, 0.55, 0.025),
    wrt=(0, 1, 2, 3),
    refused="changes of lists or objects that are appended more than once",
)
def thinned_stand_value(dbhs, site_index, sensitivity, interest):
    def top_height(age):
        b1, b2 = 0.0245, 1.32
        return site_index * ((1 - math.exp(-b1 * age)) / (1 - math.exp(-b1 * 100))) ** b2

    stand = []
    for i, d in enumerate(dbhs):
        row, col = divmod(i, 4)
        stand.append(Stem(x=2.4 * col + 0.3 * (row % 2), y=2.5 * row + 0.2 * ((i * 7) % 3), dbh=d))
    price = lambda d: np.interp(d, [8, 14, 20, 30, 40], [0, 22, 41, 63, 71])  # per m3, by diameter
    area_ha = 9.6 * 7.5 / 1e4
    income, age = 0.0, 30
    while age < 75:
        living = [s for s in stand if s.alive]
        h100, d100 = top_height(age), sorted((s.dbh for s in living), reverse=True)[1]
        for s in living:
            s.height = 1.3 + (h100 - 1.3) * (1 - math.exp(-1.9 * s.dbh / d100)) / (1 - math.exp(-1.9))
        if age == 45:
            ranked = sorted(living, key=lambda s: s.dbh / (1 + sum(o.dbh > s.dbh for o in living)))
            for s in ranked[: len(ranked) // 3]:
                s.alive = False
                income += s.volume * price(s.dbh) / area_ha / (1 + interest) ** (age - 30)
            living = ranked[len(ranked) // 3 :]
        growth = {}
        for k, s in enumerate(living):
            hegyi = 0.0
            for m, o in enumerate(living):
                if m == k:
                    continue
                dx = (s.x - o.x + 4.8) % 9.6 - 4.8
                dy = (s.y - o.y + 3.75) % 7.5 - 3.75
                dist = math.hypot(dx, dy)
                if dist > 5.0:
                    continue
                hegyi += o.dbh / s.dbh / (dist + 1)
            potential = 0.11 * site_index * math.exp(-0.017 * s.dbh) * (1 - math.exp(-0.12 * s.dbh))
            growth[id(s)] = potential * math.exp(-sensitivity * hegyi)
        for s in living:
            s.dbh += growth[id(s)]
            s.rings.append(growth[id(s)])
            s.alive = len(s.rings) < 4 or s.rings[-1] > 0.12
        age += 5
    for s in stand:
        if s.alive:
            income += s.volume * price(s.dbh) / area_ha * (1 + interest) ** (30 - age)
    return float(income)
