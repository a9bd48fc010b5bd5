"""Recording with the profiler of tidy.runtime, which knows the lines itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any


class RuntimeBackend:
    """Starts, stops and exports `tidy.profiler.profile`."""

    has_lines = True
    stops_anywhere = True

    def __init__(self, settings: dict[str, Any]) -> None:
        from tidy.profiler import profile
        from tidy.profiler.device import wait_for_work
        from tidy.runtime.cuda import clock
        from tidy.runtime.record_function import per_thread

        self._unix_ns, self._wait = clock.unix_ns, wait_for_work
        self._profile, self._settings, self._per_thread = profile, settings, per_thread
        self._profiler: Any = None
        self._forward_lines: Any = {}
        # Loads all that is needed to export. To import it when the script has ended would be too
        # late: code run then makes Python forget that it was Ctrl-C that ended it.
        self.start()
        self.stop()
        self.save(os.devnull)
        self.drop()

    def on_step(self, step: Callable[[Any], None]) -> None:
        """Have `step(optimizer)` called after each step of an optimizer made from now on."""
        from tidy.runtime.optim.optimizer import Optimizer

        kind: Any = Optimizer
        init = kind.__init__

        @wraps(init)
        def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            optimizer.register_step_post_hook(lambda one, args, kwargs: step(one))

        kind.__init__ = made

    def watch_own_profiler(self, yield_to_script: Callable[[], None]) -> None:
        """Call back before the script starts a profiler of its own; there can be only one."""
        kind: Any = self._profile
        start = kind.start

        @wraps(start)
        def give_way(profiler: Any) -> None:
            if profiler is not self._profiler:
                yield_to_script()
            start(profiler)

        kind.start = give_way

    def can_stop(self, at_step: bool) -> bool:
        """Neither inside a backward, whose operators have the lines of their nodes, nor in the
        middle of an optimizer's step.
        """
        in_step = not at_step and self._profiler.is_inside("Optimizer.step#")
        return self._per_thread.depth == 0 and not in_step

    def now_ns(self) -> int:
        """The time on the clock of what is recorded: a modelled device has one of its own."""
        return int(self._unix_ns())

    def wait_for_device(self) -> None:
        """What is launched by now ends before now."""
        self._wait()

    def start(self) -> None:
        settings = self._settings
        self._profiler = self._profile(
            record_shapes=settings["shapes"],
            with_stack=settings["stack"],
            profile_memory=settings["memory"],
        )
        self._profiler.forward_lines = self._forward_lines
        self._profiler.start()

    def stop(self) -> None:
        self._profiler.stop()

    def save(self, path: str) -> None:
        self._profiler.export_chrome_trace(path)
        self._forward_lines = self._profiler.recording.forward_lines

    def drop(self) -> None:
        self._profiler = None

    def leave(self) -> None:
        """In a forked child."""

    def header(self) -> dict[str, Any]:
        return {}

    def prefixes(self) -> list[str]:
        return []
