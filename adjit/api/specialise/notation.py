"""What users write for types and amounts of memory: `source("float64[:], int")`, `memory_limit="200 MB"`.

In: text, as `transform/notation.py` writes types. Out: numba types, or bytes.
"""

from __future__ import annotations

import ast
import re

from numba import types

from adjit.errors import TypeMismatch
from adjit.notation import to_text as to_text

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def to_bytes(amount: int | str | None) -> int | None:
    """An amount of memory, a number of bytes or text such as "200 MB" (10^6 bytes each) or "1.5 GiB" (2^30)."""
    if amount is None or (isinstance(amount, int) and not isinstance(amount, bool) and amount > 0):
        return amount
    text = amount if isinstance(amount, str) else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?|)b?\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise TypeMismatch(
            f"{amount!r} is not an amount of memory", instead='Write memory_limit="200 MB" or "1.5 GiB".'
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


PYTHON_NAMES = {"float": types.float64, "int": types.intp, "bool": types.boolean, "None": types.none}


def to_types(text: str) -> tuple[types.Type, ...]:
    """The types in a list such as "float64[:, :], (float64, int64), int"; raises TypeMismatch."""
    nodes = _listed(text)
    if nodes is None:
        raise _unknown(text, text)
    return tuple(_to_type(node, text) for node in nodes)


def names_types(text: str) -> bool:
    """Whether a text is a list of types."""
    nodes = _listed(text)
    try:
        return nodes is not None and all(isinstance(_to_type(node, text), types.Type) for node in nodes)
    except TypeMismatch:
        return False


def _listed(text: str) -> list[ast.expr] | None:
    """The expressions of a list; None where it is none."""
    try:
        tree = ast.parse(f"({text.strip().rstrip(',')},)" if text.strip() else "()", mode="eval").body
    except SyntaxError:
        return None
    assert isinstance(tree, ast.Tuple)
    return tree.elts


def _to_type(node: ast.expr, text: str) -> types.Type:
    if isinstance(node, ast.Constant) and node.value is None:
        return types.none
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return types.StringLiteral(node.value)
    if isinstance(node, ast.Tuple):
        return types.Tuple([_to_type(e, text) for e in node.elts])  # type: ignore[no-untyped-call]
    if isinstance(node, ast.Name):
        found = PYTHON_NAMES.get(node.id) or getattr(types, node.id, None)
        if isinstance(found, types.Type):
            return found
    if isinstance(node, ast.Subscript):
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if all(isinstance(axis, ast.Slice) for axis in axes):
            fortran = len(axes) > 1 and isinstance(axes[0], ast.Slice) and axes[0].step is not None
            return types.Array(_to_type(node.value, text), len(axes), "F" if fortran else "C")
    raise _unknown(ast.unparse(node), text)


def _unknown(part: str, text: str) -> TypeMismatch:
    return TypeMismatch(
        f"{text!r} is not a type" if part == text else f"{text!r} is not a list of types",
        why="" if part == text else f"{part!r} is not a type.",
        instead='Write numba\'s names, such as "float64[:, :], (float64, int64), int", and a string as "\'lower\'".',
    )
