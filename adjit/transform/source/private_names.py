"""Names that are private to a class, which Python puts the class in front of.

In: the code of a function, and its node. Out: the node as Python has it.

    class C: def get(self): return self.__v          self._C__v
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

import libcst as cst


def owner_of(code: CodeType) -> str:
    """The class that private names in the text of a function have in front; empty where it has no such names."""
    owner = _class_around(code).lstrip("_")
    return owner if owner and any(name.startswith(f"_{owner}__") for name in _names(code)) else ""


def _class_around(code: CodeType) -> str:
    """The name of the innermost class in whose text a function stands; empty if it stands in none."""
    parts = code.co_qualname.split(".")[:-1]
    while parts:
        if parts[-1] == "<locals>":
            del parts[-2:]
        elif parts[-1].startswith("<"):
            del parts[-1]
        else:
            return parts[-1]
    return ""


def _names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def with_owner(node: cst.FunctionDef | cst.Lambda, owner: str) -> cst.FunctionDef | cst.Lambda:
    """The node with the class in front of private names."""
    found = node.visit(_Renaming(f"_{owner}"))
    assert isinstance(found, cst.FunctionDef | cst.Lambda)
    return found


class _Renaming(cst.CSTTransformer):
    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        name = updated_node.value
        is_private = name.startswith("__") and not name.endswith("__")
        return updated_node.with_changes(value=self.prefix + name) if is_private else updated_node

    # names that Python leaves as they are

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_ImportAlias(self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias) -> cst.ImportAlias:
        return updated_node.with_changes(name=original_node.name)

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        return updated_node.with_changes(module=original_node.module)

    def leave_MatchKeywordElement(
        self, original_node: cst.MatchKeywordElement, updated_node: cst.MatchKeywordElement
    ) -> cst.MatchKeywordElement:
        return updated_node.with_changes(key=original_node.key)
