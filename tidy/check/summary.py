"""One line about a run, as plain values: the text and the JSON report both begin with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..account import MOST_DEVICES, Account
from ..trace import Capability, LeftOut, Trace, Window, count_text, time_text

# Fewer events than this within less than this are no more than a call or two.
_FEW_EVENTS, _SHORT_NS = 20, 1_000_000
_MODELLED = " (modelled)"
MODELLED_NOTE = "device times are modelled, not measured"
_EVENTS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class RunSummary:
    """The facts about a run and its recording, under its title or else its path.

    Notes come before the warnings of the trace.

    Attributes:
        path: the name of the trace, most often the path of its file.
        rank, world_size: of the job that it was a part of; None where the header does not say.
        framework: what ran, such as `PyTorch 2.13.0`; "" where that is not known.
        warnings: notes about the recording, and what its reader had to leave out or doubts.
        event_count: how many events the trace holds.
        first_ns: the start of the first event.
        span_ns: time from the first event to the last.
        recorded: what the profiler was asked to keep, as `Capability` names it.
        has_shares: whether enough is recorded for a share of the window to say anything.
        how_to_record_stacks: what to do so that the next recording has Python stacks.
        is_cpu_run: whether no device took part.
        window: the time that all shares are of.
        device_is_modelled: whether the times of the devices were computed and not measured.
        devices: (name, number of devices with that name) of the devices that were busy; the names
            of modelled devices end with "(modelled)".
        device_sort: what a report calls the devices: "GPU", "MTIA", "accelerator".
        busy_share: part of the window in which the average device was busy, 0 to 1; None where no
            device was. Waiting for other ranks is not, where their traces tell it.
        communication_share: part of that time in which devices only communicated, 0 to 1.
        busy_is_lower_bound: whether device activity may be missing in the trace.
        timed_steps: how many steps were measured, where the others repeat these; None for all.
        times: how steps got their times: "recorded", "light" (they are those of lightly recorded
            steps) or "unrecorded" (scaled to steps with nothing recorded).
        light_slowdown: how many times longer light recording made steps; None where not known.
        is_quickest: whether each part of a step is as long as in the quickest ones: other work of
            the machine kept the script waiting, or it was asked for.
        window_event_count: how many events belong to the steps of the window; None if there are no
            steps, and in summaries made before.
    """

    path: str
    rank: int | None
    world_size: int | None
    framework: str
    warnings: tuple[str, ...]
    event_count: int
    first_ns: int
    span_ns: int
    recorded: tuple[str, ...]
    has_shares: bool
    how_to_record_stacks: str
    is_cpu_run: bool
    window: Window
    device_is_modelled: bool
    devices: tuple[tuple[str, int], ...]
    device_sort: str
    busy_share: float | None
    communication_share: float
    busy_is_lower_bound: bool
    timed_steps: int | None
    times: str
    light_slowdown: float | None
    is_quickest: bool
    window_event_count: int | None = None

    @classmethod
    def of(
        cls,
        trace: Trace,
        accounts: Sequence[Account],
        title: str | None = None,
        notes: Sequence[str] = (),
    ) -> RunSummary:
        """Gather the facts about a trace, given its accounts."""
        info = trace.info
        kept = (Capability.SHAPES, Capability.STACKS, Capability.MEMORY)
        labels = (trace.devices[index].label for index in trace.devices_used)
        if trace.device_is_modelled:
            labels = (label.removesuffix(_MODELLED) + _MODELLED for label in labels)
        of_devices = [each for each in accounts if each.device is not None]
        window_ns = sum(each.window.time_ns for each in of_devices)
        busy_ns = sum(each.busy_ns for each in of_devices)
        transfer_ns = sum(p.time_ns for a in of_devices for p in a.parts if p.cause == "transfer")
        keys = ("timed_steps", "times", "light_slowdown")
        timed, times, slowdown = (info.header.get(f"tidy_{key}") for key in keys)
        is_slower = isinstance(slowdown, (int, float)) and slowdown > 0
        return cls(
            path=info.path if title is None else title,
            rank=info.rank,
            world_size=info.world_size,
            framework=info.framework,
            warnings=(*notes, *info.warnings, *_own_notes(trace)),
            event_count=len(trace),
            first_ns=trace.start_ns_first,
            span_ns=trace.span_ns,
            recorded=tuple(each.value for each in kept if each in trace.capabilities),
            has_shares=not is_next_to_nothing(trace),
            how_to_record_stacks=info.remedy(Capability.STACKS),
            is_cpu_run=trace.is_cpu_run,
            window=trace.window,
            device_is_modelled=trace.device_is_modelled,
            devices=tuple(sorted(Counter(labels).items())),
            device_sort=next((trace.devices[each].sort for each in trace.devices_used), "GPU"),
            busy_share=busy_ns / window_ns if window_ns else None,
            communication_share=transfer_ns / busy_ns if busy_ns else 0.0,
            busy_is_lower_bound=trace.may_lack_work,
            timed_steps=timed if isinstance(timed, int) and timed > 0 else None,
            times=times if times in ("light", "unrecorded") else "recorded",
            light_slowdown=slowdown if is_slower else None,
            is_quickest=info.header.get("tidy_quickest") is True,
            window_event_count=_window_event_count(trace),
        )

    @property
    def unit(self) -> str:
        """What the window is made of: "step", "round" or "run"."""
        return self.window.unit

    @property
    def window_ns(self) -> int:
        """The time of the window, which all shares are of."""
        return self.window.time_ns

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What the window leaves out, by start."""
        return self.window.left_out

    @cached_property
    def steps_ns(self) -> tuple[int, ...]:
        """How long each step of the window takes."""
        return tuple(end - start for start, end in self.window.finished_ranges)

    @property
    def counted(self) -> int:
        """How many steps are in the window."""
        return len(self.steps_ns)

    @property
    def step_count(self) -> int:
        """How many steps (or iterations that repeat) were recorded."""
        return self.counted + len(self.left_out) if self.counted else 0

    @property
    def step_ns(self) -> int | None:
        """How long a step of the window takes, in the mean; None where it has none."""
        return self.window.step_ns if self.counted else None

    @cached_property
    def median_ns(self) -> int | None:
        """How long the median step takes; None where there is none."""
        if not self.counted:
            return None
        ordered = sorted(self.steps_ns)
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def is_next_to_nothing(trace: Trace) -> bool:
    """Tell whether a few events are all there is: they make the window, and any share of it."""
    few = len(trace) < _FEW_EVENTS and trace.window.time_ns < _SHORT_NS
    return few and trace.window.unit == "run" and Capability.OPS not in trace.capabilities


