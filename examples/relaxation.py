"""Let particles come to rest: a Lennard-Jones cluster in a periodic box, with cell lists and L-BFGS.

In:  particles on a disturbed square lattice, in two dimensions (a fixed seed).
Out: the energy and the largest force before and after, how many particles have six neighbours, and a picture
     (build/demo/particles.png).

The energy sorts particles into cells and visits neighbouring cells only, so its time is proportional to the number of
particles. adjit differentiates it as it is: counting, sorting and index arrays are constants, and the forces come from
the pairs.

    python examples/relaxation.py [--side 40] [--small] [--out build/demo]
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import adjit

CUT = 2.5  # in diameters; energy and force go to zero there


def pair(r2):
    """Lennard-Jones, shifted with its slope so that it ends smoothly at the cut-off."""
    s6 = (1.0 / r2) ** 3
    end6 = CUT**-6
    slope = -24.0 * (2.0 * end6 * end6 - end6) / CUT
    return 4.0 * (s6 * s6 - s6) - 4.0 * (end6 * end6 - end6) - slope * (math.sqrt(r2) - CUT)


def energy(x, box):
    """The energy of particles (n, 2) in a periodic box of this length, by cells no smaller than the cut-off."""
    n = x.shape[0]
    cells = int(box / CUT)
    width = box / cells
    # counting sort of particles by their cells
    cell_of = np.empty(n, dtype=np.int64)
    first = np.zeros(cells * cells + 1, dtype=np.int64)
    for i in range(n):
        row = int(x[i, 0] / width) % cells
        column = int(x[i, 1] / width) % cells
        cell_of[i] = row * cells + column
        first[cell_of[i] + 1] += 1
    for c in range(cells * cells):
        first[c + 1] += first[c]
    filled = first.copy()
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[filled[cell_of[i]]] = i
        filled[cell_of[i]] += 1
    total = 0.0
    for row in range(cells):
        for column in range(cells):
            here = row * cells + column
            for down in range(-1, 2):
                for right in range(-1, 2):
                    there = ((row + down) % cells) * cells + (column + right) % cells
                    for a in range(first[here], first[here + 1]):
                        for b in range(first[there], first[there + 1]):
                            i, j = order[a], order[b]
                            if i < j:
                                dx = x[i, 0] - x[j, 0]
                                dy = x[i, 1] - x[j, 1]
                                dx -= box * round(dx / box)
                                dy -= box * round(dy / box)
                                r2 = dx * dx + dy * dy
                                if r2 < CUT * CUT:
                                    total += pair(r2)
    return total


def energy_of_all_pairs(x, box):
    """The same without cells, for the check."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            d = x[i] - x[j]
            d = d - box * np.round(d / box)
            r2 = np.sum(d * d)
            if r2 < CUT * CUT:
                total += pair(r2)
    return total


def start(side, seed=3):
    """A disturbed square lattice, as dense as a triangular one at rest, and the length of its box."""
    spacing = 2.0 ** (1.0 / 6.0) * math.sqrt(math.sqrt(3.0) / 2.0) * 0.99
    places = spacing * (np.indices((side, side)).reshape(2, -1).T + 0.5)
    return places + 0.08 * np.random.default_rng(seed).normal(size=places.shape), spacing * side


def neighbours(x, box, within=1.4):
    """How many others are near each particle."""
    d = x[:, None] - x[None]
    d -= box * np.round(d / box)
    return (np.sum(d * d, axis=2) < within**2).sum(axis=1) - 1


def solve(side, iterations):
    x0, box = start(side)
    both = adjit.value_and_grad(energy)
    way, spent = [], []

    def asked(vector):
        # particles that have left the box come back on the other side
        x = vector.reshape(-1, 2) % box
        begin = time.perf_counter()
        value, slope = both(x, box)
        spent.append(time.perf_counter() - begin)
        way.append((value, np.abs(slope).max()))
        return value, slope.ravel()

    begin = time.perf_counter()
    both(x0, box)
    compiled = time.perf_counter() - begin

    begin = time.perf_counter()
    found = minimize(
        asked, x0.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-6},
    )  # fmt: skip
    rest = found.x.reshape(-1, 2) % box
    return {
        "start": x0 % box, "rest": rest, "box": box, "way": way, "seconds": time.perf_counter() - begin,
        "compiled": compiled, "gradient": np.mean(spent),
    }  # fmt: skip


def check(found):
    """The cells miss no pair, the forces agree with those of all pairs, and the result is a minimum."""
    x, box = found["start"], found["box"]
    some = x[np.random.default_rng(0).permutation(len(x))[:200]]
    assert math.isclose(energy(some, box), energy_of_all_pairs(some, box), rel_tol=1e-12)
    forces, wanted = adjit.grad(energy)(some, box), adjit.grad(energy_of_all_pairs)(some, box)
    assert np.abs(forces - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert np.abs(forces.sum(axis=0)).max() < 1e-9 * np.abs(forces).max()  # Newton's third law
    (first, _), (last, force) = found["way"][0], found["way"][-1]
    assert last < first, (first, last)
    assert force < 1e-3, force
    # the energy grows in all directions from a minimum
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = rng.normal(size=found["rest"].shape)
        assert np.sum(v * adjit.hvp(energy)(found["rest"], box, v)) > 0.0


def draw(found, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for axis, x, title in zip(axes, (found["start"], found["rest"]), ("before", "at rest"), strict=False):
        count = neighbours(x, found["box"])
        shown = axis.scatter(*x.T, c=count, s=12, cmap="coolwarm", vmin=4, vmax=8)
        axis.set(title=title, aspect="equal", xticks=[], yticks=[])
    figure.colorbar(shown, ax=axes[1], label="neighbours")
    axes[2].semilogy([force for _, force in found["way"]], linewidth=0.8)
    axes[2].set(xlabel="calls", ylabel="largest force")
    figure.savefig(file, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--side", type=int, default=40, help="particles per row at the start")
    parser.add_argument("--small", action="store_true", help="a hundred particles, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    found = solve(10, 2000) if asked.small else solve(asked.side, 5000)
    check(found)
    count = len(found["rest"])
    print(f"first call {found['compiled']:.1f} s, then {1e3 * found['gradient']:.2f} ms per gradient")
    print(f"{count} particles, {len(found['way'])} gradients, {found['seconds']:.1f} s")
    print(f"energy/particle    {found['way'][0][0] / count:.4f} -> {found['way'][-1][0] / count:.4f}")
    print(f"largest force      {found['way'][0][1]:.1e} -> {found['way'][-1][1]:.1e}")
    six = [np.mean(neighbours(x, found["box"]) == 6) for x in (found["start"], found["rest"])]
    print(f"six neighbours     {six[0]:.0%} -> {six[1]:.0%}")
    if not asked.small:
        asked.out.mkdir(parents=True, exist_ok=True)
        draw(found, asked.out / "particles.png")
        print(f"wrote {asked.out / 'particles.png'}")


if __name__ == "__main__":
    main()
