"""What functions of Python's library, of NumPy and of numba.cuda do, where the front end itself writes them as IR.

In: values, the arguments of a call. Out: the result of the call, and IR in a builder.

    sorted(xs)      ->      a stable order of the items, and the list of these
"""
