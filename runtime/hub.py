"""torch.hub: its functions say that they are not here when they are called."""

from .core.later import refusing

__getattr__ = refusing("torch.hub", "tidy.runtime loads no models that PyTorch has saved")
