"""What a report says, as data for the page.

Figures are those of the JSON report; beside them stands what people read of them, as in the text
report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..account import Account
from ..check.checked_trace import CheckedTrace
from ..finding import Saving
from ..patterns.base import Pattern
from ..patterns.document import sections_of
from ..report import wording
from ..report.account_text import (
    REMEDIES,
    besides_text,
    left_out_texts,
    part_text,
    place_of,
    place_text,
    window_text,
)
from ..report.job_text import late_texts, unknown_texts
from ..report.json_report import account_to_json, written_by
from ..report.results import Results
from ..report.sections import PlaceOnRanks, Section
from ..report.units import location_text, share_text
from ..summary import Summary
from ..trace import Capability, printable, rows_of, time_text
from . import USUAL_STEPS
from .flame import flame_to_json
from .memory import memory_to_json
from .ranks import most_steps_of, whole_ranks
from .slices import StepSlices, matches_to_json
from .sources import sources_to_json
from .steps import shown_steps, steps_to_json

_NO_TRACE = "No timeline and no flame graph: they need the trace, and this is of its summary."
_WIDEST = 200  # of a place, in columns
_PARAGRAPH = re.compile(r"\n\s*\n")


def page_content(results: Results, steps: Sequence[str] = USUAL_STEPS) -> dict[str, Any]:
    """Return all that the page shows, with timelines of these steps, as JSON has it."""
    shown = {place.finding.code for _, place in [*results.places, *results.accepted]}
    return {
        "tool": written_by(),
        "summary": results.summary,
        "script_status": results.script_status,
        "unreadable": [
            {"path": printable(path), "problem": printable(problem)}
            for path, problem in results.unreadable.items()
        ],
        "gone": [printable(each) for each in results.gone],
        "jobs": [
            {
                **_job(section, steps),
                "sources": sources_to_json(section, results.root) if results.is_recorded else [],
            }
            for section in results.sections
        ],
        "rules": {rule.code: _rule(rule) for rule in results.rules if rule.code in shown},
    }


def _job(section: Section, steps: Sequence[str]) -> dict[str, Any]:
    run = section.runs[0]
    sources = [report.source for report in section.reports]
    whole = {number: _timelines(sources[number], steps) for number in whole_ranks(section)}
    most_steps = most_steps_of(len(section.reports))
    return {
        "paths": [printable(each.path) for each in section.runs],
        "run_line": printable(wording.run_line(section)),
        "unit": run.unit,
        "notes": _notes(section),
        "ranks": [
            rank_to_json(report, whole[number], most_steps)
            if number in whole
            else steps_to_json(report.run, most_steps)
            for number, report in enumerate(section.reports)
        ],
        "after_all": _after_all(section),
        "findings": [_finding(section, place, whole) for place in section.places],
        "accepted": [_finding(section, place, whole) for place in section.accepted],
        "not_checked": [
            {
                "codes": list(gap.codes),
                "text": printable(f"{gap.why.reason}; {gap.why.remedy}"),
                "ranks": wording.ranks_label(gap.ranks)
                if len(gap.ranks) < section.rank_count
                else "",
            }
            for gap in section.not_checked
        ],
        "not_applicable": [
            {"codes": codes, "text": printable(why.reason)}
            for why, codes in section.not_applicable.items()
        ],
        "crashed": [
            printable(wording.crashed_text(code, crash)) for code, crash in section.crashed.items()
        ],
    }


def _notes(section: Section) -> list[str]:
    notes = list(map(printable, wording.notes_of(section)))
    if section.job is not None:
        notes += map(printable, (*late_texts(section.job), *unknown_texts(section.job)))
    if any(place.finding.location is None for place in section.places) and not any(
        Capability.STACKS.value in run.recorded for run in section.runs
    ):
        remedy = section.runs[0].how_to_record_stacks
        notes.append(f"Locations are unknown: no Python stacks recorded; {remedy}")
    return notes


def _timelines(report: CheckedTrace | None, steps: Sequence[str]) -> list[StepSlices]:
    if report is None or not len(report.trace):
        return []
    return [StepSlices(report.trace, step) for step in shown_steps(report.trace.window, steps)]


def rank_to_json(
    report: Summary, timelines: Sequence[StepSlices], most_steps: int
) -> dict[str, Any]:
    """Return all that the page shows of one trace: account, steps, timelines and flame graph.

    The last two are those of a trace that is at hand.
    """
    source = report.source
    return {
        **steps_to_json(report.run, most_steps),
        "accounts": [_account(account) for account in report.accounts],
        "timelines": [each.to_json(source.accountant) for each in timelines] if source else [],
        "no_timeline": _NO_TRACE if source is None else "",
        "flame": flame_to_json(source) if source and timelines else None,
        "memory": memory_to_json(source) if source and timelines else [],
    }


def _account(account: Account) -> dict[str, Any]:
    made = account_to_json(account)
    steps = account.window.step_count
    for part, shown in zip(account.parts, made["parts"], strict=True):
        place = place_of(part)
        shown["text"] = part_text(part)
        shown["besides"] = printable(besides_text(part))
        shown["where"] = "" if place is None else printable(place_text(place, _WIDEST))
        shown["remedy"] = REMEDIES.get(part.kinds[0][0], "") if part.part == "idle" else ""
        shown["time_text"] = time_text(part.time_ns / steps)
        shown["share_text"] = share_text(part.share)
    whose = "host" if account.device is None else f"{account.sort} {account.device}"
    texts = {
        "label": whose,
        "sort": account.sort,
        "window_text": window_text(account.window),
        "left_out_texts": [printable(each) for each in left_out_texts(account)],
    }
    for each in ("not_counted", "efficiency"):
        del made[each]
    return {**made, **texts}


def _after_all(section: Section) -> dict[str, Any] | None:
    """What all fixes give; None if that is not known, or is nothing."""
    if section.too_far_off is not None:
        unit = section.runs[0].unit
        return {"text": wording.replay_is_off_text(section.too_far_off, unit), "step_ns": None}
    text = wording.after_all_text(section)
    if text is None:
        return None
    replay = wording.slowest_after_all(section).replay
    assert replay.step_ns_after is not None
    low_ns, high_ns = replay.step_ns_after
    step_ns = replay.step_ns
    return {"text": text, "step_ns": step_ns, "after_low_ns": low_ns, "after_high_ns": high_ns}


def _finding(
    section: Section, place: PlaceOnRanks, timelines: Mapping[int, Sequence[StepSlices]]
) -> dict[str, Any]:
    finding = place.finding
    matches = []
    for number, each in place.alike:
        source = section.reports[number].source
        if number in timelines and source is not None:
            rows = rows_of(source.findings[each.number].events)
            matches.append({"rank": number, **matches_to_json(timelines[number], rows)})
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "where": location_text(finding.location, _WIDEST),
        "message": printable(wording.message_of(section, place)),
        "fix": printable(finding.fix),
        "costs": wording.costs_of(section, place),
        "cost_ns": place.cost_ns,
        "cost_share": place.cost_share,
        "count": place.count,
        "is_small": place.is_small,
        "saving": _saving(finding.saving, wording.on_rank(section, place.rank)),
        "why_no_saving": "" if finding.saving else finding.why_no_edit,
        "accepted": finding.acceptance
        and printable(f"{finding.acceptance.by}: {finding.acceptance.where}"),
        "matches": matches,
    }


def _saving(saving: Saving | None, of_rank: str) -> dict[str, Any] | None:
    if saving is None:
        return None
    return {
        "low_ns": saving.low_ns,
        "high_ns": saving.high_ns,
        "step_ns": saving.step_ns,
        "text": wording.saving_text(saving) + of_rank,
        "why": saving.why,
        "model": saving.model,
    }


def _rule(rule: Pattern) -> dict[str, Any]:
    """The documentation of a rule by heading; paragraphs that are code begin with a space."""
    said = [
        {"heading": heading, "paragraphs": list(map(_shown, _PARAGRAPH.split(text)))}
        for heading, text in sections_of(type(rule)).items()
        if text
    ]
    return {"name": rule.slug(), "sections": said}


def _shown(paragraph: str) -> str:
    return "\n".join(map(printable, paragraph.split("\n")))
