"""The public transformations of functions.

In: a Python function, a numba dispatcher, or what these return. Out: derived functions, or values and derivatives.

    grad(energy, wrt="x")(x, k)              the gradient, shaped as x
    value, pullback = vjp(forces, x, k)      pullback(seed) == (x_bar, k_bar)
    value, tangent = jvp(forces, (x, k), (x_dot, 0.0))

Every function takes the options `target` ("cpu"; "python" to run the generated code uncompiled; "cuda" for kernels on
a GPU, with arrays there; "cuda-device" for a function that kernels call), `fastmath`
(numba's flags), `parallel` (loops over prange run in parallel, where it is proved that they may; the source says so
of each, and the result does not depend on the number of threads), `vectormath` (elementary functions of our own in
loops that vectorise; they may differ from libm's by 1 ulp, erfc by 2), `cache` (what is compiled is kept for later
processes, unless this is False; with True a warning says what cannot be), `boundscheck` (an index that is out of bounds
raises IndexError at the user's line, in compiled code, too, unless this is False), `debug` ("nan": the first number
that is nan, be it a value or an adjoint, raises FloatingPointError at the user's line; what is emitted stays close to
the user's statements), `deterministic` (on a GPU: sums that several
threads share have the same bits in each run), `accumulate` ("float64", on a GPU: sums in single precision are added up
in double precision) and `memory_limit` ("200 MB", or bytes): loops that would
keep values of all their trips run them again instead, from as many snapshots of what a trip starts from as fit, by
Griewank and Walther's schedule. With `fastmath` and `vectormath` False the value is that of the compiled primal bit
for bit.

Global and enclosing variables are constants, as in numba: a derived function keeps the values that they had when it
was made for the types of a call. Asking again (`grad(energy)`, or any call of `vjp` and the like) sees whatever is
bound anew, patched or replaced since, but not an array whose elements changed. A pullback belongs to the values that
its forward sweep saw.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.extending import overload, typeof_impl

from adjit.api.arguments import as_given, has_typed
from adjit.api.bound import BoundDerived, bound
from adjit.api.branches import by_branch, has_paths
from adjit.api.calls import AlongVectors, Choosing
from adjit.api.dispatch import Specialising, derive, register
from adjit.api.in_kernels import check_kind
from adjit.api.on_device import pull_on_device, push_on_device
from adjit.api.options import Options, make_options
from adjit.api.sparse import sparse_derivative
from adjit.api.structures import Layouts, Patterns, has_tables, laid_out, like, patterns_in, taken
from adjit.api.trees import (
    Template,
    conform,
    described,
    leaves,
    map_leaves,
    parts_of,
    several_like,
    several_of,
    snapshot,
    template,
    zero,
)
from adjit.errors import Stretched, TypeMismatch, Unsupported, WrongCall
from adjit.rules.library_functions import as_python
from adjit.runtime.library import stop_gradient as stop_gradient
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import WIDEST, Derivative, Wrt, of_structures, shown, specification
from adjit.transform.source.marks import DERIVING, Checkpointed, checkpoint, intermediate

if TYPE_CHECKING:
    from adjit.api.explain import Explanation


def grad(
    function: Any = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: str | Sequence[str] = (),
    **options: Any,
) -> Any:
    """The gradient of a function whose result is one real number, with respect to the parameters that `wrt` names.

    A single `wrt` gives a bare gradient with the shape of that argument, a tuple gives a tuple. With `has_aux` the
    function returns (value, aux) and the result is (gradient, aux). Also a decorator: `@grad`, `@grad(wrt="x")`.
    `wrt` may name parts of arguments, too: "params.layers[0].w". With `holomorphic`, the complex derivative df/dz of a
    function with a complex result, with respect to complex arguments, on which it may not depend by abs(), conj() and
    the like: that is not looked at. With `intermediates`, names that the function gives to values inside it by
    `adjit.intermediate(x, name)`, the result is (gradient, adjoints), of which there is one a name, a bare one for a
    single name.
    Raises WrongCall for an option that there is not, SourceUnavailable for a function whose source cannot be read;
    NotScalar, TypeMismatch, NoRule, Unsupported and whatever else stands in the way of differentiating the function, at
    the first call with arguments of new types; WrongWrt for a name that is no parameter.
    """
    return _derived(function, "grad", wrt, options, has_aux, holomorphic, intermediates)


def value_and_grad(
    function: Any = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: str | Sequence[str] = (),
    **options: Any,
) -> Any:
    """Like `grad`, and the value with it: (value, gradient), or ((value, aux), gradient), where with `intermediates`
    their adjoints stand for aux. The value is that of the function, a float. Raises what `grad` raises."""
    return _derived(function, "value_and_grad", wrt, options, has_aux, holomorphic, intermediates)


def jvp(
    function: Any, primals: Sequence[Any], tangents: Sequence[Any], *, several: bool = False, **options: Any
) -> tuple[Any, Any]:
    """The value at `primals` and its change along `tangents`, one an argument, shaped as the arguments.

    The tangent of an integer or boolean is ignored if it is none of floats, else it has to be zero; so has that of a
    complex argument, which is held fixed.

    several: each tangent has one more axis, the first, along which there are several, and so has the tangent of the
             result: `jvp(f, (x,), (np.eye(x.size),), several=True)`. Up to eight of them go through the function
             together, as the columns of `jacfwd` do.

    Raises TypeMismatch if a tangent is unlike its argument.
    """
    chosen = make_options(options, ("several",))
    check_kind("jvp", chosen.target)
    _check_several(several, chosen)
    function = as_python(function)
    whole = bound(function)
    spec = specification(function if whole is None else whole.function)
    _check_tuple(spec, primals)
    # what a method or a partial holds is an argument as well, which does not change
    expected = derivatives.parameters(spec)
    arguments = bind(spec, primals, expected) if whole is None else whole.all(primals, {})
    positions = range(len(primals)) if whole is None else whole.places(len(primals))
    names = list(expected.parameters)
    instead = "Give one tangent per argument, with the shape of the argument."
    tangents = parts_of(tangents, len(primals), f"the tangents of {shown(spec)} are", instead)
    laid = laid_out(spec, names, arguments)
    whole_arguments, layouts = arguments, () if laid is None else laid[0]
    if laid is not None:
        spec, arguments = of_structures(spec, layouts), laid[1]
        what = f"a tangent of {shown(spec)}"
        own = zip(positions, tangents, strict=True)
        tangents = [taken(layouts[k], t, what, arguments[k]) for k, t in own]
    if chosen.target == "cuda":
        return push_on_device(spec, chosen, arguments, dict(zip(positions, tangents, strict=True)), layouts)
    shapes = [template(a) for a in arguments]
    moving = [shapes[k] for k in positions]
    count = 0
    if several:
        count, moving = several_of(tuple(tangents), tuple(moving), f"the tangents of {shown(spec)}")
    dots = [zero(s) for s in shapes]
    for k, tangent, shape in zip(positions, tangents, moving, strict=True):
        dots[k] = conform(tangent, shape, f"the tangent of argument {names[k]!r}")
    return push(spec, chosen, arguments, dots, positions, count, whole_arguments)


def push(
    spec: Any,
    options: Options,
    arguments: Sequence[Any],
    tangents: Sequence[Any],
    positions: Sequence[int],
    several: int = 0,
    whole: Sequence[Any] = (),
) -> tuple[Any, Any]:
    """`jvp` with every argument given and every tangent in order, those at `positions` alone not zero. `several`: how
    many there are of each, 0 for one without an axis for it. `whole`: the arguments before they were taken apart."""
    active = tuple(p for p in active_positions(arguments) if p in positions)
    if not active:
        primal = value_of(spec, options)
        value = primal(*arguments)
        primal.outside.check_whole(whole)
        return value, zero(several_like(template(value), several) if several else template(value))
    made = Derivative(function=spec, kind="jvp", wrt=active)
    made = _of_several(made, several) if several else made
    derived = derive(made, options)
    value, tangent = derived(*arguments, *tangents)
    derived.outside.check_whole(whole)
    return value, tangent


def _of_several(derivative: Derivative, count: int) -> Derivative:
    """The same for so many tangents, or seeds, at once, as many of which travel together as a power of two is."""
    return dataclasses.replace(derivative, several=True, width=min(WIDEST, 1 << (count - 1).bit_length()))


def _check_several(several: Any, options: Options) -> None:
    if not isinstance(several, bool):
        raise WrongCall(f"several={several!r}", instead="Write several=True or several=False.")
    if several and options.target == "cuda":
        raise Unsupported("several tangents at once on a GPU", instead="Call jvp for each, or use adjit.jacfwd.")


def vjp(function: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """The value, and the function that takes an adjoint of it (a seed) to the adjoints of the arguments.

    The pullback returns a tuple with an entry an argument, None where none flows (integers, complex numbers). It may
    be called many times, and the arguments may be changed in between. The seed is shaped as the value; a tuple where
    that is one. `pullback(seeds, several=True)` takes several at once, along one more axis, the first, and gives
    adjoints that have it, too: up to eight of them go back through the function together.

    Raises TypeMismatch for a seed that is unlike the value, and what `grad` raises but NotScalar.
    """
    function = as_python(function)
    whole = bound(function)
    if whole is not None:
        # what it holds is an argument as well, whose adjoint nobody asks for
        value, pullback = vjp(whole.function, *whole.all(arguments, {}), **options)
        return value, dataclasses.replace(pullback, _positions=whole.places(len(arguments)))
    spec, chosen = specification(function), make_options(options)
    check_kind("vjp", chosen.target)
    positions, given = range(len(arguments)), bind(spec, arguments)
    if chosen.target == "cuda":
        return pull_on_device(spec, chosen, given, len(arguments))
    home = value_of(spec, chosen)
    found: tuple[Any, Pullback] = home.retried(given, functools.partial(_pulled, spec, chosen, given, positions, home))
    return found


def _pulled(
    spec: Any, chosen: Options, given: tuple[Any, ...], positions: Sequence[int], home: Specialising
) -> tuple[Any, Pullback]:
    """`vjp` with all arguments given; `home` knows what of them is part of what is compiled."""
    layouts: Layouts = ()
    whole = given
    names = list(derivatives.parameters(spec).parameters)
    laid = laid_out(spec, names, given, home.has_constants, home.has_extents)
    if laid is not None:
        layouts, given = laid
        spec = of_structures(spec, layouts)
    has_typed(shown(spec), derivatives.parameters(spec).parameters, given)
    # copies, so that what the pullback sees is what the function saw
    kept = snapshot(given)
    patterns = patterns_in(layouts, kept)
    active = tuple(p for p in active_positions(kept) if p in positions)
    if not active:
        primal = value_of(spec, chosen)
        value = primal(*kept)
        primal.outside.check(given)
        primal.outside.check_whole(whole)
        return value, Pullback(spec, template(value), positions)
    kinds = map_leaves(lambda leaf: None if isinstance(leaf, np.ndarray) else leaf, kept)
    forward = derive(Derivative(function=spec, kind="split_forward", wrt=active), chosen)
    try:
        value, saved, changed = forward.strict(*kept)
    except Stretched:
        # both halves assume the same of their arguments
        forward = forward.stretching
        value, saved, changed = forward(*kept)
    # the copies share no memory with anything
    forward.outside.check(given)
    forward.outside.check_whole(whole)
    result = template(value)
    if saved is None:
        # the value may be one of the arguments kept, and belongs to the caller
        (value,) = snapshot((value,))
        joint = derive(Derivative(function=spec, kind="vjp", wrt=active), chosen)
        joint.prepare(*kept, zero(result))
        return value, Pullback(
            spec, result, positions, active, joint, kept, layouts=layouts, patterns=patterns, kinds=kinds
        )
    kinds_given = forward.argument_types(*kept)
    reverse = derive(Derivative(function=spec, kind="split_reverse", wrt=active, given=kinds_given), chosen)
    if forward.derivative.stretches:
        reverse = reverse.stretching
    reverse.prepare(saved, snapshot(changed), zero(result))
    return value, Pullback(spec, result, positions, active, reverse, (saved,), (changed,), layouts, patterns, kinds)


@dataclass(eq=False, repr=False)
class Pullback:
    """The reverse sweep of one evaluation: seed -> an adjoint an argument.

    It starts from what the forward sweep saved. Where that cannot leave compiled code (a tape of arrays made anew in a
    loop), both sweeps run. `consumed`: what the sweep changes of that, so that each call gets a copy. `kinds`: the
    numbers among the arguments, whose types their adjoints have.
    """

    _spec: Any
    result: Template
    _positions: Sequence[int]
    _active: tuple[int, ...] = ()
    _sweep: Any = None
    _saved: tuple[Any, ...] = ()
    _consumed: tuple[Any, ...] = ()
    layouts: Layouts = ()
    patterns: Patterns = field(default_factory=dict)
    kinds: tuple[Any, ...] = ()

    def __call__(self, *seeds: Any, several: bool = False) -> tuple[Any, ...]:
        if len(seeds) != 1:
            raise WrongCall(
                f"the pullback of {shown(self._spec)} takes one seed, not {len(seeds)}",
                instead="Give one seed with the shape of the value; for a tuple, a tuple.",
            )
        wanted, sweep = self.result, self._sweep
        if several:
            wanted, sweep = self._several(seeds[0])
        seed = conform(seeds[0], wanted, "the seed")
        bars = () if sweep is None else sweep(*self._saved, *snapshot(self._consumed), seed)
        layouts = dict(enumerate(self.layouts))
        found = {k: as_given(bar, self.kinds[k]) for k, bar in zip(self._active, bars, strict=True)}
        of = {k: like(layouts.get(k), bar, self.patterns.get(k, {})) for k, bar in found.items()}
        return tuple(of.get(position) for position in self._positions)

    def _several(self, seeds: Any) -> tuple[Template, Any]:
        """What several seeds look like, and the sweep for them."""
        if self.patterns or any(map(has_tables, self.layouts)):
            raise Unsupported(
                f"several seeds for the pullback of {shown(self._spec)}, of lists of numbers or sparse matrices",
                why="Their adjoints would be lists of arrays.",
                instead="Pass arrays, or call the pullback once per seed.",
            )
        count, wanted = several_of(seeds, self.result, "the seeds")
        if self._sweep is None:
            return wanted, None
        if not self._sweep.holds():
            raise WrongCall(
                f"several seeds for the pullback of {shown(self._spec)}, after a change of the function or its globals",
                why="Code for several seeds is compiled at the first such call, from the function as it is then.",
                instead="Call adjit.vjp again, or call the pullback once per seed.",
            )
        return wanted, derive(_of_several(self._sweep.derivative, count), self._sweep.options)

    def __repr__(self) -> str:
        return f"<pullback of {shown(self._spec)} with respect to {self._active}>"

    def source(self) -> str:
        """The generated source that a call runs."""
        return "" if self._sweep is None else str(self._sweep.source(*self._arguments()))

    def explain(self) -> Explanation:
        """What was decided for it, and why, as `explain` of a derivative says."""
        if self._sweep is None:
            raise WrongCall(
                f"the pullback of {shown(self._spec)} has nothing to compute: no argument is a float",
                instead="Call adjit.vjp with at least one float.",
            )
        explained: Explanation = self._sweep.explain(*self._arguments())
        return explained

    def _arguments(self) -> tuple[Any, ...]:
        return (*self._saved, *self._consumed, zero(self.result))


def hvp(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The product of the Hessian of a scalar function with a vector: `hvp(f)(*args, v)`, v as the argument (a tuple of
    those if `wrt` is one), without the Hessian. Forward over reverse (Pearlmutter 1994): the price of a few gradients.

    Raises TypeMismatch for a v that is unlike the argument, and what `grad` raises.
    """
    return _derived(function, "hvp", wrt, options)


