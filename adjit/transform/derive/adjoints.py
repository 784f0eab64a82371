"""The adjoints that a reverse sweep has found so far: values for numbers, shadows for arrays.

In: contributions, in the order of the reverse sweep. Out: the operations that add them up, in the group at hand, and
for each primal value its complete adjoint when its own operation is reached.

    add(x, w * y_bar)          x_bar = w * y_bar, or x_bar_1 = x_bar + w * y_bar where there is one already
    accumulate(a, lazy)        for i in range(n): a_bar[i] += lazy[i]
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.extents import Axis
from adjit.transform.analysis.squares import Squares
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.mirror import Group, Mirror
from adjit.transform.derive.nan_safe import selective
from adjit.transform.derive.reallocated_shadows import Likeness
from adjit.transform.derive.rule_bodies import Partials, context
from adjit.transform.derive.shadows import Shadows
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.arrays import store
from adjit.transform.frontend.values.elementwise import as_lazy
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.numbers import is_array
from adjit.transform.frontend.values.values import Value
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type, array_type_of, typed_const, writable
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.source.derivative import Derivative

SUFFIX = "_bar"


class Compiler(NamedTuple):
    """What stages ask of what stands above them: the function that is derived, a derivative that a program makes, and
    the adjoint of a rule."""

    primal: Callable[[Derivative, tuple[types.Type, ...]], ir.Function]
    derivative: BuildDerivative
    transpose: Callable[[ir.Call, Any, tuple[int, ...], tuple[int, ...], Compiler], ir.Function]


class Adjoints:
    """What the passes over operations add contributions to."""

    def __init__(self, shadows: Shadows, activity: Activity, compiler: Compiler, given: Mapping[ir.Var, ir.Var]):
        self.function = shadows.forward
        self.in_forward = shadows.of
        self.renewed = shadows.renewed
        self.selective = selective(self.function, activity)
        self.squares = Squares(self.function, activity.is_active)
        self.likeness = Likeness(shadows.forward)
        self.activity = activity
        self.compiler = compiler
        self.build = compiler.derivative
        self.builder = ir.Builder()
        self.partials = Partials(self.builder, self.build)
        self.numbers = self.context()  # for calls on numbers, of which it keeps nothing
        self.bars: dict[ir.Var, ir.Operand] = {}
        self.opening: dict[ir.Region, Group] = {}
        self.shadow_of: dict[ir.Operand, ir.Var] = dict(given.items())
        self.made: dict[ir.Var, tuple[ir.Region, ir.Op | None]] = {}
        # how deep in loops and branches; arrays that have views; buffers that were handed over
        self.depth = 0
        self.viewed = {op.base for op in ir.walk(self.function.body) if isinstance(op, ir.VIEWS)}
        self.handed: set[ir.Var] = set()
        for region in ir.regions(self.function.body):
            self.made.update((arg, (region, None)) for arg in region.args)
            self.made.update((out, (region, op)) for op in region.ops for out in op.results)

    def context(self) -> Context:
        return context(self.builder, self.build)

    def open(self, region: ir.Region) -> Mirror:
        group = self.opening[region] = Group(None)
        return Mirror(region, [group])

    @contextlib.contextmanager
    def group(self, mirror: Mirror, op: ir.Op | None = None) -> Iterator[Group]:
        """One more group of a mirror, into which is emitted."""
        group = Group(op)
        mirror.groups.append(group)
        with self.builder.region(group.ops):  # type: ignore[arg-type]
            yield group

    def shadow(self, array: ir.Operand) -> ir.Var:
        """The shadow of an active array, made at the opening of the mirror of its region if it is not there yet."""
        assert isinstance(array, ir.Var)
        known = self.in_forward.get(array, self.shadow_of.get(array))
        if known is not None:
            return known
        region, op = self.made[array]
        is_tape = isinstance(array.type, types.List)
        type_ = array_type(array.type.dtype, 1) if is_tape else writable(array.type)  # type: ignore[attr-defined]
        out = self.shadow_of[array] = ir.Var(array.name + SUFFIX, type_)
        made: ir.Op
        if isinstance(op, ir.VIEWS):
            base = self.shadow(op.base)
            made = op.rebuilt((base, *op.operands[1:]), (), (out,))
        else:
            length = ir.Var("n", types.intp)
            if is_tape:
                self.opening[region].ops.append(ir.Call(callee=len, args=(array,), outs=(length,)))
            like, shape = (None, (length,)) if is_tape else self.model(array)
            zero, role = typed_const(0, array_type_of(out).dtype), ir.Role("shadow", array)
            writer = Writer(name="n")
            extents = [self.extent(writer, n) for n in shape or ()]
            self.opening[region].ops.extend(writer.ops)
            made = ir.Alloc(shape=tuple(extents), like=like if shape is None else None, fill=zero, out=out, role=role)
        self.opening[region].ops.append(made)
        return out

    def model(self, array: ir.Var) -> tuple[ir.Var, Sequence[ir.Operand | Axis | Affine] | None]:
        """What the shadow of an array is made like: another array that is there for longer, or itself; or its shape."""
        region, op = self.made[array]
        like = array if region is self.function.body else self.likeness.of(array)
        # another layout would make another array
        like = like if writable(like.type) == writable(array.type) else array
        shape: Sequence[ir.Operand | Axis | Affine] | None = self.likeness.extents(array)
        if isinstance(op, ir.Alloc) and op.like is None and region is not self.function.body:
            shape = op.shape
        if shape is None and like is array and region is not self.function.body:
            shape = self.likeness.fixed(array) or self.likeness.of_call(array)
        return like, shape if like is array else None

    @staticmethod
    def extent(writer: Writer, given: ir.Operand | Axis | Affine) -> ir.Operand:
        if isinstance(given, Affine):
            return writer.integer(given)
        return writer.extent(*given) if isinstance(given, tuple) else given

    def renew(self, array: ir.Operand) -> ir.Var:
        """The shadow, handed on by the reverse of the trip after, of an array that each trip makes anew."""
        assert isinstance(array, ir.Var)
        self.shadow_of[array] = ir.Var(array.name + SUFFIX, writable(array.type))
        return self.shadow_of[array]

    def add(self, value: ir.Operand, contribution: ir.Operand | None) -> None:
        """Adds to the adjoint of a number."""
        if contribution is None or not self.activity.is_active(value):
            return
        assert isinstance(value, ir.Var)
        contribution = scalars.cast(self.numbers, contribution, value.type)
        known = self.bars.get(value)
        if known is None or ir.is_literal(known, 0):
            self.bars[value] = contribution
        else:
            self.bars[value] = self.builder.call(
                operator.add, known, contribution, type=value.type, name=value.name + SUFFIX
            )

    def accumulate(self, array: ir.Operand, contribution: Value) -> None:
        """Adds to the shadow of an array, element by element; a contribution has the shape of the array."""
        ctx = self.context()
        shadow = self.shadow(array)
        lazy, rank = as_lazy(ctx, contribution), array_type_of(shadow).ndim
        if lazy.ndim != rank:
            raise errors.InternalError(f"a rule gives an adjoint of rank {lazy.ndim} for an argument of rank {rank}")
        ctx.builder.nest(ctx.shape(shadow), lambda index: store(ctx, shadow, index, lazy.element(index), add=True))

    def take(self, value: ir.Var) -> ir.Operand | None:
        """The adjoint of a value that is now complete; None if nothing flows into it."""
        bar = self.bars.pop(value, None)
        return None if bar is None or ir.is_literal(bar, 0) else bar

    def contribute(self, arg: ir.Operand, contribution: Value, is_last: bool = False) -> None:
        assert isinstance(arg, ir.Var)
        if is_array(arg):
            if not self.hand_over(arg, contribution, is_last):
                self.accumulate(arg, contribution)
        else:
            assert isinstance(contribution, ir.Var | ir.Const)
            self.add(arg, contribution)

    def hand_over(self, arg: ir.Var, contribution: Value, is_last: bool) -> bool:
        """Makes an array that nothing else holds the shadow of `arg`, if it has none yet: nothing is copied or zeroed.

        That is one made by this very group, or (`is_last`) the shadow of an array that does not exist before this
        point. Only outside loops and branches, and for arrays that neither have nor are views: those have theirs from
        the opening.
        """
        if self.depth or arg in self.shadow_of or arg in self.in_forward or arg in self.viewed:
            return False
        if not isinstance(contribution, ir.Var) or contribution.type != writable(arg.type):
            return False
        region, op = self.made[arg]
        # the shadow of a view is the view of a shadow
        if region is not self.function.body or isinstance(op, ir.VIEWS):
            return False
        made = next((k for k, op in enumerate(self.builder.ops) if contribution in op.results), None)
        if made is not None and isinstance(self.builder.ops[made], ir.Call):
            shadow = dataclasses.replace(contribution, name=arg.name + SUFFIX)
            renamed: dict[ir.Var, ir.Operand] = {contribution: shadow}
            op = self.builder.ops[made]
            results = [shadow if r is contribution else r for r in op.results]
            later = [ir.substituted(o, renamed) for o in self.builder.ops[made + 1 :]]
            self.builder.ops[made:] = [op.rebuilt(op.operands, (), results), *later]
        elif is_last and contribution not in self.handed:
            shadow = contribution
        else:
            return False
        self.handed.add(shadow)
        self.shadow_of[arg] = shadow
        return True


def bar_name(operand: ir.Operand) -> str:
    return ir.name_of(operand, "value") + SUFFIX
