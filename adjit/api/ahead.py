"""Derivatives compiled before they are called, for this process and later ones.

In: a derived function, and arguments or their types. Out: nothing; what is compiled is kept.

    precompile(grad(energy), "float64[:, :], float64")      a later process that calls it compiles nothing
"""

from __future__ import annotations

from typing import Any

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.backend.caching import argument_types, is_signature


def precompile(derivative: Any, *signatures: Any) -> None:
    """Compiles a derived function, as `grad` and the like return, for arguments of these types, and keeps it.

    A signature is the arguments of one call: a tuple of examples, of which only the types and what they are put
    together of count (`(positions, 0.5)`, with lists, dictionaries and objects as in a call), a tuple of numba's types,
    one of numba's signatures, or text as for `source` (`"float64[:, :], int"`, of C-ordered arrays). Arguments with
    defaults may be left out. Nothing of the user's runs but, for `jacobian` of examples, the function once.

    What is kept is what the same program asks for later: the same function with the same `wrt` and options. Warns
    NotCached where it cannot be kept. Raises what stands in the way of differentiating the function, as a call does,
    and WrongCall for what is no derived function, without a signature, and for one that is none of these.
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
