"""Which lines of the user's code take the processor time of a loader's worker process.

SIGPROF comes after every few milliseconds of processor time while a batch is fetched. Python calls
its handler between two instructions of the main thread, with the frame that runs there, and after
a call in C as soon as that returns. So a sample counts for the time since the last one, and the
lines of all frames of the user's have it. (Another thread could not look: it gets its turn only
where this one lets go of Python's lock.)

What takes the time may be one long call or many short ones, which samples alone do not tell: ticks
of the system are milliseconds apart. So in one batch the functions that take most are measured line
by line (worker_rounds.py).

A script that uses SIGPROF itself is left alone. Where there is no such signal nothing is known.
"""

from __future__ import annotations

from .alone import made_anew
from .guard import Harmless, harmless
from .kept import os, signal, time
from .lines import UserFiles, full_path, user_files
from .worker_rounds import measure_rounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

LINES_FOLDER = "worker_lines"
_INTERVAL_S = 0.005
_MOST_SAMPLES, _MOST_FRAMES = 4000, 300
_ENOUGH_SAMPLES, _ENOUGH_BATCHES = 8, 2  # to know which functions are to be measured
_MOST_MEASURED = 4  # functions
_MUCH = 0.4  # of the time, for a function to be measured


class WorkerLines(Harmless):
    """Samples what one worker does; made in the process that trains.

    Args:
        folder: where each worker writes a file of its own.
        folders, ours: the files below them are the user's own, but for those of `ours`.
    """

    def __init__(self, folder: str, folders: tuple[str, ...], ours: str) -> None:
        self._given = folder, folders, ours
        self._user = UserFiles(folders, ours)
        # By code (its identity) and line: the code, and the time in and below it; of this batch.
        self._spent: dict[tuple[int, int], list[Any]] = {}
        self._known: dict[tuple[int, int], list[Any]] = {}  # the same of all batches before
        self._carried_ns, self._sampled_ns = 0, 0
        self._samples, self._batches, self._known_ns = 0, 0, 0
        self._is_armed, self._is_on, self._is_over = False, False, not hasattr(signal, "setitimer")
        self._rounds: Any = None
        self._loop: Any = None

    def __reduce__(self) -> Any:
        return made_anew(self, *self._given)

    @harmless
    def begin(self, loop: CodeType | None) -> None:
        """Note that a batch is fetched from now on, by what the function `loop` calls."""
        if self._is_on:
            self.end()
        if not self._is_over and not self._is_armed:
            self._arm()
        if self._is_over:
            return
        is_known = self._samples >= _ENOUGH_SAMPLES and self._batches >= _ENOUGH_BATCHES
        if is_known and self._rounds is None:
            self._measure_rounds()
        self._loop, self._is_on = loop, True
        self._since_ns = time.thread_time_ns()

    def fail(self, error: BaseException) -> None:
        """Look no more."""
        self._is_on, self._is_over = False, True
        self._disarm()

    def _arm(self) -> None:
        """Ask for the signal, unless the script does."""
        self._is_over = True
        try:
            handler = signal.getsignal(signal.SIGPROF)
            if handler != signal.SIG_DFL or signal.getitimer(signal.ITIMER_PROF)[0]:
                return
            signal.signal(signal.SIGPROF, self._sample)
            signal.siginterrupt(signal.SIGPROF, False)
            # It stays between batches, where no time passes: each time that it is set, the system
            # adds a tick, which is as long as a short batch.
            signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)
        except (ValueError, OSError):  # not in the main thread
            return
        self._is_armed, self._is_over = True, False

    @harmless
    def close(self) -> None:
        """Nothing is fetched any more; does nothing where it has not begun."""
        self.end()
        self._is_over = True
        self._disarm()

    def _disarm(self) -> None:
        if not self._is_armed:
            return
        self._is_armed = False
        is_ours = signal.getsignal(signal.SIGPROF) == self._sample  # else it is the script's now
        if is_ours or signal.getitimer(signal.ITIMER_PROF)[1] == _INTERVAL_S:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if is_ours:
            # One that is under way is thrown away by SIG_IGN; by default it ends the process.
            signal.signal(signal.SIGPROF, signal.SIG_IGN)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if not self._is_on:
            return
        # Ctrl-C, and what a handler of the script's raises, may come here, and has to pass.
        now_ns = time.thread_time_ns()
        spent_ns, self._carried_ns = self._carried_ns + now_ns - self._since_ns, 0
        self._since_ns = now_ns
        self._sampled_ns += spent_ns
        self._samples += 1
        seen: list[int] = []
        try:
            for _ in range(_MOST_FRAMES):
                if frame is None or (code := frame.f_code) is self._loop:
                    break
                if self._user[code.co_filename] and id(code) not in seen:
                    seen.append(id(code))
                    key = id(code), frame.f_lineno or 0
                    self._spent.setdefault(key, [code, 0])[1] += spent_ns
                frame = frame.f_back
        except RecursionError:
            return

    @harmless
    def end(self) -> None:
        """Note that the batch is there, or failed; does nothing if none is fetched."""
        if not self._is_on:
            return
        self._is_on = False
        self._carried_ns += time.thread_time_ns() - self._since_ns
        rounds = self._rounds.stop() if self._rounds else []
        if self._rounds:
            self._rounds = ()  # once is enough
        if self._sampled_ns or rounds:
            lines = [(*self._named(code), line, ns) for (_, line), (code, ns) in self._new()]
            measured = [(*self._named(code), *rest) for code, *rest in rounds]
            self._write(repr((self._batches, self._sampled_ns, lines, measured)))
        self._sampled_ns = 0
        self._batches += 1
        self._is_over |= self._samples >= _MOST_SAMPLES
        if self._is_over or signal.getsignal(signal.SIGPROF) != self._sample:
            self._is_over = True
            self._disarm()

    def _new(self) -> list[tuple[tuple[int, int], list[Any]]]:
        """Return what is new, and count it among what is known."""
        new, self._spent = self._spent, {}
        if self._batches:
            self._known_ns += self._sampled_ns
            for key, (code, ns) in new.items():
                self._known.setdefault(key, [code, 0])[1] += ns
        return list(new.items())

    def _named(self, code: CodeType) -> tuple[str, str, int]:
        return full_path(code.co_filename), code.co_name, code.co_firstlineno

    def _write(self, text: str) -> None:
        try:
            path = os.path.join(self._given[0], str(os.getpid()))
            with open(path, "ab", 0) as file:
                file.write(text.encode("utf-8") + b"\n")
        except OSError:
            self._is_over = True

    def _measure_rounds(self) -> None:
        """Measure what has taken most until now, while this batch is fetched."""
        functions: dict[int, tuple[CodeType, dict[int, int]]] = {}
        for (number, line), (code, ns) in self._known.items():
            if code.co_name.isidentifier():
                functions.setdefault(number, (code, {}))[1][line] = ns
        least_ns = _MUCH * self._known_ns
        most = [each for each in functions.values() if sum(each[1].values()) >= least_ns]
        most.sort(key=lambda each: sum(each[1].values()))
        hot = [(code, max(lines, key=lines.__getitem__)) for code, lines in most[:_MOST_MEASURED]]
        self._rounds = measure_rounds(hot) or ()


def lines_of_workers(folder: str, ours: str) -> WorkerLines | None:
    """Return what samples workers that are started from now on; None where it cannot write.

    Args:
        folder: of the recording.
        ours: a folder whose files are not the user's.
    """
    path = os.path.join(os.path.abspath(folder), LINES_FOLDER)
    try:
        os.mkdir(path)
    except FileExistsError:
        pass
    except OSError:
        return None
    return WorkerLines(path, user_files(ours).folders, ours)
