"""What NumPy takes an array's description from."""

from __future__ import annotations

from typing import Any


class Described:
    """An array by its interface; `owner`: what keeps the memory."""

    def __init__(self, interface: dict[str, Any], owner: Any = None) -> None:
        self.owner = owner
        fields = {"descr": interface["descr"]} if "descr" in interface else {}
        self.__array_interface__ = fields | {
            "shape": interface["shape"],
            "strides": interface["strides"],
            "typestr": interface["typestr"],
            "data": interface["data"],
            "version": 3,
        }
