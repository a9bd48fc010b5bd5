"""Reasons for which a rule cannot check a trace, or need not."""

from __future__ import annotations

from tidy.finding import NotApplicable, NotChecked, Obstacle
from tidy.trace import Capability, EventKind, Trace

from .devices import used_devices
from .graphs import LOST_IN_GRAPHS, lost_in_graphs
from .launches import calls_of

NO_GPU = NotApplicable("no GPU took part in this run")
NO_NVIDIA_GPU = NotApplicable("no NVIDIA GPU took part in this run")

GPU_UNKNOWN = NotChecked(
    "the trace does not say which GPU it is", "keep deviceProperties in the file"
)
_NO_FUNCTIONS = NotChecked(
    "the trace has stacks of operators alone, as old releases record them, and no functions",
    "record with_stack=True with PyTorch 1.12 or newer",
)
THINNED = NotChecked(
    "the file holds a part of what was recorded, so what the host did between its operators is not"
    " known",
    "give the file as the profiler wrote it",
)
_LOST = NotChecked(
    "the profiler lost kernels, so the GPU may work where it seems to idle (TDY005)",
    "record fewer steps",
)


def not_recorded(trace: Trace, *missing: Capability) -> NotChecked:
    """Return the obstacle that these were not recorded, and how to record them."""
    names = " and ".join(f"no {capability.label}" for capability in missing)
    return NotChecked(f"{names} recorded", trace.info.remedy(*missing))


def without_functions(trace: Trace) -> Obstacle | None:
    """Say why the functions of Python that ran are not known; None where they are."""
    if Capability.STACKS not in trace.capabilities:
        return not_recorded(trace, Capability.STACKS)
    calls = (EventKind.PyCall, EventKind.PyCCall)
    return None if any(len(trace.rows_of_kind(each)) for each in calls) else _NO_FUNCTIONS


def without_calls(trace: Trace) -> Obstacle | None:
    """Say why calls of the driver are not known; None where they were recorded."""
    if len(trace.rows_of_kind(EventKind.Runtime)):
        return None
    return NotChecked("no CUDA or HIP calls recorded", trace.info.remedy(Capability.DEVICE))


def idle_unknown(trace: Trace) -> Obstacle | None:
    """Say why it is not known when devices idle and what the host does then; None where it is."""
    if trace.info.is_thinned:
        return THINNED
    if trace.loses_kernels:
        return _LOST
    return LOST_IN_GRAPHS if lost_in_graphs(trace) else None


def nvidia_unknown(trace: Trace) -> Obstacle | None:
    """Say why it is not known what NVIDIA's GPU of the run can do; None where it is."""
    nvidia = used_devices(trace, "nvidia")
    if not nvidia:
        return NO_NVIDIA_GPU
    return GPU_UNKNOWN if any(device.compute is None for device in nvidia) else None


def other_accelerator(trace: Trace) -> Obstacle | None:
    """Say why calls and copies of a GPU tell nothing of another accelerator; None on a GPU."""
    devices = [trace.devices[index] for index in trace.devices_used]
    if not devices or any(device.vendor in ("nvidia", "amd", "unknown") for device in devices):
        return None
    return NotChecked(
        f"the rule knows the calls of CUDA and HIP, and the device is {devices[0].label}",
        "see where the time goes in the account",
    )


def without_device(trace: Trace) -> Obstacle | None:
    """Say why there is no device work to look at; None where there is."""
    if Capability.DEVICE in trace.capabilities:
        return None
    if trace.is_cpu_run:
        return NO_GPU
    launches = len(calls_of(trace, "*Launch*Kernel*", "*GraphLaunch*"))
    if not launches:
        return not_recorded(trace, Capability.DEVICE)
    calls = f"{launches:,} launches" if launches > 1 else "1 launch"
    return NotChecked(
        f"the profiler recorded {calls} and no kernel: it lost the work of the device",
        "record fewer steps, with no other profiler (nsys, ncu, DCGM) using CUPTI",
    )
