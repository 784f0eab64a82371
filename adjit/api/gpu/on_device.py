"""Derivatives on a GPU: derived functions that launch kernels, and `jvp` and `vjp` of arrays on the device.

In: a `Derivative`, options, arrays on the device. Out: results there; nothing is copied from or to the host.

    grad(misfit, wrt=("x", "a"), target="cuda")(x, d, w, a)
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from adjit.api.arguments.plans import GRADIENTS
from adjit.api.arguments.race_checks import check_program, is_asked_for, looking_at_kernels
from adjit.api.arguments.structures import Layouts, laid_out, like, result_of
from adjit.api.arguments.trees import Template, conform, leaves, map_leaves, template, zero
from adjit.api.arguments.types import type_of, unread
from adjit.api.specialise.dispatch import TARGETS, Specialising, derive
from adjit.api.specialise.notation import to_text
from adjit.api.specialise.options import Options
from adjit.errors import Stretched, Unsupported, WrongCall
from adjit.runtime.backend.dispatcher import Picklable, compiler_lock, sparing
from adjit.runtime.library import is_of_shapes
from adjit.runtime.library.gpus import SIMULATED, dtype_of, is_on_device
from adjit.runtime.library.xoroshiro import States, is_states
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, shown
from adjit.transform.source.structures import Layout, NotTaken, is_structure, taken_apart

if TYPE_CHECKING:
    from adjit.api.specialise.explain import Explanation
    from adjit.transform.emit.emit import Emitted
    from adjit.transform.pipeline import Told


_FOR_DEVICE = "# For a GPU, or NUMBA_ENABLE_CUDASIM=1."
_NEEDS_DEVICE = f"{_FOR_DEVICE} It needs adjit for its device functions and arrays."


class OnDevice(Specialising, Picklable):
    """A derived function that launches kernels on a GPU: arrays are on the device, the results of kernels as well."""

    def __init__(self, derivative: Derivative, options: Options) -> None:
        self._describe(derivative, options)
        self.overloads: dict[tuple[types.Type, ...], Any] = {}
        self._by_kinds: dict[tuple[Any, ...], Any] = {}  # the same, by what is quickly asked
        self._count = len(derivatives.named_parameters(derivative).parameters)
        self._dress()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from adjit.runtime.cuda import arrays, backend, graph_capture, streams

        if keywords or len(arguments) != self._count:
            arguments = derivatives.bound(self.derivative, arguments, keywords)
        at_once = arrays.at_once(arguments)
        if at_once is not None:
            with backend.in_context():
                graph_capture.check_ours()
                return arrays.converted(self._called(at_once), "numba")
        own = leaves_of(arguments)
        # what the caller chose with `adjit.cuda.on` comes first
        with backend.in_context(), streams.on(streams.current() or arrays.stream_for(own)):
            graph_capture.check_ours()
            given = _given(self.derivative, list(self.__signature__.parameters), arguments)
            arrays.check_one_device(shown(self.derivative), own)
            found = self._called(given)
            return arrays.as_first(found, own)

    def _called(self, given: tuple[Any, ...]) -> Any:
        """What a call with the backend's arrays gives."""
        if self._is_laid_out(given):
            return self._structured(given)
        try:
            return self.strict(*given)
        except Unsupported as fault:
            return self._again(fault, given, functools.partial(self._apart, given))
        except (Stretched, ValueError) as fault:
            if self.derivative.stretches or not is_of_shapes(fault):
                raise
        return self.stretching.strict(*given)

    def _apart(self, given: Sequence[Any]) -> Any:
        """The same with the integers among the arguments, and the extents of arrays, known while compiling."""
        names = list(self.__signature__.parameters)
        found = laid_out(self.derivative, names, given, self.has_constants, self.has_extents)
        assert found is not None
        layouts, own = _on_device(self.derivative, names, found)
        is_gradient = self.derivative.kind in GRADIENTS
        asked = [layout for p in self.derivative.wrt or () if (layout := layouts[p]) is not None]
        is_structure_asked = not is_gradient and any(layout.kind != "array" for layout in asked)
        if is_structure_asked or any(layout.kind == "static" for layout in asked):
            self._refuse(layouts, given)
        from adjit.runtime.cuda import arrays

        run = self._of_layouts(layouts)
        result = arrays.as_first(run._called(own), leaves_of(given))
        run.outside.check_whole(given)
        return result_of(self.derivative, layouts, own, result) if is_gradient else result

    def of_leaves(self, *arguments: Any) -> Any:
        """A call with arguments that are known to be taken."""
        return self(*arguments)

    def strict(self, *arguments: Any) -> Any:
        """A call with the backend's arrays, which raises Stretched where the code would have to be made anew."""
        made = self._made_for(arguments)
        if is_asked_for():
            check_program(self.derivative, arguments)
        with looking_at_kernels(), np.errstate(all="ignore"):
            return made(*arguments)

    def prepare(self, *arguments: Any) -> None:
        """Makes the code for these arguments, without a call."""
        self._made_for(arguments)

    def emitted(self, *arguments: Any) -> Emitted:
        """The kernels and the function that launches them, for these arguments: values, numba types or text."""
        return self._emitted(self.derivative, self._specialised(self._types_of(arguments)))

    def source(self, *arguments: Any, tuned: bool = True, standalone: bool = False) -> str:
        """The generated source for these arguments: a module with kernels and the function that launches them.

        standalone: with what it needs of adjit's written out, so that it runs without adjit.
        """
        return text_of(self.emitted(*arguments), standalone)

    def explain(self, *arguments: Any, cc: tuple[int, int] | None = None) -> Explanation:
        """What was decided for these arguments, and why, with tables of the launches and of what kernels take.

        The latter is that of kernels that a call has compiled. cc: a compute capability, as (9, 0): they are compiled
        for it, which needs no GPU but ptxas, of the package nvidia-cuda-nvcc; Unsupported without it.
        """

        def launched(asked: OnDevice, taken: Sequence[Any]) -> Explanation:
            from adjit.transform import pipeline

            given = asked._types_of(taken)
            with compiler_lock, sparing():
                told = pipeline.launches(asked.derivative, asked._specialised(given), asked.options.fastmath is True)
            return explained(found, told, asked.overloads.get(given), cc)

        found = super().explain(*arguments)
        made: Explanation = self._asked(arguments, launched)
        return made

    def _emitted(self, derivative: Derivative, given: tuple[types.Type, ...]) -> Emitted:
        from adjit.transform import pipeline

        with sparing():
            return pipeline.source(derivative, given, fastmath=self.options.fastmath is True)

    def _made_for(self, arguments: Sequence[Any]) -> Any:
        from adjit.runtime.cuda import arrays

        kinds = arrays.kinds(arguments)
        found = self._by_kinds.get(kinds) if kinds is not None else None
        if found is None:
            given = tuple(map(self._type_of, arguments))
            found = self.overloads.get(given)
            if found is None:
                with compiler_lock:
                    found = self.overloads.get(given) or self.overloads.setdefault(given, self._compiled(given))
            if kinds is not None:
                self._by_kinds[kinds] = found
        return found

    def _compiled(self, given: Sequence[types.Type]) -> Any:
        from adjit.runtime.cuda import launch

        taken = self._specialised(given)
        emitted, _ = self._noted(self.derivative, taken)
        title = f"{emitted.name} {', '.join(map(to_text, taken))} for cuda"
        return launch.load(emitted.text, emitted.globals, emitted.name, title, emitted.apart)

    @staticmethod
    def _type_of(argument: Any) -> types.Type:
        if isinstance(argument, States):
            return types.NamedTuple(list(map(OnDevice._type_of, argument)), States)  # type: ignore[no-untyped-call]
        if isinstance(argument, tuple) and argument:
            return types.Tuple(tuple(map(OnDevice._type_of, argument)))  # type: ignore[no-untyped-call]
        if is_on_device(argument):
            from adjit.runtime.cuda import arrays

            return arrays.type_of(argument)
        return type_of(argument)


