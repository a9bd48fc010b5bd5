"""Recording with PyTorch's profiler."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from . import worker_reports
from .backend import Backend
from .kept import gc, os, thread, time
from .repeated_calls import RepeatedCalls
from .stages import PieceLength
from .torch_frames import TorchFrames
from .uncompiled import leave_uncompiled

_TEARDOWN = "TEARDOWN_CUPTI"
# Before it, a process that launched CUDA graphs crashed when CUPTI was taken up again.
_SOUND_FROM = (12, 6)
_LOG_LEVEL, _SILENT = "KINETO_LOG_LEVEL", 6
_ADVICE = "_warn_once"  # in torch.profiler.profiler
_ERRORS = 4  # what PyTorch sets without the variable, by suppressLogMessages()
_LEVEL = "_ZN9libkineto6Logger14severityLevel_E"  # libkineto::Logger::severityLevel_
_LIBRARIES = "libtorch_cpu.so", "libtorch_cpu.dylib"


class TorchBackend(Backend):
    """Starts, stops and exports `torch.profiler.profile`."""

    suffix = ".trace.json"
    has_lines = False

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.has_all_threads = bool(settings["all_threads"])
        self._torch = sys.modules["torch"]
        self._hooks: dict[int, Any] = {}
        self._starting = self._started = False
        self._frames, self._owner = TorchFrames(self._torch, settings.get("ours", "")), 0
        self._log = KinetoLog(self._torch)

    def _stepping(self) -> tuple[Any, Any]:
        import torch.optim.optimizer as module

        self._hooks = module._global_optimizer_post_hooks
        return self._torch.cuda, module

    def _loader(self) -> Any:
        return getattr(sys.modules.get("torch.utils.data"), "DataLoader", None)

    def _modules(self) -> tuple[Any, Any]:
        return self._torch, sys.modules["torch.nn.modules.module"]

    def _anomaly(self) -> Any:
        return self._torch.autograd.anomaly_mode

    def _note_calls(self, calls: RepeatedCalls) -> None:
        if self._settings["stack"]:  # the recorder's lines tell of them
            leave_uncompiled(self._torch)
            calls.begin(self._torch)

    def _sets_threads(self) -> Any:
        return self._torch

    def _look_at_step(self) -> None:
        if self._profiler is not None and not self.has_all_threads:
            self._frames.look_for_others(self._owner)

    def forget_steps(self) -> None:
        if self._hook is not None and self._hook.id in self._hooks:
            # It may be running, and cannot be taken out while PyTorch goes through them.
            self._hooks[self._hook.id] = lambda *_: None
        super().forget_steps()

    def watch_own_profiler(self, yield_to_script: Callable[[], None]) -> None:
        """Call back before the script starts a profiler of its own; there can be only one."""
        import torch.autograd.profiler as module

        def give_way(_: Any) -> None:
            if not self._starting:
                yield_to_script()

        for name in ("_prepare_profiler", "_enable_profiler"):
            if hasattr(module, name):
                self._patches.call_first(module, name, give_way)

    def close(self) -> None:
        super().close()
        if self._hook is not None:
            self._hooks.pop(self._hook.id, None)

    def has_profiler(self) -> bool:
        """Tell whether a profiler of this thread runs."""
        return bool(self._torch.autograd._profiler_enabled())

    def can_stop(self, at_step: bool) -> bool:
        """Not inside a backward, which puts back the thread's state when it ends."""
        task = getattr(self._torch._C, "_current_graph_task_id", None)
        return task is None or task() == -1

    def may_cut(self, at_step: bool, length: PieceLength) -> bool:
        """Tell whether no op is under way on this thread; a cut in it may crash.

        An optimizer may finish its own work first, if that ends soon: what it updates after a cut
        is in no step of it.
        """
        if at_step:
            return True
        frame = sys._getframe(1)
        if not self._frames.are_between_ops(frame):
            return False
        return not self._frames.are_in_optimizer(frame) or length.has_waited()

    @property
    def ranges(self) -> Any:
        return self._torch.autograd.profiler.record_function

    def start(self, light: bool) -> None:
        """Begin a piece; a light one has times alone."""
        from torch.profiler import ProfilerActivity, profile

        with open(os.devnull, "rb"):  # without a descriptor PyTorch complains on stderr
            pass
        torch, settings = self._torch, self._settings
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        worker_reports.hang(settings["folder"], self._worker_lines)
        self._starting = self._started = True
        try:
            self._profiler = profile(
                activities=activities,
                record_shapes=settings["shapes"] and not light,
                profile_memory=settings["memory"] and not light and not self.has_moved,
                experimental_config=self._config(light),
            )
            with self._log:
                self._profiler.start()
        finally:
            self._starting = False
        self._start_ns, self._owner = time.time_ns(), thread.get_ident()

    def _config(self, light: bool) -> Any:
        from torch._C._profiler import _ExperimentalConfig

        wanted: dict[str, Any] = {
            "enable_cuda_sync_events": True,
            "disable_external_correlation": light,  # External ids take a good third of an op's time
            "profile_all_threads": self.has_all_threads,
        }
        known = _ExperimentalConfig.__init__.__doc__ or ""
        return _ExperimentalConfig(**{k: v for k, v in wanted.items() if f"{k}:" in known})

    def stop(self, is_last: bool) -> int:
        """End the piece and return when it began; it `is_last` where no other follows soon."""
        worker_reports.take_down()
        let_go = cupti_may_be_let_go(self._torch) if is_last else nullcontext()
        try:
            with self._log, let_go:
                self._profiler.stop()
        except RuntimeError as error:
            if _is_of_a_device(error):
                _end_without_destructors(with_output=True)
            raise
        finally:
            self._end_open_ranges()
        return self._start_ns

    def starts_ns(self) -> list[int]:
        """Return when operators and ranges of the piece that was ended began, ascending."""
        results = self._profiler.profiler.kineto_results
        return sorted(each.start_ns() for each in results.events())

    def _end_open_ranges(self) -> None:
        """End all `record_function` that are open while no profiler runs; again does nothing.

        That of an optimizer's step is open where the step's hook cuts. PyTorch writes the end of a
        range into its event. Where the next profiler runs by then, that is memory which was freed,
        and one in some thousand pieces crashes or fails.
        """
        kind = self._torch.autograd.profiler.record_function
        for each in gc.get_referrers(kind):
            if type(each) is kind and getattr(each, "record", None) is not None:
                self._torch.ops.profiler._record_function_exit._RecordFunction(each.record)

    def save(self, path: str) -> int:
        """Export what was recorded, or raise OSError; the size of the file in bytes."""
        with open(path, "wb"):  # PyTorch would say on stderr that it cannot
            pass
        try:
            with self._log:
                self._profiler.export_chrome_trace(path)
        except RuntimeError as error:
            raise OSError(0, f"{error}") from error
        return os.path.getsize(path)

    def drop(self) -> None:
        """Let go of what was exported, and give the memory back."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        # The profiler is in a circle, and to collect the script's garbage is not for us to do.
        inner = getattr(profiler, "profiler", None)
        if inner is not None:
            inner.kineto_results = None
        import ctypes

        with suppress(OSError, AttributeError):  # only the GNU C library keeps so much
            ctypes.CDLL(None).malloc_trim(0)

    def leave(self) -> None:
        """In a forked child: PyTorch would go on collecting there, and never give it back.

        It ends without the destructors of C++: Kineto's wait for a thread that it has not.
        """
        if not self._started:
            return
        sys.setprofile(None)
        enable = getattr(self._torch.autograd, "_enable_record_function", None)
        if enable is not None:
            enable(False)
        _end_without_destructors(with_output=False)

    def header(self) -> dict[str, Any]:
        """Keys for the trace that the profiler did not know when it started."""
        version = str(getattr(self._torch, "__version__", ""))
        intra_op, inter_op = self._torch.get_num_threads(), self._torch.get_num_interop_threads()
        header: dict[str, Any] = {"framework": "PyTorch", "framework_version": version}
        header["tidy_threads"] = {"intra_op": intra_op, "inter_op": inter_op}
        if self._frames.others:
            header["tidy_other_threads"] = len(self._frames.others)
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


class KinetoLog:
    """`with log:` around what starts, stops or exports a profiler of ours keeps it silent.

    PyTorch 2.11 and some before it advise each profiler to keep events of earlier cycles.
    Kineto reads KINETO_LOG_LEVEL when the first profiler starts, and keeps the level from then on.
    It is put back right after, so that profilers of the script's say what they always say; where
    the level cannot be found, they stay silent.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._folder = os.path.join(os.path.dirname(torch.__file__), "lib")
        self._level: Any = None  # as long as the user's own level holds
        self._before = 0
        self._advice: Any = None
        self._is_first = _LOG_LEVEL not in os.environ
        if self._is_first:
            os.putenv(_LOG_LEVEL, str(_SILENT))  # os.environ does not show it to the script

    def __enter__(self) -> None:
        if self._is_first:
            self._level = self._find()
        if self._level is not None:
            self._before, self._level.value = self._level.value, _SILENT
        module = self._torch.profiler.profiler
        self._advice = getattr(module, _ADVICE, None)
        if self._advice is not None:
            setattr(module, _ADVICE, lambda *_, **__: None)

    def __exit__(self, *_: object) -> None:
        if self._is_first:
            self._is_first = False
            self._before = self._before or _ERRORS
            os.unsetenv(_LOG_LEVEL)
        if self._level is not None:
            self._level.value = self._before
        if self._advice is not None:
            setattr(self._torch.profiler.profiler, _ADVICE, self._advice)

    def _find(self) -> Any:
        import ctypes

        for name in _LIBRARIES:
            with suppress(OSError, ValueError, AttributeError):
                library = ctypes.CDLL(os.path.join(self._folder, name))
                return ctypes.c_int.in_dll(library, _LEVEL)
        return None


