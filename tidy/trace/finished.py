"""When devices finish steps whose host runs ahead of them.

host      [step 0][step 1][step 2]
device       [work of 0      ][work of 1      ][work of 2      ]
          |------------------|----------------|----------------|

A host that waits for nothing launches the work of a step and goes on to the next. In the long run a
step then takes as long as the devices take for its work: from the end of the work launched before
to the end of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .event_table import EventTable
from .intervals import Intervals
from .steps import Step

# The devices are behind where they finish the last step later than the host by more than this part
# of all steps, and work for most of the time. Less is the tail of a last kernel.
_BEHIND, _BUSY = 0.02, 0.5
# A host that waits as the last step ends is ahead in others. Then half of the steps take devices
# this part of the mean or more: where one step has nearly all the work they only catch up with it.
_EVEN = 0.5


def finished_by_devices(trace: EventTable, steps: Sequence[Step]) -> list[tuple[int, int]] | None:
    """Find start and end of each step in time of the devices; None where they keep up.

    Args:
        steps: as the host runs them, one at least.
    """
    work = trace.device_rows
    if not len(work):
        return None
    launched = trace.launched_ns(work)
    order = np.argsort(launched, kind="stable")
    finished = np.maximum.accumulate(trace.end_ns[work[order]])
    starts = np.array([step.start_ns for step in steps], np.int64)
    ends = np.array([step.end_ns for step in steps], np.int64)
    # The last end of what is launched before a step begins, and before it ends.
    before, upto = (np.searchsorted(launched[order], each) for each in (starts, ends))
    began = np.where(before > 0, np.maximum(finished[before - 1], starts), starts)
    ended = np.where(upto > 0, np.maximum(finished[upto - 1], ends), ends)
    ended = np.maximum(ended, began)
    behind_ns, least_ns = ended - ends, _BEHIND * int((ends - starts).sum())
    lengths = ended - began
    is_even = float(np.median(lengths)) >= _EVEN * float(lengths.mean())
    if behind_ns[-1] <= least_ns and not (is_even and behind_ns.max() > least_ns):
        return None
    time = Intervals(began, ended)
    if trace.devices_busy_ns(time) < _BUSY * time.total_ns * len(trace.devices_used):
        return None
    return list(zip(began.tolist(), ended.tolist(), strict=True))
