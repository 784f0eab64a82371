"""Rules for scipy.integrate: integrals and initial value problems.

In: a function of SciPy's. Out: what is known of its derivative.
"""
