"""The console of a text report: a terminal, a pipe, a file, or a string."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..trace import printable
from .units import shortened

PIPE_WIDTH = 80
_WIDEST = 100
NARROWEST = 40
_NO_LIMIT = 1 << 16
_LAID_OUT = frozenset("\t\n")  # what makes more of a line than its characters


class ReportConsole(Console):
    """A console that prints words unchanged and leaves a closed pipe to its caller.

    Attributes:
        cuts: whether what is too long for a line is shortened or broken, as on a terminal.
            Elsewhere paths stay whole, so that one can search for them and copy them.
    """

    def __init__(
        self, file: IO[str], width: int | None, *, force_terminal: bool | None = None
    ) -> None:
        super().__init__(
            file=file,
            width=width,
            force_terminal=force_terminal,
            force_jupyter=False,  # a notebook's console shows instead of writing to `file`
            highlight=False,
            markup=False,
            emoji=False,
        )
        self.cuts = force_terminal is None and file.isatty()
        self._is_plain = not self.is_terminal and self.color_system is None

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def room(self, columns: int) -> int:
        """Return the longest length of a path: `columns` if lines are cut, else no limit."""
        return columns if self.cuts else _NO_LIMIT

    def fitted(self, path: str, columns: int) -> str:
        """Return a path that fits, or all of it where nothing is cut."""
        return shortened(path, self.room(columns))

    def show(self, text: Text | str = "", hang: int | None = None) -> None:
        """Print a line, which is broken only on a terminal.

        Its continuations begin at `hang`; if that is None two columns after its own beginning.
        """
        text = Text(text) if isinstance(text, str) else text
        parts = [text]
        if self.cuts and text.cell_len > self.width:
            hang = len(text.plain) - len(text.plain.lstrip()) + 2 if hang is None else hang
            first, *rest = text.wrap(self, self.width - hang)
            parts = [first, *(Text(" " * hang).append_text(part) for part in rest)]
        for part in parts:
            part.rstrip()
            if self._is_plain and not _LAID_OUT.intersection(part.plain):
                self._write_plain(part.plain)
            else:
                self.print(part, soft_wrap=True)

    def _write_plain(self, line: str) -> None:
        """Write what `print` makes of a line without style, without its many steps."""
        self.file.write(f"{line}\n")
        self.file.flush()

    def wrapped(self, text: str, style: str = "", indent: int = 0) -> None:
        """Print prose, broken between words; longer words are broken on a terminal only."""
        for line in self._lines(printable(text), self.width - indent):
            self.show(Text(" " * indent).append(line, style))

    def _lines(self, text: str, width: int) -> Iterator[str]:
        if self.cuts:
            yield from (line.plain.rstrip() for line in Text(text).wrap(self, width))
            return
        line = ""
        for word in text.split(" "):
            if line and cell_len(line) + 1 + cell_len(word) > width:
                yield line
                line = word
            else:
                line = f"{line} {word}" if line else word
        yield line


def make_console(file: IO[str], width: int | None = None) -> ReportConsole:
    """Return a console that writes to `file`; with colours only to standard output.

    Args:
        width: the number of columns. None takes that of `COLUMNS` or of the terminal, as far as
            lines stay readable; what is no terminal gets 80.
    """
    console = ReportConsole(file, None, force_terminal=None if file is sys.stdout else False)
    width = _asked_for() if width is None else width
    is_dumb = console.is_dumb_terminal
    if width is None and console.cuts:
        columns = get_terminal_size((PIPE_WIDTH, 0)).columns if is_dumb else console.width
        width = min(columns, _WIDEST)
    console.width = max(PIPE_WIDTH if width is None else width, NARROWEST)
    if is_dumb:  # as in an editor: Rich takes 80 columns unless both are set
        console.height = console.height
    return console


def _asked_for() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and 0 < int(columns) < _NO_LIMIT else None
