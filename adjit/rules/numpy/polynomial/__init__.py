"""Rules of polynomials: NumPy's functions of coefficients, and its objects.

In: calls of NumPy's functions and classes. Out: registrations, as of every module of rules.
"""
