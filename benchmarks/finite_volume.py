"""A finite-volume code as people publish it: the 2-D Euler equations in NumPy style, on a periodic grid.

In:  a size. Out: a `Workload` whose function is called by plain Python, as published codes are.

Slopes are limited by minmod, fluxes are Rusanov's, a step is explicit. The adjoint by hand keeps the state of each step
and runs the reverse of each step line by line: the lines of one direction, then those of the other.
"""

import dataclasses
import functools
import math
from importlib.util import find_spec

import numpy as np
from numba import njit

from workloads import Workload, workload

GAMMA = 1.4


def finite_volumes(size: str) -> list[Workload]:
    n, steps = {"small": (32, 20), "default": (128, 50), "large": (256, 200)}[size]
    at = (np.arange(n) + 0.5) / n
    y, x = np.meshgrid(at, at, indexing="ij")
    layer = np.exp(-((y - 0.25) ** 2) / 0.005) + np.exp(-((y - 0.75) ** 2) / 0.005)
    inside = np.abs(y - 0.5) < 0.25
    # no two neighbours are alike, so that no derivative is that at a tie
    noise = 0.01 * np.random.default_rng(2).normal(size=(4, n, n))
    density = np.where(inside, 2.0, 1.0) + noise[0]
    u, v = np.where(inside, 0.5, -0.5) + noise[1], 0.1 * np.sin(4.0 * np.pi * x) * layer + noise[2]
    fields = (density, density * u, density * v)
    energy = (2.5 + noise[3]) / (GAMMA - 1.0) + 0.5 * density * (u**2 + v**2)
    arguments = (*fields, energy, 0.15, steps)
    found = workload("euler2d", euler, euler_by_hand, arguments, (0, 1, 2, 3))
    has_jax = find_spec("jax") is not None
    return [dataclasses.replace(found, jax=functools.partial(_in_jax, arguments) if has_jax else None)]


# ------------------------------------------------------------------------------------------------------ as published


def primitive(density, momentum_x, momentum_y, energy):
    u, v = momentum_x / density, momentum_y / density
    pressure = (GAMMA - 1.0) * (energy - 0.5 * density * (u**2 + v**2))
    return u, v, pressure


def limited_slope(q, axis):
    behind = q - np.roll(q, 1, axis)
    ahead = np.roll(q, -1, axis) - q
    smaller = np.where(np.abs(behind) < np.abs(ahead), behind, ahead)
    return np.where(behind * ahead > 0.0, smaller, 0.0)


def faces(q, axis):
    """The field on both sides of the face behind each cell's centre."""
    half = 0.5 * limited_slope(q, axis)
    return q + half, np.roll(q - half, -1, axis)


def conserved_and_flux(density, normal, along, pressure):
    energy = pressure / (GAMMA - 1.0) + 0.5 * density * (normal**2 + along**2)
    mass = density * normal
    conserved = (density, mass, density * along, energy)
    return conserved, (mass, mass * normal + pressure, mass * along, (energy + pressure) * normal)


def rusanov(density, normal, along, pressure, axis):
    """Fluxes of mass, normal momentum, other momentum and energy."""
    r_left, r_right = faces(density, axis)
    n_left, n_right = faces(normal, axis)
    a_left, a_right = faces(along, axis)
    p_left, p_right = faces(pressure, axis)
    left, flux_left = conserved_and_flux(r_left, n_left, a_left, p_left)
    right, flux_right = conserved_and_flux(r_right, n_right, a_right, p_right)
    speed_left = np.sqrt(GAMMA * p_left / r_left) + np.abs(n_left)
    speed_right = np.sqrt(GAMMA * p_right / r_right) + np.abs(n_right)
    speed = np.maximum(speed_left, speed_right)
    mass = 0.5 * (flux_left[0] + flux_right[0] - speed * (right[0] - left[0]))
    through = 0.5 * (flux_left[1] + flux_right[1] - speed * (right[1] - left[1]))
    across = 0.5 * (flux_left[2] + flux_right[2] - speed * (right[2] - left[2]))
    energy = 0.5 * (flux_left[3] + flux_right[3] - speed * (right[3] - left[3]))
    return mass, through, across, energy


def gained(flux, ratio, axis):
    return ratio * (np.roll(flux, 1, axis) - flux)


