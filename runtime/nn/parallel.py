"""torch.nn.parallel in one process on one device: DataParallel has all of each batch.

Source: torch/nn/parallel/data_parallel.py.
"""

from __future__ import annotations

from typing import Any

from ..core.faces import WHY, refusing
from ..core.pytree import tree_map
from ..engine.tensor import Tensor
from .module import Module


class DataParallel(Module):
    """The module as it is, as in PyTorch where there is one device or none.

    Inputs go to the device of the module's first parameter.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        first = next(self.module.parameters(), None)
        if first is None or not first.is_cuda:
            return self.module(*inputs, **kwargs)

        def placed(x: Any) -> Any:
            return x.to(first.device) if isinstance(x, Tensor) else x

        return self.module(*tree_map(placed, inputs), **tree_map(placed, kwargs))


class DistributedDataParallel(Module):
    """Can be imported and asked for; to make one needs processes that are joined."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refusing("torch.nn.parallel.DistributedDataParallel", WHY["distributed"])()
