"""Fractions, decimals and dates, which are worked out while the code is compiled."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import adjit
from tests.programs.harness import check

START = dt.date(2024, 1, 31)
HALF = Fraction(1, 2)
WEEK = dt.timedelta(days=7)


def coupons(r):
    """Days between payments, as people of finance count them."""
    dates = [dt.date(2024 + (1 + 6 * k) // 12, 1 + (1 + 6 * k) % 12, 15) for k in range(1, 5)]
    price, before = 0.0, START
    for day in dates:
        accrued = (day - before).days / 365
        price += 100.0 * 0.03 * accrued * np.exp(-r * (day - START).days / 365.25)
        before = day
    return price + 100.0 * np.exp(-r * (dates[-1] - START).days / 365.25)


def seasons(a):
    total = 0.0
    for k in range(0, 20, 5):
        when = dt.datetime(2024, 12, 30, 6) + k * WEEK
        hour = when.hour + when.minute / 60
        total += a * when.month + a**2 * when.year / 2024 + math.cos(a * hour) * (1 if when.weekday() < 5 else 2)
        total += a * when.timetuple().tm_yday / 366
    return total


def ratios(x):
    ratio = Fraction(60, 24) + 1
    if ratio > 3 and ratio != HALF and ratio == 3.5:
        x = x * ratio
    teeth = int(ratio * 24) + ratio.denominator
    return x * HALF + HALF / x - abs(-ratio) ** 2 * x + x**teeth * 1e-9 + float(ratio) + round(ratio) * x


def of_decimals(x):
    rate = Decimal("0.0125") * 4
    return x ** float(rate) + float(rate.quantize(Decimal("0.1"))) * x


def parsed(x):
    begin = dt.datetime.strptime("2024-02-28 18:30", "%Y-%m-%d %H:%M")
    length = dt.datetime.fromisoformat("2024-03-01T06:00") - begin
    hours = length.total_seconds() / 3600
    return x * hours + x**2 * (length / dt.timedelta(days=1)) + x * min(length, WEEK).days


def thirds(x):
    """Numbers of trips, which the loop is written out for."""
    total = 0.0
    for k in range(x.size):
        total += x[k] ** 2 * float(Fraction(k + 1, 3))
    return total


PLACES = {dt.date(2024, 1, 1): 2.0, dt.date(2024, 2, 1): 3.0}


def by_date(x):
    total = 0.0
    for day, weight in PLACES.items():
        if day < START:
            total += weight * x**2
        total += weight * x * (day.month == 2)
    return total


def in_math(x):
    total = x * math.log2(Fraction(3, 2)) + x**2 * math.sqrt(Decimal("2.25")) + math.log(Fraction(1, 3), 2)
    total += math.pow(Fraction(3, 2), x) * math.hypot(HALF, x) + math.atan2(x, Decimal("1.5"))
    total += math.fsum([HALF, x]) * math.prod([HALF, Fraction(1, 3)]) * math.dist([HALF], [Fraction(1, 3)])
    return total * (2 if math.isclose(HALF, 0.5, rel_tol=Fraction(1, 100)) else 3)


@pytest.mark.parametrize("function", [coupons, seasons, ratios, of_decimals, parsed, by_date, in_math])
def test_values_and_gradients(function):
    check(function, lambda: (0.7,))


def test_numbers_of_trips():
    check(thirds, lambda: (np.array([0.5, -1.0, 2.0]),))


def times_a_span(x):
    return x * WEEK / dt.timedelta(days=1)


def times_a_decimal(x):
    return x * Decimal("0.1")


def of_a_count(x, n):
    return x * float(Fraction(n[0], 3))


def of_now(x):
    return x * dt.date.today().year


def of_what_no_fraction_is_made(x):
    return x * float(Fraction(1, 0))


def of_a_domain(x):
    return x * math.log(Fraction(-1, 2))


def of_an_integer(x):
    return x * math.gcd(Fraction(2, 1), 4)


@pytest.mark.parametrize(
    "function, given, said",
    [
        (of_a_domain, (2.0,), "log: "),
        (of_an_integer, (2.0,), "cannot be interpreted as an integer"),
        (times_a_span, (2.0,), "only known at run time"),
        (times_a_decimal, (2.0,), "only known at run time"),
        (of_a_count, (2.0, np.array([4])), "only known at run time"),
        (of_now, (2.0,), "Its value at compile time would be used"),
        (of_what_no_fraction_is_made, (2.0,), "Fraction"),
    ],
)
def test_refused(function, given, said):
    with pytest.raises(adjit.AdjitError, match=said) as raised:
        adjit.grad(function)(*given)
    assert "test_known_objects.py:" in str(raised.value)
