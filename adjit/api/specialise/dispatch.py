"""Derived functions as users hold them: numba dispatchers whose body is made anew for each tuple of argument types.

In: a `Derivative` and options. Out: a callable, one for all argument types, also inside @njit code.

    derive(Derivative(energy, "grad", (0,)), Options())(positions, 1.5)

numba's own dispatcher finds the specialisation for a call (`backend/dispatcher.py`).
"""

from __future__ import annotations

import dataclasses
import functools
import html
import inspect
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config, objmode, types

from adjit.api.arguments.outside_memory import OutsideMemory
from adjit.api.arguments.plans import GRADIENTS, OTHER, Planned, planned
from adjit.api.arguments.race_checks import check_program, is_asked_for
from adjit.api.arguments.structures import Layouts, has_extents, is_integer, is_laid_out, laid_out, result_of, typed
from adjit.api.arguments.trees import described
from adjit.api.arguments.types import (
    PLAIN,
    SCALARS,
    as_given,
    as_numpys,
    check_type,
    check_value,
    has_typed,
    specialised,
    type_of,
)
from adjit.api.specialise.ahead_of_time import not_compiled
from adjit.api.specialise.cache import DerivativeCache, is_on
from adjit.api.specialise.notation import names_types, to_text, to_types
from adjit.api.specialise.options import Options
from adjit.errors import NOT_REAL, AdjitError, InternalError, NotCached, Stretched, TypeMismatch, Unsupported, WrongCall
from adjit.report.notebook import Source
from adjit.rules import registry
from adjit.runtime.backend.dispatcher import Picklable, SpecialisedDispatcher, as_passed, compiler_lock, sparing
from adjit.runtime.compile import load
from adjit.runtime.library import is_of_shapes
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, root, shown
from adjit.transform.source.external_reads import Reads, contents_read, noting
from adjit.transform.source.structures import ARRAYS, has_held, has_records, has_same, is_structure

if TYPE_CHECKING:
    from adjit.api.specialise.explain import Explanation
    from adjit.transform.emit.emit import Emitted

# ------------------------------------------------------------------------------------------------- derived functions


