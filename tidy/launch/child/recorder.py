"""The recording: when it begins, is cut, and ends.

It is cut in pieces, each written when it is done, so that a process that is killed leaves all but
the last. PyTorch's profiler must be stopped on the thread that started it, and not inside a
backward; where a cut is due at another moment it waits for the next call of Python on that thread.

When to cut and to end goes by real time. What is said of a piece (when it began and was cut, its
steps) is in the backend's time, as its events are: that of a modelled device is another one.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any

from . import endings
from .pieces import PieceWriter

_FIRST_PIECE_NS = 100_000_000
_SHORTEST_PIECE_NS = 50_000_000
_LONGEST_PIECE_NS = 30_000_000_000
_PIECE_NBYTES = 48 << 20  # about what a piece should be; it takes ten times that to read it
_MOST_NBYTES = 400 << 20
_STEPS_AFTER = 50  # how many steps are timed when the recording has ended


def record(framework: str, settings: dict[str, Any]) -> None:
    """Record this process from now on; what goes wrong is left for the parent to say."""
    pieces = PieceWriter(settings["folder"], framework)
    try:
        if framework == "torch":
            from .torch_backend import TorchBackend as Backend
        else:
            from .runtime_backend import RuntimeBackend as Backend  # type: ignore[assignment]
        recorder = Recorder(Backend(settings), pieces, settings)
    except Exception as error:  # whatever it is, the script goes on
        pieces.write_state(problem=f"cannot be recorded: {_one_line(error)}")
        return
    endings.install(recorder)
    if threading.current_thread() is threading.main_thread():
        recorder.begin()
    else:
        endings.call_in_main_thread(recorder.begin)


class Recorder:
    """Starts and stops a backend, by optimizer steps and by the clock."""

    def __init__(self, backend: Any, pieces: PieceWriter, settings: dict[str, Any]) -> None:
        self._backend, self._pieces = backend, pieces
        self._pid = os.getpid()
        self._last_step = settings["warmup"] + settings["steps"]
        self._seconds_ns = int(settings["seconds"] * 1e9)
        self._stop_after = settings["stop_after"]
        self._folder = settings["folder"]
        self._steps_ns: list[int] = []
        self._after_ns: list[int] = []
        self._optimizer: Any = None
        self._owner = 0
        self._busy = False
        self._due = ""  # what is to be done as soon as it can be: "cut" or "end"
        self._requested = False
        self._state = "new"  # then recording, waiting (for the first step), ended
        self._piece_ns = _FIRST_PIECE_NS
        self._nbytes = 0
        self._lines: Any = None
        if settings["stack"] and not backend.has_lines:
            from .lines import make_lines

            self._lines = make_lines(settings, self._look_at_clock)
        self._timed = self._lines is None
        self._at_step = self._began_at_step = False

    # -- begin and end ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Start recording on this thread."""
        try:
            self._backend.on_step(self._step)
            self._backend.watch_own_profiler(self.yield_to_script)
            self._owner = threading.get_ident()
            self._start()
        except Exception as error:
            self._give_up(error)
            return
        self._end_ns = time.time_ns() + self._seconds_ns
        if self._timed:
            endings.call_every(0.5, self._look_at_clock)

    def end(self) -> None:
        """Stop and write, wherever the script ends; again does nothing."""
        if self._pid != os.getpid() or self._state == "new":
            return
        self._after("end")
        self._write_state()

    def end_from_elsewhere(self, seconds: float) -> None:
        """The same from a thread that is about to end the process."""
        if self._state == "recording" and threading.get_ident() != self._owner:
            self._due = "end"
            endings.call_in_main_thread(self._do_due)
            limit = time.monotonic() + seconds
            while self._state == "recording" and time.monotonic() < limit:
                time.sleep(0.01)
        self.end()

    @property
    def busy(self) -> bool:
        """Whether it is starting, stopping or writing right now."""
        return self._busy

    def leave(self) -> None:
        """In a forked child: nothing there is recorded."""
        self._state = "ended"
        if self._lines is not None:
            self._lines.forget()
        self._backend.leave()

    def yield_to_script(self) -> None:
        """End because the script uses the profiler itself."""
        if self._state == "recording" and not self._busy:
            self._pieces.state["own_profiler"] = True
            self._after("end")

    # -- steps and the clock ----------------------------------------------------------------------

    def _step(self, optimizer: Any) -> None:
        """After each step of any optimizer; those of the first one seen are counted."""
        if self._pid != os.getpid():
            return
        known = self._optimizer() if self._optimizer is not None else None
        if known is None:
            self._optimizer = weakref.ref(optimizer)
        elif known is not optimizer:
            return
        moment = self._backend.now_ns()
        if self._state == "ended":
            self._step_after(moment)
            return
        now = time.time_ns()
        self._steps_ns.append(moment)
        self._at_step = True
        if self._state == "waiting":
            self._resume()
        elif len(self._steps_ns) >= self._last_step:
            self._after("end")
        else:
            if now > self._cut_ns and self._state == "recording" and not self._due:
                self._due = "end" if now > self._end_ns else "cut"
            if self._due:
                self._do_due()
        self._at_step = False

    def _step_after(self, moment: int) -> None:
        if self._stop_after and self._pieces.state.get("complete"):
            raise SystemExit(0)
        # The hook stays: it cannot be taken out while it is called.
        if len(self._after_ns) <= _STEPS_AFTER:
            self._after_ns.append(moment)
            if len(self._after_ns) > _STEPS_AFTER:
                self._write_state()

    def _look_at_clock(self, now: int = 0) -> None:
        """Ask for a cut or the end where it is time; called often, from any thread."""
        if self._state != "recording" or self._busy or self._due:
            return
        now = now or time.time_ns()
        if now > self._end_ns:
            self._due = "end"
        elif now > self._late_ns:
            self._due = "cut"
        if self._due:
            self._request()

    def _request(self) -> None:
        if not self._requested and self._backend.stops_anywhere:
            self._requested = True
            endings.call_in_main_thread(self._do_due)

    def _do_due(self) -> None:
        self._requested = False
        if self._due and self._state == "recording":
            self._after(self._due)

    def _after(self, what: str) -> None:
        """Cut or end now, or as soon as it can be."""
        if self._state != "recording" or self._busy:
            return
        if threading.get_ident() != self._owner or not self._backend.can_stop(self._at_step):
            self._due = what
            return
        self._due, self._busy = "", True
        try:
            complete = len(self._steps_ns) >= self._last_step
            waits = what == "end" and not self._steps_ns and time.time_ns() > self._end_ns
            if what == "end":
                self._state = "waiting" if waits else "ended"
                self._pieces.state["complete"] = complete
            try:
                self._stop()
            except (IndexError, RuntimeError):
                # PyTorch 2.13 now and then fails so when it collects Python's frames.
                if what != "cut":
                    raise
                self._pieces.first_step = len(self._steps_ns)
                self._pieces.state["lost"] = self._pieces.state.get("lost", 0) + 1
                self._backend.drop()
            if what == "cut" and self._nbytes < _MOST_NBYTES:
                self._start()
            elif what == "cut":
                self._state = "ended"
                self._pieces.state["problem"] = f"it had grown to {self._nbytes >> 20} MB"
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False
        if self._state == "ended" and complete:
            self._after_ns.append(self._backend.now_ns())
            self._write_state()
            if self._stop_after:
                raise SystemExit(0)
        endings.signals_now()

    def _resume(self) -> None:
        """Record again: the time was over before the first step came."""
        self._busy = True
        try:
            self._owner = threading.get_ident()
            self._start()
            self._end_ns = time.time_ns() + self._seconds_ns
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False

    # -- pieces -----------------------------------------------------------------------------------

    def _start(self) -> None:
        self._backend.start()
        self._state = "recording"
        self._began_at_step = self._at_step
        self._start_ns, self._began_ns = self._backend.now_ns(), time.time_ns()
        self._cut_ns = self._began_ns + self._piece_ns
        # A step is a better place for a cut; without any, it comes when the piece is twice as long.
        self._late_ns = self._cut_ns + self._piece_ns
        if self._lines is not None:
            self._lines.start()

    def _stop(self) -> None:
        lines = self._lines.stop(final=self._state == "ended") if self._lines is not None else None
        self._backend.wait_for_device()
        stopped_ns, cut_ns = time.time_ns(), self._backend.now_ns()
        self._backend.stop()
        steps, first = self._steps_ns, self._pieces.first_step
        facts = {
            "start_ns": self._start_ns,
            "cut_ns": cut_ns,
            "steps_ns": steps[first:],
            "steps_before": first,
            "began_at_step": self._began_at_step,
            "thread": self._owner_native(),
            "pid": self._pid,
            "header": self._backend.header(),
            "has_lines": self._lines is not None,
            "prefixes": self._backend.prefixes(),
        }
        self._pieces.first_step = len(steps)
        try:
            nbytes = self._pieces.write(self._backend.save, facts, lines)
        finally:
            self._backend.drop()
        self._nbytes += nbytes
        fitting = int((stopped_ns - self._began_ns) * _PIECE_NBYTES / max(1, nbytes))
        longest = min(2 * self._piece_ns, _LONGEST_PIECE_NS)
        self._piece_ns = max(_SHORTEST_PIECE_NS, min(fitting, longest))
        # Time that went into writing is not recorded time.
        self._end_ns += time.time_ns() - stopped_ns

    @staticmethod
    def _owner_native() -> int:
        return threading.get_native_id()

    def _give_up(self, error: BaseException) -> None:
        self._state = "ended"
        self._busy = False
        if self._lines is not None:
            self._lines.stop(final=True)
        self._pieces.write_state(problem=_one_line(error))

    def _write_state(self) -> None:
        self._pieces.write_state(steps=len(self._steps_ns), after_ns=self._after_ns)


def _one_line(error: BaseException) -> str:
    strerror = getattr(error, "strerror", None)
    text = strerror.lower() if strerror else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:500]
