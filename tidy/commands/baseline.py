"""`tidy baseline`: what is found in traces, or in a run of a script, is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..check.baseline import DEFAULT_NAME
from .configured import report_options_of
from .report import run_report


def run_baseline(
    command: Sequence[str],
    *,
    runs: bool,
    output: str | None,
    prune: bool,
    **options: Any,
) -> int:
    """Write or prune the baseline of traces or, if it `runs`, of a script; gives the exit code."""
    script = command[0] if runs and not options["module"] else None
    report = report_options_of(options, script)
    folder = report.settings.root or Path.cwd()
    target = output or report.baseline or str(folder / DEFAULT_NAME)
    report = replace(
        report, form="text", output=(), quiet=True, baseline=None, baseline_to=target, prune=prune
    )
    if not runs:
        return run_report(command, report)
    from ..run import RunOptions
    from .run import run_script

    return run_script(RunOptions(command, to_stderr=True, **options), report)
