"""Rules for scipy.optimize: roots and minima.

In: a function of SciPy's. Out: what is known of its derivative.
"""
