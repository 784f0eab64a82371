import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def pendulum_grad(position, velocity, stiffness, dt, steps):
    """Gradient of pendulum at primals.py:166 with respect to position, velocity, stiffness."""
    # ---- forward sweep
    step_trips = max(steps, 0)
    sin_tape = np.empty(step_trips)
    position_tape = np.empty(step_trips)
    velocity_tape = np.empty(step_trips)
    sin_tape_2 = np.empty(step_trips)
    sin_tape_3 = np.empty(step_trips)
    sin_tape_4 = np.empty(step_trips)
    # classical Runge-Kutta
    for step in range(steps):
        position_tape[step] = position
        velocity_tape[step] = velocity
        negated = -stiffness
        sin = np.sin(position)
        sin_tape_4[step] = sin
        v1 = negated * sin
        product = 0.5 * dt
        p2 = velocity + product * v1
        sin = np.sin(position + product * velocity)
        sin_tape_2[step] = sin
        v2 = negated * sin
        p3 = velocity + product * v2
        sin = np.sin(position + product * p2)
        sin_tape_3[step] = sin
        v3 = negated * sin
        p4 = velocity + dt * v3
        sin = np.sin(position + dt * p3)
        sin_tape[step] = sin
        v4 = negated * sin
        quotient = dt / 6.0
        position += quotient * (velocity + 2.0 * p2 + 2.0 * p3 + p4)
        velocity += quotient * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
    # ---- reverse sweep
    position_bar = 1.0
    velocity_bar = 0.0
    stiffness_bar = 0.0
    for step in range(steps - 1, -1, -1):
        # L178: velocity += dt / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        quotient = dt / 6.0
        sum_bar = quotient * velocity_bar
        v3_bar = 2.0 * sum_bar
        # L177: position += dt / 6.0 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
        sum_bar_2 = quotient * position_bar
        p3_bar = 2.0 * sum_bar_2
        velocity_bar += sum_bar_2
        # L163 in acceleration: return -stiffness * np.sin(position)
        negated = -stiffness
        position = position_tape[step]
        velocity = velocity_tape[step]
        product = 0.5 * dt
        sin = sin_tape_2[step]
        v2 = negated * sin
        p3 = velocity + product * v2
        sum_bar_3 = np.cos(position + dt * p3) * (negated * sum_bar)
        # L176: v4 = acceleration(position + dt * p3, stiffness)
        position_bar += sum_bar_3
        p3_bar_2 = p3_bar + dt * sum_bar_3
        # L175: p4 = velocity + dt * v3
        velocity_bar += sum_bar_2
        v3_bar_2 = v3_bar + dt * sum_bar_2
        # L163 in acceleration: return -stiffness * np.sin(position)
        sin_2 = sin_tape_4[step]
        v1 = negated * sin_2
        p2 = velocity + product * v1
        sum_bar_2 = np.cos(position + product * p2) * (negated * v3_bar_2)
        # L174: v3 = acceleration(position + 0.5 * dt * p2, stiffness)
        position_bar += sum_bar_2
        p2_bar = p3_bar + product * sum_bar_2
        # L173: p3 = velocity + 0.5 * dt * v2
        velocity_bar += p3_bar_2
        v2_bar = v3_bar + product * p3_bar_2
        # L163 in acceleration: return -stiffness * np.sin(position)
        sum_bar_2 = np.cos(position + product * velocity) * (negated * v2_bar)
        # L172: v2 = acceleration(position + 0.5 * dt * p1, stiffness)
        position_bar += sum_bar_2
        velocity_bar += product * sum_bar_2
        # L171: p2 = velocity + 0.5 * dt * v1
        velocity_bar += p2_bar
        v1_bar = sum_bar + product * p2_bar
        # L163 in acceleration: return -stiffness * np.sin(position)
        position_bar -= np.cos(position) * (stiffness * v1_bar)
        stiffness_bar -= (
            sin_tape[step] * sum_bar + sin_tape_3[step] * v3_bar_2 + sin * v2_bar + sin_2 * v1_bar
        )
    return position_bar, velocity_bar, stiffness_bar
