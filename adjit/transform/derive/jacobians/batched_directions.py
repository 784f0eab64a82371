"""One sweep for several tangents, or for several seeds: those that are given, a chunk of them at a time.

In: a function and its tangents with one axis more, the first, or a reverse sweep and such seeds. Out: a function of
those, whose tangents, or adjoints, have that axis, too.

    y_dot = df(x) x_dot        for first in range(0, x_dot.shape[0], 8):
                                   y, x_dot_chunk[:, d] = f(x), x_dot[first + d]         for each direction d
                                   y_dot_chunk = df(x) x_dot_chunk
                                   y_dot[first + d] = y_dot_chunk[:, d]

The chunks are those of Jacobians (`jacobian.py`), with what is given in the place of unit directions. Beyond the last
one the last one is done again, for nobody.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.derive.directions import Directions, Tangent, extents
from adjit.transform.derive.forward import Tangents
from adjit.transform.derive.jacobians.jacobian import Changed, Chunked, Shape, together, unheard
from adjit.transform.derive.jacobians.multi_seed import Copies
from adjit.transform.frontend.walk.entry import BuildDerivative, without_comments
from adjit.transform.ir.types import array_type, array_type_of, typed_const


def several_tangents(
    function: ir.Function,
    dots: Sequence[ir.Var | None],
    extra_params: Sequence[ir.Tree],
    names: Sequence[str],
    width: int,
    build: BuildDerivative,
) -> ir.Function:
    """The function that also returns the tangents of its results, as `forward` has it; `width`: of a chunk."""
    return together(lambda is_wide: _Tangents(function, dots, width if is_wide else 1, build).made(extra_params, names))


def several_seeds(
    sweep: ir.Function,
    seed: ir.Tree,
    seeds: ir.Tree,
    changed: Changed,
    width: int,
    build: BuildDerivative,
) -> ir.Function:
    """The sweep for several seeds in the place of one, its last parameter; `changed`: what it stores into."""
    return together(lambda is_wide: _Seeds(width if is_wide else 1, build).made(sweep, seed, seeds, changed))


class _Several(Chunked):
    def __init__(self, width: int, build: BuildDerivative, kind: type[Directions]) -> None:
        super().__init__(build)
        self.widen(width, kind)

    def count_of(self, given: Sequence[ir.Var]) -> ir.Operand:
        """How many there are."""
        self.count: ir.Operand = self.builder.extent(given[0], 0)
        self.last = self.integer(operator.sub, self.count, ir.integer(1), name="last")
        return self.count

    def given(self, var: ir.Var, own: ir.Var, shape: Shape, first: ir.Operand) -> Tangent:
        """The chunk, from number `first` on, of what is given in `var` for a variable of this type and shape."""
        at: list[ir.Operand] = []
        for d in range(self.width):
            number = self.integer(operator.add, first, ir.integer(d), name="at")
            at.append(number if d == 0 else self.integer(min, number, self.last, name="at"))
        if not ir.is_array(own):
            return tuple(self.builder.load(var, (number,), own.name) for number in at)
        made = ir.Var(var.name, self.directions.type_of(array_type(array_type_of(own).dtype, array_type_of(own).ndim)))
        self.builder.emit(ir.Alloc(shape=(*shape, *self.directions.extent), out=made))

        def one(index: tuple[ir.Var, ...]) -> None:
            for number, direction in zip(at, self.directions.indices, strict=True):
                self.builder.store(made, (*index, *direction), self.builder.load(var, (number, *index)))

        self.builder.nest(shape, one)
        return (made,)

    def results(self, values: Sequence[ir.Operand], shapes: Sequence[Shape]) -> list[ir.Var]:
        """Arrays for what belongs to results, like these values; of what carries no derivative it is zero."""
        made = []
        for value, shape in zip(values, shapes, strict=True):
            kind = array_type_of(value).dtype if ir.is_array(value) else value.type
            made.append(ir.Var(ir.name_of(value, "value") + self.directions.suffix, array_type(kind, len(shape) + 1)))
            fill = None if ir.is_float(value.type) else typed_const(0, kind)
            self.builder.emit(ir.Alloc(shape=(self.count, *shape), fill=fill, out=made[-1]))
        return made

    def take(self, out: ir.Var, found: Tangent, shape: Shape, first: ir.Operand) -> None:
        """Stores a chunk of what belongs to a result."""
        load = self.reading(found, out.name)
        ahead = self.integer(operator.sub, self.count, first, name="ahead")
        end = self.integer(min, ahead, ir.integer(self.width), name="end") if self.width > 1 else ir.integer(1)

        def one(index: tuple[ir.Var, ...]) -> None:
            def in_direction(d: ir.Operand) -> None:
                self.builder.store(out, (self.integer(operator.add, first, d), *index), load(index, d))

            self.loop("d", ir.integer(0), end, 1, in_direction, order_free=True)

        self.builder.nest(shape, one)


class _Tangents(_Several):
    def __init__(
        self, function: ir.Function, dots: Sequence[ir.Var | None], width: int, build: BuildDerivative
    ) -> None:
        super().__init__(width, build, Directions)
        self.primal, self.dots = without_comments(function), dots

    def made(self, extra_params: Sequence[ir.Tree], names: Sequence[str]) -> ir.Function:
        body = self.primal.body
        own = {p: dot for p, dot in zip(body.args, self.dots, strict=True) if dot is not None}
        count = self.count_of(list(own.values()))
        self.builder.ops.extend(body.ops)
        shapes = [extents(self.builder, y) for y in body.yields]
        outs = self.results(body.yields, shapes)
        # arguments that the function stores to are copied where it begins
        given = {p: extents(self.builder, p) for p in own}

        def chunk(first: ir.Operand) -> None:
            again = ir.Cloner().region(ir.rewritten(dataclasses.replace(body, args=()), unheard))
            function = dataclasses.replace(self.primal, body=dataclasses.replace(again, args=body.args))
            along = [self.given(own[p], p, given[p], first) if p in own else None for p in body.args]
            ops, tangents = Tangents(function, along, self.directions, self.build).run()
            self.builder.ops.extend(ops)
            for out, y, tangent, shape in zip(outs, body.yields, tangents, shapes, strict=True):
                if ir.is_float(y.type):
                    self.take(out, tangent, shape, first)

        self.loop("first", ir.integer(0), count, self.width, chunk)
        extra = tuple(ir.leaves(tuple(extra_params)))
        region = ir.Region((*body.args, *extra), tuple(self.builder.ops), (*body.yields, *outs))
        moved = ir.map_tree(lambda k: None if k is None else k + len(outs), self.primal.result)
        return dataclasses.replace(
            self.primal,
            names=(*self.primal.names, *names),
            params=(*self.primal.params, *extra_params),
            body=region,
            result=(self.primal.result, moved),
        )


class _Seeds(_Several):
    def __init__(self, width: int, build: BuildDerivative) -> None:
        super().__init__(width, build, Copies)

    def made(self, function: ir.Function, seed: ir.Tree, seeds: ir.Tree, changed: Changed) -> ir.Function:
        function = without_comments(function)
        sweep = function.body
        both = zip(ir.leaves(seed), ir.leaves(seeds), strict=True)
        own = {bar: given for bar, given in both if ir.is_float(bar.type)}
        count = self.count_of(list(own.values()))
        shapes = self.shapes(sweep, own, changed)
        outs = self.results(sweep.yields, shapes)

        def chunk(first: ir.Operand) -> None:
            along = {bar: self.given(given, bar, self.builder.shape(given)[1:], first) for bar, given in own.items()}
            for out, bar, shape in zip(outs, self.swept(sweep, along, changed), shapes, strict=True):
                self.take(out, bar, shape, first)

        self.loop("first", ir.integer(0), count, self.width, chunk)
        kept = tuple(ir.leaves(function.params[:-1]))
        body = ir.Region((*kept, *ir.leaves(seeds)), tuple(self.builder.ops), tuple(outs))
        return dataclasses.replace(function, params=(*function.params[:-1], seeds), body=body)

    def shapes(self, sweep: ir.Region, own: dict[ir.Var, ir.Var], changed: Changed) -> list[Shape]:
        """The shapes of what the sweep yields, from a copy of it of which only those are left once it is simplified."""
        if not any(map(ir.is_array, sweep.yields)):
            return [()] * len(sweep.yields)
        mapping: dict[ir.Var, ir.Operand] = {}
        for bar, given in own.items():
            if ir.is_array(bar):
                selectors: list[ir.Selector] = [
                    ir.At(ir.integer(0)),
                    *(ir.Span() for _ in range(array_type_of(bar).ndim)),
                ]
                view = self.builder.slice(given, selectors, bar.name)
                mapping[bar] = dataclasses.replace(bar)
                self.builder.emit(ir.Copy(source=view, out=mapping[bar]))  # type: ignore[arg-type]
            else:
                mapping[bar] = typed_const(0, bar.type)
        inside = changed.copied(dataclasses.replace(sweep, args=()))
        alone = ir.Cloner(mapping).region(ir.rewritten(inside, unheard))
        self.builder.ops.extend(alone.ops)
        return [extents(self.builder, y) for y in alone.yields]
