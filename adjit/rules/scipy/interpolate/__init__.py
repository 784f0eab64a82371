"""Rules for scipy.interpolate: splines and interpolation.

In: a function of SciPy's. Out: what is known of its derivative.
"""
