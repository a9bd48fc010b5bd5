"""Summaries beside a report: given in place of traces, and written for a later one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..check.checked_trace import CheckedTrace
from ..errors import UsageError, reason_of
from ..patterns.base import Pattern
from ..progress import say
from ..readers.urls import is_url
from ..summary import SUFFIX, Summary, merged, origin_of, summarise
from ..whole_file import write_whole
from .report_options import ReportOptions

Given = Sequence[tuple[str, Summary]]

_SUFFIXES = re.compile(r"(\.pt)?(\.trace)?(\.(json|sqlite|nvprof))?(\.(gz|zip|tar|tgz))?$")
_LONGEST = 100  # characters of a name


def check_folder(folder: str | None) -> None:
    """Before the work begins, make the folder for summaries.

    Raises:
        UsageError: it cannot be made, or is none of this machine.
    """
    if folder is None:
        return
    if is_url(folder):
        raise UsageError(f"--summaries {folder}: this is an address; name a folder of this machine")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"--summaries {folder}: this is a file; name a folder") from error
    except OSError as error:
        problem = f"cannot be made: {reason_of(error)}"
        raise UsageError(f"--summaries {folder}: {problem}") from error


def refuse_what_needs_traces(given: Given, options: ReportOptions) -> None:
    """Look for options that only traces can serve.

    Raises:
        UsageError: there is one.
    """
    asked = {
        "--step": options.step is not None,
        "--name": options.name is not None,
        "--perfetto": options.perfetto is not None,
        "--add-ignores": options.add_ignores,
        "tidy baseline": options.baseline_to is not None,
    }
    for what, is_asked in asked.items():
        if is_asked:
            raise UsageError(f"{what}: {given[0][0]} is a summary, and this needs the trace")


def summaries_of(
    reports: Sequence[CheckedTrace], given: Given, options: ReportOptions
) -> list[Summary]:
    """Return the summaries of checked traces."""
    is_kept = bool(given) or options.summaries is not None
    return [
        summarise(each, origin_of(each.trace.info.path) if is_kept else None, number)
        for number, each in enumerate(reports)
    ]


def with_given(
    read: Sequence[Summary], given: Given, options: ReportOptions, rules: Sequence[Pattern]
) -> list[Summary]:
    """Return the summaries of traces that were read, and behind them those that were given.

    Says which are left out, since their trace is there, and which were made with other options.
    """
    notes: list[str] = []
    result = merged(given, read, notes)
    if len(result) > len(read):
        from ..reducing.late import without_late_ranks  # loads tidy.jobs

        result[: len(read)] = [without_late_ranks(each, result[len(read) :]) for each in read]
    codes = frozenset(rule.code for rule in rules)
    made = [each for each in result[len(read) :] if _is_made_otherwise(each, options, codes)]
    if made:
        of = "1 summary" if len(made) == 1 else f"{len(made):,} summaries"
        notes.append(f"{of}: made with other rules or options, and reported as made")
    if options.baseline is not None and len(result) > len(read):
        notes.append("--baseline: summaries keep what they were made with; it is for traces alone")
    for note in notes:
        say(note)
    return result


def _is_made_otherwise(summary: Summary, options: ReportOptions, codes: frozenset[str]) -> bool:
    weighed = summary.savings, summary.warn_from
    return summary.rules != codes or weighed != (options.savings, options.warn_from / 100)


def write_summaries(summaries: Sequence[Summary], folder: Path) -> None:
    """Write summaries of traces that were read, each whole or not at all.

    Raises:
        UsageError: one cannot be written.
    """
    from ..summary import encode  # loads the form of the files

    for each in summaries:
        file = folder / file_name(each)
        try:
            write_whole(file, encode(each))
        except OSError as error:
            problem = f"cannot be written: {reason_of(error)}"
            raise UsageError(f"--summaries {file}: {problem}") from error


def file_name(summary: Summary) -> str:
    """Return a name that tells people the trace, and no other trace's summary has.

    A trace that is recorded anew under its name has the name that it had.
    """
    import hashlib  # loads OpenSSL

    path = summary.run.path
    stem = re.sub(r"[^-.A-Za-z0-9_]+", "_", _SUFFIXES.sub("", Path(path).name))[:_LONGEST]
    whole = str(Path(path).absolute()) if summary.origin.is_known else f"{path}\0{summary.number}"
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem.strip('._') or 'trace'}-{digest}{SUFFIX}"
