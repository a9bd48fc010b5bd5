"""PyTorch's loader workers say when they began and ended each batch.

PyTorch's own function for a worker process runs as it is; what it takes tasks from and puts batches
into stand behind two thin doors that look at the clock. What each worker saw is appended to a file
of its own in the folder of the recording, which is opened and closed for each batch: a script may
close all descriptors it does not know. Where that fails once, the worker says nothing more.

The door is hung while the recorder records, and taken down again. A process that is started anew
(spawn, forkserver) finds it as alone.py says.
"""

from __future__ import annotations

import struct
import sys
from contextlib import suppress
from typing import Any

from .alone import made_anew
from .kept import os, time

FOLDER = "workers"
# Worker, how many there are, seed of the iterator, batch, start, end, time on a processor, time
# waiting for one, time of the worker's other threads and of its child processes on processors.
RECORD = struct.Struct("<9q")
_MOST_RECORDS = 20_000


class ReportingLoop:
    """Stands where `torch.utils.data._utils.worker._worker_loop` was."""

    def __init__(self, folder: str, lines: Any) -> None:
        self._folder, self._lines = folder, lines

    def __reduce__(self) -> Any:
        return made_anew(self, self._folder, self._lines)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module: Any = sys.modules.get("torch.utils.data._utils.worker")
        if module is None:
            from torch.utils.data import _utils

            module = _utils.worker
        real = module._worker_loop
        if isinstance(real, ReportingLoop):
            real = _real[0]
        try:
            names = real.__code__.co_varnames
            given = list(args)
            tasks, batches = names.index("index_queue"), names.index("data_queue")
            known = [given[names.index(n)] for n in ("worker_id", "num_workers", "base_seed")]
            reports = _Reports(self._folder, self._lines, real.__code__, *known)
            given[tasks] = _Tasks(given[tasks], reports)
            given[batches] = _Batches(given[batches], reports)
        except (ValueError, IndexError, AttributeError, TypeError):  # of another version
            given = list(args)
        try:
            return real(*given, **kwargs)
        finally:
            if self._lines is not None:
                self._lines.close()


class _Reports:
    """The reports of one worker."""

    def __init__(
        self, folder: str, lines: Any, loop: Any, worker: int, count: int, seed: int
    ) -> None:
        self._lines, self._loop = lines, loop
        self._path = os.path.join(folder, str(os.getpid()))
        self._who = worker, count, seed
        self._left = _MOST_RECORDS
        self._batch = -1

    def begin(self, task: Any) -> None:
        self._batch = task[0] if type(task) is tuple and type(task[0]) is int else -1
        self._start_ns = time.time_ns()
        self._started = time.thread_time_ns(), processor_ns("thread-self")[1], beside_ns()
        if self._lines is not None and self._batch >= 0:
            self._lines.begin(self._loop)

    def rest(self) -> None:
        """Nothing is fetched, whether a batch came of what was or not."""
        if self._lines is not None:
            self._lines.end()

    def end(self, answer: Any) -> None:
        end_ns, (ran_ns, waited_ns, others_ns) = time.time_ns(), self._started
        queued_ns = processor_ns("thread-self")[1] - waited_ns
        on_processor = time.thread_time_ns() - ran_ns, queued_ns, max(beside_ns() - others_ns, 0)
        self.rest()
        if self._batch < 0 or not self._left or answer[0] != self._batch:
            return
        self._left -= 1
        try:
            times = self._start_ns, end_ns, *on_processor
            with open(self._path, "ab", 0) as file:
                file.write(RECORD.pack(*self._who, self._batch, *times))
        except (OSError, struct.error):
            self._left = 0


def processor_ns(thread: str) -> tuple[int, int]:
    """Return how long a thread had a processor and waited for one; on Linux alone, else (0, 0).

    It goes by its folder below /proc. Workers of tidy.runtime have much the same function. Neither
    can have that of the other: this is loaded by Pythons that have no tidy, and tidy.runtime knows
    nothing of who records it.
    """
    try:
        with open(f"/proc/{thread}/schedstat", "rb", 0) as file:
            ran_ns, waited_ns = file.read(100).split()[:2]
        return int(ran_ns), int(waited_ns)
    except (OSError, ValueError):
        return 0, 0


def beside_ns() -> int:
    """Return how long other threads of this process, and processes that this thread started, have
    had a processor; of processes that still run on Linux alone.

    Workers of tidy.runtime have the same function, as of the one above.
    """
    (_, _, children_s, of_system_s, _), ticks = os.times(), 0
    try:
        with open("/proc/thread-self/children", "rb", 0) as file:
            pids = file.read(10_000).split()
        for pid in pids:
            # One that has just ended hides no other.
            with suppress(OSError, ValueError), open(b"/proc/%b/stat" % pid, "rb", 0) as file:
                ticks += sum(map(int, file.read(1000).rpartition(b")")[2].split()[11:15]))
        children_s += ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        pass
    threads_ns = time.process_time_ns() - time.thread_time_ns()
    return threads_ns + round(1e9 * (children_s + of_system_s))


class _Door:
    def __init__(self, queue: Any, reports: _Reports) -> None:
        self._queue, self._reports = queue, reports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _Tasks(_Door):
    def get(self, *args: Any, **kwargs: Any) -> Any:
        self._reports.rest()
        task = self._queue.get(*args, **kwargs)
        self._reports.begin(task)
        return task


class _Batches(_Door):
    def put(self, answer: Any, *args: Any, **kwargs: Any) -> None:
        self._reports.end(answer)
        self._queue.put(answer, *args, **kwargs)


_real: list[Any] = []  # PyTorch's own function


def hang(folder: str, lines: Any) -> None:
    """Have workers that are started from now on report, and `lines` look on; again does nothing."""
    try:
        from torch.utils.data._utils import worker

        if isinstance(worker._worker_loop, ReportingLoop):
            return
        folder = os.path.join(os.path.abspath(folder), FOLDER)
        with suppress(FileExistsError):  # not makedirs, which calls what a script has replaced
            os.mkdir(folder)
        _real[:] = [worker._worker_loop]
        worker._worker_loop = ReportingLoop(folder, lines)
    except Exception:  # without it less is known, and nothing else changes
        return


def take_down() -> None:
    """Have workers that are started from now on say nothing."""
    worker: Any = sys.modules.get("torch.utils.data._utils.worker")
    if worker is not None and isinstance(getattr(worker, "_worker_loop", None), ReportingLoop):
        worker._worker_loop = _real[0]
