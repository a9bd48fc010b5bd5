"""The thread that receives what workers answer, so that the thread that trains finds it ready.

    worker 0 --pipe--\
    worker 1 --pipe---> receive -- answers --> the iterator, on the thread that trains
    wake ------pipe--/

PyTorch has such a thread where batches are pinned (`_pin_memory_loop`). It knows nothing of the
iterator, so that an iterator that nobody holds can end, and its workers and this thread with it.
"""

from __future__ import annotations

import pickle
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.hooks import check
from ..observe.worker_batches import WorkerBatch, listeners
from .worker import BROKEN, DATA

if TYPE_CHECKING:
    from queue import SimpleQueue

Worker = tuple[Any, Any, Any]  # process, where tasks go, where answers come from


class Answer(NamedTuple):
    """What a worker answered: a kind of `worker.py`, and a batch or what stands for one."""

    epoch: int
    task: int
    kind: int
    found: Any


class Receiver:
    """Receives from workers that have been started."""

    def __init__(self, workers: list[Worker], loader: int) -> None:
        """Begin to receive; `loader` is the number of the iterator."""
        from multiprocessing import Pipe
        from queue import SimpleQueue

        self._answers: SimpleQueue[Answer | BaseException | None] = SimpleQueue()
        self._woken, self._wake = Pipe(duplex=False)
        self._thread = threading.Thread(
            target=_receive,
            args=(list(workers), loader, self._woken, self._answers, not _is_importing()),
            name="DataLoader",
            daemon=True,
        )
        self._thread.start()

    def take(self, timeout: float | None) -> Answer | None:
        """Return the next answer, in the order in which they came; None if a worker is gone.

        Raises:
            RuntimeError: none came in so many seconds.
        """
        from queue import Empty

        is_here = self._thread.is_alive() or not self._answers.empty()
        check(is_here, "the thread that receives batches is not in this process")
        try:
            answer = self._answers.get(timeout=timeout)
        except Empty:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        """Wait for the thread to end, unless this is it: any thread may collect garbage."""
        self._wake.close()
        if self._thread is not threading.current_thread():
            self._thread.join(5)
        if not self._thread.is_alive():
            self._woken.close()


def _is_importing() -> bool:
    """Whether this thread imports a module: to load a batch elsewhere might wait for the import."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _receive(
    workers: list[Worker], loader: int, woken: Any, answers: SimpleQueue[Any], loads: bool
) -> None:
    from multiprocessing.connection import wait

    sys.setprofile(None)  # what is ours is not for a tracer of the script's threads
    sys.settrace(None)
    ends = [end for process, _, results in workers for end in (results, process.sentinel)]
    try:
        while woken not in (heard := wait([*ends, woken])):
            for number, (process, _, results) in enumerate(workers):
                if results not in heard and process.sentinel not in heard:
                    continue
                if not results.poll():
                    raise EOFError
                (epoch, task, kind, times), found = results.recv(), results.recv_bytes()
                if times is not None:
                    batch = WorkerBatch(loader, number, len(workers), process.pid, task, *times)
                    for listen in tuple(listeners):
                        listen(batch)
                answer = Answer(epoch, task, kind, found)
                answers.put(_loaded(answer) if loads else answer)
                del answer, found  # else it is kept until the next one comes
    except (EOFError, OSError):
        answers.put(None)
    except BaseException as error:
        answers.put(error)


def _loaded(answer: Answer) -> Answer:
    """An answer whose batch is no longer bytes."""
    if answer.kind != DATA:
        return answer
    try:
        return answer._replace(found=Loaded(pickle.loads(answer.found)))  # noqa: S301
    except Exception as error:
        return answer._replace(kind=BROKEN, found=error)


class Loaded(NamedTuple):
    """A batch that was loaded by the thread that received it."""

    batch: Any
