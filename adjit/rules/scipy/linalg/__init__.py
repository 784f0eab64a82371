"""Rules for scipy.linalg: linear algebra.

In: a function of SciPy's. Out: what is known of its derivative.
"""
