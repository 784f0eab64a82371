"""What of scipy.optimize is a function to differentiate: Rosenbrock's.

In: a vector, or vectors as columns. Out: its value there.

    rosen(x)      sum(100 (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
"""

import numpy as np
import scipy.optimize as so

from adjit.rules.registry import builtin

decomposition = builtin.decomposition


@decomposition(so.rosen)
def rosen(x):
    x = np.asarray(x)
    offsets, misses = x[1:] - x[:-1] * x[:-1], 1.0 - x[:-1]
    return np.sum(100.0 * offsets * offsets + misses * misses, axis=0)
