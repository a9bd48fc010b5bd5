"""torch.cuda.FloatTensor and the like: of the types on the CPU, on a device."""

from __future__ import annotations

from typing import Any

from ..ops.make import PUBLIC
from ..ops.typed_tensors import _Kind


class _OnDevice(_Kind):
    def __call__(cls, *data: Any, device: Any = None) -> Any:  # noqa: N805
        return super().__call__(*data).to("cuda" if device is None else device)

    def __instancecheck__(cls, one: Any) -> bool:  # noqa: N805
        return super().__instancecheck__(one) and one.is_cuda


globals().update(
    (name, _OnDevice(name, (), {"dtype": kind.dtype, "__module__": __name__}))
    for name, kind in PUBLIC["torch"].items()
    if isinstance(kind, _Kind)
)
