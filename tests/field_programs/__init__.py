"""A catalogue of programs by field of science, as people of the field write them.

They were written without a look at what is supported. A file is a field, and has its programs with what they need:

    @program("a thin film by transfer matrices", lambda: (np.array([99.0, 145.0]), 1.52), wrt=(0, 1))
    def reflectance(thickness, index): ...
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

rng = np.random.default_rng


@dataclass(frozen=True)
class Program:
    """A function of a field, and what is known of its derivative.

    Attributes:
        field: The file, `glaciology`.
        name: The name of the function; unique in its field.
        title: What it computes, in a few words.
        function: Gives a number.
        arguments: Makes the arguments anew.
        wrt: The places of those to differentiate.
        refused: What the error says, where adjit does not take the program.
        near_kink: There is a kink near the arguments: differences have to use a smaller step.
        slow: Takes long to differentiate.
    """

    field: str
    name: str
    title: str
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    wrt: tuple[int, ...] = (0,)
    refused: str | None = None
    near_kink: bool = False
    slow: bool = False


REGISTERED: dict[tuple[str, str], Program] = {}


def program(title: str, arguments: Callable[[], tuple[Any, ...]], **known: Any) -> Callable[[Any], Any]:
    """Adds the function below to the catalogue; further arguments are attributes of `Program`."""

    def register(function: Any) -> Any:
        field = function.__module__.rpartition(".")[2]
        name = function.__name__
        if (field, name) in REGISTERED:
            raise ValueError(f"two programs of {field} are named {name}")
        REGISTERED[field, name] = Program(field, name, title, function, arguments, **known)
        return function

    return register


def catalogue() -> list[Program]:
    """All programs, by field."""
    for module in pkgutil.iter_modules(__path__, prefix=f"{__name__}."):
        if not module.name.rpartition(".")[2].startswith("test_"):
            importlib.import_module(module.name)
    return list(REGISTERED.values())
