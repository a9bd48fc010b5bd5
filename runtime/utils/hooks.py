"""torch.utils.hooks' names."""

from ..engine.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
