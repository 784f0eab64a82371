"""The front end's entry: a Python function and the types of its arguments become a typed `ir.Function`.

    def f(x, n): ...   with (float64[:], int64)   ->   ir.Function f(%x, %n)

Functions that it calls are inlined. Arguments that it writes into are copied first, so the caller's arrays stay as
they are.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import libcst as cst
import numpy as np
from numba import types

from adjit import errors
from adjit.runtime.library import check_apart, check_separate
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases, named_by
from adjit.transform.frontend.arrays.indexing import CHANGED_GLOBAL
from adjit.transform.frontend.arrays.shaping import copied_whole
from adjit.transform.frontend.heap.escape_check import check_trips
from adjit.transform.frontend.heap.lists import elements
from adjit.transform.frontend.heap.record_arrays import records_of
from adjit.transform.frontend.heap.references import as_reference, held_by, read_items
from adjit.transform.frontend.library.cuda import check_result, in_threads, kernel_of
from adjit.transform.frontend.library.launches import Launched
from adjit.transform.frontend.numba.declared_types import of_body, returned, taken, type_of_value
from adjit.transform.frontend.numba.frozen_names import kept_names
from adjit.transform.frontend.operations.control import RETURN, VALUE, either_value, flag
from adjit.transform.frontend.operations.derivatives import Moved, arguments, placed, result_value
from adjit.transform.frontend.operations.generators import Around, generated
from adjit.transform.frontend.values.arrays import array_of
from adjit.transform.frontend.values.assumptions import Assumptions, Restart
from adjit.transform.frontend.values.cells import ClosureCell, Ref
from adjit.transform.frontend.values.dictionaries import Instance, Record, RuntimeDict, as_record
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Context, Frame, Guess, LocalFunction, rules_under_way, wrap
from adjit.transform.frontend.values.lists import GrowableList, Row, TupleValue, fields_of, is_tuple
from adjit.transform.frontend.values.numbers import Complex, Number, is_array, is_scalar, operands_in
from adjit.transform.frontend.values.statics import RuntimeGenerator, Static, as_stream, is_none, stands_for
from adjit.transform.frontend.values.unions import functions_in, not_none
from adjit.transform.frontend.values.values import LEAF, Structure, Value, describe, leaves_of, parts_of, structure
from adjit.transform.frontend.walk.calls import attribute, call
from adjit.transform.frontend.walk.exceptions import handed_on
from adjit.transform.frontend.walk.expressions import evaluate_or_none
from adjit.transform.frontend.walk.recursion import as_loop
from adjit.transform.frontend.walk.routines import (
    begin_with_routines,
    called_apart,
    check_apart_effects,
    check_apart_result,
    count_call,
    note_length,
)
from adjit.transform.frontend.walk.statements import block, collected, comprehension, for_each
from adjit.transform.frontend.walk.view_copies import read_only, without_detached
from adjit.transform.ir.types import array_type_of, part_type, tuple_parts, tuple_type, unliteral
from adjit.transform.rewrite.define_undefined import define_undefined
from adjit.transform.rewrite.notes import Elaborated, Restarted, note
from adjit.transform.source.derivative import Enclosed, Spread, Structured, has_derivative, parameters, root, unused
from adjit.transform.source.external_reads import (
    Changed,
    argument_changed,
    argument_written,
    static_attribute,
    while_it_holds,
)
from adjit.transform.source.parsing import FunctionSource, read_source
from adjit.transform.source.routines import Routines
from adjit.transform.source.structures import Layout, columns_of, has_same
from adjit.transform.source.structures import count as leaf_count_of
from adjit.transform.source.syntax import always_returns, assigned, children, inside, nonlocals, own_names, yield_in

DEEPEST = 64  # calls within calls

BuildDerivative = Callable[[Any, tuple[types.Type, ...]], ir.Function]


def elaborate(
    function: Any,
    arg_types: Sequence[types.Type],
    build_derivative: BuildDerivative,
    routines: Routines | None = None,
) -> ir.Function:
    """The typed IR of a Python function or dispatcher; `build_derivative` makes that of a derivative that it calls.
    `routines`: has those of its functions that stay functions, where that may be."""
    if isinstance(function, Enclosed):
        return function.elaborate(arg_types, build_derivative)
    layouts: Sequence[Layout | None] = ()
    further: tuple[str, ...] = ()
    branches: Sequence[int] = ()
    if isinstance(function, Structured):
        function, layouts, further, branches = function.function, function.layouts, function.further, function.branches
    spread = function if isinstance(function, Spread) else None
    source = read_source(root(function))
    names = tuple(source.parameters.parameters if spread is None else parameters(spread).parameters)
    parts_of_further = dict(zip(branches, further, strict=True))

    def run(ctx: Context) -> ir.Function:
        for name, layout in zip(names, layouts, strict=False):
            if layout is not None:
                for part, leaf, path in columns_of(layout):
                    own = name if part is None else parts_of_further[part]
                    ctx.arguments.columns[own, leaf] = (name, path, True)

        def variables(given: dict[str, Value]) -> dict[str, Value]:
            laid = {n: layout for n, layout in zip((*names, *further), layouts, strict=False) if layout is not None}
            known = {n: structured(ctx, laid[n], given[n], {}) if n in laid else given[n] for n in further}
            parts = {number: known[name] for number, name in zip(branches, further, strict=True)}
            own = [structured(ctx, laid[n], given[n], parts) if n in laid else given[n] for n in names]
            if spread is None:
                return dict(zip(names, own, strict=True))
            named = dict(zip(spread.keywords, own[spread.count :], strict=True))
            return arguments(ctx, source.name, source.parameters, own[: spread.count], named)

        return _elaborated(ctx, source, (*names, *further), arg_types, variables)

    return _in_context(build_derivative, run, routines)


def elaborate_kernel(
    function: Any, arg_types: Sequence[types.Type], launched: Launched, build_derivative: BuildDerivative
) -> ir.Function:
    """The typed IR of a `@cuda.jit` kernel: loops over blocks and threads around what one thread does.

    It yields the arrays that it stores to, which are its caller's. After its own parameters come the number of blocks
    along each axis, and the bytes of dynamic shared memory. Barriers and shared arrays are calls in it.
    """
    source = read_source(function)
    names = tuple(source.parameters.parameters)
    hidden: list[str] = []
    for name in (*("blocks", "blocks_y", "blocks_z")[: launched.axes], "shared_bytes"):
        hidden.append(unused(name, (*names, *hidden)))

    def run(ctx: Context) -> ir.Function:
        def variables(given: dict[str, Value]) -> dict[str, Value]:
            own: list[Any] = [given[name] for name in hidden]
            ctx.kernel = kernel_of(launched, own[:-1], own[-1])
            return {name: given[name] for name in names}

        further = [types.intp] * len(hidden)
        return _elaborated(ctx, source, (*names, *hidden), (*arg_types, *further), variables)

    return _in_context(build_derivative, run)


def _in_context(
    build_derivative: BuildDerivative,
    run: Callable[[Context], ir.Function],
    routines: Routines | None = None,
    assumed: Assumptions | None = None,
) -> ir.Function:
    """What `run` makes, under the assumptions that hold: none, until it finds that one is needed."""
    assumed = assumed or Assumptions()
    fault: errors.AdjitError | None = None
    while True:
        ctx = Walk(build_derivative, assumed)
        ctx.routines = routines
        try:
            return run(ctx)
        except Restart as found:
            note(Restarted(found.reason, ctx.builder.origin))
            fault = fault or found.fault
            assumed = assumed.with_also(**found.found)
            if "recursive" in found.found:
                assumed = assumed.with_also(own_extents=True)  # what calls hand on is often a part of what they got
        except errors.AdjitError:
            if fault is None:
                raise
            raise fault from None


def _elaborate_local(
    function: LocalFunction,
    leaves: Sequence[ir.Operand],
    leaf_names: Sequence[str],
    arg_types: Sequence[types.Type],
    build_derivative: BuildDerivative,
) -> ir.Function:
    """The IR of a function defined inside another: `leaves` of what it reads around it are its last arguments."""
    home = function.frame.source
    source = dataclasses.replace(home, name=function.name, node=function.node)

    def run(ctx: Context) -> ir.Function:
        def variables(given: dict[str, Value]) -> dict[str, Value]:
            own = {name: given[name] for name in function.parameters}
            mapping = {leaf: given[name] for leaf, name in zip(leaves, leaf_names, strict=True)}
            return {**Moved(Frame(ctx, source), mapping).variables(function), **own}  # type: ignore[arg-type]

        return _elaborated(ctx, source, (*function.parameters, *leaf_names), arg_types, variables, len(leaf_names))

    return _in_context(build_derivative, run)


def _elaborate_apart(
    ctx: Context,
    source: FunctionSource,
    names: Sequence[str],
    arg_types: Sequence[types.Type],
    variables: Callable[[dict[str, Value]], dict[str, Value]],
    build_derivative: BuildDerivative,
) -> ir.Function:
    """The IR of a function that stays a function, under the assumption that the same ones do."""

    def run(own: Context) -> ir.Function:
        return _elaborated(own, source, names, arg_types, variables, is_apart=True)

    return _in_context(build_derivative, run, ctx.routines, Assumptions(routines=ctx.assumed.routines))


@contextlib.contextmanager
def _recursion_seen(ctx: Context, source: FunctionSource) -> Iterator[None]:
    """Has the program read again where a function calls itself without end, or with other types: as a loop."""
    try:
        yield
    except (RecursionError, errors.TypeMismatch) as error:
        known = error if isinstance(error, errors.TypeMismatch) else None
        if (repeated := _called_by_itself(ctx)) is not None:
            raise Restart(known, recursive=(repeated,)) from None
        if known is not None:
            raise
        begin_with_routines(ctx)
        # positions are found by going just as deep
        fault = errors.Unsupported(
            f"an expression, a block or an object that is nested too deeply, in {source.name}",
            source.first_line,
            "Python's recursion limit is reached (see sys.setrecursionlimit).",
            "Divide it into more statements. Keep objects that a loop nests into each other in a list.",
        )
        fault.wants_constant = True  # a loop that is written out makes other objects
        raise fault from error


def _elaborated(
    ctx: Context,
    source: FunctionSource,
    names: Sequence[str],
    arg_types: Sequence[types.Type],
    variables: Callable[[dict[str, Value]], dict[str, Value]],
    around: int = 0,
    is_apart: bool = False,
) -> ir.Function:
    """The IR of a function; `variables`: from the values of its parameters to what its body sees; `around`: how many of
    them, the last ones, belong to the function around it; `is_apart`: it is called by the program, as a routine."""
    ctx.notes_views = ctx.notes_order = True
    given = [parameter(ctx, name, type_) for name, type_ in zip(names, arg_types, strict=True)]
    params = tuple(tree for tree, _ in given)
    leaves = tuple(ir.leaves(params))
    ctx.frame = None
    with ctx.builder.region() as ops:
        for leaf in leaves:
            if isinstance(leaf.type, types.Array):
                ctx.new_array(leaf)
        ctx.arrays.given = frozenset(leaves)
        values = {name: value for name, (_, value) in zip(names, given, strict=True)}
        with _recursion_seen(ctx, source):
            seen_by_body = variables(values)
            with in_threads(ctx) if ctx.kernel is not None else contextlib.nullcontext():
                result, _ = _body(ctx, source, seen_by_body, False, False)
            if is_apart:
                check_apart_result(result)
            elif ctx.kernel is None:
                result = _as_returned(ctx, result, ops)
        if ctx.kernel is not None:
            check_result(source, result)
        tree, yields = result_of(source, result)
        yields = [_owned(ctx, y, leaves) for y in yields]
    naming = _Naming(ctx.names.called)
    body = naming.region(ir.Region(leaves, tuple(ops), tuple(yields)))
    made = ir.Function(
        name=source.identifier,
        names=tuple(names),
        params=params,
        body=body,
        result=tree,
        origin=source.origin(source.node),
        comments=source.comments,
    )
    if is_apart:
        check_apart_effects(made)
    if ctx.loop.holds_values:
        check_trips(made)
    for key in ctx.arguments.at.keys() & ctx.heap.changed_in.keys():
        argument_changed(source.function, ctx.arguments.at[key])
    called = zip(names, params, arg_types, strict=True)
    fixed = {leaf: name for name, tree, type_ in called for leaf in _read_only(tree, type_)}
    _check_stores(ctx, made, source, around, fixed)
    made, same = without_detached(made, fixed)
    kernel = ctx.kernel
    made = made if kernel is None else _yielding_what_it_stores(made, kernel.launched.axes + 1)
    _note_elaborated(ctx, made, lambda operand: ir.substituted_operand(naming.operand(operand), same))
    return define_undefined(made if kernel is not None else _without_side_effects(ctx, made, source))


def _as_returned(ctx: Context, result: Value, ops: Sequence[ir.Op]) -> Value:
    """A result as a caller gets it."""
    result = _lists_as_arrays(ctx, not_none(ctx, result, "the result"))
    if result == Static(None) and ir.raises(ir.Region((), tuple(ops), ())):
        return ir.Const(0.0, types.float64)  # which no call gets to see
    return result


def _note_elaborated(ctx: Context, made: ir.Function, final: Callable[[ir.Operand], ir.Operand]) -> None:
    """Takes note of the IR and of what names stand for there; `final`: the operand that one has become."""
    parts = ((name, origin, part) for name, origin, value in ctx.names.bound for part in parts_of(value))
    bound = tuple((name, origin, final(part)) for name, origin, part in parts if isinstance(part, ir.Operand))
    derived = tuple((tuple(map(final, taken)), tuple(map(final, found))) for taken, found in ctx.names.derived)
    note(Elaborated(made, bound, derived))


def _yielding_what_it_stores(function: ir.Function, hidden: int) -> ir.Function:
    """A kernel that yields the arguments that it stores to, so that every pass sees that what is in them counts.

    hidden: how many parameters, the last ones, are numbers of blocks and of bytes.
    """
    stored = named_by(function, _stores(function).values())
    yields = tuple(p for p in function.body.args if ir.is_array(p) and p in stored)
    counts = tuple(p for p in function.body.args[-hidden:])
    return dataclasses.replace(function, body=ir.with_ops(function.body, function.body.ops, yields), counts=counts)


class _Naming(ir.Cloner):
    """Gives values that had no name when they were made the user's names: `n = x.size`."""

    def __init__(self, called: Mapping[ir.Var, tuple[str, ir.Origin | None]]):
        super().__init__()
        self.called = called

    def fresh(self, var: ir.Var) -> ir.Var:
        if var in self.called:
            self.mapping[var] = var = ir.Var(self.called[var][0], var.type, user=True)
        return var

    def op(self, op: ir.Op) -> ir.Op:
        origins = (self.called[result][1] for result in op.results if result in self.called)
        made = super().op(op)
        return made.at(op.origin or next(origins, None))


