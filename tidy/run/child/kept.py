"""Python and the system as the recorder uses them: as they were before the script.

A script may replace `time.time_ns`, `os.getpid` or `os.replace`, or have a library do so, as tests
do and as freezegun does. These are copies of the modules' contents, made before the script runs. Of
built-in functions (`open`, `len`) the hook keeps a copy in the same way: see hook/sitecustomize.py.
"""

TYPE_CHECKING = False  # `typing` is left to the script to import
if TYPE_CHECKING:
    import _thread as thread
    import atexit
    import gc
    import os
    import signal
    import time
    import weakref
    from sys import is_finalizing
else:
    import _signal
    import _thread
    import _weakref
    import atexit as _atexit
    import gc as _gc
    import os as _os
    import sys as _sys
    import time as _time

    class _Contents:
        """The contents of a module, where nobody looks for them."""

        def __init__(self, module):
            self.__dict__.update(module.__dict__)

    atexit, gc, os, signal, thread, time, weakref = map(
        _Contents, (_atexit, _gc, _os, _signal, _thread, _time, _weakref)
    )
    os.path = _Contents(_os.path)
    is_finalizing = _sys.is_finalizing

__all__ = ["atexit", "gc", "is_finalizing", "os", "signal", "thread", "time", "weakref"]


def _main_thread() -> int:
    """The thread that loads this module, unless it is loaded when the script runs already."""
    from sys import modules

    threading = modules.get("threading")
    return thread.get_ident() if threading is None else threading.main_thread().ident or 0


MAIN_THREAD = _main_thread()
