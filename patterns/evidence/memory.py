"""Who holds memory of a device, how much there is of it, and when the driver is asked again."""

from __future__ import annotations

import numpy as np

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Capability, EventKind, MemoryTable, Rows, Trace

from .allocator import GIVES, TAKES, driver_calls, emptied_cache
from .launches import calls_of
from .loops import FEWEST_STEPS, count_steps, step_of

CPU = -1


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


def churn(trace: Trace) -> Rows:
    """Calls of the driver for memory, where they go on when the allocator should have enough.

    They do in two steps after the first, or where it holds nothing. Left out is what is due to an
    emptied cache, or to a lack of memory.
    """
    rows = driver_calls(trace)
    rows = rows[~np.isin(rows, emptied_cache(trace).calls) & ~np.isin(rows, retries(trace))]
    later = rows[step_of(trace, trace.start_ns[rows]) > 0]
    goes_on = count_steps(trace, trace.start_ns[later]) >= FEWEST_STEPS or caching_is_off(trace)
    found: Rows = rows if goes_on else rows[:0]
    return found


def in_units(nbytes: float) -> str:
    """`3.2 GiB`, `512 KiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:,.3g} {unit}"
    return f"{nbytes:,.0f} bytes"
