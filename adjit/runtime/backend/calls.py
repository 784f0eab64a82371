"""The functions of libraries that machine code calls by symbols, in this process and on their way to later ones.

In: the result of a compilation, and what keeps such results. Out: LLVM knows where the functions are.

    give_symbols(["adjit_call_5f0c..."])      the function that an earlier process compiled, loaded

What compiles them is `separate_compilation.py`, which machine code that was kept does without.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

import llvmlite.binding as llvm
from numba import types
from numba.core.registry import cpu_target

PREFIX = "adjit_call_"


class Call(NamedTuple):
    """A function that is compiled: where machine code finds it, and what it returns."""

    symbol: str
    returns: types.Type


class Keeper(Protocol):
    """What keeps compiled functions for later processes."""

    def stamp(self) -> str:
        """All that such code depends on besides its source."""

    def read(self, name: str, target_context: Any) -> tuple[Call, Any] | None:
        """A function that is kept, with the result of its compilation."""

    def write(self, name: str, call: Call, result: Any) -> None:
        """Keeps it."""


class _State:
    keeper: Keeper | None = None


_given: dict[str, Any] = {}  # the results of compilations whose symbols LLVM knows


def kept_by(keeper: Keeper) -> None:
    """Has compiled functions kept for later processes."""
    _State.keeper = keeper


def stamp() -> str:
    """What those that are kept depend on."""
    return "" if _State.keeper is None else _State.keeper.stamp()


def kept(name: str) -> Call | None:
    """A function of an earlier process, whose symbol LLVM knows then; None if none is kept under this name."""
    found = None if _State.keeper is None else _State.keeper.read(name, cpu_target.target_context)
    if found is None:
        return None
    call, result = found
    _give(call.symbol, result)
    return call


def made(name: str, result: Any) -> Call:
    """A function that was compiled just now, by the symbol that LLVM knows."""
    call = Call(f"{PREFIX}{name}", result.signature.return_type)
    _give(call.symbol, result)
    if _State.keeper is not None:
        _State.keeper.write(name, call, result)
    return call


def give_symbols(names: Collection[str]) -> None:
    """Tells LLVM where those functions among these are that are kept."""
    for symbol in names:
        if symbol.startswith(PREFIX) and symbol not in _given:
            kept(symbol.removeprefix(PREFIX))


def _give(symbol: str, result: Any) -> None:
    _given[symbol] = result
    llvm.add_symbol(symbol, result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
