import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from itertools import accumulate, chain, combinations, pairwise

import numpy as np

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# optics: a stack of thin films by characteristic matrices, reflectance over a band
@prog("optics", lambda: (np.array([99.0, 145.0, 99.0, 145.0]), np.array([2.35, 1.45, 2.3, 1.46]), 1.52), (0, 1, 2))
def mean_reflectance(thickness, index, substrate):
    total = 0.0
    wavelengths = np.linspace(450.0, 650.0, 9)
    for lam in wavelengths:
        M = np.eye(2, dtype=complex)
        for d, n in zip(thickness[::-1], index[::-1]):
            delta = 2.0 * np.pi * n * d / lam
            layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
            M = layer @ M
        B, C = M @ np.array([1.0, substrate])
        r = (B - C) / (B + C)
        total += abs(r) ** 2
    return total / wavelengths.size


# phylogenetics: Felsenstein's pruning on a nested tuple with Jukes-Cantor, invariant sites
TREE = ((("A", 0), ("B", 1), 2), (("C", 3), ("D", 4), 5))


def _partial(node, leaves, lengths, rate):
    if isinstance(node[0], str):
        likelihood = leaves[node[0]]
    else:
        left, right, _ = node
        likelihood = _partial(left, leaves, lengths, rate) * _partial(right, leaves, lengths, rate)
    decay = math.exp(-4.0 / 3.0 * rate * lengths[node[-1]])
    P = np.full((4, 4), 0.25 * (1.0 - decay)) + decay * np.eye(4)
    return P @ likelihood


@prog("phylogenetics", lambda: (np.array([0.1, 0.2, 0.15, 0.3, 0.25, 0.12]), 0.8, 0.1), (0, 1, 2))
def tree_log_likelihood(lengths, rate, invariant):
    sites = {"A": "ACGTAAC", "B": "ACGTAGC", "C": "ACCTATC", "D": "ACCTTTC"}
    pi = np.full(4, 0.25)
    total = 0.0
    for column in zip(*sites.values()):
        leaves = {}
        for name, base in zip(sites, column):
            one = np.zeros(4)
            one["ACGT".index(base)] = 1.0
            leaves[name] = one
        left, right = TREE
        root = _partial((*left[:-1], left[-1]), leaves, lengths, rate) * _partial(right, leaves, lengths, rate)
        likelihood = (1.0 - invariant) * (pi @ root)
        if len(set(column)) == 1:
            likelihood += invariant * 0.25
        total += math.log(likelihood)
    return total


# power engineering: AC power flow by Newton steps written out, losses of a small grid
@prog(
    "power engineering", lambda: (np.array([0.5, 0.3]), np.array([0.2, 0.1]), np.array([0.02, 0.03, 0.025])), (0, 1, 2)
)
def grid_losses(P, Q, r):
    lines = [(0, 1), (1, 2), (0, 2)]
    Y = np.zeros((3, 3), complex)
    for (a, b), resistance in zip(lines, r):
        y = 1.0 / (resistance + 0.1j)
        Y[a, b] -= y
        Y[b, a] -= y
        Y[a, a] += y
        Y[b, b] += y
    V = np.ones(3, complex)
    S = -(P + 1j * Q)
    for sweep in range(60):
        for k in (1, 2):
            others = sum(Y[k, m] * V[m] for m in range(3) if m != k)
            V[k] = (np.conj(S[k - 1] / V[k]) - others) / Y[k, k]
    current = Y @ V
    return (V * current.conj()).sum().real


# speech: linear prediction by Levinson and Durbin, spectral distance
@prog("speech", lambda: (rng(381).normal(size=40), 0.95), (0, 1))
def prediction_gain(frame, emphasis):
    x = np.append(frame[0], frame[1:] - emphasis * frame[:-1])
    x = x * np.hamming(len(x))
    order = 4
    R = [x[: len(x) - k] @ x[k:] for k in range(order + 1)]
    a, error = [1.0], R[0]
    reflections = []
    for i in range(1, order + 1):
        acc = sum(a[j] * R[i - j] for j in range(i))
        k = -acc / error
        reflections.append(k)
        a = [u + k * v for u, v in zip([*a, 0.0], [0.0, *reversed(a)])]
        error *= 1.0 - k * k
    areas = list(accumulate(reflections, lambda area, k: area * (1 - k) / (1 + k), initial=1.0))
    return 10.0 * math.log10(R[0] / error) + max(areas) - min(areas)


