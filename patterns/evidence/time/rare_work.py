"""What a run needs now and then, where it is done in most steps: checkpoints, copies, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import or_

import numpy as np

from tidy.trace import Event, EventKind, Intervals, Rows, Trace, rows_of
from tidy.trace.kept import kept

from ..device import updates
from ..device.launches import below, outermost_rows, tree_rows
from ..python import frames, loops, places

_FEWEST_COPIES = 4  # in a step: fewer may be a batch
_LONGEST_PYTHON_NS = 5_000_000  # between the copies of two tensors
_PICTURES = (
    "image", "images", "image_with_boxes", "figure", "video", "audio", "histogram", "embedding",
    "mesh",
)  # fmt: skip


class RareWork(Enum):
    """Kinds of such work, each with the functions of libraries that do it."""

    SAVE = (
        "*torch/serialization.py(*): save",
        "*torch/distributed/checkpoint/state_dict_saver.py(*): save",
        "*safetensors/torch.py(*): save_file",
        "*tidy/runtime/*(*): save",
    )
    COPY = (
        "*torch/_tensor.py(*): __deepcopy__",
        "*torch/nn/parameter.py(*): __deepcopy__",
        "*tidy/runtime/*(*): __deepcopy__",
    )
    PICTURE = tuple(f"*torch/utils/tensorboard/writer.py(*): add_{each}" for each in _PICTURES)


@dataclass(frozen=True, slots=True)
class InMostSteps:
    """Work of one kind that one place of the source does in most steps.

    Attributes:
        calls: of the functions, in steps, by start.
        host: their time by track, with the Python between those that follow each other.
        step_count: in how many steps of the trace they are.
    """

    kind: RareWork
    calls: list[Event]
    host: dict[int, Intervals]
    step_count: int

    @property
    def time(self) -> Intervals:
        """That of the host."""
        return reduce(or_, self.host.values(), Intervals())


@kept
def in_most_steps(trace: Trace) -> tuple[InMostSteps, ...]:
    """Return all that is done in three steps or more and in two thirds of them, by the threads of
    steps.

    Another thread may save meanwhile, and a loader copies its items.
    """
    found = list[InMostSteps]()
    fetched = below(trace, tree_rows(trace, frames.FETCH))
    tracks = trace.track_id[tree_rows(trace, "ProfilerStep#*", updates.STEP)]
    for kind in RareWork:
        rows = outermost_rows(trace, tree_rows(trace, *kind.value))
        rows = rows[np.isin(trace.track_id[rows], tracks) & ~fetched.contains(rows)]
        rows = rows[loops.step_of(trace, trace.start_ns[rows]) >= 0]
        fewest = _FEWEST_COPIES if kind == RareWork.COPY else 1
        for calls in places.grouped(trace.events(rows), lambda event: event.location):
            starts = [each.start_ns for each in calls]
            step_count = len(loops.steps_with(trace, starts, fewest))
            if loops.are_most_steps(trace, step_count):
                found.append(
                    InMostSteps(kind, calls, _host(trace, rows_of(calls), kind), step_count)
                )
    return tuple(found)


def _host(trace: Trace, rows: Rows, kind: RareWork) -> dict[int, Intervals]:
    """The time of these calls, up to the next one of a step between the copies of tensors."""
    ops = np.append(0, np.cumsum(trace.kind[: trace.tree_count] == EventKind.TorchOp))
    step, until = loops.step_of(trace, trace.start_ns[rows]), trace.end_ns[rows]
    follows = ops[trace.subtree_end[rows[:-1]]] == ops[rows[1:]]
    follows &= (kind == RareWork.COPY) & (np.diff(step) == 0) & (np.diff(trace.track_id[rows]) == 0)
    follows &= trace.start_ns[rows[1:]] - until[:-1] <= _LONGEST_PYTHON_NS
    until = np.append(np.where(follows, trace.start_ns[rows[1:]], until[:-1]), until[-1:])
    tracks = trace.track_id[rows]
    return {
        int(track): Intervals(trace.start_ns[rows[tracks == track]], until[tracks == track])
        for track in np.unique(tracks)
    }
