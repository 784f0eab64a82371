"""Calls: which of the compiler's own functions, rules, user functions or numba functions a callee is.

In: a callee and the values it is called with. Out: the value of the call.

    np.sum(a * b)      the compiler's own: a loop        np.var(x)            a decomposition, inlined
    np.sin(x)          a scalar function with partials   np.linalg.solve(..)  stays a call
    helper(x)          a user's function, inlined
"""

from __future__ import annotations

import builtins
import cmath
import dataclasses
import functools
import inspect
import itertools
import operator
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.notation import to_text
from adjit.rules.numpy.ufunc_methods import METHODS_OF_UFUNCS
from adjit.rules.registry import (
    ALL_GIVEN,
    ARRAY_LIKE,
    KNOWN,
    SEVERAL,
    Entry,
    Maker,
    class_of,
    is_builtin,
    lookup,
    lookup_complex,
)
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.backend.objects import is_stencil
from adjit.runtime.library import home_of, under_cache
from adjit.transform import ir
from adjit.transform.frontend.arrays.shaping import array_attribute, of_parts
from adjit.transform.frontend.arrays.ufunc_methods import updated_at
from adjit.transform.frontend.heap.iterators import all_of_stream, asked_one_by_one, of_items, opened_stream
from adjit.transform.frontend.heap.lists import displayed, elements
from adjit.transform.frontend.heap.mutation_during_iteration import looked_at
from adjit.transform.frontend.heap.record_arrays import field, field_of, has_fields, is_records
from adjit.transform.frontend.heap.references import current_view, latest
from adjit.transform.frontend.library.cuda import CudaName, attribute_of_cuda, call_of_cuda, check_called, in_kernel
from adjit.transform.frontend.library.dicts_and_sets import method as method_of_table
from adjit.transform.frontend.library.iterables import in_turn
from adjit.transform.frontend.library.launches import (
    HOST_METHODS,
    Configured,
    ForAll,
    for_all,
    host_call,
    is_reduction,
    launch,
    reduction,
)
from adjit.transform.frontend.library.output import says
from adjit.transform.frontend.library.reductions import into
from adjit.transform.frontend.library.standard_library import is_cached
from adjit.transform.frontend.library.vectorize import Vectorized, of_numba, vectorized, vectorizing
from adjit.transform.frontend.numba.declared_types import called_by_address
from adjit.transform.frontend.numba.guvectorize import of_guvectorize
from adjit.transform.frontend.numba.overloads import attribute_implemented, implemented, method_implemented
from adjit.transform.frontend.operations.containers import list_method, to_list
from adjit.transform.frontend.operations.control import for_option, of_option
from adjit.transform.frontend.operations.derivatives import InnerPullback, arguments, asked, called, pulled
from adjit.transform.frontend.operations.foreign_libraries import refuse_foreign
from adjit.transform.frontend.operations.loops import run_checkpointed
from adjit.transform.frontend.operations.operators import applied, product, spelt_out, truth
from adjit.transform.frontend.operations.records import (
    Parent,
    attribute_of_class,
    attribute_of_jitclass,
    attribute_of_parent,
    attribute_of_record,
    call_method,
    called_object,
    check_class,
    classes_of,
    constructed,
    has,
    method_of,
    partial,
    unwrap,
)
from adjit.transform.frontend.values import complexes
from adjit.transform.frontend.values.argument_binding import bound, element_type, taken
from adjit.transform.frontend.values.arrays import array_of, ordered_like, shape_of
from adjit.transform.frontend.values.cells import Container
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record, RuntimeDict
from adjit.transform.frontend.values.elementwise import converted, materialise, operand, paired, part, where
from adjit.transform.frontend.values.fold import (
    ARRAYS_OF_TEXTS,
    OBJECTS,
    TEXTS,
    Unknown,
    constant,
    execute,
    fold,
    is_texts,
    takes_objects,
    takes_texts,
    with_floats,
)
from adjit.transform.frontend.values.frame import Context, Frame, LocalFunction, wrap
from adjit.transform.frontend.values.library_calls import compiled, is_in_c_order, whole_call, with_options
from adjit.transform.frontend.values.lists import (
    Fields,
    GrowableList,
    List,
    Ragged,
    Row,
    TupleValue,
    fields_of,
    items_or_one,
)
from adjit.transform.frontend.values.numbers import (
    Complex,
    Flat,
    Lazy,
    Number,
    dtype,
    is_array,
    is_complex,
    is_number,
    is_numeric,
    ndim,
)
from adjit.transform.frontend.values.ranges import Range
from adjit.transform.frontend.values.scalars import Options
from adjit.transform.frontend.values.statics import Method, RuntimeGenerator, Static, object_of
from adjit.transform.frontend.values.unions import Union, as_options, fitting
from adjit.transform.frontend.values.values import LEAF, Value, describe, parts_of
from adjit.transform.frontend.walk.handlers import (
    ALONG_AXES,
    ASKING,
    INTRINSICS,
    LAZY,
    METHODS,
    OF_LISTS,
    ONCE,
    RUNNING_THROUGH,
)
from adjit.transform.ir.types import call_type, dtype_of, is_integer, is_small_integer, typed_const
from adjit.transform.source.callables import is_called_as, is_distribution, outermost, spoken
from adjit.transform.source.derivative import derivative_of
from adjit.transform.source.external_reads import is_defined, read_attribute, static_attribute
from adjit.transform.source.marks import DERIVING, Checkpointed
from adjit.transform.source.parameters import by_name, misfit
from adjit.transform.source.syntax import parts_are_read


def attribute(frame: Frame, owner: Value, name: str) -> Value:
    """`owner.name`."""
    ctx = frame.ctx
    match owner:
        case Static():
            return _attribute_of_known(frame, owner, name)
        case Record():
            return attribute_of_record(frame, owner, name)
        case Union():
            return _attribute_of_chosen(frame, owner, name)
        case GrowableList() if has_fields(owner):
            return owner.count if name == "size" else field_of(ctx, owner, name)
        case RuntimeDict(kind="deque", limit=limit) if name == "maxlen":
            return Static(None) if limit is None else limit
        case Flat(array=array):
            if name == "copy":
                return Method(array, name)
            raise ctx.unsupported(f"`.flat` has no attribute `{name}`", "Use ravel().")
        case TupleValue(items=items, fields=fields) if name in fields:
            return items[fields.index(name)]
        case TupleValue(fields=Fields(of=of)):
            return attribute_of_class(frame, owner, of, name)
        case Range() if name in ("start", "stop", "step"):
            return getattr(owner, name)  # type: ignore[no-any-return]
    if is_complex(owner) and name in ("real", "imag"):
        return _part_taken(ctx, owner, name)
    if is_array(owner):
        found = array_attribute(ctx, owner, name)
        return _method_of(frame, owner, name) if found is None else found
    of_number = _attribute_of_number(frame, owner, name) if is_number(owner) else None
    return _method_of(frame, owner, name) if of_number is None else of_number


