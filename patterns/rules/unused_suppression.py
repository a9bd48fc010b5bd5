"""TDY010: comments that accept findings which there are not."""

from __future__ import annotations

from tidy.finding import NotApplicable, Obstacle, Severity
from tidy.trace import Capability, Trace

from ..base import Matches, Pattern

NO_COMMENTS = NotApplicable("no source that ran has a comment `# tidy: ignore[...]`")


class UnusedSuppression(Pattern):
    """A comment accepts findings of a rule that found nothing there.

    What it does: It looks at the comments `# tidy: ignore[...]` and `# tidy: ignore-file[...]` in
    sources of the project, on statements that the run came by, and reports those that name no rule
    that found something there. A rule that was not selected, not checked or did not apply says
    nothing about a comment, and neither does a statement that did not run.
    Why it costs: It costs no time. A comment that is left behind hides the next finding of its
    rule, which may be another one.
    Example: A read that was taken out of the loop, with its comment left

        for batch in loader:
            loss = train(batch)   # tidy: ignore[TDY301]

    Instead: Remove the comment, or the codes that are named.
    Cannot see: If a rule finds something in some runs only, the comment is needed, and is reported
    in the others. Without Python stacks it sees no source.
    """

    code = "TDY010"
    severity = Severity.INFO
    needs = frozenset[Capability]()
    fix = "remove the comment, or the codes of which nothing was found"
    why_no_edit = "it is about a comment, not the run"

    def applies(self, trace: Trace) -> Obstacle | None:
        """Traces alone do not tell: where sources are read, `tidy.check` makes the findings."""
        return NO_COMMENTS

    def find(self, trace: Trace) -> Matches:
        return ()