def parameter(ctx: Context, name: str, type_: types.Type) -> tuple[ir.Tree, Value]:
    """The variables of a parameter and the value that the body sees."""
    if isinstance(type_, types.BaseTuple):
        parts = [parameter(ctx, f"{name}_{k}", t) for k, t in enumerate(tuple_parts(type_))]
        fields = fields_of(getattr(type_, "instance_class", None))
        return tuple(p[0] for p in parts), TupleValue(tuple(p[1] for p in parts), fields=fields)
    part = part_type(type_)
    if part is not None:
        real, imag = (ir.Var(f"{name}_{side}", part, user=True) for side in ("real", "imag"))
        return ir.Pair((real, imag)), Complex(real, imag)
    var = ir.Var(name, unliteral(type_), user=True)
    if isinstance(type_, types.Omitted):
        var = ir.Var(name, type_, user=True)
        return var, wrap(ctx, type_.value)
    if isinstance(type_, types.NoneType):
        return var, Static(None)
    if isinstance(type_, types.StringLiteral):
        return var, Static(type_.literal_value)
    if isinstance(type_, types.Dispatcher):
        return var, Static(type_.dispatcher)
    if isinstance(type_, types.NumPyRandomGeneratorType):
        return var, RuntimeGenerator(np.random.Generator, var)
    return var, var


