"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from ..trace import Location, printable


def share_text(share: float) -> str:
    """A percentage with one decimal: `29.7%`; `<0.1%` for less than that but more than nothing."""
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def rate_text(per_s: float, noun: str) -> str:
    """Three significant digits of what happens in a second: `165 TFLOP/s`, `2.38 TB/s`."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        value = per_s / size
        if value >= 0.9995 or not prefix:
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f} {prefix}{noun}/s"
    raise AssertionError("unreachable: the last unit takes all")


def location_text(location: Location | None, width: int) -> str:
    """`train.py:42` for the line of a call, `train.py:40 in train()` for that of its function."""
    if location is None:
        return "(place unknown)"
    file, after = printable(location.file), f":{location.line}"
    if not location.is_call_line:
        called = printable(location.function) + ("" if location.function[-1:] == ">" else "()")
        room = max(width - len(after) - len(" in ") - min(cell_len(file), 16), 16)
        # Of a function it is the end that is lost.
        after += " in " + shortened(called[::-1], room)[::-1]
    return shortened(file, max(width - cell_len(after), 8)) + after


def shortened(path: str, width: int) -> str:
    """A path that fits into `width` columns, at least 4; a longer one loses its beginning."""
    if cell_len(path) <= width:
        return path
    first, room = len(path), width - len("...")
    while first and (cells := cell_len(path[first - 1])) <= room:
        first, room = first - 1, room - cells
    return "..." + path[first:]


def ranges_text(numbers: Iterable[int]) -> str:
    """`0-3, 6` for 0, 1, 2, 3, 6."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
