"""What several stages do to a program: tidy it, drop what nothing reads, note what was decided.

In: a function of the IR. Out: the same function, simpler.

    simplify(function)          x * 1 -> x;  one of two equal values;  loops of no trips;  what nothing reads
"""
