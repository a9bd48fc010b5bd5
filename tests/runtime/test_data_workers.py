"""Worker processes: order, errors, deaths, and that none is left behind; no PyTorch needed."""

import gc
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime.data import DataLoader, IterableDataset, TensorDataset, get_worker_info

from .test_data import Numbers, flat, values

pytestmark = [
    pytest.mark.slow,  # each case starts processes
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]
ROOT = Path(__file__).parents[2]


class Eventful(Numbers):
    """0 to 19; what happens at some keys is told by `at`."""

    def __init__(self, size=20, **at):
        super().__init__(size)
        self.at = at

    def __getitem__(self, key):
        for what, when in self.at.items():
            if key == when:
                EVENTS[what]()
        return key


def fail(error):
    raise error


EVENTS = {
    "key_error": lambda: fail(KeyError("missing")), "exit": lambda: os._exit(7),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sleep": lambda: time.sleep(60), "doze": lambda: time.sleep(0.2),
}  # fmt: skip


class Shards(IterableDataset):
    """0 to `size`, of which each worker reads its part; `uneven` gives worker 0 nothing."""

    def __init__(self, size, uneven=False):
        self.size, self.uneven = size, uneven

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.size))
        if self.uneven:
            return iter(range(self.size if info.id else 0))
        return iter(range(info.id, self.size, info.num_workers))


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def eventually(condition):
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("prefetch", [1, 4])
def test_order_is_that_of_the_sampler(workers, prefetch):
    data = Eventful(doze=0)  # the first batch is the last to be done
    loader = DataLoader(data, 2, num_workers=workers, prefetch_factor=prefetch)
    assert flat(loader) == list(range(20))


