"""One run of a script for its trace, or for the times of its steps."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ..errors import UsageError
from ..trace import Trace
from .child.stopwatch import TIMES
from .folders import temporary_folder
from .options import RunOptions
from .process import run_child
from .script import check, make_traces

_FEWEST_STEPS = 3


def record_once(options: RunOptions) -> tuple[Trace, str]:
    """Run a script; what was recorded, and the framework ("torch" or "runtime").

    Raises:
        UsageError: it cannot be started, fails, or leaves nothing to look at.
    """
    check(options)
    with temporary_folder() as folder:
        _run(options, folder)
        for made in make_traces(options, folder):
            return made.trace, made.framework
    raise UsageError(f"{options.shown}: nothing was recorded")


def time_once(options: RunOptions, corrections: list[str]) -> list[int]:
    """Run a script unrecorded and give the lengths of its steps in nanoseconds.

    A host that never waits runs ahead of its devices. What they need beyond the last step is
    spread over all steps, less a step that may be under way, so that a step is as long as the
    slower of both needs in the long run.

    Args:
        options: `warmup` steps at the beginning, and that to the first of them, are left out.
        corrections: codes of rules whose correction is switched on.

    Raises:
        UsageError: it cannot be started, fails, or has too few steps to compare.
    """
    with temporary_folder() as folder:
        _run(replace(options, corrections=corrections), folder)
        try:
            times = json.loads((folder / TIMES).read_text("utf-8"))
        except (OSError, ValueError):
            times = {"steps_ns": [], "done_ns": 0}
    ends = times["steps_ns"][options.warmup :]
    lengths = [end - start for start, end in pairwise(ends)]
    if len(lengths) < _FEWEST_STEPS:
        raise UsageError(
            f"{options.shown}: {len(times['steps_ns'])} optimizer steps are too few to compare; at"
            f" least {options.warmup + _FEWEST_STEPS + 1} are needed (--warmup {options.warmup})"
        )
    behind_ns = max(times["done_ns"] - ends[-1] - round(statistics.median(lengths)), 0)
    return [length + behind_ns // len(lengths) for length in lengths]


def _run(options: RunOptions, folder: Path) -> None:
    status = run_child(options, folder)
    if status:
        how = f" with {', '.join(options.corrections)} corrected" if options.corrections else ""
        raise UsageError(f"{options.shown} ended with status {status}{how}")
