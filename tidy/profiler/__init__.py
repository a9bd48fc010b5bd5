"""The profiler: records what tidy.runtime does, with the interface of `torch.profiler`."""

from __future__ import annotations

from ..runtime.record_function import record_function
from .profile import profile
from .schedule import ProfilerAction, schedule

__all__ = ["ProfilerAction", "profile", "record_function", "schedule"]
