"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from ..trace import Location, printable


def share_text(share: float) -> str:
    """Return a percentage with one decimal: `29.7%`; `<0.1%` for less than that but more than
    nothing.
    """
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
        return "(location unknown)"
    file, after = printable(location.file), f":{location.line}"
    if not location.is_call_line:
        called = printable(location.function) + ("" if location.function[-1:] == ">" else "()")
        room = max(width - len(after) - len(" in ") - min(cell_len(file), 16), 16)
        after += " in " + shortened(called, room)
    return shortened(file, max(width - cell_len(after), 8)) + after


def shortened(text: str, width: int) -> str:
    """Text that fits into `width` columns, at least 4; longer text loses its middle.

    The end of a path, and of the name of a kernel, says more than its beginning: it gets the
    larger part.
    """
    if cell_len(text) <= width:
        return text
    room = width - len("...")
    first = _fitting(text, room // 3)
    return first + "..." + _fitting(text[::-1], room - cell_len(first))[::-1]


def _fitting(text: str, room: int) -> str:
    """As much of the beginning of a text as has room."""
    upto = 0
    while upto < len(text) and (cells := cell_len(text[upto])) <= room:
        upto, room = upto + 1, room - cells
    return text[:upto]


def ranges_text(numbers: Iterable[int]) -> str:
    """`0-3, 6` for 0, 1, 2, 3, 6."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
