"""Questions about the hardware of a run that several rules ask."""

from __future__ import annotations

from tidy.finding import NotApplicable, NotChecked
from tidy.trace import Capability, Device, Intervals, Trace, remedy

NO_GPU = NotApplicable("no GPU took part in this run")


def without_device(trace: Trace) -> NotApplicable | NotChecked | None:
    """Why a rule about device work has nothing to look at; None where there is device work."""
    if Capability.DEVICE in trace.capabilities:
        return None
    if trace.is_cpu_run:
        return NO_GPU
    return NotChecked("no device activity recorded", remedy([Capability.DEVICE]))


def is_modelled(trace: Trace) -> bool:
    """Whether a model gave the times of the devices, and what of the host's time is left."""
    return trace.info.header.get("tidy_modelled_device") is True


def used_devices(trace: Trace) -> list[Device]:
    return [trace.devices[index] for index in trace.devices_used]


def any_busy(trace: Trace) -> Intervals:
    """When any device of the run had work."""
    return trace.time_of(trace.device_rows)


def idle_under(trace: Trace, host: Intervals) -> Intervals:
    """The part of a host interval in which no device of the run had work."""
    return host - any_busy(trace)
