"""Rules for scipy.spatial: distances and rotations.

In: a function of SciPy's. Out: what is known of its derivative.
"""