def structured(ctx: Context, layout: Layout, value: Value, branches: Mapping[int, Value]) -> Value:
    """An argument that is a list, a dictionary or an object, from the tuple of its leaves; `branches`: parts of it that
    are arguments of their own."""
    if layout.kind == "array":
        return _of_extents(ctx, value, layout.keys)
    assert isinstance(value, TupleValue)
    leaves = iter(value.items)

    def made(part: Layout) -> Value:
        if part.kind == "branch":
            (own,), given = part.parts, branches[part.of]
            return given if own.kind in ("number", "array") else structured(ctx, own, given, {})
        if part.kind == "array" and part.keys:
            return _of_extents(ctx, next(leaves), part.keys)
        if part.kind in ("number", "array"):
            return next(leaves)
        if part.kind == "static":
            return wrap(ctx, part.of)
        if part.kind == "unread":
            return Static(part.of)
        if part.kind == "table":
            # of which items may be the same one
            ctx.heap.items_are_shared |= has_same(part.parts[0])
            return _same(ctx, part, _table(ctx, part.parts[0], leaves))
        if part.kind == "records":
            return records_of(ctx, part.keys, [next(leaves) for _ in part.keys])
        items = tuple(map(made, part.parts))
        if part.kind in ("tuple", "list"):
            return _same(ctx, part, TupleValue(items, part.kind == "list", fields_of(part.of)))
        return _same(ctx, part, as_record(part.keys, items, part.of))

    return made(layout)


