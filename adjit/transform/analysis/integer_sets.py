"""Sets of integers that meet linear conditions, and whether there are any, as isl finds out.

In: conditions, each a choice of cases; a case is rows, `value = 0` or `value >= 0`, that hold together. Out: yes or no.

    both(compared({"r0": 1}, 1, "<"), compared({"r0": 1, "w0": -1}, 0, "!="))      two cases, of two rows each

isl reads rows of numbers ten times as fast as formulas. Names that are neither dimensions nor parameters stand for
some integer.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MOST_OPERATIONS = 200_000  # of isl, a question: some ten milliseconds
MOST_CASES = 1_000  # of a condition


class Row(NamedTuple):
    """`value = 0`, or `value >= 0`."""

    is_equality: bool
    terms: tuple[tuple[str, int], ...]
    constant: int

    @property
    def holds(self) -> bool | None:
        """Whether it does; None if that depends on names."""
        if self.terms:
            return None
        return self.constant == 0 if self.is_equality else self.constant >= 0


Case = tuple[Row, ...]
Condition = tuple[Case, ...]  # that one of the cases holds

TRUE: Condition = ((),)
FALSE: Condition = ()
UNDECIDED: Condition = ((), ())  # one of too many cases


def compared(terms: Mapping[str, int], constant: int, relation: str) -> Condition:
    """`value relation 0`."""
    found = {name: factor for name, factor in terms.items() if factor}
    if relation == "!=":
        return either(compared(found, constant, "<"), compared(found, constant, ">"))
    if relation in ("<", "<="):
        found, constant = {name: -factor for name, factor in found.items()}, -constant
    row = Row(relation == "=", tuple(found.items()), constant - (relation in ("<", ">")))
    if row.holds is None:
        return ((row,),)
    return TRUE if row.holds else FALSE


def both(*conditions: Condition) -> Condition:
    """That all hold."""
    if any(each is UNDECIDED for each in conditions) or math.prod(map(len, conditions)) > MOST_CASES:
        return UNDECIDED
    cases: list[Case] = [()]
    for each in conditions:
        cases = [done + case for done in cases for case in each]
    return tuple(cases)


def either(*conditions: Condition) -> Condition:
    """That one holds."""
    if any(each is UNDECIDED for each in conditions):
        return UNDECIDED
    return tuple(itertools.chain(*conditions))


def names_in(condition: Condition) -> set[str]:
    return {name for case in condition for row in case for name, _ in row.terms}


class IntegerSet(NamedTuple):
    """The values of the dimensions for which a condition holds, for given values of the parameters in it."""

    dimensions: Sequence[str]
    parameters: Sequence[str]
    condition: Condition


def is_empty(first: IntegerSet, *others: IntegerSet) -> bool:
    """Whether the first set without all others is empty; false if that takes too long to find out."""
    if first.condition is UNDECIDED:
        return False
    first = first._replace(condition=tuple(case for case in first.condition if not _is_contradiction(case)))
    if not first.condition:
        return True
    sets = [first, *(each for each in others if each.condition is not UNDECIDED and each.condition)]
    parameters = list(dict.fromkeys(itertools.chain(*(each.parameters for each in sets))))
    return _is_empty(*(_written(each, parameters) for each in sets))


def _is_contradiction(case: Case) -> bool:
    """Whether a row says that a sum is zero, and another one that it is above or below that: most questions end so."""
    zeros: dict[tuple[tuple[str, int], ...], int] = {}
    for row in case:
        if row.is_equality:
            zeros[row.terms] = row.constant
            zeros[tuple([(name, -factor) for name, factor in row.terms])] = -row.constant
    return bool(zeros) and any(row.constant < zeros.get(row.terms, row.constant) for row in case)


def _written(each: IntegerSet, parameters: Sequence[str]) -> str:
    """The set as isl reads it: by case the numbers of rows, columns, dimensions, other names and parameters."""
    cases = [_case(case, each.dimensions, parameters) for case in each.condition]
    return "\n".join([str(len(cases)), *cases])


def _case(case: Case, dimensions: Sequence[str], parameters: Sequence[str]) -> str:
    known = {*dimensions, *parameters}
    inner = dict.fromkeys([name for row in case for name, _ in row.terms if name not in known])
    columns = (*dimensions, *inner, *parameters)
    first = f"{len(case)} {len(columns) + 2} {len(dimensions)} 0 {len(inner)} {len(parameters)}"
    return "\n".join([first, *[_row(row, columns) for row in case]])


@functools.lru_cache(maxsize=2**14)
def _row(row: Row, columns: tuple[str, ...]) -> str:
    factors = dict(row.terms)
    numbers = (int(not row.is_equality), *[factors.get(name, 0) for name in columns], row.constant)
    return " ".join(map(str, numbers))


@functools.lru_cache(maxsize=2**14)
def _is_empty(first: str, *others: str) -> bool:
    """Passes ask much the same of a program before and after their changes, and so does the next derivative of it."""
    # few programs have such questions, and its import takes its time
    import islpy as isl

    context = isl.Context()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        rest = isl.Set.read_from_str(context, first)
        for other in others:
            rest = rest.subtract(isl.Set.read_from_str(context, other))
            if rest.is_empty():
                return True
        return bool(rest.is_empty())
    except isl.Error:
        return False