TARGETS["cuda"] = OnDevice


def text_of(emitted: Emitted, standalone: bool) -> str:
    """The module of kernels and the host's function; Unsupported where it cannot be one that stands alone."""
    from adjit.transform.emit import module_text, not_importable

    missing = not_importable(emitted) if standalone else ()
    if missing:
        raise Unsupported(
            f"a standalone source of {emitted.name}",
            why=f"{missing[0]}.",
            instead="Define it in a module, or leave out standalone.",
        )
    needs = _FOR_DEVICE if standalone else _NEEDS_DEVICE
    return module_text(emitted, is_tuned=True, needs=needs, is_bundled=standalone)


def explained(found: Explanation, told: Told, host: Any, cc: tuple[int, int] | None) -> Explanation:
    """An explanation with the launches, and with what kernels take: those of `host`, where there is that function, or
    the text for a compute capability."""
    found = dataclasses.replace(found, launches=told.table)
    if cc is None and (host is None or SIMULATED):
        return found
    from adjit.runtime.cuda import resources

    if cc is None:
        names = host.__globals__
        taken = {name: resources.taken_of(names[name]) for name in told.threads}
        own = resources.of_device()
    else:
        own = resources.checked(cc)
        with compiler_lock:
            made = told.emitted
            taken = resources.taken_by(made.text, made.globals, own, made.apart)
    rows = tuple(resources.row(name, taken[name], threads, own) for name, threads in told.threads.items())
    return dataclasses.replace(found, resources=rows)


