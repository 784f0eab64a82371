"""A direct interpreter for the intermediate representation: what a function means, with nothing clever about it.

In: a function and its arguments. Out: its result, nested as `function.result` says. Arguments that are arrays are
changed in place, as the function changes them.

    run(function, 2.0, np.ones(3))  ->  (np.float64(5.0), array([...]))

Numbers are NumPy scalars of exactly the type that the IR gives them, so that overflow, division by zero and float32
rounding are as in compiled code (with error_model="numpy"). Each value is checked against its declared type. An
Undefined may be handed on but not read; np.empty is filled with nan, so that what is read unwritten shows.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import array_type_of

MOST_TRIPS = 1_000_000


class UndefinedRead(Exception):
    """A variable is read on a path that does not assign it."""


class IllTyped(Exception):
    """A value is not of the type that the IR gives it."""


class _Undefined:
    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()


def run(function: ir.Function, *args: Any, unwritten: float = np.nan) -> Any:
    """The result of `function` for `args`; `unwritten`: what np.empty is filled with (0 for nan, of integers)."""
    assert len(args) == len(function.params), "wrong number of arguments"
    values: dict[ir.Var, Any] = {}
    for tree, arg in zip(function.params, args, strict=True):
        _bind(tree, arg, values)
    interpreter = Interpreter(values, unwritten)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yields = interpreter.region(function.body, [values[arg] for arg in function.body.args])
    return _whole(
        ir.map_tree(lambda leaf: None if leaf is None else interpreter.defined(yields[leaf]), function.result)
    )


def _whole(tree: ir.Tree) -> Any:
    """A result as the caller has it: complex numbers from their parts."""
    if isinstance(tree, ir.Pair):
        real, imag = tree
        return real + 1j * imag
    return tuple(map(_whole, tree)) if isinstance(tree, tuple) else tree


def _bind(tree: ir.Tree, arg: Any, values: dict[ir.Var, Any]) -> None:
    if isinstance(tree, ir.Var):
        values[tree] = typed(arg, tree.type)
    elif isinstance(tree, ir.Pair):
        for leaf, part in zip(tree, (arg.real, arg.imag), strict=True):
            values[leaf] = typed(part.copy() if isinstance(part, np.ndarray) else part, leaf.type)
    elif isinstance(tree, tuple):
        assert len(tree) == len(arg), "a tuple of another length"
        for part, value in zip(tree, arg, strict=True):
            _bind(part, value, values)


def scalar_dtype(type_: ir.Type) -> np.dtype[Any]:
    """NumPy's name for a numba scalar type."""
    return np.dtype("bool" if isinstance(type_, types.Boolean) else str(type_))


def typed(value: Any, type_: ir.Type) -> Any:
    """`value` as a value of `type_`; IllTyped where it is of another kind."""
    if value is UNDEFINED:
        return value
    if isinstance(type_, types.Array):
        if not isinstance(value, np.ndarray) or value.ndim != type_.ndim or value.dtype != scalar_dtype(type_.dtype):
            raise IllTyped(f"{value!r} is no {type_}")
        return value
    if isinstance(type_, types.List):
        if not isinstance(value, list):
            raise IllTyped(f"{value!r} is no {type_}")
        return value
    if isinstance(type_, types.Boolean):
        if not isinstance(value, (bool, np.bool_)):
            raise IllTyped(f"{value!r} is no boolean")
        return bool(value)
    if isinstance(type_, types.Integer):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise IllTyped(f"{value!r} is no {type_}")
        return np.array(value).astype(scalar_dtype(type_))[()]
    if isinstance(type_, (types.Float, types.Complex)):
        if not isinstance(value, (float, np.floating, complex, np.complexfloating)):
            raise IllTyped(f"{value!r} is no {type_}")
        if isinstance(type_, types.Float) and isinstance(value, (complex, np.complexfloating)):
            raise IllTyped(f"{value!r} is no {type_}")
        return scalar_dtype(type_).type(value)
    return value


