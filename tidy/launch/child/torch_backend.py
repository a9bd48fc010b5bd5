"""Recording with PyTorch's profiler."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

# Kineto says on stderr when it starts and stops, at its highest level.
_QUIET = ("KINETO_LOG_LEVEL", "6")


class TorchBackend:
    """Starts, stops and exports `torch.profiler.profile`."""

    has_lines = False
    stops_anywhere = True

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._torch = sys.modules["torch"]
        self._profiler: Any = None
        self._starting = self._started = False
        # Kineto reads it when the first profiler starts.
        before = os.environ.get(_QUIET[0])
        if before is None:
            os.environ[_QUIET[0]] = _QUIET[1]
            self._loud = True
        else:
            self._loud = False

    def on_step(self, step: Callable[[Any], None]) -> None:
        """Have `step(optimizer)` called after each optimizer step."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: step(optimizer))

    def watch_own_profiler(self, yield_to_script: Callable[[], None]) -> None:
        """Call back before the script starts a profiler of its own; there can be only one."""
        import torch.autograd.profiler as module

        for name in ("_prepare_profiler", "_enable_profiler"):
            real = getattr(module, name, None)
            if real is not None:
                setattr(module, name, self._after(yield_to_script, real))

    def _after(self, yield_to_script: Callable[[], None], real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._starting:
                yield_to_script()
            return real(*args, **kwargs)

        return call

    def can_stop(self, at_step: bool) -> bool:
        """Not inside a backward, which puts back the thread's state when it ends."""
        task = getattr(self._torch._C, "_current_graph_task_id", None)
        return task is None or task() == -1

    def now_ns(self) -> int:
        """The time on the clock of what is recorded."""
        return time.time_ns()

    def wait_for_device(self) -> None:
        """PyTorch's profiler waits itself when it stops."""

    def start(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        torch, settings = self._torch, self._settings
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._starting = self._started = True
        try:
            self._profiler = profile(
                activities=activities,
                record_shapes=settings["shapes"],
                with_stack=settings["stack"],
                profile_memory=settings["memory"],
                experimental_config=self._config(),
            )
            self._profiler.start()
        finally:
            self._starting = False
            if self._loud:
                os.environ.pop(_QUIET[0], None)
                self._loud = False

    def _config(self) -> Any:
        from torch._C._profiler import _ExperimentalConfig

        wanted: dict[str, Any] = {"enable_cuda_sync_events": True}
        if self._settings["all_threads"]:
            wanted["profile_all_threads"] = True
        known = _ExperimentalConfig.__init__.__doc__ or ""
        return _ExperimentalConfig(**{k: v for k, v in wanted.items() if f"{k}:" in known})

    def stop(self) -> None:
        self._profiler.stop()

    def save(self, path: str) -> None:
        """Export what was recorded.

        Raises:
            OSError: it cannot be written.
        """
        try:
            self._profiler.export_chrome_trace(path)
        except RuntimeError as error:
            raise OSError(0, f"{error}") from error

    def drop(self) -> None:
        """Let go of what was exported.

        PyTorch 2.13 now and then crashes when it frees the events; they are kept for good.
        """
        results = getattr(getattr(self._profiler, "profiler", None), "kineto_results", None)
        if results is not None:
            import ctypes

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(results))
        self._profiler = None

    def leave(self) -> None:
        """In a forked child: PyTorch would go on collecting there, and never give it back."""
        if self._profiler is None and not self._started:
            return
        sys.setprofile(None)
        enable = getattr(self._torch.autograd, "_enable_record_function", None)
        if enable is not None:
            enable(False)
        _leave_out_destructors()

    def header(self) -> dict[str, Any]:
        """Keys for the trace that the profiler did not know when it started."""
        header: dict[str, Any] = {}
        if "rank" in self._settings:
            header["distributedInfo"] = dict(self._settings["rank"])
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            header["distributedInfo"] = {
                "backend": distributed.get_backend(),
                "rank": distributed.get_rank(),
                "world_size": distributed.get_world_size(),
            }
        return header

    def prefixes(self) -> list[str]:
        """What Kineto cuts off the paths of Python files; the first that fits."""
        try:
            from torch.profiler.python_tracer import _prefix_regex

            return list(_prefix_regex())
        except Exception:
            return []


def _leave_out_destructors() -> None:
    """End this process without C++'s: Kineto's wait for a thread that a forked child has not.

    What is registered last runs first, and gets the status.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # only the GNU C library has on_exit
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)
