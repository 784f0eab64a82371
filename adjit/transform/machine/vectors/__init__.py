"""Innermost loops in strips that LLVM vectorises: elementary functions, sums in any order, recurrences.

In: a function, as it will be emitted. Out: the same with strips.

    vectorise(function)           for i: y[i] = np.exp(x[i])      strips of x, through `adjit.runtime.vectormath`
"""