# robotics: inverse kinematics residual through homogeneous transforms from Denavit-Hartenberg rows
@dataclass
class Joint:
    theta: float
    d: float
    a: float
    alpha: float
    limits: tuple[float, float] = field(default=(-math.pi, math.pi))

    def matrix(self, q):
        lo, hi = self.limits
        t = min(max(self.theta + q, lo), hi)
        ct, st, ca, sa = math.cos(t), math.sin(t), math.cos(self.alpha), math.sin(self.alpha)
        return np.array(
            [
                [ct, -st * ca, st * sa, self.a * ct],
                [st, ct * ca, -ct * sa, self.a * st],
                [0, sa, ca, self.d],
                [0, 0, 0, 1],
            ]
        )


@prog("robotics", lambda: (np.array([0.3, -0.6, 0.9]), np.array([0.5, 0.2, 0.7])), (0, 1))
def reach_error(q, target):
    arm = [Joint(0.0, 0.4, 0.0, math.pi / 2), Joint(0.1, 0.0, 0.6, 0.0), Joint(0.0, 0.0, 0.5, 0.0, (-0.8, 0.8))]
    T = np.identity(4)
    elbows = []
    for joint, angle in zip(arm, q, strict=True):
        T = T @ joint.matrix(angle)
        elbows.append(T[:3, 3].copy())
    *_, tip = elbows
    penalty = sum(max(0.0, 0.05 - z) ** 2 for *_, z in elbows)
    return np.linalg.norm(tip - target) + 10.0 * penalty


# hydrology: Muskingum routing through reaches with lateral inflow and a rating curve
@prog("hydrology", lambda: (np.array([10, 25, 60, 90, 70, 45, 30, 20.0]), np.array([1.8, 2.2]), 0.2), (0, 1, 2))
def peak_stage(inflow, K, X, dt=1.0):
    rating = {"q": np.array([0.0, 20.0, 50.0, 120.0]), "h": np.array([0.0, 0.9, 1.7, 2.9])}
    hydrograph = inflow
    for k in K:
        D = 2.0 * k * (1.0 - X) + dt
        c0, c1 = (dt - 2.0 * k * X) / D, (dt + 2.0 * k * X) / D
        c2 = 1.0 - c0 - c1
        out = [hydrograph[0]]
        for before, now in pairwise(hydrograph):
            out.append(c0 * now + c1 * before + c2 * out[-1])
        hydrograph = np.array(out) + 0.05 * inflow.mean()
    stage = np.interp(hydrograph, rating["q"], rating["h"])
    return stage.max() + 0.1 * stage.std()


# ecology: age classes with harvest, density dependence and a deque of delayed recruitment
@prog("ecology", lambda: (np.array([100.0, 60.0, 30.0]), np.array([0.5, 0.6, 0.7]), 2.0, 0.004), (0, 1, 2, 3))
def harvested_biomass(n0, survival, fecundity, density):
    delayed = deque([5.0, 4.0], maxlen=2)
    n, caught = n0.copy(), 0.0
    for year in range(6):
        recruits = delayed.popleft()
        spawners = n[1:].sum()
        delayed.append(fecundity * spawners * np.exp(-density * spawners))
        quota = 0.2 if year % 2 else 0.1
        caught += (quota * n * np.array([0.1, 0.5, 1.2])).sum()
        n *= (1 - quota) * survival
        n[-1] += n[-2]
        n[1:-1] = n[:-2]
        n[0] = recruits
    return caught + 0.1 * n @ np.arange(1.0, 4.0)


# geodesy: distance on an ellipsoid by Vincenty's iteration, adjusted for a loop closure
@prog("geodesy", lambda: (np.array([0.86, 0.12]), np.array([0.88, 0.15]), 1 / 298.257), (0, 1, 2))
def geodesic(p, q, f, b=6356.752):
    U1, U2 = math.atan((1 - f) * math.tan(p[0])), math.atan((1 - f) * math.tan(q[0]))
    L = lam = q[1] - p[1]
    while True:
        sin_s = math.hypot(
            math.cos(U2) * math.sin(lam), math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * math.cos(lam)
        )
        cos_s = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * math.cos(lam)
        sigma = math.atan2(sin_s, cos_s)
        sin_a = math.cos(U1) * math.cos(U2) * math.sin(lam) / sin_s
        cos2_a = 1 - sin_a**2
        cos_2m = cos_s - 2 * math.sin(U1) * math.sin(U2) / cos2_a if cos2_a else 0.0
        C = f / 16 * cos2_a * (4 + f * (4 - 3 * cos2_a))
        lam, old = (
            L + (1 - C) * f * sin_a * (sigma + C * sin_s * (cos_2m + C * cos_s * (2 * cos_2m**2 - 1))),
            lam,
        )
        if abs(lam - old) < 1e-13:
            break
    a = b / (1 - f)
    u2 = cos2_a * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    return b * A * sigma


