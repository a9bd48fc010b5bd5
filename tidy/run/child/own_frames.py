"""Tracebacks of Ctrl-C without the frames of what the recorder has Python call.

Python takes a signal where the next function begins, which may be one that it calls for each call,
return or line of the script. No `try` within it catches that.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

_PROFILER = os.path.join("tidy", "profiler", "")
_CALLED_BY_PYTHON = tuple(
    _PROFILER + name for name in ("python_functions.py", "python_monitoring.py", "garbage.py")
)
_CHILD = os.path.dirname(os.path.abspath(__file__)) + os.sep


def hide() -> None:
    """Have an interrupt that nobody catches shown without them."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    cut(error, trace)
    sys.__excepthook__(kind, error, trace)


def cut(error: BaseException, trace: TracebackType | None) -> None:
    """Let the traceback of an interrupt end before our first frame.

    Python 3.10 has the frame that was interrupted twice, if this was in a call that it had made.
    """
    if not isinstance(error, KeyboardInterrupt):
        return
    entries = list[TracebackType]()
    while trace is not None and not _is_ours(trace.tb_frame.f_code.co_filename):
        entries.append(trace)
        trace = trace.tb_next
    if trace is None or not entries:
        return
    while len(entries) > 1 and entries[-2].tb_frame is entries[-1].tb_frame:
        entries.pop()
    entries[-1].tb_next = None


def _is_ours(file: str) -> bool:
    return file.startswith(_CHILD) or file.endswith(_CALLED_BY_PYTHON)
