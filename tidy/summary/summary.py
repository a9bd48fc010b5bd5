"""`Summary`: what a report needs of one trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..account import Account, StepParts
from ..check.checked_trace import CheckedTrace
from ..check.counting import CountsFindings
from ..check.summary import RunSummary
from ..finding import (
    Acceptance,
    Crashed,
    FixPlace,
    Known,
    NotApplicable,
    NotChecked,
    Saving,
    Severity,
    line_of,
)
from ..jobs import Collectives
from ..savings import Fidelity
from ..trace import Location, Step


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One match of a finding."""

    name: str
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class FindingSummary:
    """A judged finding, with a few of its events; attributes as of `Judged`.

    Attributes:
        number: its place among the findings of its trace, from 0.
        count: how many matches there are, of which `events` has some.
        events: the first ones and the longest ones, by start.
        called_from: the user's locations above the first match, innermost first.
    """

    number: int
    code: str
    name: str
    severity: Severity
    message: str
    location: Location | None
    fix: str
    fix_what: str
    fix_location: Location | None
    why_no_edit: str
    count: int
    cost_ns: int
    cost_share: float | None
    on_device: bool
    in_window: bool
    saving: Saving | None
    acceptance: Acceptance | None
    known: Known | None
    events: tuple[EventSummary, ...]
    called_from: tuple[Location, ...]

    @property
    def fix_place(self) -> FixPlace | None:
        """Where the fix is made, if that is elsewhere than where the time goes."""
        return None if self.fix_location is None else FixPlace(self.fix_what, self.fix_location)

    def line(self, run: str = "") -> str:
        """Return the finding as compilers have it; see `line_of`."""
        return line_of(self, run)


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What the replay of the recorded run says; attributes as of `Weighed`."""

    step_ns: int
    step_ns_after: tuple[int, int] | None = None
    fidelity: Fidelity | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a summary was made of, so that the same trace is known again.

    Attributes:
        name: of the file, without its folder.
        nbytes: its size; -1 where it is no file.
        digest: SHA-256 of its first 64 KiB; "" where it is no file.
    """

    name: str = ""
    nbytes: int = -1
    digest: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it tells the trace from others."""
        return bool(self.digest)


@dataclass(frozen=True)
class Summary(CountsFindings):
    """What a report needs of one checked trace. It holds nothing of the trace itself.

    Attributes:
        host, process: where it was recorded; "" where the trace does not say.
        number: its place among the traces that were checked together, from 0.
        accounts: where the window's time went, one a device.
        findings: what matters most first.
        checked: codes of the rules that ran to their end.
        not_checked, not_applicable, crashed: of the others why not, by code.
        collectives: when its collectives ran, of which group and size.
        savings, warn_from: how findings were weighed; see `weigh`.
        step_parts: what each step is spent on; None if it is no rank of a job, or has no steps.
        source: what it was made of, where that is at hand: pages show more than a summary has.
    """

    origin: Origin
    host: str
    process: str
    number: int
    run: RunSummary
    accounts: tuple[Account, ...]
    findings: tuple[FindingSummary, ...]
    replay: ReplaySummary
    checked: tuple[str, ...]
    not_checked: Mapping[str, NotChecked]
    not_applicable: Mapping[str, NotApplicable]
    crashed: Mapping[str, Crashed]
    collectives: Collectives
    savings: str
    warn_from: float
    step_parts: StepParts | None = None
    source: CheckedTrace | None = field(default=None, repr=False, compare=False)

    @property
    def rules(self) -> frozenset[str]:
        """The codes of all rules that were asked for."""
        others = self.not_checked, self.not_applicable, self.crashed
        return frozenset(self.checked).union(*others)

    @property
    def steps(self) -> list[tuple[Step, bool]]:
        """All steps by start, and whether each one counts."""
        window = self.run.window
        steps = [(step, True) for step in window.steps]
        steps += [(each.step, False) for each in window.left_out if each.step is not None]
        return sorted(steps, key=lambda each: each[0].start_ns)
