"""Rules for scipy.sparse: sparse matrices.

In: a function of SciPy's. Out: what is known of its derivative.
"""
