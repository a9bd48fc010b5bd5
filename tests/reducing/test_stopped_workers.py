"""What workers do not do that were stopped, or cannot work, is done by others or here."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tidy.readers.workers import Workers
from tidy.reducing.pool import FileCall, FilePool

from ..endings import wait_until_over
from ..environment import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is stopped")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_worker_takes_the_file_of_a_stopped_one(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)  # where a new Python finds what it is to call
    with FilePool(2, method) as workers:
        calls = [FileCall(each, _stop_once, (tmp_path / "stopped",)) for each in "12"]
        pids = [pid for _, pid in workers.run(calls, lambda _: None)]
    assert len(pids) == 2
    assert [each for each in pids if not isinstance(each, int) or each == os.getpid()] == []
    stopped = (tmp_path / "stopped").read_text("utf-8")
    assert int(stopped) not in pids
    wait_until_over([stopped])


def _stop_once(_left: None, mark: Path) -> tuple[int, None]:
    with suppress(FileExistsError), mark.open("x", encoding="utf-8") as file:
        file.write(str(os.getpid()))
        file.flush()
        os.kill(os.getpid(), signal.SIGSTOP)
    return os.getpid(), None


def test_a_worker_that_goes_on_is_waited_for(tmp_path: Path) -> None:
    """It was seen stopped at most once in a row."""
    with Workers(1, "fork") as workers:
        (pid,) = workers.pids
        worker = workers._alive[0]
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        assert not worker.is_stopped()
        os.kill(pid, signal.SIGCONT)
        assert not worker.is_stopped()
        task = workers.submit(_own_pid, None)
        workers.wait_for(task)
        assert task.result() == pid


def _own_pid(_: None) -> int:
    return os.getpid()


def test_without_threads_all_is_done_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fails)  # which forks inherit
    with FilePool(2, "fork") as pool:
        calls = [FileCall(str(number), _answer_pid, ()) for number in range(4)]
        assert {answer for _, answer in pool.run(calls, lambda _: None)} == {os.getpid()}
    with Workers(2, "fork") as workers:
        task = workers.submit(_own_pid, None)
        workers.wait_for(task)
        assert task.result() == os.getpid()
    assert capfd.readouterr() == ("", "")


def _answer_pid(_left: None) -> tuple[int, None]:
    return os.getpid(), None
