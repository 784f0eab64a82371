"""numba's inference, which asks each statement for its types again and again, until none is new.

In: a typing context's callstack. Out: one by which a function's statements are asked again where a type in them is new.

    s = s + x[i]        asked for float64 + float64 once, not in each round

Warnings are caught around a round, where numba changes the process' filters at each statement.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from numba.core import ir, utils
from numba.core.errors import ForceLiteralArg, NumbaWarning, TypingError
from numba.core.typeinfer import ConstraintNetwork
from numba.core.typing.context import CallStack


class _Callstack(CallStack):
    """numba's, whose functions are inferred so."""

    def register(self, target: Any, typeinfer: Any, func_id: Any, args: Any) -> Any:
        typeinfer.constraints = _Constraints()
        return super().register(target, typeinfer, func_id, args)


def asking_once(own: Any) -> Any:
    """The callstack with all that is in it."""
    made = object.__new__(_Callstack)
    made.__dict__ = own.__dict__
    return made


class _Constraints(ConstraintNetwork):
    """The constraints of one function, with the types for which each was met before."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[tuple[str, ...]] = []
        self._met: list[Any] = []

    def propagate(self, typeinfer: Any) -> list[Exception]:
        for constraint in self.constraints[len(self._names) :]:
            self._names.append(tuple(dict.fromkeys(_variables(vars(constraint).values()))))
            self._met.append(None)
        errors: list[Exception] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NumbaWarning)
            for k, constraint in enumerate(self.constraints):
                if self._met[k] is not None and self._met[k] == self._types(k, typeinfer):
                    continue
                try:
                    constraint(typeinfer)
                    self._met[k] = self._types(k, typeinfer)
                except ForceLiteralArg as fault:
                    errors.append(fault)
                except TypingError as fault:
                    shown = TypingError(str(fault), loc=constraint.loc, highlighting=False)
                    errors.append(utils.chain_exception(shown, fault))
                if caught:
                    _hand_on(caught, typeinfer, constraint.loc)
        return errors

    def _types(self, number: int, typeinfer: Any) -> list[Any]:
        found = (dict.get(typeinfer.typevars, name) for name in self._names[number])
        return [None if variable is None else variable.type for variable in found]


def _variables(parts: Iterable[Any]) -> Iterator[str]:
    """The variables among the parts of a constraint, which has some by name."""
    for part in parts:
        if isinstance(part, ir.Var):
            yield part.name
        elif isinstance(part, str):
            yield part
        elif isinstance(part, list | tuple):
            yield from _variables(part)
        elif isinstance(part, dict):
            yield from _variables(part.values())


def _hand_on(caught: list[warnings.WarningMessage], typeinfer: Any, place: ir.Loc) -> None:
    with typeinfer.warnings.catch_warnings(filename=place.filename, lineno=place.line):
        for each in caught:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    caught.clear()
