"""From the intermediate representation to Python source that people read, numba compiles and plain Python runs.

In: a function. Out: `Emitted`: the text of one `def`, and the values of the names that the text refers to.

    %s1 = for %i in (0, %n, 1) carrying %s0 = (0.0,) {     def total(u):
      %e = load %u[%i]                                         s = 0.0
      %s2 = call add(%s0, %e)                                  for i in range(u.size):
      yield %s2 }                                                  s += u[i]
    return %s1                                                 return s
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.emit.comments import Placing
from adjit.transform.emit.expression import Expressions
from adjit.transform.emit.folding import Folding
from adjit.transform.emit.lines import Layout
from adjit.transform.emit.naming import Globals, identifier, name_groups
from adjit.transform.emit.shared_names import Classes, Group
from adjit.transform.emit.statement_form import Program, program
from adjit.transform.emit.wrapping import INDENT, WIDTH, wrapped

# Elements up to which an array is small whatever its type.
_SMALL = 4096


@dataclass(frozen=True)
class Emitted:
    """`text` is one `def` of the name `name`; `globals` maps the names that it refers to, to their values.

    places: for each line, the statement of the user's that it comes from, None where there is none.
    apart: of each kernel, which of its arrays share no memory with another one of its.
    routines: the functions that it calls, each after those that it calls itself. arg_types: where arguments are
    numbers alone.
    """

    name: str
    text: str
    globals: Mapping[str, Any]
    places: tuple[ir.Origin | None, ...] = ()
    apart: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    routines: Sequence[Emitted] = ()
    arg_types: tuple[types.Type, ...] = ()

    @functools.cached_property
    def whole(self) -> Emitted:
        """The text under those of the functions that it calls."""
        texts = (*self.routines, self)
        places: list[ir.Origin | None] = []
        for each in texts:
            places += [*([None] * 2 if places else ()), *each.places]
        return dataclasses.replace(
            self, text="\n\n".join(each.text for each in texts), places=tuple(places), routines=()
        )

    @property
    def names(self) -> Mapping[str, Any]:
        """What all of it names."""
        return {name: value for each in (*self.routines, self) for name, value in each.globals.items()}


def emit(
    function: ir.Function,
    in_workspace: bool = True,
    expressions: Callable[..., Expressions] = Expressions,
    others: Mapping[str, Any] = MappingProxyType({}),
) -> Emitted:
    """The source of `function`. `in_workspace`: temporaries and products are there. `expressions`: what prints them.
    `others`: what texts beside it name."""
    folding, lowered, classes, names = _lowered(function)

    @functools.cache
    def name_of(var: ir.Var) -> str:
        return names[classes.group(var)]

    found = Globals([*names.values(), identifier(function.name)], others)
    kept = _temporaries(function) if in_workspace else None
    layout = Layout(function, classes, folding, expressions(name_of, folding, found, kept, lowered.wholes))
    layout.block(lowered.body, INDENT)
    name = identifier(function.name)
    parameters = ", ".join(name_of(parameter) for parameter in lowered.parameters)
    head = f"def {name}({parameters}):"
    lines = [head] if len(head) <= WIDTH else wrapped(f"def {name}", f"({parameters})", ":", "")
    lines += _docstring(function.doc)
    places: list[ir.Origin | None] = [None] * len(lines)
    for line, place in Placing(function, layout.lines, layout.marks, layout.end).placed():
        lines.append(line)
        places.append(layout.places.get(place))
    if not any(line.strip() and not line.lstrip().startswith("#") for line in layout.lines) and not function.doc:
        lines.append(f"{INDENT}pass")
        places.append(None)
    return Emitted(name, "\n".join(lines) + "\n", found.found, tuple(places))


def variable_names(function: ir.Function) -> Callable[[ir.Var], str]:
    """The names that variables have in the source of `function`; those that have none there keep their own."""
    folding, _, classes, names = _lowered(function)
    known = function.body.defines - folding.folded.keys()
    return lambda var: names.get(classes.group(var), var.name) if var in known else var.name


def texts_of(function: ir.Function) -> Callable[[ir.Operand], str]:
    """The text of expressions in the source of `function`."""
    folding, lowered, classes, names = _lowered(function)
    known = function.body.defines
    found = Globals([*names.values(), identifier(function.name)])

    def name_of(var: ir.Var) -> str:
        return names.get(classes.group(var), var.name) if var in known and classes.has(var) else var.name

    expressions = Expressions(name_of, folding, found, None, lowered.wholes)
    return expressions.text


def _lowered(function: ir.Function) -> tuple[Folding, Program, Classes, dict[Group, str]]:
    folding = Folding(function)
    lowered = program(function, folding)
    classes = Classes(function, lowered, folding)
    return folding, lowered, classes, name_groups(classes, function)


def _docstring(doc: str) -> list[str]:
    if not doc:
        return []
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    first, *rest = text.splitlines()
    if rest:
        return [f'{INDENT}"""{first}', *(f"{INDENT}{line}".rstrip() for line in rest), f'{INDENT}"""']
    return [f'{INDENT}"""{first}{" " if first.endswith(chr(34)) else ""}"""']


def _temporaries(function: ir.Function) -> frozenset[ir.Var]:
    """The allocations to make in the workspace: arrays that the function drops before it returns, so that their memory
    can be kept for its next call. They are empty or zero, may be large, and no result may refer to them.

        x_tape = np.empty(n); ...; return x_bar        {x_tape}
    """
    aliases = function.analysis(Aliases)
    returned = {aliases.find(y) for y in function.body.yields if ir.is_reference(y)}
    return frozenset(
        op.out
        for op in ir.walk(function.body)
        if isinstance(op, ir.Alloc) and _is_eligible(op) and aliases.find(op.out) not in returned
    )


def _is_eligible(op: ir.Alloc) -> bool:
    own = op.out.type
    assert isinstance(own, types.Array)
    if op.fill is not None and (op.fill.value != 0 or math.copysign(1.0, op.fill.value) < 0):
        return False
    if op.like is not None:
        like = op.like.type
        return isinstance(like, types.Array) and like.layout == own.layout == "C" and like.dtype == own.dtype
    known = 1
    for extent in op.shape:
        if not isinstance(extent, ir.Const):
            return True
        known *= extent.value
    return known > _SMALL
