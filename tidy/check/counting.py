"""`CountsFindings`: how many findings there are, and the exit code that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ..finding import Acceptance, Crashed, Severity


class Counted(Protocol):
    """A finding, as far as it counts."""

    @property
    def severity(self) -> Severity: ...
    @property
    def acceptance(self) -> Acceptance | None: ...


class CountsFindings:
    """The base of what has findings and rules that crashed: a checked trace, and its summary."""

    if TYPE_CHECKING:  # a dataclass would take these for defaults of its fields

        @property
        def findings(self) -> Sequence[Counted]: ...
        @property
        def crashed(self) -> Mapping[str, Crashed]: ...

    @property
    def counts(self) -> Counter[Severity]:
        """Number of findings by severity, without those that are accepted."""
        return Counter(each.severity for each in self.findings if each.acceptance is None)

    @property
    def accepted(self) -> Counter[str]:
        """Number of findings that are accepted, by what accepts them: "comment" or "baseline"."""
        return Counter(each.acceptance.by for each in self.findings if each.acceptance)

    def exit_code(self, fail_on: Severity | None = Severity.WARNING) -> int:
        """2 where a rule crashed, 1 where a finding at or above `fail_on` is not accepted."""
        if self.crashed:
            return 2
        return int(fail_on is not None and any(each >= fail_on for each in self.counts))
