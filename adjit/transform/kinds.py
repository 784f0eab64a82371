"""What each kind of derivative takes and returns: the gradient, its value beside it, the adjoint, tangents, matrices.

In: a `Derivative`, numba types, and the compiler, which makes the primal. Out: a function.

    grad    reverse from the seed 1, both sweeps in one       jvp    forward, the tangents beside the arguments
    vjp     reverse from the seed that is the last argument   jacobian    by columns or by rows
    split   reverse, cut between the sweeps                   hvp    forward through a gradient
    vmap    a loop over calls                                 jet    forward, again and again
    sparsity    index sets through the program                compressed    the entries of a sparse Jacobian
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from numba import types

from adjit import errors
from adjit.notation import to_text
from adjit.transform import ir
from adjit.transform.analysis import effects
from adjit.transform.analysis.alias import Aliases
from adjit.transform.derive import Compiler, forward, is_exchange, reverse, with_places
from adjit.transform.derive.forward import taylor
from adjit.transform.derive.intermediates import shifted
from adjit.transform.derive.jacobians.batched_directions import several_seeds, several_tangents
from adjit.transform.derive.jacobians.compressed_jacobian import (
    Plan,
    compressed_columns,
    compressed_rows,
    compressed_whole_rows,
)
from adjit.transform.derive.jacobians.jacobian import Changed, by_columns, by_rows, by_whole_rows
from adjit.transform.derive.jacobians.sparsity_patterns import index_sets
from adjit.transform.derive.jacobians.vmap import element_type, mapped
from adjit.transform.derive.mirror import Sweeps
from adjit.transform.derive.rounding import rounded
from adjit.transform.ir.types import part_type, tuple_parts, typed_const, unliteral
from adjit.transform.machine.threads import threaded
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.strip_markers import without_places
from adjit.transform.rewrite.verified import checked
from adjit.transform.source.derivative import (
    ALONG_A_VECTOR,
    Derivative,
    Enclosed,
    layout_of,
    parameters,
    root,
    shown,
    signature,
)
from adjit.transform.source.parsing import read_source
from adjit.transform.source.structures import Layout
from adjit.transform.sweeps import both_sweeps, into, split, sweeps_apart

IN_HALVES = ("split_forward", "split_reverse")


class _Asked(NamedTuple):
    """What to derive, of which function; `names` and `given`, types: of the parameters that come after the primal's."""

    derivative: Derivative
    function: ir.Function
    compiler: Compiler
    names: Sequence[str]
    given: Sequence[types.Type]
    shifts: Sequence[ir.Var] = ()  # what is differentiated with respect to after `wrt`

    @property
    def wrt(self) -> list[ir.Tree]:
        """The arguments to differentiate with respect to."""
        return [self.function.params[position] for position in self.derivative.wrt or ()]

    @property
    def adjoints(self) -> ir.Tree:
        """The adjoints of those by position, where these are the yields; None for leaves that carry none."""
        position = itertools.count()
        return ir.map_tree(lambda leaf: next(position) if ir.is_float(leaf.type) else None, tuple(self.wrt))

    def reverse(self, seeds: Sequence[ir.Operand | None]) -> Sweeps:
        """Both sweeps, from the adjoint of each yield."""
        active = [*(leaf for leaf in ir.leaves(tuple(self.wrt)) if ir.is_float(leaf.type)), *self.shifts]
        function = with_places(self.function) if self.derivative.strategy.uses("places") else self.function
        return reverse(function, active, seeds, self.compiler)

    def joint(self, seeds: Sequence[ir.Operand | None], extra: Sequence[ir.Var], with_value: bool) -> ir.Function:
        derivative = self.derivative
        sweeps = self.reverse(seeds)
        return without_places(both_sweeps(sweeps, extra, with_value, derivative.memory_limit, derivative.strategy))

    def seeded(self, name: str, tree: ir.Tree) -> ir.Function:
        """Both sweeps in one, from a seed that is the last parameter."""
        function = self.function
        made = self.joint(_seeds(function, tree), ir.leaves(tree), False)
        return dataclasses.replace(
            made, names=(*function.names, name), params=(*function.params, tree), result=self.adjoints
        )


