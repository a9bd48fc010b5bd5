"""`tidy report`: from paths on the command line to a report and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from .errors import TidyError, UsageError
from .finding import Severity
from .input_files import check_output, find_files
from .patterns.runner import run_patterns
from .report.json_report import reports_to_json
from .report.model import Report


def run_report(
    traces: Sequence[str],
    form: str,
    output: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    fail_on: str,
    patterns: Sequence[str],
    name: str | None,
    top: int,
) -> int:
    """Read, check and print; arguments as the options of `tidy report`. Gives the exit code.

    Raises:
        TidyError: a rule or the output that was asked for cannot be had.
    """
    from .api import prepare

    rules = prepare(_codes(select), _codes(ignore), patterns, name)
    check_output(output)
    inputs = find_files(traces)
    reports = [Report(trace, run_patterns(trace, rules)) for trace in inputs.read()]
    inputs.say_what_is_missing()
    threshold = None if fail_on == "never" else Severity[fail_on.upper()]
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
