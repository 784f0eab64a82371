"""Rules for functions of NumPy, by the chapters of its manual.

In: a function of NumPy's. Out: what is known of its derivative.
"""
