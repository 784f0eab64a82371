"""What each kind of derivative takes and returns: the gradient, its value beside it, the adjoint, tangents, matrices.

In: a `Derivative`, numba types, and the compiler, which makes the primal. Out: a function.

    grad    reverse from the seed 1, both sweeps in one       jvp    forward, the tangents beside the arguments
    vjp     reverse from the seed that is the last argument   jacobian    by columns or by rows
    split   reverse, cut between the sweeps                   hvp    forward through a gradient
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numba import types

from adjit import errors
from adjit.runtime.library import stored_extent
from adjit.transform import ir
from adjit.transform.derive import Compiler, forward, reverse
from adjit.transform.derive.jacobian import by_columns, by_rows, by_whole_rows
from adjit.transform.ir.notation import to_text
from adjit.transform.ir.types import tuple_parts, typed_const, unliteral
from adjit.transform.machine.threads import threaded
from adjit.transform.rewrite.checked import checked
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.source.derivative import Derivative, Enclosed, parameters, root, shown, signature
from adjit.transform.source.reading import FunctionSource, read_source
from adjit.transform.sweeps import both_sweeps, into, split, sweeps_apart

IN_HALVES = ("split_forward", "split_reverse")


def derived(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    """The derivative for arguments of these types; raises WrongWrt, NotScalar, TypeMismatch, Unsupported."""
    _check_wrt(derivative, arg_types)
    return _without_marks(_KINDS[derivative.kind](derivative, arg_types, compiler))


def values_in(derivative: Derivative, result: ir.Tree) -> list[int]:
    """The positions of what the user's function computes among the results; the others are derivatives."""
    if derivative.kind in ("value_and_grad", "jvp"):
        result = result[0]
    elif derivative.kind == "grad":
        result = result[1] if derivative.has_aux else None
    elif derivative.kind not in ("primal", "split_forward"):
        result = None
    return [k for k in ir.leaves(result) if k is not None]


def _without_marks(function: ir.Function) -> ir.Function:
    """The derivative without `checkpoint`, which it has made use of; a call that was marked so is no loop any more."""
    if all(op.snapshots is None for op in ir.walk(function.body) if isinstance(op, ir.For)):
        return function
    old = function.body
    body = ir.Region(old.args, tuple(ir.unmarked(op) for op in old.ops), old.yields)
    return checked(simplify(dataclasses.replace(function, body=body)), "unmarked")


def _joint(
    derivative: Derivative,
    function: ir.Function,
    wrt: Sequence[ir.Var],
    seeds: Sequence[ir.Operand | None],
    extra: Sequence[ir.Var],
    with_value: bool,
    compiler: Compiler,
) -> ir.Function:
    sweeps = reverse(function, wrt, seeds, compiler)
    return both_sweeps(sweeps, extra, with_value, derivative.memory_limit, derivative.strategy)


