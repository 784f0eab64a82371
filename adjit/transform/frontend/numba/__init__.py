"""What numba makes of a function is more than its text: types that were declared, loops around it, code for types.

In: values, and what numba makes of a function. Out: values, cast as was declared; what runs in its place.
"""
