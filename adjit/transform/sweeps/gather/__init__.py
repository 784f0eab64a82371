"""Contributions that loops scatter, gathered where their element is.

In: both sweeps. Out: the same, where an element of an adjoint is stored once.

    gather(function)              u_bar[i - 1] += c;  u_bar[i + 1] += d   ->   u_bar[i] = c_of(i + 1) + d_of(i - 1)
"""

from adjit.transform.sweeps.gather.gather_recompute import gather_at_once
from adjit.transform.sweeps.gather.scatter_to_gather import gather

__all__ = ["gather", "gather_at_once"]
