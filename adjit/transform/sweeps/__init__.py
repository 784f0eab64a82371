"""Both sweeps as one would write them.

In: sweeps with a mirror. Out: a function: joined, loops back to back, clears and sums where they belong, gathered.

    both_sweeps(sweeps, ...)      the forward sweep, then the reverse sweep;  sweeps_apart: to be split between them
"""
