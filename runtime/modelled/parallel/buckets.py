"""Which gradients are reduced together, and the flat memory that they lie in.

    parameters    0.weight  0.bias  2.weight  2.bias          in the order of the module
    bucket 0                        2.weight  2.bias          whose gradients are ready first
    bucket 1      0.weight  0.bias

Source: torch/csrc/distributed/c10d/reducer.cpp (compute_bucket_assignment_by_size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.aten import aten
from ...engine.grad_mode import no_grad
from ...engine.tensor import Tensor
from ..communication import grouped

BUCKET_NBYTES = (1 << 20, 25 << 20)  # a small first one, so that communication begins early


def assign(params: Sequence[Any], limits: Sequence[int]) -> list[list[int]]:
    """Numbers of parameters, bucket by bucket, the last parameter first.

    A bucket has one dtype, and is full with the parameter that brings it to its limit in bytes.
    """
    buckets = grouped(params, reversed(range(len(params))), limits)
    return sorted(buckets, key=lambda bucket: -bucket[0])


class Bucket:
    """Gradients that are reduced together: for each device a flat tensor, and views of it.

    `numbers` are the parameters', in the order of the memory.
    """

    def __init__(self, numbers: list[int], rows: Sequence[Sequence[Any]]) -> None:
        self.numbers = numbers
        self.flats: list[Tensor] = []
        self.views: list[list[Tensor]] = []
        for row in rows:
            members = [row[number] for number in numbers]
            sizes, first = [x.array.size for x in members], members[0]
            with no_grad():
                flat = aten.zeros(sum(sizes), dtype=first.array.dtype, device=first.device)
                parts = flat.split(sizes, 0)
                views = [part.view(x.array.shape) for part, x in zip(parts, members, strict=True)]
            self.flats.append(flat)
            self.views.append(views)
        self.restart()

    def restart(self) -> None:
        """Wait for all gradients again."""
        self.left = [len(self.numbers)] * len(self.flats)
        self.streams: list[dict[Any, None]] = [{} for _ in self.flats]  # that wrote them
        self.written: list[list[Any]] = [[] for _ in self.flats]  # events

    @property
    def is_ready(self) -> bool:
        """Whether all gradients of all devices are in."""
        return not any(self.left)