def too_little_text(trace: Trace) -> str:
    """Say how little was recorded, of which no share says anything."""
    events = f"{count_text(len(trace), 'event')} within {time_text(trace.window.time_ns)}"
    return f"next to nothing is recorded: {events}; no share of that says anything"


def _own_notes(trace: Trace) -> Iterator[str]:
    if trace.device_is_modelled:
        yield MODELLED_NOTE
    if is_next_to_nothing(trace):
        yield too_little_text(trace)
    if trace.is_cpu_run and trace.devices and "tidy_modelled_device" not in trace.info.header:
        label = trace.devices[min(trace.devices)].label
        yield f'{label} did nothing: model and inputs are on the CPU; move both with .to("cuda")'
    if trace.info.other_threads > 0:
        threads = count_text(trace.info.other_threads, "other thread")
        yield f"ops of {threads} were not recorded; tidy run --all-threads records them"
    if len(trace.devices_used) > MOST_DEVICES:
        many = f"{len(trace.devices_used):,} devices"
        yield f"{many}: only the {MOST_DEVICES} busiest have an account"


def _window_event_count(trace: Trace) -> int | None:
    """Count the events of the window's steps; those of a device belong to the step of the launch.

    A device may be behind its host, by more on one rank than on another.
    """
    steps = sorted((each.start_ns, each.end_ns) for each in trace.window.steps)
    if not steps:
        return None
    starts, ends = np.array(steps, np.int64).T
    count = 0
    for first in range(0, len(trace), _EVENTS_AT_ONCE):
        some = slice(first, first + _EVENTS_AT_ONCE)
        caller = trace.caller[some]
        launched = np.where(caller >= 0, trace.start_ns[caller], trace.start_ns[some])
        at = np.searchsorted(starts, launched, side="right") - 1
        count += int(np.count_nonzero((at >= 0) & (launched < ends[at])))
    return count
