import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def pendulum_jvp(
    position, velocity, stiffness, dt, steps, position_dot, velocity_dot, stiffness_dot, dt_dot, steps_dot
):
    """Value and tangent of pendulum at primals.py:166 with respect to position, velocity, stiffness, dt."""
    # classical Runge-Kutta
    for step in range(steps):
        negated = -stiffness
        negated_dot = -stiffness_dot
        sin = np.sin(position)
        v1 = negated * sin
        v1_dot = sin * negated_dot - stiffness * (np.cos(position) * position_dot)
        product = 0.5 * dt
        product_dot = 0.5 * dt_dot
        p2 = velocity + product * v1
        p2_dot = velocity_dot + (v1 * product_dot + product * v1_dot)
        total = position + product * velocity
        sin = np.sin(total)
        v2 = negated * sin
        v2_dot = (
            sin * negated_dot
            - stiffness * (np.cos(total) * (position_dot + (velocity * product_dot + product * velocity_dot)))
        )
        p3 = velocity + product * v2
        p3_dot = velocity_dot + (v2 * product_dot + product * v2_dot)
        total = position + product * p2
        sin = np.sin(total)
        v3 = negated * sin
        v3_dot = (
            sin * negated_dot
            - stiffness * (np.cos(total) * (position_dot + (p2 * product_dot + product * p2_dot)))
        )
        p4 = velocity + dt * v3
        p4_dot = velocity_dot + (v3 * dt_dot + dt * v3_dot)
        total = position + dt * p3
        sin = np.sin(total)
        v4 = negated * sin
        v4_dot = (
            sin * negated_dot - stiffness * (np.cos(total) * (position_dot + (p3 * dt_dot + dt * p3_dot)))
        )
        quotient = dt / 6.0
        quotient_dot = 0.16666666666666666 * dt_dot
        total = velocity + 2.0 * p2 + 2.0 * p3 + p4
        position += quotient * total
        position_dot += (
            total * quotient_dot + quotient * (velocity_dot + 2.0 * p2_dot + 2.0 * p3_dot + p4_dot)
        )
        total = v1 + 2.0 * v2 + 2.0 * v3 + v4
        velocity += quotient * total
        velocity_dot += total * quotient_dot + quotient * (v1_dot + 2.0 * v2_dot + 2.0 * v3_dot + v4_dot)
    return position, position_dot
