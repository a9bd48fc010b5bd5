"""`tidy run`: a script is recorded, and what was recorded is reported."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import TidyError, reason_of
from ..progress import say
from ..run import RunOptions
from ..run.folders import keep, offer, temporary_folder
from ..run.process import run_child
from ..run.recording import find_recordings
from ..run.script import check_options, make_traces, why_nothing
from .files import check_output
from .report import run_report
from .report_options import ReportOptions
from .wrong_kind import check_script


def run_script(options: RunOptions, report: ReportOptions) -> int:
    """Run, record and report. Gives the script's own status where it failed, else the report's."""
    report.rules()
    check_options(options)
    if not options.module:
        check_script(options.script)
    _check_targets(options, report)
    offer()
    with temporary_folder() as folder:
        status = run_child(options, folder)
        try:
            code = _report(options, report, folder, status)
        except TidyError as error:
            if not status:
                raise
            _say(str(error))  # the script's own status is what counts
            code = error.exit_code
    return status or code


def _check_targets(options: RunOptions, report: ReportOptions) -> None:
    script = [] if options.module else [options.script]
    if options.trace is not None and not options.is_launcher:
        check_output(options.trace, "--trace", [*script, *report.patterns])
    trace = [] if options.trace is None else [options.trace]
    for each in report.outputs:
        check_output(each.path, "--output", [*script, *trace])


def _report(options: RunOptions, report: ReportOptions, folder: Path, status: int) -> int:
    made = make_traces(options, folder, status)
    if not made:
        if not find_recordings(folder):
            _say(why_nothing(options, status, folder))
        return TidyError.exit_code
    for each in made:
        if each.file is not None and each.file.error is not None:
            keep(folder)  # the pieces that its trace was made of
            stays = f"the recording stays in {folder} (tidy report --recover)"
            reason = reason_of(each.file.error)
            _say(f"--trace {each.file.target}: cannot be written: {reason}; {stays}")
    is_shown = ("text", None) in report.outputs and not report.quiet
    sys.stdout.write("\n" if is_shown else "")
    traces = [each.trace for each in made]
    if not options.every:
        return run_report(traces, report, status, is_recorded=True)
    return run_report(traces[-1:], report, status, traces[:-1], is_recorded=True)


def _say(message: str) -> None:
    sys.stdout.flush()
    say(message)
