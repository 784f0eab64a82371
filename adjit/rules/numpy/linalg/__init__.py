"""Rules for numpy.linalg and for products of arrays.

In: a function of NumPy's. Out: what is known of its derivative, and where only the spaces of equal values matter.
"""
