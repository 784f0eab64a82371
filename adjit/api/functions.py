"""The public transformations of functions.

In: a Python function, a numba dispatcher, or what these return. Out: derived functions, or values and derivatives.

    grad(energy, wrt="x")(x, k)              the gradient, shaped as x
    value, pullback = vjp(forces, x, k)      pullback(seed) == (x_bar, k_bar)
    value, tangent = jvp(forces, (x, k), (x_dot, 0.0))

Each of them takes the options of `adjit.api.specialise.options.Asked`.

Global and enclosing variables are constants, as in numba. A derived function keeps the values that they had when it was
compiled. `grad(energy)`, or any call of `vjp` or `jvp`, sees globals that were assigned, patched or replaced since, but
not an array whose elements changed. A pullback belongs to the values of its forward sweep.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numba import types
from numba.extending import overload, typeof_impl

from adjit.api.arguments.structures import Layouts, Patterns, has_tables, laid_out, like, patterns_in, taken
from adjit.api.arguments.trees import (
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
from adjit.api.arguments.types import as_given, has_typed
from adjit.api.bound_callables import BoundDerived, SpreadDerived, bound, has_stars, spread
from adjit.api.branches import by_branch, has_paths
from adjit.api.calls import AlongVectors, Choosing
from adjit.api.gpu.in_kernels import check_kind
from adjit.api.gpu.on_device import pull_on_device, push_on_device
from adjit.api.sparse import sparse_derivative
from adjit.api.specialise.dispatch import Specialising, derive, register
from adjit.api.specialise.options import Asked, Options, make_options, takes_options
from adjit.errors import Stretched, TypeMismatch, Unsupported, WrongCall
from adjit.rules.library_functions import as_python
from adjit.runtime.library import is_of_shapes
from adjit.runtime.library import stop_gradient as stop_gradient
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import WIDEST, Derivative, Wrt, of_structures, shown, specification
from adjit.transform.source.marks import DERIVING, Checkpointed, checkpoint, intermediate

if TYPE_CHECKING:
    from adjit.api.specialise.explain import Explanation


@takes_options
def grad(
    function: Any = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: str | Sequence[str] = (),
    **options: Unpack[Asked],
) -> Any:
    """The gradient of a function whose result is one real number, with respect to the parameters in `wrt`.

    A function with the parameters of `function`. A single `wrt` gives a gradient with the shape of that argument, a
    tuple gives a tuple. It is also a decorator: `@grad`, `@grad(wrt="x")`.

    - `wrt`: positions or names of parameters. A name may select a part of an argument: "params.layers[0].w".
    - `has_aux`: the function returns (value, aux), and the result is (gradient, aux).
    - `holomorphic`: the complex derivative df/dz of a complex result with respect to complex arguments. The function
      must be holomorphic, so without abs() or conj(). This is not checked.
    - `intermediates`: names of values that the function marks with `adjit.intermediate(x, name)`. The result is
      (gradient, adjoints), with one adjoint per name.

    Raises WrongCall for an unknown option, and SourceUnavailable for a function whose source cannot be read. WrongWrt
    is for a name that is not a parameter. The first call with new argument types raises NotScalar, TypeMismatch,
    NoRule or Unsupported if the function cannot be differentiated.
    """
    return _derived(function, "grad", wrt, options, has_aux, holomorphic, intermediates)


@takes_options
def value_and_grad(
    function: Any = None,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    intermediates: str | Sequence[str] = (),
    **options: Unpack[Asked],
) -> Any:
    """Like `grad`, with the value: (value, gradient).

    - `wrt`, `holomorphic`: as in `grad`.
    - `has_aux`: the function returns (value, aux), and the result is ((value, aux), gradient).
    - `intermediates`: names of values inside, as in `grad`. The result is ((value, adjoints), gradient).

    Raises what `grad` raises.
    """
    return _derived(function, "value_and_grad", wrt, options, has_aux, holomorphic, intermediates)


@takes_options
def jvp(
    function: Any, primals: Sequence[Any], tangents: Sequence[Any], *, several: bool = False, **options: Unpack[Asked]
) -> tuple[Any, Any]:
    """The value at `primals` and its derivative along `tangents`, by forward mode: (value, tangent).

    - `tangents`: one per argument, with its shape. The tangent of an integer or a boolean is ignored unless it has
      floats, and then it has to be zero. The tangent of a fixed complex argument has to be zero, too.
    - `several`: each tangent has one more axis, the first, and so has the result:
      `jvp(f, (x,), (np.eye(x.size),), several=True)`. Up to eight tangents go through the function together.

    Raises TypeMismatch for a tangent that does not fit its argument, and what `grad` raises except NotScalar.
    """
    chosen = make_options(options, ("several",))
    check_kind("jvp", chosen.target)
    _check_several(several, chosen)
    function = as_python(function)
    whole = bound(function)
    spec = specification(function if whole is None else whole.function)
    _check_tuple(spec, primals)
    given = primals
    if has_stars(spec):
        spec, given = spread(spec, primals, {})
    # what a method or a partial holds is an argument as well, which does not change
    expected = derivatives.parameters(spec)
    arguments = bind(spec, given, expected) if whole is None else whole.all(primals, {})
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


@takes_options
def vjp(function: Any, *arguments: Any, **options: Unpack[Asked]) -> tuple[Any, Any]:
    """The value and the pullback, by reverse mode. The pullback maps a seed to the adjoints of the arguments.

    The seed is an adjoint of the value, with its shape; for a tuple, a tuple. The pullback returns a tuple with one
    entry per argument, and None for arguments without a derivative (integers). It may be called many times, also
    after the arguments have changed. `pullback(seeds, several=True)` takes seeds along one more axis, the first, and
    returns adjoints with that axis. Up to eight seeds go through the reverse sweep together.

    Raises TypeMismatch for a seed that does not fit the value, and what `grad` raises except NotScalar.
    """
    function = as_python(function)
    whole = bound(function)
    if whole is not None:
        # what it holds is an argument as well, whose adjoint nobody asks for
        value, pullback = vjp(whole.function, *whole.all(arguments, {}), **options)
        return value, dataclasses.replace(pullback, _positions=whole.places(len(arguments)))
    if has_stars(function):
        spec, given = spread(function, arguments, {})
        value, pullback = vjp(spec, *given, **options)
        return value, dataclasses.replace(pullback, _positions=range(len(arguments)))
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
        found = forward.strict(*kept)
    except (Stretched, ValueError) as fault:
        if not is_of_shapes(fault):
            raise
        found = None
    if found is None:
        # both halves assume the same of their arguments
        forward = forward.stretching
        found = forward(*kept)
    value, saved, changed = found
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
    """The reverse sweep of one evaluation: from a seed to one adjoint per argument.

    It starts from the values that the forward sweep saved. Where these cannot leave compiled code (a tape of arrays
    that a loop creates), both sweeps run. `consumed`: saved values that the sweep changes, so that each call gets a
    copy. `kinds`: the numbers among the arguments, whose types their adjoints have.
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


