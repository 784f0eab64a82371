"""The road: from a function and the types of its arguments to the source of its derivative.

    source ──► elaborate ──► simplify ──► reverse ──► storage ──► simplify ──► lanes ──► emit
                                     └──► forward ─────────────┘

In: a `Derivative`, which says what of which function, and numba types. Out: its IR, or its source as text.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.clears import merge_clears
from adjit.transform.columns import by_columns
from adjit.transform.elaborate.function import elaborate, without_comments
from adjit.transform.emit import Emitted, emit
from adjit.transform.forward import forward
from adjit.transform.fuse import fuse
from adjit.transform.lanes import lay_lanes
from adjit.transform.promotion import promote_sums
from adjit.transform.reverse import reverse
from adjit.transform.rows import by_rows, by_whole_rows
from adjit.transform.simplify import simplify
from adjit.transform.sink import sink
from adjit.transform.source import python_function
from adjit.transform.source import signature as source_signature
from adjit.transform.split import split
from adjit.transform.storage import join
from adjit.transform.support import stored_extent
from adjit.transform.text import to_text
from adjit.transform.types import tuple_parts, typed_const, unliteral
from adjit.transform.unwritten import check_written
from adjit.transform.verify import verify


@dataclass(frozen=True)
class Derivative:
    """What to derive: `kind` of `function`, which may be a derivative itself.

    kind:   'primal', 'grad', 'value_and_grad', 'vjp' (arguments and seed to adjoints), 'jvp' (arguments and tangents
            to value and tangent), 'hvp' (arguments and the tangents of those in `wrt` to the tangent), 'jacfwd' and
            'jacrev' (arguments to Jacobian, made by columns or by rows), 'split_forward' (arguments to value, what is
            saved, and what of it the reverse sweep changes; None where that cannot be handed on) or 'split_reverse'
            (those two and seed to adjoints; `given`: the types of the arguments)
    wrt:    positions of the arguments to differentiate with respect to; `single`: the result is bare, not a tuple. The
            tangents of the other arguments are ignored
    """

    function: Any
    kind: str
    wrt: tuple[int, ...] | None = None
    single: bool = False
    has_aux: bool = False
    given: tuple[types.Type, ...] = ()


def source(derivative: Derivative, arg_types: Sequence[types.Type]) -> Emitted:
    """The source of a derivative for these argument types."""
    made = build(derivative, tuple(arg_types))
    return emit(checked(lay_lanes(made, _values(derivative, made.result)), "in lanes"))


def _values(derivative: Derivative, result: ir.Tree) -> list[int]:
    """The positions of what the user's function computes among the results; the others are derivatives."""
    if derivative.kind in ("value_and_grad", "jvp"):
        result = result[0]
    elif derivative.kind == "grad":
        result = result[1] if derivative.has_aux else None
    elif derivative.kind not in ("primal", "split_forward"):
        result = None
    return [k for k in ir.leaves(result) if k is not None]


