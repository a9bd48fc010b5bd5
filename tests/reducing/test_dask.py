"""The report is the same where Dask reads the traces, and where fsspec finds them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job

from tidy.reducing.dask_pool import DaskPool
from tidy.reducing.pool import FileCall, LostCall
from tidy.reducing.rank import forget

from ..cli.command import ROOT, tidy
from ..environment import environment

fsspec = pytest.importorskip("fsspec", reason="needs the extra dask")
distributed = pytest.importorskip("distributed", reason="needs the extra dask")
dask = pytest.importorskip("dask", reason="needs the extra dask")

pytestmark = [
    pytest.mark.slow,
    # Dask's own processes and sockets end when they do, and tornado's loops with them.
    pytest.mark.filterwarnings("ignore"),
]

# Kills the process that reads rank 2: always, or once.
_DEADLY = """
import os, signal
from pathlib import Path
from tidy import Pattern

class Deadly(Pattern):
    \"\"\"Kills whoever reads it.\"\"\"
    code, needs = "ABC123", frozenset()
    fix = "none"

    def find(self, trace):
        once = Path(os.environ["TIDY_DEADLY"])
        if "rank-0002" in trace.info.path and os.getpid() != int(os.environ["TIDY_ASKS"]):
            if not once.name or not once.exists():
                once.name and once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return []
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dask") / "runs"
    make_job(folder, JobOptions(ranks=4, plant="slow-gpu", steps=4, seed=3, rank=1))
    return folder


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a cluster of two workers, which are processes of their own.

    It is closed as soon as it is done with: idle it takes processor time, too.
    """
    start = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
    cluster.close()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment() | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.communicate()


def test_the_report_of_a_cluster_is_the_same(job: Path, scheduler: str) -> None:
    """Addresses are read where the worker is."""
    for form in ("text", "json"):
        same = tidy("report", "runs", "--format", form, cwd=job.parent)
        assert "TDY902" in same.out
        told = tidy("report", "runs", "--format", form, "--scheduler", scheduler, cwd=job.parent)
        assert told == same
    expected = tidy("report", *sorted(job.glob("rank-*.gz")), "--format", "json").json()
    for given in (f"file://{job}/rank-*.json.gz", f"file://{job}"):
        read = tidy("report", given, "--format", "json", "--scheduler", scheduler).json()
        for each in (*read["traces"], *expected["traces"]):
            each["path"] = Path(each["path"]).name
        assert read["traces"] == expected["traces"]


def test_memory_is_read_here(job: Path) -> None:
    memory: Any = fsspec.filesystem("memory")
    for path in job.glob("rank-*.gz"):
        memory.pipe(f"/runs/{path.name}", path.read_bytes())
    paths = [
        each["path"]
        for each in tidy("report", "memory://runs/*.gz", "--format", "json").json()["traces"]
    ]
    assert paths == [f"memory:///runs/rank-000{number}.json.gz" for number in range(4)]
    missing = tidy("report", "memory://runs/none.json")
    assert missing.code == 2
    assert missing.err.startswith("tidy: memory://runs/none.json: cannot be read: ")
    nothing = tidy("report", "memory://runs/none*")
    assert nothing.err == "tidy: memory://runs/none*: names no trace\n"


def test_a_summary_at_an_address_is_said_to_be_one(job: Path, tmp_path: Path) -> None:
    """It is no other JSON that a folder may well have beside its traces."""
    tidy("report", job / "rank-0000.json.gz", "--summaries", tmp_path)
    (kept,) = tmp_path.iterdir()
    memory: Any = fsspec.filesystem("memory")
    memory.pipe("/kept/one.tidy.json.gz", kept.read_bytes())
    memory.pipe("/kept/other.json", b"{}")
    for given in ("memory://kept/one.tidy.json.gz", "memory://kept", "memory://kept/*.gz"):
        result = tidy("report", given)
        assert result.code == 2
        assert ".tidy.json.gz: a summary, which is read from this machine alone" in result.err


def test_what_cannot_be_is_one_line(job: Path) -> None:
    result = tidy("report", "nosuch://bucket/x.json")
    assert result.code == 2
    assert result.err.startswith("tidy: nosuch://bucket/x.json: cannot be read: ")
    page = tidy("report", job, "--dask", "--format", "html")
    assert page.err.startswith("tidy: --dask: what is asked for needs the traces here")
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        result = tidy("report", job, "--scheduler", "tcp://127.0.0.1:9")
    assert result.code == 2
    assert result.err.startswith("tidy: --scheduler tcp://127.0.0.1:9: cannot be reached")


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("nonsense", "missing port number in address 'nonsense'"),
        ("foo://x:1", "unknown address scheme 'foo'"),
    ],
)
def test_what_is_no_address_makes_no_client(
    job: Path, address: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that was made for one hangs for a minute when it is closed."""
    monkeypatch.setattr(distributed, "Client", None)
    result = tidy("report", job, "--scheduler", address)
    assert result.code == 2
    begin = f"tidy: --scheduler {address}: cannot be reached: ValueError: {problem}"
    assert result.err.startswith(begin)
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "setting", ["comm.timeouts.connect", "comm.timeouts.tcp", "scheduler.worker-ttl"]
)
@pytest.mark.parametrize("option", ["--dask", "--scheduler tcp://127.0.0.1:9"])
def test_a_setting_that_is_no_time_is_named(
    job: Path, option: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "Client", None)
    monkeypatch.setattr(distributed, "LocalCluster", None)
    # Dask needs a limit for connections; that of silence may be none.
    for no_time in ["abc", None] if setting.startswith("comm") else ["abc"]:
        with dask.config.set({f"distributed.{setting}": no_time}):
            result = tidy("report", job, *option.split())
        assert result.code == 2
        named = f"Dask's setting distributed.{setting} is no time: {no_time!r}"
        assert result.err == f"tidy: {option}: {named}\n"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of POSIX")