def jet(function: Any, order: int, wrt: Wrt = 0, **options: Any) -> Any:
    """The Taylor coefficients of a function along a vector: `jet(f, 2)(*args, v)` is (f(x), f'(x) v, v f''(x) v / 2),
    those of f(x + t v) as a polynomial in t; v is as the argument, or a tuple of those if `wrt` is one.

    By forward mode alone, each order as the tangents of the one before in the same direction, so that its price doubles
    with each. Raises WrongCall for an order that is not a positive integer, Unsupported for a part of an argument in
    `wrt`, and for a GPU.
    """
    chosen = make_options(options, ("order", "wrt"))
    if chosen.target in ("cuda", "cuda-device"):
        raise Unsupported("jet for a GPU", instead='Use target="cpu", or nest adjit.jvp.')
    if has_paths(wrt):
        raise Unsupported(
            f"wrt={wrt!r}, a part of an argument, in a jet", instead="Pass that part as a separate argument."
        )
    function = as_python(function)
    whole = bound(function)
    inner, positions = (function, wrt) if whole is None else (whole.function, whole.positions(wrt))
    made = derive(derivatives.made("jet", inner, positions, order=order, **chosen.for_derivatives()), chosen)
    return made if whole is None else BoundDerived(made, whole, 1)


def jacfwd(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, of shape result.shape + argument.shape, eight columns a forward sweep.

    Its parameters are the function's. Where the result or an argument is a tuple, or `wrt` is one, so is the Jacobian:
    by result first, then by argument. For functions with more results than arguments, or not many more arguments.
    Raises WrongWrt for a name that is no parameter, and what stands in the way of differentiating the function.
    """
    return _derived(function, "jacfwd", wrt, options)


def jacrev(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, as `jacfwd`'s, eight rows a reverse sweep after one forward sweep.

    For functions with fewer results than arguments. Raises what `jacfwd` raises.
    """
    return _derived(function, "jacrev", wrt, options)


def jacobian(function: Any = None, wrt: Wrt = 0, *, sparse: bool = False, sparsity: Any = None, **options: Any) -> Any:
    """The Jacobian, by columns (`jacfwd`) where that takes no more sweeps, of eight columns each, than there are rows,
    and by rows (`jacrev`) otherwise. How many results there are is found out by one evaluation for each new tuple of
    shapes (and integers) of the arguments; in compiled code it is by rows where the results are numbers and the
    arguments arrays.

    With `sparse` it is a `scipy.sparse.csr_array` of shape (result.size, argument.size), in C order, for each pair of a
    result and an argument. Its pattern comes from a run that finds out which arguments each result depends on, whatever
    their values, and is found anew for arguments for which another may hold: `.sparsity(*args)` gives it. Columns (or
    rows) with no row (column) in common are made together (Curtis, Powell and Reid 1974). `sparsity`: a pattern, as a
    matrix or as `.sparsity` gives it, to be used where it has all entries of the one found.

    Raises what `jacfwd` raises, and WrongCall for a `sparsity` that has not all entries, or without `sparse`;
    of a sparse one Unsupported for complex numbers, random draws and parts of arguments.
    """
    return _matrix(function, "jacobian", wrt, sparse, sparsity, options)


def hessian(function: Any = None, wrt: Wrt = 0, *, sparse: bool = False, sparsity: Any = None, **options: Any) -> Any:
    """The Hessian of a scalar function: the Jacobian, by columns, of its gradient.

    With `sparse` it is a `scipy.sparse.csr_array`, as of `jacobian`; columns are made together if each entry, or its
    mirror image, can be told (star colouring, Gebremedhin, Manne and Pothen 2005).

    Raises NotScalar for a result that is not one number, and what `jacobian` raises.
    """
    return _matrix(function, "hessian", wrt, sparse, sparsity, options)


def vmap(function: Any = None, in_axes: Any = 0, out_axes: int = 0, **options: Any) -> Any:
    """The function mapped over a new axis: `vmap(f)(x, y)[i] == f(x[i], y[i])`, results with the axis `out_axes`.

    in_axes: which axis of each argument it is: a number for all arguments without a default, a tuple with one for each,
             or a dictionary by names; None, and left out, for arguments that are the same in all calls. In a tuple of
             arrays it is that of each.

    It is a loop, of which with `parallel=True` the trips run in threads, as a loop over prange. Derivatives can be
    taken of it, and it of derivatives: `vmap(grad(loss), {"x": 0})(w, x)` has the gradient of each sample. Raises
    Unsupported in a kernel, TypeMismatch for an argument without that axis, ValueError where arguments differ in length
    along it, or have length 0 and results are arrays, whose shapes only a call tells.
    """
    chosen = make_options(options, ("in_axes", "out_axes"))
    if chosen.target == "cuda-device":
        raise Unsupported("vmap in a kernel", instead="Call the function in each thread.")
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
    function = as_python(function)
    settings = chosen.for_derivatives()
    if chosen.target == "cuda":
        settings["parallel"] = True  # trips are threads there
    whole = bound(function)
    if whole is None:
        return derive(derivatives.mapping(function, in_axes, out_axes, **settings), chosen)
    # of the parameters that are not held
    in_axes = derivatives.axes_by_name(specification(whole.function), in_axes, whole.signature.parameters)
    return BoundDerived(derive(derivatives.mapping(whole.function, in_axes, out_axes, **settings), chosen), whole, 0)


# what they make inside a function that is differentiated is a derivative as well
DERIVING.update(
    {
        made: made.__name__
        for made in (grad, value_and_grad, jvp, vjp, hvp, jet, jacfwd, jacrev, jacobian, hessian, vmap)
    }
)

register("jacobian", Choosing)
register("hvp", AlongVectors)
register("jet", AlongVectors)


@overload(intermediate)
def _compiled_intermediate(x, name="", adjoint=None):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Array):
        return lambda x, name="", adjoint=None: x.copy()
    return lambda x, name="", adjoint=None: x


