"""Tangents and adjoints of `@cuda.jit` kernels, launched as kernels are.

In: a kernel. Out: a `DerivedKernel`, made anew for each shape of a block and tuple of types.

    adjoint = adjit.cuda.adjoint(fir)
    adjoint[grid, block](x, h, y, y_bar=y_bar, x_bar=x_bar, h_bar=h_bar)

What runs are kernels, on arrays of the device; with target="cpu" or "python" the nest, loops over blocks and threads,
on NumPy's arrays.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numba import config, types

from adjit.api.arguments.race_checks import check_launch, is_asked_for, looking_at_kernels
from adjit.api.arguments.trees import leaves
from adjit.api.arguments.types import check_value, specialised, type_of
from adjit.api.gpu.on_device import explained, text_of
from adjit.api.specialise.dispatch import stub_of
from adjit.api.specialise.notation import to_text, to_types
from adjit.api.specialise.options import Options, make_options
from adjit.errors import AdjitError, InternalError, TypeMismatch, WrongCall, WrongWrt
from adjit.runtime.backend.dispatcher import SpecialisedDispatcher, compiler_lock, sparing
from adjit.runtime.compile import load
from adjit.runtime.library import check_separate
from adjit.runtime.library.gpus import is_on_device
from adjit.runtime.library.xoroshiro import States, is_states
from adjit.transform import ir
from adjit.transform.ir.types import array_type, writable
from adjit.transform.source.callables import python_function, signature
from adjit.transform.source.derivative import unused
from adjit.transform.source.parameters import by_name

if TYPE_CHECKING:
    from adjit.api.specialise.explain import Explanation
    from adjit.transform.gpu.kernels import Asked

SUFFIXES = {"primal": "", "tangent": "_dot", "adjoint": "_bar"}
MOST_THREADS = 1024  # of a block
MOST_PLANS = 256  # of a kernel


def adjoint(kernel: Any, **options: Any) -> DerivedKernel:
    """The adjoint of a `@cuda.jit` kernel: `adjoint(kernel)[grid, block](*arguments, x_bar=..., y_bar=...)`.

    The arguments hold what they held before the kernel was launched, and stay so. Shadows are given by name, for a
    number as an array of one element; which are says what is differentiated. Those of arrays that the kernel loads are
    added to; those of elements that it overwrites are used and cleared; those of elements that it adds to are only
    read. An argument whose elements the adjoint does not read may be None if its shadow is given. `grid` and `block`
    are numbers or tuples of up to three, and may be followed by a stream and the bytes of dynamic shared memory.

    Arrays are on the device, and the launch is asynchronous. target="cpu" and "python" run the same as loops over
    blocks and threads, on NumPy's arrays: to look for mistakes without a GPU. WrongCall where a shadow is missing;
    Unsupported, at its line, what adjit does not take; Aliased where arguments overlap; WrongDevice for arrays that are
    elsewhere.
    """
    return DerivedKernel(kernel, "adjoint", make_options({"target": "cuda", **options}))


def tangent(kernel: Any, **options: Any) -> DerivedKernel:
    """The tangent of a `@cuda.jit` kernel: `tangent(kernel)[grid, block](*arguments, x_dot=..., y_dot=...)`.

    It does what the kernel does, and beside it what that does to the tangents: of an array that is stored to, both are
    changed. Otherwise as `adjoint`.
    """
    return DerivedKernel(kernel, "tangent", make_options({"target": "cuda", **options}))


class DerivedKernel:
    """The tangent or the adjoint of a kernel, to be launched; `kind`: "tangent", "adjoint", or "primal", the kernel."""

    def __init__(self, kernel: Any, kind: Literal["primal", "tangent", "adjoint"], options: Options) -> None:
        self.kernel, self.kind, self.options = kernel, kind, options
        self.function = python_function(kernel)
        self._plain_signature = inspect.signature(self.function)
        self.parameters = list(signature(self.function).parameters)
        taken = list(self.parameters)
        self._shadow_names: list[str] = []
        for name in self.parameters:
            self._shadow_names.append(unused(name + SUFFIXES[kind], taken))
            taken.append(self._shadow_names[-1])
        self._made: dict[Asked, _Made] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}

    @property
    def is_on_device(self) -> bool:
        """Whether arrays are on the device."""
        return self.options.target == "cuda"

    def __repr__(self) -> str:
        return f"<{self.kind} of the kernel {self.function.__name__}>"

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        grid, block, stream, shared_bytes = _configuration(configuration)

        def launch(*arguments: Any, **named: Any) -> None:
            if not self.is_on_device:
                self._run(grid, block, shared_bytes, arguments, named)
                return
            from adjit.runtime.cuda import arrays, backend, graph_capture, streams

            given = (*arguments, *named.values())
            at_once = arrays.at_once(given)
            if at_once is None:
                arrays.check_one_device(f"{self.kind}({self.function.__name__})", given)
                with backend.in_context(), streams.on(stream or streams.current() or arrays.stream_for(given)):
                    graph_capture.check_ours()
                    self._run(grid, block, shared_bytes, arguments, named)
                return
            with backend.in_context(), streams.on(stream or streams.current()):
                graph_capture.check_ours()
                key = (block, len(grid), tuple(named), arrays.kinds(at_once))
                plan = self._plans.get(key)
                if plan is None or not plan.run(grid, shared_bytes, at_once):
                    count = len(arguments)
                    own = dict(zip(named, at_once[count:], strict=True))
                    self._run(grid, block, shared_bytes, at_once[:count], dict(own))
                    if len(self._plans) < MOST_PLANS and (plan := self._planned(grid, block, at_once[:count], own)):
                        self._plans[key] = plan

        return launch

    def _planned(
        self, grid: Sequence[int], block: tuple[int, int, int], arguments: Sequence[Any], shadows: Mapping[str, Any]
    ) -> _Plan | None:
        """How a launch with arguments of these kinds goes that has gone before; None where more has to be asked."""
        names = self._shadow_names
        positions = {names.index(name): k for k, name in enumerate(shadows) if name in names}
        if len(positions) != len(shadows) or len(arguments) != len(names):
            return None
        if not all(self.is_array(arguments[k]) for k in positions):
            return None
        own = [*arguments, *shadows.values()]
        order = tuple(len(arguments) + positions[k] for k in sorted(positions))
        made = self._made[self._asked(block, len(grid), sorted(positions))]
        runs = made.runs_for([*arguments, *grid, 0, *(own[k] for k in order)])
        pairs = tuple((k, len(arguments) + place) for k, place in positions.items())
        arrays = tuple(k for k, value in enumerate(own) if self.is_array(value))
        return None if runs is None else _Plan(runs, len(arguments), order, pairs, arrays)

    def source(
        self,
        *arguments: Any,
        block: Any,
        axes: int | None = None,
        wrt: Sequence[str] | None = None,
        tuned: bool = False,
        standalone: bool = False,
    ) -> str:
        """The generated source for these arguments: values, numba types or text such as "float64[::1], int".

        `axes`: of the grid, by default as many as the block has. `wrt`: the parameters that have shadows; by default
        all that are floats. Kernels are shown as they are launched; with another target, `tuned=True` shows what is
        compiled. standalone: with what kernels need of adjit's written out, so that they run without adjit.
        """
        from adjit.transform import kernel_pipeline

        given, asked = self._types(arguments, block, axes, wrt)
        if not self.is_on_device:
            asked = dataclasses.replace(asked, strategy=dataclasses.replace(asked.strategy, tuned=tuned))
        with compiler_lock, sparing():
            emitted = kernel_pipeline.kernel_source(asked, *given, fastmath=self.options.fastmath is True)
        return text_of(emitted, standalone) if self.is_on_device else emitted.text

    def explain(
        self,
        *arguments: Any,
        block: Any,
        axes: int | None = None,
        wrt: Sequence[str] | None = None,
        cc: tuple[int, int] | None = None,
    ) -> Explanation:
        """What was decided for these arguments, and why; the parameters are those of `source`.

        With it comes what kernels take that a launch has compiled. cc: a compute capability, as (9, 0), for which they
        are compiled, which needs no GPU but ptxas, of the package nvidia-cuda-nvcc; Unsupported without it.
        """
        from adjit.api.specialise.explain import explanation
        from adjit.transform import kernel_pipeline

        given, asked = self._types(arguments, block, axes, wrt)
        with compiler_lock:
            made, records = kernel_pipeline.explained_kernel(asked, *given)
            # states of generators and the like are several arrays
            types_ = [_type_of(tree) for tree in made.params]
            found = explanation(made, records, types_, None, self.options.has_no_nan)
            if not self.is_on_device:
                return found
            told = kernel_pipeline.kernel_launches(asked, *given, fastmath=self.options.fastmath is True)
        made_before = self._made.get(asked)
        host = made_before.host(*given) if isinstance(made_before, _OnDevice) else None
        return explained(found, told, host, cc)

    def _types(
        self, arguments: Sequence[Any], block: Any, axes: int | None, wrt: Sequence[str] | None
    ) -> tuple[tuple[list[types.Type], list[types.Type]], Asked]:
        """The types of the arguments and of the shadows, and what is asked for."""
        found: list[types.Type] = []
        for argument in arguments:
            if isinstance(argument, str):
                found += to_types(argument)
            else:
                found.append(argument if isinstance(argument, types.Type) else self.type_of(argument))
        if len(found) != len(self.parameters):
            raise WrongCall(
                f"the number of argument types is {len(found)}, not {len(self.parameters)}",
                why=f"The parameters are {', '.join(self.parameters)}.",
                instead="Give one type per argument.",
            )
        for name in wrt or ():
            if name not in self.parameters or not ir.is_float(found[self.parameters.index(name)]):
                raise WrongWrt(
                    f"{self.function.__name__} has no parameter {name!r} to differentiate with respect to",
                    instead="Name a parameter that is a float or an array of floats.",
                )
        positions = [
            k
            for k, (name, type_) in enumerate(zip(self.parameters, found, strict=True))
            if self.kind != "primal" and ir.is_float(type_) and (wrt is None or name in wrt)
        ]
        shadows = [_shadow_type(found[k]) for k in positions]
        shape = _extents("block", block)
        return (found, shadows), self._asked(shape, axes or _rank(block), positions)

    def type_of(self, value: Any) -> types.Type:
        """The type of an argument or a shadow, as the transformation sees it."""
        if type(value) is int:
            return types.int64
        if hasattr(type(value), "is_on_gpu"):
            from adjit.runtime.cuda import arrays

            return arrays.type_of(value)
        if is_states(value):
            return self.type_of(self._words(value))
        if isinstance(value, States):
            return types.NamedTuple([self.type_of(word) for word in value], States)  # type: ignore[no-untyped-call]
        if is_on_device(value):
            from adjit.runtime.cuda import arrays

            return arrays.type_of(value)
        return specialised(type_of(value))

    def _asked(self, block: tuple[int, int, int], axes: int, positions: Sequence[int]) -> Asked:
        from adjit.transform.frontend import Launched
        from adjit.transform.gpu.kernels import Asked

        return Asked(self.kernel, self.kind, Launched(block, axes), tuple(positions), self.options.strategy)

    # ------------------------------------------------------------------------------------------------------- a launch

    def _run(
        self, grid: Sequence[int], block: tuple[int, int, int], shared_bytes: int, args: Sequence[Any], named: Any
    ) -> None:
        shadows = {k: named.pop(name) for k, name in enumerate(self._shadow_names) if name in named}
        shadows = {k: shadow for k, shadow in shadows.items() if shadow is not None}
        arguments = self._bound(args, named)
        unread = [k for k, value in enumerate(arguments) if value is None and k in shadows]
        for k in unread:
            # what it is asked for is its shape
            arguments[k] = shadows[k]
        owner = f"{self.kind}({self.function.__name__})"
        if self.is_on_device:
            from adjit.runtime.cuda import arrays

            pairs = zip(self.parameters, arguments, strict=True)
            arguments = [arrays.given(owner, name, value) for name, value in pairs]
            shadows = {k: arrays.given(owner, self._shadow_names[k], shadow) for k, shadow in shadows.items()}
        arguments = [self._words(a) if is_states(a) else a for a in arguments]
        for name, value in zip(self.parameters, arguments, strict=True):
            if not (self.is_on_device and (is_on_device(value) or isinstance(value, States))):
                check_value(owner, name, value)
        for k, shadow in shadows.items():
            self._check_shadow(k, arguments[k], shadow)
        if self.kind != "primal" and not shadows:
            raise WrongCall(
                f"{self.kind}({self.function.__name__}) is called without a shadow",
                why=f"Shadows (arrays of derivatives) are {', '.join(self._shadow_names)}. The given ones select "
                "what is differentiated.",
                instead="Give at least one by name.",
            )
        asked = self._asked(block, len(grid), sorted(shadows))
        made = self._made.get(asked)
        if made is None:
            made = self._made.setdefault(asked, (_OnDevice if self.is_on_device else _Made)(self, asked))
        if 0 in grid:
            return
        if is_asked_for():
            check_launch(asked, arguments, [*grid, shared_bytes])
        made.run(arguments, unread, [*grid, shared_bytes], [shadows[k] for k in sorted(shadows)])

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if not named and len(args) == len(self.parameters):
            return list(args)
        unknown = next((name for name in named if name not in self.parameters), None)
        if unknown is not None:
            raise WrongCall(
                f"{self.function.__name__} has no parameter `{unknown}`",
                why=f"The parameters are {', '.join(self.parameters)}, and shadows {', '.join(self._shadow_names)}.",
                instead="Check the name.",
            )
        try:
            return list(self._plain_signature.bind(*args, **named).args)
        except TypeError as fault:
            raise WrongCall(
                f"{self.function.__name__}: {fault}", instead="Give each argument exactly one value."
            ) from None

    def _check_shadow(self, position: int, value: Any, shadow: Any) -> None:
        name, own = self._shadow_names[position], self.parameters[position]
        is_number = not self.is_array(value)
        kind = value.s0.dtype if isinstance(value, States) else np.dtype(type(value)) if is_number else value.dtype
        if kind.kind != "f":
            raise WrongWrt(f"`{name}` is given, but {own} is not a float", instead="Leave it out.")
        shape = (1,) if is_number else value.shape
        fits = self.is_array(shadow) and tuple(shadow.shape) == tuple(shape) and shadow.dtype == kind
        if not fits or (isinstance(shadow, np.ndarray) and not shadow.flags.writeable):
            given = f"{shadow.dtype} of shape {shadow.shape}" if self.is_array(shadow) else type(shadow).__name__
            raise TypeMismatch(
                f"`{name}` is {given}, and not a writable array of {kind} of shape {shape}",
                why="A shadow has the shape and type of its argument. The shadow of a number has one element.",
                instead=f"Give np.zeros({shape}, np.{kind}), or an array of incoming derivatives.",
            )

    def _words(self, states: Any) -> States:
        """The words of the states that a kernel draws from, on the same memory."""
        if isinstance(states, np.ndarray):
            return States(*(states[name] for name in States._fields))
        from adjit.runtime.cuda import arrays

        return arrays.words(states)

    def is_array(self, value: Any) -> bool:
        """Whether it is an array as the target has them."""
        return is_on_device(value) if self.is_on_device else isinstance(value, np.ndarray)


class _Plan(NamedTuple):
    """A launch of a function of the host's, with numbers and arrays of the backend's of which the kinds are known.

    Of what a launch is given, arguments and then shadows: first: how many are arguments; order: the shadows, as they
    are passed; pairs: an argument and its shadow; arrays: those that share no memory
    """

    runs: Callable[..., None]
    first: int
    order: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    arrays: tuple[int, ...]

    def run(self, grid: Sequence[int], shared_bytes: int, own: Sequence[Any]) -> bool:
        """Launches it; False if it did not, as more has to be asked."""
        from adjit.runtime.cuda import memory

        if is_asked_for() or any(own[k].shape != own[shadow].shape for k, shadow in self.pairs):
            return False
        if not memory.are_apart(*(own[k] for k in self.arrays)):
            return False
        if 0 not in grid:
            with np.errstate(all="ignore"):
                self.runs(*own[: self.first], *grid, shared_bytes, *(own[k] for k in self.order))
        return True


class _OfTypes:
    """What is asked for, for some types of arguments; `runs`: what is called, once it has been loaded."""

    def __init__(self, key: tuple[types.Type, ...], made: ir.Function) -> None:
        self.key, self.made = key, made
        self.runs: Any = None


class _Made:
    """What is asked for, for all types of arguments."""

    def __init__(self, owner: DerivedKernel, asked: Asked) -> None:
        self.owner, self.asked = owner, asked
        grid = ("blocks", "blocks_y", "blocks_z")[: asked.launched.axes]
        shadows = [owner._shadow_names[k] for k in asked.shadows]
        self.names = [*owner.parameters, *grid, "shared_bytes", *shadows]
        self.by_types: dict[tuple[types.Type, ...], _OfTypes] = {}
        self.known: dict[tuple[int, ...], _OfTypes] = {}
        self.is_plain = owner.options.target == "python" or bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
        names = by_name([f"p{k}" for k in range(len(self.names))])
        self.compiled = (
            None if self.is_plain else _Compiled(stub_of(owner.function, names), owner.options, self.specialise)
        )

    def run(
        self, arguments: Sequence[Any], unread: Sequence[int], grid: Sequence[int], shadows: Sequence[np.ndarray]
    ) -> None:
        given = (*arguments, *grid, *shadows)
        key = tuple(map(self.owner.type_of, given))
        # types are compared by what is in them, which takes longer than a launch; mostly they are the same ones
        identity = tuple(map(id, key))
        found = self.known.get(identity)
        if found is None:
            with compiler_lock:
                # it holds the key, so that its types stay those with these identities
                found = self.known[identity] = self.of_types(key)
        self._check_separate(found.made, given, unread)
        if unread:
            self._check_unread(found.made, unread)
        self.call(found, given)

    def call(self, found: _OfTypes, given: Sequence[Any]) -> None:
        """Runs it."""
        if self.compiled is not None:
            self.compiled(*given)
            return
        with np.errstate(all="ignore"):
            self.runs(found)(*given)

    def runs_for(self, given: Sequence[Any]) -> Any:
        """What is called with arguments of these types; None if it has not been called yet."""
        found = self.by_types.get(tuple(map(self.owner.type_of, given)))
        return None if found is None else found.runs

    def runs(self, found: _OfTypes) -> Any:
        if found.runs is None:
            with compiler_lock:
                found.runs = found.runs or self.specialise(found.key)
        return found.runs

    def of_types(self, key: tuple[types.Type, ...]) -> _OfTypes:
        from adjit.transform import kernel_pipeline

        found = self.by_types.get(key)
        if found is None:
            count = len(self.owner.parameters)
            given = key[len(key) - len(self.asked.shadows) :]
            with sparing():
                made = kernel_pipeline.build_kernel(self.asked, key[:count], given)
            found = self.by_types[key] = _OfTypes(key, made)
        return found

    def specialise(self, key: tuple[types.Type, ...]) -> Any:
        from adjit.transform import kernel_pipeline

        emitted = kernel_pipeline.emitted_kernel(self.asked, self.of_types(key).made)
        title = f"{emitted.name} {', '.join(map(to_text, key))} {'x'.join(map(str, self.asked.launched.block))}"
        names = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in emitted.globals.items()}
        return load(emitted.text, names, emitted.name, title, is_plain=self.is_plain)

    def _check_separate(self, made: ir.Function, given: Sequence[Any], unread: Sequence[int]) -> None:
        """Aliased where memory that is stored to is that of two arguments."""
        changed = set(made.body.yields)
        # the words of states lie in turn in one piece of memory
        own = [(k, leaf) for k, value in enumerate(given) for leaf in leaves(value)]
        pairs = zip(made.body.args, own, strict=True)
        arrays = [(p, k, value) for p, (k, value) in pairs if ir.is_array(p) and k not in unread]
        for n, (p, k, value) in enumerate(arrays):
            for q, j, other in arrays[:n]:
                if j != k and (p in changed or q in changed):
                    self.check_pair(value, other)

    def check_pair(self, left: Any, right: Any) -> None:
        """Aliased if two arrays share memory."""
        check_separate(left, right)

    def _check_unread(self, made: ir.Function, unread: Sequence[int]) -> None:
        read = {array for op in made.body.inside for array in op.memory_read}
        for k in unread:
            if made.params[k] in read:
                name = self.owner.parameters[k]
                raise WrongCall(
                    f"`{name}` is None, and {self.owner.kind}({self.owner.function.__name__}) reads its elements",
                    instead="Pass the array as it was before the kernel was launched.",
                )


class _OnDevice(_Made):
    """The same as kernels, which a function of the host launches."""

    def __init__(self, owner: DerivedKernel, asked: Asked) -> None:
        super().__init__(owner, asked)
        self.compiled = None

    def call(self, found: _OfTypes, given: Sequence[Any]) -> None:
        with looking_at_kernels(), np.errstate(all="ignore"):
            self.runs(found)(*given)

    def host(self, arguments: Sequence[types.Type], shadows: Sequence[types.Type]) -> Any:
        """The function that launches what was made for arguments and shadows of these types; None if there is none."""
        first, last = tuple(arguments), tuple(shadows)
        for key, found in self.by_types.items():
            if found.runs is not None and key[: len(first)] == first and key[len(key) - len(last) :] == last:
                return found.runs
        return None

    def specialise(self, key: tuple[types.Type, ...]) -> Any:
        from adjit.runtime.cuda import launch
        from adjit.transform import kernel_pipeline

        fastmath = self.owner.options.fastmath is True
        emitted = kernel_pipeline.emitted_kernel(self.asked, self.of_types(key).made, fastmath)
        block = "x".join(map(str, self.asked.launched.block))
        title = f"{emitted.name} {', '.join(map(to_text, key))} {block} for cuda"
        return launch.load(emitted.text, emitted.globals, emitted.name, title, emitted.apart)

    def _check_separate(self, made: ir.Function, given: Sequence[Any], unread: Sequence[int]) -> None:
        from adjit.runtime.cuda import memory

        # where each lies behind all of the one before, none share memory
        if not memory.are_apart([leaf for value in given for leaf in leaves(value) if is_on_device(leaf)]):
            super()._check_separate(made, given, unread)

    def check_pair(self, left: Any, right: Any) -> None:
        from adjit.runtime.cuda import memory

        memory.check_separate(left, right)


class _Compiled(SpecialisedDispatcher):
    """What is compiled by numba at its first call with new types."""

    def __init__(self, own: FunctionType, options: Options, make: Callable[..., FunctionType]) -> None:
        super().__init__(own, options.for_numba())
        self._make = make

    def _specialise(self, given: Sequence[types.Type]) -> FunctionType:
        return self._make(tuple(map(specialised, given)))

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        try:
            return super()._compile_for_args(*args, **kws)  # type: ignore[misc]
        except InternalError:
            raise
        except AdjitError as fault:
            raise fault.with_traceback(None) from None


# ------------------------------------------------------------------------------------------------------- configurations


def _configuration(given: Any) -> tuple[tuple[int, ...], tuple[int, int, int], Any, int]:
    """The grid, the block, the stream and the bytes of shared memory of `kernel[grid, block, stream, bytes]`."""
    items = given if isinstance(given, tuple) else (given,)
    try:
        return _known_configuration(items)
    except TypeError:
        # lists
        return _read_configuration(items)


@functools.lru_cache(maxsize=256)
def _known_configuration(items: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, int, int], Any, int]:
    return _read_configuration(items)


def _read_configuration(items: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, int, int], Any, int]:
    if not 2 <= len(items) <= 4:
        raise WrongCall(
            f"a launch with {len(items)} entries in brackets",
            why="The entries are the grid, the block, a stream, and the bytes of dynamic shared memory.",
            instead="Write kernel[grid, block](...).",
        )
    grid, shared_bytes = items[0], items[3] if len(items) == 4 else 0
    sizes = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    _extents("grid", grid)
    stream = items[2] if len(items) > 2 else 0
    return tuple(int(n) for n in sizes), _extents("block", items[1]), stream, int(shared_bytes)


def _rank(given: Any) -> int:
    return len(given) if isinstance(given, tuple | list) else 1


def _extents(what: str, given: Any) -> tuple[int, int, int]:
    sizes = tuple(given) if isinstance(given, tuple | list) else (given,)
    fits = 1 <= len(sizes) <= 3 and all(isinstance(n, int | np.integer) and n >= (what == "block") for n in sizes)
    if not fits or (what == "block" and math.prod(map(int, sizes)) > MOST_THREADS):
        raise WrongCall(
            f"the {what} {given!r}",
            why=f"A block has at most {MOST_THREADS:,} threads." if what == "block" else "",
            instead="Give a number, or a tuple of up to three.",
        )
    x, y, z = (*(int(n) for n in sizes), 1, 1)[:3]
    return x, y, z


def _type_of(tree: ir.Tree) -> types.Type:
    """The type of a parameter, of one that is taken apart that of a tuple."""
    if isinstance(tree, tuple):
        return types.Tuple([_type_of(part) for part in tree])  # type: ignore[no-untyped-call]
    found: types.Type = tree.type
    return found


def _shadow_type(type_: types.Type) -> types.Type:
    return writable(type_) if isinstance(type_, types.Array) else array_type(type_, 1)
