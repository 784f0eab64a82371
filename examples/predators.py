"""How certain are the rates of predators and prey? Parameters of an ODE by Hamiltonian Monte Carlo.

In:  counts of two species at 21 times, computed from known rates with lognormal noise (a fixed seed).
Out: means and deviations of the six unknowns, the true values, and a picture of the posterior (build/demo/rates.png).

The solution is a loop of Runge-Kutta steps. A compiled sampler calls adjit's gradient of the log-density. The Hessian
at the mode sets the scales of the sampler.

    python examples/predators.py [--draws 2000] [--small] [--out build/demo]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from numba import njit
from scipy.optimize import minimize

import adjit

NAMES = ("prey's growth", "predation", "conversion", "predators' death", "prey at first", "predators at first")
TRUTH = np.log(np.array([0.55, 0.028, 0.024, 0.80, 34.0, 6.0]))
STEPS = 10  # between two counts
NOISE = 0.15


@njit
def path(q, times, dt):
    """Logarithms of both species at each time, from logarithms of four rates and of both species at the start."""
    a, b, c, d = np.exp(q[0]), np.exp(q[1]), np.exp(q[2]), np.exp(q[3])
    u, v = q[4], q[5]
    seen = np.empty((times, 2))
    seen[0] = u, v
    for t in range(1, times):
        for _ in range(STEPS):
            # in logarithms: u' = a - b exp(v), v' = c exp(u) - d
            k1, l1 = a - b * np.exp(v), c * np.exp(u) - d
            k2, l2 = a - b * np.exp(v + 0.5 * dt * l1), c * np.exp(u + 0.5 * dt * k1) - d
            k3, l3 = a - b * np.exp(v + 0.5 * dt * l2), c * np.exp(u + 0.5 * dt * k2) - d
            k4, l4 = a - b * np.exp(v + dt * l3), c * np.exp(u + dt * k3) - d
            u += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            v += dt / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        seen[t] = u, v
    return seen


@njit
def surprise(q, counts):
    """Minus the log-density, up to a constant: lognormal noise, and wide priors around plausible rates."""
    seen = path(q, counts.shape[0], 1.0 / STEPS)
    total = 0.0
    for t in range(counts.shape[0]):
        for k in range(2):
            total += 0.5 * ((seen[t, k] - np.log(counts[t, k])) / NOISE) ** 2
    total += 0.5 * (q[0] + 0.7) ** 2 + 0.5 * (q[3] + 0.2) ** 2
    total += 0.5 * (q[1] + 3.5) ** 2 + 0.5 * (q[2] + 3.5) ** 2
    return total + 0.5 * (q[4] - 3.5) ** 2 + 0.5 * (q[5] - 2.0) ** 2


both = adjit.value_and_grad(surprise)


@njit
def sample(mode, factor, counts, draws, step, leaps, seed):
    """`draws` points of the posterior, in coordinates z with q = mode + factor @ z, and the share of accepted moves."""
    np.random.seed(seed)
    z, kept, accepted = 2.0 * np.random.standard_normal(mode.size), np.empty((draws, mode.size)), 0
    value, slope = both(mode + factor @ z, counts)
    for d in range(draws):
        p = np.random.standard_normal(mode.size)
        new_z, new_p, new_value, new_slope = z.copy(), p.copy(), value, slope
        for _ in range(leaps):
            new_p = new_p - 0.5 * step * (factor.T @ new_slope)
            new_z = new_z + step * new_p
            new_value, new_slope = both(mode + factor @ new_z, counts)
            new_p = new_p - 0.5 * step * (factor.T @ new_slope)
        if np.log(np.random.random()) < value + 0.5 * np.sum(p * p) - new_value - 0.5 * np.sum(new_p * new_p):
            z, value, slope = new_z, new_value, new_slope
            accepted += 1
        kept[d] = mode + factor @ z
    return kept, accepted / draws


def counted(seed=11, times=21):
    noise = np.random.default_rng(seed).normal(size=(times, 2))
    return np.exp(path(TRUTH, times, 1.0 / STEPS) + NOISE * noise)


def solve(draws):
    """Four chains, which start near the mode."""
    counts = counted()
    start = np.array([-0.7, -3.5, -3.5, -0.2, 3.5, 2.0])
    found = minimize(both, start, args=(counts,), jac=True, method="BFGS", options={"gtol": 1e-7})
    covariance = np.linalg.inv(adjit.hessian(surprise)(found.x, counts))
    factor = np.linalg.cholesky(covariance)
    chains = [sample(found.x, factor, counts, draws, 0.35, 6, seed) for seed in range(4)]
    kept = np.array([chain[draws // 5 :] for chain, _ in chains])
    begin = time.perf_counter()
    for _ in range(200):
        both(found.x, counts)
    return {
        "counts": counts, "mode": found.x, "kept": kept, "accepted": [rate for _, rate in chains],
        "seconds": (time.perf_counter() - begin) / 200,
    }  # fmt: skip


def scale_reduction(kept):
    """1 if the chains no longer depend on where they began, else more (Gelman and Rubin 1992)."""
    length = kept.shape[1]
    within = kept.var(axis=1, ddof=1).mean(axis=0)
    between = length * kept.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((length - 1) / length + between / (length * within))


def check(found):
    """The chains agree, few draws are rejected, and the truth is where the posterior says."""
    every = found["kept"].reshape(-1, TRUTH.size)
    assert min(found["accepted"]) > 0.7, found["accepted"]
    assert scale_reduction(found["kept"]).max() < 1.1, scale_reduction(found["kept"])
    away = np.abs(every.mean(axis=0) - TRUTH) / every.std(axis=0)
    assert away.max() < 3.5, away
    adjit.check_grads(surprise, (TRUTH, found["counts"]), wrt="q")


def draw(found, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    every, times = found["kept"].reshape(-1, TRUTH.size), found["counts"].shape[0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    years, finer = np.linspace(0.0, times - 1.0, 8 * (times - 1) + 1), 1.0 / (8 * STEPS)
    for q in every[:: max(1, len(every) // 60)]:
        for species, color in zip(np.exp(path(q, years.size, finer)).T, ("C0", "C1"), strict=True):
            left.plot(years, species, linewidth=0.4, alpha=0.4, color=color)
    for species, name in zip(found["counts"].T, ("prey", "predators"), strict=True):
        left.plot(species, "o", markersize=4, label=name)
    left.legend()
    left.set(xlabel="year", ylabel="thousands", title="counts (dots), solutions from the posterior (lines)")
    right.scatter(*np.exp(every[::5, :2]).T, s=3, alpha=0.3)
    right.plot(*np.exp(TRUTH[:2]), "k+", markersize=14)
    right.set(xlabel=NAMES[0], ylabel=NAMES[1], title="draws of two unknowns, and the truth (+)")
    figure.savefig(file, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=2000, help="draws per chain")
    parser.add_argument("--small", action="store_true", help="300 draws per chain, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    found = solve(300 if asked.small else asked.draws)
    check(found)
    every = found["kept"].reshape(-1, TRUTH.size)
    print(f"{1e6 * found['seconds']:.0f} us per gradient")
    print(f"accepted {np.mean(found['accepted']):.0%}, scale reduction {scale_reduction(found['kept']).max():.3f}")
    for name, mean, deviation, truth in zip(NAMES, every.mean(axis=0), every.std(axis=0), TRUTH, strict=True):
        print(f"{name:20} {np.exp(mean):8.4f} (times or divided by {np.exp(deviation):.3f}); truth {np.exp(truth):.4f}")
    if not asked.small:
        asked.out.mkdir(parents=True, exist_ok=True)
        draw(found, asked.out / "rates.png")
        print(f"wrote {asked.out / 'rates.png'}")


if __name__ == "__main__":
    main()
