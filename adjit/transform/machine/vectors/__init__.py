"""Innermost loops in strips that LLVM vectorises: elementary functions, sums in any order, recurrences.

In: a function, as it will be emitted. Out: the same with strips.

    vectorise(function)           for i: y[i] = np.exp(x[i])      strips of x, through `adjit.runtime.vectormath`
"""

from adjit.transform.machine.vectors.elementary import vectorise
from adjit.transform.machine.vectors.loop_fusion import go_through_once
from adjit.transform.machine.vectors.offset_views import LEAST_TRIPS, suits_windows, write_windows
from adjit.transform.machine.vectors.reassociation import in_program_order, reassociate
from adjit.transform.machine.vectors.row_functions import call_for_rows
from adjit.transform.machine.vectors.running_extrema import search_extrema

__all__ = [
    "LEAST_TRIPS",
    "call_for_rows",
    "go_through_once",
    "in_program_order",
    "reassociate",
    "search_extrema",
    "suits_windows",
    "vectorise",
    "write_windows",
]
