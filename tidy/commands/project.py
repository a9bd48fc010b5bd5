"""What of a project bears on its reports: sources, comments in them, and the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..baseline import (
    Baseline,
    Entry,
    found_entries,
    gone_entries,
    is_dearer,
    marked,
    read_baseline,
)
from ..config.path_ignores import without_ignored
from ..config.toml import shown
from ..finding import Outcome, Severity
from ..patterns.base import Pattern
from ..report.ranks import among_ranks
from ..report.report import Report
from ..report.units import count_text, printable
from ..sources.places import Sources
from ..sources.suppress import Comments, suppressed
from ..trace import Trace
from ..weigh import WARN_FROM
from .files import say
from .report_options import ReportOptions

_MOST_SAID = 5  # places in one line
CheckedTraces = Sequence[tuple[Trace, Mapping[str, Outcome]]]


class Project:
    """The project that a report is of, as its options name it.

    Raises:
        TidyError: the baseline cannot be read.
    """

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        folders = [Path.cwd()]
        if options.settings.root is not None:
            folders.append(options.settings.root)
        if options.script is not None:
            folders.append(Path(options.script).parent)
        self._folders = folders
        self.sources = Sources(folders[0], folders[1:])
        self._comments = Comments(self.sources)
        named = options.baseline
        self.baseline = None if named is None else read_baseline(Path(named).absolute())

    @property
    def _margins(self) -> tuple[float, float]:
        """How much of the steps, and of what it cost, a known finding has to cost more."""
        warn_from = self._options.warn_from
        worth = WARN_FROM if warn_from is None else warn_from / 100
        return worth, self._options.dearer_from / 100

    def sources_below(self, root: Path) -> Sources:
        """The sources, with paths from another folder."""
        return Sources(root, self._folders)

    def reports(self, checked: CheckedTraces, rules: Sequence[Pattern]) -> list[Report]:
        """The reports on traces, without what is left out and with what is accepted."""
        options = self._options
        warn_from = None if options.warn_from is None else options.warn_from / 100
        worth, dearer_from = self._margins
        reports = []
        for trace, outcomes in checked:
            kept = without_ignored(outcomes, options.settings.path_ignores)
            kept = suppressed(trace, kept, rules, self._comments)
            if self.baseline is not None:
                below = self.sources_below(self.baseline.root)
                kept = marked(kept, self.baseline, below, worth=worth, dearer_from=dearer_from)
            reports.append(Report(trace, kept, savings=options.savings, warn_from=warn_from))
        return among_ranks(reports)

    def gone(self, reports: Sequence[Report], baseline: Baseline | None = None) -> list[Entry]:
        """The entries of the baseline of which nothing was found, as far as the runs tell."""
        baseline = self.baseline if baseline is None else baseline
        if baseline is None:
            return []
        checked = [(report.trace, report.outcomes) for report in reports]
        return gone_entries(checked, baseline, self.sources_below(baseline.root))

    def write_ignores(self, reports: Sequence[Report]) -> bool:
        """Write comments at the findings that count; says what was written, and whether any was."""
        from ..sources.add_ignores import add_ignores

        least = self._options.threshold or Severity.WARNING
        findings = [
            finding
            for report in reports
            for finding in report.findings
            if finding.acceptance is None and finding.severity >= least
        ]
        written = add_ignores(self.sources, findings)
        for file, count in written.counts.items():
            say(f"{shown(file)}: {count_text(count, 'finding')} ignored by a comment")
        for file, problem in written.problems.items():
            say(f"{shown(file)}: cannot be written: {problem}")
        if written.left:
            places = sorted(
                {f"{each.code} at {each.location or 'no place'}" for each in written.left}
            )
            more = f" and {len(places) - _MOST_SAID} more" if len(places) > _MOST_SAID else ""
            said = ", ".join(places[:_MOST_SAID])
            say(f"no comment can stand in the project's sources for {said}{more}")
        return bool(written.counts)

    def write_baseline(self, reports: Sequence[Report], target: Path, prune: bool) -> list[str]:
        """Write what was found into a baseline, or take out of it what is gone; says what it did.

        Entries that these runs say nothing about stay.

        Raises:
            TidyError: a file that is there cannot be read, or it cannot be written.
        """
        target = target.absolute()
        before = read_baseline(target) if prune or target.exists() else Baseline(target)
        gone = self.gone(reports, before)
        entries = dict(before.entries)
        found: dict[str, Entry] = {}
        if prune:
            for each in gone:
                del entries[each.fingerprint]
        else:
            findings = (report.findings for report in reports)
            found = found_entries(findings, self.sources_below(before.root))
            for key, each in found.items():
                # What is as it was stays as it is: the next review is of changes alone.
                if key not in entries or is_dearer(each, entries[key], *self._margins):
                    entries[key] = each
        after = Baseline(target, entries)
        if after.entries != before.entries or not target.exists():
            after.write()
        new = len(found.keys() - before.entries.keys())
        changes = [f"{new:,} new"] * bool(new) + [f"{len(gone):,} gone"] * bool(gone)
        said = f"{shown(target)}: {count_text(len(entries), 'finding')}"
        lines = [f"{said} ({', '.join(changes)})" if changes else said]
        lines += [f"  {'removed' if prune else 'gone'}: {entry_text(each)}" for each in gone]
        if gone and not prune:
            lines.append("tidy baseline --prune, with the same traces or script, takes them out")
        return list(map(printable, lines))


def entry_text(entry: Entry) -> str:
    """`TDY404 for-loop-indexing in fill(), train.py: t[i] = i`."""
    where = f" in {entry.function}, {entry.file}" if entry.file else ""
    return f"{entry.code} {entry.name}{where}: {entry.source}"
