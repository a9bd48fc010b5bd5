"""What devices still had to do where a light recording was cut.

The profiler waits for the devices when it stops, so that the first step of its next piece finds
them idle, and steps that are put one behind the other would have their work overlap:

cut       host   [step 2][step 3]             [step 4][step 5]
          device    [work of 2   ][work of 3  ]  [work of 4   ][work of 5   ]
uncut     host   [step 2][step 3][step 4][step 5]
          device    [work of 2   ][work of 3  ][work of 4   ][work of 5   ]

Without a cut devices go on with what they have, and the work of later steps waits for its turn. A
host that waits for them in a step, or devices that catch up in it, are late themselves by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .light import Bounds, LightSteps, typical_ns
from .moments import Moments, Numbers

_WAITS = "Synchronize"  # as in cudaStreamSynchronize and hipDeviceSynchronize
_LEAST = 0.02  # less of a step is the tail of a last kernel


@dataclass(frozen=True)
class CutQueues:
    """By how much steps are later than in the light ones that they are like; both of shape (n,).

    Attributes:
        host_ns: how long the host waits before what it does in a step.
        work_ns: by how much more the work of devices is late.
        cut_ns: how much of the time before a step the profiler waited for the devices.
    """

    host_ns: Numbers
    work_ns: Numbers
    cut_ns: Numbers

    def late_ns(self, index: int, is_device: bool) -> int:
        """Return how much later than in its light step something of a step is."""
        return int(self.host_ns[index] + (self.work_ns[index] if is_device else 0))


def cut_queues(steps: Bounds, counterparts: Sequence[int], light: LightSteps) -> CutQueues:
    """Find where light steps that are put one behind the other were cut, and what that makes late.

    Args:
        steps: those recorded in full, as times of the host.
        counterparts: for each of them the index of the light step, -1 for none.
    """
    host, work, cut = np.zeros((3, len(steps)), np.int64)
    if not light.has_device:
        return CutQueues(host, work, cut)
    works = [_WorkOfStep(light, index) for index in range(len(light.steps))]
    least_ns = _LEAST * typical_ns(light.lengths_ns)
    late_ns = 0
    for index in range(1, len(steps)):
        last, this = counterparts[index - 1], counterparts[index]
        if last < 0 or this < 0 or not works[last].is_any or not works[this].is_any:
            late_ns = 0
            continue
        behind_ns = works[last].behind_ns + late_ns
        between_ns = steps[index][0] - steps[index - 1][1]
        cut[index] = min(between_ns, max(behind_ns, 0))
        if this != last + 1 or light.steps[last][1] != light.steps[this][0]:
            late_ns = behind_ns - (between_ns - int(cut[index])) - works[this].begins_ns
            late_ns = late_ns if late_ns > least_ns else 0
        if late_ns and (works[this].is_waited_for or works[this].idle_ns >= late_ns):
            host[index], late_ns = late_ns, 0
        work[index] = late_ns
    return CutQueues(host, work, cut)


class _WorkOfStep:
    """What devices do for one light step.

    Attributes:
        is_any: whether they do anything.
        begins_ns, behind_ns: when they begin after the host's begin, and end after its end.
        idle_ns: how long they have nothing to do in between.
        is_waited_for: whether the host waits for them.
    """

    def __init__(self, light: LightSteps, index: int) -> None:
        moments = [each.within(index) for each in light.moments.values()]
        on_device = [each for each in moments if each.is_device and len(each.times_ns)]
        self.is_any = bool(on_device)
        start_ns, end_ns = light.steps[index]
        first = min((int(each.times_ns[0]) for each in on_device), default=start_ns)
        last = max((int(each.times_ns[-1]) for each in on_device), default=start_ns)
        self.begins_ns, self.behind_ns = first - start_ns, last - end_ns
        self.idle_ns = last - first - sum(map(_busy_ns, on_device))
        waits = [number for name, number in light.names.items() if name.endswith(_WAITS)]
        self.is_waited_for = any(
            bool(np.isin(each.labels // 2, waits).any()) for each in moments if not each.is_device
        )


def _busy_ns(moments: Moments) -> int:
    """Add up how long pieces of work take."""
    signs = np.where(moments.labels % 2, 1, -1)
    return int((signs * moments.times_ns).sum())