def euler(density, momentum_x, momentum_y, energy, ratio, steps):
    """The variance of the density after some steps; `ratio` is that of time step and width of a cell."""
    for _ in range(steps):
        u, v, pressure = primitive(density, momentum_x, momentum_y, energy)
        mass_x, normal_x, along_x, energy_x = rusanov(density, u, v, pressure, 1)
        mass_y, normal_y, along_y, energy_y = rusanov(density, v, u, pressure, 0)
        density = density + gained(mass_x, ratio, 1) + gained(mass_y, ratio, 0)
        momentum_x = momentum_x + gained(normal_x, ratio, 1) + gained(along_y, ratio, 0)
        momentum_y = momentum_y + gained(along_x, ratio, 1) + gained(normal_y, ratio, 0)
        energy = energy + gained(energy_x, ratio, 1) + gained(energy_y, ratio, 0)
    return np.mean((density - np.mean(density)) ** 2)


# ----------------------------------------------------------------------------------------------- the adjoint by hand


@njit
def primitive_line(state, i, is_row, q):
    """Density, normal velocity, the other velocity and pressure of a row or a column."""
    for j in range(q.shape[1]):
        a, b = (i, j) if is_row else (j, i)
        r, e = state[0, a, b], state[3, a, b]
        u, v = state[1, a, b] / r, state[2, a, b] / r
        q[0, j], q[3, j] = r, (GAMMA - 1.0) * (e - 0.5 * r * (u * u + v * v))
        q[1, j], q[2, j] = (u, v) if is_row else (v, u)


@njit
def slopes(q, half):
    """Half of the limited slopes of a line."""
    n = q.shape[1]
    for k in range(4):
        for j in range(n):
            behind = q[k, j] - q[k, j - 1 if j > 0 else n - 1]
            ahead = q[k, j + 1 if j + 1 < n else 0] - q[k, j]
            half[k, j] = 0.0
            if behind * ahead > 0.0:
                half[k, j] = 0.5 * (behind if abs(behind) < abs(ahead) else ahead)


@njit
def fluxes(q, half, f):
    n = q.shape[1]
    for j in range(n):
        m = j + 1 if j + 1 < n else 0
        rl, ul, vl, pl = q[0, j] + half[0, j], q[1, j] + half[1, j], q[2, j] + half[2, j], q[3, j] + half[3, j]
        rr, ur, vr, pr = q[0, m] - half[0, m], q[1, m] - half[1, m], q[2, m] - half[2, m], q[3, m] - half[3, m]
        el = pl / (GAMMA - 1.0) + 0.5 * rl * (ul * ul + vl * vl)
        er = pr / (GAMMA - 1.0) + 0.5 * rr * (ur * ur + vr * vr)
        ml, mr = rl * ul, rr * ur
        c = max(math.sqrt(GAMMA * pl / rl) + abs(ul), math.sqrt(GAMMA * pr / rr) + abs(ur))
        f[0, j] = 0.5 * (ml + mr - c * (rr - rl))
        f[1, j] = 0.5 * (ml * ul + pl + mr * ur + pr - c * (mr - ml))
        f[2, j] = 0.5 * (ml * vl + mr * vr - c * (rr * vr - rl * vl))
        f[3, j] = 0.5 * ((el + pl) * ul + (er + pr) * ur - c * (er - el))


@njit
def side_by_hand(r, u, v, p, e, f0, f1, f2, f3, s):
    """The adjoint of one side of a face. `f0` to `f3`: halved adjoints of the fluxes. `s`: the speed, negative for the
    right side."""
    e_bar = f3 * (u + s)
    r_bar = f0 * (u + s) + f1 * u * (u + s) + f2 * v * (u + s) + e_bar * 0.5 * (u * u + v * v)
    u_bar = f0 * r + f1 * r * (2.0 * u + s) + f2 * r * v + f3 * (e + p) + e_bar * r * u
    v_bar = f2 * r * (u + s) + e_bar * r * v
    return r_bar, u_bar, v_bar, f1 + f3 * u + e_bar / (GAMMA - 1.0)


