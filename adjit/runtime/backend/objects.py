"""What numba makes of functions and classes: signatures that were declared, ufuncs, callbacks, jitclasses.

In: an object. Out: the functions in it, as numba compiles them, and the types that it was told.

    element_function(vectorize(f))                             Compiled(f), ()
    declared(njit("float64(int64)")(f), (float64,), True)      (int64,) -> float64
    variables(njit(locals={"k": int64})(f))                    {"k": int64}
    members(JitClass(2.0))                                     {"times": <times>}, {"twice": <twice>}
    G = 2.0; f(3.0); G = 5.0; kept_names(f)                    ((float64,), code of f, {"G": 2.0})
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from numba import typeof
from numba.core import ir, types
from numba.core.ccallback import CFunc
from numba.core.typing.templates import Signature
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.stencils.stencil import StencilFunc

from adjit.runtime.backend.typing import context


@dataclass(frozen=True)
class Compiled:
    """A function that numba compiles as part of something else, and the types that its variables were given."""

    py_func: FunctionType
    locals: Mapping[str, types.Type] = field(default_factory=dict, hash=False)
    overloads: Mapping[Any, Any] = field(default_factory=dict, compare=False)  # what was compiled so far


def element_function(thing: object) -> tuple[Compiled, tuple[str, ...]] | None:
    """The function of numbers in what numba.vectorize makes, and the types for which it was asked, `dd->d`, if it is
    for these alone; None of anything else."""
    if not isinstance(thing, DUFunc):
        return None
    made: Any = thing
    own = made._dispatcher
    return Compiled(own.py_func, overloads=own.overloads), tuple(made.types) if made._frozen else ()


def members(thing: object) -> tuple[Mapping[str, Callable[..., Any]], Mapping[str, Callable[..., Any]]] | None:
    """The methods and the getters of properties of an instance of a jitclass; None of anything else."""
    own = getattr(type(thing), "_numba_type_", None) and getattr(thing, "_numba_type_", None)
    if not isinstance(own, types.ClassInstanceType):
        return None
    getters = {name: made["get"] for name, made in own.jit_props.items() if "get" in made}
    return dict(own.jit_methods), getters


def core_function(thing: object) -> tuple[Compiled, str, Sequence[Sequence[types.Type]]] | None:
    """The function in what numba.guvectorize makes, its signature `(n),()->(n)`, and the types of its arguments, one
    sequence for each way that it was asked for; None of anything else."""
    if not isinstance(thing, GUFunc):
        return None
    made: Any = thing
    builder = made.gufunc_builder
    kinds = [] if made.is_dynamic else [tuple(sig.args) for sig in builder._sigs]
    return Compiled(builder.py_func, overloads=builder.nb_func.overloads), str(made.signature), kinds


def is_stencil(thing: object) -> bool:
    """Whether numba.stencil made it."""
    return isinstance(thing, StencilFunc)


# ------------------------------------------------------------------------------------------------------- declared types


class Undeclared(Exception):
    """Arguments that none of the declared signatures takes, or several take alike; `declared`: those."""

    def __init__(self, declared: Sequence[Signature]):
        super().__init__(declared)
        self.declared = declared


def runs_in_python(dispatcher: Any) -> bool:
    """Whether the interpreter runs it, as `jit(forceobj=True)` has it."""
    return not isinstance(dispatcher, Compiled) and bool(dispatcher.targetoptions.get("forceobj"))


def has_signatures(dispatcher: Any) -> bool:
    """Whether numba was given signatures for it, so that it compiles it for no others."""
    return not isinstance(dispatcher, Compiled) and not dispatcher._can_compile


def declared(dispatcher: Any, args: Sequence[types.Type], is_compiled: bool) -> Signature:
    """The best of the signatures that were given for a dispatcher, for arguments of these types; is_compiled: whether
    the call is in compiled code, which takes the first of several alike. Raises Undeclared."""
    given = dispatcher.nopython_signatures
    try:
        found: Signature | None = context().resolve_overload(
            dispatcher.py_func.__name__, given, tuple(args), {}, allow_ambiguous=is_compiled
        )
    except TypeError:
        found = None
    if found is None:
        raise Undeclared(given)
    return found


def variables(compiled: Any) -> Mapping[str, types.Type]:
    """The types that a dispatcher's variables were given by `locals`."""
    found: Mapping[str, types.Type] = compiled.locals
    return found


def callback(thing: object) -> tuple[Compiled, Signature] | None:
    """The function in what numba.cfunc makes, and its signature; None of anything else."""
    if not isinstance(thing, CFunc):
        return None
    made: Any = thing
    return Compiled(made._pyfunc, made._compiler.locals), made._sig


def has_address(thing: object) -> bool:
    """Whether compiled code calls it by an address that it gives, whatever Python would call."""
    return isinstance(thing, types.WrapperAddressProtocol)


def is_safe(given: types.Type, wanted: types.Type) -> bool:
    """Whether compiled code takes one type for the other where a function is called by its type alone."""
    found = context().can_convert(types.unliteral(given), wanted)
    return found is not None and int(found) <= 3


# ---------------------------------------------------------------------- the names around it that were compiled into it

Kept = tuple[tuple[types.Type, ...], CodeType, Mapping[str, Any]]


def kept_names(dispatcher: Any) -> Iterator[Kept]:
    """What is known of that: nothing of what numba has loaded from its cache on disk."""
    for kinds, made in tuple(getattr(dispatcher, "overloads", {}).items()):
        annotation: Any = getattr(made, "type_annotation", None)
        if hasattr(annotation, "blocks"):
            if annotation not in _known:
                _known[annotation] = _names_in(annotation, made.metadata.get("parfor_diagnostics"))
            yield tuple(getattr(kinds, "args", kinds)), annotation.func_id.code, _known[annotation]


_known: weakref.WeakKeyDictionary[Any, Mapping[str, Any]] = weakref.WeakKeyDictionary()


def _names_in(annotation: Any, diagnostics: Any) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    hoists = getattr(diagnostics, "hoist_info", {}).values()
    before_loops = (statement for hoist in hoists for statement in hoist["hoisted"])
    for statement in itertools.chain(_statements(annotation.blocks.values()), before_loops):
        value = statement.value if isinstance(statement, ir.Assign) else None
        if not isinstance(value, ir.Global | ir.FreeVar):
            continue
        # what numba has inlined has names of its own; a function that calls itself was not there yet
        if statement.loc.filename == annotation.func_id.filename and value.value is not ir.UNDEFINED:
            found.setdefault(value.name, value.value)
    return found


def _statements(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        for statement in block.body:
            yield statement
            # of loops in threads
            yield from _statements(getattr(statement, "loop_body", {}).values())
            start = getattr(statement, "init_block", None)
            yield from _statements(() if start is None else (start,))


def is_as(given: types.Type, kind: types.Type, has_order: bool) -> bool:
    """Whether numba calls what it has compiled for one type with the other, whatever may be written to aside.
    has_order: whether it compiles anew for arrays in another order, as it does not for ufuncs."""
    return bool(_plain(given, has_order) == _plain(kind, has_order))


def _plain(kind: types.Type, has_order: bool) -> Any:
    if isinstance(kind, types.Omitted):
        return _plain(typeof(kind.value), has_order)
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False) if has_order else kind.copy(readonly=False, layout="A")
    if isinstance(kind, types.BaseTuple):
        return tuple(_plain(part, has_order) for part in kind)  # type: ignore[attr-defined]
    return types.unliteral(kind)
