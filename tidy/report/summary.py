"""One line about a run, as plain values: what the text and the JSON report both say first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..trace import Capability, Intervals, Trace

_MODELLED = " (modelled)"
MODELLED_NOTE = "device times are modelled, not measured"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What ran and what was recorded of it.

    Attributes:
        devices: name of each device that did work, with the number of such devices; a modelled
            one's ends with "(modelled)".
        device_is_modelled: whether the times of the devices were computed and not measured.
        busy_share: part of the time in which the average device had work; None without devices.
        busy_is_lower_bound: whether graph launches may hide kernels from the profiler.
        step_ns: median time of a step; None without steps.
        recorded: what the profiler kept, as `Capability` names it.
    """

    path: str
    rank: int | None
    world_size: int | None
    devices: tuple[tuple[str, int], ...]
    device_is_modelled: bool
    step_count: int
    step_ns: int | None
    span_ns: int
    busy_share: float | None
    busy_is_lower_bound: bool
    event_count: int
    recorded: tuple[str, ...]
    is_cpu_run: bool
    warnings: tuple[str, ...]


def summarize(trace: Trace) -> RunSummary:
    """The summary of a trace."""
    modelled = device_is_modelled(trace)
    names = Counter(_device_name(trace, index, modelled) for index in trace.devices_used)
    durations = sorted(step.duration_ns for step in trace.steps)
    kept = (Capability.SHAPES, Capability.STACKS, Capability.MEMORY)
    return RunSummary(
        path=trace.info.path,
        rank=trace.info.rank,
        world_size=trace.info.world_size,
        devices=tuple(sorted(names.items())),
        device_is_modelled=modelled,
        step_count=len(durations),
        step_ns=durations[len(durations) // 2] if durations else None,
        span_ns=trace.span_ns,
        busy_share=_busy_share(trace),
        busy_is_lower_bound=len(trace.rows_named("cudaGraphLaunch", "hipGraphLaunch")) > 0,
        event_count=len(trace),
        recorded=tuple(c.value for c in kept if c in trace.capabilities),
        is_cpu_run=trace.is_cpu_run,
        warnings=(*trace.info.warnings, *([MODELLED_NOTE] if modelled else ())),
    )


def device_is_modelled(trace: Trace) -> bool:
    """Whether the header says so, or the name of a device that did work."""
    if not trace.devices_used:
        return False
    names = (trace.devices[index].name for index in trace.devices_used)
    said = trace.info.header.get("tidy_modelled_device") is True
    return said or any(name.endswith(_MODELLED) for name in names)


def _device_name(trace: Trace, index: int, modelled: bool) -> str:
    name = trace.devices[index].name or "GPU"
    return name.removesuffix(_MODELLED) + _MODELLED if modelled else name


def _busy_share(trace: Trace) -> float | None:
    """Busy time over the steps, averaged over devices; over the device's own span without steps."""
    shares = []
    for device in trace.devices_used:
        busy = trace.device_busy(device)
        window = trace.step_time
        if not trace.steps:
            window = Intervals(busy.starts_ns[:1], busy.ends_ns[-1:])
        if window.total_ns:
            shares.append((busy & window).total_ns / window.total_ns)
    return sum(shares) / len(shares) if shares else None