def derived(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    """The derivative for arguments of these types; raises WrongWrt, NotScalar, TypeMismatch, Unsupported."""
    own_names = list(parameters(derivative.function).parameters)
    given = derivative.given if derivative.kind == "split_reverse" else arg_types
    _check_wrt(derivative, own_names, given)
    own, further = given[: len(own_names)], given[len(own_names) :]
    names = list(signature(derivative).parameters)[len(own) :] if further else []
    if derivative.kind == "vmap":
        own, further, names = _elements(derivative, own_names, own), own, own_names
    function = compiler.primal(derivative, own)
    _check_exchanges(derivative, function)
    make, ending, title = _KINDS[derivative.kind]
    made = make(_Asked(derivative, function, compiler, names, further))
    origin = function.origin
    where = "" if origin is None else f" at {errors.named(origin.filename)}:{origin.line}"
    wrt = "" if derivative.wrt is None else " with respect to " + ", ".join(function.names[p] for p in derivative.wrt)
    name = f"{function.name}_{ending}" + "_into" * derivative.into
    return _without_marks(dataclasses.replace(made, name=name, doc=f"{title} of {function.name}{where}{wrt}."))


# Those that run a program, and its reverse, once.
_OF_ONE_RUN = ("primal", "grad", "value_and_grad", "vjp", "jvp", "hvp", "split_forward", "split_reverse")


def _check_exchanges(derivative: Derivative, function: ir.Function) -> None:
    """Refuses what would send messages again, of a program in which other processes take part."""
    sent = next((op for op in function.body.inside if is_exchange(op)), None)
    if sent is not None and (derivative.kind not in _OF_ONE_RUN or derivative.several):
        _, _, title = _KINDS[derivative.kind]
        several = ", for several seeds at once," if derivative.several else ""
        raise errors.Unsupported(
            f"{title.removesuffix(', by columns,').removesuffix(', by rows,')}{several} of a program with messages",
            ir.place_of(sent.origin),
            "The other processes would have to run as often, each time with another direction.",
            "Use adjit.grad, value_and_grad, vjp, jvp or hvp: there each message has exactly one counterpart.",
        )


def values_in(derivative: Derivative, result: ir.Tree) -> list[int]:
    """The positions of what the user's function computes among the results; the others are derivatives."""
    if derivative.kind in ("value_and_grad", "jvp", "rounding"):
        result = result[0]
    elif derivative.kind == "grad":
        result = result[1] if derivative.has_aux else None
    elif derivative.kind not in ("primal", "split_forward", "vmap"):
        result = None
    return [k for k in ir.leaves(result) if k is not None]


def _without_marks(function: ir.Function) -> ir.Function:
    """The derivative without `checkpoint`, which it has made use of; a call that was marked so is no loop any more."""
    if all(op.snapshots is None for op in ir.walk(function.body) if isinstance(op, ir.For)):
        return function
    body = ir.with_ops(function.body, [ir.with_loops(op, snapshots=None) for op in function.body.ops])
    return checked(simplify(ir.with_body(function, body)), "unmarked")


# ---------------------------------------------------------------------------------------------------------- reverse


def _gradient(asked: _Asked) -> ir.Function:
    derivative, function = asked.derivative, asked.function
    value_tree, aux_tree = function.result, None
    if derivative.intermediates:
        places = shifted(function, derivative.intermediates)
        asked = asked._replace(function=places.function, shifts=places.shifts)
    elif derivative.has_aux:
        if not isinstance(function.result, tuple) or len(function.result) != 2:
            raise errors.NotScalar(
                f"{function.name} does not return a pair",
                _place(function.origin),
                "has_aux asks for (value, aux).",
                "Return a pair, or leave has_aux out.",
            )
        value_tree, aux_tree = function.result
    # of a holomorphic function u + iv it is dv/dy + i dv/dx
    seeded = _imaginary(asked, value_tree) if derivative.holomorphic else value_tree
    if not derivative.holomorphic:
        _check_scalar(derivative, function, value_tree)
    one = typed_const(1, function.body.yields[seeded].type)
    seeds = [one if k == seeded else None for k in range(len(function.body.yields))]
    # what is checked is what the function does, and not only what its gradient needs
    has_aux = derivative.has_aux and not derivative.intermediates
    with_value = derivative.kind == "value_and_grad" or has_aux or derivative.nancheck
    made = asked.joint(seeds, (), with_value)
    offset = len(function.body.yields) if with_value else 0
    grads = _moved(asked.adjoints, offset)
    grads = _turned(grads) if derivative.holomorphic else grads
    result = grads[0] if derivative.single else grads
    value = function.result
    if derivative.intermediates:
        made = checked(places.without(made), "places")
        count = len(made.body.yields)
        adjoints = tuple(range(count - len(places.shifts), count))
        aux_tree = adjoints[0] if derivative.bare else adjoints
        value = (value, aux_tree)
    if derivative.kind == "value_and_grad":
        result = (value, result)
    elif derivative.has_aux:
        result = (result, aux_tree)
    if derivative.into:
        if ir.pairs(tuple(asked.wrt)):
            raise errors.Unsupported(
                f"{shown(derivative)} into arrays of complex numbers",
                _place(function.origin),
                "adjit stores real and imaginary parts in separate arrays.",
                "Call it without out.",
            )
        made = checked(into(made, asked.wrt, _trees(asked.names, asked.given), asked.names, offset), "into")
    return dataclasses.replace(made, result=result)


def _rounding(asked: _Asked) -> ir.Function:
    """The value, and for each statement the bound of what its rounding changes of it."""
    _check_scalar(asked.derivative, asked.function, asked.function.result, "rounding error")
    function, bounds = rounded(asked.function)
    asked = asked._replace(function=function, shifts=(bounds,))
    value = function.result
    one = typed_const(1, function.body.yields[value].type)
    seeds = [one if k == value else None for k in range(len(function.body.yields))]
    made = asked.joint(seeds, (), True)
    return dataclasses.replace(made, result=(value, len(made.body.yields) - 1))


def _imaginary(asked: _Asked, tree: ir.Tree) -> int:
    """Which yield is the imaginary part of the number that a holomorphic function of complex arguments returns."""
    derivative, function = asked.derivative, asked.function
    own = ir.pairs(tuple(asked.wrt))
    if any(ir.is_float(leaf.type) and not any(leaf in pair for pair in own) for leaf in ir.leaves(tuple(asked.wrt))):
        raise errors.WrongWrt(
            f"the complex derivative of {shown(derivative.function)} with respect to a real argument",
            _place(function.origin),
            "holomorphic=True is for complex arguments in wrt.",
            "Pass complex(x), or an array of complex numbers, or leave holomorphic out.",
        )
    if not isinstance(tree, ir.Pair) or ir.is_array(function.body.yields[tree[1]]):
        raise errors.NotScalar(
            f"the complex derivative of {shown(derivative.function)}, which does not return one complex number",
            _place(function.origin),
            "holomorphic=True is for a function whose result is one complex number.",
            "Return one complex number, or leave holomorphic out.",
        )
    return int(tree[1])


def _turned(tree: ir.Tree) -> ir.Tree:
    """A tree with the parts of each complex number exchanged."""
    if isinstance(tree, ir.Pair):
        return ir.Pair(tree[::-1])
    return tuple(map(_turned, tree)) if isinstance(tree, tuple) else tree


def _vjp(asked: _Asked) -> ir.Function:
    (name,), (tree,) = asked.names, _trees(asked.names, asked.given)
    if len(ir.leaves(tree)) != len(ir.leaves(asked.function.result)):
        raise errors.TypeMismatch(
            "the seed is not structured like the result",
            _place(asked.function.origin),
            "",
            "Give a tuple where the result is one.",
        )
    if not asked.derivative.several:
        return asked.seeded(name, tree)
    seed = _seed_tree(asked.function)
    return _for_seeds(asked, asked.seeded(name, seed), seed, Changed())


def _for_seeds(asked: _Asked, sweep: ir.Function, seed: ir.Tree, changed: Changed) -> ir.Function:
    """A sweep for several seeds at once, the last parameter."""
    seeds = ir.map_tree(_with_axis, seed)
    made = several_seeds(sweep, seed, seeds, changed, asked.derivative.width, asked.compiler.derivative)
    return _simplified(checked(made, "several"))


def _with_axis(leaf: ir.Var) -> ir.Var:
    """A variable for several of such."""
    if not ir.is_float(leaf.type):
        return leaf
    kind, rank = (leaf.type.dtype, leaf.type.ndim) if isinstance(leaf.type, types.Array) else (leaf.type, 0)
    return ir.Var(leaf.name, types.Array(kind, rank + 1, "C"))


def _split(asked: _Asked) -> ir.Function:
    derivative, function = asked.derivative, asked.function
    # in one half of the cut, what shares memory is not seen any more
    values = range(len(function.body.yields))
    in_threads = functools.partial(
        threaded, values=values, is_parallel=derivative.parallel, strategy=derivative.strategy
    )
    halves = _halves(asked, in_threads)
    if halves is None:
        _check_repeatable(function)
    if derivative.kind == "split_forward":
        if halves is not None:
            return halves[0]
        return dataclasses.replace(in_threads(function), result=(function.result, None, None))
    if halves is None:
        raise errors.InternalError(f"the sweeps of {function.name} cannot be split")
    sweep = dataclasses.replace(halves[1], result=asked.adjoints)
    if not derivative.several:
        return sweep
    _, changed, seed = sweep.params
    aliases = halves[0].analysis(Aliases)
    if aliases.may_be_views(ir.leaves(changed), has_names=True):
        raise errors.Unsupported(
            f"several seeds for the pullback of {function.name}, which changes an array that has a second name",
            _place(function.origin),
            "Each seed needs the array as the forward sweep left it.",
            "Call the pullback once per seed, or work on a copy of the array: x = x.copy().",
        )
    return _for_seeds(asked, sweep, seed, Changed(ir.leaves(changed), aliases))


def _halves(
    asked: _Asked, before: Callable[[ir.Function], ir.Function] = lambda joint: joint
) -> tuple[ir.Function, ir.Function] | None:
    """The sweeps apart; None if what the reverse sweep needs cannot be handed on. `before`: done while they are one."""
    derivative, function = asked.derivative, asked.function
    tree = _seed_tree(function)
    leaves = ir.leaves(tree)
    sweeps = asked.reverse(_seeds(function, tree))
    joint = without_places(sweeps_apart(sweeps, leaves, derivative.memory_limit, derivative.strategy))
    joint = dataclasses.replace(
        joint, names=(*function.names, "out_bar"), params=(*function.params, tree), result=function.result
    )
    return split(before(joint), len(function.body.yields), leaves, ("out_bar",))


def _check_repeatable(function: ir.Function) -> None:
    # all processes run their sweeps again, with the same messages
    if any(effects.draws(op) and not is_exchange(op) for op in ir.walk(function.body)):
        raise errors.Unsupported(
            f"the pullback of {function.name}, which draws random numbers and creates arrays in a loop",
            _place(function.origin),
            "The sweeps cannot run separately, and a second run would draw other numbers.",
            "Use adjit.grad or adjit.value_and_grad, or pass the random numbers as an argument.",
        )


def _seed_tree(function: ir.Function) -> ir.Tree:
    """A seed as the result is built: arrays in C order, numbers of its own type."""

    def seed(k: int | None) -> ir.Var:
        type_ = types.none if k is None else function.body.yields[k].type
        if isinstance(type_, types.Array):
            type_ = types.Array(type_.dtype, type_.ndim, "C")
        return ir.Var("out_bar", type_)

    return ir.map_tree(seed, function.result)


def _seeds(function: ir.Function, tree: ir.Tree) -> list[ir.Var | None]:
    """The adjoint of each yield, from a seed that is built like the result."""
    by_yield = dict(zip(ir.leaves(function.result), ir.leaves(tree), strict=True))

    def seed(k: int) -> ir.Var | None:
        found = by_yield.get(k)
        is_active = found is not None and ir.is_float(function.body.yields[k].type) and ir.is_float(found.type)
        return found if is_active else None

    return [seed(k) for k in range(len(function.body.yields))]


# ---------------------------------------------------------------------------------------------------------- forward


def _jvp(asked: _Asked) -> ir.Function:
    trees = _trees(asked.names, asked.given)
    return _simplified(_pushed(asked, dict(enumerate(trees)), trees))


def _hvp(asked: _Asked) -> ir.Function:
    """The tangent of a gradient alone, along a vector."""
    made = _pushed(asked, *_vectors(asked))
    values = len(asked.function.body.yields)
    body = dataclasses.replace(made.body, yields=made.body.yields[values:])
    return _simplified(dataclasses.replace(made, body=body, result=_moved(made.result[1], -values)))


def _jet(asked: _Asked) -> ir.Function:
    """The Taylor coefficients along a vector: the tangent of the argument in `wrt`, or a tuple of those."""
    along, trees = _vectors(asked)
    dots = _dots(asked, along)
    made = taylor(asked.function, dots, trees, asked.names, asked.derivative.order, asked.compiler.derivative)
    return _simplified(checked(made, "taylor"))


def _vectors(asked: _Asked) -> tuple[dict[int, ir.Tree], Sequence[ir.Tree]]:
    """The tangent of each argument in `wrt`, from a vector that is the last parameter, and that as a parameter."""
    derivative = asked.derivative
    assert derivative.wrt is not None
    (vector,) = asked.given
    parts = (vector,) if derivative.single else tuple_parts(vector) if isinstance(vector, types.BaseTuple) else ()
    if len(parts) != len(derivative.wrt):
        raise errors.TypeMismatch(
            f"the vector of {shown(derivative)} is of type {to_text(vector)}, not a tuple of {len(derivative.wrt)}",
            instead="Give one vector per argument in wrt, with the shape of the argument.",
        )
    trees = _trees([f"{asked.function.names[p]}_dot" for p in derivative.wrt], parts)
    return dict(zip(derivative.wrt, trees, strict=True)), trees if derivative.single else [trees]


def _pushed(asked: _Asked, tangents: Mapping[int, ir.Tree], trees: Sequence[ir.Tree]) -> ir.Function:
    """Forward mode with tangents of the arguments at these positions; `trees`: of the parameters for them."""
    dots, build = _dots(asked, tangents), asked.compiler.derivative
    if not asked.derivative.several:
        return checked(forward(asked.function, dots, trees, asked.names, build), "forward")
    _check_drawless(asked, "several tangents at once")
    made = several_tangents(asked.function, dots, trees, asked.names, asked.derivative.width, build)
    return checked(made, "several")


def _dots(asked: _Asked, tangents: Mapping[int, ir.Tree]) -> list[ir.Var | None]:
    """The tangent of each leaf of the arguments, None where one is held fixed; TypeMismatch where it is not like it."""
    derivative, function = asked.derivative, asked.function
    dots: list[ir.Var | None] = []
    for position, own in enumerate(function.params):
        is_wanted = position in tangents and (derivative.wrt is None or position in derivative.wrt)
        own_leaves = ir.leaves(own)
        leaves = ir.leaves(tangents[position]) if is_wanted else [None] * len(own_leaves)
        if len(leaves) != len(own_leaves):
            raise _unlike(derivative, function.names[position])
        for leaf, p in zip(leaves, own_leaves, strict=True):
            is_active = leaf is not None and ir.is_float(p.type)
            if is_active and not _is_like(leaf.type, p.type, derivative.several):
                raise _unlike(derivative, function.names[position], leaf.type, p.type)
            dots.append(leaf if is_active else None)
    return dots


def _is_like(tangent: types.Type, own: types.Type, several: bool) -> bool:
    """Whether a tangent has the type for an argument; the layout of an array is its own. `several`: or several have."""
    if isinstance(own, types.Array):
        return isinstance(tangent, types.Array) and tangent.dtype == own.dtype and tangent.ndim == own.ndim + several
    if several:
        return isinstance(tangent, types.Array) and tangent.dtype == own and tangent.ndim == 1
    return bool(tangent == own)


def _unlike(
    derivative: Derivative, name: str, tangent: types.Type | None = None, own: types.Type | None = None
) -> errors.TypeMismatch:
    which = "the vector along" if derivative.kind in ALONG_A_VECTOR else "the tangent of argument"
    why = "" if tangent is None or own is None else f"It is of type {to_text(tangent)}, the argument {to_text(own)}."
    return errors.TypeMismatch(
        f"{which} {name!r} of {shown(derivative)} does not fit its argument",
        why=why,
        instead="Give a float for a float, and an array of that type and rank for an array.",
    )


# --------------------------------------------------------------------------------------------------------- mapped


def _vmap(asked: _Asked) -> ir.Function:
    derivative, function = asked.derivative, asked.function
    trees = _trees(asked.names, asked.given)
    both = zip(function.params, trees, derivative.axes, strict=True)
    params = [own if axis is None else tree for own, tree, axis in both]
    try:
        made = mapped(function, params, derivative.axes, derivative.out_axis, derivative.parallel)
    except IndexError:
        raise errors.WrongCall(
            f"out_axes={derivative.out_axis} for vmap({shown(derivative.function)})",
            why="A result has too few axes for it.",
            instead="Write out_axes=0, or move the axis yourself.",
        ) from None
    return _simplified(checked(made, "mapped"))


def _elements(derivative: Derivative, names: Sequence[str], given: Sequence[types.Type]) -> tuple[types.Type, ...]:
    """The types of what one call of a mapped function gets."""
    found = []
    for name, type_, axis in zip(names, given, derivative.axes, strict=True):
        try:
            found.append(type_ if axis is None else element_type(unliteral(type_), axis))
        except IndexError:
            axes = f" with {type_.ndim} axes" if isinstance(type_, types.Array) else ""
            raise errors.TypeMismatch(
                f"argument `{name}` of vmap({shown(derivative.function)}) has no axis {axis}",
                why=f"It is {_told(name, type_, None)[0]}{axes}.",
                instead=f"Write None for `{name}` in in_axes: it is then the same in all calls.",
            ) from None
    return tuple(found)


# --------------------------------------------------------------------------------------------------------- Jacobians


def _jacobian(asked: _Asked) -> ir.Function:
    """By rows where those are few and the columns may be many: results are numbers, arguments arrays."""
    has_arrays = any(ir.is_array(leaf) for leaf in ir.leaves(tuple(asked.wrt)))
    suits_rows = has_arrays and not any(ir.is_array(y) for y in asked.function.body.yields)
    return _by_rows(asked) if suits_rows else _by_columns(asked)


def _check_real(asked: _Asked) -> None:
    """Refuses a Jacobian of complex numbers, or with respect to them."""
    if ir.pairs((*asked.wrt, asked.function.result)):
        raise errors.Unsupported(
            f"the Jacobian of {shown(asked.derivative.function)}, with complex arguments in wrt or complex results",
            _place(asked.function.origin),
            "It would need four real numbers per entry.",
            "Pass and return real and imaginary parts separately, or use adjit.vjp or adjit.jvp.",
        )


def _by_columns(asked: _Asked) -> ir.Function:
    _check_real(asked)
    made = by_columns(asked.function, asked.wrt, asked.derivative.single, asked.compiler.derivative)
    return _simplified(checked(made, "columns"))


def _by_rows(asked: _Asked) -> ir.Function:
    _check_real(asked)
    function, wrt, single, build = asked.function, asked.wrt, asked.derivative.single, asked.compiler.derivative
    halves = _halves(asked)
    is_of_host = asked.derivative.strategy.machine == "cpu"
    made = None if halves is None else by_rows(function, wrt, single, halves, build, is_of_host)
    if made is None:
        _check_repeatable(function)
        made = by_whole_rows(function, wrt, single, asked.seeded("out_bar", _seed_tree(function)), build)
    return _simplified(checked(made, "rows"))


def _sparsity(asked: _Asked) -> ir.Function:
    _check_real(asked)
    _check_drawless(asked)
    (table,) = _trees(asked.names, asked.given)
    return checked(index_sets(asked.function, asked.wrt, table, asked.compiler.derivative), "index sets")


def _compressed_columns(asked: _Asked) -> ir.Function:
    _check_drawless(asked)
    plan = Plan(*_trees(asked.names, asked.given))
    made = compressed_columns(asked.function, asked.wrt, plan, asked.derivative.width, asked.compiler.derivative)
    return _simplified(checked(made, "compressed"))


def _compressed_rows(asked: _Asked) -> ir.Function:
    _check_drawless(asked)
    function, wrt, build = asked.function, asked.wrt, asked.compiler.derivative
    plan, halves = Plan(*_trees(asked.names, asked.given)), _halves(asked)
    made = None if halves is None else compressed_rows(function, wrt, plan, halves, build)
    if made is None:
        joint = asked.seeded("out_bar", _seed_tree(function))
        made = compressed_whole_rows(function, wrt, plan, joint, build)
    return _simplified(checked(made, "compressed"))


def _check_drawless(asked: _Asked, what: str = "a sparse Jacobian") -> None:
    """Refuses what draws random numbers, of what takes runs of its own: for a pattern, for entries, for tangents."""
    drawn = next(filter(effects.draws, ir.walk(asked.function.body)), None)
    if drawn is not None:
        raise errors.Unsupported(
            f"{what} of {shown(asked.derivative.function)}, which draws random numbers",
            ir.place_of(drawn.origin),
            "The function runs more than once for it, and each run would draw other numbers.",
            "Pass the random numbers as an argument.",
        )


# how it is made, what its name ends in, its title
_KINDS: dict[str, tuple[Callable[[_Asked], ir.Function], str, str]] = {
    "grad": (_gradient, "grad", "Gradient"),
    "value_and_grad": (_gradient, "value_and_grad", "Value and gradient"),
    "vjp": (_vjp, "vjp", "Adjoint"),
    "jvp": (_jvp, "jvp", "Value and tangent"),
    "hvp": (_hvp, "hvp", "Change along a vector"),
    "jet": (_jet, "jet", "Taylor coefficients along a vector"),
    "jacfwd": (_by_columns, "jacobian", "Jacobian, by columns,"),
    "jacrev": (_by_rows, "jacobian", "Jacobian, by rows,"),
    "jacobian": (_jacobian, "jacobian", "Jacobian"),
    "rounding": (_rounding, "rounding_error", "Value and bounds of the rounding error"),
    "sparsity": (_sparsity, "index_sets", "Index sets of the Jacobian"),
    "compressed_columns": (_compressed_columns, "entries", "Entries of the Jacobian, by columns,"),
    "compressed_rows": (_compressed_rows, "entries", "Entries of the Jacobian, by rows,"),
    "vmap": (_vmap, "mapped", "Mapped calls"),
    "split_forward": (_split, "forward", "Value, and what the adjoint needs,"),
    "split_reverse": (_split, "pullback", "Adjoint, from what was saved,"),
}

# -------------------------------------------------------------------------------------------------------------- details


def _place(origin: ir.Origin | None) -> errors.Place | None:
    if origin is None:
        return None
    return errors.Place(origin.filename, origin.function, origin.line, origin.column, origin.column, "")


def _check_wrt(derivative: Derivative, names: Sequence[str], given: Sequence[types.Type]) -> None:
    """WrongWrt where an argument to differentiate with respect to holds no float."""
    for position in derivative.wrt or ():
        type_, name = unliteral(given[position]), names[position]
        if any(ir.is_float(leaf.type) for leaf in ir.leaves(_trees([name], [type_]))):
            continue
        function = root(derivative)
        source = None if isinstance(function, Enclosed) else read_source(function)
        place = None if source is None else _place(source.origin(source.node))
        what, instead = _told(name, given[position], layout_of(derivative, position))
        is_self = name == "self" and position == 0 and len(names) > 1
        raise errors.WrongWrt(
            f"`{name}` of {shown(function)} is {what}, which has no derivative",
            place,
            "Derivatives are with respect to floats, and to arrays and tuples of them.",
            f'Name another parameter: wrt="{names[1]}".' if is_self else f"{instead}, or leave `{name}` out of wrt.",
        )


_BUILT = {
    "list": "a list",
    "table": "a list",
    "dict": "a dictionary",
    "tuple": "a tuple",
    "records": "an array of records",
}


def _told(name: str, type_: types.Type, layout: Layout | None) -> tuple[str, str]:
    """What an argument without floats is, and what to pass."""
    if layout is not None and layout.kind == "table" and layout.parts[0].kind == "number":
        return "a list of integers", f"Pass np.array({name}, float)"
    if layout is not None and layout.kind != "array":
        kind = (
            f"an object of the class {layout.of.__name__}" if layout.kind == "object" else _BUILT.get(layout.kind, "")
        )
        parts = {type(part.of) if part.kind == "static" else None for part in layout.parts}
        return f"{kind} of strings" if parts == {str} else f"{kind} without floats", "Pass floats"
    if isinstance(type_, types.Array):
        is_number = isinstance(type_.dtype, types.Integer | types.Boolean)
        return f"an array of {type_.dtype}", f"Pass {name}.astype(float)" if is_number else "Pass a float"
    if isinstance(type_, types.StringLiteral):
        return f"the string {type_.literal_value!r}", "Pass a float"
    if isinstance(type_, types.BaseTuple):
        is_whole = all(isinstance(part, types.Integer) for part in tuple_parts(type_))
        return ("a tuple of integers" if is_whole else f"of type {to_text(type_)}"), "Pass floats"
    kinds = {types.Integer: "an integer", types.Boolean: "a boolean", types.NoneType: "None"}
    told = next((what for kind, what in kinds.items() if isinstance(type_, kind)), f"of type {to_text(type_)}")
    return told, "Pass a float"


def _check_scalar(derivative: Derivative, function: ir.Function, tree: ir.Tree, asked: str = "gradient") -> None:
    type_ = function.body.yields[tree].type if isinstance(tree, int) else types.none
    instead = "Sum it up, or use adjit.vjp or adjit.jacobian. For a result (value, aux) pass has_aux=True."
    if isinstance(tree, ir.Pair):
        what = "complex numbers"
        instead = "Return its real part, or abs() of it, use adjit.vjp with a complex seed, or pass holomorphic=True."
    elif isinstance(tree, tuple):
        what = f"a tuple of {len(tree)}"
    elif tree is None:
        what, instead = "nothing", "End the function with `return` and one number."
    elif isinstance(type_, types.Array):
        what = f"an array of rank {type_.ndim}"
    elif ir.is_float(type_):
        return
    elif isinstance(type_, types.Integer | types.Boolean):
        what = "an integer" if isinstance(type_, types.Integer) else "a boolean"
        instead = "Return a float that depends on the arguments without rounding or conditions."
    else:
        what = f"a value of type {type_}"
    raise errors.NotScalar(
        f"the {asked} of {shown(derivative.function)}, which returns {what}",
        _place(function.origin),
        f"A {asked} needs a result that is one float.",
        instead,
    )


def _moved(tree: ir.Tree, offset: int) -> ir.Tree:
    """A tree of positions, those so much further on."""
    return ir.map_tree(lambda k: None if k is None else k + offset, tree)


def _simplified(function: ir.Function) -> ir.Function:
    return checked(simplify(function), "simplified")


def _trees(names: Sequence[str], given: Sequence[types.Type]) -> tuple[ir.Tree, ...]:
    """Parameters of these names and types, a tuple as its parts."""

    def tree(name: str, type_: types.Type) -> ir.Tree:
        if isinstance(type_, types.BaseTuple):
            return tuple(tree(f"{name}_{k}", t) for k, t in enumerate(tuple_parts(type_)))
        part = part_type(type_)
        if part is not None:
            return ir.Pair(ir.Var(f"{name}_{side}", part) for side in ("real", "imag"))
        return ir.Var(name, unliteral(type_))

    return tuple(tree(name, type_) for name, type_ in zip(names, given, strict=True))