@overload(checkpoint)
def _compiled_checkpoint(what, snapshots=0):  # type: ignore[no-untyped-def]
    return (lambda what, snapshots=0: what) if isinstance(what, types.RangeType | types.Dispatcher) else None


@typeof_impl.register(Checkpointed)
def _type_of_checkpointed(value: Checkpointed[..., Any], c: Any) -> Any:
    """In compiled code what is checkpointed is the function, which has to be one that compiled code can call."""
    return typeof_impl(value.function, c)


# --------------------------------------------------------------------------------------- what all of these do alike


def _matrix(function: Any, kind: str, wrt: Wrt, sparse: bool, sparsity: Any, options: dict[str, Any]) -> Any:
    """The derived function, or a decorator that makes it, for a matrix that may be sparse."""
    if not isinstance(sparse, bool):
        raise WrongCall(f"sparse={sparse!r}", instead="Write sparse=True or sparse=False.")
    if not sparse and sparsity is None:
        return _derived(function, kind, wrt, options)
    if not sparse:
        raise WrongCall("sparsity without sparse=True", instead="Write sparse=True, or leave sparsity out.")
    chosen = make_options(options, ("wrt", "sparse", "sparsity"))
    if function is None:
        return functools.partial(_matrix, kind=kind, wrt=wrt, sparse=sparse, sparsity=sparsity, options=options)
    function = as_python(function)
    whole = bound(function)
    if has_paths(wrt):
        raise Unsupported(
            f"wrt={wrt!r}, a part of an argument, in a sparse {kind}",
            instead="Pass that part as a separate argument.",
        )
    inner = function if whole is None else whole.function
    made = derivatives.made(kind, inner, wrt if whole is None else whole.positions(wrt), **chosen.for_derivatives())
    derived = sparse_derivative(made, chosen, kind == "hessian", sparsity)
    return derived if whole is None else BoundDerived(derived, whole, 0)


