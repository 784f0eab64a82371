"""Functions for a GPU: loops as kernels, and a function of the host that launches them.

In: a derivative. Out: its `Plan`, and the text of that, one module.

    for i in range(n): y[i] = x[i] * c      ->      @cuda.jit ... y[i] = x[i] * c;      f_L3[cover(n)](x, c, y)
"""

from adjit.transform.cuda.emit import emit_plan
from adjit.transform.cuda.outline import planned
from adjit.transform.cuda.plan import Plan, as_numbers, numbers
from adjit.transform.cuda.telling import launch_table

__all__ = ["Plan", "as_numbers", "emit_plan", "launch_table", "numbers", "planned"]