@takes_options
def hvp(function: Any = None, wrt: Wrt = 0, **options: Unpack[Asked]) -> Any:
    """The product of the Hessian of a scalar function with a vector: `hvp(f)(*args, v)`.

    The vector v has the shape of the argument; for a tuple `wrt` it is a tuple. The Hessian itself is never computed:
    it is forward mode over reverse mode (Pearlmutter 1994), at the cost of a few gradients.

    Raises TypeMismatch for a vector that does not fit the argument, and what `grad` raises.
    """
    return _derived(function, "hvp", wrt, options)


@takes_options
def jet(function: Any, order: int, wrt: Wrt = 0, **options: Unpack[Asked]) -> Any:
    """The Taylor coefficients of a function along a vector, up to `order`.

    `jet(f, 2)(*args, v)` is (f(x), f'(x) v, v f''(x) v / 2): the coefficients of f(x + t v) as a polynomial in t. The
    vector v has the shape of the argument; for a tuple `wrt` it is a tuple. Each order is the forward mode of the one
    before, so that the cost doubles with each.

    Raises WrongCall for an order that is not a positive integer, and Unsupported for a part of an argument in `wrt` and
    for a GPU.
    """
    chosen = make_options(options, ("order", "wrt"))
    if chosen.target in ("cuda", "cuda-device"):
        raise Unsupported("jet for a GPU", instead='Use target="cpu", or nest adjit.jvp.')
    if has_paths(wrt):
        raise Unsupported(
            f"wrt={wrt!r}, a part of an argument, in a jet", instead="Pass that part as a separate argument."
        )
    function = as_python(function)
    if has_stars(function):
        return SpreadDerived(function, functools.partial(jet, order=order, wrt=wrt, **options), "jet", 1)
    whole = bound(function)
    inner, positions = (function, wrt) if whole is None else (whole.function, whole.positions(wrt))
    made = derive(derivatives.made("jet", inner, positions, order=order, **chosen.for_derivatives()), chosen)
    return made if whole is None else BoundDerived(made, whole, 1)


