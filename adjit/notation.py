"""How adjit writes argument types, in file names and errors.

In: a numba type. Out: text.

    float64[:, :]        a C-ordered matrix, which is what NumPy makes
    float64[::1, :]      a Fortran-ordered one
    float64[:, :] strided      neither
    (float64, int64)     a tuple
    'lower'              a string, which is part of the type
"""

from __future__ import annotations

from numba import types


def to_text(type_: types.Type) -> str:
    """A type as adjit writes it."""
    if isinstance(type_, types.Array):
        axes = [":"] * type_.ndim
        if type_.layout == "F" and type_.ndim > 1:
            axes[0] = "::1"
        strided = " strided" if type_.layout == "A" else ""
        fixed = "" if type_.mutable else " readonly"
        return f"{to_text(type_.dtype)}[{', '.join(axes)}]{strided}{fixed}"
    if isinstance(type_, types.BaseTuple):
        parts = [to_text(t) for t in type_.types]  # type: ignore[attr-defined]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if isinstance(type_, types.StringLiteral):
        return repr(type_.literal_value)
    return str(type_)
