"""Derivatives with respect to a part of an argument: `wrt="params.layers[0].w"`, the rest of it held fixed.

In: a function, and paths into its arguments. Out: a derived function; its gradients are put together like those parts.

    grad(loss, wrt="params['w']")(params, x)      the part is a parameter of its own of what is compiled
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adjit.api.arguments.plans import GRADIENTS, OTHER, Branch, Planned, planned
from adjit.api.arguments.structures import like
from adjit.api.arguments.types import as_given, told_of, unread
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.options import Options
from adjit.errors import TypeMismatch, WrongCall, WrongWrt
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, Structured, Wrt, shown, specification, unused
from adjit.transform.source.structures import (
    ARRAY,
    NUMBER,
    Layout,
    NotTaken,
    attribute_apart,
    attributes,
    has_records,
    has_same,
    held,
    in_several_places,
    is_object,
    is_structure,
    taken_apart,
)

_STEP = r"\.\w+|\[\s*(?:-?\d+|'[^']*'|\"[^\"]*\")\s*\]"
_PATH = re.compile(rf"(\w+)((?:{_STEP})*)")
MOST_PLANS = 16


class Step(NamedTuple):
    """One step into a value: an attribute, or else the item with a key."""

    is_attribute: bool
    key: Any

    def __str__(self) -> str:
        return f".{self.key}" if self.is_attribute else f"[{self.key!r}]"


class Path(NamedTuple):
    """A part of the argument at a position, or all of it."""

    text: str
    position: int
    steps: tuple[Step, ...]


def has_paths(wrt: Any) -> bool:
    """Whether `wrt` names a part of an argument."""
    asked = wrt if isinstance(wrt, list | tuple) else (wrt,)
    return any(isinstance(one, str) and not one.isidentifier() for one in asked)


def by_branch(
    kind: str, function: Any, wrt: Any, has_aux: bool, settings: Mapping[str, Any], options: Options
) -> ByBranch:
    """The derived function; WrongWrt where there are no such parameters. `settings`: of the Derivative."""
    spec = specification(function)
    if isinstance(spec, Derivative):
        raise WrongWrt(
            f"wrt={wrt!r} for {shown(spec)}, which is a derivative itself",
            instead="Write a function that calls it, or name a whole parameter.",
        )
    single = not isinstance(wrt, list | tuple)
    paths = [_path(spec, one) for one in ([wrt] if single else wrt)]
    for k, one in enumerate(paths):
        for other in paths[:k]:
            least = min(len(one.steps), len(other.steps))
            if one.position == other.position and one.steps[:least] == other.steps[:least]:
                raise WrongWrt(f"wrt names `{one.text}` and `{other.text}`", instead="Name each part only once.")
    return ByBranch(kind, spec, paths, single, has_aux, settings, options)


def _path(spec: Any, one: Any) -> Path:
    if not isinstance(one, str) or one.isidentifier():
        (position,), _ = derivatives.positions_of(spec, one)
        return Path(list(derivatives.named_parameters(spec).parameters)[position], position, ())
    found = _PATH.fullmatch(one.strip())
    if found is None:
        raise WrongWrt(
            f"wrt={one!r} for {shown(spec)} is not a path",
            instead="Write it as in Python: params.layers[0].w, or params['w'].",
        )
    (position,), _ = derivatives.positions_of(spec, found[1])
    steps = [
        Step(True, step[1:]) if step.startswith(".") else Step(False, ast.literal_eval(step[1:-1].strip()))
        for step in re.findall(_STEP, found[2])
    ]
    return Path(one.strip(), position, tuple(steps))


class ByBranch:
    """A derived function with respect to parts of its arguments."""

    _adjit_outermost = "Write a function that gets this part as an argument, and differentiate that."

    def __init__(
        self,
        kind: str,
        spec: Any,
        paths: Sequence[Path],
        single: bool,
        has_aux: bool,
        settings: Mapping[str, Any],
        options: Options,
    ) -> None:
        self._kind, self._spec, self._paths = kind, spec, paths
        self._settings = settings
        self._single, self._has_aux, self._options = single, has_aux, options
        self._plans: list[tuple[Any, Planned]] = []
        function = derivatives.root(spec)
        functools.update_wrapper(self, function, updated=())
        self.__signature__ = derivatives.named_parameters(spec)

    def __repr__(self) -> str:
        return f"<{self._kind} of {shown(self._spec)} with respect to {', '.join(path.text for path in self._paths)}>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        vector: tuple[Any, ...] = ()
        if self._kind == "hvp":
            if not arguments:
                raise WrongCall(f"{self!r} is called without a vector", instead="Give it last.")
            *own, last = arguments
            arguments, vector = tuple(own), (last,)
        if keywords or len(arguments) < len(self.__signature__.parameters):
            arguments = derivatives.bound(self._spec, arguments, keywords)
        if not vector:
            for k, (_, plan) in enumerate(self._plans):
                result = plan(arguments)
                if result is not OTHER:
                    self._plans.insert(0, self._plans.pop(k))
                    return result
        taken = self._taken(arguments)
        result = taken.derived(*taken.given, *vector)
        taken.derived.outside.check_whole(arguments)
        if not vector and not any(map(has_same, taken.layouts)) and all(taken.key != key for key, _ in self._plans):
            made = taken.derived.derivative
            plan = planned(made.kind, self._single, self._has_aux, taken.layouts, taken.wanted, taken.derived)
            self._plans.insert(0, (taken.key, plan))
            del self._plans[MOST_PLANS:]
        return self._together(taken, result)

    def source(self, *arguments: Any, tuned: bool = False) -> str:
        """The generated source for these arguments, which are values."""
        taken = self._taken(derivatives.bound(self._spec, arguments))
        return str(taken.derived.source(*taken.given, tuned=tuned))

    def precompile(self, *arguments: Any) -> None:
        """Compiles for these arguments, which are values, and keeps that; as `adjit.precompile`."""
        taken = self._taken(derivatives.bound(self._spec, arguments))
        taken.derived.precompile(*taken.given)

    def explain(self, *arguments: Any) -> Any:
        """What was decided for these arguments, which are values."""
        taken = self._taken(derivatives.bound(self._spec, arguments))
        return taken.derived.explain(*taken.given)

    def report(self, path: str | os.PathLike[str], *arguments: Any) -> None:
        """Writes a page for these arguments, which are values, to be looked at in a browser."""
        taken = self._taken(derivatives.bound(self._spec, arguments))
        taken.derived.report(path, *taken.given)

    def _taken(self, arguments: Sequence[Any]) -> _Taken:
        """What runs for these arguments, and what it is called with."""
        names = list(self.__signature__.parameters)
        layouts: list[Layout | None] = []
        given: list[Any] = []
        found: dict[int, tuple[Layout, list[Any]]] = {}
        same = in_several_places(arguments)
        for position, argument in enumerate(arguments):
            asked = [(path.steps, k) for k, path in enumerate(self._paths) if path.position == position]
            if not is_structure(argument) and all(not steps for steps, _ in asked):
                layouts.append(None)
                given.append(argument)
                continue
            leaves: list[Any] = []
            try:
                layouts.append(_split(argument, asked, leaves, found, names[position], same))
            except NotTaken as fault:
                what, instead = told_of(fault)
                raise TypeMismatch(
                    f"argument `{names[position]}` of {shown(self._spec)} contains a value that is not a number or "
                    "an array",
                    why=f"That value is {what}.",
                    instead=instead,
                ) from None
            given.append(tuple(leaves))
        branches = sorted(found)
        wanted: list[int | Branch] = []
        for k, path in enumerate(self._paths):
            if k not in found:
                wanted.append(path.position)
                continue
            layout, leaves = found[k]
            is_fixed = layout.kind == "static" or has_records(layout)
            if is_fixed or (self._kind not in GRADIENTS and layout not in (NUMBER, ARRAY)):
                raise WrongWrt(
                    f"`{path.text}` of {shown(self._spec)} is of type {_kind_of(layout)}",
                    why=f"It has no {self._kind}.",
                    instead="Name the numbers and arrays inside it.",
                )
            wanted.append(Branch(k, layout))
            given.append(leaves[0] if layout in (NUMBER, ARRAY) else tuple(leaves))
        taken = set(names)
        further = []
        for k in branches:
            further.append(unused(re.sub(r"\W+", "_", self._paths[k].text).strip("_"), taken))
            taken.add(further[-1])
        key = (tuple(layouts), tuple(wanted))
        spec = Structured(self._spec, tuple(layouts), tuple(further), tuple(branches))
        wrt = tuple(one if isinstance(one, int) else len(names) + branches.index(one.number) for one in wanted)
        asked_for: Wrt = wrt[0] if self._single else wrt
        made = derivatives.made(self._kind, spec, asked_for, self._has_aux, **self._settings)
        return _Taken(derive(made, self._options), tuple(layouts), wanted, given, key)

    def _together(self, taken: _Taken, result: Any) -> Any:
        """The gradients, put together like the parts of the arguments that they are of."""
        made = taken.derived.derivative
        if made.kind not in GRADIENTS:
            return result
        of: Mapping[int, Any] = dict(zip(made.wrt, taken.wanted, strict=True))

        def part(position: int, bar: Any) -> Any:
            one = of[position]
            given = taken.given[position]
            bar = as_given(bar, given)
            if isinstance(one, int) or one.layout in (NUMBER, ARRAY):
                return bar
            return like(one.layout, bar, held(one.layout, given))

        def together(bars: Any) -> Any:
            if self._single:
                return part(made.wrt[0], bars)
            return tuple(part(position, bar) for position, bar in zip(made.wrt, bars, strict=True))

        if made.kind == "value_and_grad":
            return result[0], together(result[1])
        return (together(result[0]), result[1]) if made.has_aux else together(result)


class _Taken(NamedTuple):
    derived: Any
    layouts: tuple[Layout | None, ...]
    wanted: Sequence[int | Branch]
    given: Sequence[Any]
    key: Any


def _split(
    value: Any,
    asked: Sequence[tuple[tuple[Step, ...], int]],
    leaves: list[Any],
    found: dict[int, tuple[Layout, list[Any]]],
    where: str,
    same: Mapping[int, int],
) -> Layout:
    """The layout of a value without the parts that are asked for, whose layouts and leaves go to `found`."""
    whole = next((number for steps, number in asked if not steps), None)
    if whole is not None and len(asked) > 1:
        raise WrongWrt(f"wrt names `{where}`, or a part of it, twice", instead="Name each part only once.")
    if whole is not None:
        own: list[Any] = []
        layout = taken_apart(value, own, same, unread)
        found[whole] = layout, own
        return Layout("branch", (layout,), of=whole)
    if not asked:
        return taken_apart(value, leaves, same, unread)
    steps, kind, keys = _inside(value)
    for (first, *_), _ in asked:
        if _normal(first, value) not in steps:
            raise WrongWrt(
                f"`{where}` has no `{first}` to differentiate with respect to",
                why=f"It has {', '.join(map(str, steps))}." if steps else "It has no parts.",
                instead="Name a part that it has, or the whole argument.",
            )
    parts = []
    for step, part in steps.items():
        inner = [(path[1:], number) for path, number in asked if _normal(path[0], value) == step]
        if inner or kind != "object":
            parts.append(_split(part, inner, leaves, found, f"{where}{step}", same))
        else:
            parts.append(attribute_apart(part, str(step.key), leaves, same, unread))
    of = type(value) if _is_of_class(value) else None
    return Layout(kind, tuple(parts), keys, of, same.get(id(value), 0))


def _inside(value: Any) -> tuple[dict[Step, Any], str, tuple[Any, ...]]:
    """The parts of a value by the steps that lead there, the kind of its layout, and the keys of that."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {Step(True, name): part for name, part in zip(value._fields, value, strict=True)}, "tuple", ()
    if isinstance(value, tuple | list):
        return {Step(False, k): part for k, part in enumerate(value)}, type(value).__name__, ()
    if isinstance(value, dict):
        return {Step(False, key): part for key, part in value.items()}, "dict", tuple(value)
    if is_object(value):
        own = attributes(value)
        return {Step(True, name): part for name, part in own.items()}, "object", tuple(own)
    return {}, "static", ()


def _normal(step: Step, value: Any) -> Step:
    """The step as `_inside` has it: places from the start, the fields of named tuples by name."""
    if isinstance(value, tuple | list) and not step.is_attribute and isinstance(step.key, int):
        place = step.key + len(value) if step.key < 0 else step.key
        fields = getattr(value, "_fields", ())
        return Step(True, fields[place]) if 0 <= place < len(fields) else Step(False, place)
    return step


def _is_of_class(value: Any) -> bool:
    return not isinstance(value, list | dict) and type(value) is not tuple


def _kind_of(layout: Layout) -> str:
    return (
        layout.of.__class__.__name__ if layout.kind == "static" else "list" if layout.kind == "table" else layout.kind
    )
