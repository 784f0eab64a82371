"""What the user wrote, and asks for: functions with their text and comments, marks in them, and `Derivative`s.

In: a Python function or a numba dispatcher. Out: its tree, its lines, what it reads around it.

    read_source(energy)         the tree of `def energy`, whose nodes know their place in the user's file
"""
