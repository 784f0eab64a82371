"""What numba compiles in the place of a function because others than numba and adjit told it to.

In: functions. Out: the packages whose `@overload` and the like stand for one of them.

    implementers([np.fft.fft, np.sin], known)       {"rocket_fft": "fft"}, with that installed
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib import metadata
from typing import Any

from numba.core.typing.templates import builtin_registry


def implementers(callees: Iterable[Any], known: Collection[str]) -> dict[str, str]:
    """The packages not among the `known` ones that have code of their own for these, and the name of one of them."""
    asked = {id(callee): callee for callee in callees}
    found = {}
    for callee, type_ in builtin_registry.globals:
        if id(callee) in asked:
            for template in getattr(type_, "templates", ()):
                own = getattr(template, "_overload_func", template)
                package = str(own.__module__).partition(".")[0]
                if package not in known:
                    found[package] = str(getattr(callee, "__name__", callee))
    return found


def version(package: str) -> str | None:
    """The version that is installed of a package that extends numba; None of any other."""
    for entry in metadata.entry_points(group="numba_extensions"):
        if entry.module.partition(".")[0] == package and entry.dist is not None:
            return entry.dist.version
    return None


def is_installed(package: str, wanted: str) -> bool:
    """Whether it is, in this version."""
    return version(package) == wanted
