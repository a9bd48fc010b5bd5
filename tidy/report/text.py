"""The report that a person reads first."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.text import Text

from ..check.checked_trace import CheckedTrace
from ..finding import Severity
from ..summary import FindingSummary, Summary
from ..trace import Capability, count_text, printable
from . import wording
from .account_text import idle_text, print_account
from .console import PIPE_WIDTH, ReportConsole, make_console
from .sections import SMALL_SHARE, PlaceOnRanks, Section, make_sections
from .units import location_text

_MOST_PATHS = 4
_MOST_NAMED = 3  # rules that do not apply
_UNASKED = {"TDY000", "TDY010"}  # rules about things that only some ask for or write
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(reports: Sequence[CheckedTrace | Summary], top: int = 0, width: int = PIPE_WIDTH) -> str:
    """Return the report as plain text."""
    file = io.StringIO()
    print_report(make_console(file, width), reports, top)
    return file.getvalue()


def summary(reports: Sequence[CheckedTrace | Summary]) -> str:
    """Return the last line of the report, as `2 warnings, 1 info`."""
    return _summary_line(make_sections(reports)).plain


def print_report(
    console: ReportConsole,
    reports: Sequence[CheckedTrace | Summary],
    top: int = 0,
    verbose: bool = False,
) -> None:
    """Print what was found, the `top` findings of each section (0 for all).

    A verbose report names each rule that does not apply, with the reason, and has a report of each
    rank of a job behind that of the job.
    """
    sections = make_sections(reports)
    for section in sections:
        _print_section(console, section, top, verbose)
        if verbose and section.rank_count > 1:
            for each in section.reports:
                alone = Section([each], among=section.rank_count)
                _print_section(console, alone, top, verbose)
    console.show(_summary_line(sections))


def print_lines(console: ReportConsole, reports: Sequence[CheckedTrace | Summary]) -> None:
    """Print a line for each finding and each rule that crashed, as compilers do; else nothing."""
    for section in make_sections(reports):
        for place in (each for each in section.places if not each.is_small):
            console.show(Text(printable(place.finding.line(section.runs[0].path))))
        for code, crash in section.crashed.items():
            said = wording.crashed_text(code, crash)
            console.show(Text(printable(f"{section.runs[0].path}: {said}")))


def _print_section(console: ReportConsole, section: Section, top: int, verbose: bool) -> None:
    for run in section.runs[:_MOST_PATHS]:
        console.show(Text(console.fitted(printable(run.path), console.width), "bold"))
    if len(section.runs) > _MOST_PATHS:
        console.show(f"and {len(section.runs) - _MOST_PATHS} more ranks of the same job")
    console.wrapped(wording.run_line(section), "dim")
    for note in wording.notes_of(section):
        console.wrapped(f"note: {note}", "yellow")
    console.show()
    if section.job is not None:
        from .job_text import print_job  # loads tidy.jobs

        print_job(console, section)
    if section.accounted:
        first, *others = section.accounts
        where, untold = wording.account_of(section, section.accounted)
        print_account(console, first, len(others), where, untold)
    _print_after_all(console, section)
    worth_a_line = [place for place in section.places if not place.is_small]
    shown = worth_a_line[:top] if top > 0 else worth_a_line
    for _, places in groupby(shown, key=lambda place: _title(place.finding)):
        _print_rule(console, section, list(places))
    if len(shown) < len(worth_a_line):
        hidden = count_text(len(worth_a_line) - len(shown), "more finding")
        console.show(f"... and {hidden} (--top 0 shows all)\n")
    _print_small(console, section)
    _print_gaps(console, section)
    _print_not_applicable(console, section, verbose)
    for code, crash in section.crashed.items():
        console.wrapped(wording.crashed_text(code, crash), "bold red")
    if section.crashed:
        console.show()


def _print_small(console: ReportConsole, section: Section) -> None:
    """One line for the findings that cost next to nothing; JSON has each of them."""
    small = Counter(place.finding.code for place in section.places if place.is_small)
    if small:
        codes = ", ".join(code + (f" x{n}" if n > 1 else "") for code, n in small.items())
        of = "the run" if section.runs[0].unit == "run" else f"a {section.runs[0].unit}"
        less = f"{SMALL_SHARE:.2%} of {of}"
        console.wrapped(f"Less than {less} each: {codes} (--format json)", "dim")
        console.show()


def _title(finding: FindingSummary) -> tuple[str, str, Severity]:
    return finding.code, finding.name, finding.severity


def _print_rule(console: ReportConsole, section: Section, places: Sequence[PlaceOnRanks]) -> None:
    """Print neighbours of one rule: its heading, the locations, and the fix.

    The saving stands in the heading, or below each of several locations.
    """
    code, name, severity = _title(places[0].finding)
    title = Text(printable(f"{code} {name} "), "bold")
    title.append(severity.label, _STYLES[severity])
    saved = _saved_text(section, places[0]) if len(places) == 1 else ""
    if title.cell_len + 2 + cell_len(saved) > console.width:
        console.show(title)
        console.wrapped(saved, indent=4)
    else:
        _print_with(console, title, saved)
    message, fix = None, places[0].finding.fix
    for place in places:
        finding = place.finding
        if finding.fix != fix:
            _print_fix(console, fix)
            fix = finding.fix
        widths = 0, 8, 13 + len(wording.on_rank(section, place.rank))
        parts = zip(wording.costs_of(section, place), widths, strict=False)
        cost = "  ".join(f"{part:>{width}}" for part, width in parts)
        room = console.width - len(cost) - 4
        where = Text("  ").append(location_text(finding.location, console.room(room)), "bold")
        _print_with(console, where, cost)
        seen = wording.message_of(section, place)
        if seen != message:
            console.wrapped(seen, indent=4)
        message = seen
        if len(places) > 1 and finding.saving is not None:
            console.wrapped(_saved_text(section, place), indent=4)
        if finding.saving is None and finding.why_no_edit:
            console.wrapped(f"saving not estimated: {finding.why_no_edit}", indent=4)
        if finding.saving is not None and finding.saving.why:
            console.wrapped(finding.saving.why, indent=4)
    _print_fix(console, fix)
    console.show()


def _print_with(console: ReportConsole, left: Text, right: str) -> None:
    """Print a line whose end stands at the right."""
    gap = max(console.width - left.cell_len - cell_len(right), 2) if right else 0
    console.show(left.append(" " * gap + right, "default"))


def _saved_text(section: Section, place: PlaceOnRanks) -> str:
    saving = place.finding.saving
    if saving is None:
        return ""
    return wording.saving_text(saving) + wording.on_rank(section, place.rank)


def _print_fix(console: ReportConsole, fix: str) -> None:
    console.wrapped(f"-> {fix}", "green", indent=4)


def _print_after_all(console: ReportConsole, section: Section) -> None:
    """Print what all fixes save together, and how far to trust it."""
    if section.too_far_off is not None:
        console.wrapped(wording.replay_is_off_text(section.too_far_off, section.runs[0].unit))
    said = wording.after_all_text(section)
    if said is not None:
        console.wrapped(said, "bold")
    if section.too_far_off is not None or said is not None:
        console.show()


def _print_gaps(console: ReportConsole, section: Section) -> None:
    stacks = Capability.STACKS.value
    if any(p.finding.location is None for p in section.places) and not any(
        stacks in run.recorded for run in section.runs
    ):
        how = section.runs[0].how_to_record_stacks
        line = f"Locations are unknown: no Python stacks recorded; {how}"
        console.wrapped(line)
        console.show()
    if section.not_checked:
        console.show(Text("Not checked", "bold"))
        for gap in section.not_checked:
            is_some = len(gap.ranks) < section.rank_count
            where = f" ({wording.ranks_label(gap.ranks)})" if is_some else ""
            line = f"{', '.join(gap.codes)}: {gap.why.reason}{where}; {gap.why.remedy}"
            console.wrapped(line, indent=2)
        console.show()


def _print_not_applicable(console: ReportConsole, section: Section, verbose: bool) -> None:
    """Name the rules that do not apply if they are few, else say how many there are."""
    moot = {why: codes for why, codes in section.not_applicable.items() if set(codes) - _UNASKED}
    count = sum(map(len, moot.values()))
    if verbose or (len(moot) == 1 and count <= _MOST_NAMED):
        for why, codes in moot.items():
            console.wrapped(f"Does not apply: {', '.join(codes)} ({why.reason})", "dim")
    elif moot:
        console.wrapped(f"{count} rules do not apply (--verbose lists them)", "dim")
    if moot:
        console.show()


def _summary_line(sections: Sequence[Section]) -> Text:
    counts = {s: sum(section.count(s) for section in sections) for s in reversed(Severity)}
    found = [count_text(number, s.label) for s, number in counts.items() if number]
    line = Text(", ".join(found).replace("infos", "info") or "Nothing found", "bold")
    if max(counts, key=lambda s: (counts[s] > 0) * s) < Severity.WARNING or not found:
        idle = filter(None, (idle_text(each) for s in sections for each in s.accounts[:1]))
        line.append("".join(f", but {text}" for text in list(idle)[:1]))
    accepted = Counter(
        p.finding.acceptance.by for s in sections for p in s.accepted if p.finding.acceptance
    )
    for by, what in (("comment", "suppressed"), ("baseline", "in the baseline")):
        if accepted[by]:
            line.append(f", {accepted[by]:,} {what}")
    unchecked = {code for section in sections for gap in section.not_checked for code in gap.codes}
    if unchecked:
        line.append(f", {count_text(len(unchecked), 'rule')} not checked")
    crashed = {code for section in sections for code in section.crashed}
    if crashed:
        line.append(f", {count_text(len(crashed), 'rule')} crashed", "bold red")
    if len(sections) > 1:
        line.append(f" in {count_text(sum(len(s.runs) for s in sections), 'trace')}")
    return line
