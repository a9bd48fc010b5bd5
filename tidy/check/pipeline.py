"""The steps from traces to their reports, one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..account import jobs_of, waits_for_ranks
from ..finding import Judged, Outcome, findings_of
from ..patterns.base import Pattern
from ..patterns.runner import run_patterns
from ..trace import Trace
from .baseline import Baseline
from .checked_trace import CheckedTrace
from .known import marked
from .path_ignores import PathIgnore
from .places import Sources
from .suppress import Comments, suppressed
from .weigh import WARN_FROM

Checking = Sequence[tuple[Trace, Mapping[str, Outcome]]]
RunsRules = Callable[[Trace, Sequence[Pattern]], dict[str, Outcome]]


@dataclass(frozen=True)
class CheckSettings:
    """The settings of a check: the rules to run, and all that decides how much findings count.

    Attributes:
        folders: where the sources of the project are, whose comments accept findings; paths are
            from the first of them. Empty where no source is read.
        baseline: findings that are accepted until they cost clearly more; None for none.
        costlier_from: what such a finding has to cost more to count again, as a part of what it
            cost.
        savings, warn_from: as for `weigh`.
    """

    rules: Sequence[Pattern]
    path_ignores: Sequence[PathIgnore] = ()
    folders: Sequence[Path] = ()
    baseline: Baseline | None = None
    costlier_from: float = 2.0
    savings: str = "replay"
    warn_from: float = WARN_FROM

    def sources(self, root: Path | None = None) -> Sources:
        """Return the sources of the project, with paths from its folder or from another root."""
        return Sources(root or self.folders[0], self.folders)


def check(traces: Iterable[Trace], settings: CheckSettings) -> list[CheckedTrace]:
    """Run the rules on traces and judge what they find, ranks of a job together."""
    return judge(run_rules(traces, settings.rules), settings)


def run_rules(
    traces: Iterable[Trace], rules: Sequence[Pattern], run: RunsRules = run_patterns
) -> Checking:
    """Run the rules on each trace, and those that compare ranks on the ranks of each job.

    Args:
        run: runs the rules on one trace.
    """
    checked = [(trace, run(trace, rules)) for trace in traces]
    for job in jobs_of([trace.info for trace, _ in checked]):
        if len(job) > 1:
            from .late import check_job  # loads tidy.jobs, which most reports need little of

            told = check_job([checked[number][0] for number in job], rules)
            for number, outcomes in zip(job, told, strict=True):
                checked[number][1].update(outcomes)
    return checked


def judge(checked: Checking, settings: CheckSettings) -> list[CheckedTrace]:
    """Judge what the rules found: leave out what is to be ignored, and mark what is accepted."""
    comments = Comments(settings.sources()) if settings.folders else None
    baseline = settings.baseline
    below = settings.sources(baseline.root) if baseline else None
    judged = []
    for trace, told in checked:
        outcomes, ignores = dict(told), settings.path_ignores
        found = [Judged.of(each) for each in findings_of(outcomes)]
        found = [each for each in found if not any(ignore.is_about(each) for ignore in ignores)]
        if comments is not None:
            found = suppressed(trace, outcomes, found, settings.rules, comments)
        if baseline and below:
            worth, costlier_from = settings.warn_from, settings.costlier_from
            found = marked(found, baseline, below, worth=worth, costlier_from=costlier_from)
        savings, warn_from = settings.savings, settings.warn_from
        judged.append(CheckedTrace(trace, outcomes, found, savings=savings, warn_from=warn_from))
    return among_ranks(judged)


def among_ranks(reports: Sequence[CheckedTrace]) -> list[CheckedTrace]:
    """Return the reports, in their order; ranks of a job get the time that they wait for the
    others.
    """
    result = list(reports)
    waits = waits_for_ranks([report.trace for report in reports])
    for job in jobs_of([report.trace.info for report in reports]):
        keys = ({(each.code, each.location) for each in reports[number].found} for number in job)
        everywhere = frozenset(set.intersection(*keys))
        for number in job:
            if waits[number] is not None:
                told = replace(reports[number], waits=waits[number], everywhere=everywhere)
                result[number] = told
    return result