def _attribute_of_known(frame: Frame, owner: Static, name: str) -> Value:
    """The same of an object that is known."""
    ctx = frame.ctx
    if (of_cuda := attribute_of_cuda(frame, owner, name)) is not None:
        return of_cuda
    if isinstance(owner.value, Parent):
        return attribute_of_parent(frame, owner.value, name)
    if isinstance(owner, RuntimeGenerator):
        return Method(owner, name)
    if is_records(owner) and name in owner.value.dtype.names:
        return field(ctx, owner, name)
    if is_texts(owner):
        of_array = getattr(owner.value.array, name, None)
        return Method(owner, name) if of_array is None or callable(of_array) else wrap(ctx, of_array)
    if (found := attribute_of_jitclass(frame, owner, name)) is not None:
        return found
    if not inspect.ismodule(owner.value) and not isinstance(owner.value, type):
        refuse_foreign(ctx, owner.value)
    if not is_defined(owner.value, name):
        shown = getattr(owner.value, "__name__", repr(owner.value))
        raise ctx.unsupported(f"{shown} has no attribute `{name}`", "Check the name.")
    return wrap(ctx, read_attribute(owner.value, name))


def _attribute_of_chosen(frame: Frame, owner: Union, name: str) -> Value:
    """The same of what is chosen at run time."""
    says = f"the value that is chosen at run time has no attribute `{name}`"
    rest = fitting(frame.ctx, owner, lambda option: has(option, name), AttributeError, says)
    if not isinstance(rest, Union):
        return attribute(frame, rest, name)
    if any(_gives_method(option, name) for option in rest.options):
        return Method(rest, name)
    return of_option(frame, rest, lambda option: attribute(frame, option, name))


def _attribute_of_number(frame: Frame, owner: ir.Operand, name: str) -> Value | None:
    """The same of a real number; None of what is a method."""
    if isinstance(owner, ir.Const) and isinstance(owner.value, Enum) and not hasattr(int, name):
        return wrap(frame.ctx, read_attribute(owner.value, name))
    if name == "real":
        return owner
    if name == "imag":
        return ir.Const(0.0, types.float64)
    if name == "dtype":
        return Static(np.dtype(str(dtype(owner))))
    return _OF_NUMBERS.get(name)


# Where a number has these, it is NumPy's.
_OF_NUMBERS: Mapping[str, Value] = {"shape": TupleValue(()), "ndim": ir.integer(0), "size": ir.integer(1)}


def _method_of(frame: Frame, owner: Value, name: str) -> Value:
    """`owner.name`, of what is known by its methods, and by the attributes that numba was told of. What is neither is
    refused, before anybody asks what it is."""
    is_own = frame.is_compiled and not has(owner, name)
    found = attribute_implemented(frame, owner, name) if is_own else None
    if is_own:
        return Method(owner, name) if found is None else found
    # (what a dictionary would have if it were a counter is refused where it is called)
    kinds = (*classes_of(owner), *([Counter] if isinstance(owner, RuntimeDict) else []))
    if not kinds or name in METHODS or name in HOST_METHODS or any(callable(getattr(k, name, None)) for k in kinds):
        return Method(owner, name)
    if not any(hasattr(kind, name) for kind in kinds):
        is_of_arrays = bool({list, tuple} & {*kinds}) and hasattr(np.ndarray, name)
        instead = f"Make it an array: np.array(...) has `{name}`." if is_of_arrays else "Check the name."
        raise frame.ctx.unsupported(f"{describe(owner)} has no attribute `{name}`", instead)
    raise frame.ctx.unsupported(
        f"the attribute `{name}` of {describe(owner)}",
        "Decide it before the call, and pass the decision as an argument.",
        why="The memory layout of an array is not known when the code is compiled.",
    )


def _gives_method(owner: Value, name: str) -> bool:
    """Whether `owner.name` is something to be called with the owner."""
    if isinstance(owner, Instance):
        thing = static_attribute(class_of(owner.of), name, None)
        return name not in owner.keys and isinstance(thing, FunctionType | functools._lru_cache_wrapper)
    return isinstance(owner, Container) and not (isinstance(owner, TupleValue) and name in owner.fields)


