"""Whether threads of the script that are not recorded use PyTorch.

Nothing is hooked into PyTorch for that. At the end of each step it is looked at where the other
threads are: one that is within a function of PyTorch's runs ops, now or soon.
"""

from __future__ import annotations

import sys

from .kept import os, thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What PyTorch does in threads of its own: pinning batches, and compiling.
_ITS_OWN = tuple(
    os.path.join(*each)
    for each in (
        ("torch", "utils", "data", "_utils", "pin_memory.py"),
        ("torch", "_inductor", ""),
        ("torch", "_dynamo", ""),
    )
)
_THREADING = os.path.join("", "threading.py")


class OtherThreads:
    """Threads that were seen within PyTorch's functions, beside the one that is recorded."""

    def __init__(self, torch: Any) -> None:
        self._folder = os.path.join(os.path.dirname(torch.__file__), "")
        self._seen: set[int] = set()

    @property
    def count(self) -> int:
        return len(self._seen)

    def look(self, recorded: int) -> None:
        """Look where all threads are but the one with this identifier."""
        here = thread.get_ident()
        self._seen.discard(recorded)
        if here != recorded:
            self._seen.add(here)  # an optimizer that steps there
        for ident, frame in sys._current_frames().items():
            if ident not in (recorded, here) and self._is_in_torch(frame):
                self._seen.add(ident)

    def _is_in_torch(self, frame: Any) -> bool:
        """Whether a thread that Python started is within a function of PyTorch's."""
        found, name = False, ""
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._folder):
                if any(each in name for each in _ITS_OWN):
                    return False
                found = True
            frame = frame.f_back
        return found and name.endswith(_THREADING)
