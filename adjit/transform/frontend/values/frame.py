"""What is known while a function is elaborated: the operations made so far, the names in scope, the place for errors.

In: nothing. Out: `Context`, one a compilation, and `Frame`, one a function body (inlined functions have their own).
"""

from __future__ import annotations

import abc
import contextlib
import inspect
import os
import sysconfig
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import libcst as cst
import numpy as np
from numba import types

from adjit import errors
from adjit.runtime.library.gpus import as_numba_scalar
from adjit.transform import ir
from adjit.transform.frontend.values.assumptions import Assumptions, Restart
from adjit.transform.frontend.values.bookkeeping import (
    ArgumentNotes,
    ArrayNotes,
    Heap,
    LoopState,
    NameNotes,
    NumberNotes,
)
from adjit.transform.frontend.values.cells import AWAY, COMMON, MADE_TEXT, WHERE_TEXTS_GO, ClosureCell, Poison, View
from adjit.transform.frontend.values.dictionaries import Instance, as_list
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, fields_of
from adjit.transform.frontend.values.numbers import Complex
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Followed, Static, StringArray
from adjit.transform.frontend.values.values import Value, dereference, leaves_of, parts_of
from adjit.transform.ir.types import const, is_small, type_of, typed_const
from adjit.transform.source.external_reads import contents_read, memory_read
from adjit.transform.source.parsing import FunctionSource
from adjit.transform.source.protocols import own_of_builtin, plain_class
from adjit.transform.source.routines import Routines
from adjit.transform.source.structures import ARRAYS, known_by

Held = TypeVar("Held", bound=Value)
ANYWHERE = "anywhere"  # the root of an array that may be any of those reachable here
KEPT = "kept"  # one of the roots of an item of a list that grows, which stands for an array that has other names
# what notes of copies say of arrays that lists have, and of such an item that somebody else has, too
ITEMS, ITEM = "an item of this list", "item"


