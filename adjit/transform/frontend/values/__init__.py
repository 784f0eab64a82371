"""What an expression stands for while a function is read, and the operations that make it a number or an array.

In: operands, and values that are known while compiling. Out: `Value`s, and IR in a builder.

    Lazy((%n,), float64, lambda i: a[i] * 2)         an array that is not computed yet
"""