@takes_options
def jacfwd(function: Any = None, wrt: Wrt = 0, **options: Unpack[Asked]) -> Any:
    """The Jacobian by forward mode, with the shape result.shape + argument.shape.

    It takes one forward sweep per eight columns, and suits functions with more results than arguments, or not many
    more arguments. A tuple as the result, as an argument or as `wrt` gives a tuple of Jacobians, by result first.

    Raises WrongWrt for a name that is not a parameter, and what `grad` raises except NotScalar.
    """
    return _derived(function, "jacfwd", wrt, options)


@takes_options
def jacrev(function: Any = None, wrt: Wrt = 0, **options: Unpack[Asked]) -> Any:
    """The Jacobian by reverse mode, structured as by `jacfwd`.

    It takes one forward sweep, and one reverse sweep per eight rows. It suits functions with fewer results than
    arguments. Raises what `jacfwd` raises.
    """
    return _derived(function, "jacrev", wrt, options)


@takes_options
def jacobian(
    function: Any = None, wrt: Wrt = 0, *, sparse: bool = False, sparsity: Any = None, **options: Unpack[Asked]
) -> Any:
    """The Jacobian, with the shape result.shape + argument.shape, by the mode that takes fewer sweeps.

    It is `jacfwd` unless `jacrev` needs fewer sweeps. The number of results comes from one evaluation per new shapes
    and integers of the arguments. Inside compiled code, `jacrev` is taken where results are numbers and arguments are
    arrays.

    - `sparse`: a `scipy.sparse.csr_array` of shape (result.size, argument.size) in C order, per result and argument.
      Its pattern comes from a run that finds which arguments each result depends on. It is found again for arguments
      that may have another pattern; `.sparsity(*args)` returns it. Columns (or rows) without a common row (column)
      share a sweep (Curtis, Powell and Reid 1974).
    - `sparsity`: a pattern, as a matrix or as `.sparsity` returns it, which must contain all entries of the one found.

    Raises what `jacfwd` raises, and WrongCall for a `sparsity` with a missing entry or without `sparse`. A sparse
    Jacobian raises Unsupported for complex numbers, random draws and parts of arguments.
    """
    return _matrix(function, "jacobian", wrt, sparse, sparsity, options)


