"""Functions of Python's library around values: of `operator`, `copy` and `math`, methods of texts.

In: the values of a call. Out: a value; of `itemgetter` and the like, what is called later.

    operator.itemgetter(1)      what calls `item_by` with the key 1 first
    copy.deepcopy(state)        the same lists and objects, with memory of their own
    "abc".upper()               the text, while compiling
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator
import re
import statistics
from collections.abc import Callable, Hashable, Iterator, Set
from typing import Any

from adjit.rules import python
from adjit.rules.python.statistics import OF_STATISTICS
from adjit.transform import ir
from adjit.transform.frontend.heap.references import in_new_reference
from adjit.transform.frontend.library.ordering import generator, written
from adjit.transform.frontend.operations.containers import to_list
from adjit.transform.frontend.operations.operators import binary
from adjit.transform.frontend.operations.records import Partial, method_of
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import Handler, operands_of, takes
from adjit.transform.frontend.values.cells import Ref
from adjit.transform.frontend.values.dictionaries import Instance, Record, RuntimeDict, as_list, is_mutable
from adjit.transform.frontend.values.elementwise import copied, materialise
from adjit.transform.frontend.values.fold import (
    BUILTINS,
    NAMED_TUPLES,
    OF_NUMBERS,
    TEXTS,
    Pure,
    execute,
    fold,
    is_constant,
)
from adjit.transform.frontend.values.frame import Frame, LocalFunction, wrap
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, is_list
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.frontend.values.statics import Method, Static, object_of, stands_for
from adjit.transform.frontend.values.unions import Union
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import is_integer
from adjit.transform.source.external_reads import inherited_attribute

# ------------------------------------------------------------------------------------------------------------ operators


def _getter(one: Any, several: Any) -> Handler:
    """operator.itemgetter and attrgetter."""

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        keys = tuple(materialise(frame.ctx, a) for a in args)
        if len(keys) == 1:
            return Static(Partial(Static(one), keys, {}))
        return Static(Partial(Static(several), (TupleValue(keys),), {}))

    return handle


def _attributes(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """operator.attrgetter, of names that may have dots in them."""
    names = [a.value for a in args if stands_for(a, str)]
    if not names or len(names) < len(args):
        raise frame.ctx.unsupported("attrgetter with names that are not constant", "Write the names.")
    paths = tuple(TupleValue(tuple(map(Static, name.split(".")))) for name in names)
    if len(paths) == 1:
        return Static(Partial(Static(python.operator.attribute_by), paths, {}))
    return Static(Partial(Static(python.operator.attributes_by), (TupleValue(paths),), {}))


# --------------------------------------------------------------------------------------------------------------- copies


_COPYING = ("__copy__", "__deepcopy__", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__")


def _check_copied(frame: Frame, value: Value) -> None:
    """Refuses a copy of an object that says itself how it is copied."""
    if own := next((name for name in _COPYING if method_of(value, name)), None):
        what, instead = f"a copy of {describe(value)}, which defines `{own}`", "Create a new object by its class."
        raise frame.ctx.unsupported(what, instead)


def _copied(frame: Frame, value: Value) -> Value:
    """copy.copy."""
    _check_copied(frame, value)
    if isinstance(value, RuntimeDict):
        return dataclasses.replace(value, items=to_list(frame, value.items.known_by(None)), cell=None)
    if isinstance(value, Record):
        return value.known_by(None)
    if is_list(value):
        return to_list(frame, value)
    return copied(frame.ctx, value) if is_array(value) else value


def _copied_deep(frame: Frame, value: Value, known: Value | None = None) -> Value:
    """copy.deepcopy."""
    found = collections.Counter(_identities(value))
    several = {one for one, count in found.items() if count > 1}
    return _deep(frame, value, several, {})


def _identity(value: Value) -> Hashable:
    """What tells a list, an object or an array from others; None of what has no name."""
    if is_mutable(value):
        return value.cell if isinstance(value.cell, Ref) else None
    return value if isinstance(value, ir.Var) and is_array(value) else None


def _identities(value: Value) -> Iterator[Hashable]:
    """Those of all lists, objects and arrays in a value."""
    if (own := _identity(value)) is not None:
        yield own
    whole = as_list(value)
    for one in whole.items if isinstance(whole, TupleValue | Record) else ():
        yield from _identities(one)


def _deep(frame: Frame, value: Value, several: Set[Hashable], made: dict[Hashable, Value]) -> Value:
    """A copy of a value and of all in it; what is there several times is one in the copy, too."""
    own = _identity(value)
    if own in made:
        return made[own]
    _check_copied(frame, value)
    copy: Value
    if isinstance(value, TupleValue | Record):
        copy = value.mapped(lambda one: _deep(frame, one, several, made)).known_by(None)
    elif isinstance(value, RuntimeDict):
        items = _deep(frame, value.items.known_by(None), several, made)
        copy = dataclasses.replace(value, items=items, cell=None)  # type: ignore[arg-type]
    else:
        copy = _copied(frame, value)
        copy = dataclasses.replace(copy, shares=frozenset()) if isinstance(copy, GrowableList) else copy
    if own in several:
        copy = made[own] = in_new_reference(frame, copy)
    return copy


# -------------------------------------------------------------------------------------------------------------- numbers


def _hypot(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """math.hypot of any number of numbers."""
    ctx = frame.ctx
    first, *others = operands_of(frame, "math.hypot", args, named, max(len(args), 2))
    if not others:
        return scalars.scalar(ctx, abs, (first,))
    return functools.reduce(lambda a, b: scalars.scalar(ctx, math.hypot, (a, b)), others, first)


def _power(frame: Frame, base: Value, exponent: Value, modulus: Value | None) -> Value:
    """pow."""
    if modulus is None:
        return binary(frame, operator.pow, base, exponent)
    given = (base, exponent, modulus)
    numbers = [a for a in given if is_number(a) and is_integer(a.type)]
    if len(numbers) < len(given):
        raise frame.ctx.mismatch("pow of three numbers that are not integers", "Give it integers.")
    if all(isinstance(a, ir.Const) for a in numbers):
        known = [int(a.value) for a in numbers if isinstance(a, ir.Const)]
        return wrap(frame.ctx, execute(frame.ctx, "", "See Python's documentation.", pow, known))
    return written(python.builtins.pow)(frame, list(given), {})


def _of_whole_numbers(callee: Callable[..., int], names: str, at_run_time: Callable[..., Any]) -> Handler:
    """A function of integers: what Python gives of constants; a float of others, as its integers have no end."""
    what = f"math.{callee.__name__}"

    def handle(frame: Frame, *given: Value | None) -> Value:
        numbers = [a for a in given if a not in (None, Static(None))]
        if not all(is_number(a) and is_integer(a.type) for a in numbers if a is not None):
            raise frame.ctx.mismatch(f"{what} of a value that is not an integer", "Convert it: int(...).")
        if not all(isinstance(a, ir.Const) for a in numbers):
            return written(at_run_time)(frame, [a for a in numbers if a is not None], {})
        known = [int(a.value) for a in numbers if isinstance(a, ir.Const)]
        found = execute(frame.ctx, what, "See Python's math.", callee, known)
        return wrap(frame.ctx, found if found < 2**63 else float(found))

    return takes(what, names, handle)


# ---------------------------------------------------------------------------------------------------------------- texts


def _of_text(function: Any, pure: Pure = TEXTS) -> Handler:
    """A function of texts, or one that makes a class of them, of what is known while compiling."""
    return lambda frame, args, named: fold(frame.ctx, pure, function, args, named)


def _text(frame: Frame, value: Value | None) -> Value:
    """str."""
    return fold(frame.ctx, BUILTINS, str, () if value is None else (value,))


def _letter(frame: Frame, value: Value) -> Value:
    """ord."""
    text = object_of(value)
    if is_constant(value) and not (isinstance(text, str) and len(text) == 1):
        raise frame.ctx.mismatch(f"ord of {describe(value)}", "Give one letter.")
    return fold(frame.ctx, BUILTINS, ord, (value,))


def _callable(frame: Frame, value: Value) -> Value:
    """callable."""
    answers = {_is_callable(one) for one in (value.options if isinstance(value, Union) else (value,))}
    if len(answers) > 1:
        raise frame.ctx.not_constant(
            "callable of a value that may or may not be a function", "Call it before the value is chosen."
        )
    return ir.boolean(answers.pop())


def _is_callable(value: Value) -> bool:
    if isinstance(value, Instance):
        return inherited_attribute(value.of, value.of.__mro__, "__call__") is not None
    if isinstance(value, Static):
        return callable(value.value) or isinstance(value.value, LocalFunction | Partial)
    return isinstance(value, Method)


def is_cached(callee: Any) -> bool:
    """Whether it is a function that remembers its results, which are those of the function itself."""
    return isinstance(callee, functools._lru_cache_wrapper)


_OF_PATTERNS = (
    re.compile, re.escape, re.findall, re.finditer, re.fullmatch, re.match, re.search, re.split, re.sub,
)  # fmt: skip
PYTHON_LIBRARY: dict[Any, Handler] = {
    operator.getitem: written(python.operator.getitem),
    operator.setitem: written(python.operator.setitem),
    operator.delitem: written(python.operator.delitem),
    operator.contains: written(python.operator.contains),
    operator.truth: written(python.operator.truth),
    operator.countOf: written(python.operator.count_of),
    operator.indexOf: written(python.operator.index_of),
    operator.itemgetter: _getter(python.operator.item_by, python.operator.items_by),
    operator.attrgetter: _attributes,
    dict.fromkeys: written(python.builtins.fromkeys),
    itertools.cycle: written(python.itertools.cycle),
    itertools.compress: generator(python.itertools.compress),
    itertools.filterfalse: generator(python.itertools.filterfalse),
    itertools.zip_longest: generator(python.itertools.zip_longest),
    itertools.takewhile: generator(python.itertools.takewhile),
    itertools.dropwhile: generator(python.itertools.dropwhile),
    itertools.groupby: generator(python.itertools.groupby),
    collections.namedtuple: _of_text(collections.namedtuple, NAMED_TUPLES),
    callable: takes("callable", "obj", _callable),
    copy.copy: takes("copy.copy", "x", _copied),
    copy.deepcopy: takes("copy.deepcopy", "x memo?", _copied_deep),
    math.comb: _of_whole_numbers(math.comb, "n k", python.math.comb),
    math.factorial: _of_whole_numbers(math.factorial, "n", python.math.factorial),
    math.hypot: _hypot,
    math.isqrt: _of_whole_numbers(math.isqrt, "n", python.math.isqrt),
    math.perm: _of_whole_numbers(math.perm, "n k?", python.math.perm),
    ord: takes("ord", "c", _letter),
    pow: takes("pow", "base exp mod?", _power),
    **{function: _of_text(function) for function in _OF_PATTERNS},
    **{function: _of_text(function, OF_NUMBERS) for function in (bin, chr, hex, oct)},
    str.maketrans: _of_text(str.maketrans),
    str: takes("str", "object?", _text),
    **{getattr(statistics, of.__name__): written(of) for of in OF_STATISTICS},
}
