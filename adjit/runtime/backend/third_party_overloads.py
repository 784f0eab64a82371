"""What numba compiles in the place of a function because others than numba and adjit told it to.

In: functions, and types of arguments. Out: the packages whose `@overload` and the like stand for one; what runs.

    implementers([np.fft.fft, np.sin], known)       {"rocket_fft": "fft"}, with that installed
    implementation(fill, (float64, float64[:]), {}) what the @overload of fill gives for these types
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from types import FunctionType
from typing import Any

from numba import types
from numba.core import errors
from numba.core.extending import _Intrinsic
from numba.core.typing.templates import (
    _OverloadAttributeTemplate,
    _OverloadFunctionTemplate,
    _OverloadMethodTemplate,
    builtin_registry,
)

from adjit.runtime.backend.typing import context


def implementers(callees: Iterable[Any], known: Collection[str]) -> dict[str, str]:
    """The packages not among the `known` ones that have code of their own for these, and the name of one of them."""
    asked = {id(callee): callee for callee in callees}
    found = {}
    for callee, type_ in builtin_registry.globals:
        if id(callee) in asked:
            for template in getattr(type_, "templates", ()):
                package = _package(template)
                if package not in known:
                    found[package] = str(getattr(callee, "__name__", callee))
    return found


def overloads(callees: Iterable[Any]) -> Iterator[Any]:
    """The functions under `@overload` that stand for these, of others than numba and adjit."""
    asked = {id(callee) for callee in callees}
    for callee, type_ in builtin_registry.globals:
        if id(callee) in asked:
            for template in getattr(type_, "templates", ()):
                if hasattr(template, "_overload_func") and not _is_known(template):
                    yield template._overload_func


def version(package: str) -> str | None:
    """The version that is installed of a package that extends numba; None of any other."""
    for entry in metadata.entry_points(group="numba_extensions"):
        if entry.module.partition(".")[0] == package and entry.dist is not None:
            return entry.dist.version
    return None


def is_installed(package: str, wanted: str) -> bool:
    """Whether it is, in this version."""
    return version(package) == wanted


# ------------------------------------------------------------------------------------------------------------ what runs

# Whose implementations mean what the function means in Python, which is known here.
_KNOWN = frozenset(("numba", "numba_cuda", "adjit"))


class Hidden(Exception):
    """What numba compiles there is no Python text; `how`: what makes it."""

    def __init__(self, how: str):
        super().__init__(how)
        self.how = how


class Untaken(Exception):
    """numba has code of the user's for the callee, but none that takes these types."""


def is_told(callee: Any, has_rule: bool) -> bool:
    """Whether numba was told what to compile for calls of this by others; has_rule: it means something here, so that
    only what stands beside numba's own counts, and not what makes up for that numba has none."""
    if isinstance(callee, _Intrinsic):
        return not has_rule
    packages = {_package(template) for template in _templates(callee)}
    others = packages - _KNOWN
    if not has_rule:
        return bool(others)
    # what extends numba as a package of its own has NumPy's meaning
    return packages != others and any(version(package) is None for package in others)


def _templates(callee: Any) -> Sequence[Any]:
    try:
        known = context().resolve_value_type(callee)
    except (errors.NumbaError, ValueError):
        return ()
    return known.templates if isinstance(known, types.Function) else ()


def implementation(callee: Any, args: Sequence[types.Type], named: Mapping[str, types.Type]) -> Any:
    """The dispatcher of what numba compiles for a call, of others than numba; None where that is numba's own. Raises
    Hidden and Untaken."""
    if isinstance(callee, _Intrinsic):
        raise Hidden("numba.extending.intrinsic")
    templates = _templates(callee)
    if types.undefined in (*args, *named.values()):
        raise Untaken
    for template in templates:
        found = _taken(template, args, named)
        if found is not None:
            return None if _is_known(template) else found
    raise Untaken


def _is_known(template: Any) -> bool:
    return _package(template) in _KNOWN


def _package(template: Any) -> str:
    """The package that told numba of it: numba makes the classes itself, around functions that it was given."""
    own = getattr(template, "_overload_func", None) or getattr(template, "_definition_func", None)
    if own is None:
        cells = getattr(getattr(template, "generic", None), "__closure__", None) or ()
        held = [cell.cell_contents for cell in cells]
        own = next((each for each in held if isinstance(each, FunctionType)), None)
    home = template.__module__ if own is None else own.__globals__.get("__name__")
    return str(home).partition(".")[0]


def _taken(template: Any, args: Sequence[types.Type], named: Mapping[str, types.Type]) -> Any:
    """What a template of numba's has for these types; None if nothing."""
    # with it comes the compiler
    from adjit.runtime.backend.inference import only_types

    made = template(context())
    for is_literal in (True, False) if made.prefer_literal else (False, True):
        given = tuple(args) if is_literal else tuple(map(_plain, args))
        by_name = dict(named) if is_literal else {name: _plain(kind) for name, kind in named.items()}
        try:
            with only_types():
                found = made.apply(given, by_name)
        except errors.NumbaError:
            continue
        if found is None:
            continue
        if _is_known(template):
            return found
        if not issubclass(template, _OverloadFunctionTemplate):
            raise Hidden("numba.extending.type_callable, or lower_builtin")
        with only_types():
            return made._get_impl(given, by_name)[0]
    return None


def _plain(kind: types.Type) -> types.Type:
    found: types.Type = types.unliteral(kind)
    return found


def attribute_function(owner: types.Type, name: str) -> tuple[Any, bool] | None:
    """The function of the user's that `overload_attribute` or `overload_method` has for an attribute of what is of this
    type, whose implementation takes the owner first, and whether it is a method; None if there is none."""
    for template in _of_attributes(owner):
        if template._attr == name and not _is_known(template):
            return template._overload_func, issubclass(template, _OverloadMethodTemplate)
    return None


def _of_attributes(owner: types.Type) -> Iterator[Any]:
    known = context()
    known.refresh()
    for template in known._get_attribute_templates(owner):
        if isinstance(template, _OverloadAttributeTemplate):
            yield type(template)