@takes_options
def hessian(
    function: Any = None, wrt: Wrt = 0, *, sparse: bool = False, sparsity: Any = None, **options: Unpack[Asked]
) -> Any:
    """The Hessian of a scalar function, with the shape argument.shape + argument.shape.

    It is the Jacobian, by columns, of the gradient.

    - `sparse`: a `scipy.sparse.csr_array`, as in `jacobian`. Columns share a sweep if each entry, or its mirror image,
      can be recovered (star colouring, Gebremedhin, Manne and Pothen 2005).
    - `sparsity`: a pattern, as in `jacobian`.

    Raises NotScalar for a result that is not one number, and what `jacobian` raises.
    """
    return _matrix(function, "hessian", wrt, sparse, sparsity, options)


@takes_options
def vmap(function: Any = None, in_axes: Any = 0, out_axes: int = 0, **options: Unpack[Asked]) -> Any:
    """The function mapped over a new axis: `vmap(f)(x, y)[i] == f(x[i], y[i])`.

    - `in_axes`: the axis of each argument. A number is for all arguments without a default, a tuple has one entry per
      argument, a dictionary has names. None, or a missing name, is for arguments that are the same in all calls. For a
      tuple of arrays the axis holds for each array.
    - `out_axes`: the axis of the results.

    It runs a loop; with `parallel=True` its iterations run in threads. `grad(vmap(f))` and `vmap(grad(f))` both work:
    `vmap(grad(loss), {"x": 0})(w, x)` has the gradient of each sample.

    Raises WrongCall for axes that do not fit the parameters, and TypeMismatch for an argument without its axis. A call
    raises ValueError for arguments whose lengths differ along the axis, or for a length of 0 where results are arrays.
    Raises Unsupported in a kernel.
    """
    chosen = make_options(options, ("in_axes", "out_axes"))
    if chosen.target == "cuda-device":
        raise Unsupported("vmap in a kernel", instead="Call the function in each thread.")
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
    function = as_python(function)
    if has_stars(function):
        make = functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
        return SpreadDerived(function, make, "vmap", 0)
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


def _matrix(function: Any, kind: str, wrt: Wrt, sparse: bool, sparsity: Any, options: Mapping[str, Any]) -> Any:
    """The derived function, or a decorator that makes it, for a matrix that may be sparse."""
    if not isinstance(sparse, bool):
        raise WrongCall(f"sparse={sparse!r}", instead="Write sparse=True or sparse=False.")
    if not sparse and sparsity is None:
        return _derived(function, kind, wrt, options)
    if not sparse:
        raise WrongCall("sparsity without sparse=True", instead="Write sparse=True, or leave sparsity out.")
    chosen = make_options(options, ("wrt", "sparse", "sparsity"))
    make = functools.partial(_matrix, kind=kind, wrt=wrt, sparse=sparse, sparsity=sparsity, options=options)
    if function is None:
        return make
    function = as_python(function)
    if has_stars(function):
        return SpreadDerived(function, make, kind, 0)
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
    options: Mapping[str, Any],
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
    further: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "intermediates": intermediates}
    make = functools.partial(_derived, kind=kind, wrt=wrt, options=options, **further)
    if function is None:
        return make
    function = as_python(function)
    if has_stars(function) and chosen.target != "cuda-device":
        return SpreadDerived(function, make, kind, kind == "hvp")
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
    """The arguments with defaults for the missing ones; WrongCall if there are too many or too few."""
    _check_tuple(spec, arguments)
    return derivatives.bound(spec, arguments, expected=expected)


def _check_tuple(spec: Any, arguments: Any) -> None:
    if not isinstance(arguments, tuple | list):
        raise TypeMismatch(
            f"the arguments of {shown(spec)} are {described(arguments)}, not a tuple",
            instead="Write (x,) for a single x.",
        )


def active_positions(arguments: Sequence[Any]) -> tuple[int, ...]:
    """The positions of arguments with a derivative: floats, arrays of floats, and tuples that contain them."""
    parts = enumerate(leaves(template(argument)) for argument in arguments)
    return tuple(position for position, found in parts if any(leaf.is_active for leaf in found))
