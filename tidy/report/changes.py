"""Changes between recordings that were made one after another of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ..account import PartName
from ..check.checked_trace import CheckedTrace
from ..finding import Severity
from ..trace import time_text
from .text import summary

_LONGER = 0.1  # of a step's length; less may be chance
_GREW = 0.05  # of a step's length, for one part of its account


class PlaceOfFinding(NamedTuple):
    """A finding that costs something in steps; `location` is None where it is not known."""

    code: str
    name: str
    location: str | None

    def __str__(self) -> str:
        return f"{self.code} {self.name} at {self.location or 'an unknown location'}"


@dataclass(frozen=True)
class Changes:
    """The differences between a recording and the one before.

    Attributes:
        longer: by what part of its length a step grew, None where that may be chance.
        parts: of a median step's account, those that grew or shrank, the one that grew most first,
            each with its time in ns before and after.
    """

    longer: float | None
    parts: list[tuple[PartName, int, int]]
    came: list[PlaceOfFinding]
    went: list[PlaceOfFinding]


@dataclass(frozen=True)
class OneOfSeveral:
    """A recording among several of the same run; the first one has no changes."""

    report: CheckedTrace
    changes: Changes | None

    @property
    def steps(self) -> tuple[int, int] | None:
        """The first and the last of its steps."""
        numbers = [step.number for step in self.report.trace.steps]
        return (min(numbers), max(numbers)) if numbers else None


def compare(reports: Sequence[CheckedTrace]) -> list[OneOfSeveral]:
    """Return each recording, in order, with what changed since the one before."""
    changed = [_changes(before, after) for before, after in pairwise(reports)]
    return [OneOfSeveral(*each) for each in zip(reports, [None, *changed], strict=False)]


def changes_text(recordings: Sequence[OneOfSeveral]) -> list[str]:
    """Lines of text: each recording, and how it differs from the one before; none for one."""
    if len(recordings) < 2:
        return []
    lines = ["", f"Changes between {len(recordings)} recordings, in order:"]
    for each in recordings:
        lines.append(f"  {_line(each)}")
        if each.changes is not None:
            lines += [f"    {line}" for line in _lines(each.changes)]
    return lines


def changes_to_json(recordings: Sequence[OneOfSeveral]) -> list[dict[str, Any]]:
    """Return the same for programs; docs/report.schema.json describes it."""
    return [
        {
            "steps": each.steps and {"first": each.steps[0], "last": each.steps[1]},
            "step_ns": each.report.summary.median_ns,
            **{severity.label: each.report.counts[severity] for severity in Severity},
            "changes": each.changes
            and {
                "step_change": each.changes.longer,
                "parts": [
                    {**name._asdict(), "before_ns": before_ns, "after_ns": after_ns}
                    for name, before_ns, after_ns in each.changes.parts
                ],
                "came": [place._asdict() for place in each.changes.came],
                "went": [place._asdict() for place in each.changes.went],
            },
        }
        for each in recordings
    ]


def _line(one: OneOfSeveral) -> str:
    which = "no steps" if one.steps is None else f"steps {one.steps[0]}-{one.steps[1]}"
    step_ns = one.report.summary.median_ns
    length = "length unknown" if step_ns is None else f"{time_text(step_ns)} a step"
    return f"{which}: {length}, {summary([one.report])}"


def _lines(changes: Changes) -> Iterator[str]:
    if changes.longer is not None:
        how = "longer" if changes.longer > 0 else "shorter"
        yield f"a step is {abs(changes.longer):.0%} {how}"
    for name, before_ns, after_ns in changes.parts:
        how = "grew" if after_ns > before_ns else "shrank"
        yield f"{how}: {name}, {time_text(before_ns)} to {time_text(after_ns)} a step"
    yield from (f"came: {each}" for each in changes.came)
    yield from (f"went: {each}" for each in changes.went)


def _changes(before: CheckedTrace, after: CheckedTrace) -> Changes:
    longer, parts = None, list[tuple[PartName, int, int]]()
    old_ns, new_ns = before.summary.median_ns, after.summary.median_ns
    if old_ns and new_ns:
        change = new_ns / old_ns - 1
        longer = change if abs(change) >= _LONGER else None
        old, new = _parts(before), _parts(after)
        both = [(name, old[name], new[name]) for name in {*old, *new}]
        grown = [each for each in both if abs(each[2] - each[1]) >= _GREW * old_ns]
        parts = sorted(grown, key=lambda each: (each[1] - each[2], str(each[0])))
    had, has = _places(before), _places(after)
    return Changes(longer, parts, sorted(has - had, key=str), sorted(had - has, key=str))


def _parts(report: CheckedTrace) -> Counter[PartName]:
    """Nanoseconds of a median step by part, on the first device."""
    from statistics import median  # few reports are of several recordings

    steps = [Counter[PartName]() for _ in report.trace.window.steps]
    by_step = report.accountant.by_step()
    for times, (_, accounts) in zip(steps, by_step, strict=True):
        for part in accounts[0].parts if accounts else ():
            times[part.name] += part.time_ns
    names = {name for times in steps for name in times}
    return Counter({each: int(median(times[each] for times in steps)) for each in names})


def _places(report: CheckedTrace) -> set[PlaceOfFinding]:
    """Each finding that costs something in steps."""
    return {
        PlaceOfFinding(each.code, each.name, None if each.location is None else str(each.location))
        for each in report.findings
        if each.in_window
    }
