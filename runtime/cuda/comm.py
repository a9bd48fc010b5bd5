"""torch.cuda.comm's names."""

from ..modelled.communication import (
    broadcast,
    broadcast_coalesced,
    gather,
    reduce_add,
    reduce_add_coalesced,
    scatter,
)

__all__ = ["broadcast", "broadcast_coalesced", "gather"]
__all__ += ["reduce_add", "reduce_add_coalesced", "scatter"]
