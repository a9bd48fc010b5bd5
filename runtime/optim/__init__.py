"""torch.optim's names."""

from ..core.later import later
from . import algorithms
from . import lr_scheduler as lr_scheduler
from .optimizer import Optimizer

_NAMES = "ASGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop".split()
_NAMES += ["SGD", "SparseAdam"]
__all__ = ["LBFGS", "Optimizer", "lr_scheduler", "swa_utils", *_NAMES]  # noqa: PLE0604
globals().update({name: getattr(algorithms, name) for name in _NAMES})
__getattr__ = later(__name__, {"": "swa_utils", ".lbfgs": "LBFGS"})
