"""torch.backends' switches: kept, so that scripts can set and read them. There is one CPU here."""

from __future__ import annotations

from types import SimpleNamespace


def _no() -> bool:
    return False


class _Switches(SimpleNamespace):
    """Settings by name, with `is_available()`."""

    is_available = staticmethod(_no)


cuda = _Switches(matmul=SimpleNamespace(allow_tf32=False))
cudnn = _Switches(
    enabled=True, benchmark=False, deterministic=False, allow_tf32=True, is_available=_no
)
mps = _Switches(is_built=_no)
mkldnn = _Switches(enabled=False)
