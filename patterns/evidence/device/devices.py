"""Devices that took part in a run, when they worked and when they idled."""

from __future__ import annotations

from tidy.trace import DeviceProperties, Intervals, Trace
from tidy.trace.kept import kept


def used_devices(trace: Trace, vendor: str = "") -> list[DeviceProperties]:
    """The devices that did work, of one vendor ("nvidia", "amd") if one is named."""
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


def all_idle(trace: Trace) -> Intervals:
    """All time, also before and after the recording, in which no device of the run had work."""
    return any_busy(trace).complement()
