"""tidy: a linter for training runs.

    import tidy

    trace = tidy.load("trace.json.gz")
    report = tidy.check(trace)

Importing this package imports nothing but itself; each name below is fetched when first used.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from ._version import __version__

TYPE_CHECKING = False  # most of the time that this module takes would be that of `typing`
if TYPE_CHECKING:
    from typing import Any

    from . import errors
    from .api import check
    from .attach import Recorder, record
    from .finding import Finding, Severity
    from .loading import load
    from .patterns.base import Match, Pattern
    from .profiler import profile, record_function
    from .report.report import Report
    from .trace import Event, Trace

_HOME = {
    "Event": ".trace",
    "Finding": ".finding",
    "Match": ".patterns.base",
    "Pattern": ".patterns.base",
    "Recorder": ".attach",
    "Report": ".report.report",
    "Severity": ".finding",
    "Trace": ".trace",
    "check": ".api",
    "errors": ".errors",
    "load": ".loading",
    "load_ipython_extension": ".attach.magic",
    "profile": ".profiler",
    "record": ".attach",
    "record_function": ".profiler",
}

__all__ = [
    "Event",
    "Finding",
    "Match",
    "Pattern",
    "Recorder",
    "Report",
    "Severity",
    "Trace",
    "__version__",
    "check",
    "errors",
    "load",
    "profile",
    "record",
    "record_function",
]

# In a checkout patterns/ and cli.py stand beside tidy/, not in it. (os.path: pathlib would be half
# of the start-up time of `tidy --help`.)
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
if all(os.path.isfile(os.path.join(_ROOT, name)) for name in ("pyproject.toml", "cli.py")):  # noqa: PTH113, PTH118
    __path__.append(_ROOT)


class _Package(type(sys)):  # type: ignore[misc]
    """The class of this package: the function `check` stays where the package `check` is loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "check" or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tidy' has no attribute {name!r}")
    home = import_module(_HOME[name], __name__)
    return home if _HOME[name] == f".{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
