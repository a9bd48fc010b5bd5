"""torch.utils.checkpoint's names."""

from ..checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
