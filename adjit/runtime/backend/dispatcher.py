"""numba's dispatcher for functions whose body is made anew for each tuple of argument types.

In: a stub, which has the parameters, and `_specialise`, which makes the function for given types. Out: a callable.

numba's own finds the specialisation for a call, folds keywords and defaults, and holds its lock while the first call of
a kind compiles; what is our own is the function that it then asks for, and the pipeline that compiles that.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

import numba
from numba import types
from numba.core import errors
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import ParallelOptions
from numba.core.dispatcher import OmittedArg, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.serialize import ReduceMixin
from numba.core.targetconfig import ConfigStack

from adjit.errors import InternalError
from adjit.runtime.backend import loading, pool, special
from adjit.runtime.backend.versions import is_plain

compiler_lock = global_compiler_lock

# Pickled as dispatchers are, with functions that their module does not have: by `_reduce_states` and `_rebuild`.
Picklable = ReduceMixin

# numba would also take array expressions apart, which costs time to compile and gains nothing here
_ONLY_PRANGE = {
    **dict.fromkeys(("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False),
    "prange": True,
}


def parallel_option(is_parallel: bool) -> Any:
    """What numba takes for `parallel`: loops over prange alone."""
    return ParallelOptions(dict(_ONLY_PRANGE)) if is_parallel else False


def as_passed(value: Any) -> Any:
    """An argument as numba's dispatcher hands it on; the default where it was left out."""
    return value.value if isinstance(value, OmittedArg) else value


class SpecialisedDispatcher(CPUDispatcher):
    """Calls of it are compiled by numba at the first call with new argument types."""

    def __init__(self, stub: FunctionType, options: Mapping[str, Any]) -> None:
        super().__init__(stub, targetoptions=dict(options))
        self._compiler = _Maker(self)
        self._by_address: dict[tuple[types.Type, ...], Any] = {}
        if special.is_loaded():
            # numba may have kept machine code of callers, into which ours is linked
            special.give_symbols()

    def _compilation_chain_init_hook(self) -> None:
        """Nothing: numba's extensions are loaded with its registries, when something is compiled."""

    def get_compile_result(self, sig: Any) -> Any:
        """What is compiled for a signature, with a function to call by address, which numba asks for so."""
        found: Any = super().get_compile_result(sig)
        if found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name):
            return found
        kinds = tuple(found.signature.args)
        if kinds not in self._by_address:
            context: Any = self.targetctx
            with compiler_lock:
                library = context.codegen().create_library(f"{found.fndesc.qualname} by address")
                context.create_cfunc_wrapper(library, found.fndesc, found.environment, found.call_helper)
                library.add_linking_library(found.library)
                library.finalize()
            self._by_address[kinds] = found._replace(library=library)
        return self._by_address[kinds]

    def _made(self, args: Sequence[Any]) -> Any:
        """The code for a call with these arguments, None if none is compiled."""
        own = cast(Any, self)
        kinds = (types.Omitted(a.value) if isinstance(a, OmittedArg) else own.typeof_pyval(a) for a in args)
        found = own.overloads.get(tuple(kinds))
        own._types_active_call.clear()
        return None if found is None else found.entry_point

    def _specialise(self, given: Sequence[types.Type]) -> FunctionType:
        """The function for arguments of these types."""
        raise NotImplementedError


class _Maker(_FunctionCompiler):  # type: ignore[misc]
    """Compiles, for a signature, the function that is generated for it."""

    def __init__(self, owner: SpecialisedDispatcher) -> None:
        super().__init__(owner.py_func, owner.targetdescr, owner.targetoptions, {}, Compiler)
        self.owner = owner

    def _customize_flags(self, flags: Any) -> Any:
        self._flags = flags
        return flags

    def _get_implementation(self, args: tuple[types.Type, ...], kws: dict[str, Any]) -> FunctionType:
        # what numba looks up to learn a type serves the generated code as well, if that is compiled with the same flags
        plain = Flags()
        self.targetdescr.options.parse_as_flags(plain, self.targetoptions)
        with ConfigStack().enter(plain):
            made = self.owner._specialise(args)
        if not any(value is numba.prange for value in made.__globals__.values()):
            self._flags.auto_parallel = ParallelOptions(False)
        if any(value is numba.objmode for value in made.__globals__.values()):
            # the interpreter is asked for it anyway
            self._flags.release_gil = False
        return made

    def _compile_core(self, args: tuple[types.Type, ...], return_type: types.Type | None) -> Any:
        literal = {k for k, t in enumerate(args) if isinstance(t, types.UnicodeType)}
        if literal:
            # numba comes back with the strings' values, which the transformation reads as static
            raise errors.ForceLiteralArg(literal)
        if not is_plain():
            # with it comes what numba itself loads when it first compiles
            from adjit.runtime.backend.compiler import GeneratedCompiler

            self.pipeline_class = GeneratedCompiler
        pool.ready()
        try:
            with sparing():
                return super()._compile_core(args, return_type)
        except errors.ForceLiteralArg:
            raise
        except errors.NumbaError as fault:
            shown = next((line for line in str(fault).splitlines()[1:] if line.strip()), str(fault))
            raise InternalError(
                f"numba does not compile the code that adjit generated for {self.owner!r}", why=shown
            ) from fault


class _Plain:
    """numba's scheme of colours, without any."""

    def __getattr__(self, name: str) -> Any:
        return str


@contextlib.contextmanager
def sparing() -> Iterator[None]:
    """Has nothing done meanwhile that a compilation does not need.

    numba's extensions are loaded when one is called for; and the garbage collector, which would search all that is
    alive several times, stops: compilers leave no garbage that could not wait. What was made counts as old afterwards,
    or it would be searched at once. Messages of numba's, most of which say that one of several ways is not to be taken,
    are not coloured.
    """
    was_on, messages = gc.isenabled(), cast(Any, errors)
    colours = messages._termcolor_inst
    gc.disable()
    messages._termcolor_inst = _Plain()
    try:
        with loading.only_what_is_needed():
            yield
    finally:
        messages._termcolor_inst = colours
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
