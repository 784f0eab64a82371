"""What a derivative's time loops do in a step, from its text: launches, and what those and the host do to memory.

steps(text)        a `Step` for each loop of the host, in order
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

MAKES = ("empty", "empty_like", "zeros", "zeros_like", "full", "copy")


@dataclass(frozen=True)
class Step:
    """passes: arrays that are gone through, once for reading and once for writing, by launches and by the host
    made: arrays; filled: those of them that are cleared or copied by a call of their own
    """

    launches: int
    passes: int
    made: int
    filled: int


def steps(text: str) -> list[Step]:
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    *kernels, host = functions
    passes = {kernel.name: _passes(kernel) for kernel in kernels}
    return [_step(node, passes) for node in host.body if isinstance(node, ast.For)]


def _step(loop: ast.For, passes: dict[str, int]) -> Step:
    names = [_called(node) for node in ast.walk(loop) if isinstance(node, ast.Call)]
    launched = [name for name in names if name in passes]
    arrays = [_called(n) for n in ast.walk(loop) if isinstance(n, ast.Call) and _called(n) in MAKES and not _is_cell(n)]
    filled = [name for name in arrays if not name.startswith("empty")]
    own = sum(2 if name == "copy" else 1 for name in filled)
    return Step(len(launched), sum(passes[name] for name in launched) + own, len(arrays), len(filled))


def _called(call: ast.Call) -> str:
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return function.id if isinstance(function, ast.Name) else ""


def _is_cell(call: ast.Call) -> bool:
    """Whether what is made is a number."""
    return bool(call.args) and isinstance(call.args[0], ast.Tuple) and not call.args[0].elts


def _passes(kernel: ast.FunctionDef) -> int:
    """The arrays that a kernel reads and those that it writes, but for rims and the parts of sums."""
    elements = [node for node in _without_rims(kernel) if isinstance(node, ast.Subscript)]
    named = [(e.value.id, e) for e in elements if isinstance(e.value, ast.Name) and _is_element(e)]
    added = {id(node.target) for node in ast.walk(kernel) if isinstance(node, ast.AugAssign)}
    read = {name for name, e in named if isinstance(e.ctx, ast.Load) or id(e) in added}
    return len(read) + len({name for name, e in named if isinstance(e.ctx, ast.Store)})


def _is_element(node: ast.Subscript) -> bool:
    name, index = node.value.id, node.slice  # type: ignore[attr-defined]
    is_cell = isinstance(index, ast.Tuple) and not index.elts
    return not is_cell and name != "cuda" and not name.endswith("_parts")


def _without_rims(node: ast.AST) -> list[ast.AST]:
    """What is inside, without the single stores of the other side of an `if`."""
    found = [node]
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        is_rim = name == "orelse" and len(children) == 1 and isinstance(children[0], ast.Assign | ast.AugAssign)
        found += [inner for c in children if isinstance(c, ast.AST) and not is_rim for inner in _without_rims(c)]
    return found
