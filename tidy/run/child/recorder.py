"""The recording: when its stages begin, are cut in pieces, and end.

It is cut in pieces, each written when it is done, so that a process that is killed leaves all but
the last. PyTorch's profiler must be stopped on the thread that started it, and not inside a
backward; where a cut is due at another moment it waits for the next call of Python on that thread.

Steps may come from any thread, and a cut from the main one: a lock lets one of them at the recorder
at a time. `busy` is for what a signal handler does on the thread that has it.

When to cut and to end goes by real time. What is said of a piece (when it began and was cut, its
steps) is in the backend's time, as its events are: that of a modelled device is another one.
"""

from __future__ import annotations

import sys
from typing import Any

from . import allocator, endings
from .bare_stages import BareStages
from .guard import Harmless, harmless, has_room, one_line
from .kept import os, thread, time
from .made_places import MadePlaces
from .piece_writer import PieceWriter
from .processor_times import idle_ns, processor_times, times_of_threads
from .stages import BARE, FULL, LIGHT, RECORDED, PieceLength, StageRun, round_of, stages_of
from .step_source import RecordedThread, StepSource


class Recorder(Harmless):
    """Starts and stops a backend, by optimizer steps and by the clock.

    Args:
        settings: of `tidy run`; see stages.py for the stages that they ask for.

    Attributes:
        busy: whether it is starting, stopping or writing right now.
        state: "new", then "recording", "counting" (steps that are not recorded), "waiting" (for
            the step at which the stage begins), "leaving" (the script is to end at the next step),
            and "ended" when all is recorded that was to be.
        step_count: how many steps were counted.
    """

    def __init__(self, backend: Any, pieces: PieceWriter, settings: dict[str, Any]) -> None:
        self._backend, self._pieces = backend, pieces
        self._pid = os.getpid()
        self._most_nbytes = settings["max_size"]
        self._stage = StageRun(stages_of(settings))
        self._stop_after = settings["stop_after"]
        self.step_count = self._first_step = 0  # the latter before the piece under way
        self._steps_ns: list[int] = []  # of the piece under way
        self._are_anew = False  # whether steps of earlier pieces do not count
        self._bare = BareStages(backend)
        self._source = StepSource(is_loop=settings.get("loop", False))
        self._thread = RecordedThread(backend.has_all_threads, self._end_of_thread)
        self._lock = thread.RLock()
        self.busy, self._paused_ns = False, 0  # the latter: when the recorder was last called
        # As soon as it can be: "cut", "next" stage, "move" to the thread that steps next, or "end".
        self._due = ""
        self.state, self._has_begun = "new", False  # the former tells of it when that is done
        self._length = PieceLength()
        self._places = MadePlaces(settings.get("ours", ""))
        self._lines: Any = None
        if settings["stack"] and not backend.has_lines:
            if sys.version_info >= (3, 12):
                from .lines_monitoring import MonitoringLines as Lines
            else:
                from .lines_trace import TraceLines as Lines
            self._lines = Lines(self._look_at_clock, settings.get("ours", ""), self._places.modules)
            self._lines.library.on_module = self._places.repeated.called
        self._at_step = self._began_at_step = False
        self._clock: Any = None

    @harmless
    def begin(self) -> None:
        """Begin the first stage, on this thread; again, or while that is under way, do nothing."""
        if self._has_begun or self.state != "new":
            return
        self._has_begun = True
        self._backend.on_step(self._step, self.step, self._source.made, self._places.optimizer_made)
        self._backend.note_places(self._places)
        self._backend.watch_own_profiler(self.yield_to_script)
        allocator.steady()
        self._begin_stage()
        if self.state != "ended":
            self._clock = endings.Ticker(0.05, self._look_at_clock)

    def _begin_stage(self) -> None:
        """For as long as it may take; again where its time was over before the first step."""
        if self._stage.how not in RECORDED:
            self.state = "counting"
            self._stage.set_end()
            if self._stage.how == BARE:
                self._bare.begin()
            return
        self.busy = True
        try:
            self._start()
            self._stage.set_end()  # to start the first time may take long
        except Exception as error:
            self.fail(error)
        finally:
            self.busy = False
        endings.signals_now()

    def _next_stage(self) -> None:
        """Begin it here, between two steps, or else at the next one; after the last one end."""
        self._bare.stop()
        if self._stage.how == FULL and (why := self._stage.why_short()):
            self._pieces.state.setdefault(why, []).append(round_of(self._stage.number))
        self._write_state()
        if self.step_count:
            if not self._stage.go_on():  # all are over
                self.state = "leaving"
                if self._at_step or not self._stop_after:
                    self._end_stages()
                return
            self._length.begin_stage()
        if self._at_step:
            self._begin_stage()
        else:
            self.state = "waiting"

    def _end_stages(self) -> None:
        self.state = "ended"
        self._backend.forget_steps()
        if self._stop_after:
            raise SystemExit(0)

    @harmless
    def end(self) -> None:
        """Stop and write, wherever the script ends; again does nothing."""
        if self._pid != os.getpid() or self.state == "new":
            return
        with self._lock:
            self._after("end")
            if self.state != "recording":  # it may be that it cannot be stopped here
                self._write_state()

    def close(self) -> None:
        """End, and take away all that was put into the framework; not while a step is counted."""
        self.end()
        self.state = "ended"
        self._bare.stop()
        self._backend.close()
        if self._clock is not None:
            self._clock.stop()

    @harmless
    def end_from_elsewhere(self, _: object) -> None:
        """End the process from a thread of it, with the same work before."""
        is_mine = self._pid == os.getpid()
        if is_mine and self.state == "recording" and not self._thread.is_here:
            self._due = "end"
            endings.call_in_main_thread(self._do_due)
            endings.wait_for_end(self)
        self.end()

    @harmless
    def _end_of_thread(self) -> None:
        """Stop here; the next thread that steps is recorded."""
        if self.state == "recording" and self._thread.is_here:
            with self._lock:
                self._after("move")

    @harmless
    def leave(self) -> None:
        """In a forked child: nothing there is recorded."""
        self.state = "ended"
        self._bare.stop()
        if self._lines is not None:
            self._lines.forget()
        self._backend.leave()

    @harmless
    def yield_to_script(self) -> None:
        """End because the script uses the profiler itself."""
        if self.state == "recording" and not self.busy:
            self._pieces.state["own_profiler"] = True
            with self._lock:
                self._after("end")
        elif self.state in ("counting", "waiting"):
            self.state = "ended"
            self._bare.stop()
            self._write_state()

    @harmless
    def step(self) -> None:
        """Note that a round of the script's loop is over; from the first call on optimizers do not
        count.

        Those that an optimizer counted before are parts of the same round.
        """
        is_first = self._source.give_to_loop()
        if not is_first or not self.step_count or self.state != "recording":
            self._count()
        elif self._stage.step_count:
            self.step_count -= self._stage.step_count - 1
            self._stage.step_count, before = 1, self.step_count - 1
            self._are_anew, self._first_step = self._first_step > before, before
            self._steps_ns = [self._backend.now_ns()]

    @harmless
    def _step(self, optimizer: Any, *_: Any) -> None:
        """After each step of any optimizer; those of the first one seen are counted."""
        self._places.steps(optimizer)
        if self._source.counts(optimizer):
            self._count()

    def _count(self) -> None:
        if self.state == "ended" or self._pid != os.getpid():
            return
        with self._lock:
            self._at_step = True
            try:
                moment = self._paused_ns = self._backend.pause()
                self.step_count += 1
                if self._lines is not None and self._stage.how == FULL:
                    self._lines.refresh()
                self._after_step(moment)
            finally:
                self._backend.resume()
                self._at_step = False

    def _after_step(self, moment: int) -> None:
        if self.state == "leaving":
            self._end_stages()
        elif self.state == "waiting":
            self._stage.step_count += self._stage.how == FULL  # it begins anew at its first step
            self._begin_stage()
        elif self.state == "counting":
            self._stage.step_count += 1
            if self._stage.how == BARE:
                self._bare.add(moment)
            if self._stage.has_all_steps or self._stage.is_late():
                self._next_stage()
        else:
            if self._thread.must_move():
                self._due = "move"
                endings.call_in_main_thread(self._do_due)
                return
            self._steps_ns.append(moment)
            self._stage.step_count += 1
            now = time.time_ns()
            if self._stage.has_all_steps:
                self._after("next")
            elif now > self._length.cut_ns and self.state == "recording" and not self._due:
                self._due = "next" if self._stage.is_late(now) else "cut"
            if self._due:
                self._after(self._due)

    def _look_at_clock(self, now: int = 0) -> bool:
        """Called often, from any thread; whether it is to be called again."""
        try:  # near the limit of recursion it does nothing
            return self._ask_if_due(now) if has_room() else True
        except RecursionError:
            return True

    @harmless
    def _ask_if_due(self, now: int) -> bool:
        """Ask for a cut or the stage's end where it is time; whether there may be another."""
        if self.state != "recording" or self.busy:
            return self.state != "ended"
        now = now or time.time_ns()
        if not self._due and now > min(self._length.late_ns, self._stage.end_ns):
            self._due = "next" if self._stage.is_late(now) else "cut"
        if self._due:
            endings.call_in_main_thread(self._do_due)
        return True

    @harmless
    def _do_due(self) -> None:
        # Where a thread is at work, which may be this one in a step's end, it is asked for again.
        may_do = self._due and not self._at_step and self._pid == os.getpid()
        if may_do and self.state == "recording" and self._lock.acquire(blocking=False):
            try:
                self._after(self._due)
            finally:
                self._lock.release()

    def _after(self, what: str) -> None:
        """Cut, go to the next stage, or end; now, or as soon as it can be."""
        if self.state != "recording" or self.busy:
            return
        is_end = what == "end"
        can_stop = self._thread.may_stop and self._backend.can_stop(self._at_step)
        if not can_stop or not (is_end or self._backend.may_cut(self._at_step, self._length)):
            self._due = what
            return
        self._due, self.busy = "", True
        self._backend.has_moved |= what == "move"
        if not self._at_step:
            self._paused_ns = self._backend.pause()
        try:
            if what != "cut":
                self.state = "ended" if is_end else "waiting"
            with endings.interrupts_later():
                self._stop_or_drop(what)
                if what == "cut" and self._stage.nbytes < self._most_nbytes:
                    self._start()
                elif what == "cut":
                    self.state, what = "waiting", "next"
                    if self._lines is not None:
                        self._lines.stop(final=True)
                    self._pieces.state["problem"] = (
                        f"it had grown to {self._stage.nbytes / 1e6:.0f} MB; --max-size allows more"
                    )
        except Exception as error:
            self.fail(error)
        finally:
            self.busy = False
            if not self._at_step:
                self._backend.resume()
        if self.state == "waiting" and what != "move":
            self._next_stage()
        elif self.state == "ended":
            self._write_state()
        endings.signals_now()

    def _stop_or_drop(self, what: str) -> None:
        try:
            self._stop(what)
        except (IndexError, RuntimeError) as error:
            # PyTorch's may fail so when it puts the events together.
            self._pieces.say(f"the profiler failed ({one_line(error)})")
            self._first_step, self._steps_ns = self.step_count, []
            self._backend.drop()

    def _start(self) -> None:
        is_full = self._stage.how == FULL
        self._first_step, self._steps_ns = self.step_count, []
        self._pieces.begin()
        self._before = times_of_threads(), idle_ns()
        self._backend.start(light=not is_full)
        self._thread.begin()
        self.state = "recording"
        self._began_at_step = self._at_step
        self._length.begin()
        if self._lines is not None and is_full:
            self._lines.start()

    def _stop(self, what: str) -> None:
        self._pieces.say("writing")
        has_lines = self._lines is not None and self._stage.how == FULL
        lines = self._lines.stop(final=what != "cut") if has_lines else None
        stopped_ns, of_processors = time.time_ns(), processor_times(*self._before)
        start_ns = self._backend.stop(is_last=what == "next" and self._stage.how == LIGHT)
        if lines is not None:
            self._lines.learn(lines, self._backend.starts_ns)
        facts = {
            "start_ns": start_ns,
            "cut_ns": self._paused_ns,  # what is open then has not lasted for what the recorder did
            "how": self._stage.how,
            "stage": self._stage.number,
            **of_processors,
            "steps_ns": self._steps_ns,
            "steps_before": self._first_step,
            "steps_anew": self._are_anew,
            "began_at_step": self._began_at_step,
            "in_module": what == "cut" and self._backend.is_in_module(),
            "thread": self._thread.of_steps(),
            "pid": self._pid,
            "header": self._backend.header(),
            "has_lines": has_lines,
            **self._places.noted(),
        }
        step_count, self._are_anew = len(self._steps_ns), False
        self._first_step, self._steps_ns = self.step_count, []
        try:
            nbytes = self._pieces.write(self._backend, facts, lines)
        finally:
            self._backend.drop()
        self._stage.nbytes += nbytes
        self._length.took(stopped_ns, nbytes, step_count)
        # Time that went into writing is not recorded time.
        self._stage.end_ns += time.time_ns() - stopped_ns

    def fail(self, error: BaseException) -> None:
        """End the recording because something in it went wrong."""
        self.state, self.busy = "ended", False
        if "problem" not in self._pieces.state:
            self._pieces.write_state(problem=one_line(error))
        self._bare.stop()
        self._backend.forget_steps()
        if self._thread.may_stop and self._backend.abandon(self._at_step):
            lines, self._lines = self._lines, None
            if lines is not None:
                lines.stop(final=True)
        else:
            self.failure = error  # again from the thread that can stop it
            endings.call_in_main_thread(self._do_due)

    def _write_state(self) -> None:
        """How it stands; `steps` are those up to the end of the last piece, `counted` all."""
        self._pieces.write_state(
            steps=self._first_step,
            counted=self.step_count,
            steps_elsewhere=self._thread.steps_elsewhere,
            **self._bare.noted(),
        )
