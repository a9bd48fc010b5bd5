"""The report as a cell of a notebook shows it: the bar and the findings, without scripts.

Notebooks keep inline styles and drop the rest, so that each element has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..account import Account
from ..check.checked_trace import CheckedTrace
from ..summary import summary_of
from ..trace import Trace, printable, time_text
from . import wording
from .account_text import part_text, window_text
from .sections import PlaceOnRanks, Section
from .text import summary
from .units import location_text, share_text

_MOST_PARTS, _MOST_FINDINGS = 6, 8
_WIDE = 80  # columns of a place
# Colours that a light and a dark notebook both show; ends of the bar are told by words, too.
_COLOURS = {
    "compute": "#5aa469",
    "communication": "#b06ab3",
    "copy": "#5b8def",
    "idle": "#d9a441",
    "host": "#4fa3b8",
}
_FADED = ("", "opacity:.75;", "opacity:.55;")  # neighbours of one sort differ
_SEVERITIES = {"error": "#c0392b", "warning": "#b7791f", "info": "#3b78c4"}
_QUIET = "opacity:.7"


def report_cell(report: CheckedTrace) -> str:
    """Return the report as HTML for a cell."""
    section = Section([summary_of(report)])
    lines = [_line(wording.run_line(section), _QUIET)]
    lines += _account(report.accounts[0]) if report.accounts else []
    said = wording.after_all_text(section)
    lines += [_line(said, "font-weight:bold")] if said else []
    places = [place for place in section.places if not place.is_small]
    lines += [_finding(section, place) for place in places[:_MOST_FINDINGS]]
    if len(places) > _MOST_FINDINGS:
        lines.append(_line(f"and {len(places) - _MOST_FINDINGS} more; print() shows all", _QUIET))
    lines.append(_line(summary([report]), "font-weight:bold"))
    return _cell(section.runs[0].path, lines)


def trace_cell(trace: Trace) -> str:
    """Return where the time of a trace goes as HTML for a cell."""
    report = summary_of(CheckedTrace(trace, {}, []))
    lines = [_line(wording.run_line(Section([report])), _QUIET)]
    lines += _account(report.accounts[0]) if report.accounts else []
    lines.append(_line("tidy.check(trace) says what to change", _QUIET))
    return _cell(trace.info.path, lines)


def _cell(title: str, lines: list[str]) -> str:
    head = _line(title, "font-weight:bold")
    return f'<div style="max-width:60em;line-height:1.5">{head}{"".join(lines)}</div>'


def _line(text: str, style: str = "") -> str:
    return f'<div style="overflow-wrap:anywhere;{style}">{escape(printable(text))}</div>'


def _account(account: Account) -> Iterator[str]:
    """The bar, and in words what its largest stretches are."""
    parts = account.parts[:_MOST_PARTS]
    rest = 1 - sum(part.share for part in parts)
    stretches, words = [], []
    for number, part in enumerate(parts):
        colour = f"background:{_COLOURS[part.part]};{_FADED[number % len(_FADED)]}"
        stretches.append(f'<span style="width:{100 * part.share:.3f}%;{colour}"></span>')
        ns = part.time_ns / account.window.step_count
        said = f"{share_text(part.share)} {part_text(part)}, {time_text(ns)}"
        swatch = f"display:inline-block;width:.7em;height:.7em;{colour}"
        words.append(f'<span style="{swatch}"></span> {escape(printable(said))}')
    if len(account.parts) > _MOST_PARTS:
        words.append(escape(f"{share_text(rest)} in smaller parts"))
    yield _line(f"Where the time goes: {window_text(account.window)}", "margin-top:.4em")
    yield f'<div style="display:flex;height:1.1em;margin:.2em 0">{"".join(stretches)}</div>'
    yield f"<div>{' &nbsp; '.join(words)}</div>"


def _finding(section: Section, place: PlaceOnRanks) -> str:
    finding = place.finding
    label = finding.severity.label
    head = (
        f"<b>{escape(f'{finding.code} {finding.name}')}</b>"
        f' <span style="color:{_SEVERITIES[label]}">{label}</span>'
        f" {escape(location_text(finding.location, _WIDE))}"
    )
    saved = wording.saving_of(place) or wording.cost_of(section, place)
    said = f"{printable(wording.message_of(section, place))}; {printable(saved)}"
    return (
        f'<div style="margin:.4em 0;padding-left:.6em;border-left:3px solid {_SEVERITIES[label]};'
        f'overflow-wrap:anywhere">{head}<br>{escape(said)}<br>'
        f"→ {escape(printable(finding.fix))}</div>"
    )
