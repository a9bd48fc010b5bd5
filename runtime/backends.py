"""torch.backends' switches, kept so that scripts can set and read them.

Two have an effect, on modelled devices: whether products and convolutions in float32 may use TF32.
"""

from __future__ import annotations

from types import SimpleNamespace


def _no() -> bool:
    return False


class _Switches(SimpleNamespace):
    """Settings by name, with `is_available()`."""

    is_available = staticmethod(_no)


cuda = _Switches(matmul=SimpleNamespace(allow_tf32=False, precision="highest"))
cudnn = _Switches(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
mps = _Switches(is_built=_no)
mkldnn = _Switches(enabled=False)


def set_float32_matmul_precision(precision: str) -> None:
    """`highest` keeps products in float32; `high` and `medium` allow TF32 on a device.

    Raises:
        RuntimeError: none of these.
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    cuda.matmul.precision = precision
    cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """What was set, or follows from `allow_tf32`."""
    known = str(cuda.matmul.precision)
    if (known != "highest") == cuda.matmul.allow_tf32:
        return known
    return "high" if cuda.matmul.allow_tf32 else "highest"
