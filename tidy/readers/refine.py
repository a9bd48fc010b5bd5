"""Kinds of events that are told by the name, because the category says too little."""

from __future__ import annotations

import numpy as np

from ..trace.kinds import EventKind
from ..trace.raw_columns import RawColumns

# Until 2022 these ranges were category cpu_op or Operator.
_ANNOTATIONS = (
    "ProfilerStep#",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
    "enumerate(DataLoader)#",
    "enumerate(DataPipe)#",
    "DataParallel.forward",
    "DistributedDataParallel.forward",
)
# ROCm up to 7.1 reports its copies as kernels; the profiler of 2020 had no kinds at all.
_COPIES = ("__amd_rocclr_copyBuffer", "MEMORY_COPY_", "Memcpy ")
# MTIA has one category for all that its command processor does.
_MTIA_COPIES = ("dma_request",)
_MTIA_EVENTS = ("event_wait", "event_record")
_FILLS = ("__amd_rocclr_fillBuffer", "Memset ")


def refine(raw: RawColumns) -> None:
    """Correct the kinds of rows whose category says less than their name."""
    rules = (
        (EventKind.PyCall, ("<built-in ",), EventKind.PyCCall),
        (EventKind.TorchOp, _ANNOTATIONS, EventKind.Annotation),
        (EventKind.Kernel, _COPIES + _MTIA_COPIES, EventKind.Memcpy),
        (EventKind.Kernel, _MTIA_EVENTS, EventKind.Sync),
        (EventKind.Kernel, _FILLS, EventKind.Memset),
    )
    kind_of = np.arange(len(EventKind), dtype=np.uint8)[:, None].repeat(len(raw.strings.names), 1)
    for name, name_id in raw.strings.names.items():
        for kind, prefixes, refined in rules:
            if name.startswith(prefixes):
                kind_of[kind, name_id] = refined
    raw.map_kinds(kind_of)
