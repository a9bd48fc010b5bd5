"""The line log that this Python has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def make_lines(on_time: Callable[[int], object], ours: str = "") -> Any:
    """What logs lines, in the way that this Python has.

    Args:
        on_time: called often, with the time.
        ours: the folder of tidy's own files where it is not that of the recorder.
    """
    if sys.version_info >= (3, 12):
        from .lines_monitoring import MonitoringLines

        return MonitoringLines(on_time, ours)
    from .lines_trace import TraceLines

    return TraceLines(on_time, ours)
