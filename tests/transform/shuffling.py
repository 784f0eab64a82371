"""adjit, imported so that what iterates over a set takes its elements in a random order, as addresses would give it.

In: nothing; `install()` before adjit is imported. Out: modules in which each iteration goes by `draw`.

    for array in written: ...        for array in shuffled(written): ...

IR nodes are hashed by their addresses, and texts by PYTHONHASHSEED: what depends on the order in a set is different in
another process, or the next time in this one. Here it is different at once.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import random
import sys
from typing import Any

draw = random.Random(0)

# rules, and what texts take in of the library, are read as source, and have to be what stands in their files
PACKAGES = ("adjit.transform", "adjit.runtime", "adjit.api")
READ = "adjit.runtime.library"
ITERATING = frozenset(
    (
        "list", "tuple", "iter", "enumerate", "zip", "map", "filter", "min", "max", "sorted", "sum", "dict", "fromkeys",
        "extend", "join", "chain", "from_iterable", "product", "combinations", "deque", "reduce",
    )
)  # fmt: skip


def shuffled(value: Any) -> Any:
    if not isinstance(value, set | frozenset):
        return value
    return draw.sample(list(value), len(value))


class _Rewriting(ast.NodeTransformer):
    def shuffled(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name("__shuffled__", ast.Load()), [node], []), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.shuffled(node.iter)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.shuffled(node.iter)
        return self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            node.value = self.shuffled(node.value)
        return self.generic_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        node.value = self.shuffled(node.value)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if getattr(node.func, "id", getattr(node.func, "attr", None)) in ITERATING:
            node.args = [a if isinstance(a, ast.Starred) else self.shuffled(a) for a in node.args]
        return self.generic_visit(node)


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        tree = _Rewriting().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: Any) -> None:
        module.__shuffled__ = shuffled
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if not fullname.startswith(PACKAGES) or fullname.startswith(READ):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    assert not any(name.startswith(PACKAGES) for name in sys.modules), "adjit is imported already"
    sys.meta_path.insert(0, _Finder())
