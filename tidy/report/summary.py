"""One line about a run, as plain values: what the text and the JSON report both say first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..trace import Capability, Intervals, Trace


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What ran and what was recorded of it.

    Attributes:
        devices: name of each device that did work, with the number of such devices.
        busy_share: part of the time in which the average device had work; None without devices.
        busy_is_lower_bound: whether graph launches may hide kernels from the profiler.
        step_ns: median time of a step; None without steps.
        recorded: what the profiler kept, as `Capability` names it.
    """

    path: str
    rank: int | None
    world_size: int | None
    devices: tuple[tuple[str, int], ...]
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
    names = Counter(trace.devices[index].name or "GPU" for index in trace.devices_used)
    durations = sorted(step.duration_ns for step in trace.steps)
    kept = (Capability.SHAPES, Capability.STACKS, Capability.MEMORY)
    return RunSummary(
        path=trace.info.path,
        rank=trace.info.rank,
        world_size=trace.info.world_size,
        devices=tuple(sorted(names.items())),
        step_count=len(durations),
        step_ns=durations[len(durations) // 2] if durations else None,
        span_ns=trace.span_ns,
        busy_share=_busy_share(trace),
        busy_is_lower_bound=len(trace.rows_named("cudaGraphLaunch", "hipGraphLaunch")) > 0,
        event_count=len(trace),
        recorded=tuple(c.value for c in kept if c in trace.capabilities),
        is_cpu_run=trace.is_cpu_run,
        warnings=tuple(trace.info.warnings),
    )


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
