"""`tidy report`, of traces or of what killed runs left."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from .report import run_report
from .report_options import ReportOptions


def report_or_recover(traces: Sequence[str], recover: bool, options: ReportOptions) -> int:
    """Report traces, or with `recover` folders of runs. Gives the exit code.

    Raises:
        TidyError: as `run_report`, and where no trace is named.
    """
    if recover:
        from ..run import run_recover

        return run_recover(traces, options)
    if not traces:
        raise UsageError("report: no TRACE given: `tidy report --help` shows how")
    return run_report(traces, options)
