"""The results of a command, for all forms of its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..check.checked_trace import CheckedTrace
from ..finding import Severity
from ..patterns.base import Pattern
from ..summary import Summary, summary_of
from .changes import OneOfSeveral
from .sections import PlaceOnRanks, Section, make_sections
from .text import summary


@dataclass(frozen=True)
class Results:
    """The reports of one command, and how it ended.

    Attributes:
        root: the folder of the project, where the command was called.
        unreadable: problem of each file that could not be read, by path.
        script_status: how the script ended that was recorded.
        gone: what the baseline has and was not found.
        rules_url: where the page of the rules is published.
        is_recorded: whether this command itself has recorded what is reported.
        recordings: those of `tidy run --every`, the last of which is what is reported.
    """

    reports: Sequence[CheckedTrace | Summary]
    rules: Sequence[Pattern]
    root: Path
    unreadable: Mapping[str, str]
    exit_code: int
    script_status: int = 0
    script: str | None = None
    gone: Sequence[str] = ()
    rules_url: str | None = None
    recordings: Sequence[OneOfSeveral] = ()
    is_recorded: bool = False

    @cached_property
    def summaries(self) -> list[Summary]:
        """What reports need of each trace."""
        return list(map(summary_of, self.reports))

    @cached_property
    def sections(self) -> list[Section]:
        """One section for each job, ranks together."""
        return make_sections(self.summaries)

    @property
    def summary(self) -> str:
        """`2 warnings, 1 info`."""
        return summary(self.summaries)

    @cached_property
    def places(self) -> list[tuple[Section, PlaceOnRanks]]:
        """All findings of all jobs: by severity, and in each what matters most first."""
        return _by_severity((each, place) for each in self.sections for place in each.places)

    @cached_property
    def accepted(self) -> list[tuple[Section, PlaceOnRanks]]:
        """Those that comments in the sources, or the baseline, accept; in the same order."""
        return _by_severity((each, place) for each in self.sections for place in each.accepted)

    def of(self, severity: Severity) -> list[tuple[Section, PlaceOnRanks]]:
        """Return the findings of one severity."""
        return [each for each in self.places if each[1].finding.severity == severity]


def _by_severity(
    places: Iterable[tuple[Section, PlaceOnRanks]],
) -> list[tuple[Section, PlaceOnRanks]]:
    return sorted(places, key=lambda each: -each[1].finding.severity)
