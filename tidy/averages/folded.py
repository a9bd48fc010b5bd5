"""Folded stacks, the format of flame graph tools: `frame;frame;event value`, a line a stack."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..trace import Capability

if TYPE_CHECKING:
    from .function_events import FunctionEvents

_COLUMNS = {
    "self_cpu_time_total": "self_cpu_ns",
    "self_device_time_total": "self_device_ns",
    "self_cuda_time_total": "self_device_ns",
    "self_xpu_time_total": "self_device_ns",
}
# Separators of the format; PyTorch replaces the same.
_REPLACED = str.maketrans({" ": "_", ";": "_", "\t": "_", "\n": "_", "\r": "_"})


def write_folded(events: FunctionEvents, path: str | os.PathLike[str], metric: str) -> None:
    """Write the time of events of the host in whole microseconds, equal stacks added up.

    Lines with less than a microsecond are left out. Device time is that of what an event launched.

    Raises:
        ValueError: the metric is unknown, or no Python stacks were recorded.
    """
    column = _COLUMNS.get(metric)
    if column is None:
        raise ValueError(f"no metric {metric!r}; it is one of: {', '.join(_COLUMNS)}")
    if Capability.STACKS not in events.trace.capabilities:
        remedy = Capability.STACKS.remedy
        raise ValueError(f"no {Capability.STACKS.label} recorded; {remedy}")
    stacks, numbers = events.stacks, events.stack_number
    index = np.flatnonzero(~events.is_device)
    keys = numbers[index] * len(events.keys) + events.key_id[index]
    found, inverse = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, inverse, events.columns[column][index])
    plain = _Plain()
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for key, total_ns in zip(found.tolist(), sums.tolist(), strict=True):
            number, leaf = divmod(key, len(events.keys))
            if total_ns >= 1000:
                frames = [*reversed(stacks.frames(number)), events.keys[leaf]]
                file.write(f"{';'.join(map(plain.__getitem__, frames))} {total_ns // 1000}\n")


class _Plain(dict[str, str]):
    """Frames without separators; there are few, in many stacks."""

    def __missing__(self, frame: str) -> str:
        self[frame] = found = frame.translate(_REPLACED)
        return found
