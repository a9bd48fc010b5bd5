"""`tidy report --recover`: the report of a run that was killed before it could be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from ..errors import UsageError, reason_of
from ..run.folders import Leftover, keep, leftover, leftovers
from ..run.options import RunOptions
from ..run.script import make_traces
from .report import run_report
from .report_options import ReportOptions


def run_recover(folders: Sequence[str], report: ReportOptions) -> int:
    """Report what is in the folders, or in the latest one that a run left. Gives the exit code."""
    report.rules()
    found = [_named(folder) for folder in folders] or leftovers()[:1]
    if not found:
        raise UsageError("--recover: no run left anything behind")
    traces = []
    for one in found:
        traces += [made.trace for made in make_traces(_options(one), one.folder)]
        keep(one.folder)  # it is known from now on, and stays for the rest of the day
    if not traces:
        raise UsageError("--recover: nothing that can be reported was recorded")
    return run_report(traces, report)


def _named(folder: str) -> Leftover:
    try:
        one = leftover(Path(folder).resolve())
    except OSError as error:
        raise UsageError(f"--recover {folder}: {reason_of(error)}") from error
    if one is None:
        raise UsageError(f"--recover {folder}: no folder that a run left, or the run is not over")
    return one


def _options(one: Leftover) -> RunOptions:
    known = {each.name for each in fields(RunOptions)} - {"trace"}
    try:
        return RunOptions(**{name: value for name, value in one.settings.items() if name in known})
    except TypeError as error:
        raise UsageError(f"--recover {one.folder}: another version of tidy left it") from error
