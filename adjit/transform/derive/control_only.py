"""Derivatives that would be zero because what they are asked of only decides, and does not go into the result.

In: a function as it was read, and what is wanted of it. Out: NotDifferentiable, or a warning, at the user's line.

    def fall_time(v):                    grad(fall_time): `v` goes into y, y decides how often the loop runs, and that
        ...                              is all that goes into t
        while y > 0.0: y, t = y + v * dt, t + dt
        return t

What was named in `wrt` is refused if nothing of it goes into any result as a number, and what nobody named, as in a
`vjp`, if nothing of all of it does. Of a part of an argument, and of a row of a Jacobian, a warning tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from adjit.errors import NotDifferentiable, OnlyDecides, Place
from adjit.transform import ir
from adjit.transform.derive.control_dependence import Dependences
from adjit.transform.rewrite.notes import Elaborated, Record
from adjit.transform.source.derivative import Derivative, Structured, shown
from adjit.transform.source.external_reads import warn_at
from adjit.transform.source.structures import paths


class Wanted(NamedTuple):
    """A derivative by the arguments at these positions, of each result or, with `has_aux`, of the first one.

    is_named: the user has named each of them. has_rows: each result has derivatives of its own.
    """

    wrt: tuple[int, ...]
    is_named: bool
    has_aux: bool = False
    has_rows: bool = False


_OF_ROWS = ("jacfwd", "jacrev", "jacobian", "compressed_columns", "compressed_rows")
_NAMED = ("grad", "value_and_grad", "jet", *_OF_ROWS)
_IMPLIED = ("vjp", "jvp", "split_forward")


def wanted(derivative: Derivative) -> Wanted | None:
    """What a derivative asks of the function that it is of; None where it is of another derivative, or is none."""
    kind = derivative.kind
    if isinstance(derivative.function, Derivative) or kind not in (*_NAMED, *_IMPLIED):
        return None
    is_named = kind in _NAMED and not derivative.implied
    has_aux = derivative.has_aux and not derivative.intermediates
    return Wanted(derivative.wrt or (), is_named, has_aux, kind in _OF_ROWS)


def dependences(function: ir.Function, records: Sequence[Record]) -> Dependences:
    """Those of a function as it was read."""
    read = [record for record in records if isinstance(record, Elaborated)]
    return Dependences(function, read[-1].derived if read else ())


def _outputs(function: ir.Function, want: Wanted) -> list[ir.Operand]:
    """The results that are differentiated."""
    result = function.result
    if want.has_aux and isinstance(result, tuple) and result:
        result = result[0]
    outputs = [function.body.yields[k] for k in ir.leaves(result) if k is not None]
    return [y for y in outputs if isinstance(y, ir.Var) and ir.is_float(y.type)]


def check_flow(spec: Any, function: ir.Function, records: Sequence[Record], want: Wanted) -> None:
    """Refuses the derivative of a function, as it was read, where it would be zero since conditions have none."""
    outputs = _outputs(function, want)
    leaves = [[leaf for leaf in ir.leaves(function.params[p]) if ir.is_float(leaf.type)] for p in want.wrt]
    if not outputs or not any(leaves):
        return
    found = dependences(function, records)
    if found.has_exchanges:
        return
    flowing = found.goes_into(outputs, with_control=False)
    groups = leaves if want.is_named else [[leaf for group in leaves for leaf in group]]
    for group in groups:
        lost = [leaf for leaf in group if not found.is_in(leaf, flowing)]
        ways = {leaf: op for leaf in lost if (op := found.way(leaf, outputs)) is not None}
        if ways and len(lost) == len(group):
            raise _refused(spec, function, want, ways)
        for leaf, op in ways.items() if want.is_named else ():
            _warn(function, op, f"the result of {shown(spec)} depends on `{_names(spec, function, want)[leaf]}`")
    for output in outputs if want.has_rows else ():
        given = [leaf for group in leaves for leaf in group]
        into = found.goes_into((output,), with_control=False)
        ways = {leaf: op for leaf in given if (op := found.way(leaf, (output,))) is not None}
        if ways and not any(found.is_in(leaf, into) for leaf in given):
            names = _names(spec, function, want)
            own = ", ".join(f"`{names[leaf]}`" for leaf in ways)
            _warn(function, next(iter(ways.values())), f"a result of {shown(spec)} depends on {own}")


def _refused(spec: Any, function: ir.Function, want: Wanted, ways: dict[ir.Var, ir.Op]) -> NotDifferentiable:
    known = _names(spec, function, want)
    names = list(dict.fromkeys(known[leaf] for leaf in ways))
    listed = ", ".join(f"`{name}`" for name in names)
    solver = shown(spec) if shown(spec).isidentifier() else "solver"
    leaving = ", or leave it out of wrt" if want.is_named and len(want.wrt) > 1 else ""
    return NotDifferentiable(
        f"{shown(spec)} depends on {listed} only through conditions, indices or rounding, which have no derivative",
        _place(function, next(iter(ways.values()))),
        "The derivative would always be 0.",
        f"If the result solves an equation:  adjit.implicit({solver}, residual)\n"
        "or end with a step of Newton's method on it:  t = t - g(t) / adjit.grad(g)(t)\n"
        f"If 0 is intended:  adjit.stop_gradient({names[0]}){leaving}",
    )


def _warn(function: ir.Function, op: ir.Op, what: str) -> None:
    place = _place(function, op)
    text = (
        f"{what} only through conditions, indices or rounding, so that derivative is 0. "
        "If 0 is intended, write adjit.stop_gradient."
    )
    if place is None:
        warnings.warn(text, OnlyDecides, stacklevel=2)
    else:
        warn_at((text, place.filename, place.line))


def _place(function: ir.Function, op: ir.Op) -> Place | None:
    return ir.place_of(op.origin or function.origin)


def _names(spec: Any, function: ir.Function, want: Wanted) -> dict[ir.Var, str]:
    """What the user calls the leaves of the arguments."""
    return {leaf: name for p in want.wrt for leaf, name in _of_argument(spec, function, p)}


def _of_argument(spec: Any, function: ir.Function, position: int) -> Iterator[tuple[ir.Var, str]]:
    name, tree = function.names[position], function.params[position]
    layout = spec.layouts[position] if isinstance(spec, Structured) and position < len(spec.layouts) else None
    if layout is not None:
        yield from zip(ir.leaves(tree), paths(layout, name), strict=True)
    elif isinstance(tree, ir.Pair):
        yield from ((leaf, name) for leaf in tree)
    elif isinstance(tree, tuple):
        for k, part in enumerate(tree):
            yield from ((leaf, f"{name}[{k}]") for leaf in ir.leaves(part))
    else:
        yield tree, name
