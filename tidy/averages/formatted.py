"""Numbers as PyTorch's table prints them."""

from __future__ import annotations

TIME_UNITS = {"s": 1_000_000.0, "ms": 1000.0, "us": 1.0}
_NBYTES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}


def format_time(time_us: float, unit: str | None = None) -> str:
    """Three decimals of s, ms or us: of `unit`, or of the largest that is no more than the time."""
    if unit is None:
        unit = next((name for name, size in TIME_UNITS.items() if time_us >= size), "us")
    return f"{time_us / TIME_UNITS[unit]:.3f}{unit}"


def format_share(time_us: float, total_us: float) -> str:
    """A percentage; "NaN" of nothing."""
    return f"{time_us * 100.0 / total_us:.2f}%" if total_us else "NaN"


def format_memory(nbytes: int) -> str:
    for unit, size in _NBYTES.items():
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def flops_scale(least: int) -> tuple[float, str]:
    """(factor, unit) in which the least positive count of a column is at least 1."""
    power, units = 0, ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
    while power + 1 < len(units) and least >= 1000 ** (power + 1):
        power += 1
    return 10.0 ** (-3 * power), units[power]
