"""Tables of what was decided: values, loops, arrays, variables.

In: a derivative and what the passes noted. Out: `Tables`.

    tables(function, records, ...)      sum, of line 39, is taped in sum_tape, which takes 8 * steps * (n - 2) bytes
"""

from adjit.transform.explain.formulas import Shaped, Sizes
from adjit.transform.explain.loops import Line
from adjit.transform.explain.tables import Array, Decided, Tables, Value, tables

__all__ = ["Array", "Decided", "Line", "Shaped", "Sizes", "Tables", "Value", "tables"]
