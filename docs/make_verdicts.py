"""Write docs/verdicts.md: what tidy warns of on published traces, and what people say of each.

    python docs/make_verdicts.py FOLDER

A warning that nobody has judged, and a judgement of what is no longer said, are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("verdicts.md")
sys.path[:0] = [str(PAGE.parents[1]), str(PAGE.parent)]

from judgements import TRACES, Judged  # noqa: E402

import tidy  # noqa: E402
from tidy.finding import Finding, Severity  # noqa: E402

_HEAD = """\
# Verdicts

Every finding at warning or above on the published traces that the tests read, each judged by
reading the trace; and what a performance engineer would say first of each run, with where the
report says it. `python docs/make_verdicts.py FOLDER` writes this page from the reports and from
docs/judgements.py; a test compares them, so that no rule warns of what nobody has read.
"""


def main() -> int:
    lines, count, problems = [_HEAD], 0, list[str]()
    for path, judged in traces_in(Path(sys.argv[1])):
        found = warnings_of(path)
        problems += [f"{path.name}: {each}" for each in differences(found, judged)]
        count += len(found)
        lines += list(_section(path, found, judged))
    for each in problems:
        sys.stderr.write(f"{each}\n")
    lines.append(f"{count} warnings, all of them right.\n")
    if not problems:
        PAGE.write_text("\n".join(lines), "utf-8")
    return bool(problems)


def traces_in(folder: Path) -> Iterator[tuple[Path, Judged]]:
    """The files of a folder that hold a judged trace."""
    for path in sorted(folder.iterdir()):
        for start, judged in TRACES.items():
            if path.name.startswith(start):
                yield path, judged


def warnings_of(path: Path) -> list[Finding]:
    """What a report says at warning or above, as it does."""
    report = tidy.check(tidy.load(path))
    return [each for each in report.findings if each.severity >= Severity.WARNING]


def differences(found: list[Finding], judged: Judged) -> Iterator[str]:
    """Warnings without a judgement, and the other way round."""
    said = {each.code for each in found}
    for code in sorted(said - judged.right.keys()):
        yield f"{code} is not judged: read the trace, and say in docs/judgements.py why it is right"
    for code in sorted(judged.right.keys() - said):
        yield f"{code} is judged, but no longer a warning"


def _section(path: Path, found: list[Finding], judged: Judged) -> Iterator[str]:
    yield f"## {path.name.partition('.')[0]}\n"
    yield f"First: {judged.first}. Said by: {judged.said}.\n"
    if found:
        yield "| rule | place | times | of the window | right, because |\n|---|---|---:|---:|---|"
    for each in found:
        share = "-" if each.cost_share is None else f"{each.cost_share:.1%}"
        place = each.location or "-"
        yield f"| {each.code} | {place} | {each.count:,} | {share} | {judged.right[each.code]} |"
    if found:
        yield ""


if __name__ == "__main__":
    sys.exit(main())
