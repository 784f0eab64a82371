"""What generated code tells LLVM: nothing of an integer, or that a sum has no order.

In: numbers. Out: the same numbers, or their sum.

    total = reassociable_add(total, x[i])       LLVM may add several at once
"""

from __future__ import annotations


def opaque(index: int) -> int:
    """index, of which the compiler is to know nothing but that it is an integer (`hidden_counters.py` says why)."""
    return index


def reassociable_add(total: float, term: float) -> float:
    """total + term, in a sum that the compiler may add up in any order, and so in SIMD lanes."""
    return total + term


def reassociable_sub(total: float, term: float) -> float:
    """total - term, in such a sum."""
    return total - term
