"""Functions in the IR for tests of emission, with variables of the user's, and what is emitted for them."""

import operator
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.emit.emit import Emitted, emit
from adjit.transform.ir.verify import verify

F, I, B, F32 = types.float64, types.intp, types.boolean, types.float32
VECTOR, MATRIX, INTS = types.Array(F, 1, "C"), types.Array(F, 2, "C"), types.Array(I, 1, "C")
add, sub, mul, div, lt = operator.add, operator.sub, operator.mul, operator.truediv, operator.lt


def u(name: str, type_: ir.Type = F) -> ir.Var:
    """A variable of the user's."""
    return ir.Var(name, type_, user=True)


def const(value: Any) -> ir.Operand:
    if isinstance(value, ir.Var | ir.Const):
        return value
    if isinstance(value, bool):
        return ir.boolean(value)
    return ir.integer(value) if isinstance(value, int) else ir.Const(value, F)


class Builder(ir.Builder):
    def do(self, callee: Any, *args: Any, out: ir.Var | None = None, type: ir.Type = F, **more: Any) -> ir.Var:
        out = out or ir.Var(getattr(callee, "__name__", "value"), type)
        self.emit(ir.Call(callee=callee, args=tuple(map(const, args)), outs=(out,), **more))
        return out

    def at(self, array: ir.Var, *index: Any, out: ir.Var | None = None) -> ir.Var:
        out = out or ir.Var(ir.element_name(array), array.type.dtype)
        self.emit(ir.Load(array=array, index=tuple(map(const, index)), out=out))
        return out

    def put(self, array: ir.Var, *index: Any, value: Any, plus: bool = False) -> None:
        self.store(array, tuple(map(const, index)), const(value), plus)

    def block(self, args: tuple[ir.Var, ...], build: Any) -> ir.Region:
        with self.region() as ops:
            yields = build()
        return ir.Region(args, tuple(ops), tuple(map(const, yields)))

    def loop(self, counter: ir.Var, bounds: tuple[Any, ...], carried: Any, build: Any, **more: Any) -> None:
        """`carried` has (result, initial value, argument) for each value."""
        outs, inits, args = zip(*carried, strict=True) if carried else ((), (), ())
        start, stop, step = map(const, bounds)
        body = self.block((counter, *args), build)
        inits = tuple(map(const, inits))
        self.emit(ir.For(start=start, stop=stop, step=step, inits=inits, body=body, outs=outs, **more))

    def branch(self, condition: Any, outs: tuple[ir.Var, ...], then: Any, orelse: Any, **more: Any) -> None:
        one, other = self.block((), then), self.block((), orelse)
        self.emit(ir.If(condition=const(condition), then=one, orelse=other, outs=outs, **more))

    def function(self, params: dict[str, Any], results: tuple[Any, ...], tree: Any = 0, **more: Any) -> ir.Function:
        leaves = [leaf for tree_ in params.values() for leaf in ir.leaves(tree_)]
        body = ir.Region(tuple(leaves), tuple(self.ops), tuple(map(const, results)))
        made = ir.Function("f", tuple(params), tuple(params.values()), body, tree, **more)
        verify(made)
        return made


def body_of(function: ir.Function) -> str:
    """The emitted text without its first line and indentation."""
    emitted = emit(function)
    compile(emitted.text, "<emitted>", "exec")
    return "\n".join(line[4:] for line in emitted.text.splitlines()[1:])


def python(emitted: Emitted) -> Any:
    namespace = dict(emitted.globals)
    exec(emitted.text, namespace)
    return namespace[emitted.name]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True)


def expression(build: Any, type_: ir.Type = F, **params: ir.Type) -> str:
    """The text of `return ...` for one expression of the parameters."""
    b = Builder()
    variables = {name: u(name, t) for name, t in params.items()}
    result = build(b, *variables.values())
    return body_of(b.function(variables, (result,))).removeprefix("return ")
