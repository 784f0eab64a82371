"""One derivative for each tuple of argument types: transformed, compiled and kept, in the process and on disk.

In: a derived function and the types of a call's arguments. Out: what is called, its source, and what was decided for
it.

    grad(f)(1.5)      ->      the derivative of f for float64, from the cache or made now
"""
