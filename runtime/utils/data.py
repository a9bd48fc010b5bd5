"""torch.utils.data's names."""

from ..data import *  # noqa: F403
from ..data import __all__ as __all__
