"""torch.distributed of one process: there are no others, and what needs them says so."""

from __future__ import annotations

from .core.later import refusing


def is_available() -> bool:
    """Whether processes can be joined: no."""
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_available
is_torchelastic_launched = is_available


__getattr__ = refusing("torch.distributed", "tidy.runtime runs in one process")
