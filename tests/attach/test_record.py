"""`tidy.record` on loops of tidy.runtime, in this process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidy
from tidy.errors import UsageError
from tidy.integrations import AccelerateTracker, LightningCallback, TrainerCallback
from tidy.testing import TidyFixture

torch = pytest.importorskip("tidy.runtime")


@pytest.fixture(autouse=True)
def _without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have imported it, and then it is what is recorded."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def _training() -> Any:
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()

    return step


def _numbers(recording: tidy.Recorder) -> list[int]:
    return [step.number for step in recording.trace.steps]


def _linears(recording: Any) -> int:
    return len(list(recording.trace.named("aten::linear")))


def _left_behind() -> tuple[Any, ...]:
    """What a recording puts into a process."""
    from tidy.profiler import profile
    from tidy.runtime.optim import optimizer

    monitoring = getattr(sys, "monitoring", None)
    return (
        sys.gettrace(),
        sys.getprofile(),
        threading.active_count(),
        len(list(Path("/proc/self/task").glob("*"))),
        profile.start,
        len(optimizer._all_post_hooks),
        [monitoring.get_tool(i) for i in range(6)] if monitoring else None,
        sorted(Path(tempfile.gettempdir()).glob(f"tidy-record-{os.getpid()}-*")),
    )


def test_steps_are_those_of_the_optimizer() -> None:
    step = _training()
    with tidy.record(steps=3) as recording:
        for _ in range(90):
            step()
        assert not recording.is_recording
    assert _numbers(recording) == [1, 2, 3]
    assert _linears(recording) == 4
    # On a busy machine the quickest fifth of them tells how long a step takes.
    notes = " ".join(recording.trace.info.warnings)
    scaled = (
        "to those of 50 steps with nothing recorded",
        "of 10 steps with nothing recorded; other",
    )
    assert any(each in notes for each in scaled)


def test_steps_of_a_loop_without_an_optimizer() -> None:
    with tidy.record(steps=4, warmup=2) as recording:
        for _ in range(9):
            torch.ones(3) + 1
            recording.step()
    assert _numbers(recording) == [2, 3, 4, 5]
    for step in recording.trace.steps:
        inside = recording.trace.within(step.start_ns, step.end_ns)
        assert [event.name for event in inside if event.name == "aten::add"] == ["aten::add"]


def test_steps_of_a_loop_that_has_two_optimizer_steps_each() -> None:
    train = _training()
    with tidy.record(steps=4, warmup=1) as recording:
        for _ in range(9):
            train()
            train()
            recording.step()
    assert _numbers(recording)[-1] == 4
    for step in recording.trace.steps:
        inside = recording.trace.within(step.start_ns, step.end_ns)
        assert sum(event.name == "aten::linear" for event in inside) == 2


def test_after(tmp_path: Path) -> None:
    step = _training()
    with tidy.record(steps=2, after=5) as recording:
        for _ in range(30):
            step()
    assert _numbers(recording) == [6, 7]
    assert _linears(recording) == 3


@pytest.mark.parametrize("options", [{}, {"stack": False}, {"after": 100}, {"seconds": 0.001}])
def test_nothing_stays_behind(options: dict[str, Any]) -> None:
    step = _training()
    gc.collect()
    before = _left_behind()
    with tidy.record(steps=2, **options) as recording:
        step()
        if recording.is_recording and not options:
            assert _left_behind() != before
        for _ in range(10):
            step()
    del recording
    gc.collect()
    assert _left_behind() == before


def test_an_exception_passes_and_the_recording_is_kept() -> None:
    step = _training()
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught, tidy.record() as recording:  # noqa: PT012
        for _ in range(4):
            step()
        raise error
    assert caught.value is error
    assert error.__cause__ is error.__context__ is None
    frames = [entry.path for entry in caught.traceback]
    assert [Path(str(each)).name for each in frames] == [Path(__file__).name]
    assert _numbers(recording) == [1, 2, 3]


def test_start_and_stop_again() -> None:
    step = _training()
    recorder = tidy.Recorder(2)
    for _ in range(2):
        recorder.start()
        with pytest.raises(UsageError, match="not ended yet"):
            _ = recorder.trace
        for _ in range(5):
            step()
        recorder.stop()
        recorder.stop()
        assert _numbers(recorder) == [1, 2]


def test_saved_as_it_was_recorded(tmp_path: Path) -> None:
    step = _training()
    with tidy.record(steps=3) as recording:
        for _ in range(5):
            step()
    report = recording.report(select=["TDY6"])
    for name in ("trace.json", "trace.json.gz"):
        recording.save(tmp_path / name)
        loaded = tidy.load(tmp_path / name)
        assert len(loaded) == len(recording.trace)
        assert _said(tidy.check(loaded, select=["TDY6"])) == _said(report)
    assert (tmp_path / "trace.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    with pytest.raises(UsageError, match="cannot be written: no such file or directory"):
        recording.save(tmp_path / "missing" / "trace.json")


def _said(report: tidy.Report) -> list[tuple[str, str]]:
    return [(finding.code, str(finding.location)) for finding in report.findings]


def test_only_one_at_a_time() -> None:
    step = _training()
    with tidy.record(steps=2) as recording:
        with pytest.raises(UsageError, match="recording of this process runs already"):
            tidy.record().start()
        for _ in range(4):
            step()
    assert _numbers(recording) == [1, 2]
    with tidy.profile() as own:
        with pytest.raises(UsageError, match="a profiler is running already"), tidy.record():
            pass
        step()
    assert _linears(own) == 1


def test_a_profiler_of_the_loop_goes_first() -> None:
    step = _training()
    with tidy.record() as recording:
        step()
        step()
        with tidy.profile() as own:
            step()
        step()
    assert _linears(own) == 1
    assert _linears(recording) == 2
    said = "the recording ended when the script started a profiler of its own"
    assert said in recording.trace.info.warnings


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": "3"},
        {"warmup": -1},
        {"after": 1.5},
        {"seconds": 0},
        {"seconds": float("nan")},
        {"framework": "jax"},
    ],
)
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=f"^{name} is "):
        tidy.record(**wrong)


def test_nothing_to_look_at() -> None:
    with pytest.raises(UsageError, match="start\\(\\) was not called"):
        tidy.Recorder().report()
    with tidy.record(title="mine") as recording:
        pass
    with pytest.raises(UsageError, match="mine: no op ran while it was recorded"):
        recording.report()


def test_in_a_thread() -> None:
    made: list[tidy.Recorder] = []

    def work() -> None:
        step = _training()
        with tidy.record(steps=2) as recording:
            for _ in range(5):
                step()
        made.append(recording)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert _numbers(made[0]) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(os.name == "nt", reason="Windows does not say what processes took")
@pytest.mark.parametrize("is_within", [False, True])
def test_child_processes_of_the_recording_count(is_within: bool) -> None:
    """Those that were waited for before it began have nothing to do with it."""
    spends = "import time\nwhile time.process_time() < 1.1: pass"
    start = [sys.executable, "-c", spends]
    if not is_within:
        subprocess.run(start, check=True)
    with tidy.record() as recording:
        torch.ones(2) + 1
        if is_within:
            subprocess.run(start, check=True)
    notes = recording.trace.info.warnings
    assert any(each.startswith("processes that the script started") for each in notes) == is_within


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_not_recorded() -> None:
    step = _training()
    with tidy.record(steps=3) as recording:
        step()
        child = os.fork()
        if not child:
            status = 1
            try:
                for _ in range(9):
                    step()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for _ in range(5):
            step()
    assert _numbers(recording) == [1, 2, 3]
    assert _linears(recording) == 4


def test_a_report_in_a_repl(capsys: pytest.CaptureFixture[str]) -> None:
    rich = pytest.importorskip("rich")
    step = _training()
    with tidy.record(steps=3, title="[mine]") as recording:
        for _ in range(5):
            step()
    report = recording.report()
    assert repr(report).startswith("<Report on [mine]: ")
    assert "\n" not in repr(report)
    assert str(report).splitlines()[-1] in repr(report)
    rich.print(report)
    printed = capsys.readouterr().out
    assert "[mine]" in printed
    assert str(report).splitlines()[-1] in printed


def _arguments(function: Callable[..., object]) -> dict[str, object]:
    return {name: each.default for name, each in signature(function).parameters.items()}


def test_arguments_are_spelt_out_where_they_are_handed_on() -> None:
    """Editors complete them, and one that is misspelt is named where it was written."""
    recorder = _arguments(tidy.Recorder)
    assert _arguments(tidy.record) == recorder
    fixture = TidyFixture("test", Path(), None)
    assert {**_arguments(fixture.profile), "title": None} == recorder
    for callback in (LightningCallback, TrainerCallback, AccelerateTracker):
        assert _arguments(callback) == {**recorder, "trace": None, "output": None}
    check = _arguments(tidy.check)
    del check["trace"]
    assert _arguments(tidy.record().report) == check
    with pytest.raises(TypeError, match=r"^record\(\) got an unexpected keyword argument 'stps'"):
        tidy.record(stps=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"report\(\) got an unexpected keyword argument 'selct'"):
        tidy.record().report(selct="TDY4")  # type: ignore[call-arg]


def test_numbers_may_be_of_any_kind() -> None:
    with tidy.record(steps=np.int64(2), seconds=np.float32("inf")) as recording:
        step = _training()
        for _ in range(4):
            step()
    assert _numbers(recording) == [1, 2]
    wrong: list[dict[str, Any]] = [{"steps": True}, {"steps": 2.0}, {"seconds": "5"}]
    for given in wrong:
        with pytest.raises(UsageError, match=f"^{next(iter(given))} is a "):
            tidy.record(**given)
