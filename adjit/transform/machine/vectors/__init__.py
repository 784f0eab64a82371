"""Innermost loops in strips that LLVM vectorises: elementary functions, sums in any order, recurrences.

In: a function, as it will be emitted. Out: the same with strips.

    vectorise(function)           for i: y[i] = np.exp(x[i])      strips of x, through `adjit.runtime.vectormath`
"""

from adjit.transform.machine.vectors.elementary import vectorise
from adjit.transform.machine.vectors.free_sums import in_program_order, reassociate
from adjit.transform.machine.vectors.functions_of_rows import call_for_rows
from adjit.transform.machine.vectors.one_pass import go_through_once
from adjit.transform.machine.vectors.running_extrema import search_extrema
from adjit.transform.machine.vectors.windows import LEAST_TRIPS, suits_windows, write_windows

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
