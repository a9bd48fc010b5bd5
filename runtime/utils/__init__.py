"""torch.utils' names; its modules are loaded when first asked for."""

from ..core.later import later

__getattr__ = later(__name__, {"": "data tensorboard"})
