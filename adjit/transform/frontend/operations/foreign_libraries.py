"""What programs use of libraries that adjit does not know, and what to write instead.

In: a function, a class or an object that the program names. Out: nothing, or Unsupported at the user's line.

    df["t"]          df is a pandas DataFrame: take its numbers before the function
    torch.sum(x)     torch.sum is not a function of NumPy's: write np.sum
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.runtime.library import home_of
from adjit.transform.frontend.values.frame import Context

_TABLES = ("pandas", "polars", "xarray")
_TENSORS = ("torch", "jax", "jaxlib", "tensorflow", "cupy")


def refuse_foreign(ctx: Context, thing: Any) -> None:
    """Unsupported for a function, a class or an object of a library whose arrays are not NumPy's."""
    if isinstance(thing, type) or hasattr(thing, "__name__"):
        home, name = home_of(thing).partition(".")[0], getattr(thing, "__name__", "")
    else:
        home, name = type(thing).__module__.partition(".")[0], ""
    if home == "tqdm":
        raise ctx.unsupported(
            f"`{name}` of tqdm", "Write `for i in adjit.progress(range(n)):`.", "Compiled code cannot draw its bar."
        )
    if home in _TABLES:
        what = f"a call of {home}.{name}" if name else f"an object of type {home}.{type(thing).__name__}"
        instead = 'Take its numbers before the function, as in t = df["t"].to_numpy(), and use t.'
        raise ctx.unsupported(what, instead, "Compiled code works on NumPy's arrays.")
    if home in _TENSORS:
        library = "jax" if home == "jaxlib" else home
        what = f"a call of {library}.{name}" if name else f"an object of type {library}.{type(thing).__name__}"
        instead = f"Write np.{name}(...)." if hasattr(np, name or " ") else "Use NumPy's functions, and NumPy's arrays."
        raise ctx.unsupported(what, instead, f"Compiled code works on NumPy's arrays, and has nothing of {library}.")
