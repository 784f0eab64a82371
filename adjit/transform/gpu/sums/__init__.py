"""Additions of many threads to the same elements: who adds up what, and where the sum goes.

In: a function with loops over threads. Out: the same, in which fewer additions are atomic.

    for i: for j: total[0] += f(i, j)      ->      each thread adds up its own terms, and a second launch the rest
"""