def test_batches_are_larger_than_a_pipe_and_writable():
    size = 100_000
    loader = DataLoader(range(size), size // 2, num_workers=2, prefetch_factor=3)
    assert [len(batch) for batch in loader] == [size // 2] * 2
    (batch,) = DataLoader(TensorDataset(rt.ones(2)), 2, num_workers=1)
    batch[0].add_(1)
    assert batch[0].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods(method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from tidy.runtime.data import DataLoader\n"
        "if __name__ == '__main__':\n"
        "    loader = DataLoader(range(5), 2, num_workers=1, timeout=300,\n"
        f"                        multiprocessing_context={method!r})\n"
        "    print([b.tolist() for b in loader])\n",
        "utf-8",
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (b"[[0, 1], [2, 3], [4]]", b"")


def test_an_error_leaves_no_workers_to_the_collector():
    gc.disable()
    try:
        iterator = iter(DataLoader(Eventful(key_error=1), num_workers=1))
        pid = iterator._workers[0][0].pid
        try:
            list(iterator)
        except KeyError:
            del iterator
        assert not is_alive(pid)
    finally:
        gc.enable()


class OnlyHere:
    def __reduce__(self):
        return fail, (ValueError("not over there"),)


# What a loader with one worker is made with, the error, and its words.
ERRORS = {
    "of a local class": (
        *([1], {"collate_fn": lambda _: fail(type("Local", (Exception,), {})("here"))}),
        *(RuntimeError, "Caught Local in DataLoader"),
    ),
    "of a batch that cannot be pickled": (
        *([1], {"collate_fn": lambda _: lambda: 1, "timeout": 300}),
        *(Exception, "in DataLoader worker process 0"),
    ),
    "of keys that do not arrive": (
        *({}, {"batch_size": None, "sampler": [OnlyHere()], "timeout": 300}),
        *(RuntimeError, "exited unexpectedly"),
    ),
    "in worker_init_fn": (
        *(range(3), {"worker_init_fn": lambda _: fail(ValueError("no disk"))}),
        *(ValueError, "no disk"),
    ),
}


@pytest.mark.parametrize(("data", "options", "kind", "words"), ERRORS.values(), ids=ERRORS)
def test_an_error_arrives(data, options, kind, words):
    with pytest.raises(kind, match=words):
        list(DataLoader(data, num_workers=1, **options))


@pytest.mark.parametrize("how", ["exit", "kill"])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_dead_worker_is_an_error(how, persistent):
    data = Eventful(**{how: 6})
    loader = DataLoader(data, num_workers=2, timeout=300, persistent_workers=persistent)
    iterator = iter(loader)
    pids = [process.pid for process, _, _ in iterator._workers]
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(iterator)
    assert not any(map(is_alive, pids))
    assert next(iter(loader)).tolist() == [0]


def test_timeout():
    iterator = iter(DataLoader(Eventful(sleep=0), num_workers=1, timeout=0.3))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        next(iterator)
    iterator._workers[0][0].kill()


@pytest.mark.parametrize("persistent", [False, True])
def test_leaving_early_ends_the_workers(persistent):
    loader = DataLoader(
        Eventful(10_000), 2000, num_workers=2, prefetch_factor=8, persistent_workers=persistent
    )
    iterator = iter(loader)
    next(iterator)
    pids = [process.pid for process, _, _ in iterator._workers]
    assert all(map(is_alive, pids))
    del iterator, loader
    assert not any(map(is_alive, pids))


def test_persistent_workers_serve_every_epoch():
    loader = DataLoader(Eventful(), 3, num_workers=2, persistent_workers=True)
    first = values(loader)
    pids = [process.pid for process, _, _ in loader._iterator._workers]
    next(iter(loader))  # an epoch left early
    assert values(loader) == first == values(DataLoader(Eventful(), 3))
    assert pids == [process.pid for process, _, _ in loader._iterator._workers]
    loader = DataLoader(Shards(10), 2, num_workers=2, persistent_workers=True)
    first = values(loader)
    assert sorted(x for batch in first for x in batch) == list(range(10))
    assert values(loader) == first


def where(samples):
    info = get_worker_info()
    drawn = random.random(), np.random.rand()  # noqa: S311
    return (os.getpid(), info.id, info.num_workers, info.seed, *drawn)


def test_workers_know_who_they_are_and_draw_different_numbers():
    def draw(seed):
        rt.manual_seed(seed)
        return list(DataLoader(range(4), 1, num_workers=2, collate_fn=where))

    a, b, *_ = found = draw(1)
    assert ([x[1:3] for x in found], b[3]) == ([(0, 2), (1, 2)] * 2, a[3] + 1)
    assert os.getpid() not in {a[0], b[0]}
    assert a[4] != b[4]
    assert a[5] != b[5]
    assert [x[1:] for x in found] == [x[1:] for x in draw(1)]
    assert found[0][3] != draw(2)[0][3]
    assert get_worker_info() is None


def test_workers_with_another_dataset_or_nothing_to_read():
    def init(worker_id):
        get_worker_info().dataset.size = 3

    found = flat(DataLoader(Shards(0), num_workers=2, worker_init_fn=init))
    assert sorted(found) == [0, 1, 2]
    assert flat(DataLoader(Shards(9, uneven=True), 2, num_workers=2)) == list(range(9))


ORPHANS = """
import os, sys, time
import numpy as np
from tidy.runtime.data import DataLoader
class Slow:
    def __len__(self): return 1000
    def __getitem__(self, key):
        if key > 1: time.sleep(0.05)
        return np.zeros(100_000)
loader = DataLoader(Slow(), num_workers=2, prefetch_factor=8, persistent_workers=True)
iterator = iter(loader)
next(iterator)
print(*(process.pid for process, _, _ in iterator._workers), flush=True)
{end}
"""


@contextmanager
def orphans_of(end):
    """A process that starts two workers and then ends so, and their pids; none of them goes on."""
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS.format(end=end)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        try:
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            assert len(pids) == 2
            yield parent, pids
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("end", ["", "time.sleep(60)", "sys.exit(3)", "os._exit(0)"])
def test_no_process_outlives_its_parent(end):
    """Whether the parent ends, is interrupted, exits, or is gone without a word."""
    with orphans_of(end) as (parent, pids):
        if "sleep" in end:
            os.killpg(parent.pid, signal.SIGINT)  # Ctrl-C reaches the whole group
        _, errors = parent.communicate(timeout=300)
        assert errors.count(b"Traceback") == ("sleep" in end), errors
        assert eventually(lambda: not any(map(is_alive, pids)))


def test_a_killed_parent_leaves_no_workers():
    with orphans_of("time.sleep(60)") as (parent, pids):
        parent.kill()
        parent.communicate(timeout=300)
        assert eventually(lambda: not any(map(is_alive, pids)))


def test_an_iterator_in_a_cycle_is_stopped_by_the_collector():
    iterator = iter(DataLoader(range(50), num_workers=1))
    iterator.itself = iterator
    pid = iterator._workers[0][0].pid
    del iterator
    gc.collect()
    assert not is_alive(pid)
