"""The report that a person reads first."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ..finding import Severity
from ..trace import Capability
from .console import PIPE_WIDTH, make_console
from .model import Report
from .sections import Place, Section, make_sections
from .summary import RunSummary
from .units import (
    count_text,
    location_text,
    printable,
    ranges_text,
    share_text,
    shortened,
    time_text,
)

_MOST_PATHS = 4
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(reports: Sequence[Report], top: int = 0, width: int = PIPE_WIDTH) -> str:
    """The report as plain text."""
    file = io.StringIO()
    print_report(make_console(file, width), reports, top)
    return file.getvalue()


def print_report(console: Console, reports: Sequence[Report], top: int = 0) -> None:
    """Print what was found; `top` limits the findings of each section, 0 shows all."""
    sections = make_sections(reports)
    for section in sections:
        _print_section(console, section, top)
    console.print(_summary_line(sections))


def _print_section(console: Console, section: Section, top: int) -> None:
    for run in section.runs[:_MOST_PATHS]:
        console.print(Text(shortened(printable(run.path), console.width), "bold"))
    if len(section.runs) > _MOST_PATHS:
        console.print(f"and {len(section.runs) - _MOST_PATHS} more ranks of the same job")
    _print_wrapped(console, _run_line(section), "dim")
    for run in section.runs:
        for warning in run.warnings:
            where = f"rank {run.rank}: " if section.rank_count > 1 else ""
            _print_wrapped(console, f"note: {where}{warning}", "yellow")
    console.print()
    shown = section.places[:top] if top > 0 else section.places
    by_rule: dict[str, list[Place]] = {}
    for place in shown:
        by_rule.setdefault(place.finding.code, []).append(place)
    for places in by_rule.values():
        _print_rule(console, section, places)
    if len(shown) < len(section.places):
        hidden = count_text(len(section.places) - len(shown), "more finding")
        console.print(f"... and {hidden} (--top 0 shows all)\n")
    _print_gaps(console, section)


def _run_line(section: Section) -> str:
    """`A100 x 2, rank 0 of 8, 6 steps of 153 ms, 1.04 s, GPU busy 61%; recorded: shapes`."""
    run = section.runs[0]
    parts = [_devices(run)]
    ranks = [r.rank for r in section.runs if r.rank is not None]
    if ranks and run.world_size and run.world_size > 1:
        parts.append(f"{_ranks(ranks)} of {run.world_size}")
    if run.step_count and run.step_ns is not None:
        parts.append(f"{count_text(run.step_count, 'step')} of {time_text(run.step_ns)}")
    else:
        parts.append("no steps marked")
    parts.append(f"{time_text(max(r.span_ns for r in section.runs))} in all")
    busy = [r.busy_share for r in section.runs if r.busy_share is not None]
    if busy:
        low, high = f"{min(busy):.0%}", f"{max(busy):.0%}"
        at_least = "at least " if run.busy_is_lower_bound else ""
        parts.append(f"GPU busy {at_least}{low if low == high else f'{low} to {high}'}")
    recorded = ", ".join(run.recorded) or "names and times only"
    return f"{', '.join(parts)}; recorded: {recorded}"


def _ranks(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {ranges_text(ranks)}"


def _devices(run: RunSummary) -> str:
    if not run.devices:
        return "CPU run" if run.is_cpu_run else "no device activity"
    names = (name + (f" x {count}" if count > 1 else "") for name, count in run.devices)
    return " and ".join(names)


def _print_rule(console: Console, section: Section, places: Sequence[Place]) -> None:
    first = places[0].finding
    title = Text(printable(f"{first.code} {first.name} "), "bold")
    title.append(first.severity.label, _STYLES[first.severity])
    console.print(title)
    message = None
    for place in places:
        finding = place.finding
        cost = _cost(place, "step" if section.runs[0].step_count else "run")
        label = f" {finding.severity.label}" if finding.severity != first.severity else ""
        room = console.width - len(cost) - len(label) - 4
        where = Text(location_text(finding.location, room), "bold")
        where.append(label, _STYLES[finding.severity])
        gap = max(console.width - 2 - where.cell_len - len(cost), 2)
        console.print(Text("  ").append_text(where).append(" " * gap).append(cost))
        seen = finding.message
        if section.rank_count > 1:
            seen += f" ({_ranks(place.ranks)})"
        if seen != message:
            _print_wrapped(console, seen, indent=4)
        message = seen
    _print_wrapped(console, f"-> {first.fix}", "green", indent=4)
    console.print()


def _print_wrapped(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    for line in Text(printable(text), style).wrap(console, console.width - indent):
        line.rstrip()
        console.print(Text(" " * indent).append_text(line))


def _cost(place: Place, whole: str) -> str:
    """`x6    273 ms  29.7% of step`."""
    count = f"x{place.count:,}"
    if not place.cost_ns:
        return count
    where = "GPU " if place.finding.on_device else ""
    share = place.cost_share
    part = "outside steps" if share is None else f"{share_text(share)} of {whole}"
    return f"{count}  {where + time_text(place.cost_ns):>8}  {part:>13}"


def _print_gaps(console: Console, section: Section) -> None:
    stacks = Capability.STACKS.value
    if any(p.finding.location is None for p in section.places) and not any(
        stacks in run.recorded for run in section.runs
    ):
        line = f"Places are unknown: no Python stacks recorded; {Capability.STACKS.remedy}"
        _print_wrapped(console, line)
        console.print()
    if section.not_checked:
        console.print(Text("Not checked", "bold"))
        for gap in section.not_checked:
            where = f" ({_ranks(gap.ranks)})" if len(gap.ranks) < section.rank_count else ""
            line = f"{', '.join(gap.codes)}: {gap.why.reason}{where}; {gap.why.remedy}"
            _print_wrapped(console, line, indent=2)
        console.print()
    moot = {why: codes for why, codes in section.not_applicable.items() if codes != ["TDY000"]}
    for why, codes in moot.items():
        _print_wrapped(console, f"Does not apply: {', '.join(codes)} ({why.reason})", "dim")
    if moot:
        console.print()
    for code, crash in section.crashed.items():
        _print_wrapped(console, f"{code} crashed: {crash.error}", "bold red")
    if section.crashed:
        console.print()


def _summary_line(sections: Sequence[Section]) -> Text:
    counts = {s: sum(section.count(s) for section in sections) for s in reversed(Severity)}
    found = [count_text(number, s.label) for s, number in counts.items() if number]
    line = Text(", ".join(found).replace("infos", "info") or "Nothing found", "bold")
    unchecked = {code for section in sections for gap in section.not_checked for code in gap.codes}
    if unchecked:
        line.append(f", {count_text(len(unchecked), 'rule')} not checked")
    crashed = {code for section in sections for code in section.crashed}
    if crashed:
        line.append(f", {count_text(len(crashed), 'rule')} crashed", "bold red")
    if len(sections) > 1:
        line.append(f" in {count_text(sum(len(s.runs) for s in sections), 'trace')}")
    return line
