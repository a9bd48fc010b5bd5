"""Findings that a comment in the source accepts, and comments that accept none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ..finding import Acceptance, Checked, Finding, Judged, Outcome, findings_of
from ..patterns.base import Match, Pattern
from ..patterns.evidence.time.timing import NO_COST
from ..patterns.registry import is_named, load_builtin_patterns
from ..patterns.rules.unused_suppression import NO_COMMENTS, UnusedSuppression
from ..trace import Location, Trace
from .comments import IgnoreComment, comments_of
from .places import Sources

_OURS = re.compile(r"TDY\d*", re.IGNORECASE)
_Choice = tuple[Path, int, str]  # file, line, and a code that the comment there names


class Comments:
    """The comments of a project's sources; each source is read once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._of_files: dict[Path, list[IgnoreComment]] = {}

    def of(self, file: Path) -> list[IgnoreComment]:
        """Return the comments of one file."""
        if file not in self._of_files:
            source = self._sources.text_of(file)
            self._of_files[file] = [] if source is None else comments_of(source)
        return self._of_files[file]

    def about(self, location: Location | None) -> list[tuple[Path, IgnoreComment]]:
        """Return those whose lines a location is in."""
        file = None if location is None else self._sources.file(location.file)
        if location is None or file is None:
            return []
        at = location.line
        return [(file, each) for each in self.of(file) if each.first <= at <= each.last]

    def files(self, places: Iterable[Location]) -> dict[Path, list[Location]]:
        """Return the locations by file, for the files of the project that have comments."""
        found: dict[Path, list[Location]] = {}
        for place in places:
            file = self._sources.file(place.file)
            if file is not None and self.of(file):
                found.setdefault(file, []).append(place)
        return found


def suppressed(
    trace: Trace,
    outcomes: dict[str, Outcome],
    found: Iterable[Judged],
    rules: Iterable[Pattern],
    comments: Comments,
) -> list[Judged]:
    """Return what was found, marked where a comment accepts it; adds the outcome of TDY010."""
    used = set[_Choice]()
    marked = [_marked(each, comments, used) for each in found]
    code = UnusedSuppression.code
    if code in outcomes:
        known = {rule.code: rule.slug() for rule in load_builtin_patterns()}
        known |= {rule.code: rule.slug() for rule in rules}
        outcomes[code] = _unused(trace, comments, outcomes, known, used)
        marked += map(Judged.of, findings_of({code: outcomes[code]}))
    return marked


def _marked(finding: Judged, comments: Comments, used: set[_Choice]) -> Judged:
    of_fix = finding.fix_place.location if finding.fix_place else None
    for location in (finding.location, of_fix):
        for file, comment in comments.about(location):
            names = [each for each in comment.codes if is_named(each, finding.code, finding.name)]
            used.update((file, comment.line, each) for each in names)
            if names and finding.acceptance is None:
                where = f"{location.file}:{comment.line}" if location else ""
                finding = replace(finding, acceptance=Acceptance("comment", where, comment.reason))
    return finding


def _unused(
    trace: Trace,
    comments: Comments,
    outcomes: Mapping[str, Outcome],
    known: Mapping[str, str],
    used: set[_Choice],
) -> Outcome:
    """A finding for each comment on what ran that names something in vain: what is not `used`."""

    def is_vain(choice: str) -> bool:
        """Tell whether all rules that are meant were checked, or tidy has no such rule."""
        meant = [code for code, name in known.items() if is_named(choice, code, name)]
        if not meant:
            return _OURS.fullmatch(choice) is not None
        return all(isinstance(outcomes.get(code), Checked) for code in meant)

    files = comments.files(trace.user_places)
    found = []
    for file, places in sorted(files.items()):
        for comment in comments.of(file):
            there = [place for place in places if comment.first <= place.line <= comment.last]
            unused = [code for code in comment.codes if (file, comment.line, code) not in used]
            vain = [choice for choice in unused if is_vain(choice)] if there else []
            if there and (vain or not comment.codes):
                found.append(_finding(trace, comment.line, vain, there[0]))
    return Checked(tuple(found)) if files else NO_COMMENTS


def _finding(trace: Trace, line: int, vain: list[str], there: Location) -> Finding:
    said = "the comment names no rule, and accepts nothing: write ignore[TDY404]"
    if vain:
        said = f"nothing was found here of {', '.join(vain)}"
    at = replace(there, line=line, is_call_line=True)
    severity = UnusedSuppression.severity
    match = Match([], said, NO_COST, edit=None, severity=severity, location=at)
    return UnusedSuppression().finding(trace, match)
