"""Times, counts and names as a person reads them."""

from __future__ import annotations

import re
from math import floor, isfinite, log10

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "us"))


def time_text(ns: float) -> str:
    """Three significant digits and a unit: `1.04 s`, `272 ms`, `3.52 us`, `0 us`."""
    # 999.6 ms is 1.00 s: of four digits there are none.
    value, unit = next((ns / s, u) for s, u in _UNITS if ns / s >= 0.9995 or u == "us")
    return f"{_three_digits(value)} {unit}"


def range_text(low_ns: float, high_ns: float, whole_ns: float) -> str:
    """Parts of a time, in the unit that it has: `31.9 to 37.7` for those of 67.9 ms."""
    unit = time_text(whole_ns).rpartition(" ")[2]
    size = next(size for size, name in _UNITS if name == unit)
    low, high = _three_digits(low_ns / size), _three_digits(high_ns / size)
    return low if low == high else f"{low} to {high}"


def _three_digits(value: float) -> str:
    digits = 0 if value >= 99.95 or not value else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}"


def number_text(value: float, digits: int = 3) -> str:
    """So many significant digits, without an exponent: `1,200`, `31.9`, `0.25`, `0`."""
    if not value or not isfinite(value):
        return f"{value:.0f}"
    decimals = digits - 1 - floor(log10(abs(value)))
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if decimals > 0 else text


def count_text(number: int, noun: str) -> str:
    """`1 step`, `2 steps`, `1,200 events`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def plain_name(name: str) -> str:
    """Return an op or kernel without types and parameters: `at::native::elementwise_kernel`."""
    known = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return printable(re.split(r"[<(]", known)[0].strip() or name)


def printable(text: str) -> str:
    """`text` without characters that would move the cursor or change colours."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)
