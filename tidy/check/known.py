"""Comparison with a baseline: findings that are new, known, costlier now, or gone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ..finding import Acceptance, Checked, Finding, Judged, Known, Severity
from .baseline import Baseline, Entry
from .checked_trace import CheckedTrace
from .fingerprint import fingerprint, fingerprint_at, without_numbers
from .places import Sources

_DIGITS = 3  # of shares in the file


def _spots(findings: Iterable[Judged], sources: Sources) -> list[tuple[Entry, Sequence[Judged]]]:
    """Findings by fingerprint, each of one rule at one line; those alike are numbered by line."""
    alike: dict[str, dict[int, list[Judged]]] = {}
    for each in findings:
        lines = alike.setdefault(_fingerprint(each, sources), {})
        lines.setdefault(each.location.line if each.location else 0, []).append(each)
    return [
        (_entry(lines[line], f"{key}:{number}", sources), lines[line])
        for key, lines in alike.items()
        for number, line in enumerate(sorted(lines), 1)
    ]


def _fingerprint(finding: Finding, sources: Sources) -> str:
    if finding.location is None:
        return fingerprint(finding.code, "", "", "", finding.message)
    return fingerprint_at(finding, sources.place(finding.location))


def _entry(findings: Sequence[Finding], fingerprint: str, sources: Sources) -> Entry:
    first = max(findings, key=lambda each: (each.severity, each.cost_ns))
    where = None if first.location is None else sources.place(first.location)
    return Entry(
        file="" if where is None else where.path,
        function="" if first.location is None else first.location.function,
        code=first.code,
        name=first.name,
        source=(where.text.strip() if where else "") or without_numbers(first.message),
        cost_share=_share(findings),
        severity=first.severity.label,
        fingerprint=fingerprint,
    )


def _share(findings: Iterable[Finding]) -> float | None:
    shares = [each.cost_share for each in findings if each.cost_share is not None]
    return round(min(sum(shares), 1.0), _DIGITS) if shares else None


def found_entries(reports: Iterable[Iterable[Judged]], sources: Sources) -> dict[str, Entry]:
    """Return the entries for findings of several traces; the costliest of ranks that share one."""
    entries: dict[str, Entry] = {}
    for findings in reports:
        counting = [f for f in findings if f.acceptance is None or f.acceptance.by != "comment"]
        for new, _ in _spots(counting, sources):
            old = entries.get(new.fingerprint)
            if old is None or (old.cost_share or 0.0) < (new.cost_share or 0.0):
                entries[new.fingerprint] = new
    return entries


def marked(
    found: Iterable[Judged],
    baseline: Baseline,
    sources: Sources,
    *,
    worth: float,
    costlier_from: float,
) -> list[Judged]:
    """Return what was found, each marked as new, as known, or as known and costlier now.

    Args:
        worth: the share of the steps that a warning has to be about.
        costlier_from: what a known finding has to cost more to count again, as a part of what it
            cost, both against the rest of the steps; and no less than `worth` more.
    """
    judged = []
    for now, alike in _spots(found, sources):
        entry = baseline.entries.get(now.fingerprint)
        state = "new" if entry is None else "unchanged"
        if entry is not None and is_costlier(now, entry, worth, costlier_from):
            state = "updated"
        known = Known(state, None if entry is None else entry.cost_share)
        accepted = Acceptance("baseline", baseline.file.name) if state == "unchanged" else None
        judged += [
            replace(each, known=known, acceptance=each.acceptance or accepted) for each in alike
        ]
    return judged


def is_costlier(now: Entry, then: Entry, worth: float, costlier_from: float) -> bool:
    """Tell whether a finding is clearly costlier than it was, or became an error; see `marked`."""
    if now.severity == Severity.ERROR.label != then.severity:
        return True
    before, after = then.cost_share or 0.0, now.cost_share or 0.0
    is_much = _against_the_rest(after) >= (1 + costlier_from) * _against_the_rest(before)
    return is_much and after > before and after - before >= worth


def _against_the_rest(share: float) -> float:
    """Return a share of the steps as a multiple of the rest of them."""
    return share / max(1 - share, 0.001)


def gone_entries(
    reports: Sequence[CheckedTrace], baseline: Baseline, sources: Sources
) -> list[Entry]:
    """Return the entries of which nothing was found, as far as these runs can tell.

    Their rule was checked, and the function that they are in ran, or is not there any more.
    """
    found = {entry.fingerprint for each in reports for entry, _ in _spots(each.found, sources)}
    every = [each for report in reports for each in report.outcomes.items()]
    codes = {code for code, outcome in every if isinstance(outcome, Checked)}
    codes -= {code for code, outcome in every if not isinstance(outcome, Checked)}
    ran = {
        (sources.place(each).path, each.function)
        for report in reports
        for each in report.trace.user_places
    }
    return [
        entry
        for entry in baseline.entries.values()
        if entry.fingerprint not in found
        and entry.code in codes
        and (not entry.file or (entry.file, entry.function) in ran or _is_removed(entry, baseline))
    ]


def _is_removed(entry: Entry, baseline: Baseline) -> bool:
    """Tell whether the file of an entry, or its function, is gone; only files of the project."""
    path = Path(entry.file)
    file = Sources(baseline.root).file(entry.file)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        return False
    if file is None:
        return not (baseline.root / path).exists()
    source = Sources(baseline.root).text_of(file)
    name = entry.function.rpartition(".")[2]
    if source is None or not name.isidentifier():
        return False
    return re.search(rf"\b(def|class)\s+{re.escape(name)}\b", source.text) is None
