"""A program under test, as text that stands for itself: what it computes, for which arguments, and what is asked of it.

    def program(x, u):
        u[0] += x
        return np.sum(u * u)


    def arguments():
        return 0.3, np.array([0.1, 0.7])


    asked = {"wrt": (0,)}

`asked` has the positions that are differentiated (left out: all that carry a derivative), options of the derivative
(parallel, memory_limit), and the ways of asking (WAYS). A second set of arguments may stand in `others()`.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import operator
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER = """import bisect
import collections
import functools
import heapq
import itertools
import math
import statistics
import types

import numpy as np
from numba import njit, prange
from scipy import integrate, ndimage, optimize, sparse
from scipy.sparse.linalg import spsolve

import adjit


"""

# what plain Python runs: the helpers as they stand
_DECORATED = re.compile(r"(?m)^(\s*)@njit(\(.*\))?\n")
_serial = itertools.count()


@dataclass(frozen=True)
class Program:
    text: str

    def module(self, is_plain: bool = False) -> dict[str, Any]:
        """What the text defines; `is_plain`: without numba."""
        text = self.source(is_plain)
        filename = f"<random program {next(_serial)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        scope: dict[str, Any] = {"__name__": "random_program"}
        tree = ast.parse(text, filename)
        if is_plain:
            scope |= {"power__": _real_power, "in_place__": _in_place}
            tree = _with_powers(tree)
        exec(compile(tree, filename, "exec"), scope)
        return scope

    def instead(self, **others: Any) -> Any:
        """The function in plain Python, with these in the place of modules and builtins; `power__` is `**`."""
        scope = {"__name__": "random_program", "power__": operator.pow, "in_place__": _in_place}
        exec(compile(_with_powers(ast.parse(self.source(is_plain=True))), "<instead>", "exec"), scope)
        scope.update(others)
        return scope["program"]

    def source(self, is_plain: bool = False) -> str:
        text = self.text if self.text.startswith("import") else HEADER + self.text
        return plain(text) if is_plain else text

    def __repr__(self) -> str:
        return f"program:\n{self.text}"


def plain(text: str) -> str:
    """The text without numba's decorators."""
    return _DECORATED.sub("", text)


def _with_powers(tree: ast.Module) -> ast.Module:
    """The program with powers as calls of `power__`."""
    return ast.fix_missing_locations(_Powers().visit(tree))


class _Powers(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return _power(node.left, node.right, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """x **= y: the elements of an array change in place, a number is another one."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        before = ast.parse(ast.unparse(node.target), mode="eval").body
        value = ast.Call(ast.Name("in_place__", ast.Load()), [before, _power(before, node.value, node)], [])
        return ast.copy_location(ast.Assign([node.target], value), node)


def _power(left: ast.expr, right: ast.expr, node: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name("power__", ast.Load()), [left, right], []), node)


def _in_place(left: Any, found: Any) -> Any:
    """What `left` is after `found` was stored into it, as NumPy does it: the array itself, or the number."""
    if not isinstance(left, np.ndarray) or not left.shape:
        return found
    np.copyto(left, found, casting="same_kind")
    return left


def _real_power(left: Any, right: Any) -> Any:
    """left ** right; of real numbers a real one, as in compiled code, or no program that anything is said about."""
    found = left**right
    if isinstance(found, complex) and not isinstance(left, complex) and not isinstance(right, complex):
        raise ValueError("a root of a negative number")
    return found
