"""A module on several devices at once. Source: torch/nn/parallel."""

from ...modelled.parallel.data_parallel_module import DataParallel, data_parallel
from ...modelled.parallel.distributed import DistributedDataParallel
from ...modelled.parallel.parallel_apply import parallel_apply
from ...modelled.parallel.replicate import replicate
from ...modelled.parallel.scatter_gather import gather, scatter, scatter_kwargs

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather"]
__all__ += ["parallel_apply", "replicate", "scatter", "scatter_kwargs"]
