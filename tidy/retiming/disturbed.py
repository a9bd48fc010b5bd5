"""Steps that other work of the machine has disturbed, and what they are without.

Where a thread waits for a processor its time says nothing of the script, and the parts of a step
suffer unequally: a product of matrices on several threads becomes many times longer, a fetch on one
thread hardly. Waiting only makes longer. So each part between two moments is taken to be as long as
in the quickest of the steps that have the same moments.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..profiler.timeline import interpolated
from .light import FEWEST_STEPS, BareStep, LightSteps
from .moments import Numbers
from .stopped_clock import laid_out

# Threads that wait for so much of the time are not alone on the machine.
_DISTURBED = 0.1
# Threads of a script that compute for so much of it are what its steps may wait for.
_BESIDE = 0.1
_MOST = 0.5  # of the steps have to be like others, or what they are without waits is not known
_QUICKEST = 5  # one in so many of the steps with nothing recorded


def is_disturbed(queued_ns: int, recorded_ns: int) -> bool:
    """Tell whether threads of the script waited for processors while it was recorded.

    Where something of the script's works beside its steps this tells nothing: they may wait for
    each other.
    """
    return queued_ns > _DISTURBED * recorded_ns


def works_beside(beside_ns: int, recorded_ns: int) -> bool:
    """Tell whether threads of the script computed beside its steps, for so long, as a producer
    does.

    How long a step waits for them is the script's own, so that its quickest steps are not true.
    """
    return beside_ns > _BESIDE * recorded_ns


def undisturbed(light: LightSteps) -> LightSteps:
    """Return the steps with each part as long as in the quickest of the steps that are like it.

    Steps of a run with devices stay as they are; so does a step that is like too few others, and so
    do all where most are.
    """
    if light.has_device or light.main not in light.moments:
        return light
    moments = light.moments[light.main]
    alike: dict[bytes, list[int]] = {}
    bounds = list[Numbers]()
    for index, (start, end) in enumerate(light.steps):
        mine = moments.within(index)
        bounds.append(np.clip(np.concatenate([[start], mine.times_ns, [end]]), start, end))
        alike.setdefault(mine.labels.tobytes(), []).append(index)
    groups = [group for group in alike.values() if len(group) >= FEWEST_STEPS]
    if sum(map(len, groups)) < _MOST * len(light.steps):
        return light
    lengths = [np.diff(each) for each in bounds]
    for group in groups:
        quickest = np.min([lengths[index] for index in group], axis=0)
        for index in group:
            lengths[index] = quickest
    given = laid_out(bounds, lengths)
    recorded, became = np.concatenate(bounds), np.concatenate(given)
    table = light.table
    starts = interpolated(recorded, became, table["start_ns"])
    ends = interpolated(recorded, became, table["start_ns"] + table["duration_ns"])
    steps = [(int(each[0]), int(each[-1])) for each in given]
    table = {**table, "start_ns": starts, "duration_ns": ends - starts}
    return replace(light, table=table, recorded=steps, steps=steps, are_quickest=True)


def quickest_of(steps: list[BareStep]) -> list[BareStep]:
    """Return the steps with nothing recorded that were disturbed least."""
    in_order = sorted(steps, key=lambda step: step.end_ns - step.start_ns)
    return in_order[: max(FEWEST_STEPS, len(steps) // _QUICKEST)]
