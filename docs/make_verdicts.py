"""Write docs/verdicts.md: what tidy warns of on shared traces, and what people say of each.

    python docs/make_verdicts.py FOLDER

The folder has published traces in `traces/real`, those recorded for tests in `traces/torch_cpu`,
and recordings before and after a change in `pairs`.

A warning that nobody has judged, and a judgement of what is no longer said, are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("verdicts.md")
sys.path[:0] = [str(PAGE.parents[1]), str(PAGE.parent)]

from judgements import TRACES, Judged  # noqa: E402
from judgements_recorded import PAIRS, RECORDED  # noqa: E402

import tidy  # noqa: E402
from tidy.finding import Finding, Severity  # noqa: E402

_HEAD = """\
# Verdicts

Every finding at warning or above on the traces that the tests read, each judged by reading the
trace; and what a performance engineer would say first of each run, with where the report says it.
`python docs/make_verdicts.py FOLDER` writes this page from the reports and from docs/judgements.py
and docs/judgements_recorded.py; a test compares them, so that no rule warns of what nobody read.
"""
_RECORDED = """\
## Recorded on a CPU for tests

| trace | first | said by | warnings, and why they are right |
|---|---|---|---|"""


def main() -> int:
    folder, lines, count, problems = Path(sys.argv[1]), [_HEAD], 0, list[str]()
    for path, judged in judged_in(folder):
        found = warnings_of(path)
        problems += [f"{path.name}: {each}" for each in differences(found, judged)]
        count += len(found)
        if path.parent.name != "torch_cpu":
            lines += list(_section(path, found, judged))
            continue
        if _RECORDED not in lines:
            lines.append(_RECORDED)
        lines.append(_row(path, found, judged))
    for each in problems:
        sys.stderr.write(f"{each}\n")
    lines.append(f"\n{count} warnings, all of them right.\n")
    if not problems:
        PAGE.write_text("\n".join(lines), "utf-8")
    return bool(problems)


def judged_in(folder: Path) -> Iterator[tuple[Path, Judged]]:
    """The judged traces in a folder: published ones, pairs, and those recorded on a CPU."""
    for path in sorted((folder / "traces" / "real").glob("*.json*")):
        for start, judged in TRACES.items():
            if path.name.startswith(start):
                yield path, judged
    for name, judged in PAIRS.items():
        yield folder / "pairs" / f"{name}.json.gz", judged
    for name, judged in RECORDED.items():
        yield folder / "traces" / "torch_cpu" / f"{name}.pt.trace.json.gz", judged


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


def name_of(path: Path) -> str:
    """`hta__alexnet` for a published trace, `copy_pin_memory/before` for one of a pair."""
    name = path.name.partition(".")[0]
    return f"{path.parent.name}/{name}" if path.parent.parent.name == "pairs" else name


def _row(path: Path, found: list[Finding], judged: Judged) -> str:
    why = "; ".join(
        f"{each.code}, {each.count:,} times at {each.location or '-'}: {judged.right[each.code]}"
        for each in found
    )
    return f"| {name_of(path)} | {judged.first} | {judged.said} | {why} |"


def _section(path: Path, found: list[Finding], judged: Judged) -> Iterator[str]:
    yield f"## {name_of(path)}\n"
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
