"""What generated code is compiled and run with.

In: generated text and the types of its arguments. Out: a function that numba compiles, or a plain one.

    load(text, names, ...)      a function that tracebacks and `inspect.getsource` can show
"""