def _derived(
    function: Any,
    kind: str,
    wrt: Wrt,
    options: dict[str, Any],
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: str | Sequence[str] = (),
) -> Any:
    """The derived function, or a decorator that makes it."""
    own = ("wrt", "has_aux", "holomorphic", "intermediates") if kind in ("grad", "value_and_grad") else ("wrt",)
    chosen = make_options(options, own)
    for name, given in (("has_aux", has_aux), ("holomorphic", holomorphic)):
        if not isinstance(given, bool):
            raise WrongCall(f"{name}={given!r}", instead=f"Write {name}=True or {name}=False.")
    if function is None:
        further: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "intermediates": intermediates}
        return functools.partial(_derived, kind=kind, wrt=wrt, options=options, **further)
    function = as_python(function)
    whole = bound(function)
    settings = {**chosen.for_derivatives(), "holomorphic": holomorphic} if holomorphic else chosen.for_derivatives()
    if intermediates:
        settings |= _places(intermediates, has_aux or holomorphic, chosen)
        has_aux = True  # their adjoints are where the second result of the function would be
    if has_paths(wrt):
        if chosen.target == "cuda-device":
            raise Unsupported(
                f"wrt={wrt!r}, a part of an argument, in a kernel",
                instead="Pass that part as a separate argument.",
            )
        inner = function if whole is None else whole.function
        derived = by_branch(kind, inner, wrt, has_aux, settings, chosen)
        return derived if whole is None else BoundDerived(derived, whole, kind == "hvp")
    if whole is not None:
        inner = derivatives.made(kind, whole.function, whole.positions(wrt), has_aux, **settings)
        return BoundDerived(derive(inner, chosen), whole, kind == "hvp")
    return derive(derivatives.made(kind, function, wrt, has_aux, **settings), chosen)


