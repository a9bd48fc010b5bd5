"""torch.utils.checkpoint's names."""

from ..derivatives.checkpoint import CheckpointError, CheckpointFunction, checkpoint

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint"]