class Specialising:
    """What derived functions have in common on every target."""

    derivative: Derivative
    options: Options
    __signature__: inspect.Signature
    is_of_host = True  # whether Python calls it; else kernels do
    reads: Reads
    overloads: Any  # what was made for the types of the arguments of the calls so far
    _cache: Any = None
    has_constants = False  # whether integers among the arguments are known while compiling
    has_extents = False  # whether the extents of arrays are, too

    def holds(self) -> bool:
        """Whether all that was read when this was made, and the code for the calls so far, is as it was then."""
        return self.reads.hold() and all(part.holds() for part in self._parts)

    def _derived(self, derivative: Derivative, **options: Any) -> Any:
        """Another derived function, which is part of this one: with the globals that this one was made with."""
        part = derive(derivative, dataclasses.replace(self.options, **options) if options else self.options)
        if part not in self._parts:
            self._parts.append(part)
        return part

    @functools.cached_property
    def stretching(self) -> Any:
        """The same function for arguments whose axes of length 1 are stretched at run time."""
        return self._in_place(dataclasses.replace(self.derivative, stretches=True))

    @functools.cached_property
    def watched(self) -> Any:
        """The same function, which says how far it is, and leaves when it is asked to."""
        # numba is told how it compiles that when there is such code
        import adjit.runtime.backend.progress_polling  # noqa: F401

        made = dataclasses.replace(self.derivative, watched=True)
        return self._in_place(made, cache=False)

    def _in_place(self, derivative: Derivative, **options: Any) -> Any:
        """Another derived function, which runs in the place of this one."""
        part = self._derived(derivative, **options)
        part.outside.followed_by(self.outside)
        return part

    def _reduce_states(self) -> dict[str, Any]:
        return {"derivative": self.derivative, "options": self.options}

    def _reduce_class(self) -> type:
        return Specialising

    @classmethod
    def _rebuild(cls, **states: Any) -> Any:
        return derive(**states)

    def __dir__(self) -> list[str]:
        """What users call, for Tab: numba's dispatcher has some thirty names more."""
        meant = ["explain", "precompile", "report", "save", "source"]
        meant += ["into"] if self.derivative.kind in GRADIENTS else []
        return sorted((*(name for name in super().__dir__() if name.startswith("__")), *meant))

    def __repr__(self) -> str:
        made = self.derivative
        return f"<{made.title} of {shown(made.differentiated)} with respect to {made.wrt}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the source, where it was called with arguments of one kind."""
        head = f"<code>{html.escape(repr(self))}</code>"
        return (
            head
            if len(self.overloads) != 1
            else head + Source(self._shown(self._only_types(), False).whole.text)._repr_html_()
        )

    def source(self, *arguments: Any, tuned: bool = False) -> str:
        """The generated source for these arguments: values, numba types, or a string such as "float64[:], int".

        It shows the mathematics, to be read and checked. `tuned=True` shows the code that is compiled: the same adjoint
        with vectorised and parallel loops, collected sums and reused memory. `save` writes either to a file.
        """

        def text(asked: Any, taken: Sequence[Any]) -> str:
            given = asked._types_of(taken)
            with compiler_lock:
                kept = asked._cache.text(given) if tuned and isinstance(asked._cache, DerivativeCache) else None
                return kept or asked._shown(given, tuned).whole.text

        return Source(self._asked(arguments, text))

    def save(self, path: str | os.PathLike[str], *arguments: Any, tuned: bool = False) -> None:
        """Writes the source for these arguments, given as to `source`, as a module with all that it needs.

        The module has one compiled function to be called, and runs on NumPy and numba alone; with `tuned=True` it
        needs adjit, and says so in its first line. Without arguments: those of the calls so far, if they are all of
        the same types. Raises Unsupported where the source calls a function that no module has under its name.
        """

        def written(asked: Any, taken: Sequence[Any]) -> Emitted:
            with compiler_lock:
                given = asked._types_of(taken) if taken else asked._only_types()
                is_stretched = "stretching" in vars(asked) and given in asked.stretching.overloads
                found: Emitted = (asked.stretching if is_stretched else asked)._shown(given, tuned)
                return found

        emitted: Emitted = self._asked(arguments, written)
        of_ours = [name for name, value in emitted.names.items() if hasattr(value, "adjit_rules")]
        of_backend = [name for name, value in emitted.names.items() if getattr(value, "is_of_backend", False)]
        if (of_ours or of_backend) and not tuned:
            made = "which comes from adjit.implicit or adjit.fixed_point, and so" if of_ours else "which"
            raise Unsupported(
                f"a saved source of {shown(self.derivative)}",
                why=f"It calls {(of_ours or of_backend)[0]}, {made} needs adjit.",
                instead="Save it with tuned=True, as a module that needs adjit, or keep the string that "
                "`.source(...)` returns.",
            )
        if self._for(arguments).has_extents:
            raise Unsupported(
                f"a saved source of {shown(self.derivative)}",
                why="It would hold only for arrays of these shapes, and nothing in it would show that.",
                instead="Name the items of arrays one by one, or keep the string that `.source(...)` returns.",
            )
        from adjit.transform.emit import module_text, not_importable

        missing = not_importable(emitted)
        if missing:
            raise Unsupported(
                f"a saved source of {shown(self.derivative)}",
                why=f"It calls a function that another module cannot import: {missing[0]}.",
                instead=f"Bind it to that name in the solver's module:  {of_ours[0]} = adjit.implicit(...)"
                if of_ours
                else "Define the function at the top level of a module that can be imported.",
            )
        decorator = self.options.decorator(tuned, any(value is objmode for value in emitted.names.values()))
        Path(path).write_text(module_text(emitted, decorator, tuned), encoding="utf-8")

    def _shown(self, given: Sequence[types.Type], tuned: bool) -> Emitted:
        """The source to be looked at, or, `tuned`, the one that is compiled."""
        return self._noted(derivatives.at_level(self.derivative, tuned), self._specialised(given))[0]

    def _only_types(self) -> tuple[types.Type, ...]:
        seen: Sequence[tuple[types.Type, ...]] = tuple(self.overloads)
        if len(seen) != 1:
            raise WrongCall(
                f"{shown(self.derivative)}.save without arguments",
                why=f"It was called with {'different types of them' if seen else 'none'} so far.",
                instead='Give values or types after the file, as in save("file.py", x, 0.5).',
            )
        return seen[0]

    def _asked(self, arguments: Sequence[Any], run: Callable[[Any, Sequence[Any]], Any]) -> Any:
        """What `run` gives of what a call with these arguments, or such, runs, and of what that is called with."""
        asked = self._for(arguments)
        return asked.retried(arguments, lambda: run(*self._laid(asked, arguments)))

    @staticmethod
    def _laid(asked: Any, arguments: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """What runs where some arguments are lists, dictionaries or objects, or what is part of what is compiled, and
        what it is called with."""
        known = asked.has_constants, asked.has_extents
        found = laid_out(asked.derivative, list(asked.__signature__.parameters), arguments, *known)
        return (asked, arguments) if found is None else (asked._of_layouts(found[0]), found[1])

    def _of_layouts(self, layouts: Layouts) -> Any:
        """The same function of the leaves of such arguments, with the globals that it was made with, as this one."""
        found = self._laid_out.get(layouts)
        if found is None:
            made = derivatives.of_structures(self.derivative, layouts)
            # leaves are taken apart no further: what is known besides is said of them
            of_leaves = not derivatives.is_of_arguments(self.derivative)
            found = self._laid_out.setdefault(layouts, (self._in_place if of_leaves else self._derived)(made))
        return found

    @functools.cached_property
    def _laid_out(self) -> dict[Layouts, Any]:
        return {}

    def _takes_constants(self, fault: Unsupported, arguments: Sequence[Any]) -> bool:
        """Whether what was refused may be taken if the integers among the arguments are known while compiling."""
        may_be = fault.wants_constant and not self.has_constants and any(map(is_integer, arguments))
        self.has_constants |= may_be
        return may_be

    def _is_laid_out(self, arguments: Sequence[Any]) -> bool:
        """Whether some are structures, or integers that are constants."""
        return any(is_laid_out(argument, self.has_constants, self.has_extents) for argument in arguments)

    def _structured(self, arguments: Sequence[Any]) -> Any:
        """A call of which some arguments are lists, dictionaries or objects, or integers or arrays of extents that are
        constants."""
        return self.retried(arguments, functools.partial(self._apart, arguments))

    def retried(self, arguments: Sequence[Any], run: Callable[[], Any]) -> Any:
        """What `run` gives. Where it is refused as something has to be known while compiling: again with the integers
        among the arguments known, and then with the shapes of arrays. It raises what it did first, if that is no help,
        or what is refused where that is known."""
        try:
            return run()
        except Unsupported as fault:
            return self._again(fault, arguments, run)

    def _again(self, fault: Unsupported, arguments: Sequence[Any], run: Callable[[], Any]) -> Any:
        if self._takes_constants(fault, arguments):
            return self.retried(arguments, run)
        if not self._takes_extents(fault, arguments):
            raise fault
        self.has_extents = True
        try:
            return run()
        except Unsupported as other:
            self.has_extents = False
            raise fault if other.wants_constant else other from None

    def _takes_extents(self, fault: Unsupported, arguments: Sequence[Any]) -> bool:
        """Whether what was refused may be taken if the extents of arrays are known while compiling."""
        may_be = fault.wants_constant and not self.has_extents and derivatives.is_of_arguments(self.derivative)
        return may_be and any(map(has_extents, arguments))

    def _apart(self, arguments: Sequence[Any]) -> Any:
        result = self._as_planned(arguments)
        if result is not OTHER:
            return result
        names = list(self.__signature__.parameters)
        found = laid_out(self.derivative, names, arguments, self.has_constants, self.has_extents)
        assert found is not None
        layouts, given = found
        asked = [layout for p in self.derivative.wrt or () if (layout := layouts[p]) is not None]
        is_fixed = any(layout.kind == "static" or has_records(layout) for layout in asked)
        is_gradient = self.derivative.kind in GRADIENTS
        if is_fixed or (not is_gradient and any(layout.kind != "array" for layout in asked)):
            self._refuse(layouts, arguments)
        run, plans = self._of_layouts(layouts), self._plans
        result = run(*given)
        if derivatives.is_of_arguments(self.derivative):
            run.outside.check_whole(arguments)
        # of matrices that stand on places of their own a call asks each time
        is_kept = not self.has_extents and not any(map(has_held, layouts)) and not any(map(has_same, layouts))
        if is_kept and all(layouts != other for other, _ in plans):
            made = self.derivative
            wrt = made.wrt or ()
            plan = planned(made.kind, made.single, made.has_aux, layouts, wrt, run)
            plans.insert(0, (layouts, plan))
            del plans[MOST_PLANS:]
        if asked and is_gradient:
            return result_of(self.derivative, layouts, given, result)
        return typed(self.derivative, given, result)

    def _refuse(self, layouts: Layouts, arguments: Sequence[Any]) -> None:
        """TypeMismatch of what no derivative is taken with respect to."""
        owner = shown(self.derivative)
        for position, name in enumerate(self.__signature__.parameters):
            layout = layouts[position]
            if layout is None or layout.kind == "array" or position not in (self.derivative.wrt or ()):
                continue
            if layout.kind == "records" or not has_records(layout):
                check_value(owner, name, arguments[position])
            else:
                raise TypeMismatch(
                    f"argument `{name}` of {owner} contains an array of records, which has no derivative",
                    instead="Pass each field as an argument, or name another part in wrt.",
                )

    def _as_planned(self, arguments: Sequence[Any]) -> Any:
        """The result of a call with arguments that are put together as those of an earlier one; OTHER if none are."""
        plans = self._plans
        for k, (_, plan) in enumerate(plans):
            result = plan(arguments)
            if result is not OTHER:
                if k:
                    plans.insert(0, plans.pop(k))
                return result
        return OTHER

    @functools.cached_property
    def _plans(self) -> list[tuple[Layouts, Planned]]:
        return []

    def _for(self, arguments: Sequence[Any]) -> Any:
        """The derived function that runs when this one is called so."""
        return self

    def _emitted(self, derivative: Derivative, given: tuple[types.Type, ...]) -> Emitted:
        # the transformation and the libraries that it stands on are loaded when the first derivative is made
        from adjit.transform import pipeline

        with sparing():
            return pipeline.source(derivative, given, self._vectorises)

    @property
    def _vectorises(self) -> bool:
        # plain Python has no vectors
        return self.options.vectormath and self.options.target != "python"

    def into(self, *arguments: Any, out: Any = inspect.Parameter.empty, **keywords: Any) -> Any:
        """What a call returns, with the gradient in arrays of the caller's: nothing large is allocated.

        `out` is built like the gradient: an array for an array, None for a number, whose gradient is returned as ever.
        It may not overlap with an argument. Raises TypeMismatch where it does not fit, Aliased where it overlaps.
        """
        made = self.derivative
        if made.kind not in ("grad", "value_and_grad") or made.wrt is None:
            raise Unsupported(f"{shown(made)} with arrays to store into", instead="Use grad or value_and_grad.")
        if made.intermediates:
            raise Unsupported(
                f"{shown(made)} with intermediates and arrays to store into", instead="Use one of the two."
            )
        if out is inspect.Parameter.empty:
            raise WrongCall(
                f"{shown(made)}.into is called without `out`", instead="Give out=, with the structure of the gradient."
            )
        if len(arguments) != len(self.__signature__.parameters) or keywords:
            arguments = derivatives.bound(made, arguments, keywords)
        outputs = (out,) if made.single else out
        if not isinstance(outputs, tuple) or len(outputs) != len(made.wrt):
            raise TypeMismatch(
                f"`out` of {shown(made)}.into is {described(out)}, not a tuple of {len(made.wrt)}",
                instead="Give a tuple like the gradient, with one entry per argument in wrt.",
            )
        return self._storing(*arguments, *outputs)

    @functools.cached_property
    def _storing(self) -> Any:
        return self._derived(dataclasses.replace(self.derivative, into=True))

    def precompile(self, *arguments: Any) -> None:
        """Compiles for these arguments, given as to `source`, and keeps that; as `adjit.precompile`."""
        self._asked(arguments, lambda asked, taken: asked._compile_ahead(asked._types_of(taken)))

    def _compile_ahead(self, given: tuple[types.Type, ...]) -> None:
        raise not_compiled(f'a derivative with target="{self.options.target}"')

    def explain(self, *arguments: Any) -> Explanation:
        """An explanation of the derivative for these arguments: `print(gradient.explain(...))`.

        It lists which variables are active (have a derivative), and why. It shows how the reverse sweep gets each
        value, and how each loop is differentiated. The bytes of each array are a formula, and a number if the arguments
        are values.
        """
        from adjit.api.specialise.explain import explanation
        from adjit.transform import pipeline

        def explained(asked: Any, taken: Sequence[Any]) -> Explanation:
            with compiler_lock:
                given = asked._types_of(taken)
                made, records = pipeline.explained(asked.derivative, given, asked._vectorises)
                return explanation(made, records, given, asked._values_of(taken), asked.options.has_no_nan)

        found: Explanation = self._asked(arguments, explained)
        return found

    def report(self, path: str | os.PathLike[str], *arguments: Any) -> None:
        """Writes a page for the browser, for arguments as of `source`. The page needs no network.

        It shows the function beside its derivative, readable and as compiled, with linked lines. Below are the
        lists of `explain`, with the memory of arrays as bars if the arguments are values.
        """
        from adjit.api.specialise.reports import report

        Path(path).write_text(report(self, arguments), encoding="utf-8")

    def _values_of(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The values of all arguments, None where some are given as types."""
        if not all(_are_values(arguments)):
            return None
        return derivatives.bound(self.derivative, arguments)

    def _describe(self, derivative: Derivative, options: Options) -> None:
        self.derivative, self.options = derivative, options
        self._parts: list[Any] = []
        with noting() as self.reads:
            self.__signature__ = derivatives.parameters(derivative)
        self.outside = OutsideMemory(derivative, self.__signature__.parameters)

    def _dress(self) -> None:
        """Name, documentation and module are the user's function's; the parameters are our own."""
        functools.update_wrapper(self, root(self.derivative), updated=())  # type: ignore[arg-type]

    def _noted(self, derivative: Derivative, given: tuple[types.Type, ...]) -> tuple[Emitted, Reads]:
        """What is emitted to be run, and what of the world outside it was made from."""
        if list(derivatives.parameters(derivative).parameters) != list(self.__signature__.parameters):
            raise WrongCall(
                f"{shown(root(derivative))} has changed its parameters since {shown(derivative)} was created",
                instead=f"Create the derivative again: adjit.{derivative.title}(...).",
            )
        with noting() as read:
            # which of the user's rules an operation falls under may change with each of them
            contents_read(registry.user.entries)
            emitted = self._emitted(derivative, given)
        self.reads.add(read)
        return emitted, read

    def _specialise(self, given: Sequence[types.Type]) -> FunctionType:
        """The generated function for arguments of these types."""
        taken = self._specialised(given)
        emitted, read = self._noted(self.derivative, taken)
        for type_ in given:
            if isinstance(type_, types.Omitted) and isinstance(type_.value, np.ndarray):
                read.memory[id(type_.value)] = type_.value  # which numba compiles in
        self.outside.note(read)
        title = f"{emitted.name} {', '.join(map(to_text, taken))}".rstrip()
        is_plain = isinstance(self, Interpreted)
        function = self._loaded(emitted, title, is_plain, self._of_routines(emitted, title, is_plain))
        if isinstance(self._cache, DerivativeCache):
            self._cache.made(given, emitted, function, title, read)
        return function

    @staticmethod
    def _loaded(emitted: Emitted, title: str, is_plain: bool, of_program: Mapping[str, Any]) -> FunctionType:
        """The emitted function; `of_program`: the functions that it calls, by name."""
        from adjit.runtime.backend.separate_compilation import for_python
        from adjit.transform import ir

        def value(known: Any) -> Any:
            if isinstance(known, ir.Subprogram):
                return of_program[known.name]
            if isinstance(known, np.ndarray):
                # global arrays as they are now, on every target
                return known.copy()
            # with it comes what is compiled in the place of numba's own
            return for_python(known) if is_plain else known

        names = {name: value(known) for name, known in emitted.globals.items()}
        return load(emitted.text, names, emitted.name, title, is_plain=is_plain)

    def _of_routines(self, emitted: Emitted, title: str, is_plain: bool) -> dict[str, Any]:
        """The functions that the emitted one calls, each compiled for itself, by name."""
        from adjit.runtime.backend.separate_compilation import as_generated

        found: dict[str, Any] = {}
        for each in emitted.routines:
            made: Any = self._loaded(each, f"{each.name} of {title}", is_plain, found)
            if not is_plain:
                # loops over prange are of the program's main function
                made = as_generated(made, self.options.for_numba() | {"parallel": False})
                # one at a time, and not each in the midst of another one
                made.compile(each.arg_types)
            found[each.name] = made
        return found

    def _specialised(self, given: Sequence[types.Type]) -> tuple[types.Type, ...]:
        found = tuple(map(specialised, given))
        if self._is_checked:
            owner = shown(self.derivative)
            for name, type_, asked in zip(self.__signature__.parameters, found, given, strict=True):
                if isinstance(asked, types.Omitted):
                    check_value(owner, name, asked.value)  # of which numba's type may not tell the class
                check_type(owner, name, type_)
        return found

    @property
    def _is_checked(self) -> bool:
        """Whether the arguments come from the user: what a forward sweep saved is of every kind."""
        return self.derivative.kind != "split_reverse"

    def _check_values(self, arguments: Sequence[Any]) -> None:
        if self._is_checked:
            for name, value in zip(self.__signature__.parameters, arguments, strict=False):
                check_value(shown(self.derivative), name, value)

    def argument_types(self, *arguments: Any) -> tuple[types.Type, ...]:
        """The types for which these arguments are specialised; strings with their values."""
        return self._specialised([self._type_of(a) for a in arguments])

    @staticmethod
    def _type_of(argument: Any) -> types.Type:
        return type_of(argument)

    def _types_of(self, arguments: Sequence[Any]) -> tuple[types.Type, ...]:
        found: list[types.Type] = []
        for argument, is_value in zip(arguments, _are_values(arguments), strict=True):
            if isinstance(argument, str) and not is_value:
                found += to_types(argument)
            else:
                found.append(argument if isinstance(argument, types.Type) else self._type_of(argument))
        parameters = list(self.__signature__.parameters.values())
        left_out = parameters[len(found) :]
        if len(found) > len(parameters) or any(p.default is p.empty for p in left_out):
            raise TypeMismatch(
                f"the number of argument types is {len(found)}, not {len(parameters)}",
                why=f"The parameters are {', '.join(self.__signature__.parameters)}.",
                instead="Give one type per argument that has no default.",
            )
        return (*found, *(types.Omitted(p.default) for p in left_out))  # type: ignore[no-untyped-call]


MOST_PLANS = 16  # of calls with lists, dictionaries and objects, that are looked through by each
_ARRAY = np.ndarray
_call: Any = SpecialisedDispatcher.__call__


def _are_values(arguments: Sequence[Any]) -> list[bool]:
    """Which of the arguments of `source` and the like are values: a text is one beside others, if it names no types."""
    plain = [not isinstance(argument, types.Type | str) for argument in arguments]
    return [
        is_plain or (any(plain) and isinstance(argument, str) and not names_types(argument))
        for argument, is_plain in zip(arguments, plain, strict=True)
    ]


def _kind_of(value: Any) -> Any:
    """What tells the types of arguments apart, as far as results depend on them."""
    return tuple(map(_kind_of, value)) if isinstance(value, tuple) else getattr(value, "dtype", type(value))


def _is_plain(value: Any) -> bool:
    """Whether it is an array, a number of Python's, or a tuple of those, be it a named one."""
    kind = type(value)
    if kind is not tuple and not (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return kind in PLAIN
    for part in value:
        own = type(part)
        if own is float:
            continue
        if own in ARRAYS:
            # of an array in a tuple, numba does not see in which order its bytes are
            if not part.dtype.isnative:
                return False
        elif own not in PLAIN and not _is_plain(part):
            return False
    return True


class _Structures(Exception):
    """Some arguments of a call are lists, dictionaries or objects."""


class Derived(Specialising, SpecialisedDispatcher):
    """A derived function, compiled by numba at its first call with new argument types."""

    def __init__(self, derivative: Derivative, options: Options) -> None:
        self._describe(derivative, options)
        stub = stub_of(root(derivative), self.__signature__)
        super().__init__(stub, options.for_numba())
        if options.cache is not False and is_on():
            self._cache = DerivativeCache(
                derivative, options, str(getattr(root(derivative), "__name__", "function")), self.reads, self.outside
            )
        self._dress()

    def __call__(self, *args: Any, **kws: Any) -> Any:
        # what most calls have goes its way in as few steps as there can be
        if kws:
            return self._called(args, kws)
        has_numpys = False
        for argument in args:
            kind = type(argument)
            if kind is not _ARRAY and kind is not float and kind not in PLAIN:
                if kind in SCALARS:
                    has_numpys = True
                elif not _is_plain(argument):
                    return self._called(args, kws)
        try:
            found = _call(self, *args)
        except (Stretched, _Structures, Unsupported, TypeError, ValueError) as fault:
            failed: Exception = fault
        else:
            return self._as_numpys(args, found) if has_numpys else found
        found = self._called_again(failed, args, kws)
        return self._as_numpys(args, found) if has_numpys else found

    def of_leaves(self, *args: Any) -> Any:
        """A call with arguments that are known to be taken."""
        try:
            return _call(self, *args)
        except (Stretched, _Structures, Unsupported, TypeError, ValueError) as fault:
            failed = fault
        return self._called_again(failed, args, {})

    def _called(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """A call with more than arrays and Python's numbers, by position."""
        has_numpys = False
        if self._is_checked and not (all(map(_is_plain, args)) and all(map(_is_plain, kws.values()))):
            given = derivatives.bound(self.derivative, args, kws) if kws or len(args) < self._count else args
            result = self._as_planned(given)
            if result is not OTHER:
                return result
            if any(map(is_structure, given)):
                return self._structured(given)
            has_numpys = has_typed(shown(self.derivative), self.__signature__.parameters, given)
        try:
            found = _call(self, *args, **kws)
        except (Stretched, _Structures, Unsupported, TypeError, ValueError) as fault:
            failed: Exception = fault
        else:
            return self._as_numpys(given, found) if has_numpys else found
        found = self._called_again(failed, args, kws)
        return self._as_numpys(given, found) if has_numpys else found

    def _called_again(self, failed: Exception, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """A call, in another way than the one that failed; raises what failed if there is none."""
        if is_of_shapes(failed) and not self.derivative.stretches:
            return self.stretching.strict(*args, **kws)
        if isinstance(failed, Stretched):
            raise failed
        if isinstance(failed, TypeError):
            # what numba raises of a call that does not fit does not name the function
            derivatives.check_call(shown(self.derivative), self.__signature__, len(args), kws)
            raise failed
        if isinstance(failed, ValueError) and "must not cause a domain change" in str(failed):
            # numba's words for it do not say what to write
            raise ValueError(NOT_REAL) from None
        given = derivatives.bound(self.derivative, args, kws)
        if isinstance(failed, Unsupported):
            return self._again(failed, given, functools.partial(self._apart, given))
        # numba has no type for an empty list, and says so with an error of its own
        if isinstance(failed, _Structures) or any(map(is_structure, given)):
            return self._structured(given)
        self._check_values(given)
        raise failed

    def _as_numpys(self, given: Sequence[Any], found: Any) -> Any:
        """What a call with numbers of NumPy's returns: compiled code gives Python's."""
        alone = self._alone
        if alone < len(given):
            return as_given(found, given[alone])
        if len(given) < self._count:
            given = derivatives.bound(self.derivative, given)
        if self.derivative.kind == "grad" and not self.derivative.has_aux:
            return typed(self.derivative, given, found)
        key = _kind_of(given)
        type_ = self._returned.get(key)
        if type_ is None:
            types_ = self.argument_types(*given)
            made = self.overloads.get(types_) or self.stretching.overloads.get(types_)
            if made is None:
                # integers are constants, and what was called has seen to it
                return typed(self.derivative, given, found)
            type_ = self._returned[key] = made.signature.return_type
        return typed(self.derivative, given, as_numpys(found, type_))

    @functools.cached_property
    def _alone(self) -> int:
        """The argument that a call gives nothing but the gradient of; beyond all of them if there is none."""
        made = self.derivative
        is_alone = made.kind == "grad" and made.single and not made.has_aux and made.wrt is not None
        return made.wrt[0] if is_alone and made.wrt else self._count

    @functools.cached_property
    def _returned(self) -> dict[Any, types.Type]:
        return {}

    @functools.cached_property
    def _count(self) -> int:
        return len(self.__signature__.parameters)

    def strict(self, *args: Any, **kws: Any) -> Any:
        """A call, with all checked that the user gave, that raises Stretched where the code has to be made anew."""
        return _call(self, *args, **kws)

    # in compiled code nothing could be made anew, so that it gets the code that assumes nothing

    def get_call_template(self, args: Any, kws: Any) -> Any:
        if self.derivative.stretches:
            return super().get_call_template(args, kws)
        return self.stretching.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        if self.derivative.stretches:
            return super().get_overload(sig)
        return self.stretching.get_overload(sig)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        given = tuple(map(as_passed, args))
        if self.outside and (made := self._made(args)) is not None:
            self.outside.check(given)
            return made
        if self._is_checked and self._is_laid_out((*given, *kws.values())):
            raise _Structures
        self._check_values(given)
        try:
            made = super()._compile_for_args(*args, **kws)  # type: ignore[misc]
        except InternalError:
            raise
        except AdjitError as fault:
            # the message has the user's line; the compiler's own frames would hide it
            raise fault.with_traceback(None) from None
        if self.outside:
            self.outside.check(given)
        return made

    def add_overload(self, cres: Any) -> None:
        """Where each call has to be looked at, numba is not told of the code, and asks for it at each."""
        if self.outside:
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)

    def _compile_ahead(self, given: tuple[types.Type, ...]) -> None:
        self.compile(given)
        if isinstance(self._cache, DerivativeCache):
            self._cache.check_kept(given)
        else:
            warnings.warn(f"{shown(self.derivative)} is not kept on disk: its cache is off.", NotCached, stacklevel=4)

    def prepare(self, *arguments: Any) -> None:
        """Compiles for these arguments, without a call."""
        given = self.argument_types(*arguments)
        if given not in self.overloads:
            self.compile(given)


class Interpreted(Specialising, Picklable):
    """A derived function whose generated code runs in plain Python, for debuggers."""

    def __init__(self, derivative: Derivative, options: Options) -> None:
        self._describe(derivative, options)
        self.overloads: dict[tuple[types.Type, ...], FunctionType] = {}
        self._dress()

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """As an attribute of a class it is a method, as numba's dispatchers are."""
        return self if owner is None else MethodType(self, owner)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        given = derivatives.bound(self.derivative, arguments, keywords)
        if not self._is_checked:
            return self.strict(*given)
        if self._is_laid_out(given):
            return self._structured(given)
        has_typed(shown(self.derivative), self.__signature__.parameters, given)
        try:
            found = self.strict(*given)
        except Unsupported as fault:
            return self._again(fault, given, functools.partial(self._apart, given))
        except (Stretched, ValueError) as fault:
            if self.derivative.stretches or not is_of_shapes(fault):
                raise
        else:
            return typed(self.derivative, given, found)
        return typed(self.derivative, given, self.stretching.strict(*given))

    def of_leaves(self, *arguments: Any) -> Any:
        """A call with arguments that are known to be taken."""
        return self(*arguments)

    def strict(self, *arguments: Any) -> Any:
        """A call that raises Stretched where the code would have to be made anew."""
        found = self._made_for(arguments)
        if is_asked_for():
            check_program(self.derivative, arguments)
        if self.outside:
            self.outside.check(arguments)
        with np.errstate(all="ignore"):
            return found(*arguments)

    def prepare(self, *arguments: Any) -> None:
        """Makes the code for these arguments, without a call."""
        self._made_for(arguments)

    def _made_for(self, arguments: Sequence[Any]) -> FunctionType:
        given = tuple(map(type_of, arguments))
        found = self.overloads.get(given)
        if found is None:
            self._check_values(arguments)
            with compiler_lock:
                # another thread may have made it while this one waited
                found = self.overloads.get(given) or self.overloads.setdefault(given, self._specialise(given))
        return found


# -------------------------------------------------------------------------------------------------------- parameters


def stub_of(function: Any, signature: inspect.Signature) -> FunctionType:
    """A function with these parameters for numba to look at; it never runs."""
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "anonymous"
    text = f"def {name}({', '.join(signature.parameters)}):\n    raise NotImplementedError\n"
    scope: dict[str, Any] = {"__name__": "adjit.generated"}
    exec(compile(text, "<adjit stub>", "exec", dont_inherit=True), scope)
    stub: FunctionType = scope[name]
    defaults = tuple(p.default for p in signature.parameters.values() if p.default is not p.empty)
    stub.__defaults__ = defaults or None
    return stub


# -------------------------------------------------------------------------------------------- one object a derivative


@dataclass
class _Slot:
    lock: Any
    derived: Any = None


# those for a GPU are `api/gpu/on_device.py`'s and `api/gpu/in_kernels.py`'s
TARGETS: dict[str, type[Specialising]] = {"cpu": Derived, "python": Interpreted}
_CLASSES: dict[tuple[str, type], type] = {}


def register(kind: str, own: type) -> None:
    """`own`: a class with the calls of derived functions of this kind."""
    for base in (base for base in TARGETS.values() if base.is_of_host):
        _CLASSES[kind, base] = type(f"{base.__name__}{own.__name__}", (own, base), {"__module__": own.__module__})


def derive(derivative: Derivative, options: Options) -> Any:
    """The derived function: the same object for each request, until the function or its globals change."""
    derivative = dataclasses.replace(derivative, **options.for_derivatives())
    slot = _slot(derivative, options)
    with slot.lock:
        if slot.derived is None or not slot.derived.holds():
            is_compiled = options.target != "cpu" or not config.DISABLE_JIT  # type: ignore[attr-defined]
            base = TARGETS[options.target if is_compiled else "python"]
            slot.derived = _CLASSES.get((derivative.kind, base), base)(derivative, options)
        return slot.derived


@functools.lru_cache(maxsize=4096)
def _slot(derivative: Derivative, options: Options) -> _Slot:
    del derivative, options
    return _Slot(threading.RLock())
