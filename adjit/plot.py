"""Pictures of derivatives, by matplotlib: the memory that one takes, and how differences converge to it.

In: a derived function and arguments, or what `adjit.check_grads` returned. Out: the axes that were drawn into.

    adjit.plot.tape(gradient, (np.ones(1000), 0.1, 50), (np.ones(1000), 0.1, 200))
    adjit.plot.convergence(adjit.check_grads(energy, (x, k)))
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.api.explain import Explanation
from adjit.api.tools.check import Checked
from adjit.errors import Unsupported, WrongCall

_HEIGHT = 0.8  # of the bars of an array together, where one array has 1


def tape(derivative: Any, *calls: Sequence[Any], ax: Any = None) -> Any:
    """Bars of the bytes of each array that a derivative makes, as `derivative.explain` has them.

    `calls`: tuples of arguments, with values, one for each size; each has a bar an array. Arrays that hold something
    for the reverse sweep alone are hatched. Arrays of which the bytes are not known before a run have none, and are
    named below. `ax`: axes to draw into; else a new figure. Raises Unsupported without matplotlib.
    """
    if not calls or not all(isinstance(call, tuple) for call in calls):
        raise WrongCall(
            "adjit.plot.tape without arguments",
            instead="Give one tuple of arguments per size: adjit.plot.tape(gradient, (np.ones(1000), 0.1, 50)).",
        )
    ax = _axes(ax)
    found = [derivative.explain(*call) for call in calls]
    names = list(dict.fromkeys(name for one in found for name in bytes_of(one)))
    labels = [f"{', '.join(map(_size, call))}: {{:,}}" for call in calls]
    height = _HEIGHT / len(found)
    for k, one in enumerate(found):
        own = bytes_of(one)
        total = sum(size for size, _ in own.values() if size is not None)
        places = [i + (k - 0.5 * (len(found) - 1)) * height for i in range(len(names))]
        bars = ax.barh(places, [own.get(n, (0, False))[0] or 0 for n in names], height, label=labels[k].format(total))
        for name, bar in zip(names, bars, strict=True):
            if own.get(name, (0, False))[1]:
                bar.set_hatch("//")
    unknown = [
        name.partition("\n")[0]
        for name in names
        if any(one.get(name, (0, False))[0] is None for one in map(bytes_of, found))
    ]
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("bytes" + (f"; only known after a run: {', '.join(unknown)}" if unknown else ""))
    ax.set_title(found[0].title)
    ax.legend(title="bytes in all")
    return ax


def convergence(check: Checked, order: int = 1, steps: Sequence[float] | None = None, ax: Any = None) -> Any:
    """The relative error of difference quotients over the step, of what `adjit.check_grads` compared.

    A line for each direction, with the power of the step by which it falls, and a dashed one that falls as it should:
    with the fourth, until rounding takes over. A line that ends flat, above, is that of a wrong derivative. `order`: 1
    for the function, 2 for its gradient, ...; `steps`, `ax` as in `Checked.convergence` and `tape`. The function is run
    again. Raises Unsupported without matplotlib.
    """
    ax = _axes(ax)
    found = check.convergence(order, steps)
    for k, (errors, slope) in enumerate(zip(found.errors, found.slopes, strict=True)):
        # what is exact has no place on a logarithmic axis
        there = errors > 0.0
        ax.loglog(found.steps[there], errors[there], ".-", label=f"direction {k + 1}: slope {slope:.2f}")
    first, last = found.errors[:, 0].max(), found.errors.min()
    expected = first * (found.steps / found.steps[0]) ** 4
    ax.loglog(found.steps[expected >= last], expected[expected >= last], "k--", linewidth=0.8, label="slope 4")
    ax.set_xlabel("step")
    ax.set_ylabel("relative error of the difference quotient")
    ax.legend(loc="lower left")
    return ax


def bytes_of(explanation: Explanation) -> dict[str, tuple[int | None, bool]]:
    """The bytes of each array by its name and what it is for, and whether it is kept for the reverse sweep; those of
    arrays that are alike together."""
    made: dict[str, tuple[int | None, bool]] = {}
    for array in explanation.arrays:
        name = f"{array.name}\n{array.what}"
        before = made.get(name, (0, False))[0]
        size = None if before is None or array.bytes is None else before + array.bytes
        made[name] = size, array.is_kept
    return made


def _size(argument: Any) -> str:
    """An argument in a few characters: an array by its shape."""
    if isinstance(argument, np.ndarray):
        return " × ".join(map(str, argument.shape)) or "()"
    return f"{argument!r}" if isinstance(argument, int | float | str) else type(argument).__name__


def _axes(ax: Any) -> Any:
    """The axes to draw into."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise Unsupported(
            "adjit.plot without matplotlib", instead="pip install 'adjit[plot]', or print `.explain(...)`."
        ) from None
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax
