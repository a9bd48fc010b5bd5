"""Steps of torch.optim's optimizers, and which ops an optimizer has grouped or fused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tidy.trace import Event, EventKind, Trace

from .launches import Rows, rows_matching

FUSED = r"aten::_fused_|.*multi_tensor|Torch-Compiled|.*triton"


def step_pattern(classes: Iterable[str]) -> re.Pattern[str]:
    """Names of the ranges that `Optimizer.step` records, with the class as the first group."""
    return re.compile(rf"Optimizer\.step#({'|'.join(classes)})\.step")


def optimizer_steps(trace: Trace, names: re.Pattern[str]) -> Iterator[Event]:
    """The ranges of optimizer steps whose name matches `step_pattern`."""
    for step in trace.events(rows_matching(trace, names, "Optimizer.step#*")):
        if step.kind == EventKind.Annotation:
            yield step


def rows_in(step: Event) -> Rows:
    """Rows of what runs on the thread of a range while it lasts, by start."""
    track = int(step.trace.track_id[step.row])
    return step.trace.rows_within(step.start_ns, step.end_ns, track)