def test_an_interrupted_cluster_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived, started = threading.Event(), list[str]()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt(*_: object) -> None:
        arrived.set()
        raise KeyboardInterrupt

    class Cluster:
        def __init__(self, **_: object) -> None:
            signal.pthread_kill(main, signal.SIGINT)
            arrived.wait()
            started.append("started")

        def close(self) -> None:
            started.append("closed")

    monkeypatch.setattr(distributed, "LocalCluster", Cluster)
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), DaskPool():
            raise AssertionError
    finally:
        signal.signal(signal.SIGINT, before)
    assert started == ["started", "closed"]


def test_a_cluster_that_does_not_start_is_an_error(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    result = tidy("report", job, "--dask")
    said = "tidy: --dask: no cluster starts: RuntimeError: no such luck\n"
    assert (result.code, result.out, result.err) == (2, "", said)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of POSIX")
@pytest.mark.parametrize("is_once", [True, False])
def test_a_worker_that_is_killed(job: Path, tmp_path: Path, is_once: bool) -> None:
    """Once, another one does its work; always, the rank is missing, and said to be."""
    rules = tmp_path / "deadly.py"
    rules.write_text(_DEADLY, "utf-8")
    changed = {
        "TIDY_DEADLY": str(tmp_path / "once") if is_once else "",
        "TIDY_ASKS": str(os.getpid()),
    }
    more = ["--patterns", str(rules), "--format", "json"]
    result = tidy("report", "runs", *more, "--dask", "--jobs", "2", cwd=job.parent, **changed)
    if is_once:
        assert (tmp_path / "once").exists()
        expected = tidy("report", "runs", *more, cwd=job.parent, **changed)
        assert expected.code == 1
        assert result == expected
        return
    assert result.code == 2
    assert [Path(each["path"]).name for each in json.loads(result.out)["traces"]] == [
        f"rank-000{number}.json.gz" for number in (0, 1, 3)
    ]
    (line,) = [line for line in result.err.splitlines() if "rank-0002" in line]
    assert "KilledWorker" in line


# A scheduler and two workers, each a process of its own that nobody starts again.
_PARTS = {
    "scheduler": "--host 127.0.0.1 --port 0 --no-dashboard --scheduler-file FILE",
    "worker": "--scheduler-file FILE --nthreads 1 --no-nanny --no-dashboard",
}


_SOON = {"distributed.comm.timeouts.connect": "1s"}
# For clusters that are frozen: on a busy machine others may take as long for an answer.
_SILENT = {"SIGSTOP": _SOON | {"distributed.scheduler.worker-ttl": "2s"}}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[str, dict[str, list[subprocess.Popen[bytes]]]]]:
    """The address of such a cluster, and its processes."""
    started: dict[str, list[subprocess.Popen[bytes]]] = {"scheduler": [], "worker": []}
    file = tmp_path / "scheduler.json"
    for part in ("scheduler", "worker", "worker"):
        words = _PARTS[part].replace("FILE", str(file)).split()
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *words]
        changed = environment() | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=changed)
        started[part].append(process)
        while process.poll() is None and not (file.exists() and file.stat().st_size):
            time.sleep(0.1)
    address: str = json.loads(file.read_text("utf-8"))["address"]
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2)
    yield address, started
    for process in (*started["worker"], *started["scheduler"]):
        process.kill()
        process.wait()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals of POSIX")