class Interpreter:
    """Runs regions. `values` has what each variable holds; an inner region sees those around it."""

    def __init__(self, values: dict[ir.Var, Any], unwritten: float = np.nan):
        self.values, self.unwritten = values, unwritten

    # ------------------------------------------------------------------------------------------ operands

    def get(self, operand: ir.Operand) -> Any:
        """The value of an operand, undefined or not."""
        if isinstance(operand, ir.Var):
            return self.values[operand]
        return typed(operand.value, operand.type)

    def defined(self, value: Any) -> Any:
        if value is UNDEFINED:
            raise UndefinedRead
        return value

    def read(self, operand: ir.Operand) -> Any:
        found = self.get(operand)
        if found is UNDEFINED:
            raise UndefinedRead(repr(operand))
        return found

    def index(self, operands: Sequence[ir.Operand]) -> tuple[int, ...]:
        return tuple(int(self.read(o)) for o in operands)

    def set(self, out: ir.Var, value: Any) -> None:
        self.values[out] = typed(value, out.type)

    # ------------------------------------------------------------------------------------------ regions

    def region(self, region: ir.Region, args: Sequence[Any]) -> list[Any]:
        """What the region yields for the given values of its arguments."""
        assert len(args) == len(region.args)
        for var, value in zip(region.args, args, strict=True):
            self.set(var, value)
        for op in region.ops:
            _RULES[type(op)](self, op)
        return [self.get(y) for y in region.yields]

    def hand_back(self, outs: Sequence[ir.Var], values: Sequence[Any]) -> None:
        for out, value in zip(outs, values, strict=True):
            self.set(out, value)

    # ------------------------------------------------------------------------------------------ operations

    def call(self, op: ir.Call) -> None:
        args = [self.read(a) for a in op.args]
        if op.callee is ir.cast:
            made = cast(args[0], op.outs[0].type)
        elif op.callee is operator.invert and isinstance(op.args[0].type, types.Boolean):
            made = not args[0]
        else:
            if getattr(op.callee, "__module__", "") == "math":
                # some of them take Python's integers alone, which are what the text gives them
                args = [int(a) if isinstance(a, np.integer) else a for a in args]
            if op.callee is round and len(args) == 2 and round(float(args[0]), *args[1:]) != round(*args):
                raise UndefinedRead("where decimals are dropped halfway, numbers of Python and of NumPy differ")
            made = op.callee(*args, **dict(op.options))
        if len(op.outs) == 1:
            self.set(op.outs[0], _fitting(made, op.outs[0].type))
        else:
            self.hand_back(op.outs, made if op.outs else ())

    def undefined(self, op: ir.Undefined) -> None:
        self.values[op.out] = UNDEFINED

    def alloc(self, op: ir.Alloc) -> None:
        dtype = scalar_dtype(op.out.type.dtype)
        is_integer = dtype.kind not in "fc" and self.unwritten != self.unwritten
        fill = (0 if is_integer else self.unwritten) if op.fill is None else op.fill.value
        if op.like is not None:
            self.set(op.out, np.full_like(self.read(op.like), fill, dtype=dtype))
        else:
            self.set(op.out, np.full(self.index(op.shape), fill, dtype=dtype))

    def copy(self, op: ir.Copy) -> None:
        order = "F" if array_type_of(op.out).layout == "F" else "C"
        self.set(op.out, self.read(op.source).copy(order))

    def extent(self, op: ir.Extent) -> None:
        self.set(op.out, self.read(op.array).shape[op.axis])

    def load(self, op: ir.Load) -> None:
        self.set(op.out, self.read(op.array)[self.index(op.index)])

    def store(self, op: ir.Store) -> None:
        array, index, value = self.read(op.array), self.index(op.index), self.read(op.value)
        if typed(value, op.array.type.dtype) != value and value == value:
            raise IllTyped(f"{value!r} into {op.array.type}")
        array[index] = array[index] + value if op.add else value

    def slice(self, op: ir.Slice) -> None:
        index: list[Any] = []
        for s in op.selectors:
            if isinstance(s, ir.At):
                index.append(int(self.read(s.index)))
            elif isinstance(s, ir.Span):
                index.append(slice(*(None if e is None else int(self.read(e)) for e in (s.start, s.stop, s.step))))
            else:
                index.append(None)
        # the Ellipsis makes it a view even where nothing but integers is left
        self.set(op.out, self.read(op.base)[(*index, ...)])

    def transpose(self, op: ir.Transpose) -> None:
        self.set(op.out, np.transpose(self.read(op.base), op.axes))

    def reshape(self, op: ir.Reshape) -> None:
        made = self.read(op.base).reshape(self.index(op.shape))
        assert made.size == 0 or np.shares_memory(made, self.read(op.base)), "a reshape that copies"
        self.set(op.out, made)

    def new_tape(self, op: ir.NewTape) -> None:
        self.set(op.out, [])

    def push(self, op: ir.Push) -> None:
        tape = self.read(op.tape)
        assert self.read(op.index) == len(tape), "an entry is pushed elsewhere than its index says"
        tape.append(typed(self.read(op.value), op.tape.type.dtype))

    def pull(self, op: ir.Pull) -> None:
        index = int(self.read(op.index))
        assert index >= 0, "a negative index into a tape"
        self.set(op.out, self.read(op.tape)[index])

    def branch(self, op: ir.If) -> None:
        self.hand_back(op.outs, self.region(op.then if self.read(op.condition) else op.orelse, ()))

    def loop(self, op: ir.For) -> None:
        carried = [self.get(i) for i in op.inits]
        for trip in range(*self.index((op.start, op.stop, op.step))):
            carried = self.region(op.body, [trip, *carried])
            if op.stops and self.defined(carried.pop()):
                break
        self.hand_back(op.outs, carried)

    def repeat(self, op: ir.While) -> None:
        carried = [self.get(i) for i in op.inits]
        trips = 0
        while self.defined(self.region(op.test, carried)[0]):
            carried = self.region(op.body, carried)
            if op.stops and self.defined(carried.pop()):
                break
            trips += 1
            assert trips < MOST_TRIPS, "a loop without end"
        self.hand_back(op.outs, carried)

    def throw(self, op: ir.Raise) -> None:
        if op.condition is None or not self.read(op.condition):
            raise op.exception(*(a if isinstance(a, str) else self.read(a) for a in op.args))

    def comment(self, op: ir.Comment) -> None:
        pass


