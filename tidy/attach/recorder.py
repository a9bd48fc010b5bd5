"""Recording a loop of one's own, in its own process.

    with tidy.record(steps=10) as recording:
        for batch in loader:
            train(batch)
    print(recording.report())

The recorder is that of `tidy run`: it writes pieces into a temporary folder while it records, and
they are put together when somebody asks for the trace.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from contextlib import suppress
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Literal

from ..errors import UsageError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..api import Rules
    from ..report.report import Report
    from ..run.options import RunOptions
    from ..trace import Trace


class Recorder:
    """Records steps of a training loop, from `start()` to `stop()` or while it is entered.

    Steps are counted by the first optimizer that steps or, from its first call on, by `step()`.

    Args:
        steps: how many steps to record; then the loop goes on at full speed.
        warmup: how many steps before them are recorded, but not counted as steps. The first of
            them reaches from `start()` to the end of the first step.
        after: how many steps to leave out before those.
        seconds: the longest time to record, in seconds.
        stack: whether Python functions and lines are recorded.
        shapes: whether the shapes of inputs are.
        memory: whether allocations are.
        all_threads: whether ops of all threads are (PyTorch; memory is then not recorded).
        framework: "torch" or "runtime"; "auto" takes the one that is imported. Where both are, it
            is the one whose optimizer steps first, and PyTorch until then.
        title: what reports call the recording; by default the script.

    Raises:
        UsageError: an argument makes no sense.
    """

    def __init__(
        self,
        steps: int = 10,
        *,
        warmup: int = 1,
        after: int = 0,
        seconds: float = 60.0,
        stack: bool = True,
        shapes: bool = True,
        memory: bool = True,
        all_threads: bool = False,
        framework: str = "auto",
        title: str | None = None,
    ) -> None:
        settings: dict[str, Any] = dict(locals())
        del settings["self"]
        for name in ("steps", "warmup", "after"):
            value, least = settings[name], int(name == "steps")
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise UsageError(f"{name} is a whole number from {least} on, and not {value!r}")
            settings[name] = int(value)
        if not isinstance(settings["seconds"], Real) or not seconds > 0:
            raise UsageError(f"seconds is a number above 0, and not {seconds!r}")
        settings["seconds"] = min(float(seconds), TIMEOUT_MAX)  # inf cannot be waited for
        if framework not in ("auto", "torch", "runtime"):
            raise UsageError(f'framework is "auto", "torch" or "runtime", and not {framework!r}')
        self._framework, self._title = settings.pop("framework"), settings.pop("title")
        self._settings = settings
        self._child: Any = None
        self._folder: Path | None = None
        self._trace: Trace | None = None
        self._unwatch: Any = None

    # -- recording --------------------------------------------------------------------------------

    def start(self) -> None:
        """Record from now on, on this thread.

        Raises:
            UsageError: neither PyTorch nor tidy.runtime is imported, or a recording or a profiler
                runs already, of which there can be one.
        """
        framework, *others = _find_frameworks(self._framework)
        self._start(framework)
        if others:
            self._watch_runtime()

    def _start(self, framework: str) -> None:
        options = self._options()
        from ..run.child.attached import attach, detach

        if self._child is not None:
            raise UsageError("this recording has been started already: stop() it first")
        if self._folder is not None:
            self._remove()
        folder = Path(tempfile.mkdtemp(prefix=f"tidy-record-{os.getpid()}-"))
        self._folder, self._trace = folder, None
        self._remove: Any = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        settings = options.settings(str(folder))
        settings |= {"ours": str(Path(__file__).resolve().parents[1]), "loop": self._counts_itself}
        try:
            self._child = attach(framework, settings)
        except Exception as error:  # whatever the framework's profiler says
            raise UsageError(f"cannot be recorded: {error}") from None
        self._detach = weakref.finalize(self, detach, self._child)

    def _watch_runtime(self) -> None:
        """Record tidy.runtime from the first step of its optimizers on, if PyTorch's made none."""
        from ..run.child.attached import when_runtime_steps

        mine = weakref.WeakMethod(self._change_to_runtime)

        def stepped() -> None:
            change = mine()
            if change is not None:
                change()

        self._unwatch = weakref.finalize(self, when_runtime_steps(stepped).remove)

    def _change_to_runtime(self) -> None:
        self._unwatch()
        if self._child is None or self._child.step_count:
            return
        self._end()
        with suppress(UsageError):  # the loop goes on; that nothing was recorded is said later
            self._start("runtime")

    _counts_itself = False

    def step(self) -> None:
        """Note that a step of the loop is over.

        For loops without an optimizer, or in which a step is not one of the optimizer's. From its
        first call on optimizers are not counted. Outside of `start()` and `stop()` it does nothing.
        """
        if self._child is not None:
            self._child.step()

    def stop(self) -> None:
        """End the recording where it has not ended itself; nothing of it stays behind.

        Again it does nothing.
        """
        if self._unwatch is not None:
            self._unwatch()
        self._end()

    def _end(self) -> None:
        if self._child is not None:
            self._detach()
            self._child = None

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_started(self) -> bool:
        """Tell whether it was started and not stopped."""
        return self._child is not None

    @property
    def is_recording(self) -> bool:
        """Tell whether it was started, and has not yet recorded all it was to record."""
        return self._child is not None and self._child.state != "ended"

    # -- what was recorded ------------------------------------------------------------------------

    @property
    def trace(self) -> Trace:
        """Return the recorded trace, which is put together when it is first asked for.

        Raises:
            UsageError: it is still being recorded, or nothing was.
        """
        from ..averages import EventList  # noqa: F401 - they give traces `table()` and more

        if self._trace is None:
            self._trace = self._make(None).trace
        return self._trace

    def report(
        self,
        *,
        select: str | Iterable[str] | None = None,
        ignore: str | Iterable[str] | None = None,
        patterns: Rules = (),
        name: str | None = None,
        savings: Literal["replay", "off"] | None = None,
        warn_from: float | None = None,
        options: Mapping[str, Mapping[str, float]] | None = None,
        config: str | os.PathLike[str] | None = None,
        sources: str | os.PathLike[str] | None = None,
        baseline: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Return what the rules find in it; see `tidy.check` for the arguments.

        Raises:
            UsageError: it is still being recorded, or nothing was.
            TidyError: as `tidy.check`.
        """
        arguments = dict(locals())
        del arguments["self"]
        from ..api import check

        return check(self.trace, **arguments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace in Kineto's format, which Perfetto opens; in gzip for a name in .gz.

        Raises:
            UsageError: it is still being recorded, nothing was, or the file cannot be written.
        """
        target = Path(path)
        made = self._make(target)
        self._trace = self._trace or made.trace
        error = made.file.error
        if error is not None:
            raise UsageError(f"{target}: cannot be written: {reason_of(error)}")

    def _make(self, file: Path | None) -> Any:
        if self._child is not None:
            raise UsageError("the recording has not ended yet: stop() it first")
        if self._folder is None:
            raise UsageError("nothing was recorded: start() was not called")
        from ..run.recording import find_recordings
        from ..run.script import assemble_trace

        for recording in find_recordings(self._folder):
            options = replace(self._options(), trace=None if file is None else str(file))
            return assemble_trace(recording, options, self._folder)
        raise UsageError("nothing was recorded")

    def _options(self) -> RunOptions:
        from ..run.options import RunOptions

        return RunOptions([self._title or _script_name()], **self._settings)

    def __repr__(self) -> str:
        if self._child is not None:
            state = "is being recorded" if self.is_recording else "all recorded, not stopped"
        else:
            state = "not started" if self._folder is None else "recorded; report() checks it"
        return f"<tidy.Recorder of {self._title or _script_name()}: {state}>"


def record(
    steps: int = 10,
    *,
    warmup: int = 1,
    after: int = 0,
    seconds: float = 60.0,
    stack: bool = True,
    shapes: bool = True,
    memory: bool = True,
    all_threads: bool = False,
    framework: str = "auto",
    title: str | None = None,
) -> Recorder:
    """Record steps of the loop in a `with` statement; see `Recorder` for the arguments.

        with tidy.record(steps=10) as recording:
            train()
        print(recording.report())
        recording.save("trace.json.gz")

    An exception in the body goes on as it would without; what was recorded until then is there.

    Raises:
        UsageError: an argument makes no sense; on entering, as for `Recorder.start`.
    """
    return Recorder(**locals())


def _find_frameworks(wanted: str) -> list[str]:
    """The frameworks that may be recorded, which the script has imported."""
    # Under `tidy run --framework runtime` the name torch stands for tidy.runtime.
    torch = getattr(sys.modules.get("torch"), "__name__", "")
    loaded = {"torch": torch == "torch", "runtime": "tidy.runtime" in sys.modules}
    found = [name for name in loaded if loaded[name] and wanted in ("auto", name)]
    if not found:
        modules = {"torch": "torch", "runtime": "tidy.runtime"}
        what = modules.get(wanted, "torch or tidy.runtime")
        raise UsageError(f"there is nothing to record: import {what} before")
    return found


def _script_name() -> str:
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        return "notebook"
    return sys.argv[0] or "<stdin>" if sys.argv and sys.argv[0] != "-c" else "<string>"
