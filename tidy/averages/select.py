"""Which rows of a trace are function events, and in which order they are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind

if TYPE_CHECKING:
    from ..trace import Trace

Rows = NDArray[np.int64]

_ON_HOST = (
    EventKind.TorchOp,
    EventKind.Annotation,
    EventKind.PyCall,
    EventKind.PyCCall,
    EventKind.Backend,
    EventKind.OutOfMemory,
    EventKind.Runtime,
    EventKind.Overhead,
)
# Sync rows are not among them: a device that waits does no work, and its streams may have some.
ON_DEVICE = (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset, EventKind.DeviceAnnotation)
# What the profiler and autograd call for themselves (`_filter_name` in profiler_util.py).
_UTILITIES = (
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
)


def host_rows(trace: Trace) -> Rows:
    """Rows of the host, in table order."""
    listed = np.ones(len(trace.names), bool)
    known = trace.strings.names
    listed[[known[name] for name in _UTILITIES if name in known]] = False
    rows = trace.rows_of_kind(*_ON_HOST)
    return rows[listed[trace.name_id[rows]]]


def device_rows(trace: Trace) -> Rows:
    """Rows of devices, in table order; ranges of the host that are shown there too."""
    return trace.rows_of_kind(*ON_DEVICE)


def by_start(trace: Trace, rows: Rows) -> Rows:
    """The same rows by start, the longer first among equals."""
    return rows[start_order(trace, rows)]


def start_order(trace: Trace, rows: Rows) -> NDArray[np.intp]:
    return np.lexsort((-trace.end_ns[rows], trace.start_ns[rows]))


def key_names(trace: Trace) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct keys, and the key of each name: all `ProfilerStep#N` are `ProfilerStep*`."""
    keys: dict[str, int] = {}
    key_of_name = [
        keys.setdefault("ProfilerStep*" if name.startswith("ProfilerStep#") else name, len(keys))
        for name in trace.names
    ]
    return list(keys), np.array(key_of_name, np.int32)
