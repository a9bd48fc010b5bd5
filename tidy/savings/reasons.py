"""Reasons why a fix saves little of what its finding costs, in words for a report."""

from __future__ import annotations

from ..trace import Intervals, Trace, time_text
from .edit import Edit

# A device that is busy during this part of some host time hides it.
_HIDES_FROM = 0.9
_WORTH_A_REASON = 0.01  # of the window: less time saves little, as its cost says


def why_little(trace: Trace, edit: Edit, waiting: Intervals) -> tuple[bool, str]:
    """Tell whether a busy device hides what an edit changes, and why it saves hardly anything.

    Args:
        waiting: the time in which kernels only wait for other ranks.
    """
    if not trace.devices_used:
        return False, ""
    window_ns, sort = trace.window.time_ns, trace.devices[trace.devices_used[0]].sort
    on_host = Intervals()
    for time in edit.host.values():
        on_host = on_host | time
    on_host = on_host & trace.step_time
    if on_host.total_ns >= _WORTH_A_REASON * window_ns:
        at_work = on_host & trace.time_of(trace.device_rows)
        part = (at_work - waiting).total_ns / on_host.total_ns
        if part >= _HIDES_FROM:
            return True, f"hidden: the {sort} is busy for {part:.0%} of it"
        waits = at_work.total_ns >= _HIDES_FROM * on_host.total_ns
        who = f"the {sort} waits for other ranks" if waits else f"the host waits for the {sort}"
        return False, f"{who} all the same"
    on_device = trace.time_of(edit.work) & trace.step_time
    if on_device.total_ns < _WORTH_A_REASON * window_ns:
        return False, ""
    busy_ns = trace.devices_busy_ns(trace.step_time)
    if busy_ns >= _HIDES_FROM * window_ns * len(trace.devices_used):
        return False, f"other work of the {sort} takes as long"
    a_step = time_text(on_device.total_ns / trace.window.step_count)
    return False, f"the host sets the pace: the {sort} would idle for {a_step} more"
