"""How values depend on each other: by numbers, whose derivatives flow, or through what is decided by them alone.

In: a function. Out: `Dependences`, what goes into what; for inputs and outputs, which operations decide.

    while y > 0.0:            t goes on from t + dt: by data
        y = y - v * dt        whether it does is decided by y, and so by v: by control
        t = t + dt

Data are what `activity.py` follows. Control are conditions, numbers of trips, indices, extents, and what rounds,
compares or counts. What is held fixed, by `stop_gradient` or as an operation that a user has registered as constant,
ends both.
The extents of an argument are nobody's decision. A condition of which one side raises decides nothing, and a derivative
that the program makes of a function of its own is a function like others, be it made of conditions alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adjit.rules.registry import is_held
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.derive.activity import carries, is_constant, is_exchange
from adjit.transform.source.routines import Routine

# whose result is of an extent that the values of an array decide
_OF_EXTENTS_BY_VALUE = (np.flatnonzero, np.argwhere, np.unique)
_OF_SHAPES = (np.shape, np.size)
# of whose second argument only the sign counts
_BY_SIGN = (np.copysign, np.nextafter)


class _Layout(NamedTuple):
    """The extents of an array, and which part of memory it is."""

    array: ir.Operand


class Step(NamedTuple):
    """Something that goes into what an operation makes, as a number (`is_data`), or by what it decides."""

    source: Hashable
    made: Hashable
    op: ir.Op
    is_data: bool


class Decision(NamedTuple):
    """A statement that decides on what comes out, by these inputs."""

    filename: str
    line: int
    text: str
    by: tuple[ir.Var, ...]


class Dependences:
    """The steps of a function; `derived`: what derivatives that it makes itself take and give."""

    def __init__(
        self, function: ir.Function, derived: Iterable[tuple[Sequence[ir.Operand], Sequence[ir.Operand]]] = ()
    ) -> None:
        self._aliases = function.analysis(Aliases)
        self._from: dict[Hashable, list[Step]] = {}
        self._to: dict[Hashable, list[Step]] = {}
        self.has_exchanges = any(map(is_exchange, function.body.inside))
        for op in function.body.inside:
            for step in self._steps(op):
                self._add(step)
        made = function.body.made
        for taken, given in derived:
            for out in given:
                if out in made:
                    for operand in taken:
                        self._add(self._step(operand, out, made[out]))

    def decisions(self, inputs: Iterable[ir.Var], outputs: Iterable[ir.Operand]) -> list[Decision]:
        """Where what is made of these inputs decides on these outputs, a line each, in order."""
        goes = self.goes_into(outputs)
        found: dict[tuple[str, int, str], dict[ir.Var, None]] = {}
        for variable in inputs:
            for source in self._reached((self._key(variable),), self._from, with_control=False):
                for step in self._from.get(source, ()):
                    origin = step.op.origin
                    if not step.is_data and origin is not None and step.made in goes:
                        found.setdefault((origin.filename, origin.line, origin.text), {})[variable] = None
        return [Decision(*place, tuple(by)) for place, by in sorted(found.items(), key=lambda item: item[0])]

    def is_only_deciding(self, variable: ir.Operand, outputs: Sequence[ir.Operand]) -> bool:
        """Whether an input has a say in these outputs, and does not go into them."""
        by_data = self.goes_into(outputs, with_control=False)
        return not self.is_in(variable, by_data) and self.is_in(variable, self.goes_into(outputs))

    def way(self, start: ir.Operand, outputs: Iterable[ir.Operand]) -> ir.Op | None:
        """Where the shortest way from an input to one of the outputs first goes through control; None if there is no
        way, or one by data alone."""
        ends, key = set(map(self._key, outputs)), self._key(start)
        before: dict[Hashable, Step | None] = {key: None}
        todo = [key]
        for at in todo:
            if at in ends:
                return self._first(before, at)
            for step in self._from.get(at, ()):
                if step.made not in before:
                    before[step.made] = step
                    todo.append(step.made)
        return None

    def goes_into(self, outputs: Iterable[ir.Operand], with_control: bool = True) -> set[Hashable]:
        """All that goes into these outputs."""
        return self._reached(map(self._key, outputs), self._to, with_control)

    def is_in(self, operand: ir.Operand, found: set[Hashable]) -> bool:
        return self._key(operand) in found

    @staticmethod
    def _first(before: dict[Hashable, Step | None], at: Hashable) -> ir.Op | None:
        found = None
        while (step := before[at]) is not None:
            found = found if step.is_data else step.op
            at = step.source
        return found

    def _reached(
        self, start: Iterable[Hashable], steps: dict[Hashable, list[Step]], with_control: bool
    ) -> set[Hashable]:
        todo = list(start)
        found = set(todo)
        is_forward = steps is self._from
        for at in todo:
            for step in steps.get(at, ()):
                other = step.made if is_forward else step.source
                if (step.is_data or with_control) and other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    # ----------------------------------------------------------------------------------------------------------- steps

    def _add(self, step: Step) -> None:
        self._from.setdefault(step.source, []).append(step)
        self._to.setdefault(step.made, []).append(step)

    def _key(self, operand: ir.Operand) -> Hashable:
        return self._aliases.find(operand) if ir.is_reference(operand) else operand

    def _step(self, source: ir.Operand, made: ir.Operand, op: ir.Op, is_data: bool = True) -> Step:
        return Step(self._key(source), self._key(made), op, is_data and carries(source.type) and carries(made.type))

    def _steps(self, op: ir.Op) -> Iterator[Step]:
        if isinstance(op, ir.Call):
            yield from self._of_call(op)
        elif isinstance(op, ir.Store | ir.Push):
            memory, *index = op.operands
            yield self._step(op.value, memory, op)
            yield from (self._step(at, memory, op, False) for at in index if at is not op.value)
        elif isinstance(op, ir.Load | ir.Pull):
            memory, *index = op.operands
            yield self._step(memory, op.out, op)
            yield from (self._step(at, op.out, op, False) for at in index)
            yield Step(_Layout(memory), self._key(op.out), op, False)
        elif isinstance(op, ir.Copy):
            yield self._step(op.source, op.out, op)
            yield Step(_Layout(op.source), _Layout(op.out), op, False)
        elif isinstance(op, ir.Extent):
            yield Step(_Layout(op.array), op.out, op, False)
        elif isinstance(op, (ir.Alloc, *ir.VIEWS)):
            for operand in op.operands:
                source = _Layout(operand) if ir.is_reference(operand) else operand
                yield Step(source, _Layout(op.out), op, False)
        elif isinstance(op, ir.If):
            yield from self._of_branches(op)
        elif isinstance(op, ir.For | ir.While):
            yield from self._of_loop(op)

    def _of_call(self, op: ir.Call) -> Iterator[Step]:
        if is_held(op.callee):
            return
        if isinstance(op.callee, Routine):
            yield from self._of_routine(op, op.callee.function)
            return
        no_data = is_constant(op.callee)
        for out in op.outs:
            for k, arg in enumerate(op.args):
                by_sign = k == 1 and op.callee in _BY_SIGN
                if op.callee not in _OF_SHAPES:
                    yield self._step(arg, out, op, not no_data and not by_sign)
                if ir.is_reference(arg):
                    yield Step(_Layout(arg), _Layout(out) if ir.is_reference(out) else out, op, False)
                if ir.is_reference(out) and (not ir.is_reference(arg) or op.callee in _OF_EXTENTS_BY_VALUE):
                    yield Step(self._key(arg), _Layout(out), op, False)

    def _of_routine(self, op: ir.Call, function: ir.Function) -> Iterator[Step]:
        """From each argument to the results that it goes into in the function, and to those that it only decides."""
        inside = function.analysis(Dependences)
        for out, result in zip(op.outs, function.body.yields, strict=True):
            by_data = inside.goes_into((result,), with_control=False)
            reached = inside.goes_into((result,))
            for arg, parameter in zip(op.args, function.body.args, strict=True):
                if inside.is_in(parameter, reached):
                    yield self._step(arg, out, op, inside.is_in(parameter, by_data))

    def _of_branches(self, op: ir.If) -> Iterator[Step]:
        are_both = not any(map(ir.raises, op.regions))
        for out, *yields in ir.joined(op):
            for yielded in yields:
                yield from self._joined(yielded, out, op)
            if are_both and yields[0] != yields[1]:
                yield from self._decided(op.condition, out, op)
        if are_both:
            yield from self._stores(op, op.condition)

    def _of_loop(self, op: ir.For | ir.While) -> Iterator[Step]:
        deciding = list(op.operands[:3]) if isinstance(op, ir.For) else list(op.test.yields)
        deciding += op.body.yields[-1:] if op.stops else ()
        if isinstance(op, ir.For):
            yield from (self._step(end, op.body.args[0], op, False) for end in (op.start, op.step))
        for name, *yields in ir.joined(op):
            for yielded in yields:
                yield from self._joined(yielded, name, op)
        for slot in op.slots:
            if slot.yielded is not slot.arg:
                for by in deciding:
                    yield from self._decided(by, slot.out, op)
        for by in deciding:
            yield from self._stores(op, by)

    def _joined(self, source: ir.Operand, made: ir.Var, op: ir.Op) -> Iterator[Step]:
        yield self._step(source, made, op)
        if ir.is_reference(made):
            yield Step(_Layout(source), _Layout(made), op, False)

    def _decided(self, by: ir.Operand, made: ir.Var, op: ir.Op) -> Iterator[Step]:
        yield self._step(by, made, op, False)
        if ir.is_reference(made):
            yield Step(by, _Layout(made), op, False)

    def _stores(self, op: ir.Op, by: ir.Operand) -> Iterator[Step]:
        """What is stored inside, if and as often as this says."""
        for memory in dict.fromkeys(m for region in op.regions for m in region.memory_written):
            yield self._step(by, memory, op, False)
