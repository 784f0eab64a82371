"""Array statements as few loops over few arrays, before anything is differentiated.

In: a function, one nest of loops a statement. Out: the same, fused, turned inside out, without small and idle arrays.

    for i: y[i] = a[i] * 2          for i: s += a[i] * 2
    for i: s += y[i]
"""

from adjit.transform.arrays.launches import fuse_launches
from adjit.transform.arrays.steps import shape

__all__ = ["fuse_launches", "shape"]
