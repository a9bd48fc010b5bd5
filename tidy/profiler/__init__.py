"""The profiler: records what tidy.runtime does, with the interface of `torch.profiler`."""

from __future__ import annotations

from ..runtime.observe.record_function import record_function
from .emit import emit_itt, emit_nvtx
from .handlers import ProfilerActivity, supported_activities, tensorboard_trace_handler
from .profile import profile
from .schedule import ProfilerAction, schedule
from .step_tracker import current_step

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "current_step",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def __dir__() -> list[str]:
    return __all__
