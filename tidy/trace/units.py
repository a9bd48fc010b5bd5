"""Times, counts and names as a person reads them."""

from __future__ import annotations

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "us"))


def time_text(ns: float) -> str:
    """Three significant digits and a unit: `1.04 s`, `272 ms`, `3.52 us`, `0 us`."""
    # 999.6 ms is 1.00 s: of four digits there are none.
    value, unit = next((ns / s, u) for s, u in _UNITS if ns / s >= 0.9995 or u == "us")
    digits = 0 if value >= 99.95 or not ns else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"


def range_text(low_ns: int, high_ns: int) -> str:
    """`108-117 ms`, `900 us-1.20 ms`; one time where both read the same."""
    low, high = time_text(low_ns), time_text(high_ns)
    if low == high:
        return low
    number, unit = low.split(" ")
    return f"{number if high.endswith(f' {unit}') else low}-{high}"


def count_text(number: int, noun: str) -> str:
    """`1 step`, `2 steps`, `1,200 events`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def printable(text: str) -> str:
    """`text` without characters that would move the cursor or change colours."""
    return "".join(char if char.isprintable() else "?" for char in text)
