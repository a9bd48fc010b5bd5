"""Devices that took part in a run, when they worked and when they idled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidy.trace import DeviceProperties, Intervals, Rows, Trace
from tidy.trace.intervals import repeated
from tidy.trace.kept import kept

# A device that works for less than this part of what the busiest does sets no pace.
_WORKS_ALONG = 0.5


def used_devices(trace: Trace, vendor: str = "") -> list[DeviceProperties]:
    """Return the devices that did work, of one vendor ("nvidia", "amd") if one is named."""
    devices = (trace.devices[index] for index in trace.devices_used)
    return [device for device in devices if vendor in ("", device.vendor)]


def first_nvidia(trace: Trace) -> str:
    """Tell what to call the GPU of NVIDIA's that is named first."""
    named = (device.name for device in used_devices(trace, "nvidia") if device.name)
    return next(named, "this GPU")


@kept
def any_busy(trace: Trace) -> Intervals:
    """Return the time in which at least one device of the run had work."""
    rows = trace.device_rows
    return Intervals(trace.start_ns[rows], trace.end_ns[rows])


def busy_with_others(trace: Trace, time: Intervals, rows: Rows) -> Intervals:
    """Return the time in which device work other than these rows reaches into `time`."""
    work = trace.device_rows
    starts_ns, latest_ns = _edges_of_work(trace)
    last = np.searchsorted(starts_ns, time.ends_ns)
    first = np.searchsorted(latest_ns, time.starts_ns, side="right")
    # What lasts long reaches into several stretches, and counts once.
    first = np.maximum(first, np.append(0, last)[:-1])
    _, at = repeated(np.maximum(last - first, 0), first)
    return trace.time_of(work[at][~np.isin(work[at], rows)])


@kept
def _edges_of_work(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When device work starts, ascending, and the latest end of all up to each."""
    rows = trace.device_rows
    return trace.start_ns[rows], np.maximum.accumulate(trace.end_ns[rows])


@kept
def hiding_host(trace: Trace) -> Intervals:
    """Return the time in which a device works and none waits for the host to launch something.

    Of two devices that one process drives, the work of one does not hide that the other has none.
    """
    busy = any_busy(trace)
    if len(trace.devices_used) < 2:
        return busy
    busy_ns = {each: trace.time_of(trace.rows_of_device(each)) for each in trace.devices_used}
    least_ns = _WORKS_ALONG * max(each.total_ns for each in busy_ns.values())
    for device, time in busy_ns.items():
        if time.total_ns >= least_ns:
            busy = busy - _waiting_for_host(trace, device)
    return busy


def _waiting_for_host(trace: Trace, device: int) -> Intervals:
    """Return the time from the end of what a device had to do to the launch of what follows.

    What follows a copy from another device may have waited for that one.
    """
    rows = trace.rows_of_device(device)
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    idle_from_ns = np.maximum.accumulate(trace.end_ns[rows])[:-1]
    next_ns, caller = trace.start_ns[rows][1:], trace.caller[rows][1:]
    launched_ns = np.where(caller >= 0, trace.start_ns[caller], idle_from_ns)
    copies = trace.rows_named("Memcpy PtoP*", "Memcpy DtoD*")
    copies = np.sort(trace.start_ns[copies[trace.device[copies] >= 0]])
    copied = np.searchsorted(copies, next_ns, "right") > np.searchsorted(copies, idle_from_ns)
    waits = (launched_ns > idle_from_ns) & (next_ns > idle_from_ns) & ~copied
    return Intervals(idle_from_ns[waits], np.minimum(launched_ns, next_ns)[waits])


def all_idle(trace: Trace) -> Intervals:
    """Return all time, also before and after the recording, in which no device of the run
    had work.
    """
    return any_busy(trace).complement()
