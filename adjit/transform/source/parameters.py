"""What a function takes, each parameter by position or by name, and what is wrong with a call of it.

In: a signature. Out: one that numba can take, or a few words.

    plain("f", (x, /, *, k=2.0))     (x, k=2.0)
    misfit("f", (x, k=2.0), 0, ())   "f is called without `x`"
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from adjit.errors import Unsupported

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def plain(name: str, signature: inspect.Signature) -> inspect.Signature:
    """The parameters as numba can take them; Unsupported where it cannot."""
    has_default = False
    for p in signature.parameters.values():
        if p.kind in _STARRED:
            stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
            raise Unsupported(
                f"the parameter {stars}{p.name} of {name}",
                why="Here a derivative is compiled for parameters that have names.",
                instead=f"Write a function with named parameters that calls it, as in lambda x, y: {name}(x, y)."
                if p.kind is p.VAR_POSITIONAL
                else f"Write a function with named parameters that calls it, as in lambda x, k: {name}(x, k=k).",
            )
        if has_default and p.default is p.empty:
            raise Unsupported(
                f"the parameter {p.name} of {name}, which has no default, after one with a default",
                instead=f"Give {p.name} a default, or put it first.",
            )
        has_default = p.default is not p.empty
    return inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values()])


def by_name(names: Iterable[str], defaults: Mapping[str, Any] = MappingProxyType({})) -> inspect.Signature:
    """Parameters by position or by name, with the defaults of some."""
    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature([inspect.Parameter(name, kind, default=defaults.get(name, none)) for name in names])


def misfit(name: str, signature: inspect.Signature, given: int, named: Iterable[str]) -> str:
    """What keeps a call with `given` arguments by position and these by name from fitting; nothing if it fits."""
    everything = list(signature.parameters.values())
    by_position = [p for p in everything if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name for p in everything if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    kinds = {p.kind for p in everything}
    filled = {p.name for p in by_position[:given]}
    count = len(by_position)
    if given > count and inspect.Parameter.VAR_POSITIONAL not in kinds:
        how = " by position" if len(by_name) > count else ""
        return f"{name} takes {count or 'no'} argument{'s' * (count != 1)}{how}, not {given}"
    for key in named:
        if key in filled and key in by_name:
            return f"{name} gets `{key}` twice"
        if key not in by_name and inspect.Parameter.VAR_KEYWORD not in kinds:
            return f"{name} has no parameter `{key}`"
        filled.add(key)
    missing = [f"`{p.name}`" for p in everything if p.default is p.empty and p.kind not in _STARRED]
    missing = [shown for shown in missing if shown.strip("`") not in filled]
    return f"{name} is called without {' and '.join(missing)}" if missing else ""


def listed(signature: inspect.Signature) -> str:
    """The parameters as a message tells them."""
    if not signature.parameters:
        return "It has no parameters."
    return f"Its parameters are {', '.join(map(_shown, signature.parameters.values()))}."


def _shown(p: inspect.Parameter) -> str:
    stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    default = "" if p.default is p.empty else f"={p.default!r}"
    return f"{stars}{p.name}{default if len(default) <= 20 else '=...'}"
