"""`tidy.load`, apart from what checks a trace: who only reads one need not import the rules."""

from __future__ import annotations

import os
from collections.abc import Callable

from .readers import read_trace
from .trace import Trace


def load(
    path: str | os.PathLike[str],
    progress: Callable[[int], None] | None = None,
    *,
    jobs: int = 1,
) -> Trace:
    """Read a trace that `torch.profiler` recorded (JSON, plain or in gzip or zip).

    Args:
        path: the file, or "-" for standard input.
        progress: called with the number of bytes read so far.
        jobs: how many worker processes read a file with much text, up to 4; the trace is the same.
            Where they cannot be forked (macOS, Windows, beside threads) they import the main module
            again, so that a script needs its `if __name__ == "__main__":`.

    Raises:
        TraceFormatError: the file is not a trace, or cannot be read.
    """
    from . import averages  # noqa: F401 - gives traces `key_averages()` and `table()`

    return read_trace(path, progress, jobs)


def _cell_of(trace: Trace) -> str:
    from .report.notebook import trace_cell

    return trace_cell(trace)


Trace._repr_html_ = _cell_of
