"""First and last touches of adjoints: what is cleared, and what is assigned and not added to.

In: both sweeps. Out: the same with fewer clears and fills, and sums in variables.

    merge_clears(function)        y_bar = u_bar[i]; u_bar[i] = 0.0; u_bar[i] += c      ->      u_bar[i] = c
"""
