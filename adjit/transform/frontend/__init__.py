"""From Python source and types to typed IR: names resolved, calls inlined, array statements as loops.

In: a function and the types of its arguments. Out: a function of the IR.

    elaborate(energy, (float64,), ...)      y = x * x      ->      %y:float64 = call mul(%x, %x)
"""

from adjit.transform.frontend.library.launches import KernelLaunch, Launched, apart, begun
from adjit.transform.frontend.walk import elaborate, elaborate_kernel, without_comments

__all__ = ["KernelLaunch", "Launched", "apart", "begun", "elaborate", "elaborate_kernel", "without_comments"]
