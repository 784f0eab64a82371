"""Integers of a program as text, and as numbers where they depend on nothing but the arguments.

In: a function, the names of its variables, and values of its arguments if there are any. Out: for an operand or the
extent of an array, what it is in terms of the user's variables, and what that is for these arguments.

    %k = call max(call sub(%n, 2), 0)      text "n - 2", value 98

A count of trips is never below zero, slices end where their arrays end, and axes that are broadcast fit: the text
leaves that unsaid, the number does not.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.library import broadcast_extent, equal_extent, stored_extent
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.extents import extent_source, is_product, ndim, sliced
from adjit.transform.emit.expression import ATOM, CHOICE, INFIX, SIGN, SUM, Text


@dataclass(frozen=True)
class Size:
    """An integer: its text, and its value, None where that is known only when the program runs.

    literal: the value where it does not depend on the arguments; among: what it is the largest of; base, less: the
    text is `base - less`.
    """

    text: Text
    value: int | None
    literal: int | None = None
    among: tuple[Text, ...] = ()
    base: Text | None = None
    less: int = 0

    def __str__(self) -> str:
        return self.text.text


@dataclass(frozen=True)
class Shaped:
    """What stands for an array of which the extents are known, and no element."""

    shape: tuple[int, ...]


class Sizes:
    """`values` has the arguments' values by variable of the parameters' leaves; of arrays perhaps the shapes alone."""

    def __init__(self, function: ir.Function, name: Callable[[ir.Var], str], values: Mapping[ir.Var, Any]):
        self._name = name
        self._values = values
        self._made = function.body.made
        self._parameters = set(function.body.args)
        self._aliases = function.analysis(Aliases)
        called = {v: name(v) for v in (*self._made, *function.body.args) if isinstance(v, ir.Var) and v.user}
        count = Counter(called.values())
        # a name of the user's for one value only says which that is
        self._plain = {v for v, own in called.items() if count[own] == 1}

    def of(self, operand: ir.Operand) -> Size:
        if isinstance(operand, ir.Const):
            return _literal(operand.value)
        found = self._computed(operand)
        if operand in self._plain or found is None:
            return Size(Text(self._name(operand)), None if found is None else found.value)
        return found

    def bytes_of(self, array: ir.Operand) -> Size:
        """The memory that an array takes."""
        assert isinstance(array.type, types.Array)
        extents = [self.extent(array, axis) for axis in range(array.type.ndim)]
        size = _literal(item_bytes(array.type.dtype) * math.prod(e.literal for e in extents if e.literal is not None))
        for extent in extents:
            if extent.literal is None:
                size = _infix(operator.mul, size, extent)
        return size

    def extent(self, array: ir.Operand, axis: int) -> Size:
        if isinstance(array, ir.Const):
            return _literal(array.value.shape[axis])
        op = self._made.get(array)
        if isinstance(op, ir.Slice):
            return self._extent_of_slice(op, axis)
        is_matrices = isinstance(op, ir.Call) and is_product(op) and all(ndim(a) == 2 for a in op.args)
        if is_matrices or isinstance(op, ir.Alloc | ir.Copy | ir.Transpose):
            source = extent_source(op, axis, self._made)
            assert source is not None
            return self.extent(*source) if isinstance(source, tuple) else self.of(source)
        assert isinstance(array.type, types.Array)
        text = f"{self._name(array)}.{'size' if array.type.ndim == 1 else f'shape[{axis}]'}"
        value = self._values.get(array)
        return Size(Text(text), None if value is None else int(np.shape(value)[axis]))

    def _extent_of_slice(self, op: ir.Slice, axis: int) -> Size:
        """A part of an axis from one end to the other, as far as these are plain."""
        span, base_axis = sliced(op, axis)
        if isinstance(span, ir.NewAxis):
            return _literal(1)
        assert isinstance(span, ir.Span)
        whole = self.extent(op.base, base_axis)
        ends = [None if end is None else self.of(end) for end in (span.start, span.stop, span.step)]
        if ends == [None, None, None]:
            return whole
        value = None
        if whole.value is not None and all(end is None or end.value is not None for end in ends):
            value = len(range(whole.value)[slice(*(None if end is None else end.value for end in ends))])
        if span.step is not None and span.step != ir.integer(1):
            return Size(Text(f"{self._name(op.out)}.shape[{axis}]"), value)
        first, last = (_from_end(end, whole) for end in ends[:2])
        if last is None and span.start is not None and ends[0] is not None and (ends[0].literal or 0) < 0:
            # a slice of a few at the end
            found = _literal(-(ends[0].literal or 0))
        else:
            found = _difference(last or whole, first or _literal(0))
        if found.literal is not None:
            return Size(Text(f"min({whole}, {found})"), value)
        return dataclasses.replace(found, value=value)

    def _computed(self, operand: ir.Var) -> Size | None:
        if operand in self._parameters:
            value = self._values.get(operand)
            return Size(Text(self._name(operand)), None if value is None else int(value))
        op = self._made.get(operand)
        if isinstance(op, ir.Extent):
            return self.extent(op.array, op.axis)
        if isinstance(op, ir.Call) and len(op.outs) == 1 and not op.effect:
            return self._call(op)
        return self._element(op) if isinstance(op, ir.Load) else None

    def _element(self, op: ir.Load) -> Size | None:
        """An element of an argument that stays as it is."""
        array = op.array
        if array not in self._parameters or not isinstance(array, ir.Var) or self._aliases.is_written(array):
            return None
        index = [self.of(i) for i in op.index]
        text = Text(f"{self._name(array)}[{', '.join(map(str, index))}]")
        values, places = self._values.get(array), tuple(i.value for i in index)
        if (
            values is None
            or isinstance(values, Shaped)
            or any(k is None or k >= n for k, n in zip(places, np.shape(values), strict=True))
        ):
            return Size(text, None)
        return Size(text, int(values[places]))

    def _call(self, op: ir.Call) -> Size | None:
        if not all(isinstance(a.type, types.Integer | types.Boolean) for a in (*op.args, *op.outs)):
            return None
        args = [self.of(a) for a in op.args]
        if op.callee is max and op.args[1] == ir.integer(0):
            return dataclasses.replace(args[0], value=_value(max, *args))
        if op.callee is operator.sub:
            return _difference(*args)
        if op.callee in INFIX and len(args) == 2:
            return _infix(op.callee, *args)
        if op.callee is ir.select:
            condition, yes, no = args
            value = None if condition.value is None else yes.value if condition.value else no.value
            text = f"{yes.text.within(CHOICE + 1)} if {condition.text.within(CHOICE + 1)} else {no.text.text}"
            return Size(Text(text, CHOICE), value)
        if op.callee is ir.cast:
            return args[0]
        value = _value(getattr(op.callee, "py_func", op.callee), *args)
        if op.callee in (stored_extent, equal_extent):
            return dataclasses.replace(args[0], value=value)
        if op.callee in (broadcast_extent, max):
            return _largest(args, value)
        return Size(Text(f"{op.callee.__name__}({', '.join(map(str, args))})"), value)


def item_bytes(dtype: types.Type) -> int:
    """The bytes of an element."""
    return int(np.dtype("bool" if isinstance(dtype, types.Boolean) else str(dtype)).itemsize)


def _literal(value: Any) -> Size:
    return Size(Text(repr(int(value)), ATOM if value >= 0 else SIGN), int(value), int(value))


def _value(function: Callable[..., Any], *args: Size) -> int | None:
    """What a function makes of the values; None if one is not known, or where the program itself raises."""
    numbers = [a.value for a in args]
    if None in numbers:
        return None
    try:
        return int(function(*numbers))
    except (ValueError, ZeroDivisionError):
        return None


def _largest(args: Sequence[Size], value: int | None) -> Size:
    """The largest of several, each named once: of extents that fit together, the one that is not 1."""
    among = {part.text: part for arg in args for part in (arg.among or (arg.text,))}
    if len(among) > 1:
        among.pop("1", None)
    if len(among) == 1:
        (text,) = among.values()
        return Size(text, value)
    return Size(Text(f"max({', '.join(among)})"), value, among=tuple(among.values()))


def _from_end(end: Size | None, whole: Size) -> Size | None:
    """An end of a slice as a place, where it is seen to count from the end."""
    if end is None or end.literal is None or end.literal >= 0:
        return end
    return _difference(whole, _literal(-end.literal))


def _difference(left: Size, right: Size) -> Size:
    """`(n - 1) - 1` is n - 2."""
    value = _value(operator.sub, left, right)
    if right.literal is None:
        return Size(_infix(operator.sub, left, right).text, value)
    if left.literal is not None:
        return _literal(left.literal - right.literal)
    base, less = (left.text, 0) if left.base is None else (left.base, left.less)
    less += right.literal
    if less == 0:
        return Size(base, value)
    sign = "-" if less > 0 else "+"
    return Size(Text(f"{base.within(SUM)} {sign} {abs(less)}", SUM), value, base=base, less=less)


def _infix(callee: Any, left: Size, right: Size) -> Size:
    sign, binds = INFIX[callee]
    text = f"{left.text.within(binds)} {sign} {right.text.within(binds + 1)}"
    return Size(Text(text, binds), _value(callee, left, right))
