"""`tidy report`: from paths on the command line to a report and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .errors import TidyError, UsageError
from .finding import Severity
from .input_files import check_output, find_files
from .patterns.base import Pattern
from .patterns.runner import run_patterns
from .report.json_report import reports_to_json
from .report.model import Report
from .trace import Trace


@dataclass(frozen=True)
class ReportOptions:
    """The options of `tidy report`, which `tidy run` has too.

    Attributes:
        form: "text" or "json".
        fail_on: the least severity, by its label, that makes the exit code 1; or "never".
        top: how many findings to show, 0 for all.
    """

    form: str = "text"
    output: str | None = None
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fail_on: str = "warning"
    patterns: Sequence[str] = ()
    name: str | None = None
    top: int = 20

    def rules(self) -> list[Pattern]:
        """The rules to run.

        Raises:
            TidyError: a rule or the output that was asked for cannot be had.
        """
        from .api import prepare

        rules = prepare(_codes(self.select), _codes(self.ignore), self.patterns, self.name)
        check_output(self.output)
        return rules


@dataclass(frozen=True)
class Shown:
    """How a report names a trace, and what it says of it beside what reading it found."""

    title: str
    notes: Sequence[str] = ()

    def put_on(self, trace: Trace) -> None:
        trace.info.path = self.title
        trace.info.warnings[:0] = self.notes


def run_report(
    traces: Sequence[str], options: ReportOptions, shown: Mapping[str, Shown] | None = None
) -> int:
    """Read, check and print. Gives the exit code.

    Args:
        traces: files, folders or `-`.
        shown: how to name files, by path; all others have their path for a name.

    Raises:
        TidyError: a rule or the output that was asked for cannot be had.
    """
    rules = options.rules()
    form, output, top = options.form, options.output, options.top
    inputs = find_files(traces)
    reports = []
    for trace in inputs.read():
        if shown and trace.info.path in shown:
            shown[trace.info.path].put_on(trace)
        reports.append(Report(trace, run_patterns(trace, rules)))
    inputs.say_what_is_missing()
    threshold = None if options.fail_on == "never" else Severity[options.fail_on.upper()]
    codes = [report.exit_code(threshold) for report in reports]
    exit_code = TidyError.exit_code if inputs.unreadable else max(codes, default=0)
    if reports or form == "json":
        _write(reports, inputs.unreadable, exit_code, form, output, top)
    return exit_code


def _codes(choices: Iterable[str]) -> list[str]:
    return [code for choice in choices for code in choice.split(",") if code.strip()]


def _write(
    reports: Sequence[Report],
    unreadable: dict[str, str],
    exit_code: int,
    form: str,
    output: str | None,
    top: int,
) -> None:
    if output is None or output == "-":
        _print(reports, unreadable, exit_code, form, top, sys.stdout)
        return
    try:
        with Path(output).open("w", encoding="utf-8", newline="\n") as file:
            _print(reports, unreadable, exit_code, form, top, file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"--output {output}: cannot be written: {reason}") from error


def _print(
    reports: Sequence[Report],
    unreadable: dict[str, str],
    exit_code: int,
    form: str,
    top: int,
    file: IO[str],
) -> None:
    if form == "json":
        json.dump(reports_to_json(reports, unreadable, exit_code), file, indent=1)
        file.write("\n")
        return
    from .report.console import make_console
    from .report.text import print_report, render

    if file is sys.stdout:
        print_report(make_console(file), reports, top)
    else:
        file.write(render(reports, top))
