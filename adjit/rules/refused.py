"""What of NumPy has no derivative here, or a type that depends on values, with what to write in its place.

In: a call. Out: the refusal, at the user's line.
"""

import numpy as np

from adjit.rules.registry import builtin

BY_VALUE = "whose result is real or complex by its values"
INSTEAD = {
    np.emath.sqrt: f"np.emath.sqrt, {BY_VALUE}: write np.sqrt(x + 0j)",
    np.emath.log: f"np.emath.log, {BY_VALUE}: write np.log(x + 0j)",
    np.emath.log2: f"np.emath.log2, {BY_VALUE}: write np.log2(x + 0j)",
    np.emath.log10: f"np.emath.log10, {BY_VALUE}: write np.log10(x + 0j)",
    np.emath.power: f"np.emath.power, {BY_VALUE}: write (x + 0j) ** p",
    np.emath.arccos: f"np.emath.arccos, {BY_VALUE}: write np.arccos(x + 0j)",
    np.emath.arcsin: f"np.emath.arcsin, {BY_VALUE}: write np.arcsin(x + 0j)",
    np.emath.arctanh: f"np.emath.arctanh, {BY_VALUE}: write np.arctanh(x + 0j)",
    np.ma.MaskedArray: "a masked array: use a mask of its own, as in np.sum(x, where=mask) or x[mask]",
    np.ma.array: "a masked array: use a mask of its own, as in np.sum(x, where=mask) or x[mask]",
    np.ma.masked_where: "a masked array: use a mask of its own, as in np.sum(x, where=mask) or x[mask]",
    np.ma.masked_invalid: "a masked array: use a mask of its own, as in np.sum(x, where=np.isfinite(x))",
    np.matrix: "np.matrix, whose * is a matrix product: use an array, and @",
    np.asmatrix: "np.matrix, whose * is a matrix product: use an array, and @",
    np.packbits: "np.packbits, which makes integers: do it before, and pass what it gives",
    np.unpackbits: "np.unpackbits, of integers: do it before, and pass what it gives",
}


def refusing(message):
    def rule(*args, **named):
        raise NotImplementedError(message)

    return rule


for callee, message in INSTEAD.items():
    builtin.decomposition(callee)(refusing(message))
