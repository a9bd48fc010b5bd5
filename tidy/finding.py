"""Findings, and the outcome of each rule."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .savings import Edit
    from .trace import Event, Location, Rows


class Severity(IntEnum):
    """The weight of a finding; ordered."""

    INFO = 1  # worth knowing, or moot on this hardware
    WARNING = 2  # costs time in this run
    ERROR = 3  # the run does not do what it seems to do

    @property
    def label(self) -> str:
        return self.name.lower()

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True)
class Saving:
    """The time that a step loses after the fix of a finding, by a replay.

    Attributes:
        low_ns, high_ns: the range, of one step; of the whole run where it has no steps.
        step_ns: how long a step of the window takes in the mean.
        model: in words what the fix changes in the recorded run.
        why: what keeps it small, or makes it uncertain; "" where nothing need be said.
        hidden: whether that is a device that is busy meanwhile.
    """

    low_ns: int
    high_ns: int
    step_ns: int
    model: str
    why: str = ""
    hidden: bool = False

    @property
    def middle_ns(self) -> float:
        """The middle of the range, by which findings are ordered and judged."""
        return (self.low_ns + self.high_ns) / 2

    @property
    def step_ns_after(self) -> tuple[int, int]:
        """The time of a step after the fix in ns, at best and at worst."""
        return self.step_ns - self.high_ns, self.step_ns - self.low_ns

    def __str__(self) -> str:
        """`saves 31.9 to 37.7 of 67.9 ms`."""
        from .trace import range_text, time_text

        saved = range_text(self.low_ns, self.high_ns, self.step_ns)
        return f"saves {saved} of {time_text(self.step_ns)}"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The comment or baseline by which a finding does not count.

    Attributes:
        by: "comment", in the source; or "baseline".
        where: the comment, as file:line; or the file of the baseline.
        reason: why, as is said there; "" where nothing is.
    """

    by: str
    where: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """The entry of a baseline about a finding.

    Attributes:
        state: "new", "unchanged", or "updated": it is clearly costlier now.
        cost_share: the part of the steps that it cost then; None where that is not known.
    """

    state: str
    cost_share: float | None = None


@dataclass(frozen=True, slots=True)
class CostOfFinding:
    """The time that a step would lose, at the most, if what was matched took none.

    A rule says how long it takes, overlaps counted once; a replay, how much of that the step gets
    longer by.

    Attributes:
        ns: time of one step of the window, in the mean; of the run where it has no steps.
        share: that as a part of the step, 0 to 1; None where the window has none of it.
        on_device: whether the time is the device's rather than the host's.
        in_window: whether the matches are in the window; those outside of it cost nothing that a
            report counts, and are a finding of their own.
        rows: those of the trace whose time it is; None where it is a part of theirs.
    """

    ns: int = 0
    share: float | None = None
    on_device: bool = False
    in_window: bool = True
    rows: Rows | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FixPlace:
    """Where a fix is made, if that is elsewhere than where the time goes.

    Attributes:
        what: what is there, as in a sentence: "the loader is made".
    """

    what: str
    location: Location

    def __str__(self) -> str:
        """`the loader is made at data.py:41`."""
        return f"{self.what} at {self.location}"


@dataclass(frozen=True, slots=True)
class Fix:
    """The text of a fix, and its change to the recorded run.

    Attributes:
        text: what to write, one line.
        edit: what it changes, for a replay; None where that is not known.
        why_no_edit: why that is not known, for the report; "" where a rule says nothing.
        at_most: how severe the finding is where the fix saves much: an info is not sure to save
            anything. None for its own severity.
        place: where it is made; None where that is the finding's location, or is not known.
    """

    text: str
    edit: Edit | None = None
    why_no_edit: str = ""
    at_most: Severity | None = None
    place: FixPlace | None = None