def _same(ctx: Context, layout: Layout, value: Value) -> Value:
    """An argument, or a part of one, with a cell that says where else it stands, if it does."""
    if not layout.same:
        return value
    assert isinstance(value, TupleValue | Record | GrowableList)
    ctx.heap.count += 1
    cell = Ref(ctx.heap.count)
    ctx.arguments.same[cell] = layout.same, value
    return dataclasses.replace(value, cell=cell)


def _of_extents(ctx: Context, array: Value, extents: Sequence[int]) -> Value:
    """An argument of extents that are known."""
    ctx.knows_extents = True
    for leaf in leaves_of(array):
        ctx.arrays.shapes[leaf] = tuple(map(ir.integer, extents))
    return array


def _table(ctx: Context, item: Layout, leaves: Iterator[Value]) -> Value:
    """A list of items that are built alike, from a column for each leaf of theirs."""
    columns = [next(leaves) for _ in range(leaf_count_of(item))]
    buffers = tuple(column for column in columns if isinstance(column, ir.Operand))
    if len(buffers) < len(columns):
        raise ctx.unsupported("a long list of complex numbers as an argument", "Pass an array: np.array(...).")
    return GrowableList(_shape(item), buffers, ctx.shape(buffers[0])[0])


def _shape(layout: Layout) -> Structure:
    """How the items of such a list are put together."""
    if layout.kind in ("number", "array"):
        return LEAF
    if layout.kind == "table":
        return Row(LEAF)
    parts = tuple(map(_shape, layout.parts))
    if layout.kind in ("tuple", "list"):
        return TupleValue(parts, layout.kind == "list", fields_of(layout.of))
    return as_record(layout.keys, parts, layout.of)


def _lists_as_arrays(ctx: Context, value: Value) -> Value:
    """A result in which each list of numbers, or of arrays of one shape, is the array that np.array makes of it: SciPy
    takes lists so, and a Jacobian of one is a matrix."""
    if isinstance(value, GrowableList):
        return materialise(ctx, elements(ctx, value))
    if not isinstance(value, TupleValue):
        return value
    if value.is_list and all(is_scalar(leaf) or is_array(leaf) for leaf in _items_in(value)):
        return materialise(ctx, array_of(ctx, value))
    return dataclasses.replace(value, items=tuple(_lists_as_arrays(ctx, item) for item in value.items))


def _items_in(value: Value) -> Iterator[Value]:
    """The items of nested lists and tuples."""
    for item in value.items if isinstance(value, TupleValue) else ():
        yield from _items_in(item) if isinstance(item, TupleValue) else (item,)


def result_of(source: FunctionSource, value: Value) -> tuple[ir.Tree, list[ir.Operand]]:
    """The tree of a result and its leaves."""
    yields: list[ir.Operand] = []

    def tree(part: Value) -> ir.Tree:
        if isinstance(part, ir.Operand):
            yields.append(part)
            return len(yields) - 1
        if isinstance(part, Complex):
            return ir.Pair(map(tree, (part.real, part.imag)))
        if is_tuple(part):
            return tuple(map(tree, part.items))
        if is_none(part):
            return None
        raise errors.Unsupported(
            f"{source.name} returns {describe(part)}",
            source.place(source.node),
            "A result consists of numbers and arrays, in tuples or lists.",
            "Return what is in it, as a tuple."
            if isinstance(part, Record | RuntimeDict)
            else "Leave it out of the result.",
        )

    return tree(value), yields


def _owned(ctx: Context, operand: ir.Operand, params: Sequence[ir.Var]) -> ir.Operand:
    """A result that belongs to the caller: never an argument's or a global array's memory."""
    roots = ctx.roots_of(operand)
    is_own = isinstance(operand, ir.Var) and roots.isdisjoint(params) and all(isinstance(r, ir.Var) for r in roots)
    return operand if is_own or not ir.is_array(operand) else copied_whole(ctx, operand, "result")


def _stores(function: ir.Function) -> dict[ir.Op, ir.Operand]:
    """What writes into memory, with the name under which it does."""
    targets = ((op, op.memory_written) for op in ir.walk(function.body))
    return {op: target for op, target in targets if target is not None}


def _read_only(tree: ir.Tree, type_: types.Type) -> Iterator[ir.Operand]:
    """The arrays in an argument of this type that nothing may be stored into."""
    if isinstance(type_, types.BaseTuple):
        for part, own in zip(tree, tuple_parts(type_), strict=True):
            yield from _read_only(part, own)
    elif isinstance(type_, types.Array) and not type_.mutable:
        yield from ir.leaves(tree)


