"""For how long memory of a device was in use, and which of it are activations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Capability, Rows, Trace

from .autograd import backward_ops
from .memory import changes_of

# When memory was given back that the recording saw no end of.
_NEVER_NS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Memory that was taken on one device, in the order in which it was.

    Attributes:
        row: the row of the allocation.
        start_ns, freed_ns: when it was taken and given back; where that was not recorded, never.
        nbytes: how much it is.
    """

    row: Rows
    start_ns: NDArray[np.int64]
    freed_ns: NDArray[np.int64]
    nbytes: NDArray[np.int64]


def without_addresses(trace: Trace) -> Obstacle | None:
    """Why a rule about what stays cannot tell; None where addresses were recorded."""
    is_recorded = Capability.MEMORY in trace.capabilities
    if not is_recorded or trace.memory.address.any():
        return None
    return NotChecked(
        "the file does not say where memory is, so that it is not known when it goes",
        "record with a newer PyTorch",
    )


def of_device(trace: Trace, device: int) -> Lifetimes:
    """For how long memory of a device was in use: an address is in use once at a time."""
    changes = changes_of(trace, device)
    order = np.lexsort((changes.row, changes.address))
    row, address = changes.row[order], changes.address[order]
    nbytes, start = trace.nbytes[row], trace.start_ns[row]
    freed = np.full(len(row), _NEVER_NS)
    ends = (address[1:] == address[:-1]) & (nbytes[1:] < 0) & (nbytes[:-1] > 0)
    freed[:-1][ends] = start[1:][ends]
    taken = np.flatnonzero((nbytes > 0) & (address != 0))
    taken = taken[np.argsort(row[taken], kind="stable")]
    return Lifetimes(row[taken], start[taken], freed[taken], nbytes[taken])


def activations_at(trace: Trace, device: int, time_ns: int) -> int:
    """Bytes in use at one moment that a step took before its backward and that it gives back."""
    within = (s for s in trace.window.steps if s.start_ns <= time_ns < s.end_ns)
    step = next(within, None)
    if step is None:
        return 0
    starts = trace.start_ns[backward_ops(trace)]
    starts = starts[(starts >= step.start_ns) & (starts < step.end_ns)]
    if not len(starts):
        return 0
    begin_ns = int(starts.min())
    taken = of_device(trace, device)
    is_activation = (taken.start_ns >= step.start_ns) & (taken.start_ns < begin_ns)
    is_activation &= (taken.start_ns <= time_ns) & (taken.freed_ns > time_ns)
    is_activation &= (taken.freed_ns >= begin_ns) & (taken.freed_ns < step.end_ns)
    return int(taken.nbytes[is_activation].sum())
