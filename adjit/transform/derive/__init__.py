"""The derivative: tangents beside the operations (forward), or their adjoints in opposite order (reverse).

In: a function and what is active in it. Out: a function (forward); the sweeps, whose mirror names values of the primal
as if they were still there (reverse).

    y = x * w          x_bar += w * y_bar;  w_bar += x * y_bar
"""

from adjit.transform.derive.activity import is_exchange
from adjit.transform.derive.adjoints import Compiler
from adjit.transform.derive.choices import with_places
from adjit.transform.derive.control_only import Wanted, check_flow, wanted
from adjit.transform.derive.equal_values import mix_equal_values
from adjit.transform.derive.forward import forward
from adjit.transform.derive.intermediates import check_places
from adjit.transform.derive.reverse import reverse

__all__ = [
    "Compiler", "Wanted", "check_flow", "check_places", "forward", "is_exchange", "mix_equal_values", "reverse",
    "wanted", "with_places",
]  # fmt: skip
