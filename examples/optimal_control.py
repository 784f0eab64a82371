"""Swing a pendulum up by pushing its cart: optimal control by single shooting, with L-BFGS.

In:  a cart with a hanging pendulum, and the cost of a push.
Out: the pushes that swing it up and hold it there, their cost, and a picture (build/demo/swing.png).

The cost is a loop of Runge-Kutta steps over the pushes. Two checks: near the upright state the problem is linear and
quadratic, and L-BFGS has to find the cost of Riccati's recursion; and the swing has to end upright.

    python examples/optimal_control.py [--steps 150] [--small] [--out build/demo]
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import adjit

CART, BOB, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
STEP = 0.02
AT_REST = np.array([0.0, 0.0, 0.0, 0.0])  # place, angle from upright, and their speeds
WEIGHTS = np.array([0.5, 4.0, 0.1, 0.1])
PUSH = 0.002
END = 200.0  # how much the last state weighs


def rates(s, push):
    """The derivative of the state of a cart with a pendulum on a massless rod; angle 0 is upright."""
    sine, cosine = math.sin(s[1]), math.cos(s[1])
    swing = BOB * LENGTH * s[3] * s[3] * sine
    cart = (push + swing - BOB * GRAVITY * sine * cosine) / (CART + BOB * sine * sine)
    return np.array([s[2], s[3], cart, (GRAVITY * sine - cart * cosine) / LENGTH])


def advance(s, push):
    k1 = rates(s, push)
    k2 = rates(s + 0.5 * STEP * k1, push)
    k3 = rates(s + 0.5 * STEP * k2, push)
    k4 = rates(s + STEP * k3, push)
    return s + STEP / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def cost(pushes, s, end):
    """The cost of states and pushes; the last state weighs `end` times as much."""
    total = 0.0
    for t in range(pushes.size):
        # 1 - cos is the angle's square over two, near 0, and the same all around
        total += WEIGHTS[0] * s[0] ** 2 + 2.0 * WEIGHTS[1] * (1.0 - math.cos(s[1])) + PUSH * pushes[t] ** 2
        total += WEIGHTS[2] * s[2] ** 2 + WEIGHTS[3] * s[3] ** 2
        s = advance(s, pushes[t])
    last = WEIGHTS[0] * s[0] ** 2 + 2.0 * WEIGHTS[1] * (1.0 - math.cos(s[1]))
    return total + end * (last + WEIGHTS[2] * s[2] ** 2 + WEIGHTS[3] * s[3] ** 2)


def states(pushes, s):
    way = [s]
    for push in pushes:
        s = advance(s, push)
        way.append(s)
    return np.array(way)


def riccati(steps, end):
    """P with the cost s' P s of the best pushes from a state near the upright one, and the first push's gain."""
    a, b = adjit.jacfwd(advance, wrt=("s", "push"))(AT_REST, 0.0)
    q = np.diag(WEIGHTS)
    p, gain = end * q, np.zeros(4)
    for _ in range(steps):
        gain = b @ p @ a / (PUSH + b @ p @ b)
        p = q + a.T @ p @ (a - np.outer(b, gain))
    return p, gain


def best(start, state, end, iterations):
    """The pushes that L-BFGS finds, the cost at each call of the gradient, and the seconds in these calls."""
    way, spent = [], 0.0

    def asked(pushes):
        nonlocal spent
        begin = time.perf_counter()
        value, slope = both(pushes, state, end)
        spent += time.perf_counter() - begin
        way.append(value)
        return value, slope

    found = minimize(
        asked, start, jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 40, "ftol": 1e-15, "gtol": 1e-7},
    )  # fmt: skip
    return found.x, way, spent


def held_up(pushes, s, steps):
    """The pushes, followed by those of Riccati's recursion, which hold the pendulum up."""
    _, gain = riccati(steps, END)
    s, more = states(pushes, s)[-1], list(pushes)
    while len(more) < steps:
        near = np.array([s[0], math.remainder(s[1], 2.0 * math.pi), s[2], s[3]])
        more.append(float(np.clip(-gain @ near, -20.0, 20.0)))
        s = advance(s, more[-1])
    return np.array(more)


