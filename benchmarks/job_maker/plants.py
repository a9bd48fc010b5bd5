"""What may be wrong with a job, as factors on what each rank does in each step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .layout import Layout

Factors = NDArray[np.float64]


@dataclass(frozen=True)
class Plant:
    """A kind of trouble.

    Attributes:
        strength: the default of the option, whose meaning `says` tells.
        is_cause: whether it costs the job time; the others are odd files.
    """

    name: str
    strength: float
    says: str
    is_cause: bool = True


PLANTS = {
    plant.name: plant
    for plant in (
        Plant("none", 0.0, "nothing but ordinary jitter", is_cause=False),
        Plant("slow-loader", 0.2, "a rank's loader takes longer by this part of the step"),
        Plant("slow-host", 1.5, "a rank's Python takes this many times as long, in a job of much"),
        Plant("slow-gpu", 1.2, "a rank's kernels take this many times as long"),
        Plant("more-work", 1.3, "a rank's samples are this many times as long"),
        Plant("other-path", 0.3, "a rank does something else too, for this part of the step"),
        Plant("slow-link", 0.25, "one group's collectives have this part of the bandwidth"),
        Plant("stall", 1.0, "a rank stands still in some steps, for this part of the step"),
        Plant("passing", 0.4, "a rank's host is late in few steps, by this part of the step"),
        Plant("gpu-throttle", 1.35, "a rank's kernels take so many times as long from a step on"),
        Plant("small-collectives", 64.0, "all reduce as many numbers one by one, in each step"),
        Plant("lost-ranks", 2.0, "the files of so many ranks are missing", is_cause=False),
        Plant("cut-file", 0.6, "a file ends after this part of its bytes", is_cause=False),
        Plant("clock-off", 3.0, "a rank's clock is so many hours off", is_cause=False),
        Plant("drift", 35.0, "a rank's clock drifts by so many ppm", is_cause=False),
        Plant("other-steps", 2.0, "a rank was recorded so many steps later", is_cause=False),
    )
}

_PYTHON_OF_HOST_BOUND = 4.0  # times the recorded host: then the device waits for it


@dataclass
class Effects:
    """What a plant does, in arrays of shape (ranks, steps) where nothing else is said.

    Attributes:
        kernels: factors on the duration of kernels.
        host: factors on host times.
        loader: additional time in the loader, as a part of the step.
        stall: the same at one point of the host.
        length: factors on the length of samples, in shape (ranks,).
        extra: whether the rank does the additional work.
        bandwidth: by kind of group the factor of each group.
        ranks: those that are hit, in order.
        steps: the steps of the recorded ones in which they are, from 0.
        group: the name of the group of a slow link.
    """

    kernels: Factors
    host: Factors
    loader: Factors
    stall: Factors
    length: Factors
    extra: NDArray[np.bool_]
    bandwidth: dict[str, Factors] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    group: str | None = None


def no_effects(layout: Layout, steps: int) -> Effects:
    """A job in which nothing is wrong."""
    ones = np.ones((layout.world, steps))
    zeros = np.zeros_like(ones)
    kinds = ("data", "tensor") if layout.tensor > 1 else ("data",)  # a pipeline has no such link
    return Effects(
        ones,
        ones.copy(),
        zeros,
        zeros.copy(),
        np.ones(layout.world),
        zeros.astype(np.bool_),
        {kind: np.ones(len(layout.members(kind))) for kind in kinds},
    )


def effects_without(plant: Plant, layout: Layout, steps: int) -> Effects:
    """The job that a plant is put into."""
    result = no_effects(layout, steps)
    if plant.name == "slow-host":
        result.host *= _PYTHON_OF_HOST_BOUND
    return result


def effects_of(
    plant: Plant,
    layout: Layout,
    steps: int,
    *,
    strength: float,
    rank: int,
    rng: np.random.Generator,
) -> Effects:
    """Return what a plant does to `rank` in `steps` steps; the first of them is not recorded."""
    result = effects_without(plant, layout, steps)
    recorded = np.arange(1, steps)
    hit = [] if plant.name == "none" else [rank]
    at = recorded if plant.name != "none" else recorded[:0]
    match plant.name:
        case "slow-loader":
            result.loader[rank] = strength
        case "slow-host":
            result.host[rank] *= strength
        case "slow-gpu":
            result.kernels[rank] = strength
        case "more-work":  # the ranks that share a model have the same samples
            first = rank - rank % layout.tensor
            hit = list(range(first, first + layout.tensor))
            result.length[hit] = strength
        case "other-path":
            result.extra[rank] = True
        case "slow-link":
            groups = [group for group in layout.groups if group.kind == "tensor"]
            number = next(n for n, group in enumerate(groups) if rank in group.ranks)
            result.bandwidth["tensor"][number] = strength
            hit, result.group = list(groups[number].ranks), groups[number].name
        case "stall":
            count = max(1, round(0.15 * len(recorded)))
            at = np.sort(rng.choice(recorded, count, replace=False))
            result.stall[rank, at] = strength
        case "passing":
            count = max(1, min(3, len(recorded) // 3))
            begin = int(rng.integers(1, steps - count + 1))
            at = np.arange(begin, begin + count)
            result.stall[rank, at] = strength
        case "gpu-throttle":
            at = np.arange(1 + len(recorded) // 2, steps)
            result.kernels[rank, at] = strength
        case "small-collectives":
            result.extra[:] = True
            hit = list(range(layout.world))
        case "lost-ranks":
            count = min(int(strength), layout.world - 1)
            hit = sorted(rng.choice(layout.world, count, replace=False).tolist())
    result.ranks, result.steps = hit, [int(each) - 1 for each in at]
    return result
