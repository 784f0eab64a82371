"""What is looked at between the steps of the road.

In: a function after a step. Out: the same function, verified or printed where the environment asks for that.
"""

from __future__ import annotations

import os
import sys

from adjit.transform import ir
from adjit.transform.ir.printing import to_text
from adjit.transform.ir.verify import verify


def checked(function: ir.Function, step: str) -> ir.Function:
    """Passes a function on; with ADJIT_VERIFY=1 it is verified first, with ADJIT_DUMP=1 it is printed."""
    if os.environ.get("ADJIT_DUMP"):
        print(f"---- {step}", to_text(function), sep="\n", file=sys.stderr)
    if os.environ.get("ADJIT_VERIFY"):
        verify(function)
    return function
