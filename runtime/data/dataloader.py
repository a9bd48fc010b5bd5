"""DataLoader and its two iterators.

With workers, batch n of an epoch is task n. Each worker has up to `prefetch_factor` tasks. A thread
receives and loads what they answer (receiver.py); what is answered before its turn waits in
`_ready`.

Source: torch/utils/data/dataloader.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice, repeat
from typing import Any, Generic, NoReturn
from weakref import finalize

from ..engine.hooks import check
from ..observe.record_function import record_function
from ..observe.worker_batches import watchers
from ..ops.creation import Generator, default_generator
from . import dataset as data
from .dataset import IterableDataset, T_co
from .receiver import Answer, Loaded, Receiver
from .worker import BROKEN, END, ERROR, WorkerInfo, make_fetch, raise_again, worker_loop

_numbers = count()  # of iterators with workers
_FIXED = "batch_size batch_sampler sampler drop_last dataset persistent_workers".split()


class DataLoader(Generic[T_co]):
    """Batches of a dataset, made here or by `num_workers` processes; `timeout` is in seconds."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        vars(self).update({k: v for k, v in locals().items() if k not in {"self", "shuffle"}})
        iterable = isinstance(dataset, IterableDataset)
        own, given = batch_sampler is not None, sampler is not None
        more = prefetch_factor is not None or persistent_workers or multiprocessing_context
        least = min(num_workers, timeout, prefetch_factor or 0)
        batching = batch_size != 1 or shuffle or given or drop_last
        for wrong, text in (
            (least < 0, "num_workers, timeout and prefetch_factor should be non-negative"),
            (more and not num_workers, "options of workers, but num_workers is 0"),
            (iterable and (shuffle or given or own), "options of keys for an IterableDataset"),
            (given and shuffle, "sampler does not go with shuffle"),
            (own and batching, "batch_sampler does not go with other options of batches"),
            (batch_size is None and drop_last, "batch_size=None does not go with drop_last"),
        ):
            check(not wrong, f"DataLoader: {text}", ValueError)
        if isinstance(multiprocessing_context, str):
            from multiprocessing import get_context

            self.multiprocessing_context = get_context(multiprocessing_context)
        if iterable:
            sampler = repeat(None)  # how many keys are asked for is all that counts
        elif sampler is None:
            make = data.RandomSampler if shuffle else data.SequentialSampler
            sampler = make(dataset, generator=generator)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = data.BatchSampler(sampler, batch_size, drop_last)
        vars(self).update(sampler=sampler, batch_sampler=batch_sampler, batch_size=batch_size)
        batched = batch_sampler is not None
        self._keys = batch_sampler if batched else sampler
        self.collate_fn = collate_fn or (data.default_collate if batched else data.default_convert)
        if prefetch_factor is None and num_workers:
            self.prefetch_factor = 2
        self.check_worker_number_rationality()
        self._iterator: _MultiProcessingDataLoaderIter | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        made = "_iterator" in vars(self) and name in _FIXED
        check(not made, f"{name} should not be set after DataLoader is initialized", ValueError)
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[T_co]:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        if self._iterator is not None and self._iterator.close.alive:
            self._iterator.begin()
            return self._iterator
        made = _MultiProcessingDataLoaderIter(self)
        self._iterator = made if self.persistent_workers else None
        return made

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._keys)
        size, length = self.batch_size or 1, len(self.dataset)  # type: ignore[arg-type]
        return (length + (0 if self.drop_last else size - 1)) // size

    def check_worker_number_rationality(self) -> None:
        """Warn if there are to be more workers than CPUs that this process may use."""
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers > (cpus or 1):
            told = f"This DataLoader will create {self.num_workers} worker processes, but there are"
            warnings.warn(f"{told} {cpus} CPUs: loading may get slow or freeze.", stacklevel=3)


class _Iterator:
    """What the two ways of loading share."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._all_keys, self._pin = loader._keys, loader.pin_memory
        self._name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        batched = loader.batch_sampler is not None
        iterable = isinstance(loader.dataset, IterableDataset)
        self._source = (loader.dataset, iterable, batched, loader.collate_fn, loader.drop_last)
        stream = (loader.generator or default_generator).stream
        self._base_seed = int(stream.integers(2**63))  # drawn without workers too: same shuffles

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        with record_function(self._name):
            found = self._next_data()
            return data.pin_memory(found) if self._pin else found


class _SingleProcessDataLoaderIter(_Iterator):
    """Fetches in this process, when asked."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        check(not loader.timeout, "a timeout needs num_workers > 0", AssertionError)
        self._keys, self._fetch = iter(self._all_keys), make_fetch(*self._source)

    def _next_data(self) -> Any:
        return self._fetch(next(self._keys))


