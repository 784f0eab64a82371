"""Derivatives compiled before they are called, for this process and later ones.

In: a derived function, and arguments or their types. Out: nothing; what is compiled is kept.

    precompile(grad(energy), "float64[:, :], float64")      a later process that calls it compiles nothing
"""

from __future__ import annotations

from typing import Any

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.backend.caching import argument_types, is_signature


def precompile(derivative: Any, *signatures: Any) -> None:
    """Compiles a derivative for arguments of these types, and keeps the machine code for later processes.

    A signature describes the arguments of one call. It may be:

    - a tuple of example values, `(positions, 0.5)`: only their types and structure count;
    - a tuple of numba types, or a signature of numba;
    - a string as for `source`, `"float64[:, :], int"`, with arrays in C order.

    Arguments with defaults may be missing. Your function does not run, except once for `jacobian` with examples.

    The kept code serves the same function with the same `wrt` and options. Warns NotCached where code cannot be kept.
    Raises what a call raises, and WrongCall for an object that is not a derivative or without a signature.
    """
    make = getattr(derivative, "precompile", None)
    if make is None:
        raise WrongCall(
            "precompile of an object that is not a derivative", instead='Write precompile(adjit.grad(f), "float64[:]").'
        )
    if not signatures:
        raise WrongCall(
            "precompile without types",
            instead='Give the types of a call, as in precompile(gradient, "float64[:], int").',
        )
    for signature in signatures:
        make(*_arguments(signature))


def _arguments(signature: Any) -> tuple[Any, ...]:
    if isinstance(signature, str):
        return (signature,)
    if is_signature(signature):
        return argument_types(signature)
    if isinstance(signature, tuple):
        return signature
    raise WrongCall(f"the signature {signature!r}", instead="Give the arguments as a tuple, (x,) for a single one.")


def not_compiled(what: str) -> Unsupported:
    """The refusal of what runs in another way."""
    return Unsupported(f"precompile of {what}", instead='Leave target out, or write target="cpu".')
