"""The profiler records as scheduled, and says why where it cannot."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidy.runtime as rt
from tidy.errors import TidyError
from tidy.profiler import profile, record_function, schedule
from tidy.profiler.schedule import StepTracker

_SMALL = st.integers(0, 4)
_SCHEDULES = st.fixed_dictionaries(
    {
        "wait": _SMALL,
        "warmup": _SMALL,
        "active": st.integers(1, 4),
        "repeat": _SMALL,
        "skip_first": _SMALL,
        "skip_first_wait": st.integers(0, 1),
    }
)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@given(_SCHEDULES)
def test_actions_are_those_of_pytorch(options: dict[str, int]) -> None:
    theirs = pytest.importorskip("torch.profiler").schedule(**options)
    ours = schedule(**options)
    assert [ours(n).name for n in range(60)] == [theirs(n).name for n in range(60)]


def _follow(module: Any, tensors: Any, options: dict[str, int], steps: int) -> list[Any]:
    """Return what `on_trace_ready` meets at each call: the step, and ranges of steps."""
    met: list[Any] = []

    def ready(prof: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            prof.export_chrome_trace(f"{folder}/t.json")
            events = json.loads(Path(folder, "t.json").read_text("utf-8"))["traceEvents"]
        names = {e["name"] for e in events if e.get("cat") == "user_annotation"}
        met.append((prof.step_num, sorted(names)))

    with module.profile(schedule=module.schedule(**options), on_trace_ready=ready) as prof:
        for _ in range(steps):
            tensors.ones(2)
            prof.step()
    return met


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("steps", [1, 5, 9])
@pytest.mark.parametrize(
    "options",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
        {"wait": 0, "warmup": 0, "active": 2},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 2},
        {"wait": 2, "warmup": 1, "active": 3, "repeat": 2, "skip_first_wait": 1},
    ],
)
def test_traces_are_ready_when_pytorchs_are(options: dict[str, int], steps: int) -> None:
    torch = pytest.importorskip("torch")
    import tidy.profiler

    ours = _follow(tidy.profiler, rt, options, steps)
    assert ours == _follow(torch.profiler, torch, options, steps)


@pytest.mark.parametrize(
    "wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}]
)
def test_a_schedule_that_cannot_be(wrong: dict[str, int]) -> None:
    with pytest.raises(TidyError, match="schedule"):
        schedule(**{"wait": 0, "warmup": 0, "active": 1, **wrong})


def test_one_profiler_at_a_time() -> None:
    with profile() as outer:
        for again in (outer, profile()):
            with pytest.raises(TidyError, match="running already"):
                again.start()
        rt.ones(1)
    assert len(list(outer.trace.named("aten::ones"))) == 1
    with profile() as later:
        rt.ones(1)
    assert len(list(later.trace.named("aten::ones"))) == 1


def test_a_profiler_may_be_used_again() -> None:
    prof = profile()
    for count in (1, 2):
        with prof:
            for _ in range(count):
                rt.ones(1)
        assert len(list(prof.trace.named("aten::ones"))) == count


def test_to_stop_twice_changes_nothing() -> None:
    calls = []
    prof = profile(on_trace_ready=calls.append)
    prof.start()
    rt.ones(1)
    prof.stop()
    prof.stop()
    assert calls == [prof]


def test_too_early_and_too_late(tmp_path: Path) -> None:
    prof = profile()
    for act in (lambda: prof.trace, lambda: prof.export_chrome_trace(tmp_path / "t.json")):
        with pytest.raises(TidyError, match="stopped first"):
            act()
    with pytest.raises(TidyError, match="before start"):
        prof.step()
    with prof, pytest.raises(TidyError, match="stopped first"):
        prof.export_chrome_trace(tmp_path / "t.json")
    with pytest.raises(TidyError, match="no recording"):
        prof.step()
    assert not list(tmp_path.iterdir())


def _ones_and_an_error() -> None:
    rt.ones(1)
    raise KeyError


def test_an_error_in_the_body_leaves_a_recording() -> None:
    with pytest.raises(KeyError), profile() as prof:
        _ones_and_an_error()
    assert len(list(prof.trace.named("aten::ones"))) == 1
    with profile():
        pass


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with profile() as prof:
        rt.ones(1)
    (tmp_path / "taken.json").mkdir()
    for path in (tmp_path / "no folder" / "t.json", tmp_path / "taken.json"):
        with pytest.raises(TidyError, match="cannot be written"):
            prof.export_chrome_trace(path)
    assert [p.name for p in tmp_path.iterdir()] == ["taken.json"]


def test_steps_alone_and_all_events_of_a_schedule() -> None:
    options = schedule(wait=1, warmup=1, active=2, repeat=1)
    with profile(schedule=options) as prof:
        for number in range(6):
            with record_function(f"body {number}"):
                rt.ones(1)
            prof.step()
    assert [e.name for e in prof.trace.named("ProfilerStep#*")] == [
        "ProfilerStep#2",
        "ProfilerStep#3",
    ]
    assert [e.name for e in prof.trace.named("body *")] == ["body 2", "body 3"]
    assert len(prof.trace.steps) == 2
    assert {e.parent.name for e in prof.trace.named("body *") if e.parent} == {
        "ProfilerStep#2",
        "ProfilerStep#3",
    }


def test_ranges_on_threads() -> None:
    def work(name: str) -> None:
        with record_function(name), record_function(f"{name} inner"):
            rt.ones(1)

    with profile() as prof:
        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(3):
        (inner,) = prof.trace.named(f"t{number} inner")
        assert inner.parent is not None
        assert inner.parent.name == f"t{number}"
        assert [e.name for e in inner.children] == ["aten::ones"]


_CALLERS = st.sampled_from(["ProfilerStep", "Optimizer_1", "Optimizer_2"])
_ACTS = st.lists(st.tuples(st.sampled_from(["add", "remove", "step", "step"]), _CALLERS))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@given(_ACTS)
def test_steps_count_as_pytorch_counts(acts: list[tuple[str, str]]) -> None:
    their_module = pytest.importorskip("torch.autograd.profiler")

    class Theirs(their_module.KinetoStepTracker):  # type: ignore[misc, name-defined]
        """One of its own: PyTorch's belongs to the process."""

        _current_step = 0
        _step_dict: ClassVar = defaultdict[str, int](int)

    ours = StepTracker()
    for act, caller in acts:
        if act == "add":
            ours.add(caller)
            Theirs.init_step_count(caller)
        elif act == "remove":
            assert ours.remove(caller) == Theirs.erase_step_count(caller)
        else:
            assert ours.increment(caller) == Theirs.increment_step(caller)
        assert ours.current == Theirs.current_step()


def test_two_that_step_once_each_are_at_one_step() -> None:
    tracker = StepTracker()
    tracker.add("a")
    tracker.add("b")
    assert [tracker.increment(name) for name in "abab"] == [1, 1, 2, 2]
    tracker.add("late")
    assert tracker.increment("late") == 3
    assert tracker.remove("late")
    assert not tracker.remove("late")
    assert tracker.current == 3
