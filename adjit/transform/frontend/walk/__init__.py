"""The walk over a function's syntax tree: statements, expressions and calls, in the order in which Python runs them.

In: a function and the types of its arguments. Out: a function of the IR.

    y = x * x      ->      %y:float64 = call mul(%x, %x)
"""

from adjit.transform.frontend.walk.entry import elaborate, elaborate_kernel, without_comments

__all__ = ["elaborate", "elaborate_kernel", "without_comments"]