class _MultiProcessingDataLoaderIter(_Iterator):
    """Has worker processes fetch ahead."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        check(loader.prefetch_factor > 0, "prefetch_factor must be greater than 0", AssertionError)
        import multiprocessing

        self._persistent, self._timeout = loader.persistent_workers, loader.timeout or None
        self._prefetch, self._epoch = loader.prefetch_factor, 0
        self._workers: list[tuple[Any, Any, Any]] = []  # process, where tasks go, answers come from
        receivers: list[Receiver] = []
        self.close = finalize(self, _stop, os.getpid(), self._workers, receivers)  # at exit too
        context: Any = loader.multiprocessing_context or multiprocessing
        for n in range(loader.num_workers):
            pipes = (*context.Pipe(duplex=False), *context.Pipe(duplex=False))
            info = WorkerInfo(n, loader.num_workers, self._base_seed + n, loader.dataset)
            args = (info, self._base_seed, self._source, loader.worker_init_fn, pipes, [*watchers])
            process = context.Process(target=worker_loop, args=args, daemon=True)
            process.start()
            self._workers.append((process, pipes[1], pipes[2]))
            pipes[0].close()  # the worker's ends: now its death closes them
            pipes[3].close()
        # Only now: a process is better forked where no other thread runs.
        self._receiver = Receiver(self._workers, next(_numbers))
        receivers.append(self._receiver)
        self.begin()

    def begin(self) -> None:
        """Start an epoch."""
        self._epoch += 1
        self._sent = 0
        self._keys = iter(self._all_keys)
        self._pending: dict[int, int] = {}  # tasks given out, and to whom
        self._ready: dict[int, Answer] = {}  # those answered
        self._active = list(range(len(self._workers)))
        self._hand_out()

    def _hand_out(self) -> None:
        """Give every worker that is not at its end `prefetch_factor` tasks."""
        wanted = self._prefetch * len(self._active) - len(self._pending)
        for keys in islice(self._keys, max(wanted, 0)):
            worker = min(self._active, key=list(self._pending.values()).count)
            with suppress(OSError):  # a dead worker: _receive tells
                self._workers[worker][1].send((self._epoch, self._sent, keys))
            self._pending[self._sent] = worker
            self._sent += 1

    def _next_data(self) -> Any:
        while self._pending:
            task = next(iter(self._pending))
            if task not in self._ready:
                self._receive()
                continue
            _, _, kind, found = self._ready.pop(task)
            del self._pending[task]
            self._hand_out()
            if kind == BROKEN:
                raise found
            if type(found) is Loaded:
                return found.batch
            found = pickle.loads(found)  # noqa: S301  (our own process wrote it)
            if kind == ERROR:
                raise_again(*found)
            return found
        if not self._persistent:
            self.close()
        raise StopIteration

    def _receive(self) -> None:
        """Wait for an answer."""
        answer = self._receiver.take(self._timeout)
        if answer is None:
            self._fail()
        if answer.epoch != self._epoch or answer.task not in self._pending:
            return  # of an epoch left early, or of a worker known to be at its end
        if answer.kind != END:
            self._ready[answer.task] = answer
            return
        self._active.remove(ended := self._pending[answer.task])
        left = {t: w for t, w in self._pending.items() if w != ended or t in self._ready}
        self._pending = left
        self._hand_out()

    def _fail(self) -> NoReturn:
        """Stop, for a worker died."""
        for process, _, _ in self._workers:
            process.join(0.1)
        pids = ", ".join(str(p.pid) for p, _, _ in self._workers if not p.is_alive())
        self._pending.clear()
        self.close()
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")


def _stop(owner: int, workers: list[tuple[Any, Any, Any]], receivers: list[Receiver]) -> None:
    """Ask the workers to end; end those that do not within seconds."""
    if os.getpid() != owner:
        return  # a copy of the iterator, in a process forked since
    for receiver in receivers:
        receiver.stop()
    for _, tasks, _ in workers:
        with suppress(OSError):
            tasks.send((None, 0, None))
    for process, tasks, results in workers:
        for insist in (lambda: None, process.terminate, process.kill):
            insist()
            process.join(5)
            if not process.is_alive():
                break
        tasks.close()
        results.close()
