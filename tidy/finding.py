"""What a rule says: findings, and the outcome of each rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .trace import Event, Location


class Severity(IntEnum):
    """How much a finding matters; ordered."""

    INFO = 1  # worth knowing, or moot on this hardware
    WARNING = 2  # costs time in this run
    ERROR = 3  # the run does not do what it seems to do

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Saving:
    """What fixing a finding may save: a range, and the model it came from."""

    low_ns: int
    high_ns: int
    model: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One anti-pattern at one place of the user's source.

    Attributes:
        code: the rule's code, `TDY404`.
        name: the rule's slug.
        message: what was seen, one line.
        fix: what to write instead, one line.
        location: the user's source, None where stacks were not recorded.
        events: every match, by start.
        cost_ns: time spent in what was matched, overlaps counted once.
        cost_share: part of the time of the steps (of the whole span where there are none) that
            falls to it, 0 to 1; None where it touches no step.
        on_device: whether the time is the device's rather than the host's.
    """

    code: str
    name: str
    severity: Severity
    message: str
    fix: str
    location: Location | None
    events: Sequence[Event]
    cost_ns: int = 0
    cost_share: float | None = None
    on_device: bool = False
    saving: Saving | None = None

    @property
    def count(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class Checked:
    """The rule ran to its end."""

    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class NotChecked:
    """The trace does not hold the evidence; `remedy` says what to record."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """What the rule is about had no part in the run."""

    reason: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The rule raised; a defect of the rule, not of the run."""

    error: str
    traceback: str = field(default="", repr=False)


Outcome = Checked | NotChecked | NotApplicable | Crashed
