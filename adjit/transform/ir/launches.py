"""What runs on a device: names that are looked up when the text runs, and launches of kernels.

In: kernels, and what the host gives them. Out: nodes that the host's function and kernels alone have, and no pass
derives.

    misfit_L15[cover(x.size)](x, w)        %s = call cover(%n);  launch misfit_L15[%s](%x, %w)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from adjit.runtime.library.gpus import MODULE
from adjit.transform.ir.core import Function, Op, Operand
from adjit.transform.ir.nodes import node, operand, operands


@dataclass(frozen=True)
class External:
    """What a module has under a name, dotted as it is written; the module is imported when the text runs."""

    module: str
    name: str

    @property
    def root(self) -> str:
        """What is imported of the module."""
        return self.name.partition(".")[0]

    @property
    def __name__(self) -> str:
        return self.name.rpartition(".")[2]


@functools.cache
def external(module: str, name: str) -> External:
    """The same object for the same name."""
    return External(module, name)


def of_cuda(name: str = "") -> External:
    """What kernels are written with, of the package that compiles them: `cuda`, or a name in it."""
    return external(MODULE, f"cuda.{name}" if name else "cuda")


@node
class Barrier(Op):
    """All threads of a block get here before one of them goes on, and see what the others have stored."""


@node
class Launch(Op):
    """`kernel[shape](*args)`: the kernel is run by all threads of a grid; `shape`, of the host, says by how many."""

    kernel: Function
    shape: Operand = operand()
    args: tuple[Operand, ...] = operands()