def _check_stores(
    ctx: Context, function: ir.Function, source: FunctionSource, around: int, fixed: Mapping[ir.Operand, str]
) -> None:
    """Refuses a store into an array that outlives the call, under whatever name, and into one of `fixed`; `around`: how
    many parameters, the last ones, belong to the function around it."""
    aliases, parameters = function.analysis(Aliases), source.parameters.parameters
    of_others = function.params[len(function.params) - around :]
    enclosing = {aliases.find(p) for p in of_others if isinstance(p, ir.Var) and ir.is_array(p)}
    defaults: dict[ir.Operand, str] = {
        param: name
        for name, param in zip(function.names, function.params, strict=True)
        if isinstance(param, ir.Var) and name in parameters and isinstance(parameters[name].default, np.ndarray)
    }
    for op, target in _stores(function).items():
        memory = named_by(function, [target])
        name = next((name for param, name in defaults.items() if param in memory), "")
        if constants := [each for each in memory if isinstance(each, ir.Const)]:
            for constant in constants:
                ctx.changes_drawn(constant)
            what, instead, why = CHANGED_GLOBAL
        elif aliases.find(target) in enclosing:
            what = "an inner function that is differentiated changes an array of the function around it"
            why, instead = "A derivative only changes its results.", "Copy the array first."
        elif name:
            what = f"a change of `{name}`, whose default is an array"
            why = "In Python all calls share the default, so each call sees the changes of the last one."
            instead = f"Write `{name}=None`, and `if {name} is None: {name} = np.zeros(...)` in the function."
        elif named := [fixed[each] for each in memory if each in fixed]:
            raise read_only(named[0], op)
        else:
            continue
        raise errors.Unsupported(what, ir.place_of(op.origin), why, instead)


def _without_side_effects(ctx: Context, function: ir.Function, source: FunctionSource) -> ir.Function:
    """The function with copies of the arguments that it writes into; the parts of complex ones are copies already."""
    parts = [tuple(pair) for pair in ir.pairs(function.params)]
    others = {second for _, second in parts}
    arrays = [p for p in function.body.args if isinstance(p.type, types.Array) and p not in others]
    stored = named_by(function, _stores(function).values())
    memory = dict(parts)
    written = [p for p in arrays if p in stored or memory.get(p) in stored]
    if not written:
        return function
    if source.dispatcher is None:
        for name, tree in zip(function.names, function.params, strict=True):
            for path, leaf in _paths(tree):
                if leaf in written:
                    argument_written(source.function, name, path)
                    if path and (name, path[0]) in ctx.arguments.columns:
                        argument_changed(source.function, ctx.arguments.columns[name, path[0]])
    entry: list[ir.Op] = [
        ir.Call(callee=check_separate, args=pair, outs=(), effect=True, origin=None)
        for pair in itertools.combinations(arrays, 2)
        if any(p in written for p in pair)
    ]
    # what lies in one piece has a place for each element
    loose = [p for p in written if array_type_of(p).layout == "A"]
    entry += [ir.Call(callee=check_apart, args=(p,), outs=(), effect=True, origin=None) for p in loose]
    own = {p: dataclasses.replace(p) for p in written if p not in memory}
    entry += [ir.Copy(source=p, out=copy) for p, copy in own.items()]
    cloner = ir.Cloner({**own})
    ops = [cloner.op(op) for op in function.body.ops]
    yields = tuple(cloner.operand(y) for y in function.body.yields)
    return dataclasses.replace(function, body=ir.Region(function.body.args, (*entry, *ops), yields))


