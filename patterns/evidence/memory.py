"""Who holds memory of a device, for how long, and how much there is of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Capability, EventKind, MemoryTable, Trace

from .allocator import GIVES, TAKES, driver_calls, emptied_cache
from .launches import Rows, calls_of

CPU = -1
# When memory was given back that the recording saw no end of.
NEVER_NS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Memory that was taken on one device, in the order in which it was.

    Attributes:
        row: the row of the allocation.
        start_ns, freed_ns: when it was taken and given back, NEVER_NS where that was not recorded.
        nbytes: how much it is.
    """

    row: Rows
    start_ns: NDArray[np.int64]
    freed_ns: NDArray[np.int64]
    nbytes: NDArray[np.int64]


def changes_of(trace: Trace, device: int) -> MemoryTable:
    """What was taken and given back on one device, or by the CPU, by time."""
    rows = trace.memory.row
    own = (trace.device[rows] == device) & (trace.kind[rows] == EventKind.Allocation)
    return trace.memory.of(rows[own])


def devices_with_memory(trace: Trace) -> list[int]:
    """The devices whose memory was recorded; the CPU's is not among them."""
    used: list[int] = np.unique(trace.device[trace.memory.row]).tolist()
    return [device for device in used if device != CPU]


def without_totals(trace: Trace) -> Obstacle | None:
    """Why a rule about what the allocator holds cannot tell; None where totals were recorded."""
    is_recorded = Capability.MEMORY in trace.capabilities
    if not is_recorded or (trace.memory.reserved_nbytes >= 0).any():
        return None
    return NotChecked(
        "the file does not say what the allocator holds in all",
        "record with a newer PyTorch",
    )


def without_addresses(trace: Trace) -> Obstacle | None:
    """Why a rule about what stays cannot tell; None where addresses were recorded."""
    is_recorded = Capability.MEMORY in trace.capabilities
    if not is_recorded or trace.memory.address.any():
        return None
    return NotChecked(
        "the file does not say where memory is, so that it is not known when it goes",
        "record with a newer PyTorch",
    )


def lifetimes(trace: Trace, device: int) -> Lifetimes:
    """For how long memory of a device was in use: an address is in use once at a time."""
    changes = changes_of(trace, device)
    order = np.lexsort((changes.row, changes.address))
    row, address = changes.row[order], changes.address[order]
    nbytes, start = trace.nbytes[row], trace.start_ns[row]
    freed = np.full(len(row), NEVER_NS)
    ends = (address[1:] == address[:-1]) & (nbytes[1:] < 0) & (nbytes[:-1] > 0)
    freed[:-1][ends] = start[1:][ends]
    taken = np.flatnonzero((nbytes > 0) & (address != 0))
    taken = taken[np.argsort(row[taken], kind="stable")]
    return Lifetimes(row[taken], start[taken], freed[taken], nbytes[taken])


def caching_is_off(trace: Trace) -> bool:
    """Whether tensors take memory of devices and no allocator holds any for them.

    A caching allocator holds at least what tensors have of it.
    """
    changes = trace.memory
    taken = (trace.device[changes.row] != CPU) & (trace.nbytes[changes.row] > 0)
    return bool(taken.any()) and not changes.reserved_nbytes[taken].any()


def retries(trace: Trace) -> Rows:
    """Calls with which the allocator, out of memory, gives back what it holds and asks again.

    In one op memory is given back to the driver, and then taken. That an allocator holds memory
    has to be known, for without one each tensor does this.
    """
    if not (trace.memory.reserved_nbytes > 0).any():
        return np.empty(0, np.int64)
    rows = driver_calls(trace)
    rows = rows[~np.isin(rows, emptied_cache(trace).calls) & (trace.caller[rows] >= 0)]
    gives = np.isin(rows, calls_of(trace, *GIVES))
    takes = np.isin(rows, calls_of(trace, *TAKES))
    ops = trace.caller[rows]
    first_given, last_taken = np.full(len(trace), len(rows)), np.full(len(trace), -1)
    numbers = np.arange(len(rows))
    np.minimum.at(first_given, ops[gives], numbers[gives])
    np.maximum.at(last_taken, ops[takes], numbers[takes])
    again = first_given[ops] < last_taken[ops]
    found: Rows = rows[again]
    return found


def in_units(nbytes: float) -> str:
    """`3.2 GiB`, `512 KiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:,.3g} {unit}"
    return f"{nbytes:,.0f} bytes"
