"""Recording with the profiler of tidy.runtime, which knows the lines itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .backend import Backend
from .kept import os, time
from .made_places import MadePlaces
from .repeated_calls import RepeatedCalls
from .stages import PieceLength

_EVENT_NBYTES = 350  # that an event takes in a trace file, with its share of memory and device


class RuntimeBackend(Backend):
    """Starts, stops and saves `tidy.profiler.profile`."""

    suffix = ".piece"
    has_lines = True
    has_all_threads = True

    def __init__(self, settings: dict[str, Any]) -> None:
        from tidy.profiler import profile
        from tidy.profiler.capture import both_clocks
        from tidy.profiler.python_functions import PurePython
        from tidy.runtime.core.thread_state import thread as per_thread
        from tidy.runtime.modelled import clock
        from tidy.runtime.observe import worker_batches
        from tidy.runtime.observe.record_function import record_function

        super().__init__(settings)
        self._modelled_clock, self._both_clocks = clock, both_clocks
        self.ranges = record_function  # the class of ranges
        self._profile, self._per_thread = profile, per_thread
        self._watchers = worker_batches.watchers
        self._paused_ns = 0  # since when the recorder has been at work, on the real clock
        self._forward_lines: Any = {}
        self._module_numbers: Any = {}
        self._pure_python = PurePython()
        # Loads all that is needed to save. To import it when the script has ended would be too
        # late: code run then makes Python forget that it was Ctrl-C that ended it.
        self.start(light=False)
        self.stop(is_last=True)
        self.save(os.devnull)
        self.drop()

    def _stepping(self) -> tuple[Any, Any]:
        from tidy.runtime import cuda
        from tidy.runtime.optim import optimizer

        return cuda, optimizer

    def _loader(self) -> Any:
        from tidy.runtime.data.dataloader import DataLoader

        return DataLoader

    def _modules(self) -> tuple[Any, Any]:
        from tidy import runtime
        from tidy.runtime.nn import module

        return runtime, module

    def note_places(self, places: MadePlaces) -> None:
        super().note_places(places)
        framework, home = self._modules()
        self._of_steps.call_first(home.Module, "_apply", places.modules.converted)
        self._of_steps.call_first(framework, "set_default_dtype", places.modules.default_set)

    def _anomaly(self) -> Any:
        from tidy.runtime.engine import anomaly

        return anomaly

    def _note_calls(self, calls: RepeatedCalls) -> None:
        from tidy import runtime

        if self._settings["stack"]:
            calls.begin(runtime)
            self._pure_python.on_module = calls.called

    def forget_steps(self) -> None:
        if self._hook is not None:
            self._hook.remove()
        super().forget_steps()

    def watch_own_profiler(self, yield_to_script: Callable[[], None]) -> None:
        """Call back before the script starts a profiler of its own; there can be only one."""

        def give_way(profiler: Any) -> None:
            if profiler is not self._profiler:
                yield_to_script()

        self._patches.call_first(self._profile, "start", give_way)

    def has_profiler(self) -> bool:
        """Tell whether a profiler runs; where one does, making this backend has failed before."""
        return False

    def can_stop(self, at_step: bool) -> bool:
        """Neither inside a backward, whose operators have the lines of their nodes, nor in the
        middle of an optimizer's step.
        """
        in_step = not at_step and self._profiler.is_inside("Optimizer.step#")
        return self._per_thread.depth == 0 and not in_step

    def may_cut(self, at_step: bool, length: PieceLength) -> bool:
        """Tell whether no op is under way on this thread; a cut would lose it.

        A loader may take its batch first, if that ends soon: what it takes after a cut is in no
        fetch, and looks like a loop of the script's own.
        """
        if self._profiler.is_inside_operator():
            return False
        return not self._profiler.is_inside("enumerate(DataLoader)#") or length.has_waited()

    def now_ns(self) -> int:
        """Return the time on the clock of what is recorded: a modelled device has one of
        its own.
        """
        return time.time_ns() - self._modelled_clock.offset_ns

    def start(self, light: bool) -> None:
        """Begin a piece; a light one has times alone."""
        settings = self._settings
        # A profiler of the script's would see nothing while we look at functions.
        is_profiled = sys.version_info < (3, 12) and sys.getprofile() is not None
        self._profiler = self._profile(
            record_shapes=settings["shapes"] and not light,
            with_stack=settings["stack"] and not light and not is_profiled,
            profile_memory=settings["memory"] and not light,
        )
        self._profiler.forward_lines = self._forward_lines
        self._profiler.module_numbers = self._module_numbers
        self._profiler.waits_for_devices = False  # they go on when the script does
        self._profiler.pure_python = self._pure_python
        if self._worker_lines is not None:
            self._watchers[:] = [self._worker_lines]
        self._take_off()
        self._profiler.start()

    def stop(self, is_last: bool) -> int:
        """End the piece and return when it began."""
        self._watchers.clear()
        self._take_off()
        self._profiler.stop()
        start_ns: int = self._profiler.piece.start_ns
        return start_ns

    def save(self, path: str) -> int:
        """Write the piece; about how large its trace will be, in bytes."""
        piece = self._profiler.piece
        self._forward_lines = piece.forward_lines
        with open(path, "wb") as file:
            file.write(piece.packed())
        return _EVENT_NBYTES * len(piece.events)

    def pause(self) -> int:
        """Return the time; until `resume` no time passes on the clock of modelled devices."""
        self._paused_ns, unix_ns = self._both_clocks()
        clock = self._modelled_clock
        if clock.offset_ns:
            clock.count(self._paused_ns, self._paused_ns, 0)  # what is under way counts up to here
        now_ns: int = unix_ns - clock.offset_ns
        return now_ns

    def resume(self) -> None:
        self._take_off()
        self._paused_ns = 0

    def _take_off(self) -> None:
        """Have the time since the pause began, or since this was last done, not count."""
        clock = self._modelled_clock
        if self._paused_ns and clock.offset_ns:
            clock.count(self._paused_ns, time.perf_counter_ns(), 0)

    def drop(self) -> None:
        self._profiler = None

    def leave(self) -> None:
        """In a forked child, which would go on noting its Python functions."""
        if self._profiler is not None:
            self._profiler.leave()

    def header(self) -> dict[str, Any]:
        return {}