def _gradient(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    outputs: tuple[types.Type, ...] = ()
    if derivative.into:
        assert derivative.wrt is not None
        count = len(arg_types) - len(derivative.wrt)
        arg_types, outputs = arg_types[:count], arg_types[count:]
    function = compiler.primal(derivative, arg_types)
    trees, wrt = _active_leaves(derivative, function)
    value_tree, aux_tree = function.result, None
    if derivative.has_aux:
        if not isinstance(function.result, tuple) or len(function.result) != 2:
            raise errors.NotScalar(
                f"{function.name} does not return a pair",
                _place(function),
                "has_aux asks for (value, aux).",
                "Return a pair, or leave has_aux out.",
            )
        value_tree, aux_tree = function.result
    _check_scalar(derivative, function, value_tree)
    one = typed_const(1, function.body.yields[value_tree].type)
    seeds = [one if k == value_tree else None for k in range(len(function.body.yields))]
    with_value = derivative.kind == "value_and_grad" or derivative.has_aux
    made = _joint(derivative, function, wrt, seeds, (), with_value, compiler)
    offset = len(function.body.yields) if with_value else 0
    grads = _numbered(trees, offset)
    result = grads[0] if derivative.single else grads
    if derivative.kind == "value_and_grad":
        result = (function.result, result)
    elif derivative.has_aux:
        result = (result, aux_tree)
    if derivative.into:
        names = list(signature(derivative).parameters)[len(function.names) :]
        out_trees = [_parameter_tree(name, type_) for name, type_ in zip(names, outputs, strict=True)]
        made = checked(into(made, trees, out_trees, names, offset), "into")
    return _finished(made, derivative, function, result, derivative.kind + "_into" * derivative.into)


def _vjp(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    *own_types, seed_type = arg_types
    function = compiler.primal(derivative, tuple(own_types))
    trees, wrt = _active_leaves(derivative, function)
    name = list(signature(derivative).parameters)[-1]
    tree = _parameter_tree(name, seed_type)
    leaves = ir.leaves(tree)
    if len(leaves) != len(ir.leaves(function.result)):
        raise errors.TypeMismatch(
            "the seed is not built like the result", _place(function), "", "Give a tuple where the result is one."
        )
    seeds = _seeds(function, leaves)
    made = _joint(derivative, function, wrt, seeds, leaves, False, compiler)
    made = dataclasses.replace(made, names=(*function.names, name), params=(*function.params, tree))
    return _finished(made, derivative, function, _numbered(trees, 0), "vjp")


def _split(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    is_forward = derivative.kind == "split_forward"
    own_types = arg_types if is_forward else derivative.given
    function = compiler.primal(derivative, own_types)
    trees, wrt = _active_leaves(derivative, function)
    # in one half of the cut, what shares memory is not seen any more
    in_threads = functools.partial(threaded, is_parallel=derivative.parallel, strategy=derivative.strategy)
    halves = _halves(derivative, function, wrt, compiler, in_threads)
    if halves is None:
        _check_repeatable(function)
    if is_forward:
        if halves is not None:
            made = halves[0]
        else:
            made = dataclasses.replace(in_threads(function), result=(function.result, None, None))
        return _finished(made, derivative, function, made.result, "forward")
    if halves is None:
        raise errors.InternalError(f"the sweeps of {function.name} cannot be split")
    return _finished(halves[1], derivative, function, _numbered(trees, 0), "pullback")


def _halves(
    derivative: Derivative,
    function: ir.Function,
    wrt: Sequence[ir.Var],
    compiler: Compiler,
    before: Callable[[ir.Function], ir.Function] = lambda joint: joint,
) -> tuple[ir.Function, ir.Function] | None:
    """The sweeps apart; None if what the reverse sweep needs cannot be handed on. `before`: done while they are one."""
    tree = _seed_tree(function)
    leaves = ir.leaves(tree)
    sweeps = reverse(function, wrt, _seeds(function, leaves), compiler)
    joint = sweeps_apart(sweeps, leaves, derivative.memory_limit, derivative.strategy)
    joint = dataclasses.replace(
        joint, names=(*function.names, "out_bar"), params=(*function.params, tree), result=function.result
    )
    return split(before(joint), len(function.body.yields), leaves, ("out_bar",))


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


def _jvp(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    count = len(arg_types) // 2
    function = compiler.primal(derivative, arg_types[:count])
    names = list(signature(derivative).parameters)[count:]
    trees = [_parameter_tree(n, t) for n, t in zip(names, arg_types[count:], strict=True)]
    made = _pushed(derivative, function, dict(enumerate(trees)), trees, names, compiler)
    return _finished(checked(simplify(made), "simplified"), derivative, function, made.result, "jvp")


def _hvp(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    """The tangent of a gradient alone, along a vector: the tangent of the argument in `wrt`, or a tuple of those."""
    assert derivative.wrt is not None
    *own_types, vector = arg_types
    function = compiler.primal(derivative, tuple(own_types))
    name = list(signature(derivative).parameters)[-1]
    parts = (vector,) if derivative.single else tuple_parts(vector) if isinstance(vector, types.BaseTuple) else ()
    if len(parts) != len(derivative.wrt):
        raise errors.TypeMismatch(
            f"the vector of {shown(derivative)} is of type {to_text(vector)}, not a tuple of {len(derivative.wrt)}",
            instead="Give one vector an argument in wrt, shaped as that.",
        )
    given = [f"{function.names[p]}_dot" for p in derivative.wrt]
    trees = tuple(_parameter_tree(n, t) for n, t in zip(given, parts, strict=True))
    last = trees[0] if derivative.single else trees
    made = _pushed(derivative, function, dict(zip(derivative.wrt, trees, strict=True)), [last], [name], compiler)
    values = len(function.body.yields)
    result = ir.map_tree(lambda k: None if k is None else k - values, made.result[1])
    body = dataclasses.replace(made.body, yields=made.body.yields[values:])
    made = checked(simplify(dataclasses.replace(made, body=body, result=result)), "simplified")
    return _finished(made, derivative, function, result, "hvp")


def _pushed(
    derivative: Derivative,
    function: ir.Function,
    tangents: Mapping[int, ir.Tree],
    trees: Sequence[ir.Tree],
    names: Sequence[str],
    compiler: Compiler,
) -> ir.Function:
    """Forward mode with tangents of the arguments at these positions; `trees`: the parameters, of these names."""
    dots: list[ir.Var | None] = []
    for position, own in enumerate(function.params):
        is_wanted = derivative.wrt is None or position in derivative.wrt
        own_leaves = ir.leaves(own)
        leaves = ir.leaves(tangents[position]) if is_wanted and position in tangents else [None] * len(own_leaves)
        if len(leaves) != len(own_leaves):
            raise _unlike(derivative, function.names[position])
        for leaf, p in zip(leaves, own_leaves, strict=True):
            is_active = leaf is not None and is_wanted and ir.is_float(p.type)
            if is_active and not _is_like(leaf.type, p.type):
                raise _unlike(derivative, function.names[position], leaf.type, p.type)
            dots.append(leaf if is_active else None)
    return checked(forward(function, dots, trees, names, compiler.derivative), "forward")


def _is_like(tangent: types.Type, own: types.Type) -> bool:
    """Whether a tangent has the type for an argument; the layout of an array is its own."""
    if isinstance(tangent, types.Array) and isinstance(own, types.Array):
        return bool(tangent.dtype == own.dtype and tangent.ndim == own.ndim)
    return bool(tangent == own)


def _unlike(
    derivative: Derivative, name: str, tangent: types.Type | None = None, own: types.Type | None = None
) -> errors.TypeMismatch:
    which = "the vector along" if derivative.kind == "hvp" else "the tangent of argument"
    why = "" if tangent is None or own is None else f"It is of type {to_text(tangent)}, the argument {to_text(own)}."
    return errors.TypeMismatch(
        f"{which} {name!r} of {shown(derivative)} is not like its argument",
        why=why,
        instead="Give a float for a float, and an array of that type and rank for an array.",
    )


def _jacfwd(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    return _by_columns(derivative, compiler.primal(derivative, arg_types), compiler)


def _jacrev(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    return _by_rows(derivative, compiler.primal(derivative, arg_types), compiler)


def _jacobian(derivative: Derivative, arg_types: tuple[types.Type, ...], compiler: Compiler) -> ir.Function:
    """By rows where those are few and the columns may be many: results are numbers, arguments arrays."""
    function = compiler.primal(derivative, arg_types)
    trees, _ = _active_leaves(derivative, function)
    has_arrays = any(ir.is_array(leaf) for leaf in ir.leaves(tuple(trees)))
    suits_rows = has_arrays and not any(ir.is_array(y) for y in function.body.yields)
    return (_by_rows if suits_rows else _by_columns)(derivative, function, compiler)


def _by_columns(derivative: Derivative, function: ir.Function, compiler: Compiler) -> ir.Function:
    trees, _ = _active_leaves(derivative, function)
    made = checked(by_columns(function, trees, derivative.single, compiler.derivative), "columns")
    return _finished(checked(simplify(made), "simplified"), derivative, function, made.result, "jacobian")


def _by_rows(derivative: Derivative, function: ir.Function, compiler: Compiler) -> ir.Function:
    trees, wrt = _active_leaves(derivative, function)
    halves = _halves(derivative, function, wrt, compiler)
    made = None if halves is None else by_rows(function, trees, derivative.single, halves, compiler.derivative)
    if made is None:
        _check_repeatable(function)
        tree = _seed_tree(function)
        leaves = ir.leaves(tree)
        joint = _joint(derivative, function, wrt, _seeds(function, leaves), leaves, False, compiler)
        joint = dataclasses.replace(joint, params=(*function.params, tree))
        made = by_whole_rows(function, trees, derivative.single, joint, compiler.derivative)
    made = checked(simplify(checked(made, "rows")), "simplified")
    return _finished(made, derivative, function, made.result, "jacobian")


_KINDS: dict[str, Callable[[Derivative, tuple[types.Type, ...], Compiler], ir.Function]] = {
    "grad": _gradient,
    "value_and_grad": _gradient,
    "vjp": _vjp,
    "jvp": _jvp,
    "hvp": _hvp,
    "jacfwd": _jacfwd,
    "jacrev": _jacrev,
    "jacobian": _jacobian,
    "split_forward": _split,
    "split_reverse": _split,
}

# -------------------------------------------------------------------------------------------------------------- details


def _place(function: ir.Function) -> errors.Place | None:
    origin = function.origin
    if origin is None:
        return None
    return errors.Place(origin.filename, origin.function, origin.line, origin.column, origin.column, "")


def _check_wrt(derivative: Derivative, arg_types: Sequence[types.Type]) -> None:
    """WrongWrt where an argument to differentiate with respect to holds no float."""
    given = derivative.given if derivative.kind == "split_reverse" else arg_types
    names = list(parameters(derivative.function).parameters)
    for position in derivative.wrt or ():
        type_ = unliteral(given[position])
        if not _holds_float(type_):
            name = names[position]
            if isinstance(getattr(type_, "dtype", type_), types.Complex):
                raise errors.WrongWrt(
                    f"`{name}` of {shown(derivative.function)} is {_shown(given[position])}",
                    _first_line(root(derivative)),
                    "Derivatives are with respect to real numbers; a complex argument is held fixed.",
                    "Pass its real and imaginary part as two arguments, and make the complex number of them inside.",
                )
            raise errors.WrongWrt(
                f"`{name}` of {shown(derivative.function)} is {_shown(given[position])}, which carries no derivative",
                _first_line(root(derivative)),
                "Only floats do, and arrays and tuples of them.",
                f"Pass a float, or leave `{name}` out of wrt.",
            )


def _holds_float(type_: types.Type) -> bool:
    if isinstance(type_, types.BaseTuple):
        return any(map(_holds_float, tuple_parts(type_)))
    return ir.is_float(type_)


def _first_line(function: Any) -> errors.Place | None:
    return None if isinstance(function, Enclosed) else _place_at(read_source(function))


def _place_at(found: FunctionSource) -> errors.Place:
    origin = found.origin(found.node)
    return errors.Place(origin.filename, origin.function, origin.line, origin.column, origin.column, "")


def _active_leaves(derivative: Derivative, function: ir.Function) -> tuple[list[ir.Tree], list[ir.Var]]:
    """The trees of the arguments to differentiate with respect to, and the float leaves in them."""
    assert derivative.wrt is not None
    trees = [function.params[position] for position in derivative.wrt]
    return trees, [leaf for leaf in ir.leaves(tuple(trees)) if ir.is_float(leaf.type)]


def _shown(type_: types.Type) -> str:
    if isinstance(type_, types.Array):
        return f"an array of {type_.dtype}"
    if isinstance(type_, types.NoneType):
        return "None"
    return f"of type {to_text(type_)}"


def _check_scalar(derivative: Derivative, function: ir.Function, tree: ir.Tree) -> None:
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
            f"the gradient of {shown(derivative.function)}, which returns {what}",
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
    "jacobian": "Jacobian",
    "split_forward": "Value, and what the adjoint needs,",
    "split_reverse": "Adjoint, from what was saved,",
}
