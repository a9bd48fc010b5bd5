"""torch.cuda.nccl's names."""

from ..modelled.collectives import SUM, all_reduce, broadcast, is_available, reduce

__all__ = ["SUM", "all_reduce", "broadcast", "is_available", "reduce"]
