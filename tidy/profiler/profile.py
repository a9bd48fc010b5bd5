"""`profile`: the profiler, with the interface of `torch.profiler.profile`.

    with profile(record_shapes=True, with_stack=True) as prof:
        train_some_steps()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))
    prof.export_chrome_trace("trace.json.gz")

Source: torch/profiler/profiler.py.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import UsageError, reason_of
from ..runtime.observe.record_function import record_function
from .schedule import ProfilerAction, Schedule, always, tracker

if TYPE_CHECKING:
    from ..averages import EventList, FunctionEvents
    from ..averages.event_list import of_averages
    from ..trace import Trace
    from ..trace.raw_columns import Interner
    from .capture import EventCapture
    from .piece import Piece
    from .python_functions import PurePython

_KEEPS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
# After an action, those with which the same recording goes on.
_GOES_ON = {ProfilerAction.WARMUP: (ProfilerAction.WARMUP,), ProfilerAction.RECORD: _KEEPS}
_REQUESTER = "ProfilerStep"
_OPTIONS = ("with_stack", "profile_memory", "record_shapes", "with_flops", "with_modules")
_running: list[Any] = []  # the one profiler that observes, if any


class ProfilerActivity(Enum):
    """The things that can be recorded: the CPU, and CUDA where there are modelled devices."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class _OfAverages:
    """A method of averages as one of the profiler; they are loaded when it is asked for.

    A script that `tidy run` records asks for none.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, profiler: object, _: type | None = None) -> Callable[..., Any]:
        from ..averages.event_list import EventList, of_averages

        method = of_averages(getattr(EventList, self._name))
        return method if profiler is None else MethodType(method, profiler)


class profile:  # noqa: N801 - PyTorch's name
    """Records operators of tidy.runtime while it is entered, or from `start()` to `stop()`.

    Args:
        activities: `ProfilerActivity.CPU` and `.CUDA`; without the latter nothing is kept of what
            devices do. By default all; operators on the host are always recorded.
        schedule: step -> ProfilerAction; `step()` then goes from one step to the next.
        on_trace_ready: called with this profiler when a cycle of the schedule, or all, is recorded.
        record_shapes: the operators' inputs: shapes, dtypes, strides, values of scalars.
        profile_memory: allocations and frees.
        with_stack: Python functions, and the line of each call.
        with_flops: operations of matrix products and convolutions; records shapes.
        with_modules: calls of modules; they come with `with_stack`.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        self._devices = activities is None or any(
            getattr(each, "name", each) == "CUDA" for each in activities
        )
        self.schedule = schedule or always
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack, self.with_modules = with_stack or with_modules, with_modules
        self.with_flops = with_flops
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._capture: EventCapture | None = None
        self._stopped: EventCapture | None = None  # has captured; nothing is made of it yet
        self._piece: Piece | None = None
        self._trace: Trace | None = None
        self._range: record_function | None = None
        self._metadata: dict[str, Any] = {}
        self.forward_lines: dict[tuple[int, int], str] = {}  # of the piece that comes before
        self.module_numbers: dict[str, Interner] = {}  # of all pieces before, by class
        self.pure_python: PurePython | None = None  # set by `tidy run`, which leaves it out
        self.waits_for_devices = True  # when it stops

    # -- recording --------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, with step 0.

        Raises:
            UsageError: a profiler is running already.
        """
        if _running:
            raise UsageError(
                "a profiler is running already, and there can be only one: stop it first"
            )
        action = self.schedule(self.step_num)
        _running.append(self)
        tracker.add(_REQUESTER)
        try:
            self._begin(action)
        except BaseException:
            _running.clear()
            tracker.remove(_REQUESTER)
            raise

    def stop(self) -> None:
        """End; what was recorded since the last save is kept and handed to `on_trace_ready`."""
        if self not in _running:
            return
        try:
            self._leave_step()
            kept = self._end()
            self.current_action = ProfilerAction.NONE
        finally:
            _running.clear()
            tracker.remove(_REQUESTER)
        if kept and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def leave(self) -> None:
        """In a forked child: capture none of its Python functions."""
        if self._capture is not None and self._capture.python is not None:
            self._capture.python.stop()

    def step(self) -> None:
        """Begin the next training step."""
        if self not in _running:
            raise UsageError("step() before start(): there is no recording to go on with")
        self._leave_step()
        self.step_num += 1
        tracker.increment(_REQUESTER)
        after = self.schedule(self.step_num)
        if after in _GOES_ON.get(self.current_action, ()):
            self.current_action = after
            self._enter_step()
        else:
            if self._end() and self.on_trace_ready is not None:
                self.on_trace_ready(self)
            self._begin(after)

    def _begin(self, action: ProfilerAction) -> None:
        from .capture import EventCapture

        self.current_action = action
        if action != ProfilerAction.NONE:
            self._capture = EventCapture(
                shapes=self.record_shapes,
                stacks=self.with_stack,
                memory=self.profile_memory,
                devices=self._devices,
                pure=self.pure_python,
            )
            self._capture.forward_lines = self.forward_lines
            self._capture.module_numbers = self.module_numbers
            self._capture.start()
        self._enter_step()

    def _end(self) -> bool:
        """Capture no more; tell whether what was captured is kept."""
        capture, self._capture = self._capture, None
        is_kept = self.current_action in _KEEPS
        if capture is not None:
            capture.stop(self.waits_for_devices)
            if is_kept:
                self._stopped, self._piece, self._trace = capture, None, None
        return is_kept

    def _enter_step(self) -> None:
        if self.schedule is not always or self.step_num:
            self._range = record_function(f"ProfilerStep#{self.step_num}")
            self._range.__enter__()

    def _leave_step(self) -> None:
        if self._range is not None:
            self._range.__exit__(None, None, None)
            self._range = None

    # -- what was recorded ------------------------------------------------------------------------

    @property
    def piece(self) -> Piece:
        """Made when it is first asked for. Raises UsageError while there is none."""
        if self._stopped is not None:
            from .finish import finish

            self._piece, self._stopped = finish(self._stopped, self._options()), None
        if self._piece is None:
            raise UsageError("nothing has been recorded yet: the profiler has to be stopped first")
        return self._piece

    @property
    def trace(self) -> Trace:
        """Return what was recorded, as `tidy.load` reads it from the exported file."""
        from ..averages import EventList  # noqa: F401 - they give traces `table()` and more
        from .piece_rows import to_trace

        if self._trace is None:
            self._trace = to_trace(self.piece, self._header())
        return self._trace

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace in Kineto's format; packed if the name ends in .gz.

        Raises:
            UsageError: nothing was recorded, or the file cannot be written.
        """
        from .kineto import write_chrome_trace

        write_chrome_trace(path, self.piece, self._header())

    def events(self) -> FunctionEvents:
        """Operators and ranges, as `torch.autograd.profiler` lists them."""
        events: FunctionEvents = self.trace.function_events
        return events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """Sums over all events with the same name (and shapes, and innermost Python frames)."""
        from ..averages import key_averages

        return key_averages(self.events(), group_by_input_shape, group_by_stack_n)

    if TYPE_CHECKING:
        total_average = of_averages(EventList.total_average)
        table = of_averages(EventList.table)
        export_stacks = of_averages(EventList.export_stacks)
    else:
        total_average = _OfAverages()
        table = _OfAverages()
        export_stacks = _OfAverages()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds on the CPU, in all."""
        return self.key_averages().self_cpu_time_total

    def _repr_html_(self) -> str:
        if self._stopped is None and self._piece is None:
            return repr(self)
        return self.key_averages()._repr_html_()

    def is_inside(self, prefix: str) -> bool:
        """Tell whether a range with a name that begins so is open, in any thread."""
        return self._capture is not None and self._capture.is_inside(prefix)

    def is_inside_operator(self) -> bool:
        """Tell whether this thread is in an operator or a node, which would be lost if it ended."""
        return self._capture is not None and self._capture.is_inside_operator()

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the header of the trace."""
        self._metadata[key] = value
        self._trace = None

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add the same with a text that is JSON.

        Raises:
            UsageError: it is none.
        """
        try:
            self._metadata[key] = json.loads(value)
        except ValueError as error:
            raise UsageError(f"add_metadata_json: {key}: not JSON: {error}") from error
        self._trace = None

    def _header(self) -> dict[str, Any]:
        return {**self.piece.header, **self._metadata}

    def _options(self) -> dict[str, Any]:
        return {
            **{name: int(getattr(self, name)) for name in _OPTIONS},
            "framework": "tidy.runtime",
            "framework_version": __version__,
            "host_name": socket.gethostname(),
        }


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be recorded of tidy.runtime: CUDA where modelled devices are configured."""
    from ..runtime.cuda import is_available

    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if is_available() else set())


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Write each trace to a file of its own in a folder, under TensorBoard's name for it.

    Args:
        worker_name: of this process, different from all others'; by default host and process.

    Raises:
        UsageError: when a trace is ready and the folder cannot be made.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
    suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"

    def write(prof: profile) -> None:
        folder = Path(dir_name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: the folder cannot be made: {reason_of(error)}") from error
        prof.export_chrome_trace(folder / f"{worker}.{time.time_ns()}{suffix}")

    return write
