"""torch.nn.parallel in one process on one device: DataParallel has all of each batch.

Source: torch/nn/parallel/data_parallel.py.
"""

from __future__ import annotations

from typing import Any

from ..core.faces import WHY, refusing
from .module import Module


class DataParallel(Module):
    """The module as it is: what PyTorch does too where there is one device, or none."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Can be imported and asked for; to make one needs processes that are joined."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("torch.nn.parallel.DistributedDataParallel", WHY["distributed"])()