class Described(Protocol):
    """What a finding says of itself, with its events at hand or without; see `Finding`."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def message(self) -> str: ...
    @property
    def location(self) -> Location | None: ...
    @property
    def fix_place(self) -> FixPlace | None: ...


def line_of(finding: Described, run: str = "") -> str:
    """Return the finding as compilers have it: `train.py:38: TDY404 for-loop-indexing warning:
    ...`.

    Args:
        run: what stands for the location where that is not known.
    """
    where = str(finding.location or run)
    what = f"{finding.code} {finding.name} {finding.severity.label}: {finding.message}"
    if finding.fix_place is not None:
        what += f"; {finding.fix_place}"
    return f"{where}: {what}" if where else what


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One anti-pattern at one location of the user's source, as its rule describes it.

    Attributes:
        code: the rule's code, `TDY404`.
        name: the rule's slug.
        severity: what the rule gives it, before anything is replayed.
        message: what was seen, one line.
        location: the user's source, None where stacks were not recorded.
        events: every match, by start.
        cost: what they took.
        correction: what to write instead.
    """

    code: str
    name: str
    severity: Severity
    message: str
    location: Location | None
    events: Sequence[Event]
    cost: CostOfFinding
    correction: Fix

    @property
    def fix(self) -> str:
        return self.correction.text

    @property
    def fix_place(self) -> FixPlace | None:
        return self.correction.place

    @property
    def edit(self) -> Edit | None:
        return self.correction.edit

    @property
    def cost_ns(self) -> int:
        return self.cost.ns

    @property
    def cost_share(self) -> float | None:
        return self.cost.share

    @property
    def on_device(self) -> bool:
        return self.cost.on_device

    @property
    def in_window(self) -> bool:
        return self.cost.in_window

    @property
    def count(self) -> int:
        return len(self.events)

    def line(self, run: str = "") -> str:
        """Return the finding as compilers have it; see `line_of`."""
        return line_of(self, run)

    def __str__(self) -> str:
        return self.line()

    def __repr__(self) -> str:
        """`<Finding TDY404 for-loop-indexing at train.py:38: x3, 950 us>`."""
        from .trace import time_text

        said = f"x{self.count:,}"
        if self.cost_ns:
            said += f", {'GPU ' * self.on_device}{time_text(self.cost_ns)}"
        at = f" at {self.location}" if self.location else ""
        return f"<Finding {self.code} {self.name}{at}: {said}>"


@dataclass(frozen=True, slots=True, repr=False)
class Judged(Finding):
    """A finding and how much it counts.

    Its severity is by what the fix saves or, where nothing is replayed, by what it costs.

    Attributes:
        saving: what a replay says that the fix saves; None where nothing was replayed.
        acceptance: the reason why it does not count: neither for the exit code, nor in what all
            fixes save; None where it does.
        known: what the baseline knows of it; None where there is no baseline.
    """

    saving: Saving | None = None
    acceptance: Acceptance | None = None
    known: Known | None = None

    @classmethod
    def of(cls, finding: Finding) -> Judged:
        """Return the finding as its rule has it, where nobody has judged it yet."""
        if isinstance(finding, Judged):
            return finding
        return cls(**{each.name: getattr(finding, each.name) for each in fields(Finding)})

    def __repr__(self) -> str:
        """`<Finding TDY404 for-loop-indexing at train.py:38: x3, 950 us, saves 0.66 to ...>`."""
        said = Finding.__repr__(self)
        if self.saving is None:
            return said
        return f"{said[:-1]}, {self.saving}>"


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
    """The run has nothing that the rule is about."""

    reason: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The rule raised; a defect of the rule, not of the run."""

    error: str
    traceback: str = field(default="", repr=False)


Obstacle = NotChecked | NotApplicable
Outcome = Checked | Obstacle | Crashed


def findings_of(outcomes: Mapping[str, Outcome]) -> list[Finding]:
    """Return the findings of all rules that were checked."""
    return [f for each in outcomes.values() if isinstance(each, Checked) for f in each.findings]