# ------------------------------------------------------------------------------------------------------ jvp and vjp


def push_on_device(
    spec: Any, options: Options, arguments: Sequence[Any], tangents: Mapping[int, Any], layouts: Layouts
) -> tuple[Any, Any]:
    """The value, and its change along tangents of arguments by position; `layouts`: of those that were built."""
    names = list(derivatives.parameters(spec).parameters)
    layouts, given = _on_device(spec, names, (layouts or (None,) * len(names), tuple(arguments)))
    shapes = [template(a) for a in given]
    dots = [
        conform(tangents[k], s, f"the tangent of argument {names[k]!r}") if k in tangents else zero(s)
        for k, s in enumerate(shapes)
    ]
    active = tuple(k for k in tangents if _is_active(shapes[k]))
    if not active:
        value = _value_of(spec, options)(*given)
        return value, zero(template(value))
    found: tuple[Any, Any] = derive(Derivative(function=spec, kind="jvp", wrt=active), options)(*given, *dots)
    return found


@dataclass(eq=False, repr=False)
class PullbackOnDevice:
    """The adjoint at the arguments that the value was computed at: seed -> an adjoint an argument.

    Each call runs both sweeps; the arguments were copied, so they may be changed in between.
    """

    _spec: Any
    _result: Template
    _positions: Sequence[int]
    _active: tuple[int, ...]
    _sweep: Any
    _arguments: tuple[Any, ...]
    _library: str
    _layouts: Layouts = ()

    def __call__(self, *seeds: Any, several: bool = False) -> tuple[Any, ...]:
        if several:
            raise Unsupported(
                "several seeds at once on a GPU", instead="Call the pullback for each, or use adjit.jacrev."
            )
        if len(seeds) != 1:
            raise WrongCall(
                f"the pullback of {shown(self._spec)} takes one seed, not {len(seeds)}",
                instead="Give one seed with the shape of the value; for a tuple, a tuple.",
            )
        seed = conform(seeds[0], self._result, "the seed")
        from adjit.runtime.cuda import arrays

        bars = () if not self._active else arrays.converted(self._sweep(*self._arguments, seed), self._library)
        layouts = dict(enumerate(self._layouts))
        found = {k: like(layouts.get(k), bar, {}) for k, bar in zip(self._active, bars, strict=True)}
        return tuple(found.get(k) for k in self._positions)

    def __repr__(self) -> str:
        return f"<pullback of {shown(self._spec)} with respect to {self._active}>"

    def source(self) -> str:
        """The generated source that a call runs."""
        return str(self._sweep.source(*self._arguments, zero(self._result))) if self._active else ""


