"""Which rule belongs to which callee.

In: registrations. Out: `lookup(np.tanh)`, an `Entry`. A rule is an ordinary Python function that the compiler
elaborates as it does the user's; nothing here runs one.

    partials((math.tanh, np.tanh), lambda x, *, y: 1 - y * y)

The built-in rules are one `Table`. It is filled on the first lookup, so that importing adjit stays quick. The rules of
the user are a second table, and replace all built-in rules of the same callee.

Parameters of a rule bind by name:

- First come the parameters of the op, in the op's order and with the op's defaults.
- `name_dot` is the tangent of the argument `name`, and zero if it is not active (`name_dot=0.0` after a default).
- The result is keyword-only; it is a tuple if the op returns one. A transpose or adjoint has its adjoint, `y_bar`, too.
- `wanted`, in a tangent or adjoint, says which results need tangents, or have adjoints. It is known at compile time.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from adjit.runtime.library import held, home_of, own_attribute, stop_gradient

Rule = TypeVar("Rule", bound=Callable[..., Any])


@dataclass(frozen=True)
class Spectral:
    """What gives values and vectors in pairs.

    function: (*args, cuts) -> the results, the number of each value's space, and the matrix that equal values are
              mixed by, or that times the vectors, in parts; see `numpy.linalg.equal_eigenvalues`
    moved:    (change, slope) -> 0, which moves by the slope times the change of a zero
    values:   which result has the values
    vectors:  result -> the axis along which its vectors are counted
    in_parts: whether they are the real and the imaginary parts of the same vectors
    """

    function: Callable[..., Any]
    moved: Callable[..., Any]
    values: int
    vectors: Mapping[int, int]
    in_parts: bool = False


BUILTIN_MODULES = (
    "elementary", "special_functions", "constants", "numpy.reductions", "numpy.arrays", "numpy.grids",
    "numpy.linalg.matrices", "numpy.linalg.factorisations", "numpy.random.sampling", "numpy.random.generators",
    "numpy.along_axes", "numpy.moments", "numpy.manipulation", "numpy.joining", "numpy.calculus", "numpy.indexing",
    "numpy.linalg.contractions", "numpy.linalg.stacks", "numpy.linalg.equal_eigenvalues", "numpy.linalg.triangular",
    "numpy.complex_numbers", "numpy.linalg.complex_matrices", "numpy.fft", "numpy.polynomial.functions",
    "numpy.polynomial.objects", "numpy.structured_arrays",
)  # fmt: skip
# The rules for functions of a library that takes its time to import, loaded once a program has imported it.
OF_LIBRARIES = {
    "scipy.special": (
        "scipy.special.functions", "scipy.special.bessel", "scipy.special.several_results", "scipy.special.faddeeva",
    ),
    "scipy.stats": (
        "scipy.stats.distributions", "scipy.stats.more_distributions", "scipy.stats.frozen", "scipy.stats.descriptive",
    ),
    "scipy.linalg": ("scipy.linalg.matrices", "scipy.linalg.special_matrices"),
    "scipy.integrate": ("scipy.integrate.samples", "scipy.integrate.initial_values", "scipy.integrate.quadrature"),
    "scipy.spatial.distance": ("scipy.spatial.distance",),
    "scipy.spatial.transform": ("scipy.spatial.transform",),
    "scipy.signal": ("scipy.signal.filters", "scipy.signal.windows"),
    "scipy.interpolate": ("scipy.interpolate.splines", "scipy.interpolate.fitpack"),
    "scipy.optimize": (
        "scipy.optimize.test_functions", "scipy.optimize.scalar_roots", "scipy.optimize.systems",
        "scipy.optimize.scalar_minima",
    ),
    "scipy.sparse": ("scipy.sparse.matrices", "scipy.sparse.construction"),
    "scipy.ndimage": ("scipy.ndimage",),
    "scipy.sparse.linalg": ("scipy.sparse.linalg",),
}  # fmt: skip

# The parameters of rules that take an array, so that a list or tuple is made one first, as in NumPy.
ARRAY_LIKE = frozenset((
    "A", "B", "a", "a1", "a2", "ar", "ar1", "ar2", "arr", "array", "ary", "b", "c", "condition", "elements", "f", "fp",
    "indices", "m", "obj", "p", "q", "repeats", "roots", "samples", "test_elements", "v", "val", "values", "vals",
    "weights", "x", "x1", "x2", "xp", "y", "z",
))  # fmt: skip

# Those that take several, each of which may be a list; and the one that takes all positional arguments as a tuple.
SEVERAL = frozenset(("all_given", "arrays", "choicelist", "condlist", "tup"))
ALL_GIVEN = "all_given"
WANTED = "wanted"

# What an in-place operator or a second name computes is what the plain one does.
PLAIN: Mapping[Any, Any] = {
    **{
        getattr(operator, f"i{name}"): getattr(operator, name)
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "xor")
    },
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.abs: builtins.abs,
    builtins.pow: operator.pow,
}


@dataclass(frozen=True)
class Entry:
    """All that is registered for one callee.

    partials:      (*args, *, result) -> the partial derivatives, one an argument (bare if there is one argument)
    tangent:       (*args, *args_dot, *, result) -> result_dot; linear in every `_dot`
    transposes:    argument position k -> (*args, *, result, y_bar) -> the adjoint of argument k; the op is linear in it
    adjoint:       (*args, *, result, y_bar) -> the adjoints of the arguments
    decomposition: (*args) -> result, in terms of other ops
    constant:      the derivative is zero or there is none
    effect:        it draws random numbers or the like: it runs once, in order. Without `constant` there is no rule for
                   how the result depends on the arguments, so none of them may be active.
    exchange:      an effect with a rule, in which another process takes part: what goes into it may reach the result
                   there, and what it gives may depend on what is differentiated there; so its derivative is always made
    general:       (*args) -> result, of all arguments that NumPy takes, in terms of the op itself as the rest of the
                   entry, or numba, knows it: of a vector, say, where NumPy has an axis
    in_parts:      (*args) -> result, complex, of an op that gives real or complex numbers by the values of real ones
    spectral:      the substitute of the op where only spaces of equal values matter, and not the vectors in them
    """

    partials: Callable[..., Any] | None = None
    tangent: Callable[..., Any] | None = None
    decomposition: Callable[..., Any] | None = None
    adjoint: Callable[..., Any] | None = None
    transposes: Mapping[int, Callable[..., Any]] = field(default_factory=dict)
    constant: bool = False
    effect: bool = False
    exchange: bool = False
    general: Callable[..., Any] | None = None
    in_parts: Callable[..., Any] | None = None
    spectral: Spectral | None = None

    @property
    def is_linear_map(self) -> bool:
        """Whether this is of the kinds that go together: tangent, transposes and adjoint."""
        return self.tangent is not None or self.adjoint is not None or bool(self.transposes)


Changed = Callable[[Entry, Callable[..., Any]], Entry]


class Table:
    """Entries by callee, with one method a notation."""

    def __init__(self) -> None:
        self.entries: dict[Any, Entry] = {}
        self.complex_entries: dict[Any, Entry] = {}
        self.of_all_numbers: set[Any] = set()
        self.classes: dict[type, type] = {}
        self.stood_for: dict[type, type] = {}

    def partials(self, callees: Any, function: Rule) -> Rule:
        """Registers the partial derivatives of a scalar op, or of a tuple of ops. Arrays and broadcasting follow.

        Write a constant partial as the integer 1, -1 or 0, which the compiler simplifies away.
        """
        given = callees if isinstance(callees, tuple) else (callees,)
        return self._registering(given, lambda known, rule: Entry(partials=rule))(function)

    def tangent(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers the differential of an op. The reverse mode is its transpose."""
        return self._registering(callees, lambda known, rule: replace(known, tangent=rule))

    def linear(self, *callees: Any, transpose: Callable[..., Any], argument: int = 0) -> None:
        """Registers the transpose of an op that is linear in one argument. Call it once per such argument."""
        self._registering(callees, lambda known, rule: replace(known, transposes={**known.transposes, argument: rule}))(
            transpose
        )

    def adjoint(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers an adjoint, where a better one than the transpose of the tangent is known."""
        return self._registering(callees, lambda known, rule: replace(known, adjoint=rule))

    def decomposition(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers the op as an ordinary function of simpler ops."""
        return self._registering(callees, lambda known, rule: Entry(decomposition=rule))

    def general(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers the op with all its arguments, as a function of the op that has a rule."""
        return self._beside(callees, lambda known, rule: replace(known, general=rule))

    def of_complex(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers the op of complex numbers as an ordinary function of simpler ops."""

        def register(function: Rule) -> Rule:
            self.complex_entries.update(dict.fromkeys(callees, Entry(decomposition=function)))
            return function

        return register

    def in_parts(self, *callees: Any) -> Callable[[Rule], Rule]:
        """Registers the op with complex results, for programs that read their parts. Its rule comes first."""
        return self._beside(callees, lambda known, rule: replace(known, in_parts=rule))

    def spectral(
        self, callee: Any, moved: Callable[..., Any], values: int, vectors: Mapping[int, int], in_parts: bool = False
    ) -> Callable[[Rule], Rule]:
        """Registers a substitute for the op where only spaces of equal values matter. Its rule comes first."""

        def changed(known: Entry, rule: Callable[..., Any]) -> Entry:
            return replace(known, spectral=Spectral(rule, moved, values, vectors, in_parts))

        return self._beside((callee,), changed)

    def as_of_real(self, *callees: Any) -> None:
        """The decomposition of the op is valid for complex numbers, too."""
        self.of_all_numbers.update(callees)

    def stands_for(self, kind: type, own: type) -> None:
        """At compile time, objects of a library's class have the methods and properties of `own`.

        The fields of `own` have the names of the attributes that adjit keeps of such objects.
        """
        self.classes[kind] = own
        self.stood_for[own] = kind

    def _registering(self, callees: Sequence[Any], changed: Changed) -> Callable[[Rule], Rule]:
        """A decorator; `changed` makes the entry from what is known of the kinds that go together, and the rule."""
        return self._changing(callees, self._map_of, changed)

    def _beside(self, callees: Sequence[Any], changed: Changed) -> Callable[[Rule], Rule]:
        """The same from all that is known."""
        return self._changing(callees, self.entries.__getitem__, changed)

    def _changing(
        self, callees: Sequence[Any], known: Callable[[Any], Entry], changed: Changed
    ) -> Callable[[Rule], Rule]:
        def register(function: Rule) -> Rule:
            for callee in callees:
                self._set(callee, changed(known(callee), function))
            return function

        return register

    def constant(self, *callees: Any) -> None:
        """The result has a derivative of zero, or none."""
        for callee in callees:
            self._set(callee, Entry(constant=True))

    def without_rule(self, *callees: Any) -> None:
        """adjit does not read the source of the op, and refuses derivatives of it."""
        for callee in callees:
            self._set(callee, Entry())

    def effect(self, *callees: Any, constant: bool = True) -> None:
        """The op runs exactly once. With `constant=False` its result depends on its arguments, but has no rule."""
        for callee in callees:
            self._set(callee, Entry(constant=constant, effect=True))

    def exchange(self, callee: Any, tangent: Callable[..., Any], adjoint: Callable[..., Any]) -> None:
        """The op, its tangent and its adjoint each run exactly once and in order, whatever is active."""
        self._set(callee, Entry(tangent=tangent, adjoint=adjoint, effect=True, exchange=True))

    def find(self, callee: Any) -> Entry | None:
        try:
            found = self.entries.get(callee)
        except TypeError:  # not hashable, so never registered
            return None
        return found if found is not None else self.entries.get(_python_function(callee))

    def _map_of(self, callee: Any) -> Entry:
        """What is there for `callee` of the kinds that go together."""
        found = self.entries.get(PLAIN.get(callee, callee))
        return found if found is not None and found.is_linear_map else Entry()

    def _set(self, callee: Any, entry: Entry) -> None:
        for key in (PLAIN.get(callee, callee), _python_function(callee)):
            if key is not None:
                self.entries[key] = entry


def _python_function(callee: Any) -> Any:
    """The Python function that a numba dispatcher compiles, else None."""
    return own_attribute(callee, "py_func")


@dataclass(frozen=True)
class Maker:
    """A transformation in a rule, such as `adjit.grad`, by its name."""

    kind: str


KNOWN: set[Callable[..., Any]] = set()


def known_when_compiled(function: Rule) -> Rule:
    """A helper of rules that runs at compile time: its arguments are strings, numbers and tuples."""
    KNOWN.add(function)
    return function


builtin = Table()
user = Table()

partials, tangent, linear, adjoint = user.partials, user.tangent, user.linear, user.adjoint
decomposition, constant, effect = user.decomposition, user.constant, user.effect

_lock = threading.RLock()
_waiting = {"builtins": BUILTIN_MODULES, **OF_LIBRARIES}


def load() -> None:
    """Fills the built-in table, once, with what there are callees of."""
    for library in tuple(_waiting):
        if library not in sys.modules:
            continue
        with _lock:
            for name in _waiting.get(library, ()):
                importlib.import_module(f"adjit.rules.{name}")
            _waiting.pop(library, None)


def _of_numpy(callee: Any) -> Any:
    """NumPy's transform in the place of SciPy's of the same name, whose import would take a second."""
    if home_of(callee).startswith("scipy.fft."):
        return getattr(np.fft, str(getattr(callee, "__name__", "")), callee)
    return callee


def lookup(callee: Any) -> Entry | None:
    """What is registered for a callee: a function, builtin, ufunc or dispatcher; `iadd` is as `add`. What adjit made
    itself has its rules with it."""
    with_it: Entry | None = own_attribute(callee, "adjit_rules")
    if with_it is not None:
        return with_it
    load()
    plain = _plain(callee)
    found = user.find(plain)
    return found if found is not None else builtin.find(plain)


def has_own_rule(callee: Any) -> bool:
    """Whether a user has given a function a rule, or adjit one that it has made."""
    return own_attribute(callee, "adjit_rules") is not None or user.find(_plain(callee)) is not None


def is_held(callee: Any) -> bool:
    """Whether what a callee gives is held fixed: by `stop_gradient`, or since a user has said that it is constant."""
    if callee is held or callee is stop_gradient:
        return True
    found = user.find(_plain(callee))
    return found is not None and found.constant


def _plain(callee: Any) -> Any:
    """The callee that another is as."""
    try:
        return _of_numpy(PLAIN.get(callee, callee))
    except TypeError:  # not hashable
        return callee


def class_of(kind: type) -> type:
    """The class whose methods objects of this class have at compile time: their own class, or its substitute."""
    load()
    return builtin.classes.get(kind, kind)


def stood_for(own: type) -> type:
    """The class of a library that this one stands for, or else itself."""
    return builtin.stood_for.get(own, own)


def is_builtin(rule: Callable[..., Any]) -> bool:
    """Whether a rule is one of adjit's own."""
    return (rule.__module__ or "").startswith("adjit.rules.")


def lookup_complex(callee: Any) -> Entry | None:
    """What is registered for a callee where an argument is complex; what users decompose, they do for all numbers."""
    load()
    callee = _of_numpy(callee)
    found = user.find(callee)
    if found is not None and found.decomposition is not None:
        return found
    return builtin.find(callee) if callee in builtin.of_all_numbers else builtin.complex_entries.get(callee)


def registered() -> Iterable[Any]:
    """Every callee that has an entry."""
    load()
    return [*builtin.entries, *(callee for callee in user.entries if callee not in builtin.entries)]
