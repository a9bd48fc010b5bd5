"""A plug-in of pytest: the end of a run says how many cases were not run, by cause."""

from __future__ import annotations

import re
from collections import Counter

import pytest

# Marks that pyproject.toml deselects, and how to run what has them.
_MARKED = {
    "alone": "that compare times (pytest -m alone)",
    "oracle": "with PyTorch (pip install torch, pytest -m oracle)",
    "slow": "slow (pytest -m slow)",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line how many cases were not run, by cause, and what would run them.

    A run that skips a lot is no proof.
    """
    causes: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if getattr(report, "wasxfail", None) is None:
            causes[_cause(report.longrepr[2])] += 1
    for item in terminalreporter.stats.get("deselected", []):
        for mark, cause in _MARKED.items():
            if item.get_closest_marker(mark):
                causes[cause] += 1
                break
    if causes:
        listed = ", ".join(f"{count} {cause}" for cause, count in causes.most_common())
        terminalreporter.section("not run")
        terminalreporter.write_line(f"{causes.total()} cases were not run: {listed}")


def _cause(reason: str) -> str:
    """Why a test was skipped, in the words of one cause for all that say it differently."""
    reason = reason.removeprefix("Skipped: ")
    if package := re.match(r"could not import '([^']+)'", reason):
        return f"without the package {package[1].partition('.')[0]}"
    return "without cases: an empty list" if reason.startswith("got empty") else reason