@contextmanager
def cupti_may_be_let_go(torch: Any) -> Iterator[None]:
    """Let a profiler that stops meanwhile let go of NVIDIA's CUPTI.

    It makes each launch slower for as long as a process has it loaded. Kineto keeps it after a
    profiler has stopped, unless TEARDOWN_CUPTI is 1 in the environment then. It must not be while
    one starts: what was to be recorded would be lost.

    What the script, or PyTorch for it, has set itself is left as it is. Programs that the script
    starts later do not see ours.
    """
    if _TEARDOWN in os.environ or not _can_let_go(torch):
        yield
        return
    os.putenv(_TEARDOWN, "1")
    try:
        yield
    finally:
        if _TEARDOWN not in os.environ:
            os.unsetenv(_TEARDOWN)


def _can_let_go(torch: Any) -> bool:
    """Tell whether it has CUDA, and one that can."""
    version = getattr(getattr(torch, "version", None), "cuda", None)
    numbers = str(version).split(".")[:2]
    return all(each.isdigit() for each in numbers) and tuple(map(int, numbers)) >= _SOUND_FROM


def _is_of_a_device(error: RuntimeError) -> bool:
    """Tell whether a device has failed: all that is asked of it from then on does, too."""
    words = "CUDA error", "HIP error"
    return type(error).__name__ == "AcceleratorError" or any(each in f"{error}" for each in words)


def _end_without_destructors(with_output: bool) -> None:
    """Let the process end without those of C++: Kineto's may wait for ever, or crash.

    What C has not written yet is written `with_output`.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # only the GNU C library has on_exit
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)  # what is registered last runs first, and gets the status
        if with_output:
            libc.on_exit(libc.fcloseall, None)