@njit
def fluxes_by_hand(q, half, f_bar, q_bar, half_bar):
    n = q.shape[1]
    q_bar[:] = 0.0
    half_bar[:] = 0.0
    for j in range(n):
        m = j + 1 if j + 1 < n else 0
        rl, ul, vl, pl = q[0, j] + half[0, j], q[1, j] + half[1, j], q[2, j] + half[2, j], q[3, j] + half[3, j]
        rr, ur, vr, pr = q[0, m] - half[0, m], q[1, m] - half[1, m], q[2, m] - half[2, m], q[3, m] - half[3, m]
        el = pl / (GAMMA - 1.0) + 0.5 * rl * (ul * ul + vl * vl)
        er = pr / (GAMMA - 1.0) + 0.5 * rr * (ur * ur + vr * vr)
        sl, sr = math.sqrt(GAMMA * pl / rl), math.sqrt(GAMMA * pr / rr)
        c = max(sl + abs(ul), sr + abs(ur))
        f0, f1, f2, f3 = 0.5 * f_bar[0, j], 0.5 * f_bar[1, j], 0.5 * f_bar[2, j], 0.5 * f_bar[3, j]
        c_bar = -(f0 * (rr - rl) + f1 * (rr * ur - rl * ul) + f2 * (rr * vr - rl * vl) + f3 * (er - el))
        rl_bar, ul_bar, vl_bar, pl_bar = side_by_hand(rl, ul, vl, pl, el, f0, f1, f2, f3, c)
        rr_bar, ur_bar, vr_bar, pr_bar = side_by_hand(rr, ur, vr, pr, er, f0, f1, f2, f3, -c)
        if sl + abs(ul) >= sr + abs(ur):
            ul_bar += c_bar if ul > 0.0 else -c_bar
            pl_bar += 0.5 * sl / pl * c_bar
            rl_bar -= 0.5 * sl / rl * c_bar
        else:
            ur_bar += c_bar if ur > 0.0 else -c_bar
            pr_bar += 0.5 * sr / pr * c_bar
            rr_bar -= 0.5 * sr / rr * c_bar
        q_bar[0, j] += rl_bar
        q_bar[1, j] += ul_bar
        q_bar[2, j] += vl_bar
        q_bar[3, j] += pl_bar
        half_bar[0, j] += rl_bar
        half_bar[1, j] += ul_bar
        half_bar[2, j] += vl_bar
        half_bar[3, j] += pl_bar
        q_bar[0, m] += rr_bar
        q_bar[1, m] += ur_bar
        q_bar[2, m] += vr_bar
        q_bar[3, m] += pr_bar
        half_bar[0, m] -= rr_bar
        half_bar[1, m] -= ur_bar
        half_bar[2, m] -= vr_bar
        half_bar[3, m] -= pr_bar


@njit
def slopes_by_hand(q, half_bar, q_bar):
    n = q.shape[1]
    for k in range(4):
        for j in range(n):
            before, after = j - 1 if j > 0 else n - 1, j + 1 if j + 1 < n else 0
            behind, ahead = q[k, j] - q[k, before], q[k, after] - q[k, j]
            if behind * ahead > 0.0:
                bar = 0.5 * half_bar[k, j]
                if abs(behind) < abs(ahead):
                    q_bar[k, j] += bar
                    q_bar[k, before] -= bar
                else:
                    q_bar[k, after] += bar
                    q_bar[k, j] -= bar


@njit
def primitive_line_by_hand(q, q_bar, i, is_row, bar):
    """Adds the adjoint of a line of primitive fields to that of the state."""
    for j in range(q.shape[1]):
        a, b = (i, j) if is_row else (j, i)
        r, n, t = q[0, j], q[1, j], q[2, j]
        p_bar = (GAMMA - 1.0) * q_bar[3, j]
        n_bar, t_bar = q_bar[1, j] / r - p_bar * n, q_bar[2, j] / r - p_bar * t
        bar[0, a, b] += q_bar[0, j] - n * q_bar[1, j] / r - t * q_bar[2, j] / r + 0.5 * p_bar * (n * n + t * t)
        bar[1 if is_row else 2, a, b] += n_bar
        bar[2 if is_row else 1, a, b] += t_bar
        bar[3, a, b] += p_bar


