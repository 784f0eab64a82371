"""Whole matrices: by columns in forward mode, by rows in reverse mode.

In: a function, the arguments, how to derive. Out: a function that returns the Jacobian.

    by_columns(f, ...)         one pass with a direction for each input, or chunks of them
"""

from adjit.transform.derive.jacobian.by_columns import by_columns
from adjit.transform.derive.jacobian.by_rows import by_rows, by_whole_rows

__all__ = ["by_columns", "by_rows", "by_whole_rows"]
