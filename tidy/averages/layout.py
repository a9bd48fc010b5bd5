"""The layout of PyTorch's table (`_build_table` in torch/autograd/profiler_util.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_SPACING = "  "
_NARROW_NAME, _NARROW_PLACE = 30, 40
_LESS_NEEDED: tuple[Callable[[str], bool], ...] = (
    lambda title: title.endswith("%"),
    lambda title: title.endswith("time avg"),
    lambda title: title.endswith("Mem") and not title.startswith("Self"),
    lambda title: title.endswith("Mem"),
)


@dataclass(slots=True)
class Column:
    """A title, a width, and cells; a cell of several lines is a list of them."""

    title: str
    width: int
    left: bool = False
    cells: list[str] = field(default_factory=list)

    def line(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)

    def narrow(self, width: int) -> None:
        """Cut what does not fit, of a path its beginning."""
        self.width = width
        cut = shortened_path if self.left else shortened_end
        self.cells = [cut(cell, width) for cell in self.cells]


@dataclass(slots=True)
class Table:
    """Columns, what stands above them and below them, and for each row further source lines."""

    columns: list[Column]
    above: list[str]
    below: list[str]
    more_frames: list[list[str]] = field(default_factory=list)

    @property
    def width(self) -> int:
        return sum(column.width + len(_SPACING) for column in self.columns) - len(_SPACING)

    def fit(self, width: int, keep: str) -> list[str]:
        """Narrow and leave out columns until the table is so narrow, if it can be.

        Percentages go first, then averages, then memory; the column titled `keep` stays. Gives the
        titles of those left out.
        """
        gone: list[str] = []
        self._narrow(self.columns[1:], width, _NARROW_PLACE)
        for matches in _LESS_NEEDED:
            for column in [column for column in self.columns if matches(column.title)]:
                if self.width > width and column.title != keep:
                    self.columns.remove(column)
                    gone.append(column.title)
        self._narrow(self.columns[:1], width, _NARROW_NAME)
        return gone

    def _narrow(self, columns: Sequence[Column], width: int, least: int) -> None:
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
        """As PyTorch prints it."""
        columns = self.columns
        rule = "".join("-" * column.width + _SPACING for column in columns)
        lines = []
        for line in self.above:
            lines += ["=" * self.width, line]
        lines += [rule, self._line([column.title for column in columns]), rule]
        for row in range(len(columns[0].cells)):
            lines.append(self._line([column.cells[row] for column in columns]))
            if self.more_frames:
                lines += [self._frame_line(frame) for frame in [*self.more_frames[row], ""]]
        return "\n".join([*lines, rule, *self.below, ""])

    def _line(self, cells: Sequence[str]) -> str:
        pairs = zip(self.columns, cells, strict=True)
        return "".join(column.line(cell) + _SPACING for column, cell in pairs)

    def _frame_line(self, frame: str) -> str:
        return self._line([frame if column.left else "" for column in self.columns])

    def html(self, escape: Callable[[str], str]) -> str:
        """The same as an HTML table."""
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


def shortened_name(text: str, width: int | None) -> str:
    """A name whose end is cut so that it and the dots fit."""
    if width is None or len(text) < width - 3:
        return text
    return text[: width - 3] + "..."


def shortened_end(text: str, width: int) -> str:
    """A text whose end is cut."""
    return text if len(text) <= width else text[: width - 3] + "..."


def shortened_path(text: str, width: int) -> str:
    """A path whose beginning is cut."""
    if len(text) <= width:
        return text
    end = text[len(text) - width :]
    return "..." + end[3:] if len(end) > 3 else end


def widest(texts: Sequence[Any], most: int | None) -> int:
    """The width of a column for these texts."""
    width = max(len(str(text)) for text in texts) + 4
    return width if most is None else min(width, most)
