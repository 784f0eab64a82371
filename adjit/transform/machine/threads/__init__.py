"""Trips of loops over prange at the same time.

In: a function. Out: the same, where loops that share nothing but sums run in chunks, one a thread.

    threaded(function, ...)       for i in prange(n): w_bar[k[i]] += u[i]      each thread adds up its own w_bar
"""

from adjit.transform.machine.threads.threads import threaded

__all__ = ["threaded"]