def cast(value: Any, type_: ir.Type) -> Any:
    """Conversion as compiled code does it: towards zero from a float to an integer."""
    if isinstance(type_, types.Array):
        return value.astype(scalar_dtype(type_.dtype), copy=False)
    if isinstance(type_, types.Boolean):
        return bool(value)
    return np.asarray(value).astype(scalar_dtype(type_))[()]


def _fitting(value: Any, type_: ir.Type) -> Any:
    """What NumPy and compiled code give different types although they mean the same value."""
    if isinstance(type_, types.Array):
        # NumPy hands back a scalar where an array has no axes, and keeps 32 bits where a number is Python's
        value = np.asarray(value) if type_.ndim == 0 else value
        is_single = isinstance(value, np.ndarray) and value.dtype == np.float32 and type_.dtype == types.float64
        return value.astype(np.float64) if is_single else value
    if isinstance(type_, types.Float) and isinstance(value, (np.floating, float)):
        return scalar_dtype(type_).type(value)
    if isinstance(type_, types.Integer) and isinstance(value, (np.bool_, bool)):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    return value


_RULES: dict[type[ir.Op], Callable[[Interpreter, Any], None]] = {
    ir.Call: Interpreter.call,
    ir.Undefined: Interpreter.undefined,
    ir.Alloc: Interpreter.alloc,
    ir.Copy: Interpreter.copy,
    ir.Extent: Interpreter.extent,
    ir.Load: Interpreter.load,
    ir.Store: Interpreter.store,
    ir.Slice: Interpreter.slice,
    ir.Transpose: Interpreter.transpose,
    ir.Reshape: Interpreter.reshape,
    ir.NewTape: Interpreter.new_tape,
    ir.Push: Interpreter.push,
    ir.Pull: Interpreter.pull,
    ir.If: Interpreter.branch,
    ir.For: Interpreter.loop,
    ir.While: Interpreter.repeat,
    ir.Raise: Interpreter.throw,
    ir.Comment: Interpreter.comment,
}
