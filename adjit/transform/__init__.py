"""The compiler: from a function and the types of its arguments to the source of its derivative.

In: a `Derivative` and numba types. Out: text, and the objects it names.

    pipeline.source(derivative, types)      read, shape, derive, keep, finish, tune, write: a package each
"""
