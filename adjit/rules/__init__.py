"""The derivative of every op, one short entry each, and the entry points by which users add their own.

In: a function of Python's, NumPy's or the user's. Out: what is known of its derivative.

@rules.tangent(my_solver)
def my_solver(A, b, A_dot, b_dot, *, x):
    return my_solver(A, b_dot - A_dot @ x)
"""

from adjit.rules.library_functions import differences
from adjit.rules.registry import adjoint, constant, decomposition, effect, linear, partials, tangent

__all__ = ["adjoint", "constant", "decomposition", "differences", "effect", "linear", "partials", "tangent"]
