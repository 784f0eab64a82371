"""Operations in the making.

In: callees and operands. Out: results, and the list of operations that make them.

    b.call(operator.mul, x, x, type=float64)         emits the call, gives its result
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal

from numba import types

from adjit.transform.ir.control import For, If
from adjit.transform.ir.core import Call, Op, Operand, Origin, Region, Type, Var
from adjit.transform.ir.memory import Extent, Load, Selector, Slice, Store
from adjit.transform.ir.types import array_type_of, slice_type


class Builder:
    """Collects operations. `region()` opens a nested list: `with b.region() as ops: ...; Region((), (*ops,), ())`; or
    goes on in one that there is."""

    def __init__(self, origin: Origin | None = None) -> None:
        self._stack: list[list[Op]] = [[]]
        self.origin = origin
        self.count = 0  # of what was emitted

    @property
    def ops(self) -> list[Op]:
        return self._stack[-1]

    @property
    def depth(self) -> int:
        """How many lists are open."""
        return len(self._stack)

    def is_open(self, ops: list[Op]) -> bool:
        """Whether what is emitted now comes after what stands in that list, and sees its results."""
        return any(ops is level for level in self._stack)

    def parted(self, ops: list[Op]) -> tuple[list[Op], list[Op]]:
        """What stands in an open list and in those opened in it; and what stands around."""
        depth = next(k for k, level in enumerate(self._stack) if level is ops)
        inside, around = self._stack[depth:], self._stack[:depth]
        return [op for level in inside for op in level], [op for level in around for op in level]

    def maker(self, operand: Operand) -> Op | None:
        """What makes an operand, if that stands in an open list."""
        makers = (op for level in reversed(self._stack) for op in reversed(level))
        return next((op for op in makers if operand in op.results), None)

    def emit(self, op: Op) -> Op:
        if op.origin is None and self.origin is not None:
            op = op.at(self.origin)
        self.count += 1
        self._stack[-1].append(op)
        return op

    @contextlib.contextmanager
    def region(self, ops: list[Op] | None = None) -> Iterator[list[Op]]:
        ops = [] if ops is None else ops
        self._stack.append(ops)
        try:
            yield ops
        finally:
            self._stack.pop()

    def call(
        self, callee: Any, *args: Operand, type: Type, name: str = "", options: tuple[tuple[str, Any], ...] = ()
    ) -> Var:
        out = Var(name or getattr(callee, "__name__", "value"), type)
        self.emit(Call(callee=callee, args=args, outs=(out,), options=options))
        return out

    def load(self, array: Operand, index: Sequence[Operand], name: str = "", unsure: bool = False) -> Var:
        out = Var(name or element_name(array), array_type_of(array).dtype)
        self.emit(Load(array=array, index=tuple(index), out=out, unsure=unsure))
        return out

    def store(
        self,
        array: Operand,
        index: Sequence[Operand],
        value: Operand,
        add: bool = False,
        promised: bool | Literal["surely"] = False,
        unsure: bool = False,
    ) -> None:
        self.emit(Store(array=array, index=tuple(index), value=value, add=add, promised=promised, unsure=unsure))

    def extent(self, array: Operand, axis: int) -> Var:
        out = Var("n", types.intp)
        self.emit(Extent(array=array, axis=axis, out=out))
        return out

    def shape(self, array: Operand) -> tuple[Var, ...]:
        """The extents of an array."""
        return tuple(self.extent(array, axis) for axis in range(array_type_of(array).ndim))

    def slice(self, base: Operand, selectors: Sequence[Selector], name: str) -> Var:
        """The view that basic indexing makes."""
        out = Var(name, slice_type(array_type_of(base), selectors))
        self.emit(Slice(base=base, selectors=tuple(selectors), out=out))
        return out

    @contextlib.contextmanager
    def loop(self, stop: Operand, name: str = "i", **fields: Any) -> Iterator[Var]:
        """`for name in range(stop)`, which carries nothing: `with b.loop(n) as i: b.store(a, (i,), zero)`."""
        counter = Var(name, types.intp)
        with self.region() as ops:
            yield counter
        self.emit(For(stop=stop, body=Region((counter,), tuple(ops), ()), **fields))

    def fold(
        self,
        stop: Operand,
        name: str,
        inits: Sequence[Operand],
        args: Sequence[Var],
        step: Callable[..., Sequence[Operand]],
        outs: Sequence[Var] = (),
        **fields: Any,
    ) -> Sequence[Var]:
        """`for name in range(stop)`, which carries values: `step` gets the counter and these, and gives the next."""
        counter, outs = Var(name, types.intp), outs or [dataclasses.replace(arg) for arg in args]
        with self.region() as ops:
            yields = step(counter, *args)
        body = Region((counter, *args), tuple(ops), tuple(yields))
        self.emit(For(stop=stop, inits=tuple(inits), body=body, outs=tuple(outs), **fields))
        return outs

    @contextlib.contextmanager
    def when(self, condition: Operand) -> Iterator[None]:
        """`if condition:` without results."""
        with self.region() as ops:
            yield
        self.emit(If(condition=condition, then=Region((), tuple(ops), ())))

    def nest(
        self,
        extents: Sequence[Operand],
        body: Callable[[tuple[Var, ...]], None],
        names: Sequence[str] = "ijklmpq",
        ordered: Collection[int] = (),
    ) -> None:
        """Loops over an index space, first axis outermost; `ordered`: the axes where the order of the trips matters."""

        def level(*done: Var) -> None:
            depth = len(done)
            if depth == len(extents):
                body(done)
                return
            name = names[min(depth, len(names) - 1)]
            with self.loop(extents[depth], name, order_free=depth not in ordered) as index:
                level(*done, index)

        level()


def element_name(array: Operand) -> str:
    """A name for an element of an array."""
    return f"{array.name}_item" if isinstance(array, Var) else "item"
