"""Products of matrices that are added to what is there, or taken off, as loops would add them: term by term, in order.

In: matrices, of which the result shares no memory with the others. Out: nothing; the result has the product added.

    add_product(s, x, w.T)      s[i, j] += x[i, k] * w[j, k] for k = 0, 1, ...

In plain Python these are NumPy's; compiled, they are in `backend/products.py`. The fused ones round a product and its
sum once when they are compiled.
"""

from __future__ import annotations

from typing import Any


def add_product(out: Any, left: Any, right: Any) -> None:
    """out += left @ right, each element's terms in the order of the axis that is summed over."""
    for k in range(left.shape[1]):
        out += left[:, k : k + 1] * right[k]


def subtract_product(out: Any, left: Any, right: Any) -> None:
    """out -= left @ right, term by term."""
    for k in range(left.shape[1]):
        out -= left[:, k : k + 1] * right[k]


def fused_add_product(out: Any, left: Any, right: Any) -> None:
    """out += left @ right in the same order, of adjoints."""
    add_product(out, left, right)


def fused_subtract_product(out: Any, left: Any, right: Any) -> None:
    """out -= left @ right in the same order, of adjoints."""
    subtract_product(out, left, right)
