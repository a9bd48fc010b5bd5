"""The older interface, `torch.autograd.profiler.profile`: one recording, from `with` to its end.

    with profile(record_shapes=True) as prof:
        train_step()
    print(prof.table(sort_by="self_cpu_time_total"))

Source: torch/autograd/profiler.py.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..runtime.observe.record_function import record_function
from .emit import emit_itt, emit_nvtx
from .profile import profile as _Profile  # noqa: N812 - PyTorch's two classes have one name

if TYPE_CHECKING:
    from ..trace import Trace

__all__ = ["emit_itt", "emit_nvtx", "load_nvprof", "profile", "record_function"]


def load_nvprof(path: str | os.PathLike[str]) -> Trace:
    """Read what nvprof recorded of a run under `emit_nvtx` (`nvprof -o FILE`); see docs/nsight.md.

    Raises:
        TraceFormatError: the file cannot be read, or is none of nvprof's.
    """
    from ..readers import read_trace

    return read_trace(path)


class profile(_Profile):  # noqa: N801
    """`profiler.profile` without steps; `enabled=False` records nothing.

    Args:
        enabled: whether to record at all.
        record_shapes, with_flops, profile_memory, with_stack, with_modules: as for
            `profiler.profile`.
        use_cuda, use_device, use_kineto, use_cpu, experimental_config: PyTorch's; what they say of
            devices has no meaning here.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
    ) -> None:
        super().__init__(
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )
        self.enabled = enabled
        self._entered = False

    def __enter__(self) -> profile:
        if self._entered:
            raise UsageError("a profile cannot be entered twice: make another one")
        self._entered = True
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            self.stop()
