"""`match`: its cases are tried in order.

In: the statement, and what runs a block. Out: branches, and the names that patterns bind.

    match kind:
        case "linear" | "affine": ...        kind == "linear" or kind == "affine", decided while compiling
        case (x, y) if x > y: ...            a tuple or a list of two, the names bound before the test
        case Sphere(radius=r): ...           an object of that class, by its attributes
        case _: ...                          what is left
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
import numpy as np

from adjit.transform import ir
from adjit.transform.frontend.heap.references import as_reference
from adjit.transform.frontend.operations import control
from adjit.transform.frontend.operations.operators import binary, both, either, truth
from adjit.transform.frontend.operations.records import attribute_of_record, is_instance, key_of, unwrap
from adjit.transform.frontend.values.dictionaries import KnownDict, Record
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.lists import GrowableList, TupleValue
from adjit.transform.frontend.values.statics import stands_for
from adjit.transform.frontend.values.unions import as_options
from adjit.transform.frontend.values.values import Value, dereference
from adjit.transform.frontend.walk.expressions import condition, evaluate, evaluate_or_none
from adjit.transform.source.external_reads import read_attribute
from adjit.transform.source.syntax import body_of

Names = dict[str, Value]

# classes whose only positional pattern is the value itself
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match(frame: Frame, node: cst.Match, block: Callable[[Frame, Sequence[Any]], None]) -> None:
    """The statement; `block` runs the statements of a case."""
    subject = as_options(as_reference(frame, materialise(frame.ctx, evaluate_or_none(frame, node.subject))))
    if not control.do_for_option(frame, subject, lambda option: _match_of(frame, node, option, block)):
        _match_of(frame, node, subject, block)


def _match_of(frame: Frame, node: cst.Match, subject: Value, block: Callable[[Frame, Sequence[Any]], None]) -> None:
    def case(k: int) -> None:
        if k == len(node.cases):
            return
        chosen = node.cases[k]
        names: Names = {}
        held = _matches(frame, chosen.pattern, subject, names)
        rest = functools.partial(case, k + 1)
        body = functools.partial(block, frame, body_of(chosen.body))

        def bound() -> None:
            for name, value in names.items():
                frame.store(name, value)
            if chosen.guard is None:
                body()
            else:
                control.conditional(frame, condition(frame, chosen.guard), body, rest)

        control.conditional(frame, held, bound, rest)

    case(0)


def _matches(frame: Frame, pattern: cst.MatchPattern, value: Value, names: Names) -> ir.Operand:
    """Whether a value is as the pattern says; what its names stand for then is put into `names`."""
    match pattern:
        case cst.MatchAs(pattern=inner, name=name):
            held = ir.boolean(True) if inner is None else _matches(frame, inner, value, names)
            if name is not None:
                names[name.value] = value
            return held
        case cst.MatchValue(value=wanted):
            return truth(frame, binary(frame, operator.eq, _content(frame, value), evaluate(frame, wanted)))
        case cst.MatchSingleton(value=wanted):
            return truth(frame, binary(frame, operator.is_, _content(frame, value), evaluate(frame, wanted)))
        case cst.MatchOr(patterns=options):
            return _any(frame, [one.pattern for one in options], value)
        case cst.MatchList(patterns=items) | cst.MatchTuple(patterns=items):
            return _sequence(frame, items, value, names)
        case cst.MatchClass():
            return _object(frame, pattern, value, names)
        case cst.MatchMapping(rest=None):
            return _mapping(frame, pattern, value, names)
    raise frame.ctx.unsupported("this pattern", "Use `if` and `elif`.", node=pattern)


def _content(frame: Frame, value: Value) -> Value:
    return unwrap(frame.ctx, dereference(frame.env, value))


def _any(frame: Frame, options: Sequence[cst.MatchPattern], value: Value) -> ir.Operand:
    bound: Names = {}
    found: ir.Operand = ir.boolean(False)
    for option in options:
        found = either(frame, found, functools.partial(_matches, frame, option, value, bound))
    if bound:
        raise frame.ctx.unsupported("names in alternatives", "Write a case for each of them.", node=options[0])
    return found


def _all(frame: Frame, parts: Sequence[tuple[cst.MatchPattern, Value]], names: Names) -> ir.Operand:
    found: ir.Operand = ir.boolean(True)
    for pattern, value in parts:
        found = both(frame, found, functools.partial(_matches, frame, pattern, value, names))
    return found


def _sequence(frame: Frame, items: Sequence[Any], value: Value, names: Names) -> ir.Operand:
    """Tuples and lists; arrays and texts are no sequences to `match`."""
    whole = _content(frame, value)
    if isinstance(whole, GrowableList):
        what = "a pattern for a list whose length is only known at run time"
        raise frame.ctx.unsupported(what, "Test its length with `if`.")
    if not isinstance(whole, TupleValue):
        return ir.boolean(False)
    stars = [k for k, item in enumerate(items) if isinstance(item, cst.MatchStar)]
    more = len(whole.items) - len(items)
    if more < -len(stars) or (more != 0 and not stars):
        return ir.boolean(False)
    if not stars:
        return _all(frame, [(i.value, v) for i, v in zip(items, whole.items, strict=True)], names)
    (star,) = stars
    after = star + 1 + more
    if items[star].name is not None:
        rest = TupleValue(whole.items[star:after], is_list=True)
        names[items[star].name.value] = as_reference(frame, rest)
    items, kept_items = [*items[:star], *items[star + 1 :]], [*whole.items[:star], *whole.items[after:]]
    sides = zip(items, kept_items, strict=True)
    return _all(frame, [(i.value, v) for i, v in sides], names)


def _object(frame: Frame, pattern: cst.MatchClass, value: Value, names: Names) -> ir.Operand:
    kind = evaluate(frame, pattern.cls)
    if not stands_for(kind, type):
        raise frame.ctx.unsupported("a pattern whose name is not a class", "Give a class.", node=pattern.cls)
    owner, given = _content(frame, value), [p.value for p in pattern.patterns]
    if is_instance(frame, owner, kind) == ir.boolean(False):
        return ir.boolean(False)
    if kind.value in (*_WHOLE, np.ndarray) and len(given) == 1:
        return _all(frame, [(given[0], value)], names)
    fields = read_attribute(kind.value, "__match_args__", ())
    if len(given) > len(fields) or (pattern.kwds and not isinstance(owner, Record)):
        raise frame.ctx.unsupported(
            f"a pattern of {len(given)} parts of {kind.value.__name__}", "Name its attributes.", node=pattern
        )
    if not isinstance(owner, Record):
        return ir.boolean(True)
    asked = [*zip(fields, given, strict=False), *((k.key.value, k.pattern) for k in pattern.kwds)]
    return _all(frame, [(p, attribute_of_record(frame, owner, name)) for name, p in asked], names)


def _mapping(frame: Frame, pattern: cst.MatchMapping, value: Value, names: Names) -> ir.Operand:
    whole = _content(frame, value)
    if not isinstance(whole, KnownDict):
        return ir.boolean(False)
    found: list[tuple[cst.MatchPattern, Value]] = []
    for element in pattern.elements:
        item = whole.get(key_of(frame.ctx, evaluate(frame, element.key)))
        if item is None:
            return ir.boolean(False)
        found.append((element.pattern, item))
    return _all(frame, found, names)
