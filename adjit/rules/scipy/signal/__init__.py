"""Rules for scipy.signal: filters and windows.

In: a function of SciPy's. Out: what is known of its derivative.
"""
