"""Rules for scipy.special: special functions.

In: a function of SciPy's. Out: what is known of its derivative.
"""
