"""What NumPy and Python do with integers where compiled code would do something else.

In: integers of 64 bits. Out: one of them; or the error that Python raises.

    integer_power(2, n)         2**n, ValueError for n < 0          shift_left(1, 64)      0
    integer_fmod(-7, 2)         -1                                  shift_right(-5, 64)    -1
"""

from __future__ import annotations

NO_INTEGER = "an integer to a negative power: convert the base to a float"
NEGATIVE_COUNT = "negative shift count"


def integer_power(base: int, exponent: int) -> int:
    """`base ** exponent`; ValueError if that is no integer."""
    if exponent < 0:
        raise ValueError(NO_INTEGER)
    power: int = base**exponent
    return power


def integer_fmod(value: int, by: int) -> int:
    """The remainder with the sign of `value`; 0 by zero, as in NumPy."""
    if by == 0:
        return 0 * value
    left = value % by
    if left != 0 and (left < 0) != (value < 0):
        left -= by
    return left


def shift_count(count: int) -> int:
    """How far Python shifts; ValueError if that is negative."""
    if count < 0:
        raise ValueError(NEGATIVE_COUNT)
    return count


def shift_left(value: int, count: int) -> int:
    """`value << count`, cut off to 64 bits: 0 where that is more; a negative count is more, too, as in NumPy."""
    return value << count if 0 <= count < 64 else 0 * value


def shift_right(value: int, count: int) -> int:
    """`value >> count`, also where that is more bits than there are; a negative count is more, as in NumPy."""
    return value >> count if 0 <= count < 64 else value >> 63 >> 1
