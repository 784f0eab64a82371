"""Linear systems solved by products alone: what derivatives of implicit functions are made with.

In: a function that multiplies a vector with the matrix, and the right side. Out: the solution; a ValueError where it
is not found.

    gmres(lambda v: A @ v, b)      restarted GMRES (Saad and Schultz 1986), by modified Gram-Schmidt
    conjugate_gradients(times, b)  of a symmetric positive definite matrix (Hestenes and Stiefel 1952)
    richardson(times, b)           of a matrix I - G, where powers of G go to zero: x = b + G x, again and again

They are plain functions, which adjit compiles together with the product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TOLERANCE = 1e-12  # of the residual, beside the right side
RESTART = 50
MOST_CYCLES = 200
MOST_TRIPS = 100_000


def gmres(times: Any, right: Any) -> Any:
    """The solution of a general system."""
    n = right.size
    width = min(n, RESTART)
    found = np.zeros(n)
    basis = np.zeros((width + 1, n))
    upper = np.zeros((width + 1, width))
    cosines, sines, reduced = np.zeros(width), np.zeros(width), np.zeros(width + 1)
    goal = TOLERANCE * math.sqrt(np.dot(right, right))
    error = right.copy()
    norm = math.sqrt(np.dot(error, error))
    cycles = 0
    while norm > goal:
        if cycles == MOST_CYCLES or not math.isfinite(norm):
            raise ValueError("GMRES did not converge: the matrix is singular, or close to it")
        cycles += 1
        basis[0] = error / norm
        reduced[:] = 0.0
        reduced[0] = norm
        size = 0
        while size < width and abs(reduced[size]) > goal:
            v = times(basis[size])
            for i in range(size + 1):
                upper[i, size] = np.dot(basis[i], v)
                v = v - upper[i, size] * basis[i]
            length = math.sqrt(np.dot(v, v))
            upper[size + 1, size] = length
            if length > 0.0:
                basis[size + 1] = v / length
            for i in range(size):
                high, low = upper[i, size], upper[i + 1, size]
                upper[i, size] = cosines[i] * high + sines[i] * low
                upper[i + 1, size] = cosines[i] * low - sines[i] * high
            scale = math.hypot(upper[size, size], upper[size + 1, size])
            if scale == 0.0:
                raise ValueError("GMRES did not converge: the matrix is singular, or close to it")
            cosines[size], sines[size] = upper[size, size] / scale, upper[size + 1, size] / scale
            upper[size, size] = scale
            reduced[size + 1] = -sines[size] * reduced[size]
            reduced[size] = cosines[size] * reduced[size]
            size += 1
        for i in range(size - 1, -1, -1):
            for j in range(i + 1, size):
                reduced[i] -= upper[i, j] * reduced[j]
            reduced[i] /= upper[i, i]
            found += reduced[i] * basis[i]
        error = right - times(found)
        norm = math.sqrt(np.dot(error, error))
    return found


def conjugate_gradients(times: Any, right: Any) -> Any:
    """The solution of a symmetric positive definite system."""
    found = np.zeros(right.size)
    error = right.copy()
    along = error.copy()
    square = np.dot(error, error)
    goal = TOLERANCE**2 * square
    trips = 0
    while square > goal:
        image = times(along)
        curvature = np.dot(along, image)
        if not curvature > 0.0:
            raise ValueError("the matrix of a minimum is not positive definite")
        if trips == 10 * right.size + 100:
            raise ValueError("conjugate gradients did not converge: the matrix is singular, or close to it")
        trips += 1
        step = square / curvature
        found += step * along
        error -= step * image
        before = square
        square = np.dot(error, error)
        along = error + square / before * along
    return found


def richardson(times: Any, right: Any) -> Any:
    """The solution of a system whose matrix is close to the identity, of numbers and arrays of any rank."""
    found = right + 0.0
    least = TOLERANCE**2 * np.sum(right * right)
    error = right - times(found)
    trips = 0
    while np.sum(error * error) > least:
        if trips == MOST_TRIPS:
            raise ValueError("the derivative of a fixed point did not converge: the step is not a contraction there")
        trips += 1
        found = found + error
        error = right - times(found)
    return found