def call(frame: Frame, function: Value, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`function(*args, **named)`."""
    ctx = frame.ctx
    if isinstance(function, Method):
        return _method(frame, function, args, named)
    if isinstance(function, Record):
        return call_method(frame, function, "__call__", args, named)
    if (called_by := method_of(function, "__call__")) is not None:
        return ctx.call(frame, Static(called_by), [function, *args], named)
    if isinstance(function, Union):
        return _one_of(frame, function, args, named)
    if not isinstance(function, Static):
        raise ctx.unsupported(f"a call of {describe(function)}", "Call a function.")
    found = _on_device(frame, function.value, args, named)
    if found is not None:
        return found
    callee = function.value
    if ctx.kernel is not None:
        check_called(ctx, callee)
        callee = in_kernel(callee)
    if takes_objects(ctx, callee, args, named):
        return fold(ctx, OBJECTS, callee, args, named)
    _refuse_call(ctx, callee)
    args = with_floats(callee, args)
    found = _by_kind(frame, callee, args, named)
    if found is None:
        found = _by_numba(frame, callee, args, named)
    if found is None:
        found = _by_text(frame, callee, args, named)
    return _by_library(frame, callee, args, named) if found is None else found


def _on_device(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of a kernel, of what it calls, or by an address in memory; None of anything else."""
    if (by_address := called_by_address(frame, callee, args, named)) is not None:
        return by_address
    if isinstance(callee, CudaName):
        return (host_call if frame.ctx.kernel is None else call_of_cuda)(frame, callee.name, args, named)
    if isinstance(callee, ForAll):
        return for_all(frame, callee, args, named)
    if is_reduction(callee):
        return reduction(frame, callee, args, named)
    return launch(frame, callee, args, named) if isinstance(callee, Configured) else None


def _refuse_call(ctx: Context, callee: Any) -> None:
    """Raises Unsupported for functions whose calls cannot be differentiated, whatever they get."""
    if says(callee):
        raise ctx.unsupported(
            f"`{callee.__name__}` under another name",
            "Call `print(...)`, or `log.info(...)` of a logger that has a name.",
            why="adjit copies the call into the derivative as it is written.",
        )
    if (instead := outermost(callee)) is not None:
        raise ctx.unsupported(f"a call of {callee!r} inside a function", instead)
    if is_stencil(callee):
        raise ctx.unsupported(
            "a call of a function of numba.stencil",
            "Write the loops: for i in range(1, a.size - 1): out[i] = 0.5 * (a[i - 1] + a[i + 1]).",
            why="Its indices are relative to each element, and its margins are filled.",
        )
    if getattr(callee, "__name__", "") == "seed" and callee == random.seed and ctx.is_plain:
        raise ctx.unsupported(
            "random.seed",
            "Write np.random.seed(...) and draws of np.random, or rng = np.random.default_rng(seed).",
            why="For the same seed compiled code draws other numbers than Python.",
        )


def _by_kind(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what adjit has a class for, or knows by itself; None of anything else."""
    ctx = frame.ctx
    if is_cached(callee):
        return _remembered(frame, lambda: call(frame, Static(under_cache(callee)), args, named))
    if isinstance(callee, FunctionType) and callee in KNOWN:
        return _run(ctx, callee, args)
    if isinstance(callee, Checkpointed):
        # what a call is made with is there before it
        given, keywords = _computed(ctx, args, named)
        return run_checkpointed(frame, lambda: call(frame, Static(callee.function), given, keywords))
    if isinstance(callee, LocalFunction) and callee.remembers:
        return _remembered(frame, lambda: ctx.run_local(callee, args, named))
    if isinstance(callee, LocalFunction):
        return ctx.run_local(callee, args, named)
    if isinstance(callee, Vectorized) or is_called_as(callee, np.vectorize):
        return vectorized(frame, callee, args, named)
    return None


def _by_numba(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what numba compiles in its own way; None of anything else."""
    found = of_numba(frame, callee, args, named) or of_guvectorize(frame, callee, args, named)
    if found is None and frame.is_compiled and _is_hashable(callee):
        return implemented(frame, callee, _has_rule(callee), args, named)
    return found


def _by_text(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of a function, a method or an object whose text is read; None of anything else."""
    ctx = frame.ctx
    if callee is functools.partial and args:
        return partial(frame, args, named)
    is_own = _is_hashable(callee) and (callee in INTRINSICS or lookup(callee) is not None)
    is_own |= isinstance(callee, types.Type)  # which converts
    is_own |= _is_of_library(callee) and not isinstance(callee, functools.partial)
    if not is_own:
        refuse_foreign(ctx, callee)
        if (found := called_object(frame, callee, args, named)) is not None:
            return found
    if not _of_the_user(callee):
        return None
    _check_bridge(ctx, callee)
    # the body may read an argument many times, and may write others while it does
    given, keywords = _computed(ctx, args, named)
    if is_builtin(callee) and not frame.is_rule:
        return _of_rules(ctx, callee, given, keywords)
    return ctx.inline(callee, given, keywords, frame.is_rule, frame.weak)


def _by_library(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of a function of a library, or of a class, by rules."""
    ctx = frame.ctx
    if isinstance(callee, type) and not _is_of_library(callee):
        # an object may keep an argument for later, as it is
        return _resolved(frame, callee, list(args), dict(named))
    if (found := _for_option(frame, callee, args, named)) is not None:
        return found
    if not (_is_hashable(callee) and (callee in RUNNING_THROUGH or callee in LAZY)):
        if callee in (any, all):
            args = [asked_one_by_one(frame, callee.__name__, a) for a in args]
        args = [opened_stream(frame, a) for a in args]
        if _is_hashable(callee) and (found := in_turn(frame, callee, args, named)) is not None:
            return found
        args = [all_of_stream(frame, a) for a in args]
        named = {name: all_of_stream(frame, value) for name, value in named.items()}
    if _is_hashable(callee) and callee in OF_LISTS:
        args = [a.array if isinstance(a, Flat) else a for a in args]
    else:
        seen_by = functools.partial(_unless_ragged if callee in _OF_RAGGED else elements, ctx)
        if _takes_arrays(callee):
            args = [displayed(ctx, a) for a in args]
            named = {name: displayed(ctx, value) for name, value in named.items()}
        args, named = [seen_by(a) for a in args], {name: seen_by(value) for name, value in named.items()}
    found = _resolved(frame, callee, list(args), dict(named))
    is_numpys = isinstance(callee, np.ufunc) or getattr(callee, "__module__", None) == "numpy"
    return _told_whose(ctx, found, is_pythons=False) if is_numpys else found


def _told_whose(ctx: Context, value: Value, is_pythons: bool) -> Value:
    """A value of which it is told whether it is Python's number or NumPy's."""
    if isinstance(value, ir.Var) and is_number(value):
        ctx.numbers.whose[value] = is_pythons
    return value


# Packages whose functions have their derivatives in a module that is imported for them.
_BY_UFUNCS = (np.clip, np.fix, np.outer)  # whose results are stretched to the shape of `out`, as those of ufuncs are
_BRIDGES = {"numba_mpi": "adjit.bridges.mpi"}


def _check_bridge(ctx: Context, callee: Any) -> None:
    package = home_of(callee).partition(".")[0]
    if package in _BRIDGES:
        bridge = _BRIDGES[package]
        raise ctx.unsupported(f"{package}.{callee.__name__} without {bridge}", f"Add  import {bridge}  to the imports.")


def _for_option(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call with something that is chosen at run time among the arguments, functions aside; None if nothing is."""

    def run(made: Value) -> Value:
        items = items_or_one(made)
        return call(frame, Static(callee), items[: len(args)], dict(zip(named, items[len(args) :], strict=True)))

    given = map(as_options, args) if _asks(callee) else args
    return for_option(frame, TupleValue((*given, *named.values())), run)


# What joins the arrays of a list, which may be of different lengths.
_OF_RAGGED = (np.concatenate, np.hstack)


def _unless_ragged(ctx: Context, value: Value) -> Value:
    """What NumPy sees of a value, but for a list of arrays of different lengths, which is no array."""
    return value if isinstance(value, GrowableList) and isinstance(value.item, Ragged) else elements(ctx, value)


def takes_none(function: Value) -> bool:
    """Whether it is a function of the user's, to which it may matter that an argument is None, or one that asks what a
    value is."""
    if isinstance(function, Method):
        # of a list, a dictionary or an object, which may hold it
        return isinstance(function.owner, Container | Union)
    callee = object_of(function)
    return isinstance(callee, LocalFunction) or (callee is not None and (_asks(callee) or _is_of_user(callee)))


def _is_of_user(callee: Any) -> bool:
    """Whether it is a function, or a class, whose text is read."""
    return _of_the_user(callee) or (isinstance(callee, type) and not _is_of_library(callee))


def _asks(callee: Any) -> bool:
    return _is_hashable(callee) and callee in ASKING


def _remembered(frame: Frame, run: Callable[[], Value]) -> Value:
    """A call of a function that remembers its results, of which each gives what the function itself does."""
    before, found = dict(frame.env), run()
    if any(frame.env.get(key) != held for key, held in before.items()):
        raise frame.ctx.unsupported(
            "a function with a cache, which changes a variable, a list or an object",
            "Remove the decorator, or keep the results in a dictionary.",
            why="Python runs it once for the same arguments.",
        )
    return found


def _takes_parts(frame: Frame) -> bool:
    """Whether the program goes on with the call at hand as with complex numbers."""
    call = frame.ctx.node
    return not frame.is_rule and call is not None and parts_are_read(frame.source.node, call)


def _run_through(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """What zip, map and the like give; their arguments are looked at when that is run through."""
    if callee not in RUNNING_THROUGH:
        args = [opened_stream(frame, one) for one in args]
        if (found := in_turn(frame, callee, args, named)) is not None:
            return found
        args = [all_of_stream(frame, one) for one in args]
    return INTRINSICS[callee](frame, [current_view(frame, one) for one in args], dict(named))


def _one_of(frame: Frame, function: Union, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of one of several functions."""
    given, keywords = _computed(frame.ctx, args, named)
    return of_option(frame, function, lambda option: call(frame, option, given, keywords))


def _resolved(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value:
    """A call of a function of a library, or of a class, with arguments that are all there."""
    ctx = frame.ctx
    if takes_texts(callee, args, named):
        return fold(ctx, ARRAYS_OF_TEXTS, callee, args, named)
    if _is_hashable(callee) and callee in _OF_FLOATS:
        args = [_as_floats(ctx, a) if k < _OF_FLOATS[callee] else a for k, a in enumerate(args)]
    if any(map(_has_complex, args)) or getattr(callee, "__module__", "") == "cmath":
        found = _complex_call(frame, callee, args, named)
        if found is not None:
            return found
    for run in (_intrinsic, _inner_derivative, _ruled, _of_owner, _constructed):
        found = run(frame, callee, args, named)
        if found is not None:
            return found
    return _without_rule(frame, callee, args, named)


def _intrinsic(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of what the front end does itself."""
    ctx = frame.ctx
    if callee is np.vectorize:
        return vectorizing(frame, args, named)
    if _is_hashable(callee) and callee in ONCE:
        made = [materialise(ctx, a) if isinstance(a, Lazy) else a for a in args]
        if callee not in LAZY:
            return of_items(ctx, callee.__name__, lambda user: INTRINSICS[callee](user, list(made), dict(named)))
        return of_items(
            ctx,
            callee.__name__,
            lambda user: _run_through(user, callee, made, named),
            through=frozenset().union(*map(looked_at, made)),
        )
    if _is_hashable(callee) and callee in INTRINSICS:
        return INTRINSICS[callee](frame, args, named)
    is_operator = getattr(callee, "__module__", None) == "_operator" and not named
    return spelt_out(frame, callee, args) if is_operator else None


def _inner_derivative(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of what makes derivatives, or of one that was made inside."""
    if _is_hashable(callee) and callee in DERIVING:
        return asked(frame, DERIVING[callee], args, named)
    if isinstance(callee, Maker):
        return asked(frame, callee.kind, args, named)
    return pulled(frame, callee, args, named) if isinstance(callee, InnerPullback) else None


def _ruled(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of what has a rule or a derivative, or is worked out as its arguments are known."""
    ctx = frame.ctx
    if (len(args) > 1 or named) and _is_hashable(callee) and callee in ALONG_AXES:
        return ALONG_AXES[callee](frame, args, named)
    if isinstance(getattr(callee, "__self__", None), np.ufunc):
        found = _ufunc_method(frame, callee, args, named)
        if found is not None:
            return found
    entry = lookup(callee)
    if entry is not None and entry.in_parts is not None and _takes_parts(frame):
        return _decomposed(frame, callee, entry.in_parts, args, named)
    if entry is not None and entry.general is not None and callee not in ctx.decomposed:
        return _decomposed(frame, callee, entry.general, args, named)
    if entry is not None:
        return _by_rule(frame, callee, entry, args, named)
    if _is_of_generator(callee):
        raise ctx.unsupported(
            f"`{callee.__name__}` of a random generator from outside",
            "Pass a numpy.random.Generator as an argument, or draw with np.random or random.",
            why="Objects from outside the function are constants, as in numba.",
        )
    if isinstance(callee, MethodType) and (of_class := lookup(callee.__func__)) is not None:
        return _by_rule(frame, callee.__func__, of_class, [Static(callee.__self__), *args], named)
    if derivative_of(callee) is not None:
        return called(frame, callee, args, named)
    if isinstance(callee, FunctionType | MethodType) or is_dispatcher(callee):
        found = _worked_out(ctx, callee, args, named)
        return _without_rule(frame, callee, args, named) if found is None else found
    if isinstance(callee, np.ufunc):
        return _elementwise(frame, callee, args, named)
    method = static_attribute(type(callee), "__call__", None)
    of_class = lookup(method) if isinstance(method, FunctionType) else None
    return None if of_class is None else _by_rule(frame, method, of_class, [Static(callee), *args], named)


def _of_owner(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of a method of an object from outside."""
    ctx, owner = frame.ctx, getattr(callee, "__self__", None)
    if isinstance(owner, list | dict | MappingProxyType) and callee.__name__ in _READING:
        return _method(frame, Method(unwrap(ctx, Static(owner)), callee.__name__), args, named)
    # bound, or as `str.upper`
    if isinstance(owner, str | re.Pattern | re.Match) or getattr(callee, "__objclass__", None) is str:
        return fold(ctx, TEXTS, callee, args, named)
    if isinstance(owner, list | dict | set):
        raise ctx.unsupported(
            f"the method `{callee.__name__}` of a {type(callee.__self__).__name__} from outside",
            "Pass numbers and arrays as arguments, and return the changed values.",
            why="Objects from outside the function are constants, as in numba.",
        )
    return None


def _constructed(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of a class."""
    if isinstance(callee, type) and issubclass(callee, tuple) and hasattr(callee, "_fields"):
        return _named_tuple(frame, callee, args, named)
    if isinstance(callee, type) and not _is_of_library(callee) and not issubclass(callee, BaseException):
        return constructed(frame, callee, args, named)
    kind = dtype_of(callee)
    if kind is not None and len(args) == 1 and not named and is_numeric(args[0]):
        # NumPy's types give an array that is of them already
        is_same = is_array(args[0]) and dtype(args[0]) == kind
        return args[0] if is_same else converted(frame.ctx, args[0], element_type(frame, kind))
    return None


# Functions that take integers for floats, with how many arguments that are arrays they have.
_OF_FLOATS = dict.fromkeys((
    np.linalg.norm, np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.eigh,
    np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals, np.linalg.svd, np.linalg.qr, np.linalg.pinv, np.linalg.cond,
    np.linalg.matrix_rank,
), 1) | dict.fromkeys((np.linalg.solve, np.linalg.lstsq), 2)  # fmt: skip


def _as_floats(ctx: Context, value: Value) -> Value:
    """An array of integers, or a list of them, as the floats that NumPy computes with."""
    if isinstance(value, TupleValue) and all(isinstance(part, ir.Operand) for part in parts_of(value)):
        value = array_of(ctx, value)
    kind = dtype(value) if is_array(value) else None
    if kind is None or not (is_integer(kind) or isinstance(kind, types.Boolean)):
        return value
    return converted(ctx, value, types.float64)


def _run(ctx: Context, function: Any, args: Sequence[Value]) -> Value:
    """What a helper of rules makes of values that are known."""

    def refused(part: Value) -> errors.AdjitError:
        return ctx.unsupported(f"{describe(part)} where a string or a literal is needed", "Write that in the call.")

    given = [constant(one, refused, is_frozen=True) for one in args]
    return wrap(ctx, execute(ctx, "", "See NumPy's documentation.", function, given))


def _ufunc_method(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call of a method of a ufunc that has a rule, or is written out."""
    rule = METHODS_OF_UFUNCS.get(callee.__name__)
    if rule is not None:
        return _decomposed(frame, callee, rule, [Static(callee.__self__), *args], named)
    return updated_at(frame, callee.__self__, args, named) if callee.__name__ == "at" else None


def _of_the_user(callee: Any) -> bool:
    """Whether it is a function whose body is read: of the user's, and without a rule."""
    is_read = isinstance(callee, FunctionType) or is_dispatcher(callee)
    return is_read and not _has_rule(callee) and not _is_of_library(callee)


def _has_rule(callee: Any) -> bool:
    """Whether a rule says what it does, or it is a derivative, or makes one."""
    return derivative_of(callee) is not None or callee in INTRINSICS or callee in DERIVING or lookup(callee) is not None


# Where functions without a rule are called while compiling, if all that they get is known: nodes, weights, windows, and
# methods of splines from outside.
_OF_CONSTANTS = (
    "numpy.polynomial", "scipy.special", "scipy.signal", "scipy.linalg", "scipy.fft", "scipy.interpolate",
    "scipy.sparse._", "scipy.spatial.transform",
)  # fmt: skip


def _worked_out(ctx: Context, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """The result of a call of constants of such a function; None of any other call."""
    if not home_of(callee).startswith(_OF_CONSTANTS):
        return None
    if any(is_array(part) for one in (*args, *named.values()) for part in parts_of(one)):
        return None
    try:
        given, keywords = [constant(a) for a in args], {n: constant(a) for n, a in named.items()}
    except Unknown:
        return None
    return wrap(ctx, execute(ctx, spoken(callee), "See its documentation.", callee, given, keywords))


# Methods of lists and dictionaries from outside that leave them as they are.
_READING = frozenset(("items", "keys", "values", "get", "copy", "index", "count"))


def _with_fields(frame: Frame, owner: TupleValue, named: Mapping[str, Value]) -> Value:
    """`owner._replace(**named)`."""
    if unknown := sorted(named.keys() - set(owner.fields)):
        raise frame.ctx.mismatch(f"{describe(owner)} has no field {unknown[0]}", "Check the name.")
    items = (named.get(name, item) for name, item in zip(owner.fields, owner.items, strict=True))
    return dataclasses.replace(owner, items=tuple(materialise(frame.ctx, one) for one in items))


def _named_tuple(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    check_class(frame.ctx, callee)
    expected = by_name(callee._fields, getattr(callee, "_field_defaults", {}))
    given = arguments(frame.ctx, callee.__name__, expected, args, named)
    items = (materialise(frame.ctx, value) for value in given.values())
    return TupleValue(tuple(items), fields=fields_of(callee))


_LIBRARIES = ("numpy", "math", "cmath", "scipy", "random", "builtins", "functools", "itertools", "collections")


def _is_of_library(callee: Any) -> bool:
    return home_of(callee).split(".")[0] in _LIBRARIES


def _takes_arrays(callee: Any) -> bool:
    """Whether it is a function, a class or an object of NumPy's or SciPy's, or a method of one."""
    owner = getattr(callee, "__self__", None)
    of_owner = type(owner) if owner is not None and not inspect.ismodule(owner) else callee
    return (home_of(of_owner) or home_of(type(of_owner))).split(".")[0] in ("numpy", "scipy")


def _is_hashable(callee: Any) -> bool:
    try:
        hash(callee)
    except TypeError:
        return False
    return True


def _computed(ctx: Context, args: Sequence[Value], named: Mapping[str, Value]) -> tuple[list[Value], dict[str, Value]]:
    """Arguments as numbers and arrays."""
    return [materialise(ctx, a) for a in args], {name: materialise(ctx, value) for name, value in named.items()}


def _without_rule(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A function that numba knows but no rule belongs to: fine as long as nothing active goes in."""
    ctx = frame.ctx
    name = spoken(callee)
    if is_distribution(callee):
        raise ctx.unsupported(
            "a frozen distribution", f"Give its parameters where it is used: scipy.stats.{callee.name}.logpdf(x, ...)."
        )
    if isinstance(callee, type):
        raise ctx.unsupported(
            f"a call of {describe(Static(callee))}",
            "Use a class that adjit knows, or define a class.",
            why="adjit knows list, tuple, dict, set, deque, Counter, defaultdict and OrderedDict.",
        )
    if not callable(callee) or not _is_hashable(callee):
        raise ctx.unsupported(
            f"a call of {describe(Static(callee))}",
            "Call a function, or an object of a class that defines __call__.",
        )

    def unknown(call: str) -> errors.AdjitError:
        why = f"adjit has no rule for {name}, and cannot read its source."
        if is_clock(callee):
            return ctx.unsupported(
                f"a call of {name}",
                "Take it out, and time the call of the derivative.",
                "Compiled code cannot read the clock.",
            )
        if _is_of_outside(callee):
            return ctx.unsupported(
                f"a call of {name}",
                "Call it before the function, and pass its result.",
                "Compiled code cannot read files or ask the system.",
            )
        if callee is __import__:
            return ctx.unsupported(f"a call of {name}", "Import the module at the top of the file.", why)
        if callee in (exec, eval, compile):
            return ctx.unsupported(
                f"a call of {name}", "Write the code out.", "Compiled code cannot run code that is in a string."
            )
        instead = f"Write the computation out, or give its source:  @adjit.rules.decomposition({name})"
        return ctx.unsupported(call, instead, why)

    other = next((a for a in (*args, *named.values()) if not is_array(a) and not is_number(a)), None)
    if named or other is not None:
        given = f"argument `{next(iter(named))}`" if other is None else describe(other)
        raise unknown(f"{name}, of {given}")
    operands = [operand(ctx, a) for a in args]
    known = callee if name in dir(builtins) else compiled(callee)
    if call_type(known, tuple(o.type for o in operands)) is None:
        raise unknown(f"{name}({', '.join(to_text(o.type) for o in operands)})")
    result = _at_its_line(frame, callee, operands)
    if any(map(is_array, parts_of(result))) and any(map(is_array, args)):
        # np.atleast_1d and its like return the argument itself: a store into the result would be lost on us
        raise ctx.unsupported(
            f"{name}, which may return a view of its argument",
            "Write it with slices, reshape or copy().",
        )
    return result


def is_clock(callee: Any) -> bool:
    """Whether it reads the clock."""
    return getattr(callee, "__module__", None) == "time"


def _is_of_outside(callee: Any) -> bool:
    """Whether it asks for what is outside of the program: files, the system."""
    home = str(getattr(callee, "__module__", None) or "").partition(".")[0]
    return home in ("os", "posix", "nt", "io", "_io", "sys", "pathlib", "shutil", "glob") or callee in _FILES


_FILES = (np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.save, np.savetxt, np.savez)


def _is_of_generator(callee: Any) -> bool:
    """Whether it is a method of a generator of random numbers, other than those behind np.random and random."""
    name, kinds = getattr(callee, "__name__", ""), np.random.Generator | np.random.RandomState | random.Random
    is_method = isinstance(getattr(callee, "__self__", None), kinds)
    return is_method and callee not in (getattr(np.random, name, None), getattr(random, name, None))


# --------------------------------------------------------------------------------------------------------------- rules


def _by_rule(frame: Frame, callee: Any, entry: Entry, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if entry.decomposition is not None:
        return _decomposed(frame, callee, entry.decomposition, args, named)
    if entry.effect:
        if named:
            raise _by_position(frame, callee, named)
        return whole_call(ctx, callee, [operand(ctx, a) for a in args], effect=True)
    if entry.partials is not None:
        if named and not isinstance(callee, np.ufunc):
            args, named = _bound(frame, callee, entry.partials, args, named), {}
        return _elementwise(frame, callee, args, named)
    if entry.constant and (isinstance(callee, np.ufunc) or (_takes_numbers(callee, args) and not named)):
        return _elementwise(frame, callee, args, named)
    rule = entry.tangent or entry.adjoint or next(iter(entry.transposes.values()), None)
    if rule is None:
        operands, options = with_options(ctx, callee, args, named)
    else:
        given = _without_defaults(rule, _bound(frame, callee, rule, args, named))
        operands, options = [operand(ctx, a) for a in given], ()
    return _at_its_line(frame, callee, operands, options)


def _decomposed(frame: Frame, callee: Any, rule: Any, args: list[Value], named: dict[str, Value]) -> Value:
    """A call by what a rule makes of it, in terms of other ops."""
    ctx = frame.ctx
    signature = inspect.signature(rule)
    out = None if "out" in signature.parameters else named.pop("out", None)
    if ALL_GIVEN in signature.parameters:
        args = [TupleValue(tuple(materialise(ctx, a) for a in args))]
    name = spoken(callee)
    if misfit(name, signature, len(args), named):
        unknown = next((f"argument `{one}` of {name}" for one in named if one not in signature.parameters), None)
        raise ctx.unsupported(
            unknown or f"{name} with {len(args)} arguments",
            "Leave it out, or write the computation out." if unknown else "Give it these.",
            why=f"adjit takes {', '.join(signature.parameters)}.",
        )
    if is_builtin(rule):
        args = [
            _as_array(ctx, name, a) for name, a in zip([*signature.parameters, *[""] * len(args)], args, strict=False)
        ]
        named = {name: _as_array(ctx, name, a) for name, a in named.items()}
    given = _for_rule(frame, rule, args)
    named = {name: materialise(ctx, value) for name, value in named.items()}
    ctx.decomposed.append(callee)
    made = _of_rules(ctx, rule, given, named)
    ctx.decomposed.pop()
    like = () if is_in_c_order(callee) else (*args, *named.values())
    models = [part for a in like for part in parts_of(a)]
    for one in parts_of(made):
        ordered_like(ctx, one, models)
    is_elementwise = (isinstance(callee, np.ufunc) and callee.signature is None) or callee in _BY_UFUNCS
    return into(frame, out, made, 0 if is_elementwise else 2 if callee is np.matmul else None)


def _of_rules(ctx: Context, function: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """What a function of the rules returns, or a method of an object that they made: its arrays are not NumPy's."""
    noted, ctx.notes_order = ctx.notes_order, False
    made = ctx.inline(function, args, named, True, False)
    ctx.notes_order = noted
    return made


def _as_array(ctx: Context, parameter: str, value: Value) -> Value:
    """An argument of a rule, a list as the array that NumPy makes of it where it takes an array."""
    if parameter in ARRAY_LIKE and isinstance(value, TupleValue):
        return array_of(ctx, value)
    if parameter in SEVERAL and isinstance(value, TupleValue):
        items = (array_of(ctx, one) if isinstance(one, TupleValue) else one for one in value.items)
        return dataclasses.replace(value, items=tuple(items))
    return value


def _at_its_line(frame: Frame, callee: Any, operands: Sequence[ir.Operand], options: Options = ()) -> Value:
    """A call that stays one, by the place of the expression, where it may be refused when it is differentiated."""
    ctx = frame.ctx
    outer = ctx.builder.origin
    if not frame.is_rule:
        assert ctx.node is not None
        ctx.builder.origin = frame.source.origin(ctx.node)
    result = whole_call(ctx, callee, operands, options=options)
    ctx.builder.origin = outer
    return result


def _without_defaults(rule: Any, args: Sequence[Value]) -> list[Value]:
    """Arguments without the last ones that are None, or another object that is no operand, and so by default."""
    kept, defaults = list(args), [p.default for p in inspect.signature(rule).parameters.values()]
    while kept and isinstance(kept[-1], Static) and kept[-1].value is defaults[len(kept) - 1]:
        kept.pop()
    return kept


def _for_rule(frame: Frame, rule: Any, args: Sequence[Value]) -> list[Value]:
    """Arguments for a decomposition: lazy ones stay lazy where the body reads them once."""
    reads_once = itertools.chain(frame.ctx.reads_once(rule), itertools.repeat(False))
    return [a if once else materialise(frame.ctx, a) for a, once in zip(args, reads_once, strict=False)]


def _takes_numbers(callee: Any, args: Sequence[Value]) -> bool:
    return all(is_number(a) for a in args) or getattr(callee, "__module__", "") in ("math", "_operator", "operator")


def _bound(frame: Frame, callee: Any, rule: Any, args: Sequence[Value], named: Mapping[str, Value]) -> list[Value]:
    """Keyword arguments put in the order of the rule's parameters."""
    parameters = [p for p in inspect.signature(rule).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    parameters = [p for p in parameters if not p.name.endswith("_dot")]
    if len(args) > len(parameters) and all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        # the rule would not know of it
        name = getattr(callee, "__name__", callee)
        raise frame.ctx.unsupported(
            f"{len(args)} arguments of {name}",
            "Write the computation without it.",
            why=f"Its derivative is known for {len(parameters)} arguments.",
        )
    result = list(args)
    rest = dict(named)
    for parameter in parameters[len(args) :]:
        if not rest:
            break
        if parameter.name in rest:
            result.append(rest.pop(parameter.name))
        elif parameter.default is not parameter.empty:
            result.append(wrap(frame.ctx, parameter.default))
    if rest:
        raise frame.ctx.unsupported(
            f"argument `{next(iter(rest))}` of {spoken(callee)}",
            "Write the computation without it.",
            why=f"adjit takes {', '.join(p.name for p in parameters)}.",
        )
    return result


def _elementwise(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A function of numbers, applied to numbers or to arrays element by element; a ufunc may have an output array."""
    ctx = frame.ctx
    args = list(args)
    target: Value | None = None
    if isinstance(callee, np.ufunc):
        other = next((name for name in named if name not in ("out", "where")), None)
        if other is not None:
            raise ctx.unsupported(
                f"argument `{other}` of {spoken(callee)}",
                "Write the computation without it.",
                why="adjit knows the named arguments `out` and `where` of ufuncs.",
            )
        target = named.get("out")
        if len(args) > callee.nin:
            target = args.pop()
        target = None if target is None or target == Static(None) else materialise(ctx, target)
    elif named:
        raise _by_position(frame, callee, named)
    kind = "number" if getattr(callee, "__module__", None) == "math" else "value"
    args = [taken(frame, spoken(callee), kind, a) for a in args]
    dtypes = tuple(dtype(a) for a in args if isinstance(a, ir.Var | ir.Const | Lazy))
    known = callee if call_type(callee, dtypes) is not None else compiled(callee)
    result = applied(ctx, known, args)
    condition = named.get("where")
    if condition in (None, ir.boolean(True)):
        return into(frame, target, result, fixed=0)
    if target is None:
        raise ctx.unsupported(
            f"{spoken(callee)} with `where`, but without `out`",
            "Give it an array, out=np.zeros(...), or use np.where.",
            why="Elements where the condition is false would be undefined.",
        )
    return into(frame, target, where(ctx, condition, result, target), fixed=0)


def _by_position(frame: Frame, callee: Any, named: Mapping[str, Value]) -> errors.AdjitError:
    return frame.ctx.unsupported(f"argument `{next(iter(named))}` of {spoken(callee)}", "Pass it by position.")


# ----------------------------------------------------------------------------------------------------- methods, lambdas


def _method(frame: Frame, method: Method, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    ctx = frame.ctx
    # what is computed for the call may have changed it
    owner = latest(frame, method.owner)
    if frame.is_compiled and not has(owner, method.name):
        found = method_implemented(frame, owner, method.name, args, named)
        if found is not None:
            return found
    if is_texts(owner) and hasattr(owner.value.array, method.name):
        return fold(ctx, ARRAYS_OF_TEXTS, getattr(np.ndarray, method.name), [owner, *args], named)
    if isinstance(owner, Union):
        given, keywords = _computed(ctx, args, named)
        return of_option(frame, owner, lambda o: call(frame, attribute(frame, o, method.name), given, keywords))
    if is_complex(owner):
        found = _complex_method(frame, method, args, named)
        if found is not None:
            return found
    if method.name in ("item", "tolist") and is_numeric(owner) and is_small_integer(dtype(owner)) and ctx.is_plain:
        # Python's integers have 64 bits
        owner = converted(ctx, owner, types.intp)
    if method.name == "tolist" and is_array(owner) and not is_complex(owner) and 0 < ndim(owner) < 3:
        rows = to_list(frame, owner)
        if not isinstance(rows, GrowableList):
            # so many as are known
            lists = tuple(to_list(frame, one) if is_array(one) else one for one in rows.items)
            return dataclasses.replace(rows, items=lists)
        return dataclasses.replace(rows, item=Row(LEAF)) if ndim(owner) == 2 else rows
    if is_number(owner) and method.name in ("conjugate", "conj", "item", "tolist"):
        return owner
    if isinstance(owner, RuntimeGenerator):
        return _drawn(frame, owner, method.name, args, named)
    if isinstance(owner, Instance):
        return call_method(frame, owner, method.name, args, named)
    args = [all_of_stream(frame, a) for a in args] if isinstance(owner, RuntimeDict | List) else args
    behind = len if method.name == "__len__" else _operator(method.name)
    if behind is not None:
        return ctx.call(frame, Static(behind), [owner, *args], named)
    match owner:
        case KnownDict() | RuntimeDict():
            return method_of_table(frame, owner, method.name, args, dict(named))
        case TupleValue(fields=fields) if fields and method.name == "_replace" and not args:
            return _with_fields(frame, owner, named)
        case TupleValue() if (of_class := method_of(owner, method.name)) is not None:
            return ctx.call(frame, Static(of_class), [owner, *args], named)
        case TupleValue() | GrowableList():
            return list_method(frame, owner, method.name, args, dict(named))
    if not is_array(owner):
        raise ctx.unsupported(f"the method `{method.name}` of {describe(owner)}", _WRITE_OUT)
    args = [elements(ctx, displayed(ctx, a)) for a in args]
    own = METHODS.get(method.name) or HOST_METHODS.get(method.name)
    if own is not None:
        return _told_whose(ctx, own(frame, [owner, *args], dict(named)), is_pythons=method.name == "item")
    function = getattr(np, method.name, None)
    if function is None or not hasattr(np.ndarray, method.name):
        raise ctx.unsupported(f"the array method `{method.name}`", _WRITE_OUT)
    return _told_whose(ctx, _resolved(frame, function, [owner, *args], dict(named)), is_pythons=False)


def _operator(name: str) -> Callable[..., Any] | None:
    """The operator that a method such as `__getitem__` is behind, which `operator` has under that name."""
    found = getattr(operator, name, None) if name.startswith("__") else None
    return found if callable(found) else None


def _drawn(
    frame: Frame, owner: RuntimeGenerator, name: str, args: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A draw of a generator that is an argument, when the program runs."""
    ctx, method = frame.ctx, getattr(np.random.Generator, name, None)
    entry = lookup(method)
    if entry is None:
        raise ctx.unsupported(f"`{name}` of a random generator", "Draw the numbers before the call, and pass them.")
    rule = entry.general or entry.decomposition
    if method not in ctx.decomposed and rule is not None:
        given = [owner, *(elements(ctx, a) if name != "shuffle" else a for a in args)]
        return _decomposed(frame, method, rule, given, dict(named))
    operands = [owner.generator, *(operand(ctx, a) for a in args)]
    if call_type(method, tuple(o.type for o in operands)) is None:
        raise ctx.unsupported(
            f"`{name}` of a random generator, which numba does not have with these arguments",
            "Draw the numbers before the call, and pass them.",
        )
    return whole_call(ctx, method, operands, effect=True)


_WRITE_OUT = "Write its operations out."


# ----------------------------------------------------------------------------------------------------- complex numbers

# What is done to an array of complex numbers by doing it to the real parts and to the imaginary parts.
_BY_PARTS = frozenset((
    np.ascontiguousarray, np.broadcast_to, np.column_stack, np.concatenate, np.copy, np.cumsum, np.diag, np.diff,
    np.dstack, np.expand_dims, np.flip, np.fliplr, np.flipud, np.hstack, np.moveaxis, np.ravel, np.repeat, np.reshape,
    np.roll, np.rot90, np.stack, np.swapaxes, np.take, np.trace, np.transpose, np.tril, np.triu, np.vstack,
))  # fmt: skip
_METHODS_BY_PARTS = frozenset((
    "copy", "cumsum", "flatten", "item", "ravel", "repeat", "reshape", "swapaxes", "take", "trace", "transpose",
))  # fmt: skip


def _has_complex(value: Value) -> bool:
    return any(map(is_complex, parts_of(value)))


def _complex_call(frame: Frame, callee: Any, args: list[Value], named: dict[str, Value]) -> Value | None:
    """A call with complex numbers among its arguments; None where it is one as any other."""
    ctx, name = frame.ctx, getattr(callee, "__name__", str(callee))
    if (isinstance(callee, FunctionType) or is_dispatcher(callee)) and not _is_of_library(callee):
        return None
    if _makes_derivatives(callee) or (isinstance(callee, type) and not _is_of_library(callee)):
        return None
    if callee is bool and len(args) == 1:
        return truth(frame, args[0])
    if callee is cmath.isclose:
        return _is_close(frame, args, named)
    if isinstance(callee, np.ufunc) or callee in (np.real, np.imag):
        args = [array_of(ctx, a) if isinstance(a, TupleValue) else a for a in args]
    if not named and all(map(is_numeric, args)):
        if name in ("real", "imag") and len(args) == 1:
            return _part_taken(ctx, args[0], name)
        if callee is cmath.polar and len(args) == 1:
            return TupleValue(tuple(applied(ctx, f, args) for f in (abs, cmath.phase)))
        if complexes.is_known(callee, len(args)):
            return applied(ctx, callee, args)
    if callee in (np.dot, np.matmul, operator.matmul) and len(args) == 2 and all(map(is_array, args)):
        return product(frame, np.dot, args[0], args[1])
    if callee is np.vdot and len(args) == 2:
        first = applied(ctx, np.conj, [args[0]]) if is_complex(args[0]) else args[0]
        return product(frame, np.dot, *(_resolved(frame, np.ravel, [a], {}) for a in (first, args[1])))
    if _is_hashable(callee) and callee in _BY_PARTS and _has_complex(args[0]) and not any(map(_has_complex, args[1:])):
        return _by_parts(ctx, args[0], lambda a: _resolved(frame, callee, [a, *args[1:]], named))
    entry = lookup_complex(callee) if _is_hashable(callee) else None
    if entry is not None:
        if entry.general is not None and entry.decomposition is not None and callee not in ctx.decomposed:
            expected = inspect.signature(entry.decomposition)
            if misfit(name, expected, len(args), named):
                return _decomposed(frame, callee, entry.general, args, named)
        is_along_axes = callee in ALONG_AXES and (len(args) > 1 or named)
        return None if is_along_axes else _by_rule(frame, callee, entry, args, named)
    if _is_hashable(callee) and callee in INTRINSICS:
        return None
    if dtype_of(callee) is not None:
        return None
    raise ctx.no_rule(f"{name} of complex numbers")


def _is_close(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    a, b, *tolerances = bound(frame, "cmath.isclose", "a:scalar b:scalar rel_tol:number? abs_tol:number?", args, named)
    assert isinstance(a, Number)
    assert isinstance(b, Number)
    defaults = (typed_const(v, types.float64) for v in (1e-9, 0.0))
    rel_tol, abs_tol = (d if t is None else operand(frame.ctx, t) for t, d in zip(tolerances, defaults, strict=True))
    return complexes.is_close(frame.ctx, a, b, rel_tol, abs_tol)


def _makes_derivatives(callee: Any) -> bool:
    """Whether it is a derivative, or makes one."""
    if isinstance(callee, InnerPullback) or derivative_of(callee) is not None:
        return True
    return _is_hashable(callee) and callee in DERIVING


def _by_parts(ctx: Context, value: Value, run: Callable[[Value], Value]) -> Value:
    """The complex value whose parts `run` makes of the parts of `value`, or of the arrays in that tuple."""
    if isinstance(value, TupleValue):
        items = [materialise(ctx, item) for item in value.items]
        sides = [TupleValue(tuple(_part_or_zero(ctx, item, name) for item in items)) for name in ("real", "imag")]
        return paired(*(materialise(ctx, run(side)) for side in sides))
    return of_parts(ctx, value, lambda side: materialise(ctx, run(side)))


def _part_taken(ctx: Context, value: Value, name: str) -> Value:
    """The part that the program asks for: of an array, it has gaps in NumPy, so what wants it contiguous copies it."""
    made = part(ctx, value, name)
    if isinstance(made, Lazy):
        return dataclasses.replace(made, has_gaps=True)
    if is_array(made):
        ctx.ordered(operand(ctx, made), (), is_free=True)
    return made


def _part_or_zero(ctx: Context, value: Value, name: str) -> Value:
    """A part of something that need not be complex."""
    if is_complex(value):
        return part(ctx, value, name)
    if name == "real" or not is_numeric(value):
        return value
    zero = typed_const(0, dtype(value))
    return Lazy(shape_of(ctx, value), dtype(value), lambda index: zero, ()) if is_array(value) else zero


def _complex_method(frame: Frame, method: Method, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A method of a complex number, or of an array of them; None where it is one as any other array's."""
    ctx, owner, name = frame.ctx, method.owner, method.name
    if name in ("conj", "conjugate"):
        return applied(ctx, np.conj, [owner])
    if isinstance(owner, Complex) and not is_array(owner):
        return owner if name == "item" else complexes.function(ctx, name, owner)
    if name in _METHODS_BY_PARTS:
        return _by_parts(ctx, owner, lambda a: _method(frame, Method(a, name), args, named))
    return None
