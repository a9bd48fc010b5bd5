"""Python functions on Python 3.12 and later, by `sys.monitoring`.

Code that is not of interest switches its own events off when it first runs, so that operators and
the engine, with all they call, cost nothing from then on; `sys.setprofile` is called for all.
Source: PEP 669.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import sys
from collections.abc import Callable
from sys import _getframe as getframe
from time import perf_counter_ns as clock
from types import CodeType
from typing import Any

from .python_functions import KINDS, OWN, USER, PythonFunctions, is_shown


class MonitoredFunctions(PythonFunctions):
    """As `PythonFunctions`, for all threads there are.

    `is_possible` is False where Python is older, or all tools of `sys.monitoring` are in use.
    """

    _tool = -1

    @staticmethod
    def is_possible() -> bool:
        return hasattr(sys, "monitoring") and _free_tool() is not None

    def _begin(self) -> None:
        found = _free_tool()
        assert found is not None
        monitoring, self._tool = sys.monitoring, found
        monitoring.use_tool_id(found, "tidy")
        wanted = 0
        for name, function in self._callbacks().items():
            event = getattr(monitoring.events, name)
            monitoring.register_callback(found, event, function)
            wanted |= event
        monitoring.set_events(found, wanted)
        monitoring.restart_events()  # what an earlier recording switched off

    def _end(self) -> None:
        monitoring = sys.monitoring
        monitoring.set_events(self._tool, 0)
        for name in self._callbacks():
            monitoring.register_callback(self._tool, getattr(monitoring.events, name), None)
        monitoring.free_tool_id(self._tool)

    def _callbacks(self) -> dict[str, Callable[..., Any]]:
        kinds, running, enter, leave = KINDS, self._open, self._enter, self._leave
        off, left_out = sys.monitoring.DISABLE, self._pure.left_out if self._pure else ()

        def is_left_out(code: CodeType) -> bool:
            kind = kinds[code.co_filename]
            return not kind or (kind == OWN and not is_shown(code))

        # A script that is at the limit of its recursion is to see no frame of ours.

        def begin(code: CodeType, *_: Any) -> Any:
            try:
                if is_left_out(code) or id(code) in left_out:
                    return off
                enter(getframe(1), clock())
            except RecursionError:
                return None
            return None

        def end(code: CodeType, *_: Any) -> Any:
            try:
                if is_left_out(code):
                    return off
                leave(getframe(1), clock())
                return off if id(code) in left_out else None
            except RecursionError:
                return None

        def unwind(*_: Any) -> None:  # cannot be switched off
            try:
                frame = getframe(1)
                if frame in running:
                    leave(frame, clock())
            except RecursionError:
                return

        def call(code: CodeType, *_: Any) -> Any:
            try:
                if kinds[code.co_filename] != USER:
                    return off
                frame = getframe(1)
                self._called(id(frame), frame)
            except RecursionError:
                return None
            return None

        def returned(*_: Any) -> None:  # from a function that is not Python's
            try:
                if self._call[0] == id(getframe(1)):
                    self._returned(clock())
            except RecursionError:
                return

        of_calls = {"CALL": call, "C_RETURN": returned, "C_RAISE": returned}
        return {
            "PY_START": begin,
            "PY_RESUME": begin,
            "PY_RETURN": end,
            "PY_YIELD": end,
            "PY_UNWIND": unwind,
            **(of_calls if self._pure is not None else {}),
        }


def _free_tool() -> int | None:
    """A tool nobody uses; that of profilers last, since the script may want to use cProfile."""
    monitoring = sys.monitoring
    return next(
        (tool for tool in (3, 4, monitoring.PROFILER_ID) if monitoring.get_tool(tool) is None), None
    )
