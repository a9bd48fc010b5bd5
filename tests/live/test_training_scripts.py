"""Training scripts of many kinds: no warning as they stand, and planted mistakes are named.

A script in training/ is clean as it stands. It has mistakes in comments, as

    # clean:
    loss = F.cross_entropy(logits, labels)
    # planted loss-row-by-row (TDY404, TDY406):
    # for row, label in zip(logits, labels):  # at: loss-row-by-row
    # end

of which either half may be absent. A finding that names a mistake is of a code that stands there,
at a line marked `at:` or, where something is made that should be made otherwise, `fix:`.
"""

from __future__ import annotations

import re
from pathlib import Path

SCRIPTS = sorted(Path(__file__).with_name("training").glob("*.py"))
_MARK = re.compile("  # (?:at|fix): ")
_PLANTED = re.compile(r" *# planted ([a-z-]+)(?: \((.*)\))?:$")


def mistakes(script: Path) -> dict[str, set[str]]:
    """The codes that may name each planted mistake."""
    found: dict[str, set[str]] = {}
    for match in map(_PLANTED.match, script.read_text("utf-8").splitlines()):
        if match:
            found.setdefault(match[1], set()).update((match[2] or "").split(", "))
    return {name: codes - {""} for name, codes in found.items()}


def text(script: Path, planted: set[str]) -> tuple[str, dict[str, set[int]]]:
    """The script with some mistakes, and the lines at which each may be named."""
    chosen: list[str] = []
    halves: dict[bool, list[str]] | None = None
    for line in script.read_text("utf-8").splitlines():
        match = _PLANTED.match(line)
        if match or line.strip() == "# clean:":
            if halves is None:
                halves, is_planted = {True: [], False: []}, False
            into = halves[match is not None]
            is_planted = is_planted or (match is not None and match[1] in planted)
        elif line.strip() == "# end":
            assert halves is not None
            chosen += halves[is_planted]
            halves = None
        elif halves is None:
            chosen.append(line)
        else:
            into.append(line.replace("# ", "", 1) if into is halves[True] else line)
    lines: dict[str, set[int]] = {name: set() for name in planted}
    for number, marked in enumerate(chosen, 1):
        chosen[number - 1], *names = _MARK.split(marked)
        for name in planted.intersection(" ".join(names).split()):
            lines[name].add(number)
    return "\n".join(chosen) + "\n", lines
