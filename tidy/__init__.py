"""tidy: a linter for training runs.

    import tidy

    trace = tidy.load("trace.json.gz")
    report = tidy.check(trace)

Importing this package imports nothing but itself; each name below is fetched when first used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api import check, load
    from .finding import Finding, Severity
    from .patterns.base import Pattern
    from .report.model import Report
    from .trace import Trace

_HOME = {
    "Finding": ".finding",
    "Pattern": ".patterns.base",
    "Report": ".report.model",
    "Severity": ".finding",
    "Trace": ".trace",
    "check": ".api",
    "load": ".api",
}

__all__ = [
    "Finding",
    "Pattern",
    "Report",
    "Severity",
    "Trace",
    "__version__",
    "check",
    "load",
]

# In a checkout the folders patterns/ and cli.py stand beside tidy/, not in it.
_ROOT = Path(__file__).parent.parent
if (_ROOT / "pyproject.toml").is_file() and (_ROOT / "patterns" / "base.py").is_file():
    __path__.append(str(_ROOT))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tidy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
