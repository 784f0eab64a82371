"""Rules for scipy.stats: distributions and statistics.

In: a function of SciPy's. Out: what is known of its derivative.
"""
