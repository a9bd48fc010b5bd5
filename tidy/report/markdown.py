"""The report as Markdown, for a comment on a pull request or the summary of a CI job.

Texts from a trace are escaped so that they show as they are: no markup, no HTML, no mention of a
person and no reference to an issue comes from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..account import Account
from ..finding import Severity
from ..trace import count_text, printable, time_text
from .account_text import bar_text, fills_of
from .job_text import job_texts
from .results import Results
from .sections import PlaceOnRanks, Section
from .units import share_text
from .wording import (
    after_all_text,
    cost_of,
    crashed_text,
    message_of,
    replay_is_off_text,
    run_line,
    saving_of,
)

_BAR = 40  # characters
_MOST_PARTS = 8
_SPECIAL = re.compile(r"[\\`*_{}\[\]()<>&|~!$]")
# People, issues and addresses are looked for in the text that is shown, and lists and headings at
# the beginning of a line: a space of no width is in their way.
_REFERENCE = re.compile(
    r"(?<=[@#])(?=\w)|(?<=GH)(?=-\d)|(?<=:)(?=//)|(?<=www)(?=\.)|^(?=[-+=#]|\d+[.)])"
)


def to_markdown(results: Results) -> str:
    """Return the whole report."""
    return "\n\n".join(_paragraphs(results)) + "\n"


def _paragraphs(results: Results) -> Iterator[str]:
    yield f"## tidy: {escaped(results.summary)}"
    for path, problem in results.unreadable.items():
        yield f"**Could not be read**: {escaped(path)}: {escaped(problem)}"
    for section in results.sections:
        yield from _section(section)
    if results.gone:
        gone = [f"- {escaped(each)}" for each in results.gone]
        yield details(f"{len(gone)} gone, but in the baseline", gone)
    if results.script_status:
        yield f"The script itself ended with {results.script_status}."


def escaped(text: str) -> str:
    """Text that shows as it is, on one line."""
    text = _REFERENCE.sub("\u200b", printable(text))
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


def _section(section: Section) -> Iterator[str]:
    names = " ".join(f"**{escaped(run.path)}**" for run in section.runs[:4])
    yield f"{names}  \n{escaped(run_line(section))}"
    yield from (f"> {escaped(warning)}" for run in section.runs for warning in run.warnings)
    for account in section.accounts[:1]:
        yield f"`{bar_text(account, _BAR)}`"
        yield "\n".join(_account(account))
    yield from _job(section)
    worse = [p for p in section.places if p.finding.severity > Severity.INFO]
    rest = [p for p in section.places if p.finding.severity <= Severity.INFO and not p.is_small]
    if worse:
        yield "\n".join(_table(section, worse))
    if section.too_far_off is not None:
        yield escaped(replay_is_off_text(section.too_far_off, section.runs[0].unit))
    if (said := after_all_text(section)) is not None:
        yield f"**{escaped(said)}**"
    for code, crash in section.crashed.items():
        yield f"**{escaped(crashed_text(code, crash))}**"
    if rest:
        yield details(f"{len(rest)} info", _table(section, rest))
    if section.not_checked:
        codes = sum(len(gap.codes) for gap in section.not_checked)
        lines = [
            f"- {', '.join(gap.codes)}: {escaped(gap.why.reason)}; {escaped(gap.why.remedy)}"
            for gap in section.not_checked
        ]
        yield details(f"{count_text(codes, 'rule')} not checked", lines)


def _job(section: Section) -> Iterator[str]:
    """Yield how the ranks of the job compare; what collectives take is to be unfolded."""
    said = None if section.job is None else job_texts(section.job)
    if said is None:
        return
    if said.at_fault:
        yield f"**{escaped(said.title)}**"
        yield "\n".join(f"- {escaped(each)}" for each in said.at_fault)
    yield from (f"> {escaped(each)}" for each in said.unknown)
    rest = [f"- {escaped(each)}" for each in (*said.times, said.matched) if each]
    if rest:
        yield details("What collectives take" if said.at_fault else escaped(said.title), rest)


def details(summary: str, lines: Iterable[str]) -> str:
    """Lines that a reader unfolds."""
    text = "\n".join(lines)
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def _account(account: Account) -> Iterator[str]:
    """A row for each of the largest parts of a step."""
    steps = account.window.step_count
    whole = "the run" if account.window.unit == "run" else f"a {account.window.unit}"
    yield f"| of {whole} | time | where it goes |"
    yield "|---:|---:|---|"
    for part, fill in zip(account.parts[:_MOST_PARTS], fills_of(account), strict=False):
        what = f"{fill} {escaped(str(part.name))}"
        yield f"| {share_text(part.share)} | {time_text(part.time_ns / steps)} | {what} |"
    rest = account.parts[_MOST_PARTS:]
    if rest:
        share, time_ns = sum(p.share for p in rest), sum(p.time_ns for p in rest) / steps
        more = count_text(len(rest), "smaller part")
        yield f"| {share_text(share)} | {time_text(time_ns)} | {more} |"


def _table(section: Section, places: Sequence[PlaceOnRanks]) -> Iterator[str]:
    yield "| | rule | where | what, and what to write instead | cost | saving |"
    yield "|---|---|---|---|---|---|"
    for place in places:
        finding = place.finding
        where = "location unknown" if finding.location is None else escaped(str(finding.location))
        said = f"{escaped(message_of(section, place))}<br>→ {escaped(finding.fix)}"
        cells = (
            finding.severity.label,
            f"{finding.code} {finding.name}",
            where,
            said,
            escaped(cost_of(section, place)),
            escaped(saving_of(place)),
        )
        yield f"| {' | '.join(cells)} |"
