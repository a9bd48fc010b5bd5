"""What Kineto says on stderr of its starts, stops and exports is not said of the recorder's."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .kept import os

_VARIABLE, _SILENT = "KINETO_LOG_LEVEL", 6
_ERRORS = 4  # what PyTorch sets without the variable, by suppressLogMessages()
_LEVEL = "_ZN9libkineto6Logger14severityLevel_E"  # libkineto::Logger::severityLevel_
_LIBRARIES = "libtorch_cpu.so", "libtorch_cpu.dylib"


class KinetoLog:
    """`with log:` around what starts, stops or exports a profiler of ours.

    Kineto reads the variable when the first profiler starts, and keeps the level from then on. It
    is put back right after, so that profilers of the script's say what they always say; where the
    level cannot be found, they stay silent.

    Args:
        torch: the module.
    """

    def __init__(self, torch: Any) -> None:
        self._folder = os.path.join(os.path.dirname(torch.__file__), "lib")
        self._level: Any = None
        self._is_first = True
        self._before = 0
        self._is_ours = _VARIABLE not in os.environ
        if self._is_ours:
            os.putenv(_VARIABLE, str(_SILENT))  # os.environ does not show it to the script

    def __enter__(self) -> None:
        if not self._is_ours:
            return
        if self._is_first:
            self._level = self._find()
        if self._level is not None:
            self._before, self._level.value = self._level.value, _SILENT

    def __exit__(self, *_: object) -> None:
        if not self._is_ours:
            return
        if self._is_first:
            self._is_first = False
            self._before = self._before or _ERRORS
            os.unsetenv(_VARIABLE)
        if self._level is not None:
            self._level.value = self._before

    def _find(self) -> Any:
        import ctypes

        for name in _LIBRARIES:
            with suppress(OSError, ValueError, AttributeError):
                library = ctypes.CDLL(os.path.join(self._folder, name))
                return ctypes.c_int.in_dll(library, _LEVEL)
        return None
