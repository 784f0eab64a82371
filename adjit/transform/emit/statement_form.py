"""The statements of a function: structured, out of single-assignment form, not yet named.

In: a function and what folds in it. Out: a `Program`, in which values that are handed on are copied in explicit
parallel copies, and in which `break` and early `return` stand where a person would write them.

    %s1 = for %i in (0, %n, 1) carrying %s0 = (0.0,) {     Copies [(%s0, 0.0)]
      %s2 = call add(%s0, %e)                              Loop %i: Copies [(%s0, %s2)]
      yield %s2 }                                          Return [%s1], where %s1 is the same variable as %s0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numba import types

from adjit.transform import ir
from adjit.transform.emit.folding import Folding

# A branch with more operations than this does not return early, so that the two branches can be read side by side.
LONGEST_GUARD = 3


@dataclass(eq=False)
class Statement:
    """`origin` is the user's statement that it comes from."""

    origin: ir.Origin | None = field(default=None, kw_only=True)


@dataclass(eq=False)
class Assign(Statement):
    """`targets = op`; with no targets, `op` for its effect."""

    op: ir.Op
    targets: tuple[ir.Var, ...] = ()


@dataclass(eq=False)
class Copies(Statement):
    """All the sources are read, then all the targets assigned."""

    pairs: list[tuple[ir.Var, ir.Operand]]


@dataclass(eq=False)
class Branch(Statement):
    condition: ir.Operand
    then: list[Statement]
    orelse: list[Statement]


@dataclass(eq=False)
class Loop(Statement):
    """`for counter in range(start, stop, step)`. `carried` are assigned before it and at the end of each trip."""

    op: ir.For
    counter: ir.Var
    carried: tuple[ir.Var, ...]
    body: list[Statement]


@dataclass(eq=False)
class Repeat(Statement):
    """`while True: test; if not condition: break; body`."""

    carried: tuple[ir.Var, ...]
    test: list[Statement]
    condition: ir.Operand
    body: list[Statement]


@dataclass(eq=False)
class Break(Statement):
    pass


@dataclass(eq=False)
class Return(Statement):
    operands: list[ir.Operand]


@dataclass(eq=False)
class Unpack(Statement):
    """`targets = source`, where `source` is a parameter that is a tuple, or its parts if that is complex."""

    source: ir.Var
    tree: ir.Tree


@dataclass
class Program:
    """`same` maps a variable to the one that it shares its name with by construction: what a loop hands back to what
    it carries. `wholes`: the complex argument that a real part is taken from."""

    parameters: tuple[ir.Var, ...]
    body: list[Statement]
    same: dict[ir.Var, ir.Var]
    wholes: dict[ir.Var, ir.Var]

    def resolve(self, var: ir.Var) -> ir.Var:
        return self.same.get(var, var)


def parts(
    statement: Statement, folding: Folding
) -> tuple[Iterable[ir.Operand], Sequence[ir.Var], Sequence[list[Statement]]]:
    """What a statement reads itself, what it assigns, and the blocks in it."""
    match statement:
        case Assign(op=op, targets=targets):
            return folding.leaves_of(op), targets, ()
        case Copies(pairs=pairs):
            return [source for _, source in pairs], [target for target, _ in pairs], ()
        case Branch(condition=condition, then=then, orelse=orelse):
            return (condition,), (), (then, orelse)
        case Loop(op=op, counter=counter, body=body):
            return (op.start, op.stop, op.step), (counter,), (body,)
        case Repeat(test=test, condition=condition, body=body):
            return (condition,), (), (test, body)
        case Return(operands=operands):
            return operands, (), ()
        case Unpack(source=source, tree=tree):
            return (source,), [leaf for leaf in ir.leaves(tree) if isinstance(leaf, ir.Var)], ()
        case _:
            return (), (), ()


def program(function: ir.Function, folding: Folding) -> Program:
    """The statements of `function`."""
    return _Lowering(function, folding).program()


