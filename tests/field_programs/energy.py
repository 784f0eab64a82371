"""Batteries, wind and sun."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import List

import numpy as np
from scipy import integrate, optimize, special
from scipy.integrate import solve_ivp

from tests.field_programs import program, rng


# ---------------------------------------------------------------- battery
@program(
    "battery: equivalent circuit with lookup table interpolation and closures nonlocal",
    lambda: (np.array([0.01, 0.02, 1500.0]), np.array([1.0, 2.0, -1.0, 0.5, 3.0] * 4)),
)
def battery(theta, current):
    r0, r1, c1 = theta
    soc_grid, ocv_grid = np.linspace(0, 1, 6), np.array([3.0, 3.4, 3.6, 3.7, 3.9, 4.2])
    soc, v1 = 0.8, 0.0

    def step(i, dt=10.0):
        nonlocal soc, v1
        soc -= i * dt / 3600 / 2.5
        tau = r1 * c1
        v1 = v1 * np.exp(-dt / tau) + r1 * (1 - np.exp(-dt / tau)) * i
        return np.interp(soc, soc_grid, ocv_grid) - v1 - r0 * i

    volts = np.fromiter((step(i) for i in current), dtype=float)
    return np.sum((volts - 3.7) ** 2)


# ---------------------------------------------------------------- single_particle
@program(
    "battery: single particle model, diffusion in a sphere by method of lines, Butler-Volmer overpotential",
    lambda: (np.array([0.6, 1.2]), 0.8),
    wrt=(0, 1),
)
def single_particle(p, current, n=12):
    D, k = p
    r = np.linspace(0, 1, n)
    dr = r[1] - r[0]

    def rhs(t, c):
        flux = np.zeros(n + 1)
        rm = 0.5 * (r[1:] + r[:-1])
        flux[1:-1] = -D * (c[1:] - c[:-1]) / dr * rm**2
        flux[-1] = current * 0.3
        vol = np.diff(np.r_[0.0, rm, 1.0] ** 3) / 3
        return -np.diff(flux) / vol

    sol = integrate.solve_ivp(rhs, (0, 0.3), np.full(n, 0.9), t_eval=np.linspace(0, 0.3, 7), rtol=1e-8, atol=1e-10)
    cs = sol.y[-1]
    ocv = 3.4 + 0.8 * cs - 0.2 * np.tanh(5 * (cs - 0.5))
    eta = 2 * np.arcsinh(current / (2 * k * np.sqrt(cs * (1 - cs))))
    v = ocv - 0.0257 * eta - 0.01 * current
    return np.trapezoid(v * current, sol.t) + v[-1]


# ---------------------------------------------------------------- voltage_rmse
@dataclass
class Cell:
    R0: float = 0.012
    R1: float = 0.008
    C1: float = 2400.0
    capacity_Ah: float = 2.6
    ocv: list = field(default_factory=lambda: [3.1, 0.9, -0.5, 0.6])

    def open_circuit(self, soc):
        return sum(c * soc**i for i, c in enumerate(self.ocv))


@program(
    "battery models: first order equivalent circuit, coulomb counting",
    lambda: (
        Cell(),
        [2.0, 2.0, 4.0, 4.0, 1.0, 0.0, 0.0, 3.0, 5.0, 2.0],
        [3.72, 3.70, 3.63, 3.61, 3.68, 3.72, 3.71, 3.62, 3.55, 3.60],
    ),
)
def voltage_rmse(cell, current, v_meas, dt=30.0, soc0=0.9):
    """First order equivalent circuit, coulomb counting."""
    soc, v1 = soc0, 0.0
    decay = np.exp(-dt / (cell.R1 * cell.C1))
    err = []
    for i, v in zip(current, v_meas):
        soc = soc - i * dt / (3600.0 * cell.capacity_Ah)
        v1 = decay * v1 + cell.R1 * (1 - decay) * i
        err.append(cell.open_circuit(soc) - v1 - cell.R0 * i - v)
    return np.sqrt(np.mean(np.square(err)))


# ---------------------------------------------------------------- spm_pulse_voltage
FARADAY, GAS_CONSTANT = 96485.33212, 8.314462618


@dataclass
class Electrode:
    radius: float
    diffusivity: float
    c_max: float
    stoichiometry: float
    loading: float  # active surface per unit of cell area
    rate: float
    sign: int  # +1: lithium leaves on discharge
    ocp: Callable
    shells: int = 8
    faces: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        self.faces = np.linspace(0.0, self.radius, self.shells + 1)
        self.width = self.radius / self.shells

    @property
    def initial(self):
        return np.full(self.shells, self.stoichiometry * self.c_max)

    def flux(self, current_density):
        return self.sign * current_density / (FARADAY * self.loading)

    def rhs(self, c, current_density):
        inner = -self.diffusivity * np.diff(c) / self.width
        n = np.concatenate(([0.0], inner, [self.flux(current_density)]))
        return -np.diff(n * self.faces**2) / (np.diff(self.faces**3) / 3)

    def potential(self, c, current_density, temperature):
        j = self.flux(current_density)
        surface = c[-1] - j * self.width / (2 * self.diffusivity)
        arrhenius = np.exp(3.5e4 / GAS_CONSTANT * (1 / 298.15 - 1 / temperature))
        exchange = self.rate * arrhenius * np.sqrt(1000.0 * surface * (self.c_max - surface))
        eta = 2 * GAS_CONSTANT * temperature / FARADAY * np.arcsinh(FARADAY * j / (2 * exchange))
        return self.ocp(surface / self.c_max) + eta


def graphite_ocp(x):
    steps = [(0.0909, 29.8538, 0.1234), (0.04478, 14.9159, 0.2769), (0.0205, 30.4444, 0.6103)]
    return 1.9793 * np.exp(-39.3631 * x) + 0.2482 - sum(a * np.tanh(b * (x - x0)) for a, b, x0 in steps)


def nmc_ocp(x):
    out = -0.8090 * x + 4.4875 - 0.0428 * np.tanh(18.5138 * (x - 0.5542))
    return out - 17.7326 * np.tanh(15.7890 * (x - 0.3117)) + 17.5842 * np.tanh(15.9308 * (x - 0.3120))


@program(
    "battery electrochemistry: the single particle model of an NMC/graphite cell "
    "(Chen 2020), mean voltage of a pulse test",
    lambda: (5.0, np.array([3.3e-14, 4.0e-15]), 303.15, 0.012),
    wrt=(0, 1, 2, 3),
    slow=True,
)
def spm_pulse_voltage(current, diffusivity, temperature, r_contact, area=0.1027):
    neg = Electrode(5.86e-6, diffusivity[0], 33133.0, 0.9014, 32.7, 6.48e-7, +1, graphite_ocp)
    pos = Electrode(5.22e-6, diffusivity[1], 63104.0, 0.27, 28.9, 3.42e-6, -1, nmc_ocp)
    state, energy, clock = np.concatenate([neg.initial, pos.initial]), 0.0, 0.0
    for duration, c_rate in [(120.0, 1.0), (60.0, 0.0), (90.0, 0.5)]:
        density = c_rate * current / area

        def rhs(_, y, density=density):
            return np.concatenate([neg.rhs(y[: neg.shells], density), pos.rhs(y[neg.shells :], density)])

        grid = np.linspace(0.0, duration, 7)
        sol = solve_ivp(rhs, (0.0, duration), state, t_eval=grid, rtol=1e-10, atol=1e-8)
        if not sol.success:
            raise RuntimeError(f"integration failed at t={clock + sol.t[-1]:.1f} s: {sol.message}")
        split = (np.split(y, [neg.shells]) for y in sol.y.T)
        volts = [pos.potential(p, density, temperature) - neg.potential(n, density, temperature) for n, p in split]
        energy += np.trapezoid(np.array(volts) - c_rate * current * r_contact, grid)
        state, clock = sol.y[:, -1], clock + duration
    return float(energy / clock)


# ---------------------------------------------------------------- innovation_cost
@program(
    "battery engineering: an equivalent circuit with a tabulated voltage, an extended Kalman filter of the charge",
    lambda: (np.array([0.015, 0.02, 1800.0]), 2.3, np.array([1e-6, 4e-4])),
    wrt=(0, 1, 2),
    slow=True,
)
def innovation_cost(circuit, capacity, noise):
    r0, r1, c1 = circuit
    soc_grid = np.linspace(0.0, 1.0, 9)
    ocv_grid = np.array([3.0, 3.35, 3.48, 3.56, 3.62, 3.70, 3.82, 3.98, 4.18])

    def ocv(z):
        return np.interp(z, soc_grid, ocv_grid)

    def slope(z):
        k = min(max(np.searchsorted(soc_grid, z) - 1, 0), soc_grid.size - 2)
        return (ocv_grid[k + 1] - ocv_grid[k]) / (soc_grid[k + 1] - soc_grid[k])

    g = rng(4)
    dt = 10.0
    current = np.repeat([1.5, 0.0, 3.0, -1.0, 2.0], 8)
    z_true, v_true = 0.83, 0.0
    x, P = np.array([0.7, 0.0]), np.diag([0.02, 1e-4])
    cost = 0.0
    for i in current:
        z_true -= i * dt / 3600 / 2.3
        v_true += dt * (i / 1800.0 - v_true / (0.02 * 1800.0))
        measured = np.interp(z_true, soc_grid, ocv_grid) - v_true - 0.015 * i + 0.004 * g.standard_normal()
        a = math.exp(-dt / (r1 * c1))
        F = np.diag([1.0, a])
        x = F @ x + np.array([-dt / 3600 / capacity, r1 * (1 - a)]) * i
        P = F @ P @ F.T + noise[0] * np.eye(2)
        C = np.array([[slope(x[0]), -1.0]])
        S = (C @ P @ C.T).item() + noise[1]
        e = measured - (ocv(x[0]) - x[1] - r0 * i)
        K = (P @ C.T).ravel() / S
        x = x + K * e
        P = (np.eye(2) - np.outer(K, C)) @ P
        P = 0.5 * (P + P.T)
        cost += e * e / S + math.log(S)
    return cost / current.size


# ---------------------------------------------------------------- maximum_power
@program(
    "photovoltaics: single diode by Lambert W, maximum power by minimize_scalar, temperature coefficients",
    lambda: (np.array([8.2, 1e-7, 0.3, 1.2]), 300.0),
    wrt=(0, 1),
)
def maximum_power(p, T):
    iph, i0, rs, n = p
    vt = n * 8.617e-5 * T * 36

    def current(v):
        arg = rs * i0 / vt * np.exp((v + rs * (iph + i0)) / vt)
        return iph + i0 - vt / rs * special.lambertw(arg).real

    best = optimize.minimize_scalar(
        lambda v: -v * current(v), bounds=(5, 25), method="bounded", options={"xatol": 1e-9}
    )
    voc = vt * np.log1p(iph / i0)
    return best.fun + best.x * 0.1 + voc


# ---------------------------------------------------------------- string_power
@program(
    "photovoltaics: a string of cells partly in the shade with bypass diodes, its point of greatest power",
    lambda: (np.array([1.0, 0.95, 0.42, 0.9]), np.array([8.2, 1.3, 0.012, 60.0]), 318.0, 35.0),
    wrt=(0, 1, 2, 3),
)
def string_power(shade, module, temperature, tilt):
    photo, ideality, series, shunt = module
    vt = 24 * ideality * 1.380649e-23 * temperature / 1.602176634e-19
    saturation = 2e-8 * (temperature / 298.15) ** 3 * np.exp(1.12 / 8.617e-5 * (1 / 298.15 - 1 / temperature))
    # hour angles of a spring day at 48 degrees north, a plane that looks south
    lat, decl, slope = np.radians([48.0, 10.0, tilt])
    hour = np.radians(15.0 * (np.array([9.5, 12.25, 15.0]) - 12.0))
    elevation = np.arcsin(np.sin(lat) * np.sin(decl) + np.cos(lat) * np.cos(decl) * np.cos(hour))
    incidence = np.sin(decl) * np.sin(lat - slope) + np.cos(decl) * np.cos(lat - slope) * np.cos(hour)
    mass = 1 / (np.sin(elevation) + 0.50572 * (np.degrees(elevation) + 6.07995) ** -1.6364)
    beam = 1.353 * 0.7 ** (mass**0.678)
    suns = beam * np.maximum(incidence, 0) + 0.1 * (1 + np.cos(slope)) / 2

    def voltage(current, light):
        v = np.full(light.shape, 12.0)
        for _ in range(80):
            e = np.exp((v + current * series) / vt)
            f = light - saturation * (e - 1) - (v + current * series) / shunt - current
            df = -saturation * e / vt - 1 / shunt
            dv = np.clip(f / df, -2.0, 2.0)
            v = v - dv
            if np.all(np.abs(dv) < 1e-12):
                break
        return np.where(v < -0.5, -0.5 - 0.01 * current, v)

    total = 0.0
    for sun in suns:
        light = photo * sun * shade * (1 + 5e-4 * (temperature - 298.15))
        currents = np.linspace(0.05, 0.97, 24) * light.max()
        power = np.array([i * voltage(i, light).sum() for i in currents])
        k = int(np.argmax(power))
        a, b, c = np.polyfit(currents[k - 1 : k + 2] - currents[k], power[k - 1 : k + 2], 2)
        total += c - b**2 / (4 * a)
    return total / len(suns)


# ---------------------------------------------------------------- daily_yield
def sun_position(doy, hour, lat):
    decl = math.radians(23.45) * math.sin(2 * math.pi * (284 + doy) / 365)
    ha = math.radians(15.0 * (hour - 12.0))
    sin_el = math.sin(lat) * math.sin(decl) + math.cos(lat) * math.cos(decl) * math.cos(ha)
    el = math.asin(sin_el)
    az = math.atan2(math.sin(ha), math.cos(ha) * math.sin(lat) - math.tan(decl) * math.cos(lat))
    return el, az


@program(
    "solar energy: clear-sky energy on a tilted panel, kWh per square metre and day",
    lambda: (0.5, 0.15, 0.83),
    wrt=(0, 1, 2),
)
def daily_yield(tilt, azimuth, lat, doy=172, eff=0.19, albedo=0.2):
    """Clear-sky energy on a tilted panel, kWh per square metre and day."""
    total = 0.0
    for hour in range(5, 20):
        el, az = sun_position(doy, hour, lat)
        if el <= 0:
            continue
        air_mass = 1.0 / (math.sin(el) + 0.50572 * (math.degrees(el) + 6.07995) ** -1.6364)
        dni = 1353.0 * 0.7 ** (air_mass**0.678)
        cos_inc = math.sin(el) * math.cos(tilt) + math.cos(el) * math.sin(tilt) * math.cos(az - azimuth)
        dhi = 0.1 * dni
        ghi = dni * math.sin(el) + dhi
        poa = dni * max(cos_inc, 0.0)
        poa += dhi * 0.5 * (1 + math.cos(tilt)) + albedo * ghi * 0.5 * (1 - math.cos(tilt))
        total += eff * poa
    return total / 1000.0


# ---------------------------------------------------------------- farm_power
def jensen_wakes(xy, wind_dir, u_inf, ct=0.8, rotor=80.0, k=0.05):
    """Park model with Gaussian lateral profile, root-sum-square superposition."""
    c, s = np.cos(wind_dir), np.sin(wind_dir)
    down = xy[:, 0] * c + xy[:, 1] * s
    cross = -xy[:, 0] * s + xy[:, 1] * c
    dx = down[:, None] - down[None, :]
    dy = cross[:, None] - cross[None, :]
    behind = dx > 0
    safe = np.where(behind, dx, 1.0)
    width = 0.5 * rotor + k * safe
    deficit = (1 - np.sqrt(1 - ct)) * (0.5 * rotor / width) ** 2 * np.exp(-0.5 * (dy / width) ** 2)
    deficit = np.where(behind, deficit, 0.0)
    return u_inf * (1 - np.sqrt(np.sum(deficit**2, axis=1) + 1e-8))


@program(
    "wind energy: expected farm power in MW over a discrete wind rose of (direction, speed, probability)",
    lambda: (
        np.array([[0.0, 0.0], [500.0, 60.0], [950.0, -80.0], [300.0, 520.0], [820.0, 480.0]]),
        [(3.0, 9.0, 0.4), (48.0, 7.5, 0.35), (95.0, 10.5, 0.25)],
        0.78,
    ),
    wrt=(0, 2),
)
def farm_power(xy, rose, ct):
    """Expected farm power in MW over a discrete wind rose of (direction, speed, probability)."""
    total = 0.0
    for direction, speed, prob in rose:
        u = jensen_wakes(xy, np.deg2rad(direction), speed, ct=ct)
        total += prob * np.sum(0.5 * 1.225 * 0.4 * np.pi * 40.0**2 * u**3)
    return total / 1e6


# ---------------------------------------------------------------- bem_power
class Airfoil(ABC):
    @abstractmethod
    def cl(self, alpha): ...

    @abstractmethod
    def cd(self, alpha): ...

    def forces(self, alpha, phi):
        cl, cd = self.cl(alpha), self.cd(alpha)
        return cl * np.cos(phi) + cd * np.sin(phi), cl * np.sin(phi) - cd * np.cos(phi)


class ThinAirfoil(Airfoil):
    def __init__(self, slope: float = 2 * np.pi, cd0: float = 0.008):
        self.slope, self.cd0 = slope, cd0

    def cl(self, alpha):
        return self.slope * np.sin(alpha) * np.cos(alpha)

    def cd(self, alpha):
        return self.cd0 + 0.1 * alpha**2


class Cylinder(Airfoil):
    def cl(self, alpha):
        return 0.0

    def cd(self, alpha):
        return 1.1


@program(
    "wind energy: blade element momentum, abstract airfoil classes, induction iteration",
    lambda: (np.array([0.35, 0.3, 0.2, 0.12]), np.array([0.3, 0.25, 0.12, 0.05]), 7.0),
    wrt=(0, 1, 2),
)
def bem_power(chord, twist, tsr, B=3):
    r = np.linspace(0.2, 0.95, len(chord))
    foils: List[Airfoil] = [Cylinder(), ThinAirfoil(), ThinAirfoil(cd0=0.01), ThinAirfoil(5.9)]
    dQ = np.zeros_like(r)
    for i, (ri, c, th) in enumerate(zip(r, chord, twist)):
        sigma = B * c / (2 * np.pi * ri)
        a, ap = 0.3, 0.0
        for it in range(100):
            phi = np.arctan2(1 - a, (1 + ap) * ri * tsr)
            cn, ct = foils[i].forces(phi - th, phi)
            F = 2 / np.pi * np.arccos(np.exp(-B / 2 * (1 - ri) / (ri * np.sin(phi))))
            k = sigma * cn / (4 * F * np.sin(phi) ** 2)
            a_new = k / (1 + k) if k < 2 / 3 else 0.4
            kp = sigma * ct / (4 * F * np.sin(phi) * np.cos(phi))
            ap_new = kp / (1 - kp)
            if max(abs(a_new - a), abs(ap_new - ap)) < 1e-11:
                break
            a, ap = 0.5 * (a + a_new), 0.5 * (ap + ap_new)
        W2 = (1 - a) ** 2 + ((1 + ap) * ri * tsr) ** 2
        dQ[i] = 0.5 * W2 * B * c * ct * ri
    return np.trapezoid(dQ * tsr, r)
