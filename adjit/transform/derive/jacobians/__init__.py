"""Derivatives in several directions: whole Jacobians, sparse ones, functions mapped over an axis.

In: a function, directions or seeds. Out: a function whose results have a direction more.

    jacobian.by_columns(f, wrt, single, build)        one forward sweep for each chunk of directions
"""
