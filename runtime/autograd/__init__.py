"""torch.autograd's names, of what `tidy.runtime.engine` and `tidy.runtime.derivatives` do."""

from __future__ import annotations

from ..core.later import later
from ..engine.anomaly import detect_anomaly, set_detect_anomaly
from ..engine.backward import Variable, backward, backward_async, grad, grad_async
from ..engine.function import Function
from ..engine.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import graph
from .gradcheck import gradcheck, gradgradcheck  # so that no import puts the module here

__all__ = ["Function", "Variable", "backward", "backward_async", "grad", "grad_async"]
__all__ += ["detect_anomaly", "enable_grad", "gradcheck", "gradgradcheck", "graph"]
__all__ += ["inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled"]
__getattr__ = later(__name__, {})
