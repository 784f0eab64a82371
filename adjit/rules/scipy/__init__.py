"""Rules for functions of SciPy, a module for each of its packages, loaded once a program has imported that.

In: a function of SciPy's. Out: what is known of its derivative.
"""
