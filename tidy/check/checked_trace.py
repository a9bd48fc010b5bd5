"""`CheckedTrace`: one trace and the outcome of each rule on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ..account import Account, Accountant, RankWaits
from ..finding import Checked, Crashed, Judged, NotApplicable, NotChecked, Outcome
from ..trace import Location, Trace
from .counting import CountsFindings
from .summary import RunSummary, is_next_to_nothing
from .weigh import WARN_FROM, Weighed, weigh

Kind = TypeVar("Kind", Checked, NotChecked, NotApplicable, Crashed)


@dataclass(frozen=True)
class CheckedTrace(CountsFindings):
    """A trace, and for each rule what came of checking it.

    Attributes:
        outcomes: the outcome of each rule, by its code.
        found: what they found and is not ignored, with what accepts it.
        title: the name that reports give the trace; None for the path it was read from.
        waits: how long its collectives wait for other ranks, where their traces tell it.
        everywhere: code and location of the findings that all these ranks have.
        notes: what is to be said of it before the warnings of its reader.
        savings, warn_from: as for `weigh`.
    """

    trace: Trace
    outcomes: Mapping[str, Outcome]
    found: Sequence[Judged]
    title: str | None = None
    notes: Sequence[str] = ()
    waits: RankWaits | None = None
    everywhere: Set[tuple[str, Location | None]] = frozenset()
    savings: str = "replay"
    warn_from: float = WARN_FROM

    @cached_property
    def weighed(self) -> Weighed:
        """All findings with what their fixes save, and what all fixes together save."""
        return weigh(
            self.trace,
            self.found,
            savings=self.savings,
            warn_from=self.warn_from,
            waits=self.waits,
            everywhere=self.everywhere,
        )

    @property
    def findings(self) -> tuple[Judged, ...]:
        """All findings, what matters most first: by severity, then by what the fix saves."""
        return self.weighed.findings

    @cached_property
    def accountant(self) -> Accountant:
        """The one that makes all that reports say of where time goes: it looks at threads once."""
        return Accountant(self.trace, waits=self.waits)

    @cached_property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts of the window's time: one for each device, or that of the host.

        There are none where next to nothing was recorded.
        """
        if is_next_to_nothing(self.trace):
            return ()
        return self.accountant.accounts()

    @cached_property
    def summary(self) -> RunSummary:
        """The facts about the run and its recording."""
        return RunSummary.of(self.trace, self.accounts, self.title, self.notes)

    def _of(self, kind: type[Kind]) -> dict[str, Kind]:
        return {code: o for code, o in self.outcomes.items() if isinstance(o, kind)}

    @property
    def checked(self) -> dict[str, Checked]:
        """Rules that ran to their end."""
        return self._of(Checked)

    @property
    def not_checked(self) -> dict[str, NotChecked]:
        """Rules that need something the trace does not hold."""
        return self._of(NotChecked)

    @property
    def not_applicable(self) -> dict[str, NotApplicable]:
        """Rules about something that had no part in the run."""
        return self._of(NotApplicable)

    @property
    def crashed(self) -> dict[str, Crashed]:
        """Rules that raised an exception."""
        return self._of(Crashed)
