"""`tidy report`: from paths on the command line to a report and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .errors import TidyError, TraceFormatError, UnreadableFile, UsageError
from .finding import Severity
from .patterns.base import Pattern
from .patterns.runner import run_patterns
from .progress import ReadProgress
from .readers import read_trace
from .report.json_report import reports_to_json
from .report.model import Report
from .report.units import printable
from .trace import Trace

_SUFFIXES = (".json", ".json.gz", ".json.zip")


@dataclass(slots=True)
class _Inputs:
    """The files to read, and what became of those that could not be.

    Attributes:
        files: (path, folder it was found in or ""), each once.
        asked: paths of the files that were given themselves.
        unreadable: problem by path of what was asked for and could not be had.
        skipped: number of files by folder that are no traces.
    """

    files: list[tuple[str, str]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)


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
        if self.output is not None and not _is(Path(self.output).parent.is_dir):
            raise UsageError(f"--output {self.output}: cannot be written: no such folder")
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
    inputs = _find(traces)
    reports = list(_reports(inputs, rules, shown or {}))
    for folder, count in inputs.skipped.items():
        if all(found_in != folder for _, found_in in inputs.files):
            inputs.unreadable[folder] = "a folder without traces that tidy can read"
        else:
            _say(f"{folder}: {count:,} other JSON file(s) left out, no traces")
    for path, problem in inputs.unreadable.items():
        _say(f"{path}: {problem}")
    threshold = None if options.fail_on == "never" else Severity[options.fail_on.upper()]
    codes = [report.exit_code(threshold) for report in reports]
    exit_code = TidyError.exit_code if inputs.unreadable else max(codes, default=0)
    if reports or form == "json":
        _write(reports, inputs.unreadable, exit_code, form, output, top)
    return exit_code


def _codes(choices: Iterable[str]) -> list[str]:
    return [code for choice in choices for code in choice.split(",") if code.strip()]


def _find(traces: Sequence[str]) -> _Inputs:
    """The files meant: those given, and all that may be traces in the folders given."""
    inputs = _Inputs()
    files: dict[str, str] = {}
    for given in dict.fromkeys(traces):
        folder = Path(given)
        if given == "-" or not _is(folder.is_dir):
            files.setdefault(given, "")
            inputs.asked.add(given)
            continue
        likely = [path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES)]
        found = sorted(path for path in likely if _is(path.is_file))
        files |= {str(path): given for path in found}
        if not found:
            inputs.unreadable[given] = "a folder without traces (no .json or .json.gz in it)"
    inputs.files += files.items()
    return inputs


def _is(question: Callable[[], bool]) -> bool:
    """The answer, or False where the system gives none: the path is too long, or forbidden."""
    try:
        return question()
    except OSError:
        return False


def _reports(
    inputs: _Inputs, rules: Sequence[Pattern], shown: Mapping[str, Shown]
) -> Iterator[Report]:
    read: list[tuple[str, str]] = []
    with ReadProgress([path for path, _ in inputs.files]) as progress:
        for path, folder in inputs.files:
            try:
                trace = read_trace(path, progress.start(path))
            except TraceFormatError as error:
                foreign = folder and path not in inputs.asked
                if foreign and not isinstance(error, UnreadableFile):
                    inputs.skipped[folder] = inputs.skipped.get(folder, 0) + 1
                else:
                    inputs.unreadable[error.path] = error.problem
                continue
            read.append((path, folder))
            if path in shown:
                shown[path].put_on(trace)
            yield Report(trace, run_patterns(trace, rules))
    inputs.files = read


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


def _say(message: str) -> None:
    sys.stderr.write(f"tidy: {printable(message)}\n")
