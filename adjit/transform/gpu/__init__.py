"""Functions for a GPU: loops as kernels, and a function of the host that launches them.

In: a derivative. Out: its `Plan`, and the text of that, one module; or what one thread does of it, and that text.

    for i in range(n): y[i] = x[i] * c      ->      @cuda.jit ... y[i] = x[i] * c;      f_L3[cover(n)](x, c, y)
"""

from adjit.transform.gpu.device_function import in_a_thread
from adjit.transform.gpu.emit import emit_in_thread, emit_plan
from adjit.transform.gpu.launch_table import Told, told
from adjit.transform.gpu.outline import planned
from adjit.transform.gpu.plan import Plan, as_numbers, numbers

__all__ = [
    "Plan",
    "Told",
    "as_numbers",
    "emit_in_thread",
    "emit_plan",
    "in_a_thread",
    "numbers",
    "planned",
    "told",
]