@pytest.mark.parametrize(
    ("part", "how", "why"),
    [
        ("scheduler", "SIGKILL", "its scheduler no longer answers"),
        ("scheduler", "SIGSTOP", "its scheduler has not answered for 2 s"),
        ("worker", "SIGKILL", "it has had no worker for 1 s"),
    ],
    ids=["no-scheduler", "frozen-scheduler", "no-worker"],
)
def test_of_a_cluster_that_is_lost_what_was_read_is_kept(
    part: str,
    how: str,
    why: str,
    parts: tuple[str, dict[str, list[subprocess.Popen[bytes]]]],
    tmp_path: Path,
) -> None:
    """Also what was read at the second try: the first answer cannot be sent."""
    address, processes = parts

    def at_second_try(_: None, tried: Path) -> tuple[Any, None]:
        is_first = not tried.exists()
        tried.touch()
        return (lambda: None) if is_first else "read", None

    here, again = str(tmp_path / "here"), str(tmp_path / "again")
    Path(here).touch()
    Path(again).touch()
    elsewhere = "memory://runs/read", str(tmp_path / "elsewhere")
    calls = [FileCall(path, forget, ()) for path in (here, *elsewhere, __file__, again)]
    second = FileCall(again, at_second_try, (tmp_path / "tried",))
    under_way = list[Sequence[int]]()
    with DaskPool(address) as pool, dask.config.set(_SOON):
        assert sorted(pool.run(calls[:3], lambda _: None)) == [(n, None) for n in range(3)]
        assert list(pool.run([second], lambda _: None)) == [(0, "read")]
        for process in processes[part]:
            process.send_signal(getattr(signal, how))
        lost = LostCall(why, is_of_cluster=True)
        with dask.config.set(_SILENT.get(how, {})):
            answers = dict(pool.run(calls, under_way.append))
        assert answers == {0: None, 1: lost, 2: lost, 3: lost, 4: None}
    assert [0] in under_way


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals of POSIX")
def test_a_frozen_scheduler_is_one_line(
    job: Path, parts: tuple[str, dict[str, list[subprocess.Popen[bytes]]]]
) -> None:
    """The system takes connections for it, so that Dask waits for a greeting."""
    address, processes = parts
    processes["scheduler"][0].send_signal(signal.SIGSTOP)
    with dask.config.set(_SOON):
        result = tidy("report", job, "--scheduler", address)
    assert (result.code, result.out) == (2, "")
    begin = (
        f"tidy: --scheduler {address}: cannot be reached: OSError: it has not answered for 1 s; "
    )
    assert result.err.startswith(begin)
    assert result.err.count("\n") == 1


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals of POSIX")
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("SIGKILL", "its scheduler no longer answers"),
        ("SIGSTOP", "its scheduler has not answered for 2 s"),
    ],
)
def test_files_that_a_lost_cluster_did_not_read_are_one_line(
    how: str,
    why: str,
    job: Path,
    parts: tuple[str, dict[str, list[subprocess.Popen[bytes]]]],
    tmp_path: Path,
) -> None:
    address, processes = parts
    rules, (scheduler,) = tmp_path / "deadly.py", processes["scheduler"]
    text = _DEADLY.replace('os.environ["TIDY_DEADLY"]', "''").replace(
        'os.environ["TIDY_ASKS"]', "0"
    )
    text = text.replace("os.getpid(), signal.SIGKILL", f"{scheduler.pid}, signal.{how}")
    rules.write_text(text, "utf-8")
    more = ["--patterns", str(rules), "--format", "json", "--scheduler", address]
    with dask.config.set(_SILENT.get(how, {})):
        result = tidy("report", "runs", *more, cwd=job.parent)
    assert result.code == 2
    # A line says that truth.json is no trace, unless it is one of the files that were not read.
    begin = f"tidy: the cluster was lost: {why}; "
    lines = result.err.splitlines()
    (line,) = [line for line in lines if line.startswith(begin)]
    assert all("truth.json" in each for each in lines if each != line)
    said = json.loads(result.out)
    read, not_read = len(said["traces"]), len(said["unreadable"])
    assert f"; {not_read} file" in line
    assert read + not_read >= 4
