"""The profiler: records what tidy.runtime does, with the interface of `torch.profiler`."""

from ..runtime.observe.record_function import record_function
from .emit import emit_itt, emit_nvtx
from .profile import ProfilerActivity, profile, supported_activities, tensorboard_trace_handler
from .schedule import ProfilerAction, current_step, schedule

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
