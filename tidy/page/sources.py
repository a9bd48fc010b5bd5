"""The lines of the project's sources that cost time, for the page of a run that tidy recorded.

What a trace of somebody else's names is not read: only `tidy run`, which has seen the script run,
shows sources, and only files under the folder of the project.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from ..check.places import Sources
from ..report.sections import Section
from ..trace import Location, printable

_MOST_LINES = 400  # that are asked for their cost
_MOST_FILES = 8
_AROUND = 3  # lines before and after
_SMALLEST = 0.001  # of a step: what costs less is not shown for it
_LONGEST = 300  # characters of a line


def sources_to_json(section: Section, root: Path) -> list[dict[str, Any]]:
    """Return the files with the costliest lines, costliest first; times are of one step.

    Of several ranks the times are those of the first.
    """
    report, sources = section.reports[0].source, Sources(root)
    if report is None:
        return []
    window = report.trace.window
    costs = dict[tuple[Path, int], list[float]]()
    for line in report.accountant.by_line(_MOST_LINES):
        at = _known(sources, line.place.location)
        if at is not None:
            times = (line.host_ns / window.step_count, line.device_ns / window.step_count)
            own = costs.setdefault(at, [0.0, 0.0])
            own[:] = [before + more for before, more in zip(own, times, strict=True)]
    costs = {at: ns for at, ns in costs.items() if max(ns) >= _SMALLEST * window.step_ns}
    codes = defaultdict[tuple[Path, int], set[str]](set)
    for place in section.places:
        fix = place.finding.fix_place
        for location in (place.finding.location, None if fix is None else fix.location):
            if (at := _known(sources, location)) is not None and not place.is_small:
                codes[at].add(place.finding.code)
    by_file = defaultdict[Path, set[int]](set)
    for file, line_number in (*costs, *codes):
        by_file[file].add(line_number)
    weight = {f: sum(max(costs.get((f, n), (0,))) for n in lines) for f, lines in by_file.items()}
    chosen = sorted(by_file, key=lambda file: (-weight[file], str(file)))[:_MOST_FILES]
    made = []
    for file in chosen:
        text = sources.text_of(file)
        if text is not None:
            count = len(text.lines) - (text.lines[-1:] == [""])  # behind the last line's end
            lines = _shown(by_file[file], count)
            shown = [
                {
                    "number": number,
                    "text": printable(text.lines[number - 1].expandtabs(4)[:_LONGEST]),
                    "host_ns": round(costs.get((file, number), (0, 0))[0]),
                    "device_ns": round(costs.get((file, number), (0, 0))[1]),
                    "codes": sorted(codes.get((file, number), ())),
                }
                for number in lines
            ]
            made.append({"path": printable(_relative(file, root)), "lines": shown})
    return made


def _known(sources: Sources, location: Location | None) -> tuple[Path, int] | None:
    """The file of a location and its line, if it is one of the project's."""
    file = None if location is None else sources.file(location.file)
    return None if file is None or location is None else (file, location.line)


def _shown(lines: set[int], count: int) -> list[int]:
    """These lines and those around them, ascending."""
    wanted = {line + by for line in lines for by in range(-_AROUND, _AROUND + 1)}
    return sorted(line for line in wanted if 1 <= line <= count)


def _relative(file: Path, root: Path) -> str:
    whole = root.resolve()
    return str(file.relative_to(whole)) if file.is_relative_to(whole) else str(file)