class Context(abc.ABC):
    """One compilation: the builder, the arrays' shapes and roots, and the functions being inlined."""

    build_derivative: Callable[
        [Any, tuple[types.Type, ...]], ir.Function
    ]  # which makes what the program derives itself

    def __init__(self, assumed: Assumptions) -> None:
        self.assumed = assumed
        self.builder = ir.Builder()
        self.heap, self.arrays, self.numbers = Heap(), ArrayNotes(), NumberNotes()
        self.arguments, self.names, self.loop = ArgumentNotes(), NameNotes(), LoopState()
        self.variables_in: dict[int, tuple[Value, frozenset[ir.Var]]] = {}  # what lists and objects hold, by their ids
        self.active_calls: list[tuple[Any, ...]] = []
        self.unrolled_calls = 0  # of functions by themselves
        # functions that call themselves, how deep is known at run time, by function or node; as loops, once those are
        # made
        self.recursive: dict[object, FunctionSource | None] = dict.fromkeys(assumed.recursive)
        self.decomposed: list[Any] = []  # the callees that rules are being written for, in terms of other ops
        # where the calls under way are; where that is in the file is told in errors alone
        self.call_places: list[tuple[FunctionSource, cst.CSTNode] | None] = []
        self.frame: Frame | None = None
        self.frames: list[Frame] = []  # of the calls under way
        self.makes_error = False  # the constructor of an exception runs, the texts of which need not be known
        self.thrown: list[type[BaseException]] = []  # the classes of exceptions that were raised and are caught
        # whether keys that are known at run time only are refused for now: a loop around may have to be written out
        self.wants_known = False
        # whether the extents of arguments are known, since something wants constants
        self.knows_extents = False
        self.node: cst.CSTNode | None = None
        self.statement: cst.CSTNode | None = None  # the last expression that was a statement, whose value goes unread
        self.is_program = True  # rather than a rule of derivatives, in which shapes fit
        self.routines: Routines | None = None  # where calls may stay calls
        self.kernel: Any = None  # the one whose thread is elaborated, of kernels.py
        # whether the copies that stand for views are noted, as they are in functions of the user's and not in rules
        self.notes_views = False
        # and in what order NumPy makes arrays: in the user's text alone, as what a decomposition makes is not NumPy's
        self.notes_order = False

    # ------------------------------------------------------------------------------ what `walk` implements, above this

    @abc.abstractmethod
    def inline(
        self, function: Any, args: Sequence[Value], named: Mapping[str, Value], is_rule: bool, weak: bool
    ) -> Value:
        """The result of a Python function on these arguments; `weak`: the types of its literals give way."""

    @abc.abstractmethod
    def inline_derivative(self, derivative: Any, args: Sequence[Value]) -> Value:
        """The result of a transformed function."""

    @abc.abstractmethod
    def elaborate_local(
        self,
        function: LocalFunction,
        leaves: Sequence[ir.Operand],
        leaf_names: Sequence[str],
        arg_types: Sequence[types.Type],
        build_derivative: Callable[[Any, tuple[types.Type, ...]], ir.Function],
    ) -> ir.Function:
        """The IR of a function defined inside another: `leaves` of what it reads around it are its last arguments."""

    @abc.abstractmethod
    def elaborate_apart(
        self,
        source: FunctionSource,
        names: Sequence[str],
        arg_types: Sequence[types.Type],
        variables: Callable[[dict[str, Value]], dict[str, Value]],
        build_derivative: Callable[[Any, tuple[types.Type, ...]], ir.Function],
    ) -> ir.Function:
        """The IR of a function that stays a function; `variables`: from its parameters to what its body sees."""

    @abc.abstractmethod
    def run_local(self, function: LocalFunction, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """The result of a function that was defined inside a differentiated one, or of a lambda."""

    @abc.abstractmethod
    def call(self, frame: Frame, function: Value, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """The result of a call."""

    @abc.abstractmethod
    def attribute(self, frame: Frame, owner: Value, name: str) -> Value:
        """An attribute of a value."""

    @abc.abstractmethod
    def for_each(self, frame: Frame, iterated: Value, do: Callable[[Value], None], names: Sequence[str] = ()) -> None:
        """A loop over something."""

    @abc.abstractmethod
    def collected(self, frame: Frame, iterated: Value, each: Callable[[Value], Value] | None) -> List:
        """The list that a loop over something collects, of each item."""

    @abc.abstractmethod
    def comprehension(
        self,
        frame: Frame,
        node: cst.ListComp | cst.GeneratorExp,
        is_first_alone: bool = False,
        first: Value | None = None,
    ) -> Value:
        """The list of a comprehension."""

    @abc.abstractmethod
    def either_value(
        self, frame: Frame, condition: ir.Operand, yes: Callable[[], Held], no: Callable[[], Held]
    ) -> Held:
        """The value of a branch."""

    @abc.abstractmethod
    def read_items(self, frame: Frame, value: Value) -> Value:
        """The value with the items of growing lists as they are now."""

    @abc.abstractmethod
    def reads_once(self, rule: Any) -> tuple[bool, ...]:
        """For each parameter of a rule, whether its body reads elements at most once."""

    # ----------------------------------------------------------------------------------------------------- calls

    @contextlib.contextmanager
    def entered(self, frame: Frame) -> Iterator[None]:
        """Within it the body of a call is elaborated: what lists hold is the same for it and for its caller."""
        caller = self.frames[-1] if self.frames else None
        if caller is not None:
            frame.env.update(caller.lists())
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
        if caller is not None:
            caller.env.update(frame.lists())

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Within it something else is elaborated; afterwards the expression at hand is that of before."""
        outer = self.frame, self.node, self.builder.origin
        yield
        self.frame, self.node, self.builder.origin = outer

    def calls_under_way(self) -> Callable[[], None]:
        """What brings the calls under way, and the place in them, back to what they are now."""
        calls, places = list(self.active_calls), list(self.call_places)
        place = self.frame, self.node, self.builder.origin

        def go_back() -> None:
            self.active_calls[:], self.call_places[:] = calls, places
            self.frame, self.node, self.builder.origin = place

        return go_back

    @property
    def is_plain(self) -> bool:
        """Whether NumPy's and Python's arithmetic counts: in the user's functions that numba does not compile."""
        is_users = self.notes_order and self.kernel is None and self.frame is not None
        return is_users and self.frame is not None and not self.frame.is_compiled

    def depth(self) -> tuple[int, int]:
        """How many regions are open that are no sides of branches, and how many items are run through."""
        return self.builder.depth - self.loop.sides, self.loop.taking

    # ---------------------------------------------------------------------------------------------------- errors

    def here(self) -> tuple[FunctionSource, cst.CSTNode] | None:
        return None if self.frame is None or self.node is None else (self.frame.source, self.node)

    def place(self) -> errors.Place | None:
        return _place(self.here())

    def fail(
        self,
        kind: type[errors.AdjitError],
        what: str,
        why: str = "",
        instead: str = "",
        node: cst.CSTNode | None = None,
    ) -> errors.AdjitError:
        """The error to raise, at the user's line."""
        if node is not None and self.frame is not None and self.frame.source.holds(node):
            place: errors.Place | None = self.frame.source.place(node)
        else:
            place = self.place()
        callers = [_place(here) for here in self.call_places]
        if place is not None and _is_of_python(place):
            # the user's line is that of the call which everything under way is of the library from
            users = [k for k, one in enumerate(callers) if one is not None and not _is_of_python(one)]
            if users:
                name = (*callers[users[-1] + 1 :], place)[0].function  # type: ignore[union-attr]
                why = f"adjit reads its source, and cannot take {what} ({place.lines()[0]})."
                kind, what, place = (
                    errors.Unsupported,
                    f"a call of {name}, of Python's standard library",
                    callers[users[-1]],
                )
                instead = f"Write the computation out, or give its source:  @adjit.rules.decomposition({name})"
        caller = callers[0] if callers else None
        if caller is not None and place is not None and caller.function != place.function:
            # the line of the function that is differentiated, which may be the only one that is the user's
            why = f"{why}\nCalled from {caller.lines()[0]}.".lstrip("\n")
        return kind(what, place, why, instead)

    def unsupported(self, what: str, instead: str, why: str = "", node: cst.CSTNode | None = None) -> errors.AdjitError:
        """The refusal of what adjit does not take, at the user's line."""
        return self.fail(errors.Unsupported, what, why, instead, node)

    def not_constant(
        self, what: str, instead: str, why: str = "", node: cst.CSTNode | None = None
    ) -> errors.AdjitError:
        """The refusal of what has to be known while compiling, as the number of a trip is in a loop that is written
        out."""
        fault = self.unsupported(what, instead, why, node)
        fault.wants_constant = True
        return fault

    def mismatch(self, what: str, instead: str, why: str = "", node: cst.CSTNode | None = None) -> errors.AdjitError:
        """The refusal of a value of another type than is needed there."""
        return self.fail(errors.TypeMismatch, what, why, instead, node)

    def no_rule(self, what: str) -> errors.AdjitError:
        """The refusal of complex numbers where nobody knows a derivative of pairs of real ones."""
        return self.fail(errors.NoRule, f"{what} has no derivative rule", "", "Write it with real and imaginary parts.")

    # ---------------------------------------------------------------------------------------------------- arrays

    def new_array(
        self, array: ir.Var, shape: Sequence[ir.Operand] | None = None, roots: frozenset[object] | None = None
    ) -> ir.Var:
        """Take note of an array that was just made: its shape (asked for at run time if not given) and its roots."""
        assert isinstance(array.type, types.Array)
        if shape is None:
            shape = self.builder.shape(array)
        self.arrays.shapes[array] = tuple(shape)
        self.arrays.has_small = self.arrays.has_small or is_small(array.type.dtype)
        self.arrays.roots[array] = frozenset((array,)) if roots is None else roots
        return array

    def shape(self, array: ir.Operand) -> tuple[ir.Operand, ...]:
        if isinstance(array, ir.Const):
            return tuple(const(int(n)) for n in array.value.shape)
        if array not in self.arrays.shapes or (
            array in self.arrays.looked_at and not self.builder.is_open(self.arrays.looked_at[array])
        ):
            # of an array that nobody took note of, known where it was looked at and in what is inside that
            self.new_array(array, roots=frozenset((ANYWHERE,)))
            self.arrays.looked_at[array] = self.builder.ops
        return self.arrays.shapes[array]

    def shortened(self, extent: ir.Operand, count: int, view: ir.Var, axis: int) -> ir.Operand:
        """The extent of a view that leaves out `count` elements: one operand for all that leave out as many."""
        if count == 0:
            return extent
        known = self.arrays.shortened.get((extent, count))
        if known is None or not self.builder.is_open(known[1]):
            known = self.arrays.shortened[extent, count] = self.builder.extent(view, axis), self.builder.ops
        return known[0]

    def roots_of(self, array: ir.Operand) -> frozenset[object]:
        if isinstance(array, ir.Const):
            return frozenset((id(array.value),))
        return self.arrays.roots.get(array, frozenset((ANYWHERE,)))

    def stores_to_row(self, array: ir.Operand) -> None:
        """Takes note of a store into an array that is an item of a list: who has the array that was put there, in
        Python, or a copy of the item, does not see it."""
        buffer = self.heap.row_of.get(array)
        states = self.frames[-1].lists().values() if self.frames else ()
        wholes = (as_list(state) for state in states)
        if not any(isinstance(one, GrowableList) and any(b is buffer for b in one.buffers) for one in wholes):
            if not self.assumed.items_change:
                raise Restart(items_change=True)
            raise self.unsupported(
                "a store into an array that is an item of a list",
                "Store into it before it is appended, or store a changed copy: `items[k] = new`.",
                why="The list may have changed since the array was taken from it.",
            )
        self.heap.stale |= self.heap.copied_rows

    def changes_drawn(self, array: ir.Const) -> None:
        """Begins again with copies of what generators draw, where this array is one of those."""
        if id(array.value) in self.arguments.drawn and not self.assumed.copies_drawn:
            raise Restart(copies_drawn=True)

    def refuse_stale(self, name: str, value: Value) -> None:
        """Refuses to read an array that a list has changed, as one of its items, and that is not that item here."""
        # the memory of a list is its own
        held = (part for part in parts_of(value) if not isinstance(part, GrowableList))
        for leaf in (leaf for part in held for leaf in leaves_of(part)):
            is_known = not isinstance(leaf.type, types.Array) or leaf in self.heap.row_of
            if not is_known and not self.heap.stale.isdisjoint((leaf, *(self.roots_of(leaf) - {KEPT}))):
                fault = self.unsupported(
                    f"`{name}`, an array that is also an item of a list and may have changed there",
                    "Append a copy, `items.append(x.copy())`, or read the array from the list.",
                    why="Compiled code copies the array into the list; in Python both are one array.",
                )
                # a loop that is written out takes the items of a known list one by one, without copies
                fault.wants_constant = isinstance(value, TupleValue)
                raise fault

    def is_of_doubtful_type(self, array: ir.Operand) -> bool:
        """Whether its numbers may have other bits in NumPy."""
        return self.arrays.has_small and isinstance(array, ir.Var) and not self.roots_of(array) <= self.arrays.given

    def detached(
        self,
        copy: ir.Operand,
        base: ir.Operand,
        what: str,
        always: bool = False,
        readonly: bool = False,
        is_view: bool = False,
        by: str = "layout",
        is_kept: bool = False,
    ) -> None:
        """Take note of a copy where NumPy gives a view, `always` or by the layout at run time; or of what `is_view`, or
        `is_kept` in a list."""
        if self.notes_order if is_view else self.notes_views:
            note = ir.Detached(
                base=base,
                copy=copy,
                what=what,
                always=always,
                readonly=readonly,
                is_view=is_view,
                by=by,
                is_kept=is_kept,
            )
            self.builder.emit(note)

    def ordered(self, array: ir.Operand, like: Sequence[ir.Operand], is_free: bool = False) -> None:
        """Take note of the order that NumPy makes an array in: C if all of `like` are, else any; or any in any case."""
        arrays = tuple(a for a in like if isinstance(a.type, types.Array) and a.type.ndim > 1)
        if self.notes_order and isinstance(array.type, types.Array) and (array.type.ndim > 1 or not like):
            self.builder.emit(ir.Ordered(array=array, like=arrays, is_free=is_free))

    def passed(self, leaves: Sequence[ir.Operand], refuse: Callable[[Collection[int]], None]) -> None:
        """Take note of the arrays that a derivative gets; `refuse`: where those at some positions are not in order."""
        if self.notes_order and any(isinstance(leaf.type, types.Array) for leaf in leaves):
            self.builder.emit(ir.Passed(leaves=tuple(leaves), refuse=refuse))

    @property
    def unsure(self) -> bool:
        """Whether indices come from the user's text, and not from a rule or a kernel, which has checks of its own."""
        return self.notes_order and self.kernel is None

    def may_alias(self, left: ir.Operand, right: ir.Operand) -> bool:
        a, b = self.roots_of(left), self.roots_of(right)
        return ANYWHERE in a or ANYWHERE in b or bool(a & b)

    # ---------------------------------------------------------------------------------------------------- loops

    def reduce(
        self,
        extents: Sequence[ir.Operand],
        initial: ir.Operand,
        body: Callable[[tuple[ir.Operand, ...], ir.Operand], ir.Operand],
        name: str,
        order_free: bool = False,
    ) -> ir.Operand:
        """Loops that carry one value; `body` gets the index and the value and gives the next value.

        `order_free`: the value is only added to, so that the trips may run in any order.
        """

        def level(done: tuple[ir.Operand, ...], value: ir.Operand) -> ir.Operand:
            depth = len(done)
            if depth == len(extents):
                return body(done, value)
            index, carried = "ijklmpq"[depth] if depth < 7 else f"i{depth}", ir.Var(name, initial.type)

            def trip(counter: ir.Var, value: ir.Var) -> tuple[ir.Operand]:
                return (level((*done, counter), value),)

            return self.builder.fold(extents[depth], index, [value], [carried], trip, order_free=order_free)[0]

        return level((), initial)


def _is_of_python(place: errors.Place) -> bool:
    """Whether a line is of a module of Python's own library."""
    return place.filename.startswith(_OF_PYTHON) and "site-packages" not in place.filename


_OF_PYTHON = (sysconfig.get_paths()["stdlib"] + os.sep, sysconfig.get_paths()["platstdlib"] + os.sep)


def _place(here: tuple[FunctionSource, cst.CSTNode] | None) -> errors.Place | None:
    return None if here is None else here[0].place(here[1])


def wrap(ctx: Context, thing: Any) -> Value:
    """The value that stands for a Python object from outside; numbers and arrays are constants, as for numba."""
    if isinstance(thing, np.float16 | np.longdouble | np.clongdouble):
        raise ctx.unsupported(
            f"a number of {thing.dtype} from outside", "Convert it with float(...) or np.float32(...)."
        )
    if own := own_of_builtin(type(thing)):
        raise ctx.unsupported(
            f"{type(thing).__name__}, a class with its own method `{own}`",
            f"Use a plain {plain_class(type(thing)).__name__} with its contents.",
            why="adjit does not call the method where Python would.",
        )
    if isinstance(thing, bool | int | float | np.bool_ | np.integer | np.floating):
        return const(thing)
    is_container = isinstance(thing, list | dict | set | deque | MappingProxyType)
    if is_container:
        contents_read(thing)
    # numba keeps what was there when it compiled, be it changed later or not
    is_plain = not ctx.frames or not (ctx.frames[-1].is_compiled or ctx.frames[-1].is_rule)
    if is_plain and (is_container or isinstance(thing, np.ndarray)):
        memory_read(thing)
    match thing:
        case complex() | np.complexfloating():
            part = type_of(thing.real)
            return Complex(typed_const(float(thing.real), part), typed_const(float(thing.imag), part))
        case tuple() if not isinstance(thing, time.struct_time):
            return TupleValue(tuple(wrap(ctx, part) for part in thing), fields=fields_of(type(thing)))
        case np.ndarray(dtype=dtype):
            if dtype.names or dtype.kind == "U":
                return Static(thing if dtype.names else StringArray(thing))
            type_ = _type_of_array(ctx, thing)
            return _parts(ctx, thing) if isinstance(type_.dtype, types.Complex) else ir.Const(thing, type_)
        case np.str_():
            return Static(str(thing))
        case slice() if all(isinstance(e, int | np.integer | None) for e in _ends(thing)):
            return SliceValue(ir.Span(*(None if end is None else ir.integer(int(end)) for end in _ends(thing))))
    known = known_by(thing)
    if known:
        return Instance(tuple(known), tuple(wrap(ctx, part) for part in known.values()), of=type(thing))
    return Static(as_numba_scalar(thing))


def _ends(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def _type_of_array(ctx: Context, array: np.ndarray[Any, Any]) -> types.Array:
    """The type of a global array, which is one of numbers that numba has."""
    if type(array) not in ARRAYS:
        # which may have a mask, units, or operators of its own
        kind = "a masked array" if isinstance(array, np.ma.MaskedArray) else f"an array of type {type(array).__name__}"
        instead = (
            "Use its filled(...), or its data and its mask." if "mask" in kind else "Convert it with np.asarray(...)."
        )
        raise ctx.unsupported(f"{kind} from outside", instead)
    if not array.dtype.isnative or array.dtype.kind not in "biufc" or array.dtype.char in "egG":
        is_number = array.dtype.kind in "fiuc"
        instead = "Convert it with astype(np.float64)." if is_number else "Use an array of numbers."
        raise ctx.unsupported(f"a global array of {array.dtype}", instead)
    type_ = type_of(array)
    assert isinstance(type_, types.Array)
    return type_


def _parts(ctx: Context, array: np.ndarray[Any, Any]) -> Complex:
    """A global array of complex numbers as two constants, the same two each time: constants are known by identity."""
    found = ctx.arrays.complex_globals.get(id(array))
    if found is None:
        real, imag = np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag)
        found = ctx.arrays.complex_globals[id(array)] = Complex(
            ir.Const(real, type_of(real)), ir.Const(imag, type_of(imag))
        )
    return found


class Frame:
    """One function body: its source, its variables, and whether it is the body of a rule.

    `weak`: numeric literals take the float type of what they are combined with (in partials, tangents and transposes).
    """

    def __init__(self, ctx: Context, source: FunctionSource, is_rule: bool = False, weak: bool = False):
        self.ctx = ctx
        self.source = source
        self.env: dict[str, Value] = {}
        self.is_rule = is_rule
        self.weak = weak
        # whether numba compiles it, so that what numba would call counts; and the types that variables were given
        of_caller = bool(ctx.frames) and ctx.frames[-1].is_compiled
        self.is_compiled: bool = not is_rule and (of_caller or source.dispatcher is not None)
        self.declared: Mapping[str, types.Type] = {}
        self.own_ops = ctx.builder.ops  # where what runs in any case is emitted
        self.local_names: frozenset[str] = frozenset()
        self.in_loop = False
        # the names that the innermost loop assigns and that were not assigned before it, with what the trip before left
        # in them where somebody asked; and those of which the type is yet to be found
        self.earlier: dict[str, Value | None] = {}
        self.sought: frozenset[str] = frozenset()
        self.rules = rules_under_way(ctx)
        # the handlers of each `try` around, of callers too, the innermost last
        self.catching: tuple[tuple[Any, ...], ...] = () if is_rule or not ctx.frames else ctx.frames[-1].catching
        # those that are handled here, the innermost last: their classes, name, number and object
        self.handling: tuple[tuple[Sequence[type[BaseException]], str, ir.Operand, Value | None], ...] = ()
        # the expression that is all of the statement at hand, what is assigned to aside, and how deep it stands
        self.whole: cst.CSTNode | None = None
        self.stands_at: tuple[int, int] = (0, 0)
        self.constants: dict[str, Any] = {}  # what is known of the parameters
        self.kept: Mapping[str, Any] = {}  # what names around it have in code that numba has compiled
        self.shared: tuple[str, ...] = ()  # the variables that functions defined inside assign
        self.begun = 0  # how many operations there were when the statement at hand began
        self.giving: Giving | None = None  # of a generator, who runs through it
        # of a function defined inside another: that one, the names that are its own, and the names of comprehensions
        # around its definition that have come to their end; and the comprehensions under way, with the names in them
        self.home: Frame | None = None
        self.own: frozenset[str] = frozenset()
        self.gone: frozenset[str] = frozenset()
        self.comprehensions: tuple[Names, ...] = ()

    def begins(self, whole: cst.CSTNode | None) -> None:
        """A statement is elaborated, which is that expression and what is done with it."""
        self.whole, self.stands_at = whole, self.ctx.depth()

    def is_alone(self) -> bool:
        """Whether what is evaluated is all of a statement, and no loop within it."""
        return self.ctx.node is self.whole and self.ctx.depth() == self.stands_at

    def visible(self) -> dict[str, Value]:
        """What a function sees that is defined in this one, as it is now."""
        found = {name: value for name, value in self.env.items() if not name.startswith("%")}
        if self.home is None or any(known is self for known in self.ctx.frames):
            return found
        return {**self.home.visible(), **{name: value for name, value in found.items() if name in self.own}}

    def lists(self) -> dict[str, Value]:
        """What is in each list, by its cell, and in each variable that is shared."""
        return {name: value for name, value in self.env.items() if name.startswith(COMMON)}

    def store(self, name: str, value: Value) -> None:
        """A variable holds that from now on."""
        known = self.env.get(name)
        self.env[known.key if isinstance(known, ClosureCell) else name] = value

    def lookup(self, name: str) -> Value | None:
        """The value of a local variable, None if there is none of that name."""
        found = self.env.get(name)
        if isinstance(found, ClosureCell) and (found := self.env.get(found.key)) is None:
            raise self.ctx.unsupported(
                f"`{name}`, which an inner function assigns, is read before it is assigned",
                "Assign it before the inner function is defined.",
            )
        value = found if found is None else dereference(self.env, found)
        if value is not None and (self.ctx.assumed.items_change or isinstance(value, View)):
            value = self.ctx.read_items(self, value)
        if self.ctx.heap.stale and value is not None:
            self.ctx.refuse_stale(name, value)
        if value is AWAY:
            raise self.ctx.unsupported(
                f"`{name}`, which a generator reads and a loop over the generator assigns",
                "Keep it in a list or an object, or yield its value.",
                why="The generator would have to see the changes that the loop makes.",
            )
        if not isinstance(value, Poison):
            return value
        if value.is_deleted:
            raise self.ctx.unsupported(f"`{name}` is read after it may have been deleted", "Leave the `del` out.")
        if value.why == MADE_TEXT.why:
            raise self.ctx.not_constant(f"`{name}`, a string that is only known at run time", WHERE_TEXTS_GO)
        is_users = not name.startswith("%") and name not in self.source.made_up
        shown = f"`{name}`" if is_users else "the result"
        fault = self.ctx.not_constant(
            f"the type of {shown} depends on the path taken", f"Give {shown} one type on every path.", why=value.why
        )
        fault.is_of_trips = value.is_of_trips
        raise fault


def rules_under_way(ctx: Context) -> tuple[Frame, ...]:
    """The bodies of rules that run now, which may call a function as often as they like. Python's own library, written
    in Python, calls it as Python does."""
    return tuple(each for each in ctx.frames if each.is_rule and not _is_of_python_library(each.source.function))


def _is_of_python_library(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("adjit.rules.python.")


@dataclass(eq=False)
class Names:
    """The names in a comprehension, and whether that has come to its end."""

    names: frozenset[str]
    are_gone: bool = False


@dataclass(frozen=True)
class Giving:
    """Who runs through a generator: what is done with an item, which variables that assigns, whether it may leave."""

    user: Frame
    names: tuple[str, ...]
    do: Callable[[Value], ir.Operand | None]
    stops: bool
    calls: int  # how many calls were under way around it
    places: int


@dataclass(frozen=True)
class LocalFunction(Followed):
    """A lambda or function defined inside a differentiated one, with the variables it can see.

    remembers: whether it is decorated with functools.cache or the like.
    """

    node: cst.Lambda | cst.FunctionDef
    frame: Frame
    defaults: Mapping[str, Value] = field(hash=False)
    comprehensions: tuple[Names, ...] = field(default=(), compare=False)  # around it
    loops: tuple[object, ...] = field(default=(), compare=False)  # those around it
    remembers: bool = False

    @property
    def name(self) -> str:
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "<lambda>"

    @property
    def parameters(self) -> list[str]:
        return list(self.signature.parameters)

    @property
    def signature(self) -> inspect.Signature:
        given, found = self.node.params, inspect.Parameter
        several = [given.star_arg] if isinstance(given.star_arg, cst.Param) else []
        named = [given.star_kwarg] if given.star_kwarg is not None else []
        kinds = (
            (given.posonly_params, found.POSITIONAL_ONLY), (given.params, found.POSITIONAL_OR_KEYWORD),
            (several, found.VAR_POSITIONAL), (given.kwonly_params, found.KEYWORD_ONLY), (named, found.VAR_KEYWORD),
        )  # fmt: skip
        names = [(p.name.value, kind) for params, kind in kinds for p in params]
        return inspect.Signature([found(n, kind, default=self.defaults.get(n, found.empty)) for n, kind in names])


class Guess(Exception):
    """A variable was read at the head of a loop whose body assigns it later; the loop has to guess its type first."""

    def __init__(self, name: str):
        self.name = name


class CallRaises(Exception):
    """A call may raise what is caught around it, and is not all of a statement; `frame`: that of the statement."""

    def __init__(self, frame: Frame):
        super().__init__()
        self.frame, self.node = frame, frame.ctx.node


def as_index(ctx: Context, value: Value, what: str) -> ir.Operand:
    """An integer operand, or the error that says what should have been one."""
    if isinstance(value, ir.Operand) and isinstance(value.type, types.Integer):
        return value
    raise ctx.mismatch(f"{what} is not an integer", "Convert it: int(...).")


def static_items(ctx: Context, value: Value, what: str) -> tuple[Value, ...]:
    """The items of a tuple or list display."""
    if isinstance(value, TupleValue):
        return value.items
    raise ctx.not_constant(
        f"{what} is not a tuple",
        "Write a loop over a range or an array.",
        why="Its length has to be known at compile time.",
    )