# quantum chemistry: a Hueckel matrix of a ring, charges of the occupied orbitals, bond orders
@prog("quantum chemistry", lambda: (np.array([-0.1, 0.2, 0.05, -0.15, 0.1]), -1.0), (0, 1))
def bond_energy(alpha, beta):
    n = alpha.size
    H = np.diag(alpha)
    for i in range(n):
        j = (i + 1) % n
        H[i, j] = H[j, i] = beta * (1.0 + 0.03 * i)
    energies, orbitals = np.linalg.eigh(H)
    occupation = np.zeros(n)
    left = n
    for k in range(n):
        occupation[k] = min(2, left)
        left -= occupation[k]
    D = np.einsum("k,ik,jk->ij", occupation, orbitals, orbitals)
    charges = 1.0 - np.diag(D)
    orders = [D[i, (i + 1) % n] for i in range(n)]
    return occupation @ energies + np.sum(charges**2) + 0.1 * math.prod(orders)


# actuarial science: joint-life annuity from Gompertz-Makeham mortality, with a generator of ages
def lives(x, horizon):
    age = x
    while age < x + horizon:
        yield age
        age += 1


@prog("actuarial science", lambda: (0.0003, 2.7e-6, 1.124, 0.03), (0, 1, 2, 3))
def joint_annuity(A, B, c, i):
    def survival(age):
        return math.exp(-A - B * c**age * (c - 1) / math.log(c))

    v = 1.0 / (1.0 + i)
    alive, value = 1.0, 0.0
    for t, (x, y) in enumerate(zip(lives(60, 30), lives(57, 30))):
        value += alive * v**t
        alive *= survival(x) * survival(y)
        if t == 25:
            continue
        value += 0.5 * v ** (t + 0.5) * alive * (1.0 - survival(y))
    return value


# neuroscience: a small network of leaky integrators with delays, spikes smoothed by a softplus
@prog("neuroscience", lambda: (rng(382).normal(size=(4, 4)), np.array([0.5, 0.2, 0.9, 0.4]), 8.0), (0, 1, 2))
def firing(W, drive, sharpness):
    steps, delay = 12, 3
    v = np.zeros((steps + 1, 4))
    rate = np.zeros((steps + 1, 4))
    for t in range(steps):
        heard = rate[max(t - delay, 0)] if t >= delay else np.zeros(4)
        v[t + 1] = v[t] + 0.1 * (-v[t] + drive + np.where(np.eye(4, dtype=bool), 0.0, W) @ heard)
        rate[t + 1] = np.log1p(np.exp(sharpness * (v[t + 1] - 0.2))) / sharpness
    mean = rate[delay:].mean(axis=0)
    cross = np.corrcoef(rate[delay:], rowvar=False)
    return mean.sum() + 0.01 * np.triu(cross, 1).sum()


# materials science: Hall-Petch and rule of mixtures over pairs of phases, with counters and groups
@prog("materials science", lambda: (np.array([120.0, 310.0, 205.0]), np.array([0.5, 0.3, 0.2]), 0.7), (0, 1, 2))
def alloy_strength(sigma, fraction, k):
    grains = defaultdict(list)
    for phase, size in [("a", 10.0), ("b", 2.5), ("a", 14.0), ("c", 6.0), ("b", 3.0)]:
        grains[phase].append(size)
    counts = Counter(chain.from_iterable([p] * len(s) for p, s in grains.items()))
    strength = 0.0
    for (phase, sizes), s0, f in zip(grains.items(), sigma, fraction):
        mean = sum(sizes) / counts[phase]
        strength += f * (s0 + k * 100.0 / math.sqrt(mean))
    for i, j in combinations(range(3), 2):
        strength += 4.0 * fraction[i] * fraction[j] * abs(sigma[i] - sigma[j]) ** 0.5
    return strength
