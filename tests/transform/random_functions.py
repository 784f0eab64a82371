"""Random functions in the IR, well-typed and finite: nested loops and branches that hand on, swap and overwrite values.

In: a seed. Out: an `ir.Function` and arguments for it. Names are drawn from a small pool, so that many variables want
the same one, and some of them that of a module or of a builtin. Elements of integer arrays are counted up in place, and
swapped, and `i + 1` of what was read before is read after it.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir

F, I, B = types.float64, types.intp, types.boolean
VECTOR = types.Array(F, 1, "C")
INTS = types.Array(I, 1, "C")
VIEW = types.Array(F, 1, "A")
NAMES = ("x", "y", "s", "t", "x", "s", "i", "n", "np", "math", "abs", "range", "add", "mul", "x_bar", "x_2", "max")
SIZE = 5  # of every array that is a parameter

ticks = [0]


def tick() -> float:
    """A call with an effect: a number that says how often it was called."""
    ticks[0] += 1
    return float(ticks[0])


class RandomFunction:
    """`function` and `arguments()`; `size` bounds how many statements a block has, `depth` how deep they nest."""

    def __init__(self, seed: int, size: int = 7, depth: int = 3, effects: bool = True):
        self.draw = random.Random(seed)
        self.size = size
        self.effects = effects
        self.b = ir.Builder()
        floats = [self.var(F, name) for name in ("x", "y")]
        ints = [self.var(I, "n")]
        arrays = [self.var(VECTOR, name) for name in ("a", "b")]
        counts = [self.var(INTS, "c")]
        params = [*floats, *ints, *arrays, *counts]
        self.scope: dict[ir.Type, list[ir.Var]] = {F: floats, I: ints, B: [], VECTOR: arrays, INTS: counts, VIEW: []}
        self.hollow: list[ir.Var] = []  # floats that may be undefined: handed on and never read
        self.block(depth)
        results = [self.old(t) for t in (F, F, I, B)] + [self.checksum()]
        body = ir.Region(tuple(params), tuple(self.b.ops), tuple(results))
        tree = (0, (1, 2), (3,), 4)
        self.function = ir.Function("f", tuple(p.name for p in params), tuple(params), body, tree)

    def checksum(self) -> ir.Operand:
        """One number that all that is known at the end goes into."""
        found: ir.Operand = ir.Const(0.0, F)
        for k, var in enumerate([*self.scope[F], *self.scope[I], self.element(I), self.element(F)]):
            term = self.call(ir.cast, F, var) if var.type == I else var
            scaled = self.call(operator.mul, F, term, ir.Const(float(k + 1), F))
            found = self.call(operator.add, F, found, scaled)
        return found

    def arguments(self) -> tuple[Any, ...]:
        ticks[0] = 0
        arrays = (np.linspace(-1.0, 1.0, SIZE), np.cos(np.arange(SIZE)), np.arange(SIZE) % 3)
        return np.float64(0.7), np.float64(-1.3), np.int64(3), *arrays

    # ---------------------------------------------------------------------------------------------- values

    def chance(self, p: float) -> bool:
        return self.draw.random() < p

    def var(self, type_: ir.Type, name: str = "") -> ir.Var:
        user = bool(name) or self.chance(0.4)
        return ir.Var(name or self.draw.choice(NAMES), type_, user)

    def const(self, type_: ir.Type) -> ir.Const:
        if type_ == F:
            return ir.Const(self.draw.choice((0.5, -1.25, 2.0, -0.0, 1e-3)), F)
        return ir.Const(self.chance(0.5), B) if type_ == B else ir.Const(self.draw.randrange(-2, 5), I)

    def old(self, type_: ir.Type) -> ir.Operand:
        """An operand that is there already."""
        known = self.scope[type_]
        if not known or (type_ in (F, I, B) and self.chance(0.15)):
            return self.const(type_)
        return self.draw.choice(known[-4:]) if self.chance(0.6) else self.draw.choice(known)

    def array(self) -> ir.Operand:
        return self.old(VIEW if self.scope[VIEW] and self.chance(0.3) else VECTOR)

    def call(self, callee: Any, type_: ir.Type, *args: ir.Operand, effect: bool = False) -> ir.Var:
        out = self.var(type_)
        self.b.emit(ir.Call(callee=callee, args=args, outs=(out,), effect=effect))
        return out

    def known(self, var: ir.Var) -> None:
        self.scope[var.type].append(var)

    def index(self, array: ir.Operand) -> ir.Operand:
        if self.chance(0.3):
            return ir.integer(self.draw.choice((0, 1, -1)))
        return self.call(operator.mod, I, self.old(I), ir.integer(2 if array.type == VIEW else SIZE))

    # ---------------------------------------------------------------------------------------------- blocks

    def block(self, depth: int) -> None:
        for _ in range(self.draw.randrange(1, self.size)):
            self.draw.choice(self.kinds(depth))(depth)

    def kinds(self, depth: int) -> Sequence[Any]:
        simple = [self.arithmetic] * 4 + [self.late] * 2
        simple += [self.integers, self.boolean, self.read, self.write, self.memory, self.pair]
        simple += [self.count, self.count, self.swap, self.beside, self.whole]
        if self.effects:
            simple.append(self.effect)
        return simple + ([self.branch, self.branch, self.loop, self.loop, self.repeat] if depth else [])

    def inner(self, args: Sequence[ir.Var], depth: int) -> list[ir.Op]:
        """A nested block in which `args` are known; `yields` are drawn while it is the scope."""
        with self.b.region() as ops:
            for arg in args:
                self.known(arg)
            self.block(depth - 1)
        return ops

    def arithmetic(self, depth: int) -> None:
        one, other = self.old(F), self.old(F)
        kind = self.draw.randrange(6)
        if kind < 3:
            made = self.call((operator.add, operator.sub, operator.mul)[kind], F, one, other)
        elif kind == 3:
            made = self.call(self.draw.choice((operator.neg, abs, np.sin)), F, one)
        elif kind == 4:
            made = self.call(ir.select, F, self.old(B), one, other)
        else:
            made = self.call(ir.cast, F, self.old(I))
        self.known(self.call(np.tanh, F, made) if self.chance(0.4) else made)

    def late(self, depth: int) -> None:
        """What is read from memory, or computed, some statements before its only use."""
        temporary = ir.Var(self.draw.choice(NAMES), F)
        array = self.array()
        if self.chance(0.7):
            self.b.emit(ir.Load(array=array, index=(self.index(array),), out=temporary))
        else:
            self.b.emit(ir.Call(callee=operator.add, args=(self.old(F), self.old(F)), outs=(temporary,)))
        for _ in range(self.draw.randrange(3)):
            if self.chance(0.5):
                self.write(0)
            else:
                self.draw.choice(self.kinds(min(depth, 1)))(min(depth, 1))
        self.known(self.call(operator.mul, F, temporary, self.old(F)))

    def integers(self, depth: int) -> None:
        one = self.element(I) if self.chance(0.4) else self.old(I)
        made = self.call(self.draw.choice((operator.add, operator.sub, operator.mul)), I, one, self.old(I))
        self.known(self.call(operator.mod, I, made, ir.integer(7)))

    def element(self, type_: ir.Type) -> ir.Var:
        """An element, under a name of nobody's."""
        array = self.old(INTS) if type_ == I else self.array()
        out = ir.Var(self.draw.choice(NAMES), type_)
        self.b.emit(ir.Load(array=array, index=(self.index(array),), out=out))
        return out

    def count(self, depth: int) -> None:
        """`c[k] += 1`, in one operation or in three, and what was read before it."""
        array = self.old(INTS)
        index = self.element(I) if self.chance(0.3) else self.old(I)
        index = self.call(operator.mod, I, index, ir.integer(SIZE))
        step = ir.integer(self.draw.choice((1, -1, 2)))
        if self.chance(0.5):
            self.b.store(array, (index,), step, True)
            return
        before = self.var(I)
        self.b.emit(ir.Load(array=array, index=(index,), out=before))
        after = self.call(self.draw.choice((operator.add, operator.sub)), I, before, step)
        value = self.call(operator.mod, I, after, ir.integer(9)) if self.chance(0.3) else after
        self.b.store(array, (index,), value)
        self.known(self.draw.choice((before, after, value)))

    def whole(self, depth: int) -> None:
        """A call on a whole array, a copy or a view, read some statements later, and once."""
        source: ir.Operand = self.array()
        kind = self.draw.randrange(4)
        if kind == 0:
            made = ir.Var(self.draw.choice(NAMES), VECTOR)
            self.b.emit(ir.Copy(source=source, out=made))
            source = made
        elif kind == 1:
            source = self.call(np.sin, VECTOR, source)
        elif kind == 2:
            made = ir.Var(self.draw.choice(NAMES), VIEW)
            self.b.emit(ir.Slice(base=source, selectors=(ir.Span(ir.integer(1), None, None),), out=made))
            source = made
        if self.chance(0.5):
            self.draw.choice((self.write, self.write, self.swap))(0)
        total = ir.Var(self.draw.choice(NAMES), F)
        self.b.emit(ir.Call(callee=np.max, args=(source,), outs=(total,)))
        for _ in range(self.draw.randrange(2)):
            self.draw.choice(self.kinds(min(depth, 1)))(min(depth, 1))
        self.known(self.call(operator.add, F, total, self.old(F)))

    def swap(self, depth: int) -> None:
        type_ = self.draw.choice((F, I))
        array = self.old(INTS) if type_ == I else self.array()
        places = self.index(array), self.index(array)
        found = self.var(type_), self.var(type_)
        for place, out in zip(places, found, strict=True):
            self.b.emit(ir.Load(array=array, index=(place,), out=out))
        for place, out in zip(places, reversed(found), strict=True):
            self.b.store(array, (place,), out)
        self.known(self.draw.choice(found))

    def beside(self, depth: int) -> None:
        """`item + 1`, read several times, here and further in, with statements between."""
        base = self.element(I) if self.chance(0.7) else self.old(I)
        beside = ir.Var(self.draw.choice(NAMES), I)
        self.b.emit(
            ir.Call(callee=self.draw.choice((operator.add, operator.sub)), args=(base, self.const(I)), outs=(beside,))
        )
        if self.chance(0.5):
            self.known(beside)
        for _ in range(self.draw.randrange(1, 4)):
            kind = self.draw.randrange(4)
            if kind == 0:
                self.known(self.call(operator.mul, F, self.old(F), self.call(ir.cast, F, beside)))
            elif kind == 1:
                array = self.array()
                place = self.call(operator.mod, I, beside, ir.integer(2 if array.type == VIEW else SIZE))
                self.b.store(array, (place,), self.old(F))
            elif kind == 2:
                self.count(0)
            else:
                self.draw.choice(self.kinds(min(depth, 1)))(min(depth, 1))

    def boolean(self, depth: int) -> None:
        kind = self.draw.randrange(4)
        if kind == 0:
            self.known(self.call(operator.not_, B, self.old(B)))
        elif kind == 1:
            self.known(self.call(operator.and_, B, self.old(B), self.old(B)))
        else:
            type_ = self.draw.choice((F, I))
            sign = self.draw.choice((operator.lt, operator.ge, operator.eq, operator.ne))
            self.known(self.call(sign, B, self.old(type_), self.old(type_)))

    def read(self, depth: int) -> None:
        array = self.array()
        out = self.var(F)
        self.b.emit(ir.Load(array=array, index=(self.index(array),), out=out))
        self.known(out)

    def write(self, depth: int) -> None:
        array = self.array()
        self.b.store(array, (self.index(array),), self.call(np.tanh, F, self.old(F)), self.chance(0.3))

    def memory(self, depth: int) -> None:
        kind = self.draw.randrange(4)
        out = self.var(VIEW if kind == 0 else VECTOR)
        if kind == 0:
            selector = self.draw.choice((ir.Span(ir.integer(1), ir.integer(3)), ir.Span(None, ir.integer(2))))
            self.b.emit(ir.Slice(base=self.old(VECTOR), selectors=(selector,), out=out))
        elif kind == 1:
            self.b.emit(ir.Copy(source=self.old(VECTOR), out=out))
        elif kind == 2:
            self.b.emit(ir.Alloc(shape=(ir.integer(SIZE),), out=out, fill=ir.Const(0.0, F)))
        else:
            out = self.var(I)
            self.b.emit(ir.Extent(array=self.old(VECTOR), axis=0, out=out))
        self.known(out)

    def pair(self, depth: int) -> None:
        outs = self.var(I), self.var(I)
        self.b.emit(ir.Call(callee=divmod, args=(self.old(I), ir.integer(3)), outs=outs))
        for out in outs:
            self.known(out)

    def effect(self, depth: int) -> None:
        self.known(self.call(np.tanh, F, self.call(tick, F, effect=True)))

    # ---------------------------------------------------------------------------------------------- control flow

    def branch(self, depth: int) -> None:
        kinds = [self.draw.choice((F, F, I, B, VECTOR, INTS)) for _ in range(self.draw.randrange(4))]
        outs = [self.var(t) for t in kinds]
        hollow = self.var(F) if self.chance(0.3) else None
        condition = self.old(B)
        regions = []
        for side in range(2):
            saved = {t: list(known) for t, known in self.scope.items()}
            kept = list(self.hollow)
            if self.chance(0.3):
                ops: list[ir.Op] = []
            else:
                ops = self.inner((), depth)
            yields = [self.old(t) for t in kinds]
            if hollow is not None:
                empty = self.var(F)
                if side:
                    ops.append(ir.Undefined(out=empty))
                yields.append(empty if side else self.draw.choice([*self.hollow, self.old(F)]))
            self.scope, self.hollow = saved, kept
            regions.append(ir.Region((), tuple(ops), tuple(yields)))
        for out in outs:
            self.known(out)
        if hollow is not None:
            outs.append(hollow)
            self.hollow.append(hollow)
        self.b.emit(ir.If(condition=condition, then=regions[0], orelse=regions[1], outs=tuple(outs)))

    def carried(self) -> tuple[list[ir.Type], list[ir.Operand], list[bool]]:
        kinds = [self.draw.choice((F, F, F, I, VECTOR, INTS)) for _ in range(self.draw.randrange(1, 4))]
        inits = [self.old(t) for t in kinds]
        hollow = [False] * len(kinds)
        if self.hollow and self.chance(0.5):
            kinds.append(F)
            inits.append(self.draw.choice(self.hollow))
            hollow.append(True)
        return kinds, inits, hollow

    def trip(
        self, args: Sequence[ir.Var], more: Sequence[ir.Var], hollow: Sequence[bool], stops: bool, depth: int
    ) -> tuple[list[ir.Op], list[ir.Operand]]:
        saved = {t: list(known) for t, known in self.scope.items()}
        kept = list(self.hollow)
        self.hollow += [arg for arg, empty in zip(args, hollow, strict=True) if empty]
        ops = self.inner([*more, *(arg for arg, empty in zip(args, hollow, strict=True) if not empty)], depth)
        yields: list[ir.Operand] = []
        for arg, empty in zip(args, hollow, strict=True):
            swapped = [a for a, e in zip(args, hollow, strict=True) if a.type == arg.type and not e]
            if empty:
                yields.append(self.draw.choice([*self.hollow, self.old(F)]))
            else:
                yields.append(self.draw.choice(swapped) if self.chance(0.4) else self.old(arg.type))
        if stops:
            yields.append(self.stop(ops, yields, hollow))
        self.scope, self.hollow = saved, kept
        return ops, yields

    def stop(self, ops: list[ir.Op], yields: list[ir.Operand], hollow: Sequence[bool]) -> ir.Operand:
        """A boolean to end the loop with; often from an `if` of which one branch breaks, at the end of the body."""
        condition = self.old(B)
        if self.chance(0.4):
            return condition
        outs = tuple(ir.Var(self.draw.choice(NAMES), y.type) for y in yields) + (ir.Var("stop", B),)
        full = [y for y, empty in zip(yields, hollow, strict=True) if not empty]
        swapped = [
            y if empty else next(o for o in reversed(full) if o.type == y.type)
            for y, empty in zip(yields, hollow, strict=True)
        ]
        last = self.old(B) if self.chance(0.5) else ir.boolean(False)
        regions = [
            ir.Region((), (), (*swapped, ir.boolean(True))),
            ir.Region((), (), (*yields, last)),
        ]
        if self.chance(0.3):
            regions.reverse()
        ops.append(ir.If(condition=condition, then=regions[0], orelse=regions[1], outs=outs))
        yields[:] = outs[:-1]
        return outs[-1]

    def finish(self, outs: Sequence[ir.Var], hollow: Sequence[bool]) -> None:
        for out, empty in zip(outs, hollow, strict=True):
            if empty:
                self.hollow.append(out)
            else:
                self.known(out)

    def loop(self, depth: int) -> None:
        kinds, inits, hollow = self.carried()
        args = [self.var(t) for t in kinds]
        outs = [self.var(t) for t in kinds]
        counter = ir.Var(self.draw.choice(("i", "j", "x", "range")), I, True)
        stops = self.chance(0.4)
        stop: ir.Operand = self.call(operator.mod, I, self.old(I), ir.integer(4))
        start, step = ir.integer(0), ir.integer(1)
        if self.chance(0.3):
            start, stop, step = ir.integer(3), ir.integer(-1), ir.integer(-1)
        ops, yields = self.trip(args, [counter], hollow, stops, depth)
        region = ir.Region((counter, *args), tuple(ops), tuple(yields))
        self.b.emit(
            ir.For(start=start, stop=stop, step=step, inits=tuple(inits), body=region, outs=tuple(outs), stops=stops)
        )
        self.finish(outs, hollow)

    def repeat(self, depth: int) -> None:
        kinds, inits, hollow = self.carried()
        kinds, inits, hollow = [*kinds, I], [*inits, ir.integer(0)], [*hollow, False]
        outer = [self.var(t) for t in kinds]
        inner = [self.var(t) for t in kinds]
        outs = [self.var(t) for t in kinds]
        stops = self.chance(0.3)
        saved = {t: list(known) for t, known in self.scope.items()}
        with self.b.region() as tested:
            for arg, empty in zip(outer, hollow, strict=True):
                if not empty:
                    self.known(arg)
            if self.chance(0.5):
                self.arithmetic(0)
                self.draw.choice((self.write, self.count, self.swap))(0)
            going = self.call(operator.lt, B, outer[-1], ir.integer(3))
            if self.chance(0.5):
                small = self.call(operator.le, B, self.element(I), ir.integer(4))
                going = self.call(operator.and_, B, going, small)
        self.scope = saved
        ops, yields = self.trip(inner, [], hollow, False, depth)
        more = ir.Var(self.draw.choice(NAMES), I)
        ops.append(ir.Call(callee=operator.add, args=(inner[-1], ir.integer(1)), outs=(more,)))
        yields[-1] = more
        if stops:
            yields.append(self.stop(ops, yields, hollow))
        test = ir.Region(tuple(outer), tuple(tested), (going,))
        body = ir.Region(tuple(inner), tuple(ops), tuple(yields))
        self.b.emit(ir.While(inits=tuple(inits), test=test, body=body, outs=tuple(outs), stops=stops))
        self.finish(outs, hollow)
