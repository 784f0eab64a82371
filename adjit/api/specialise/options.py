"""How generated code is made and compiled, as users ask for it.

In: keyword arguments. Out: `Options`, or WrongCall with the options that there are.

    make_options({"memory_limit": "200 MB"}, own=("wrt",))
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np

from adjit.api.specialise.notation import to_bytes
from adjit.errors import Unsupported, WrongCall
from adjit.runtime.backend.dispatcher import parallel_option
from adjit.transform.strategy import CHEAPEST, GUARDED, IN_THREAD, ON_GPU, READABLE, Strategy

_SWITCHES = ("parallel", "vectormath", "cache", "boundscheck", "deterministic")
_FASTMATH = frozenset(("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"))  # LLVM's flags
_USUAL = {"python": READABLE, "cuda": ON_GPU, "cuda-device": IN_THREAD}


class Asked(TypedDict, total=False):
    """Options, which every transformation takes by name:

    - `target`: "cpu" compiles with numba. "python" runs the generated code uncompiled, for debuggers. "cuda" launches
      kernels on a GPU, with arrays there. "cuda-device" makes a function that kernels call.
    - `fastmath`: LLVM's flags, as for numba.njit. Without any, which is the default, each operation rounds as in NumPy.
    - `memory_limit`: the memory for saved values of loops, as "200 MB" or a number of bytes. Loops that need more are
      checkpointed: the reverse sweep recomputes their iterations from snapshots.
    - `parallel`: True runs loops over prange in threads, where adjit proves that this is safe. The result does not
      depend on the number of threads.
    - `vectormath`: True uses adjit's elementary functions in vectorised loops. They may differ from libm's by 1 ulp
      (erfc by 2). With False, and without fastmath, the value is bit for bit that of the function compiled by numba.
    - `cache`: None and True keep machine code for later processes, and True warns where that is impossible.
    - `boundscheck`: True raises IndexError at your line for an index that is out of bounds.
    - `deterministic`: True gives sums that threads of a GPU share the same bits in each run.
    - `debug`: "nan" raises FloatingPointError at your line for the first nan, in a value or in an adjoint.
    - `accumulate`: "float64" adds up sums of float32 on a GPU in double precision.
    """

    target: Literal["cpu", "python", "cuda", "cuda-device"]
    fastmath: bool | Collection[str]
    memory_limit: int | str | None
    parallel: bool
    vectormath: bool
    cache: bool | None
    boundscheck: bool
    deterministic: bool
    debug: Literal["nan"] | None
    accumulate: Literal["float64"] | None


@dataclass(frozen=True)
class Options:
    """How generated code is made and compiled: what `Asked` says, and `strategy`, the mechanisms of the
    transformation. `memory_limit` is in bytes."""

    target: str = "cpu"
    fastmath: bool | frozenset[str] = False
    parallel: bool = False
    vectormath: bool = True
    cache: bool | None = None
    memory_limit: int | None = None
    strategy: Strategy = CHEAPEST
    boundscheck: bool = True
    debug: str | None = None
    deterministic: bool = False
    accumulate: str | None = None

    def for_numba(self) -> dict[str, Any]:
        return {
            "nopython": True,
            "nogil": True,
            "boundscheck": None,
            "error_model": "numpy",
            "fastmath": self.fastmath if isinstance(self.fastmath, bool) else set(self.fastmath),
            "parallel": parallel_option(self.parallel),
        }

    @property
    def has_no_nan(self) -> bool:
        """Whether code is compiled as if no number were nan, so that what asks for one may be gone."""
        flags = {"fast"} if self.fastmath is True else self.fastmath or frozenset()
        return not flags.isdisjoint(("fast", "nnan", "ninf"))

    def decorator(self, tuned: bool, asks_python: bool = False) -> str:
        """numba's decorator for a saved function, with what these options compile it with; `asks_python`: it has parts
        that the interpreter runs, which takes its lock."""
        options = self.for_numba()
        names = ("error_model", *(("fastmath",) if self.fastmath else ()), *(() if asks_python else ("nogil",)))
        said = {name: options[name] for name in names}
        if tuned and self.parallel:
            said["parallel"] = True
        return f"@njit({', '.join(f'{name}={_literal(value)}' for name, value in said.items())})"

    def for_derivatives(self) -> dict[str, Any]:
        """What the transformation reads of it."""
        found = {"memory_limit": self.memory_limit, "strategy": self.strategy, "parallel": self.parallel}
        return found | {"boundscheck": self.boundscheck, "nancheck": self.debug == "nan"}


_NAMES = tuple(Asked.__annotations__)


def takes_options(function: _F) -> _F:
    """Shows the options of a function by name in `help` and Shift-Tab, each with a sentence."""
    own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    own = [p.replace(annotation=p.empty) for p in own]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(Options, name)) for name in _NAMES]
    function.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    {(Asked.__doc__ or '').rstrip()}\n    "
    return function


_F = TypeVar("_F", bound=Callable[..., Any])


def _of_others(name: str, value: Any, own: Sequence[str]) -> str:
    """What to write for an option that goes by another name in other libraries; "" for any other."""
    known = {"argnum": "wrt", "argnums": "wrt", "argnames": "wrt"}.get(name, "")
    return f"adjit calls it {known}: write {known}={value!r}." if known in own and known else ""


def make_options(given: Mapping[str, Any], own: Sequence[str] = ()) -> Options:
    """The options as given by name; `own`: the other names that the function takes, for the message."""
    for name in given:
        if name not in _NAMES and name != "strategy":
            known = (*own, *_NAMES)
            close = difflib.get_close_matches(name, known, 1)
            raise WrongCall(
                f"unknown option {name!r}",
                why=f"The options are {', '.join(known)}.",
                instead=_of_others(name, given[name], own)
                or (f"Did you mean {close[0]}?" if close else "Leave it out."),
            )
    for name in _SWITCHES:
        usual = getattr(Options, name)
        if given.get(name, usual) is not usual and not isinstance(given[name], bool | np.bool_):
            raise WrongCall(f"{name}={given[name]!r}", instead=f"Write {name}=True or {name}=False.")
    if given.get("target", "cpu") not in ("cpu", "python", "cuda", "cuda-device"):
        raise Unsupported(
            f"target {given['target']!r}",
            instead='Write target="cpu", target="cuda", target="cuda-device" or target="python".',
        )
    if not isinstance(given.get("strategy", CHEAPEST), Strategy):
        raise WrongCall(f"strategy={given['strategy']!r}", instead="Leave it out: it is for adjit's own tests.")
    made = dict(given)
    made |= {name: bool(given[name]) for name in _SWITCHES if isinstance(given.get(name), np.bool_)}
    if "fastmath" in given:
        made["fastmath"] = _fastmath(given["fastmath"])
    if "memory_limit" in given:
        made["memory_limit"] = to_bytes(given["memory_limit"])
    if made.get("debug") not in (None, "nan"):
        raise WrongCall(f"debug={made['debug']!r}", instead='Write debug="nan", or leave it out.')
    is_checked = made.get("debug") is not None
    if is_checked and made.get("parallel", False):
        raise WrongCall(
            "parallel=True with debug",
            why="An error that is raised in a thread cannot be reported.",
            instead="Leave parallel out while you search for the error.",
        )
    target = made.get("target", "cpu")
    if target in ("cuda", "cuda-device"):
        for name in ("boundscheck", "debug", "cache", "parallel"):
            if made.get(name):
                raise WrongCall(
                    f'{name}={made[name]!r} with target="{target}"',
                    why="Loops are always parallel there." if name == "parallel" else "Kernels do not support it.",
                    instead="Leave it out." if name in ("parallel", "cache") else 'Leave it out, or use target="cpu".',
                )
    if made.get("deterministic") and target != "cuda":
        raise WrongCall(
            f'deterministic=True with target="{target}"',
            why="On that target the order of sums never varies.",
            instead="Leave it out.",
        )
    if made.get("accumulate") not in (None, "float64"):
        raise WrongCall(f"accumulate={made['accumulate']!r}", instead='Write accumulate="float64", or leave it out.')
    if made.get("accumulate") and target != "cuda":
        raise WrongCall(
            f'accumulate="float64" with target="{target}"',
            why="It is for sums that the threads of a GPU share.",
            instead="Leave it out, and start the sum from np.float64(0.0).",
        )
    # what one steps through is what one reads
    usual = GUARDED if is_checked else _USUAL.get(made.get("target", "cpu"), CHEAPEST)
    made.setdefault("strategy", usual)
    if not (made.get("fastmath", Options.fastmath) or made.get("vectormath", Options.vectormath)):
        # the value keeps the bits of the primal, whose products BLAS makes
        exact = made["strategy"].without | {"dots", "passes"}
        made["strategy"] = dataclasses.replace(made["strategy"], without=frozenset(exact))
    if made.get("deterministic"):
        made["strategy"] = dataclasses.replace(made["strategy"], deterministic=True)
    if made.get("accumulate"):
        made["strategy"] = dataclasses.replace(made["strategy"], wide=True)
    return Options(**made)


def _literal(value: Any) -> str:
    """A string in double quotes, a set in the order of its elements."""
    if isinstance(value, set):
        return "{" + ", ".join(map(_literal, sorted(value))) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _fastmath(given: Any) -> bool | frozenset[str]:
    if isinstance(given, bool):
        return given
    if isinstance(given, set | frozenset | list | tuple) and _FASTMATH.issuperset(given):
        return frozenset(given)
    raise WrongCall(
        f"fastmath={given!r}",
        why=f"LLVM's flags are {', '.join(sorted(_FASTMATH))}.",
        instead="Write fastmath=True, fastmath=False, or a set of flags.",
    )