both = adjit.value_and_grad(cost)


def solve(steps, iterations):
    small = 1e-3 * np.array([1.0, 2.0, -0.5, 0.3])
    begin = time.perf_counter()
    both(np.zeros(60), small, END)
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    steady, _, _ = best(np.zeros(60), small, END, 2000)
    hanging = np.array([0.0, math.pi, 0.0, 0.0])
    # single shooting has local optima: first a short horizon from swings of different strength, then the best, longer
    swing = np.sin(np.arange(60) * STEP * math.sqrt(GRAVITY / LENGTH))
    tried = [best(strength * swing, hanging, END, 400) for strength in (2.0, 8.0, -8.0)]
    short, _, _ = min(tried, key=lambda one: one[1][-1])
    pushes, way, spent = best(held_up(short, hanging, steps), hanging, END, iterations)
    return {
        "small": small, "steady": steady, "pushes": pushes, "way": way, "seconds": time.perf_counter() - begin,
        "compiled": compiled, "gradient": spent / len(way), "states": states(pushes, hanging), "hanging": hanging,
    }  # fmt: skip


def check(found):
    """Near the upright state it finds Riccati's optimum; the swing ends upright; the gradient is right."""
    p, gain = riccati(found["steady"].size, END)
    wanted = found["small"] @ p @ found["small"]
    assert math.isclose(cost(found["steady"], found["small"], END), wanted, rel_tol=1e-4)
    assert math.isclose(found["steady"][0], -gain @ found["small"], rel_tol=1e-2)
    pushes, v = found["pushes"], np.random.default_rng(0).normal(size=found["pushes"].size)
    # at the optimum the gradient is zero, so compare it half way
    half = 0.5 * pushes
    ahead, behind = (cost(half + h * v, found["hanging"], END) for h in (1e-6, -1e-6))
    assert math.isclose(adjit.grad(cost)(half, found["hanging"], END) @ v, (ahead - behind) / 2e-6, rel_tol=1e-5)
    last = found["states"][-1]
    assert 1.0 - math.cos(last[1]) < 0.01, last
    assert np.abs(last[2:]).max() < 0.5, last


def draw(found, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    way, times = found["states"], STEP * np.arange(found["states"].shape[0])
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for k in range(0, len(way), 3):
        x, angle = way[k, 0], way[k, 1]
        shade = 0.15 + 0.85 * k / len(way)
        left.plot([x, x + LENGTH * math.sin(angle)], [0.0, LENGTH * math.cos(angle)], color=plt.cm.viridis(shade), lw=1)
    left.axhline(0.0, color="black", linewidth=0.8)
    left.set(aspect="equal", title="the pendulum, from early (dark) to late (light)", xlabel="m")
    right.plot(times[:-1], found["pushes"])
    right.set(xlabel="s", title="push and angle over time")
    right.set_ylabel("push, N", color="C0")
    angle = right.twinx()
    angle.plot(times, way[:, 1], color="C1")
    angle.axhline(0.0, color="C1", linewidth=0.6, linestyle="--")
    angle.set_ylabel("angle from upright, rad", color="C1")
    figure.savefig(file, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=150, help="pushes, of 0.02 s each")
    parser.add_argument("--small", action="store_true", help="fewer steps, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    found = solve(100, 500) if asked.small else solve(asked.steps, 3000)
    check(found)
    print(f"first call {found['compiled']:.1f} s, then {1e3 * found['gradient']:.3f} ms per gradient")
    print(f"all searches: {found['seconds']:.1f} s; the last one: {len(found['way'])} gradients")
    print(f"cost {found['way'][0]:.1f} -> {found['way'][-1]:.3f}")
    print("position, angle and their speeds at the end: " + ", ".join(f"{value:+.4f}" for value in found["states"][-1]))
    print(f"largest push {np.abs(found['pushes']).max():.1f} N")
    if not asked.small:
        asked.out.mkdir(parents=True, exist_ok=True)
        draw(found, asked.out / "swing.png")
        print(f"wrote {asked.out / 'swing.png'}")


if __name__ == "__main__":
    main()
