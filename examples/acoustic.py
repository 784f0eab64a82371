"""Sound in two dimensions: three hand-written kernels, and the programs that launch them.

`waveform_inversion.py` differentiates and minimises `misfit`. No line of it is about derivatives.

    traces = recorded(c, sponge, wavelet, row)        pressure in one well after a shot in the other: (steps, rows)
"""

import numpy as np
from numba import cuda

WELL = 12  # columns between a well and the edge next to it


@cuda.jit
def propagate(before, now, after, c, sponge):
    """A step of the wave equation. `c`: (speed * step / spacing) squared; `sponge`: 1 inside, less near the edges."""
    i, j = cuda.grid(2)
    if i >= 1 and i < now.shape[0] - 1 and j >= 1 and j < now.shape[1] - 1:
        bend = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
        after[i, j] = sponge[i, j] * (2.0 * now[i, j] - sponge[i, j] * before[i, j] + c[i, j] * bend)


@cuda.jit
def shoot(field, row, column, wavelet, t):
    if cuda.grid(1) == 0:
        field[row, column] += wavelet[t]


@cuda.jit
def listen(field, column, traces, t):
    i = cuda.grid(1)
    if i < traces.shape[1]:
        traces[t, i] = field[i, column]


def recorded(c, sponge, wavelet, row):
    """The pressure in the right well at each step, after a shot in this row of the left well."""
    rows, columns = c.shape
    before, now, after = cuda.to_device(0.0 * c), cuda.to_device(0.0 * c), cuda.to_device(0.0 * c)
    traces = cuda.device_array((wavelet.size, rows))
    for t in range(wavelet.size):
        propagate[((rows + 7) // 8, (columns + 31) // 32), (8, 32)](before, now, after, c, sponge)
        shoot[1, 1](after, row, WELL, wavelet, t)
        listen[(rows + 63) // 64, 64](after, columns - 1 - WELL, traces, t)
        before, now, after = now, after, before
    return traces


def misfit(c, sponge, wavelet, row, observed):
    """Half the sum of squared differences between the computed and the observed recording of a shot."""
    return 0.5 * np.sum((recorded(c, sponge, wavelet, row) - observed) ** 2)


# ---------------------------------------------------------------------------------------------------------- the inputs


def sponge_of(shape, width=WELL, strength=0.02):
    """1 inside, and smaller towards the edges, where waves have to vanish."""
    rows, columns = np.indices(shape)
    depth = np.minimum(np.minimum(columns, shape[1] - 1 - columns), np.minimum(rows, shape[0] - 1 - rows))
    return np.exp(-((strength * np.maximum(width - depth, 0)) ** 2))


def wavelet_of(steps, period=24.0):
    """A Ricker wavelet; the period is in steps."""
    phase = (np.pi * (np.arange(steps) - 1.2 * period) / period) ** 2
    return (1.0 - 2.0 * phase) * np.exp(-phase)


def ground(shape):
    """c between two wells: it grows with depth, with a layer, a fast lens and a slow body."""
    rows, columns = np.indices(shape) / np.array(shape).reshape(2, 1, 1)
    lens = np.exp(-((((columns - 0.58) / 0.14) ** 2 + ((rows - 0.34) / 0.07) ** 2) ** 2))
    body = np.exp(-((((columns - 0.40) / 0.09) ** 2 + ((rows - 0.62) / 0.08) ** 2) ** 2))
    layer = 1.0 / (1.0 + np.exp(-60.0 * (rows - 0.78 - 0.04 * np.sin(7.0 * columns))))
    return 0.16 + 0.04 * rows + 0.045 * lens - 0.04 * body + 0.03 * layer


def first_guess(shape):
    """It only grows with depth."""
    return 0.16 + 0.06 * np.indices(shape)[0] / shape[0]
