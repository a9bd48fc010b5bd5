"""Findings of two runs, paired where they are the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ..check.fingerprint import fingerprint
from ..finding import FixPlace


@dataclass(frozen=True)
class FoundPlace:
    """A finding of one side; `file`, `line` and `function` are "", 0 and "" where not known.

    Attributes:
        count: how often it was matched, on all ranks.
        cost_share: the part of the window that it takes; None where it takes none of it.
        fix_place: where the fix is made; None where that is the place itself, or is not known.
    """

    code: str
    name: str
    severity: str
    message: str
    fix: str
    file: str
    line: int
    function: str
    count: int
    cost_share: float | None
    fix_place: FixPlace | None

    @classmethod
    def of(cls, finding: Any, severity: str, count: int, share: float | None) -> FoundPlace:
        """Return the place of a finding, which is one of a trace or one of a report."""
        at, of_fix = finding.location, finding.fix_place
        file, line, function = (at.file, at.line, at.function or "") if at else ("", 0, "")
        return cls(
            finding.code,
            finding.name,
            severity,
            finding.message,
            finding.fix,
            file,
            line,
            function,
            count,
            share,
            of_fix and FixPlace(of_fix.what, of_fix.location),
        )

    @property
    def where(self) -> str:
        """`train.py:42`."""
        return f"{self.file}:{self.line}" if self.file else "place unknown"

    @property
    def said(self) -> str:
        """The message and, as reports have it, where the fix is made."""
        return f"{self.message}; {self.fix_place}" if self.fix_place else self.message


def changed_findings(
    base: Sequence[FoundPlace], new: Sequence[FoundPlace]
) -> tuple[list[FoundPlace], list[FoundPlace]]:
    """Return the findings that came and those that went.

    Lines are not read: those of the one run are no longer there when the other one is. So findings
    are the same by rule, file, function and message, and of those that are left by rule, file and
    function alone.
    """
    came, went = list(new), list(base)
    for key in (_fingerprint, _function):
        came, went = _beyond(came, went, key), _beyond(went, came, key)
    return came, went


def _fingerprint(found: FoundPlace) -> Hashable:
    return fingerprint(found.code, _file(found), found.function, "", found.message)


def _function(found: FoundPlace) -> Hashable:
    return found.code, _file(found), found.function


def _file(found: FoundPlace) -> str:
    """Without folders: the same code may have been run elsewhere."""
    return PurePosixPath(found.file.replace("\\", "/")).name


def _beyond(
    some: Sequence[FoundPlace], others: Sequence[FoundPlace], key: Callable[[FoundPlace], Hashable]
) -> list[FoundPlace]:
    """What is left when each finding of the others takes one that has its key, the first ones."""
    waiting, left = Counter(map(key, others)), []
    for each, own in zip(some, map(key, some), strict=True):
        waiting[own] -= 1
        if waiting[own] < 0:
            left.append(each)
    return left
