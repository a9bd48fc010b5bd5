"""torch.utils.data's names."""

from types import ModuleType

from .. import data
from ..core.later import later

globals().update(
    {
        name: value
        for name, value in vars(data).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
)
__path__: list[str] = []  # core/other_paths.py knows what is below
__getattr__ = later(__name__, {})
