"""Annotations of a GitHub Actions run: workflow commands that a log turns into remarks on lines.

    ::warning file=train.py,line=12,title=TDY404 for-loop-indexing::a loop indexes ...

Source: "Workflow commands for GitHub Actions"; characters are escaped as its toolkit does. GitHub
shows ten of each kind a step: what matters most comes first, and the last says how many more.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..check.places import SourcePlace, Sources
from ..finding import Severity
from ..trace import count_text, printable
from .job_text import job_texts
from .results import Results
from .sections import PlaceOnRanks, Section
from .wording import cost_of, message_of, saving_of

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
MOST_SHOWN = 10  # of a kind, in a step of a job
_MOST_JOBS = 5  # of distributed ones


def to_annotations(results: Results) -> Iterator[str]:
    """Return the lines to print, and the report's last line after them."""
    sources = Sources(results.root)
    for path, problem in results.unreadable.items():
        yield command("error", f"{path}: {problem}", title="tidy")
    for section in results.sections:
        for code, crash in section.crashed.items():
            yield command("error", f"{code} crashed: {crash.error}", title="tidy")
    jobs = list(_jobs(results))
    yield from jobs
    for severity in reversed(Severity):
        room = MOST_SHOWN - (len(jobs) if _KINDS[severity] == "notice" else 0)
        yield from _of_kind(results, severity, sources, room)
    yield f"tidy: {printable(results.summary)}"


def _jobs(results: Results) -> Iterator[str]:
    """Yield a notice a job: which ranks are late, and what is not known; the last says of more."""
    said = [(each, job_texts(each.job)) for each in results.sections if each.job is not None]
    speak = [(each, job) for each, job in said if job is not None and (job.at_fault or job.unknown)]
    shown = speak if len(speak) <= _MOST_JOBS else speak[: _MOST_JOBS - 1]
    for section, job in shown:
        title = job.title if len(said) == 1 else f"{section.name}: {job.title}"
        text = "\n".join(map(printable, (*job.at_fault, *job.unknown)))
        yield command("notice", text, title=printable(title))
    if len(speak) > len(shown):
        more = count_text(len(speak) - len(shown), "more job")
        yield command("notice", f"{more}: see the report", title="tidy")


def _of_kind(results: Results, severity: Severity, sources: Sources, room: int) -> Iterator[str]:
    places = [each for each in results.of(severity) if not each[1].is_small]
    shown = places if len(places) <= room else places[: room - 1]
    for section, place in shown:
        yield _annotation(section, place, sources, _KINDS[severity])
    if len(places) > len(shown):
        more = count_text(len(places) - len(shown), f"more {severity.label}")
        yield command(_KINDS[severity], f"{more}: see the report", title="tidy")


def _annotation(section: Section, place: PlaceOnRanks, sources: Sources, kind: str) -> str:
    finding = place.finding
    lines = [f"{message_of(section, place)} ({cost_of(section, place)})"]
    lines += filter(None, [saving_of(place)])
    text = "\n".join(map(printable, [*lines, f"-> {finding.fix}"]))
    title = f"{finding.code} {finding.name}"
    where = None if finding.location is None else sources.place(finding.location)
    of_fix = sources.place(finding.fix_place.location) if finding.fix_place else None
    if of_fix is not None and of_fix.in_project:
        where, text = of_fix, f"{printable(str(finding.location))}: {text}"
    return command(kind, text, title=title, **({} if where is None else _where(where)))


def _where(place: SourcePlace) -> dict[str, object]:
    if not place.in_project:
        return {}  # GitHub knows no such file
    region = place.region
    where: dict[str, object] = {
        "file": place.path,
        "line": region.start_line,
        "endLine": region.end_line,
    }
    if region.start_column is not None and region.start_line == region.end_line:
        where |= {"col": region.start_column, "endColumn": region.end_column}
    return where


def command(kind: str, text: str, **properties: object) -> str:
    """Return one workflow command: `::warning title=...::text`, all of it escaped."""
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{kind} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
