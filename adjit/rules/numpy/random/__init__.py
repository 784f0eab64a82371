"""Rules of random draws: what is drawn is kept, and moves with the parameters that it was drawn by.

In: calls of np.random, random and NumPy's generators. Out: registrations, as of every module of rules.
"""
