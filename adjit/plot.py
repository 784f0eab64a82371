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

from adjit.api.specialise.explain import Explanation
from adjit.api.tools.check import Checked
from adjit.errors import Unsupported, WrongCall

_HEIGHT = 0.8  # of the bars of an array together, where one array has 1


def tape(derivative: Any, *calls: Sequence[Any], ax: Any = None) -> Any:
    """Draws the memory of each array of a derivative as bars, in bytes, as `derivative.explain` lists it.

    - `calls`: tuples of arguments with values, one tuple per size. Each array has one bar per tuple.
    - `ax`: axes to draw into; by default a new figure.

    Arrays that are kept for the reverse sweep are hatched. Arrays whose size is only known after a run have no bar, and
    are named below. Raises Unsupported without matplotlib.
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
    """Draws the relative error of difference quotients over the step, for a result of `adjit.check_grads`.

    There is one line per direction, and its slope in the legend. A dashed line has the expected slope of 4, until
    rounding dominates. A line that becomes flat above the others shows a wrong derivative.

    - `order`: 1 for the function, 2 for its gradient, and so on.
    - `steps`: as in `Checked.convergence`. `ax`: as in `tape`.

    It calls the function. Raises Unsupported without matplotlib.
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
    """The bytes of each array by its name and purpose, and whether it is kept for the reverse sweep.

    Arrays with the same name and purpose are added up.
    """
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