def _paths(tree: ir.Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The leaves of a parameter and the places in tuples that lead to each; of complex arrays the real part."""
    if isinstance(tree, tuple) and not isinstance(tree, ir.Pair):
        for place, part in enumerate(tree):
            yield from _paths(part, (*path, place))
    else:
        yield path, tree[0] if isinstance(tree, ir.Pair) else tree


# ------------------------------------------------------------------------------------------------------------- inlining


def _body(
    ctx: Context, source: FunctionSource, env: dict[str, Value], is_rule: bool, weak: bool
) -> tuple[Value, Frame]:
    """What a function gives, and its variables at the end."""
    frame = Frame(ctx, source, is_rule, weak)
    env, declared_result = taken(ctx, source, env, is_compiled=bool(ctx.frames) and ctx.frames[-1].is_compiled)
    frame.declared, frame.kept = of_body(source), kept_names(ctx, source, env)
    with ctx.entered(frame):
        # (which may change what other names hold, and so makes another environment)
        if len(ctx.frames) == 1:
            for cell, (_, state) in ctx.arguments.same.items():
                held_by(frame, cell, state)  # type: ignore[arg-type]
        own = {name: as_reference(frame, value) for name, value in env.items()}
        frame.constants = {name: v.value for name, v in env.items() if isinstance(v, ir.Const) and not ir.is_array(v)}
        frame.env.update(own)
        if len(ctx.frames) == 1:
            ctx.arguments.at = {key: at for name, value in own.items() for key, at in _given_at(frame, value, name)}
            of_calls = (name for name, p in source.parameters.parameters.items() if isinstance(p.default, list | dict))
            ctx.arguments.defaults = {frame.env[name]: name for name in of_calls if name in frame.env}
        found = _run_body(frame, source)
        is_loop = any(source is each for each in ctx.recursive.values())
        return returned(ctx, source, declared_result, found, is_loop), frame


def _given_at(frame: Frame, value: Value, name: str, path: tuple[int, ...] = ()) -> Iterator[tuple[str, Changed]]:
    """The keys of the cells of the lists, dictionaries and objects in an argument, and where these stand."""
    if isinstance(value, Ref):
        key, value = value.key, frame.env[value.key]
        yield key, (name, path, isinstance(value, GrowableList))
    if isinstance(value, TupleValue | Record):
        for place, part in enumerate(value.items):
            yield from _given_at(frame, part, name, (*path, place))


def _run_body(frame: Frame, source: FunctionSource) -> Value:
    ctx, is_rule = frame.ctx, frame.is_rule
    if not is_rule:
        ctx.frame, ctx.node = frame, source.node
    if not isinstance(source.node, cst.Lambda):
        return _statements(frame, source.name, source.node)
    if not is_rule:
        ctx.builder.origin = source.origin(source.node)
    frame.begins(source.node.body)
    value = evaluate_or_none(frame, source.node.body)
    # what a derivative rule gives is added to an adjoint at once, or put into an array by who asked for it
    return value if frame.weak else materialise(ctx, value, "result")


def _of_lambda(frame: Frame, node: cst.Lambda) -> Value:
    frame.begins(node.body)
    ctx, around = frame.ctx, frame.ctx.builder.origin
    own = around if frame.is_rule else frame.source.origin(node)
    if own and not (around and around.filename == own.filename and around.line <= own.line <= around.end_line):
        # it was written in another statement than the one that calls it
        ctx.builder.origin = own
    return materialise(ctx, evaluate_or_none(frame, node.body))


def _statements(frame: Frame, name: str, node: cst.FunctionDef, around: Around = dict) -> Value:
    """What the body of a function returns; `around`: the variables around its definition as they are now."""
    ctx = frame.ctx
    statements: list[Any] = list(node.body.body)
    frame.local_names = frozenset(assigned(statements).names)
    _share(frame, node)
    yields = [node for node in map(yield_in, statements) if node is not None]
    if yields:
        # what it raises comes out where it is run through
        frame.catching = ()
        return _generator(frame, name, node, yields[0], around)
    try:
        block(frame, statements)
    except Guess as guess:
        raise ctx.unsupported(
            f"`{guess.name}` may be read before it is assigned", "Assign it before the loop."
        ) from None
    value = frame.lookup(VALUE) or Static(None)
    returned = flag(frame, RETURN)
    if value == Static(None) or returned == ir.boolean(True) or always_returns(statements):
        return value
    # where it comes to its end, it gives None
    return either_value(frame, returned, lambda: value, lambda: Static(None))


def _generator(frame: Frame, name: str, node: cst.FunctionDef, at: cst.CSTNode, around: Around) -> Value:
    """What a call of a function with `yield` gives."""
    ctx = frame.ctx
    if not ctx.active_calls:
        what, place = f"{name} is a generator", frame.source.place(at)
        raise errors.Unsupported(what, place, "A generator has no single result.", "Return an array or a sum.")
    call = ctx.active_calls[-1]
    if call[0] in ctx.recursive:
        why = "The depth of the recursion is only known at run time."
        raise ctx.unsupported(f"{name}, a generator that calls itself", "Return a list.", why=why, node=at)
    if assigns := nonlocals(node):
        raise ctx.unsupported(
            f"{name}, a generator that assigns to the enclosing `{assigns[0]}`", "Yield the new value.", node=at
        )
    return generated(frame, name, lambda: block(frame, node.body.body), lambda: _under_way(ctx, name, call), around)


def _run_local(ctx: Context, function: LocalFunction, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of a lambda or function that was defined inside a differentiated one: it sees the variables around it."""
    node, home, source = function.node, function.frame, function.frame.source
    if node in ctx.recursive:
        whole = dataclasses.replace(source, name=function.name, node=node, parameters=function.signature)
        source = _without_recursion(ctx, node, whole, is_local=True)
    given = arguments(ctx, function.name, function.signature, args, named)
    frame = Frame(ctx, source, home.is_rule, home.weak)
    # in Python a name that is assigned anywhere in a function is its own everywhere in it
    shared = nonlocals(node)
    own = {*assigned(node.body.body).names} - {*shared} if isinstance(node, cst.FunctionDef) else set()
    ended = {name for each in function.comprehensions if each.are_gone for name in each.names}
    frame.kept = home.kept
    frame.home, frame.own, frame.comprehensions = home, frozenset(own | given.keys()), function.comprehensions
    frame.gone = (home.gone | ended) - frame.own
    if shared and ctx.frames[-1] is not home:
        _check_shared(ctx, function, shared)

    def around() -> dict[str, Value]:
        return {n: v for n, v in home.visible().items() if n not in own and n not in frame.gone}

    frame.env = around()
    if node in ctx.recursive:
        _check_recursive(frame, function)
    with ctx.entered(frame), _under_way(ctx, function.name, (node, home, *_told_apart(ctx, given))):
        values = {n: as_reference(frame, materialise(ctx, v)) for n, v in given.items()}
        frame.env.update(values)
        if isinstance(node, cst.Lambda):
            found = _of_lambda(frame, node)
            handed_on(ctx.frames[-2], frame)
            return found
        made = source.node if node in ctx.recursive else node
        assert isinstance(made, cst.FunctionDef)
        found = _statements(frame, function.name, made, lambda: {n: v for n, v in around().items() if n not in values})
    home.env.update((name, frame.env[name]) for name in shared if name in frame.env)
    handed_on(ctx.frames[-1], frame)
    return found


def _check_shared(ctx: Context, function: LocalFunction, shared: Sequence[str]) -> None:
    """Refuses a call from another function than the one around of what assigns variables of that, unless these are such
    as all functions see."""
    if ir.same(rules_under_way(ctx), function.frame.rules):
        if function.node not in ctx.assumed.assigning:
            raise Restart(assigning={function.node})
        around = function.frame.visible()
        if all(isinstance(around.get(name), ClosureCell) for name in shared):
            return
    what = f"a call of {function.name} from another function; it assigns to the enclosing `{shared[0]}`"
    raise ctx.unsupported(what, "Return the new value.")


def _check_recursive(frame: Frame, function: LocalFunction) -> None:
    """Refuses a function that becomes a loop with stacks, which would read shared variables after the call of itself
    that a statement makes."""
    names = (each.value for each in inside(function.node.body, ()) if isinstance(each, cst.Name))
    if several := [name for name in names if isinstance(frame.env.get(name), ClosureCell)]:
        _refuse_recursive(frame, function.name, several[0])


def _refuse_recursive(frame: Frame, function: str, name: str) -> None:
    raise frame.ctx.unsupported(
        f"{function}, which calls itself and uses `{name}`, which inner functions assign",
        "Pass it as an argument, and return the new value.",
        why="The depth of the recursion is only known at run time.",
    )


def _share(frame: Frame, node: cst.FunctionDef) -> None:
    """The variables of a function that others defined in it assign, wherever they are called, as all see them."""
    ctx = frame.ctx
    assigning = ctx.assumed.assigning and [each for each in inside(node.body, ()) if each in ctx.assumed.assigning]
    names = {name for each in assigning if isinstance(each, cst.FunctionDef) for name in nonlocals(each)}
    for name in sorted(names & own_names(node)):
        if any(frame.source is each for each in ctx.recursive.values()):
            _refuse_recursive(frame, frame.source.name, name)
        ctx.heap.count += 1
        shared = ClosureCell(ctx.heap.count, name)
        if name in frame.env:
            frame.env[shared.key] = frame.env[name]
        frame.env[name] = shared


def _inline(
    ctx: Context, function: Any, args: Sequence[Value], named: Mapping[str, Value], is_rule: bool, weak: bool
) -> Value:
    with placed(ctx):
        source = read_source(function)
    bound = arguments(ctx, source.name, source.parameters, args, named)
    own = source.function  # one decorator's code is that of all functions it makes
    with _under_way(ctx, source.name, (own, None, *_told_apart(ctx, _passed(source, bound)))):
        if own in ctx.recursive:
            source = _without_recursion(ctx, own, source, is_local=False, owner=_owner(source, bound))
        ctx.call_places.append(ctx.here())
        if not is_rule:
            found = called_apart(ctx, source, bound)
            if found is not None:
                ctx.call_places.pop()
                return found
            ctx.names.bound.extend((name, source.origin(source.node), value) for name, value in bound.items())
            count_call(ctx, own)
        begin = ctx.builder.count
        result, frame = _body(ctx, source, bound, is_rule, weak)
        if not is_rule:
            note_length(ctx, own, begin)
        ctx.call_places.pop()
    if ctx.frames:
        handed_on(ctx.frames[-1], frame)
    return result


def _passed(source: FunctionSource, bound: Mapping[str, Value]) -> Mapping[str, Value]:
    """What a call is made with, arguments that `*a` and `**k` take one by one."""
    found: dict[str, Value] = {}
    for name, value in bound.items():
        kind = source.parameters.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(value, TupleValue):
            found |= {f"{name}[{k}]": item for k, item in enumerate(value.items)}
        elif kind is inspect.Parameter.VAR_KEYWORD and isinstance(value, Record):
            found |= {f"{name}[{key!r}]": item for key, item in zip(value.keys, value.items, strict=True)}
        else:
            found[name] = value
    return found


MOST_CALLS = 1000  # of functions by themselves that are written out


def _without_recursion(
    ctx: Context, function: object, source: FunctionSource, is_local: bool, owner: str | None = None
) -> FunctionSource:
    made = ctx.recursive[function]
    if made is None:
        made = ctx.recursive[function] = as_loop(source, is_local, owner)
    return made


def _owner(source: FunctionSource, bound: Mapping[str, Value]) -> str | None:
    """The parameter that is the object whose method the function is, if it is one."""
    name, value = next(iter(bound.items()), ("", None))
    of = value.of if isinstance(value, Instance) else type(value.value) if isinstance(value, Static) else None
    return name if of is not None and static_attribute(of, source.called) is source.function else None


def _called_by_itself(ctx: Context) -> object | None:
    """A function that is under way more than once and written out each time."""
    under_way = collections.Counter(function for function, *_ in ctx.active_calls)
    return next((each for each, count in under_way.items() if count > 1 and each not in ctx.recursive), None)


def _told_apart(ctx: Context, bound: Mapping[str, Value]) -> tuple[tuple[Value, ...], tuple[tuple[str, object], ...]]:
    """The functions and generators that a call is made with, the constants, how tuples and objects are put together,
    and extents where they are known.

    A call within it with other ones may come to its end.
    """
    parts = [part for value in bound.values() for part in parts_of(value)]
    functions = tuple(f for part in parts for f in ((part,) if as_stream(part) else functions_in(part)))
    known = [(name, value) for name, value in bound.items() if isinstance(value, ir.Const)]
    texts = [(name, v.value) for name, v in bound.items() if stands_for(v, str)]
    built = ((name, structure(v)) for name, v in bound.items() if isinstance(v, TupleValue | Record))
    arrays = [(name, v) for name, v in bound.items() if ctx.knows_extents and isinstance(v, ir.Var) and ir.is_array(v)]
    shapes = ((name, ctx.shape(v)) for name, v in arrays)
    extents = ((name, shape) for name, shape in shapes if all(isinstance(e, ir.Const) for e in shape))
    return functions, (*known, *texts, *built, *extents)


@contextlib.contextmanager
def _under_way(ctx: Context, name: str, call: tuple[Any, ...]) -> Iterator[None]:
    """Within it, a call is: one by itself with other constants may come to its end. Then the caller goes on."""
    function = call[0]
    is_within = any(known[0] is function for known in ctx.active_calls)
    if is_within and function in ctx.recursive:
        why = "The depth of the recursion is only known at run time, so adjit makes it a loop with stacks."
        raise ctx.unsupported(f"{name}, which calls itself under another name", "Call it by its name.", why=why)
    ctx.unrolled_calls += is_within
    is_deep = len(ctx.active_calls) > DEEPEST
    if call in ctx.active_calls or (is_within and (is_deep or ctx.unrolled_calls > MOST_CALLS)):
        raise Restart(recursive=(function,))
    if is_deep:
        begin_with_routines(ctx)
        raise ctx.unsupported(
            f"calls that are nested more than {DEEPEST} deep", "Write some of the functions into their callers."
        )
    outer = ctx.frame, ctx.node, ctx.builder.origin
    ctx.active_calls.append(call)
    yield
    ctx.active_calls.pop()
    ctx.frame, ctx.node, ctx.builder.origin = outer


def _inline_derivative(ctx: Context, build: BuildDerivative, derivative: Any, args: Sequence[Value]) -> Value:
    """The IR of a transformed function, copied into this one."""
    arg_types = tuple(_type_of(ctx, a) for a in args)
    function = without_comments(build(derivative, arg_types))
    leaves = [leaf for a in args for leaf in _leaves(a)]
    ctx.passed(leaves, functools.partial(_refuse_other_orders, build, derivative, arg_types))
    cloner = ir.Cloner(dict(zip(function.body.args, leaves, strict=True)))
    for op in function.body.ops:
        made = ctx.builder.emit(cloner.op(op))
        for result in made.results:
            if isinstance(result.type, types.Array):
                base = getattr(made, "base", None)
                ctx.new_array(result, roots=None if base is None else ctx.roots_of(base))
    yields = [cloner.operand(y) for y in function.body.yields]
    if has_derivative(derivative):
        ctx.names.derived.append((leaves, yields))
    return result_value(function.result, yields)


def _refuse_other_orders(
    build: BuildDerivative, derivative: Any, arg_types: Sequence[types.Type], positions: Collection[int]
) -> None:
    """Raises what is refused of the derivative where these leaves of its arguments are not in C order."""
    counter = itertools.count()

    def loose(type_: types.Type) -> types.Type:
        if isinstance(type_, types.BaseTuple):
            return tuple_type([loose(part) for part in tuple_parts(type_)])
        is_one = next(counter) in positions
        return type_.copy(layout="A") if is_one and isinstance(type_, types.Array) else type_

    build(derivative, tuple(map(loose, arg_types)))


def without_comments(function: ir.Function) -> ir.Function:
    """A derivative to be differentiated or inlined: its headings belong to its own text."""
    body = ir.rewritten(function.body, lambda op: () if isinstance(op, ir.Comment) else op)
    return dataclasses.replace(function, body=body)


def _type_of(ctx: Context, value: Value) -> types.Type:
    """The type of an argument of a derivative."""
    found = type_of_value(value)
    if found is not None and not (isinstance(value, Static) and callable(value.value)):
        return found
    raise ctx.unsupported(
        "an argument of a derivative that is not a number, an array, a string or a tuple",
        "Let the differentiated function read it as a global or enclosing name.",
    )


def _leaves(value: Value) -> list[ir.Operand]:
    # what is known while compiling is part of the type, and nothing reads it
    parts = (ir.Const(None, types.none) if isinstance(part, Static) else part for part in parts_of(value))
    return [leaf for part in parts if isinstance(part, Number) for leaf in operands_in(part)]


_EXTENTS = ("size", "shape", "ndim", "dtype")


def _reads(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What is read for its elements, each name as often as it is, and loops."""
    if isinstance(node, cst.Name | cst.For | cst.While):
        yield node
    if isinstance(node, cst.Attribute):
        is_extent = node.attr.value in _EXTENTS and isinstance(node.value, cst.Name)
        within: Sequence[cst.CSTNode] = () if is_extent else (node.value,)
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "len":
        within = ()
    else:
        within = children(node)
    for child in within:
        yield from _reads(child)


@while_it_holds
def _reads_once(rule: Any) -> tuple[bool, ...]:
    """For each parameter of a rule, whether its body reads elements at most once: then it may be an expression."""
    source = read_source(rule)
    reads = list(_reads(source.node.body))
    if any(isinstance(node, cst.For | cst.While) for node in reads):
        return (False,) * len(source.parameters.parameters)
    counts = collections.Counter(node.value for node in reads if isinstance(node, cst.Name))
    return tuple(counts[name] <= 1 for name in source.parameters.parameters)


class Walk(Context):
    """A context with the functions that walk statements, expressions and calls."""

    inline, run_local, elaborate_apart = _inline, _run_local, _elaborate_apart
    for_each, collected, comprehension = staticmethod(for_each), staticmethod(collected), staticmethod(comprehension)
    call, attribute = staticmethod(call), staticmethod(attribute)
    either_value, read_items = staticmethod(either_value), staticmethod(read_items)
    elaborate_local = staticmethod(_elaborate_local)

    def __init__(self, build_derivative: BuildDerivative, assumed: Assumptions):
        super().__init__(assumed)
        self.build_derivative = build_derivative

    def inline_derivative(self, derivative: Any, args: Sequence[Value]) -> Value:
        return _inline_derivative(self, self.build_derivative, derivative, args)

    def reads_once(self, rule: Any) -> tuple[bool, ...]:
        return _reads_once(rule)
