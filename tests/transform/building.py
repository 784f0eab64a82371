"""Programs in the IR for tests: a short notation to write them, and an interpreter that says what they compute."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir

F = types.float64
I = types.intp
VECTOR = types.Array(F, 1, "C")
MATRIX = types.Array(F, 2, "C")


def operand(value: Any) -> ir.Operand:
    if isinstance(value, (ir.Var, ir.Const)):
        return value
    if isinstance(value, bool):
        return ir.boolean(value)
    return ir.integer(value) if isinstance(value, int) else ir.Const(float(value), F)


class Program(ir.Builder):
    """`p = Program(x=F, a=VECTOR)`, statements through its methods, then `p.function(results)`."""

    def __init__(self, **params: ir.Type):
        super().__init__()
        self.params = {name: ir.Var(name, type_, user=True) for name, type_ in params.items()}

    def __getitem__(self, name: str) -> ir.Var:
        return self.params[name]

    def function(self, *results: Any) -> ir.Function:
        params = tuple(self.params.values())
        yields = tuple(map(operand, results))
        body = ir.Region(params, tuple(self.ops), yields)
        return ir.Function("f", tuple(self.params), params, body, tuple(range(len(yields))))

    def do(self, callee: Any, *args: Any, type: ir.Type | None = None, name: str = "", user: bool = False) -> ir.Var:
        operands = tuple(map(operand, args))
        comparing = callee in (
            operator.lt,
            operator.le,
            operator.gt,
            operator.ge,
            operator.eq,
            operator.ne,
            operator.not_,
        )
        out = ir.Var(
            name or getattr(callee, "__name__", "t"),
            type or (types.boolean if comparing else operands[0].type),
            user,
        )
        self.emit(ir.Call(callee=callee, args=operands, outs=(out,)))
        return out

    def add(self, a: Any, b: Any, **kw: Any) -> ir.Var:
        return self.do(operator.add, a, b, **kw)

    def sub(self, a: Any, b: Any, **kw: Any) -> ir.Var:
        return self.do(operator.sub, a, b, **kw)

    def mul(self, a: Any, b: Any, **kw: Any) -> ir.Var:
        return self.do(operator.mul, a, b, **kw)

    def neg(self, a: Any, **kw: Any) -> ir.Var:
        return self.do(operator.neg, a, **kw)

    def get(self, array: ir.Var, *index: Any, name: str = "") -> ir.Var:
        return self.load(array, tuple(map(operand, index)), name)

    def put(self, array: ir.Var, *index: Any, value: Any, add: bool = False) -> ir.Op:
        self.store(array, tuple(map(operand, index)), operand(value), add)
        return self.ops[-1]

    def size(self, array: ir.Var, axis: int = 0) -> ir.Var:
        return self.extent(array, axis)

    def alloc(self, *shape: Any, fill: float | None = None, name: str = "w") -> ir.Var:
        out = ir.Var(name, types.Array(F, len(shape), "C"), True)
        value = None if fill is None else ir.Const(fill, F)
        self.emit(ir.Alloc(shape=tuple(map(operand, shape)), out=out, fill=value))
        return out

    def copy(self, array: ir.Var, name: str = "v") -> ir.Var:
        out = ir.Var(name, array.type, True)
        self.emit(ir.Copy(source=array, out=out))
        return out

    def view(self, base: ir.Var, *selectors: Any, layout: str = "A") -> ir.Var:
        """Selectors: an int or integer Var is At, a tuple (start, stop, step) is Span, None is NewAxis."""
        made: list[ir.Selector] = []
        for s in selectors:
            if s is None:
                made.append(ir.NewAxis())
            elif isinstance(s, tuple):
                made.append(ir.Span(*(None if e is None else operand(e) for e in s)))
            else:
                made.append(ir.At(operand(s)))
        ndim = sum(not isinstance(s, ir.At) for s in made)
        out = ir.Var("view", types.Array(base.type.dtype, ndim, layout))
        self.emit(ir.Slice(base=base, selectors=tuple(made), out=out))
        return out

    def loop(
        self,
        bounds: Sequence[Any],
        inits: Sequence[Any],
        body: Callable[..., Sequence[Any]],
        stops: bool = False,
        counter: str = "i",
    ) -> tuple[ir.Var, ...]:
        """`body(i, *carried)` returns what it yields."""
        start, stop, step = map(operand, (*bounds, 1)[:3] if len(bounds) > 1 else (0, bounds[0], 1))
        starts = tuple(map(operand, inits))
        i = ir.Var(counter, I, user=True)
        args = tuple(ir.Var("c", o.type) for o in starts)
        with self.region() as ops:
            yields = tuple(map(operand, body(i, *args) or ()))
        outs = tuple(ir.Var("out", o.type) for o in starts)
        region = ir.Region((i, *args), tuple(ops), yields)
        self.emit(ir.For(start=start, stop=stop, step=step, inits=starts, body=region, outs=outs, stops=stops))
        return outs

    def repeat(
        self, inits: Sequence[Any], test: Callable[..., Any], body: Callable[..., Sequence[Any]], stops: bool = False
    ) -> tuple[ir.Var, ...]:
        starts = tuple(map(operand, inits))
        regions = []
        for part in (lambda *a: (test(*a),), body):
            args = tuple(ir.Var("c", o.type) for o in starts)
            with self.region() as ops:
                yields = tuple(map(operand, part(*args) or ()))
            regions.append(ir.Region(args, tuple(ops), yields))
        outs = tuple(ir.Var("out", o.type) for o in starts)
        self.emit(ir.While(inits=starts, test=regions[0], body=regions[1], outs=outs, stops=stops))
        return outs

    def branch(
        self, condition: Any, then: Callable[[], Sequence[Any]], orelse: Callable[[], Sequence[Any]] = tuple
    ) -> tuple[ir.Var, ...]:
        regions = []
        for part in (then, orelse):
            with self.region() as ops:
                yields = tuple(map(operand, part() or ()))
            regions.append(ir.Region((), tuple(ops), yields))
        outs = tuple(ir.Var("phi", o.type) for o in regions[0].yields)
        self.emit(ir.If(condition=operand(condition), then=regions[0], orelse=regions[1], outs=outs))
        return outs


def count(function: ir.Function, kind: type[ir.Op] = ir.Op) -> int:
    return sum(isinstance(op, kind) for op in ir.walk(function.body))


# ---------------------------------------------------------------------------------------------------- the interpreter


def _ignore(op: ir.Op, values: list[Any]) -> None:
    """Nobody watches."""


def evaluate(function: ir.Function, *args: Any, watch: Callable[[ir.Op, list[Any]], None] = _ignore) -> tuple[Any, ...]:
    """What the function yields for these arguments, by the book. `watch` is told each operation before it is run."""
    return _run(function.body, args, {}, watch)


def _run(region: ir.Region, args: Sequence[Any], env: dict[ir.Var, Any], watch: Callable[..., None]) -> tuple[Any, ...]:
    def value(o: ir.Operand) -> Any:
        if isinstance(o, ir.Var):
            return env[o]
        return np.float64(o.value) if o.type == F else o.value

    env.update(zip(region.args, args, strict=True))
    for op in region.ops:
        v = [value(o) for o in op.operands]
        watch(op, v)
        match op:
            case ir.Call(callee=ir.cast):
                made = (float(v[0]) if isinstance(op.outs[0].type, types.Float) else int(v[0]),)
            case ir.Call():
                with np.errstate(all="ignore"):
                    made = (op.callee(*v, **dict(op.options)),)
            case ir.Undefined():
                made = (None,)
            case ir.Alloc():
                shape = v[0].shape if op.like is not None else tuple(v)
                made = (np.full(shape, np.nan if op.fill is None else op.fill.value),)
            case ir.Copy():
                made = (v[0].copy(),)
            case ir.Extent():
                made = (v[0].shape[op.axis],)
            case ir.Load():
                made = (v[0][tuple(v[1:])],)
            case ir.Store():
                with np.errstate(all="ignore"):
                    v[0][tuple(v[1:-1])] = v[0][tuple(v[1:-1])] + v[-1] if op.add else v[-1]
                made = ()
            case ir.Slice():
                made = (v[0][_index(op, value)],)
            case ir.Transpose():
                made = (np.transpose(v[0], op.axes),)
            case ir.Reshape():
                made = (v[0].reshape(tuple(v[1:])),)
            case ir.NewTape():
                made = ([],)
            case ir.Push():
                assert v[1] == len(v[0])
                v[0].append(v[2])
                made = ()
            case ir.Pull():
                made = (v[0][v[1]],)
            case ir.If():
                made = _run(op.then if v[0] else op.orelse, (), env, watch)
            case ir.For():
                made = tuple(v[3:])
                for i in range(*v[:3]):
                    made = _run(op.body, (i, *made), env, watch)
                    if op.stops:
                        *made, stop = made
                        if stop:
                            break
            case ir.While():
                made = tuple(v)
                while _run(op.test, made, env, watch)[0]:
                    made = _run(op.body, made, env, watch)
                    if op.stops:
                        *made, stop = made
                        if stop:
                            break
            case ir.Raise():
                if op.condition is None or not v[0]:
                    raise op.exception(*op.args)
                made = ()
        env.update(zip(op.results, made, strict=True))
    return tuple(value(y) for y in region.yields)


def _index(op: ir.Slice, value: Callable[[ir.Operand], Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    for s in op.selectors:
        if isinstance(s, ir.At):
            found.append(value(s.index))
        elif isinstance(s, ir.NewAxis):
            found.append(None)
        else:
            found.append(slice(*(None if e is None else value(e) for e in (s.start, s.stop, s.step))))
    return tuple(found)
