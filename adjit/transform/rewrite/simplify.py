"""Simplification: the same function in fewer operations.

In: a function. Out: an equal one, up to the sign of zeros: constants folded, identities applied, common
subexpressions of scalars and equal slices shared, branches on literals inlined, carried values that never change taken
out, sizes computed before loops, and what is then dead removed.

    %t = call mul(%w, 1.0)
    %s = call mul(%x, %t)            %s = call mul(%x, %w)
    %u = call mul(%x, %w)
    store %a_bar[%i] += %u           store %a_bar[%i] += %s
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.extents import Axis, extent_source
from adjit.transform.analysis.integers import is_quotient
from adjit.transform.rewrite.algebra import is_scalar, literal, simpler
from adjit.transform.rewrite.dead_code import eliminate_dead

MOST_PASSES = 12
_is_integer = ir.of_kinds(types.Integer)
_DEFINITE = (ir.Call, ir.Alloc, ir.Copy, ir.Extent, *ir.VIEWS)


def simplify(function: ir.Function) -> ir.Function:
    """The function simplified, at most MOST_PASSES times over, and without dead operations.

    What a walk changes, all that comes after it in that walk sees; another is made where it changed what came before,
    or left dead operations.
    """
    return function if function.analysis(_Fixpoint).is_reached else _simplified(function)


def _simplified(function: ir.Function) -> ir.Function:
    function = eliminate_dead(function)
    for _ in range(MOST_PASSES):
        walk = _Pass(function)
        simplified = walk.function()
        if simplified is not function:
            function = eliminate_dead(simplified)
        if not walk.reaches_back and function is simplified:
            function.analysis(_Fixpoint).is_reached = True
            break
    return function


class _Fixpoint:
    """Whether a function has been found to be as simple as can be."""

    def __init__(self, function: ir.Function):
        self.is_reached = False


class _Scope:
    """What a region and those around it have computed: expression to result."""

    def __init__(self, outer: _Scope | None = None):
        self.outer = outer
        self.known: dict[Hashable, tuple[ir.Var, ...]] = {}

    def find(self, key: Hashable) -> tuple[tuple[ir.Var, ...] | None, bool]:
        """The results computed for the key, and whether that was in this very region."""
        scope: _Scope | None = self
        while scope is not None:
            found = scope.known.get(key)
            if found is not None:
                return found, scope is self
            scope = scope.outer
        return None, False


class _Pass:
    """One walk over the function in execution order. Regions are rebuilt, values that go away mapped to others."""

    def __init__(self, function: ir.Function):
        self._function = function
        self._aliases = function.analysis(Aliases)
        self._values: dict[ir.Operand, ir.Operand] = {}
        self._truth: dict[ir.Operand, bool] = {}  # conditions known inside the branches they decide
        self._definitions: dict[ir.Operand, ir.Op] = {}  # of what has been put out so far
        self._seen: dict[ir.Operand, int] = {}  # defined so far, in so many loops
        self._loops = 0  # around what is at hand
        self._changed = False
        self.reaches_back = False  # what came before a change might be simpler now
        self._versions: Counter[ir.Operand] = Counter()  # how often each memory may have been stored to so far
        # an undefined variable may only be read where the user reads it, so nothing that it may reach is moved
        self._has_undefined = ir.Undefined in function.body.kinds
        self._renamed: dict[ir.Operand, ir.Var] = {}

    @functools.cached_property
    def _uses(self) -> Counter[ir.Operand]:
        reads = (*(o for op in self._function.body.ops for o in op.reads), *self._function.body.yields)
        return Counter(o for o in reads if isinstance(o, ir.Var))

    def uses(self, var: ir.Var) -> int:
        """How often a variable is read before this walk, which few calls ask."""
        return self._uses[var]

    def function(self) -> ir.Function:
        body = self.region(self._function.body, _Scope())
        if not self._changed:
            return self._function
        if self._renamed:
            body = renamed(body, self._renamed)
        return dataclasses.replace(self._function, body=body)

    # ------------------------------------------------------------------------------------------- regions

    def operand(self, operand: ir.Operand) -> ir.Operand:
        while operand in self._values:
            operand = self._values[operand]
        return operand

    def operands(self, operands: tuple[ir.Operand, ...]) -> tuple[ir.Operand, ...]:
        if not self._values or not any(o in self._values for o in operands):
            return operands
        return tuple(self.operand(o) for o in operands)

    def equate(self, results: Sequence[ir.Var], operands: Sequence[ir.Operand]) -> None:
        """From here on each result is the operand."""
        self._changed = True
        for result, operand in zip(results, operands, strict=True):
            self._values[result] = operand

    def region(self, region: ir.Region, scope: _Scope) -> ir.Region:
        """The region simplified: the same object if it is as simple as can be."""
        done: list[ir.Op] = []
        self._seen.update(dict.fromkeys(region.args, self._loops))
        for op in region.ops:
            self.op(op, done, scope)
        return ir.with_ops(region, done, self.operands(region.yields))

    def op(self, op: ir.Op, done: list[ir.Op], scope: _Scope) -> None:
        """Simplifies `op` and puts what is left of it at the end of `done`."""
        operands = self.operands(op.operands)
        if op.regions:
            # what a loop stores is there in its later trips, and what either stores is there afterwards
            stored = op.regions[0].memory_written + op.regions[-1].memory_written
            if isinstance(op, ir.If):
                self.branch(op, operands[0], done, scope)
            elif isinstance(op, ir.For | ir.While):
                self.note_stores(stored)
                self.loop(op, operands, done, scope)
            self.note_stores(stored)
        else:
            if operands is not op.operands:
                op = op.rebuilt(operands, (), op.results)
            self.plain(op, done, scope)

    def note_stores(self, stored: Iterable[ir.Operand]) -> None:
        for memory in stored:
            self._versions[self._aliases.find(memory)] += 1

    def put(self, op: ir.Op, done: list[ir.Op]) -> None:
        written = op.memory_written
        if written is not None:
            self.note_stores((written,))
        for out in op.results:
            self._definitions[out] = op
            self._seen[out] = self._loops
        done.append(op)

    # ------------------------------------------------------------------------------------------- plain operations

    def plain(self, op: ir.Op, done: list[ir.Op], scope: _Scope) -> None:
        if isinstance(op, ir.Call):
            better = simpler(op, self._definitions, self.uses)
            while better is not None:
                self._changed = True
                if not isinstance(better, tuple):
                    self.equate(op.outs, (better,))
                    return
                *before, op = better
                # they are not shared with what there is before the next walk
                self.reaches_back |= bool(before)
                for call in before:
                    self.put(call, done)
                better = simpler(op, self._definitions, self.uses)
        elif isinstance(op, ir.Extent):
            extent = self.extent(op.array, op.axis, op.out.type)
            if not isinstance(extent, tuple):
                self.equate((op.out,), (extent,))
                return
            array, axis = extent
            if array is not op.array:
                self._changed = True
                op = dataclasses.replace(op, array=array, axis=axis)
        elif isinstance(op, ir.Raise) and isinstance(op.condition, ir.Const) and op.condition.value:
            self._changed = True
            return
        if self.share(op, scope):
            return
        self.put(op, done)
        if isinstance(op, ir.Store) and not (op.add or op.extreme) and isinstance(op.value, ir.Var):
            # the element holds this value until something is stored again
            version = self._versions[self._aliases.find(op.array)]
            scope.known[(ir.Load, op.array, op.index, version)] = (op.value,)

    def extent(self, array: ir.Operand, axis: int, type_: ir.Type) -> ir.Operand | Axis:
        """An operand that holds the extent of the array, or an axis as near to the parameters as can be."""
        while isinstance(array, ir.Var):
            source = extent_source(self._definitions.get(array), axis, self._definitions)
            if isinstance(source, ir.Const):
                return literal(source.value, type_)
            if isinstance(source, ir.Var) and source.type == type_:
                return source
            if not isinstance(source, tuple):
                return array, axis
            array, axis = source
        return literal(array.value.shape[axis], type_)

    def share(self, op: ir.Op, scope: _Scope) -> bool:
        """Whether an equal operation has been done already, so that this one goes."""
        key = self.key(op)
        if key is None:
            return False
        known, here = scope.find(key)
        if known is None:
            scope.known[key] = op.results
            return False
        ours, theirs = op.results[0], known[0]
        if ours.user and theirs.user and ours.name != theirs.name:
            return False  # two statements of the user's
        if ours.user and not theirs.user:
            if not here or theirs in self._renamed:
                return False
            self._renamed[theirs] = ours
        self.equate(op.results, known)
        return True

    def key(self, op: ir.Op) -> Hashable:
        """What equal operations have in common; None where they may not be shared."""
        if isinstance(op, ir.Call):
            return op.analysis(_expression)
        if isinstance(op, ir.Extent):
            return (ir.Extent, op.array, op.axis)
        if isinstance(op, ir.Slice):
            # a view may be of a more general type, for what another branch gives
            return (ir.Slice, op.base, op.selectors, op.results[0].type)
        if isinstance(op, ir.Load):
            # the same element, with no store to its memory in between
            return (ir.Load, op.array, op.index, self._versions[self._aliases.find(op.array)])
        return None

    # ------------------------------------------------------------------------------------------- branches

    def branch(self, op: ir.If, condition: ir.Operand, done: list[ir.Op], scope: _Scope) -> None:
        known = condition.value if isinstance(condition, ir.Const) else self._truth.get(condition)
        if known is not None:
            taken = op.then if known else op.orelse
            self.inlined(taken, (), done, scope)
            self.equate(op.outs, self.operands(taken.yields))
            return
        regions = []
        for region, value in ((op.then, True), (op.orelse, False)):
            self._truth[condition] = value
            regions.append(self.region(region, _Scope(scope)))
        del self._truth[condition]
        then, orelse = regions
        kept = []
        for k, out in enumerate(op.outs):
            yes, no = then.yields[k], orelse.yields[k]
            if yes == no:
                self.equate((out,), (yes,))
            elif isinstance(out.type, types.Boolean) and isinstance(yes, ir.Const) and isinstance(no, ir.Const):
                chosen = ir.Call(callee=ir.select, args=(condition, yes, no), outs=(out,), origin=op.origin)
                self.plain(chosen, done, scope)
            else:
                kept.append(k)
        self.put(ir.with_results(ir.with_parts(op, (condition,), (then, orelse), op.outs), kept), done)

    def inlined(self, region: ir.Region, values: Sequence[ir.Operand], done: list[ir.Op], scope: _Scope) -> None:
        """What a region does to these values, without what holds it."""
        self.reaches_back = True
        self.equate(region.args, values)
        for inner in region.ops:
            self.op(inner, done, scope)

    # ------------------------------------------------------------------------------------------- loops

    def loop(self, op: ir.For | ir.While, operands: Sequence[ir.Operand], done: list[ir.Op], scope: _Scope) -> None:
        trips = self.few_trips(op, operands)
        if trips is not None:
            inits = operands[-len(op.outs) :] if op.outs else ()
            if isinstance(op, ir.While):
                # the test itself is run once
                self.inlined(op.test, inits, done, scope)
            elif trips:
                counter = literal(trips[0], op.body.args[0].type)
                self.inlined(op.body, (counter, *inits), done, scope)
                inits = self.operands(op.body.yields[: len(op.outs)])
            self.equate(op.outs, inits)
            return
        narrowed = ir.with_results(op, self.changing_slots(op))
        regions = [self.hoist(region, done, scope) for region in narrowed.regions]
        self._loops += 1
        regions = [self.region(region, _Scope(scope)) for region in regions]
        self._loops -= 1
        # what the slots are is decided before it is known what a trip hands on
        self.reaches_back |= any(True for _ in self.unchanging_slots(narrowed, regions[-1].yields))
        self.put(ir.with_parts(narrowed, self.operands(narrowed.operands), regions, narrowed.results), done)

    def few_trips(self, op: ir.For | ir.While, operands: Sequence[ir.Operand]) -> range | None:
        """The trips of a loop that makes none, or is made once and not run again; of others None."""
        if isinstance(op, ir.While):
            test = self.operand(op.test.yields[0])
            return range(0) if isinstance(test, ir.Const) and not test.value else None
        literals = [int(o.value) for o in operands[:3] if isinstance(o, ir.Const)]
        if len(literals) < 3 or literals[2] == 0:
            return None
        trips = range(*literals)
        return trips if not trips or (len(trips) == 1 and op.snapshots is None) else None

    def changing_slots(self, op: ir.For | ir.While) -> list[int]:
        """The slots that a loop has to carry. The others are equated to their initial value, or to a slot like them."""
        kept = list(range(len(op.slots)))
        for k, names, known in self.unchanging_slots(op, op.body.yields):
            self.equate(names, known)
            kept.remove(k)
        # a test of what does not change is looked at before it is known
        self.reaches_back |= len(kept) < len(op.slots) and isinstance(op, ir.While)
        return kept

    def unchanging_slots(
        self, op: ir.For | ir.While, yields: Sequence[ir.Operand]
    ) -> Iterator[tuple[int, Sequence[ir.Var], Sequence[ir.Operand]]]:
        """The slots that a loop need not carry, if a trip hands this on, with their names and what these are."""
        carried: dict[Hashable, tuple[ir.Var, ...]] = {}
        for k, (slot, names, handed_on) in enumerate(zip(op.slots, ir.names_of_slots(op), yields, strict=False)):
            init, handed = sources = self.operands((slot.init, handed_on))
            if handed is slot.arg or handed == init:
                yield k, names, [init] * len(names)
            elif (twin := carried.setdefault(sources, names)) is not names:
                yield k, names, twin

    def hoist(self, body: ir.Region, done: list[ir.Op], scope: _Scope) -> ir.Region:
        """Puts sizes, and integers made of them, that are the same in each trip before the loop. None can fail."""
        kept: list[ir.Op] = []
        for op in body.ops:
            if self.is_invariant(op):
                self._changed = True
                # what goes out of a loop may go out of the one around it, too, which is done with that
                self.reaches_back |= self._loops > 0 and all(map(self.is_further_out, op.operands))
                self.op(op, done, scope)
            else:
                kept.append(op)
        return ir.with_ops(body, kept)

    def is_invariant(self, op: ir.Op) -> bool:
        if isinstance(op, ir.Call):
            if not _is_total(op) or not all(map(_is_integer, (*op.args, *op.outs))):
                return False
        elif not isinstance(op, ir.Extent):
            return False
        return not any(out.user for out in op.results) and all(map(self.is_outside, op.operands))

    def is_further_out(self, operand: ir.Operand) -> bool:
        """Whether the operand is defined before the loop at hand."""
        return self._seen.get(self.operand(operand), 0) < self._loops

    def is_outside(self, operand: ir.Operand) -> bool:
        """Whether the operand is defined before the loop that comes next, and surely."""
        operand = self.operand(operand)
        if isinstance(operand, ir.Const):
            return True
        if operand not in self._seen:
            return False
        if not self._has_undefined or operand in self._function.body.args:
            return True
        # any argument of a loop and any result of control flow may be the undefined one
        return isinstance(self._definitions.get(operand), _DEFINITE)


def _expression(op: ir.Call) -> Hashable:
    """What calls that give the same numbers have in common; None if it may give others each time, or an array."""
    if op.effect or not op.outs or not all(map(is_scalar, op.outs)) or not all(map(is_scalar, op.args)):
        return None
    args: Hashable = op.args
    if ir.canonical(op.callee) in (operator.add, operator.mul):
        args = frozenset(op.args) if op.args[0] != op.args[1] else op.args
    return (ir.canonical(op.callee), args, op.options, tuple(o.type for o in op.outs))


def _is_total(op: ir.Call) -> bool:
    """Whether it is arithmetic that has a result for any integers."""
    return ir.canonical(op.callee) in (operator.add, operator.sub, operator.mul, operator.neg) or is_quotient(op)


def renamed(region: ir.Region, names: Mapping[ir.Operand, ir.Var]) -> ir.Region:
    """The region with one variable in the place of another, where it is defined too."""
    ops = [
        ir.with_parts(
            op,
            [names.get(o, o) for o in op.operands],
            [renamed(inner, names) for inner in op.regions],
            [names.get(r, r) for r in op.results],
        )
        for op in region.ops
    ]
    made = ir.with_ops(region, ops, [names.get(y, y) for y in region.yields])
    args = tuple(names.get(a, a) for a in region.args)
    return made if ir.same(args, region.args) else ir.Region(args, made.ops, made.yields)
