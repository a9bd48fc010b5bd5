"""torch.backends' switches, kept so that scripts can set and read them.

Two have an effect, on modelled devices: whether products and convolutions in float32 may use TF32.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

__path__: list[str] = []  # `import torch.backends.cudnn` finds those below


class _Switches(ModuleType):
    """A module of settings by name, with `is_available()`."""

    is_available = is_built = staticmethod(lambda: False)
    version = staticmethod(lambda: None)

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(f"{__name__}.{name}", "Settings that scripts can set and read.")
        vars(self).update(settings)
        sys.modules[self.__name__] = self

    @contextlib.contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Have other settings inside the block."""
        before = {name: vars(self).get(name) for name in settings}
        vars(self).update(settings)
        try:
            yield
        finally:
            vars(self).update(before)


cuda: Any = _Switches("cuda", matmul=SimpleNamespace(allow_tf32=False, precision="highest"))
cudnn: Any = _Switches("cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
mps, mkl, openmp = _Switches("mps"), _Switches("mkl"), _Switches("openmp")
mkldnn = _Switches("mkldnn", enabled=False)


def set_float32_matmul_precision(precision: str) -> None:
    """Keep products in float32 (`highest`), or allow TF32 on a device (`high`, `medium`)."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    cuda.matmul.precision = precision
    cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """Return what was set, or follows from `allow_tf32`."""
    known = str(cuda.matmul.precision)
    if (known != "highest") == cuda.matmul.allow_tf32:
        return known
    return "high" if cuda.matmul.allow_tf32 else "highest"