def build(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """The IR of a derivative for these argument types."""
    if derivative.kind == "primal":
        return primal(derivative.function, arg_types)
    return _KINDS[derivative.kind](derivative, arg_types)


def signature(derivative: Derivative) -> inspect.Signature:
    """The parameters of the derived function."""
    inner = derivative.function
    own = signature(inner) if isinstance(inner, Derivative) else source_signature(python_function(inner))
    parameters = list(own.parameters.values())
    if derivative.kind == "split_reverse":
        return inspect.Signature([_parameter(name) for name in ("saved", "changed", "out_bar")])
    if derivative.kind == "vjp":
        parameters = [p.replace(default=inspect.Parameter.empty) for p in parameters]
        parameters.append(_parameter(_unused("out_bar", parameters)))
    elif derivative.kind in ("jvp", "hvp"):
        parameters = [p.replace(default=inspect.Parameter.empty) for p in parameters]
        for position, p in enumerate(list(parameters)):
            if derivative.kind == "jvp" or derivative.wrt is None or position in derivative.wrt:
                parameters.append(_parameter(_unused(f"{p.name}_dot", parameters)))
    return inspect.Signature(parameters)


def _parameter(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _unused(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    taken = {p.name for p in parameters}
    while name in taken:
        name += "_"
    return name


def checked(function: ir.Function, step: str) -> ir.Function:
    """Passes a function on; with ADJIT_VERIFY=1 it is verified first, with ADJIT_DUMP=1 it is printed."""
    if os.environ.get("ADJIT_DUMP"):
        print(f"---- {step}", to_text(function), sep="\n", file=sys.stderr)
    if os.environ.get("ADJIT_VERIFY"):
        verify(function)
    return function


# ------------------------------------------------------------------------------------------------------------- the road


def primal(function: Any, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """The typed IR of the function to derive."""
    if isinstance(function, Derivative):
        return without_comments(build(function, arg_types))
    elaborated = checked(elaborate(function, arg_types, build), "elaborated")
    check_written(elaborated)
    return checked(sink(checked(simplify(elaborated), "simplified")), "sunk")


def _derived(
    function: ir.Function,
    wrt: Sequence[ir.Var],
    seeds: Sequence[ir.Operand | None],
    extra: Sequence[ir.Var],
    with_value: bool,
    is_split: bool = False,
) -> ir.Function:
    """Both sweeps in one function; `is_split`: apart, as they will be cut."""
    sweeps = reverse(function, wrt, seeds, build)
    joint = join(sweeps, extra, with_value)
    stored = checked(simplify(checked(joint.function, "reversed")), "stored")
    if is_split:
        return stored
    fused = checked(simplify(fuse(stored, joint.shadows, joint.scratch)), "fused")
    promoted = checked(promote_sums(fused, joint.shadows.values()), "promoted")
    return checked(merge_clears(promoted), "merged")


def _gradient(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    function = primal(derivative.function, arg_types)
    trees, wrt = _active_leaves(derivative, function, arg_types)
    value_tree, aux_tree = function.result, None
    if derivative.has_aux:
        if not isinstance(function.result, tuple) or len(function.result) != 2:
            raise errors.NotScalar(
                f"{function.name} does not return a pair", _place(function), "has_aux asks for (value, aux)."
            )
        value_tree, aux_tree = function.result
    _check_scalar(function, value_tree)
    one = typed_const(1, function.body.yields[value_tree].type)
    seeds = [one if k == value_tree else None for k in range(len(function.body.yields))]
    with_value = derivative.kind == "value_and_grad" or derivative.has_aux
    made = _derived(function, wrt, seeds, (), with_value)
    offset = len(function.body.yields) if with_value else 0
    grads = _numbered(trees, offset)
    result = grads[0] if derivative.single else grads
    if derivative.kind == "value_and_grad":
        result = (function.result, result)
    elif derivative.has_aux:
        result = (result, aux_tree)
    return _finished(made, derivative, function, result, derivative.kind)


def _vjp(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    *own_types, seed_type = arg_types
    function = primal(derivative.function, tuple(own_types))
    trees, wrt = _active_leaves(derivative, function, tuple(own_types))
    name = list(signature(derivative).parameters)[-1]
    tree = _parameter_tree(name, seed_type)
    leaves = ir.leaves(tree)
    if len(leaves) != len(ir.leaves(function.result)):
        raise errors.TypeMismatch("the seed is not built like the result", _place(function))
    seeds = _seeds(function, leaves)
    made = _derived(function, wrt, seeds, leaves, with_value=False)
    made = dataclasses.replace(made, names=(*function.names, name), params=(*function.params, tree))
    return _finished(made, derivative, function, _numbered(trees, 0), "vjp")


def _split(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    is_forward = derivative.kind == "split_forward"
    own_types = arg_types if is_forward else derivative.given
    function = primal(derivative.function, own_types)
    trees, wrt = _active_leaves(derivative, function, own_types)
    halves = _halves(function, wrt)
    if halves is None:
        _check_repeatable(function)
    if is_forward:
        made = halves[0] if halves is not None else dataclasses.replace(function, result=(function.result, None, None))
        return _finished(made, derivative, function, made.result, "forward")
    if halves is None:
        raise errors.InternalError(f"the sweeps of {function.name} cannot be split")
    return _finished(halves[1], derivative, function, _numbered(trees, 0), "pullback")


def _halves(function: ir.Function, wrt: Sequence[ir.Var]) -> tuple[ir.Function, ir.Function] | None:
    """The sweeps apart; None if what the reverse sweep needs cannot be handed on."""
    tree = _seed_tree(function)
    leaves = ir.leaves(tree)
    joint = _derived(function, wrt, _seeds(function, leaves), leaves, with_value=True, is_split=True)
    joint = dataclasses.replace(
        joint, names=(*function.names, "out_bar"), params=(*function.params, tree), result=function.result
    )
    return split(joint, len(function.body.yields), leaves, ("out_bar",))


def _check_repeatable(function: ir.Function) -> None:
    calls = [op for op in ir.walk(function.body) if isinstance(op, ir.Call) and op.callee is not stored_extent]
    if any(call.effect and call.outs for call in calls):
        raise errors.Unsupported(
            f"the pullback of {function.name}, which draws random numbers and makes arrays in a loop",
            _place(function),
            "Its sweeps cannot be run apart, and running them again would draw other numbers.",
            "Use adjit.grad or adjit.value_and_grad, or pass the numbers drawn as an argument.",
        )


def _seed_tree(function: ir.Function) -> ir.Tree:
    """A seed as the result is built: arrays in C order, numbers of its own type."""

    def seed(k: int | None) -> ir.Var:
        type_ = types.none if k is None else function.body.yields[k].type
        if isinstance(type_, types.Array):
            type_ = types.Array(type_.dtype, type_.ndim, "C")
        return ir.Var("out_bar", type_)

    return ir.map_tree(seed, function.result)


def _seeds(function: ir.Function, leaves: Sequence[ir.Var]) -> list[ir.Var | None]:
    """The adjoint of each yield, from the leaves of a seed that is built like the result."""
    by_yield = dict(zip(ir.leaves(function.result), leaves, strict=True))
    return [_seed(by_yield.get(k), y) for k, y in enumerate(function.body.yields)]


def _seed(seed: ir.Var | None, result: ir.Operand) -> ir.Var | None:
    return seed if seed is not None and ir.is_float(result.type) and ir.is_float(seed.type) else None


def _jvp(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    count = len(arg_types) // 2
    function = primal(derivative.function, arg_types[:count])
    made = _pushed(derivative, function, dict(enumerate(arg_types[count:])), range(count))
    return _finished(checked(simplify(made), "simplified"), derivative, function, made.result, "jvp")


def _hvp(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """The tangent of a gradient alone; the vectors are tangents of the arguments in `wrt`, in the order of those."""
    assert derivative.wrt is not None
    wrt = sorted(derivative.wrt)
    count = len(arg_types) - len(wrt)
    function = primal(derivative.function, arg_types[:count])
    made = _pushed(derivative, function, dict(zip(wrt, arg_types[count:], strict=True)), wrt)
    values = len(function.body.yields)
    result = ir.map_tree(lambda k: None if k is None else k - values, made.result[1])
    body = dataclasses.replace(made.body, yields=made.body.yields[values:])
    made = checked(simplify(dataclasses.replace(made, body=body, result=result)), "simplified")
    return _finished(made, derivative, function, result, "hvp")


def _pushed(
    derivative: Derivative, function: ir.Function, dot_types: dict[int, types.Type], positions: Sequence[int]
) -> ir.Function:
    """Forward mode with a tangent for the arguments at `positions`, whose types are given."""
    names = list(signature(derivative).parameters)[len(function.params) :]
    trees = [_parameter_tree(n, dot_types[p]) for n, p in zip(names, positions, strict=True)]
    of = dict(zip(positions, trees, strict=True))
    dots: list[ir.Var | None] = []
    for position, own in enumerate(function.params):
        own_leaves = ir.leaves(own)
        leaves = ir.leaves(of[position]) if position in of else [None] * len(own_leaves)
        if len(leaves) != len(own_leaves):
            raise errors.TypeMismatch("a tangent is not built like its argument", _place(function))
        is_wanted = derivative.wrt is None or position in derivative.wrt
        dots.extend(
            leaf if leaf is not None and is_wanted and ir.is_float(p.type) and ir.is_float(leaf.type) else None
            for leaf, p in zip(leaves, own_leaves, strict=True)
        )
    return checked(forward(function, dots, trees, names, build), "forward")


def _jacfwd(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    function = primal(derivative.function, arg_types)
    trees, _ = _active_leaves(derivative, function, arg_types)
    made = checked(by_columns(function, trees, derivative.single, build), "columns")
    return _finished(checked(simplify(made), "simplified"), derivative, function, made.result, "jacobian")


def _jacrev(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    function = primal(derivative.function, arg_types)
    trees, wrt = _active_leaves(derivative, function, arg_types)
    halves = _halves(function, wrt)
    made = None if halves is None else by_rows(function, trees, derivative.single, halves, build)
    if made is None:
        _check_repeatable(function)
        tree = _seed_tree(function)
        leaves = ir.leaves(tree)
        joint = _derived(function, wrt, _seeds(function, leaves), leaves, with_value=False)
        joint = dataclasses.replace(joint, params=(*function.params, tree))
        made = by_whole_rows(function, trees, derivative.single, joint, build)
    made = checked(simplify(checked(made, "rows")), "simplified")
    return _finished(made, derivative, function, made.result, "jacobian")


_KINDS: dict[str, Callable[[Derivative, tuple[types.Type, ...]], ir.Function]] = {
    "grad": _gradient,
    "value_and_grad": _gradient,
    "vjp": _vjp,
    "jvp": _jvp,
    "hvp": _hvp,
    "jacfwd": _jacfwd,
    "jacrev": _jacrev,
    "split_forward": _split,
    "split_reverse": _split,
}


# -------------------------------------------------------------------------------------------------------------- details


def _place(function: ir.Function) -> errors.Place | None:
    origin = function.origin
    if origin is None:
        return None
    return errors.Place(origin.filename, origin.function, origin.line, origin.column, origin.column, "")


def _active_leaves(
    derivative: Derivative, function: ir.Function, arg_types: Sequence[types.Type]
) -> tuple[list[ir.Tree], list[ir.Var]]:
    """The trees of the arguments to differentiate with respect to, and the float leaves in them."""
    assert derivative.wrt is not None
    trees: list[ir.Tree] = []
    wrt: list[ir.Var] = []
    for position in derivative.wrt:
        tree = function.params[position]
        found = ir.leaves(tree)
        name = function.names[position]
        if not any(ir.is_float(leaf.type) for leaf in found):
            kind = str(getattr(arg_types[position], "dtype", arg_types[position]))
            raise errors.WrongWrt(
                f"`{name}` of {function.name} is {_shown(arg_types[position])}, which carries no derivative",
                _place(function),
                f"Only floats do; it came as {kind}.",
                f"Pass a float, or leave `{name}` out of wrt.",
            )
        trees.append(tree)
        wrt.extend(leaf for leaf in found if ir.is_float(leaf.type))
    return trees, wrt


def _shown(type_: types.Type) -> str:
    if isinstance(type_, types.Array):
        return f"an array of {type_.dtype}"
    return f"of type {type_}"


def _check_scalar(function: ir.Function, tree: ir.Tree) -> None:
    what = ""
    if isinstance(tree, tuple):
        what = f"a tuple of {len(tree)}"
    elif tree is None:
        what = "nothing"
    else:
        type_ = function.body.yields[tree].type
        if isinstance(type_, types.Array):
            what = f"an array of rank {type_.ndim}"
        elif not ir.is_float(type_):
            what = f"a value of type {type_}"
    if what:
        raise errors.NotScalar(
            f"the gradient of {function.name}, which returns {what}",
            _place(function),
            "A gradient is that of one float.",
            "Sum it up, or use adjit.vjp or adjit.jacobian; for (value, aux) pass has_aux=True.",
        )


def _numbered(trees: Sequence[ir.Tree], offset: int) -> ir.Tree:
    """Trees of parameters as trees of positions among the adjoints; None for leaves that carry none."""
    position = iter(range(offset, offset + 10**9))
    return tuple(ir.map_tree(lambda leaf: next(position) if ir.is_float(leaf.type) else None, tree) for tree in trees)


def _parameter_tree(name: str, type_: types.Type) -> ir.Tree:
    if isinstance(type_, types.BaseTuple):
        return tuple(_parameter_tree(f"{name}_{k}", t) for k, t in enumerate(tuple_parts(type_)))
    return ir.Var(name, unliteral(type_))


def _finished(
    made: ir.Function, derivative: Derivative, function: ir.Function, result: ir.Tree, ending: str
) -> ir.Function:
    origin = function.origin
    where = "" if origin is None else f" at {os.path.basename(origin.filename)}:{origin.line}"
    wrt = "" if derivative.wrt is None else " with respect to " + ", ".join(function.names[p] for p in derivative.wrt)
    doc = f"{_TITLES[derivative.kind]} of {function.name}{where}{wrt}."
    return dataclasses.replace(made, name=f"{function.name}_{ending}", result=result, doc=doc)


_TITLES = {
    "grad": "Gradient",
    "value_and_grad": "Value and gradient",
    "vjp": "Adjoint",
    "jvp": "Value and tangent",
    "hvp": "Change along a vector",
    "jacfwd": "Jacobian, by columns,",
    "jacrev": "Jacobian, by rows,",
    "split_forward": "Value, and what the adjoint needs,",
    "split_reverse": "Adjoint, from what was saved,",
}
