"""Where a text report is printed: a terminal, a pipe, or a string."""

from __future__ import annotations

from typing import IO

from rich.console import Console

PIPE_WIDTH = 80
_WIDEST = 100
_NARROWEST = 40


class _Console(Console):
    """A console that leaves the words alone, and a closed pipe to its caller."""

    def __init__(self, file: IO[str], width: int | None, force_terminal: bool | None = None):
        super().__init__(
            file=file,
            width=width,
            force_terminal=force_terminal,
            force_jupyter=False,  # a notebook's console shows instead of writing to `file`
            highlight=False,
            markup=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console(file: IO[str], width: int | None = None) -> Console:
    """A console of a given width for plain text, or else one as wide and as colourful as `file`.

    What is no terminal gets 80 columns and no colours.
    """
    if width is not None:
        return _Console(file, width, force_terminal=False)
    console = _Console(file, None)
    fits = max(min(console.width, _WIDEST), _NARROWEST)
    return _Console(file, fits if console.is_terminal else PIPE_WIDTH)