def _places(names: str | Sequence[str], has_others: bool, options: Options) -> dict[str, Any]:
    """What a Derivative says of the places whose adjoints are asked for."""
    asked = (names,) if isinstance(names, str) else names
    if not isinstance(asked, tuple | list) or not all(isinstance(one, str) for one in asked):
        raise WrongCall(f"intermediates={names!r}", instead="Give a name, or a tuple of names.")
    if len(set(asked)) < len(asked):
        raise WrongCall(f"intermediates={names!r} has a name twice", instead="Name each only once.")
    if has_others:
        raise WrongCall(
            "intermediates with has_aux or holomorphic",
            why="Their adjoints are returned instead of aux, and are real.",
            instead="Ask for them in a separate gradient.",
        )
    if options.target in ("cuda", "cuda-device"):
        raise Unsupported("intermediates on a GPU", instead='Ask for them with target="cpu".')
    return {"intermediates": tuple(asked), "bare": isinstance(names, str)}


def value_of(spec: Any, options: Options) -> Any:
    """The function itself, compiled as its derivatives are."""
    made = spec if isinstance(spec, Derivative) else Derivative(function=spec, kind="primal", wrt=None)
    return derive(made, options)


def bind(spec: Any, arguments: Sequence[Any], expected: inspect.Signature | None = None) -> tuple[Any, ...]:
    """The arguments with the defaults of those left out; WrongCall if there are too many or too few."""
    _check_tuple(spec, arguments)
    return derivatives.bound(spec, arguments, expected=expected)


def _check_tuple(spec: Any, arguments: Any) -> None:
    if not isinstance(arguments, tuple | list):
        raise TypeMismatch(
            f"the arguments of {shown(spec)} are {described(arguments)}, not a tuple",
            instead="Write (x,) for a single x.",
        )


def active_positions(arguments: Sequence[Any]) -> tuple[int, ...]:
    """The arguments that a derivative flows into: floats, arrays of floats, and tuples with any of those."""
    parts = enumerate(leaves(template(argument)) for argument in arguments)
    return tuple(position for position, found in parts if any(leaf.is_active for leaf in found))
