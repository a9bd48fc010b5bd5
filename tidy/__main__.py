"""`python -m tidy`, and the console script: Ctrl-C is one line and status 130, at any moment.

Python's own handler raises `KeyboardInterrupt` in whatever runs, and nothing catches that while
modules are loaded or Python ends. Until a command begins, and when it is over, there is nothing to
be tidied up, so the process is ended at once. What is not built in is imported after that is so.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # `typing` takes longer to load than all of this
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any
else:
    import _signal  # `signal` would load `enum`


# Python looks for cyclic garbage after each 700 new objects, and at the end among all. What modules
# and rules are made of is no garbage, and that look takes a quarter of the time of a short command.
_OBJECTS_BEFORE_A_COLLECTION = 200_000


def main() -> None:
    """Call the command line, which takes a while to load."""
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION)
    # Whoever starts us in the background may have interrupts ignored.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)
        sys.unraisablehook = _end_where_it_is_lost
    from .cli import main as call

    try:
        call(_Raised())
    finally:
        gc.freeze()  # the system takes the memory back


class _Raised:
    """Let Ctrl-C raise `KeyboardInterrupt` meanwhile, so that what was begun is tidied up."""

    def __enter__(self) -> None:
        self._ended_at_once = _signal.getsignal(_signal.SIGINT) is _end
        if self._ended_at_once:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self._ended_at_once:
            _signal.signal(_signal.SIGINT, _end)


def _end(*_: object) -> None:
    try:
        os.write(2, b"\ntidy: interrupted\n")  # behind the ^C of the terminal
    finally:
        os._exit(130)  # as a shell counts a process that SIGINT ended


def _end_where_it_is_lost(unraisable: Any) -> None:
    """End where Ctrl-C was raised in what Python calls by itself, and would be lost."""
    if unraisable.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
