"""torch.linalg's names."""

from ..ops import methods as _methods  # noqa: F401  (declares them)
from ..ops.make import PUBLIC

globals().update(PUBLIC["linalg"])
