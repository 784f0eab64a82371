"""Rules of eigenvalues and vectors, and of singular ones, where only the spaces of equal values matter.

In: what stands for NumPy's factorisations there. Out: registrations, as of every module of rules.
"""
