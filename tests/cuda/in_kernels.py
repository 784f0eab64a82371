"""Functions, their derivatives for kernels, and kernels that call these: what simulated and compiled tests share.

KERNELS: by name, the kernel, its arguments (the last one is stored to), and what its threads store, on the host.
"""

import math

import numpy as np

import adjit
from tests.cuda.package import cuda


def step(y, v, h, friction=0.3):
    """A pendulum, one step on."""
    w = v - h * (math.sin(y) + friction * v)
    return y + h * w, w


def cubic(x, a):
    return x**3 + a * x - 1.0


def solved(x, a):
    """Newton's method, with a derivative of its own."""
    for _ in range(6):
        x = x - cubic(x, a) / adjit.grad(cubic)(x, a)
    return x


def energy(x, k):
    total = 0.0
    for i in range(3):
        total += k * math.exp(x[i]) * x[(i + 1) % 3]
    return total


def valley(x, y):
    return (1.0 - x) ** 2 + 5.0 * (y - x * x) ** 2


def along(y, v, y_dot, v_dot):
    """The change of two steps in a direction."""
    middle, changed = adjit.jvp(step, (y, v, 0.1), (y_dot, v_dot, 0.0))
    return adjit.jvp(step, (*middle, 0.1), (*changed, 0.0))[1]


def pulled(y, v, y_bar, v_bar):
    value, pullback = adjit.vjp(step, y, v, 0.1)
    back = pullback((y_bar, v_bar))
    return value[0] + back[0], back[1]


def smooth(x):
    """What functions of adjit's own do in a kernel."""
    return np.logaddexp(x, 0.5) + max(x, 0.25) * np.sign(x - 0.5) + 1.0 / (x - x + 2.0)


step_jacobian = adjit.jacfwd(step, wrt=("y", "v"), target="cuda-device")
step_rows = adjit.jacrev(step, wrt=("y", "h"), target="cuda-device")
cubic_and_slope = adjit.value_and_grad(cubic, target="cuda-device")
solved_in_kernels = adjit.cuda.device(solved)
slope_of_solution = adjit.grad(solved, wrt="a", target="cuda-device")
energy_gradient = adjit.grad(energy, wrt=("x", "k"), target="cuda-device").into
valley_hessian = adjit.hessian(valley, wrt=("x", "y"), target="cuda-device")
valley_product = adjit.hvp(valley, wrt="x", target="cuda-device")
along_in_kernels = adjit.cuda.device(along)
pulled_in_kernels = adjit.cuda.device(pulled)
smooth_slope = adjit.grad(smooth, target="cuda-device")


def propagate(x, out):
    """The Jacobian of four steps, a product of those of one."""
    i = cuda.grid(1)
    if i < x.size:
        y, v = x[i], 0.2
        a, b, c, d = 1.0, 0.0, 0.0, 1.0
        for _ in range(4):
            (yy, yv), (vy, vv) = step_jacobian(y, v, 0.1, friction=0.5)
            a, b, c, d = yy * a + yv * c, yy * b + yv * d, vy * a + vv * c, vy * b + vv * d
            w = v - 0.1 * (math.sin(y) + 0.5 * v)
            y, v = y + 0.1 * w, w
        out[i] = a + 2.0 * b + 3.0 * c + 4.0 * d


def propagated(x):
    def four(y, v):
        for _ in range(4):
            y, v = step(y, v, 0.1, 0.5)
        return y, v

    (a, b), (c, d) = adjit.jacfwd(four, wrt=(0, 1), target="python")(x, 0.2)
    return a + 2.0 * b + 3.0 * c + 4.0 * d


def by_rows(x, out):
    i = cuda.grid(1)
    if i < x.size:
        (yy, yh), (vy, vh) = step_rows(x[i], 0.2, 0.1)
        out[i] = yy + 2.0 * yh + 3.0 * vy + 4.0 * vh


def rows(x):
    (yy, yh), (vy, vh) = adjit.jacrev(step, wrt=("y", "h"), target="python")(x, 0.2, 0.1)
    return yy + 2.0 * yh + 3.0 * vy + 4.0 * vh


def newton(x, out):
    i = cuda.grid(1)
    if i < x.size:
        root, n = 0.5, 0
        value, slope = cubic_and_slope(root, x[i])
        while abs(value) > 1e-13 and n < 20:
            root -= value / slope
            value, slope = cubic_and_slope(root, x[i])
            n += 1
        out[i] = root


def newton_inside(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = solved_in_kernels(0.5, x[i]) + slope_of_solution(0.5, x[i])


def in_local_arrays(x, out):
    i = cuda.grid(1)
    if i < x.size:
        place = cuda.local.array(3, np.float64)
        place_bar = cuda.local.array(3, np.float64)
        for j in range(3):
            place[j] = x[i] + 0.1 * j
        _, k_bar = energy_gradient(place, 0.7, place_bar, None)
        out[i] = place_bar[0] + 2.0 * place_bar[1] + 3.0 * place_bar[2] + k_bar


def energies(x):
    x_bar, k_bar = adjit.grad(energy, wrt=("x", "k"), target="python")(x + 0.1 * np.arange(3), 0.7)
    return x_bar @ (1.0, 2.0, 3.0) + k_bar


def second_derivatives(x, out):
    i = cuda.grid(1)
    if i < x.size:
        (xx, xy), (_, yy) = valley_hessian(x[i], 0.4)
        out[i] = xx + 2.0 * xy + 3.0 * yy + valley_product(x[i], 0.4, 2.0)


def seconds(x):
    (xx, xy), (_, yy) = adjit.hessian(valley, wrt=("x", "y"), target="python")(x, 0.4)
    return xx + 2.0 * xy + 3.0 * yy + 2.0 * xx


def directions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        y_dot, v_dot = along_in_kernels(x[i], 0.2, 1.0, 0.5)
        y_bar, v_bar = pulled_in_kernels(x[i], 0.2, 1.0, 0.5)
        out[i] = y_dot + 2.0 * v_dot + 3.0 * y_bar + 4.0 * v_bar


def directed(x):
    (y_dot, v_dot), (y_bar, v_bar) = along(x, 0.2, 1.0, 0.5), pulled(x, 0.2, 1.0, 0.5)
    return y_dot + 2.0 * v_dot + 3.0 * y_bar + 4.0 * v_bar


def own_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = smooth_slope(x[i])


KERNELS = {
    "propagate": (propagate, propagated),
    "by rows": (by_rows, rows),
    "newton": (newton, lambda a: solved(0.5, a)),
    "newton inside": (
        newton_inside,
        lambda a: solved(0.5, a) + adjit.grad(solved, wrt="a", target="python")(0.5, a),
    ),
    "in local arrays": (in_local_arrays, energies),
    "second derivatives": (second_derivatives, seconds),
    "directions": (directions, directed),
    "own functions": (own_functions, adjit.grad(smooth, target="python")),
}


def single(x, out):
    """All in single precision."""
    i = cuda.grid(1)
    if i < x.size:
        place = cuda.local.array(3, np.float32)
        place_bar = cuda.local.array(3, np.float32)
        for j in range(3):
            place[j] = x[i]
        energy_gradient(place, np.float32(0.5), place_bar, None)
        out[i] = place_bar[0]


def of_rows(x, out):
    """Rows of an array of the caller's, as arrays of the thread's."""
    i = cuda.grid(1)
    if i < x.shape[0]:
        energy_gradient(x[i], 0.7, out[i], None)