def pull_on_device(spec: Any, options: Options, arguments: Sequence[Any], count: int) -> tuple[Any, PullbackOnDevice]:
    """The value, and the function that takes an adjoint of it to those of the first `count` arguments."""
    from adjit.runtime.cuda import arrays, memory

    names = list(derivatives.parameters(spec).parameters)
    library = arrays.library_of(leaves_of(arguments))
    layouts: Layouts = ()
    given = _given(spec, names, arguments)
    laid = laid_out(spec, names, given)
    if laid is not None:
        layouts, given = _on_device(spec, names, laid)
        spec = derivatives.of_structures(spec, layouts)
    kept = tuple(map_leaves(lambda leaf: memory.copy(leaf) if is_on_device(leaf) else leaf, a) for a in given)
    active = tuple(k for k in range(count) if _is_active(template(kept[k])))
    value = _value_of(spec, options)(*kept)
    sweep = derive(Derivative(function=spec, kind="vjp", wrt=active), options) if active else None
    pullback = PullbackOnDevice(spec, template(value), range(count), active, sweep, kept, library, layouts)
    return arrays.converted(value, library), pullback


def _value_of(spec: Any, options: Options) -> Any:
    return derive(spec if isinstance(spec, Derivative) else Derivative(function=spec, kind="primal", wrt=None), options)


def _given(spec: Any, names: Sequence[str], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, as the backend has them; WrongDevice for NumPy's arrays. Lists, dictionaries and objects stay what
    they are, until they are taken apart."""
    from adjit.runtime.cuda import arrays

    owner = shown(spec)
    pairs = [(name, value, is_structure(value)) for name, value in zip(names, arguments, strict=True)]
    for name, value, is_built in pairs:
        if not is_built:
            _check(owner, name, value)
    taken = (value if is_built else arrays.given(owner, name, value) for name, value, is_built in pairs)
    return tuple(arrays.words(value) if is_states(value) else value for value in taken)


def _on_device(
    spec: Any, names: Sequence[str], found: tuple[Layouts, tuple[Any, ...]]
) -> tuple[Layouts, tuple[Any, ...]]:
    """What `laid_out` gives, with the leaves as the backend has them; Unsupported where there are lists of numbers."""
    layouts, leaves = found
    for name, layout in zip(names, layouts, strict=True):
        if layout is not None and _has_columns(layout):
            raise Unsupported(
                f"argument `{name}` of {shown(spec)}, which contains a list of numbers, for a GPU",
                why="The list is in the host's memory, and adjit copies nothing from there.",
                instead="Pass an array on the device, or a tuple if there are only a few numbers.",
            )
    return layouts, _given(spec, names, leaves)


def _has_columns(layout: Layout) -> bool:
    return layout.kind in ("table", "records") or any(map(_has_columns, layout.parts))


def leaves_of(arguments: Sequence[Any]) -> list[Any]:
    """What is in the arguments."""
    found: list[Any] = []
    for argument in arguments:
        if not is_structure(argument):
            found.append(argument)
            continue
        with contextlib.suppress(NotTaken):  # which is refused when it is laid out
            taken_apart(argument, found, unread=unread)
    return found


def _check(owner: str, name: str, value: Any) -> None:
    if type(value) is tuple:
        for part in value:
            _check(owner, name, part)
    elif is_on_device(value) and dtype_of(value).names and not is_states(value):
        raise Unsupported(
            f"argument `{name}` of {owner}, an array of records, for a GPU", instead="Pass its fields as arrays."
        )
    elif not is_on_device(value) and not isinstance(value, np.ndarray | int | float | np.number | np.bool_ | None):
        raise Unsupported(
            f"argument `{name}` of {owner} of type {type(value).__name__}, for a GPU",
            why="Functions for a GPU take numbers, arrays on the device, and tuples of them.",
            instead="Pass its contents as separate arguments, or in a tuple.",
        )


def _is_active(wanted: Template) -> bool:
    return any(leaf.is_active for leaf in leaves(wanted))
