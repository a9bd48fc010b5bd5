"""How PyTorch's table is printed (`_build_table` in torch/autograd/profiler_util.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TIME_UNITS = {"s": 1_000_000.0, "ms": 1000.0, "us": 1.0}
_NBYTES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_SPACING = "  "
_NARROW_NAME, _NARROW_PLACE = 16, 40


@dataclass(slots=True)
class PrintedColumn:
    """A title, a width, and the text of each row.

    Attributes:
        name: the name of the column it prints, "" for percentages beside one.
        left: whether the text stands on the left; of such a text the beginning is cut.
        loses: columns with 1 are left out first where there is no room, and those with 0 last.
    """

    title: str
    width: int
    cells: list[str]
    name: str = ""
    left: bool = False
    loses: int = 0

    def line(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)

    def narrow(self, width: int) -> None:
        """Cut what does not fit."""
        self.width = width
        cut = shortened_path if self.left else shortened_end
        self.cells = [cut(cell, width) for cell in self.cells]


@dataclass(slots=True)
class Table:
    """Columns, the lines above and below them, and for each row further source lines."""

    columns: list[PrintedColumn]
    above: list[str]
    below: list[str]
    more_frames: list[list[str]] = field(default_factory=list)

    @property
    def width(self) -> int:
        return sum(column.width + len(_SPACING) for column in self.columns) - len(_SPACING)

    def fit(self, width: int, keep: str) -> list[str]:
        """Narrow and leave out columns until the table is no wider than `width`, if it can be.

        Percentages go first, then averages, then memory, and last what stands on the right; the
        names and the column named `keep` stay. Gives the titles of the columns that were left out.
        """
        gone: list[str] = []
        self._narrow(self.columns[1:], width, _NARROW_PLACE)
        for column in sorted(self.columns, key=lambda column: column.loses):
            if column.loses and self.width > width and column.name != keep:
                self.columns.remove(column)
                gone.append(column.title)
        self._narrow(self.columns[:1], width, _NARROW_NAME)
        for column in self.columns[:0:-1]:
            if self.width > width and column.name != keep:
                self.columns.remove(column)
                gone.append(column.title)
        return gone

    def _narrow(self, columns: Sequence[PrintedColumn], width: int, least: int) -> None:
        for column in columns:
            if column.width > least:
                column.narrow(max(column.width - max(self.width - width, 0), least))
        self.more_frames = [
            [shortened_path(frame, column.width) for frame in frames]
            for frames in self.more_frames
            for column in self.columns
            if column.left
        ]

    def text(self) -> str:
        """Return the table as PyTorch prints it."""
        columns = self.columns
        rule = "".join("-" * column.width + _SPACING for column in columns)
        lines = []
        for line in self.above:
            lines += ["=" * self.width, line]
        lines += [rule, self._line([column.title for column in columns]), rule]
        for row in range(len(columns[0].cells)):
            lines.append(self._line([column.cells[row] for column in columns]))
            if self.more_frames:
                for frame in [*self.more_frames[row], ""]:
                    lines.append(self._line([frame if each.left else "" for each in columns]))
        return "\n".join([*lines, rule, *self.below, ""])

    def _line(self, cells: Sequence[str]) -> str:
        pairs = zip(self.columns, cells, strict=True)
        return "".join(column.line(cell) + _SPACING for column, cell in pairs)

    def html(self, escape: Callable[[str], str]) -> str:
        """Return the table in HTML, for notebooks."""
        titles = "".join(f"<th>{escape(column.title)}</th>" for column in self.columns)
        rows = []
        for row in range(len(self.columns[0].cells)):
            cells = [escape(column.cells[row]) for column in self.columns]
            if self.more_frames and self.more_frames[row]:
                at = next(i for i, column in enumerate(self.columns) if column.left)
                cells[at] = "<br>".join([cells[at], *map(escape, self.more_frames[row])])
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        above = "".join(f"<p>{escape(line)}</p>" for line in self.above)
        below = "".join(f"<p>{escape(line)}</p>" for line in self.below)
        body = "\n".join(rows)
        return (
            f"{above}<table>\n<thead><tr>{titles}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>{below}"
        )


def format_time(time_us: float, unit: str | None = None) -> str:
    """Three decimals of s, ms or us: of `unit`, or of the largest that is no more than the time."""
    if unit is None:
        unit = next((name for name, size in TIME_UNITS.items() if time_us >= size), "us")
    return f"{time_us / TIME_UNITS[unit]:.3f}{unit}"


def format_share(time_us: float, total_us: float) -> str:
    """Format a percentage of the total, "NaN" if the total is 0."""
    return f"{time_us * 100.0 / total_us:.2f}%" if total_us else "NaN"


def format_memory(nbytes: int) -> str:
    """Format bytes with two decimals of GB, MB or KB, or as whole bytes."""
    for unit, size in _NBYTES.items():
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def flops_scale(least: int) -> tuple[float, str]:
    """(factor, unit) in which the least positive count of a column is at least 1."""
    units = "FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"
    power = min((len(str(least)) - 1) // 3, len(units) - 1)
    return 10.0 ** (-3 * power), units[power]


def shortened_name(text: str, width: int | None) -> str:
    """Return a name whose end is cut so that the name and the dots fit; PyTorch cuts a bit
    early.
    """
    if width is None or len(text) < width - 3:
        return text
    return text[: width - 3] + "..."


def shortened_end(text: str, width: int) -> str:
    """Return a text whose end is cut where it is too long."""
    return text if len(text) <= width else text[: width - 3] + "..."


def shortened_path(text: str, width: int) -> str:
    """Return a path whose beginning is cut where it is too long."""
    if len(text) <= width:
        return text
    end = text[len(text) - width :]
    return "..." + end[3:] if len(end) > 3 else end


def widest(texts: Sequence[Any], most: int | None) -> int:
    """Return the width of a column for these texts."""
    width = max(len(str(text)) for text in texts) + 4
    return width if most is None else min(width, most)