@njit
def euler_by_hand(density, momentum_x, momentum_y, energy, ratio, steps):
    n = density.shape[0]
    states = np.empty((steps + 1, 4, n, n))
    states[0, 0], states[0, 1], states[0, 2], states[0, 3] = density, momentum_x, momentum_y, energy
    q, half, f = np.empty((4, n)), np.empty((4, n)), np.empty((4, n))
    order = ((0, 1, 2, 3), (0, 2, 1, 3))
    for t in range(steps):
        states[t + 1] = states[t]
        for is_row in (True, False):
            for i in range(n):
                primitive_line(states[t], i, is_row, q)
                slopes(q, half)
                fluxes(q, half, f)
                for k in range(4):
                    s = order[0][k] if is_row else order[1][k]
                    for j in range(n):
                        a, b = (i, j) if is_row else (j, i)
                        states[t + 1, s, a, b] += ratio * (f[k, j - 1 if j > 0 else n - 1] - f[k, j])
    last = states[steps, 0]
    mean = np.mean(last)
    value = 0.0
    bar, new_bar = np.zeros((4, n, n)), np.empty((4, n, n))
    for a in range(n):
        for b in range(n):
            value += (last[a, b] - mean) ** 2
            bar[0, a, b] = 2.0 * (last[a, b] - mean) / (n * n)
    f_bar, q_bar, half_bar = np.empty((4, n)), np.empty((4, n)), np.empty((4, n))
    for t in range(steps - 1, -1, -1):
        new_bar[:] = bar
        for is_row in (True, False):
            for i in range(n):
                primitive_line(states[t], i, is_row, q)
                slopes(q, half)
                for k in range(4):
                    s = order[0][k] if is_row else order[1][k]
                    for j in range(n):
                        a, b = (i, j) if is_row else (j, i)
                        c, d = (a, b + 1 if b + 1 < n else 0) if is_row else (a + 1 if a + 1 < n else 0, b)
                        f_bar[k, j] = ratio * (bar[s, c, d] - bar[s, a, b])
                fluxes_by_hand(q, half, f_bar, q_bar, half_bar)
                slopes_by_hand(q, half_bar, q_bar)
                primitive_line_by_hand(q, q_bar, i, is_row, new_bar)
        bar, new_bar = new_bar, bar
    return value / (n * n), (bar[0], bar[1], bar[2], bar[3])


# -------------------------------------------------------------------------------------------------------------- in JAX


def _in_jax(arguments):
    """JAX's value and gradient of the same program: a scan of steps, each recomputed in the reverse sweep."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    *fields, ratio, steps = arguments

    def slope(q, axis):
        behind, ahead = q - jnp.roll(q, 1, axis), jnp.roll(q, -1, axis) - q
        smaller = jnp.where(jnp.abs(behind) < jnp.abs(ahead), behind, ahead)
        return jnp.where(behind * ahead > 0.0, smaller, 0.0)

    def flux(q, axis):
        half = 0.5 * slope(q, axis + 1)
        left, right = q + half, jnp.roll(q - half, -1, axis + 1)

        def side(w):
            r, n, a, p = w
            e = p / (GAMMA - 1.0) + 0.5 * r * (n**2 + a**2)
            conserved = jnp.stack([r, r * n, r * a, e])
            return conserved, n * conserved + jnp.stack([0 * p, p, 0 * p, n * p]), jnp.sqrt(GAMMA * p / r) + jnp.abs(n)

        (w_left, f_left, c_left), (w_right, f_right, c_right) = side(left), side(right)
        return 0.5 * (f_left + f_right - jnp.maximum(c_left, c_right) * (w_right - w_left))

    def step(state, _):
        r, mx, my, e = state
        u, v = mx / r, my / r
        p = (GAMMA - 1.0) * (e - 0.5 * r * (u**2 + v**2))
        fx = flux(jnp.stack([r, u, v, p]), 1)
        fy = flux(jnp.stack([r, v, u, p]), 0)[jnp.array([0, 2, 1, 3])]
        return state + ratio * (jnp.roll(fx, 1, 2) - fx + jnp.roll(fy, 1, 1) - fy), None

    def variance(*fields):
        state, _ = jax.lax.scan(jax.checkpoint(step), jnp.stack(fields), None, length=steps)
        return jnp.mean((state[0] - jnp.mean(state[0])) ** 2)

    both = jax.jit(jax.value_and_grad(variance, argnums=(0, 1, 2, 3)))
    given = [jnp.asarray(field) for field in fields]
    return lambda: jax.block_until_ready(both(*given))
