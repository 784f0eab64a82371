"""First and last touches of adjoints: what is cleared, and what is assigned and not added to.

In: both sweeps. Out: the same with fewer clears and fills, and sums in variables.

    merge_clears(function)        y_bar = u_bar[i]; u_bar[i] = 0.0; u_bar[i] += c      ->      u_bar[i] = c
"""

from adjit.transform.sweeps.clears.boundary_stores import with_rims
from adjit.transform.sweeps.clears.carried_clears import CarriedClears, carry_clears
from adjit.transform.sweeps.clears.clears import leave_out_clears, merge_clears
from adjit.transform.sweeps.clears.dead_zero_fills import leave_out_fills
from adjit.transform.sweeps.clears.loop_reversal import ascending
from adjit.transform.sweeps.clears.row_margins import with_margins
from adjit.transform.sweeps.clears.scalar_replacement import promote_sums

__all__ = [
    "CarriedClears", "ascending", "carry_clears", "leave_out_clears", "leave_out_fills", "merge_clears", "promote_sums",
    "with_margins", "with_rims",
]  # fmt: skip
