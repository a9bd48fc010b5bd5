"""What of a project bears on its reports: sources, comments in them, and the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..check.baseline import Baseline, Entry, read_baseline
from ..check.checked_trace import CheckedTrace
from ..check.known import found_entries, gone_entries, is_costlier
from ..check.pipeline import CheckSettings
from ..check.toml import shown
from ..finding import Severity
from ..patterns.base import Pattern
from ..progress import say
from ..trace import count_text, printable
from .report_options import ReportOptions

_MOST_SAID = 5  # places in one line


class Project:
    """The project that a report is of, as its options name it."""

    def __init__(self, options: ReportOptions, rules: Sequence[Pattern]) -> None:
        folders = [Path.cwd()]
        if options.settings.root is not None:
            folders.append(options.settings.root)
        if options.script is not None:
            folders.append(Path(options.script).parent)
        named = options.baseline
        self._threshold = options.threshold
        self.settings = CheckSettings(
            rules,
            options.settings.path_ignores,
            folders,
            None if named is None else read_baseline(Path(named).absolute()),
            options.costlier_from / 100,
            options.savings,
            options.warn_from / 100,
        )

    def gone(
        self, reports: Sequence[CheckedTrace], baseline: Baseline | None = None
    ) -> list[Entry]:
        """Return the entries of the baseline of which nothing was found, as far as the runs
        tell.
        """
        baseline = self.settings.baseline if baseline is None else baseline
        if baseline is None:
            return []
        return gone_entries(reports, baseline, self.settings.sources(baseline.root))

    def write_ignores(self, reports: Sequence[CheckedTrace]) -> bool:
        """Write comments at the findings that count; says what was written, and whether any was."""
        from ..check.add_ignores import add_ignores

        least = self._threshold or Severity.WARNING
        findings = [
            finding
            for report in reports
            for finding in report.findings
            if finding.acceptance is None and finding.severity >= least
        ]
        written = add_ignores(self.settings.sources(), findings)
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

    def write_baseline(
        self, reports: Sequence[CheckedTrace], target: Path, prune: bool
    ) -> list[str]:
        """Write what was found into a baseline, or take out of it what is gone; says what it did.

        Entries that these runs say nothing about stay.
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
            found = found_entries(findings, self.settings.sources(before.root))
            for key, each in found.items():
                # What is as it was stays as it is: the next review is of changes alone.
                old = entries.get(key)
                worth, costlier_from = self.settings.warn_from, self.settings.costlier_from
                if old is None or is_costlier(each, old, worth, costlier_from):
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
