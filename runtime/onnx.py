"""torch.onnx: its functions say that they are not here when they are called."""

from .core.later import refusing

__getattr__ = refusing("torch.onnx", "tidy.runtime writes no models for other programs")


def is_in_onnx_export() -> bool:
    return False