class _Lowering:
    def __init__(self, function: ir.Function, folding: Folding):
        self.function = function
        self.folding = folding
        self.same: dict[ir.Var, ir.Var] = {}
        self.wholes: dict[ir.Var, ir.Var] = {}

    def program(self) -> Program:
        parameters: list[ir.Var] = []
        body: list[Statement] = []
        for name, tree in zip(self.function.names, self.function.params, strict=True):
            if isinstance(tree, ir.Var):
                parameters.append(tree)
                continue
            parameters.append(ir.Var(name, types.none, user=True))
            if any(isinstance(leaf, ir.Var) for leaf in ir.leaves(tree)):
                body += self.unpacked(parameters[-1], tree)
        region = self.function.body
        body += self.returning(region.ops, region.yields)
        return Program(tuple(parameters), body, self.same, self.wholes)

    def unpacked(self, source: ir.Var, tree: ir.Tree) -> list[Statement]:
        """What takes a parameter apart: first tuples, and then complex numbers, which may be in them."""
        if isinstance(tree, ir.Pair):
            self.wholes[tree[0]] = source
            return [Unpack(source, tree)]
        rest: list[Statement] = []

        def whole(part: ir.Tree) -> ir.Tree:
            if isinstance(part, ir.Pair):
                var = ir.Var(part[0].name.removesuffix("_real"), types.none)
                rest.extend(self.unpacked(var, part))
                return var
            return tuple(map(whole, part)) if isinstance(part, tuple) else part

        return [Unpack(source, whole(tree)), *rest]

    # ---------------------------------------------------------------------------------------------- regions

    def statements(self, ops: Sequence[ir.Op]) -> list[Statement]:
        found: list[Statement] = []
        for op in ops:
            self.statement(op, found)
        return found

    def statement(self, op: ir.Op, found: list[Statement]) -> None:
        if isinstance(op, ir.Undefined) or (op.results and op.results[0] in self.folding.folded):
            return
        if isinstance(op, ir.For | ir.While):
            self.loop(op, found)
        elif isinstance(op, ir.If) and op not in self.folding.choices:
            then, orelse = (
                [*self.statements(r.ops), Copies(list(zip(op.outs, r.yields, strict=True)))] for r in op.regions
            )
            found.append(Branch(op.condition, then, orelse, origin=op.origin))
        else:
            found.append(Assign(op, op.results, origin=op.origin))

    def loop(self, op: ir.For | ir.While, found: list[Statement]) -> None:
        names = ir.names_of_slots(op)
        for name, *others in names:
            self.same.update(dict.fromkeys(reversed(others), name))
        carried = tuple(name for name, *_ in names)
        # a statement on whole arrays begins here; the user's own loop begins below, under its comments
        begins = op.origin if isinstance(op, ir.For) and op.order_free else None
        found.append(Copies(list(zip(carried, op.inits, strict=True)), origin=begins))
        body = self.trip(op.body.ops, carried, op.body.yields, op.stops)
        if isinstance(op, ir.For):
            found.append(Loop(op, op.body.args[0], carried, body, origin=op.origin))
        else:
            found.append(Repeat(carried, self.statements(op.test.ops), op.test.yields[0], body, origin=op.origin))

    # ---------------------------------------------------------------------------------------------- breaks

    def trip(
        self, ops: Sequence[ir.Op], carried: Sequence[ir.Var], yields: Sequence[ir.Operand], stops: bool
    ) -> list[Statement]:
        """The body of a loop. An `if` at its end of which one branch stops becomes `if ...: break` and what follows."""
        *values, stop = yields if stops else (*yields, ir.boolean(False))
        end: list[Statement] = [Branch(stop, [Break()], [])]
        if isinstance(stop, ir.Const):
            end = [Break()] if stop.value else []
        elif (choice := self.final_if(ops, yields)) is not None:
            for is_then, region in enumerate((choice.orelse, choice.then)):
                handed = _replaced(yields, choice, region)
                if isinstance(handed[-1], ir.Const) and handed[-1].value:
                    other = choice.orelse if is_then else choice.then
                    stopping = self.trip(region.ops, carried, handed, True)
                    going = self.trip(other.ops, carried, _replaced(yields, choice, other), True)
                    branches = (stopping, []) if is_then else ([], stopping)
                    branch = Branch(choice.condition, *branches, origin=choice.origin)
                    return [*self.statements(ops[:-1]), branch, *going]
        return [*self.statements(ops), Copies(list(zip(carried, values, strict=True))), *end]

    def final_if(self, ops: Sequence[ir.Op], yields: Sequence[ir.Operand]) -> ir.If | None:
        """The `if` that `ops` end with, where each of its results is read at most once, as a yield."""
        last = ops[-1] if ops else None
        if not isinstance(last, ir.If) or last in self.folding.choices:
            return None
        read = Counter(y for y in yields if isinstance(y, ir.Var))
        return last if all(read[out] <= 1 for out in last.outs) else None

    # ---------------------------------------------------------------------------------------------- returns

    def returning(self, ops: Sequence[ir.Op], yields: Sequence[ir.Operand]) -> list[Statement]:
        """The body of the function, or a branch that ends it."""
        choice = self.final_if(ops, yields)
        if choice is not None and self.is_guard(choice, yields):
            guard = self.returning(choice.then.ops, _replaced(yields, choice, choice.then))
            rest = self.returning(choice.orelse.ops, _replaced(yields, choice, choice.orelse))
            branch = Branch(choice.condition, guard, [], origin=choice.origin)
            return [*self.statements(ops[:-1]), branch, *rest]
        found = self.statements(ops)
        if self.function.result is not None:
            found.append(Return([yields[k] for k in self.results()]))
        return found

    def results(self) -> list[int]:
        return [leaf for leaf in ir.leaves(self.function.result) if leaf is not None]

    def is_guard(self, choice: ir.If, yields: Sequence[ir.Operand]) -> bool:
        """Whether it reads as `if ...: return`: its results have no names of the user's, and one branch is short."""
        if not choice.outs or any(out.user for out in choice.outs) or not all(out in yields for out in choice.outs):
            return False
        leaves = self.results()
        return len(choice.then.ops) <= LONGEST_GUARD and len(leaves) == len(set(leaves))


def _replaced(yields: Sequence[ir.Operand], choice: ir.If, region: ir.Region) -> list[ir.Operand]:
    """`yields` as they are where `choice` took the branch `region`."""
    handed: Mapping[ir.Operand, ir.Operand] = dict(zip(choice.outs, region.yields, strict=True))
    return [handed.get(y, y) for y in yields]
