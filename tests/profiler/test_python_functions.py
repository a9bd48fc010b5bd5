"""Python functions in a recording, and a script's own profilers beside it."""

from __future__ import annotations

import cProfile
import json
import pstats
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidy
import tidy.runtime as rt
from tidy.profiler import profile
from tidy.trace.kinds import EventKind

from ..environment import environment


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Each test leaves tracing as it found it."""
    before = sys.getprofile(), threading.getprofile()
    yield
    assert (sys.getprofile(), threading.getprofile()) == before


def calls(prof: profile) -> Counter[str]:
    names = (e.name for e in prof.trace.of_kind(EventKind.PyCall))
    return Counter(name.rpartition(": ")[2] for name in names)


def chain(prof: profile, name: str) -> list[str]:
    """Names of the functions around the first operator of a name, outermost first."""
    event = next(iter(prof.trace.named(name)))
    above = [e.name.rpartition(": ")[2] for e in event.ancestors() if e.kind == EventKind.PyCall]
    return above[::-1]


def inner() -> Any:
    return rt.ones(2)


def outer() -> Any:
    return inner()


def test_functions_nest_as_they_call() -> None:
    with profile(with_stack=True) as prof:
        outer()
        outer()
    assert chain(prof, "aten::ones")[-2:] == ["outer", "inner"]
    assert calls(prof)["outer"] == calls(prof)["inner"] == 2


def _nothing() -> None:
    pass


def _churn() -> None:
    for _ in range(20):
        _nothing()


def test_functions_between_operators_leave_no_gaps_in_their_numbers(tmp_path: Path) -> None:
    """Many gaps say that somebody took operators out of the file."""
    path = tmp_path / "trace.json"
    with profile(with_stack=True) as prof:
        for _ in range(30):
            _churn()
            outer()
    prof.export_chrome_trace(str(path))
    numbers = [
        event["args"]["External id"]
        for event in json.loads(path.read_text("utf-8"))["traceEvents"]
        if event.get("cat") == "cpu_op"
    ]
    assert len(numbers) >= 30
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers)))
    for trace in (prof.trace, tidy.load(path)):
        assert not trace.info.is_thinned
        assert len(list(trace.of_kind(EventKind.PyCall))) >= 5 * len(numbers)


def _fails() -> None:
    rt.ones(2)
    raise KeyError


def test_an_exception_ends_the_functions_that_it_leaves() -> None:
    with profile(with_stack=True) as prof:
        try:
            _fails()
        except KeyError:
            rt.zeros(2)
    assert chain(prof, "aten::ones")[-1] == "_fails"
    assert "_fails" not in chain(prof, "aten::zeros")


def _numbers() -> Iterator[Any]:
    for _ in range(3):
        yield rt.ones(1)


def test_a_generator_is_one_call_each_time_it_goes_on() -> None:
    with profile(with_stack=True) as prof:
        for _ in _numbers():
            rt.zeros(1)
    assert calls(prof)["_numbers"] == 4
    assert "_numbers" not in chain(prof, "aten::zeros")


def _deep(depth: int) -> Any:
    return _deep(depth - 1) if depth else rt.ones(1)


def test_deep_recursion() -> None:
    depth = 900 - len(list(_frames()))
    with profile(with_stack=True) as prof:
        _deep(depth)
    assert calls(prof)["_deep"] == depth + 1
    assert chain(prof, "aten::ones").count("_deep") == depth + 1
    prof.trace.self_check()


def _frames() -> Iterator[Any]:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


def test_too_deep_recursion_is_the_error_it_is_without() -> None:
    def forever() -> None:
        forever()

    with profile(with_stack=True) as prof:
        with pytest.raises(RecursionError):
            forever()
        sys.setprofile(None)  # Python has switched it off, or we do
    assert calls(prof)["forever"] > 100
    prof.trace.self_check()


def _begin(prof: profile) -> None:
    prof.start()
    rt.ones(1)


def _end(prof: profile) -> None:
    rt.zeros(1)
    prof.stop()


def test_begun_in_one_function_and_ended_in_another() -> None:
    prof = profile(with_stack=True)
    _begin(prof)
    inner()
    _end(prof)
    assert chain(prof, "aten::ones")[-1] == "_begin"
    assert chain(prof, "aten::zeros")[-1] == "_end"
    assert "_begin" not in chain(prof, "aten::zeros")
    here = "test_begun_in_one_function_and_ended_in_another"
    assert here in chain(prof, "aten::ones")


def test_ended_on_another_thread() -> None:
    prof = profile(with_stack=True)
    prof.start()
    thread = threading.Thread(target=prof.stop)
    thread.start()
    thread.join()
    inner()  # the first call of this thread gives tracing back
    assert "inner" not in calls(prof)


def test_a_thread_that_goes_on_is_no_longer_traced() -> None:
    begun, ended, found = threading.Event(), threading.Event(), []

    def work() -> None:
        inner()
        begun.set()
        ended.wait()
        outer()
        found.append(sys.getprofile())

    thread = threading.Thread(target=work)
    with profile(with_stack=True) as prof:
        thread.start()
        begun.wait()
    ended.set()
    thread.join()
    assert calls(prof)["inner"] == 1
    assert found == [None]


def test_a_profile_function_of_the_scripts_own_comes_back() -> None:
    seen: list[str] = []

    def own(frame: Any, event: str, _: Any) -> None:
        seen.append(frame.f_code.co_name)

    sys.setprofile(own)
    threading.setprofile(own)
    try:
        with profile(with_stack=True) as prof:
            inner()
        assert sys.getprofile() is own
        assert threading.getprofile() is own
        outer()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert "outer" in seen
    assert calls(prof)["inner"] == 1


def test_one_that_the_script_sets_meanwhile_stays() -> None:
    seen: list[str] = []

    def own(frame: Any, event: str, _: Any) -> None:
        seen.append(frame.f_code.co_name)

    try:
        with profile(with_stack=True) as prof:
            sys.setprofile(own)
            model = rt.nn.Linear(2, 2)
            model(rt.ones(2)).sum().backward()
            outer()
        assert sys.getprofile() is own
    finally:
        sys.setprofile(None)
    assert seen.count("outer") == 2
    assert [e.name for e in prof.trace.named("AddmmBackward0", "aten::ones")]


@pytest.mark.parametrize("inside", [False, True])
def test_cprofile_and_this_one_beside_each_other(inside: bool) -> None:
    other = cProfile.Profile()
    x = rt.ones(2, requires_grad=True)
    if inside:
        with profile(with_stack=True) as prof:
            other.enable()
            (x * 2).sum().backward()
            outer()
            other.disable()
            rt.ones(3)
    else:
        other.enable()
        with profile(with_stack=True) as prof:
            (x * 2).sum().backward()
        outer()
        other.disable()
    names = {key[2] for key in pstats.Stats(other).stats}  # type: ignore[attr-defined]
    assert "outer" in names
    assert list(prof.trace.named("MulBackward0"))
    prof.trace.self_check()


def test_settrace_is_left_alone() -> None:
    lines: list[int] = []

    def tracer(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_name == "outer":
            lines.append(frame.f_lineno)
            return tracer
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with profile(with_stack=True) as prof:
            outer()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert len(lines) == 3
    assert calls(prof)["outer"] == 1


# Python 3.11 collects garbage between reading which function profiles and calling it.
_CUT_IN_COLLECTIONS = """
import gc
import tidy

left, running = [200], []

def cut(phase, info):
    if phase == "stop" and left[0]:
        left[0] -= 1
        while running:
            running.pop().stop()
        running.append(tidy.profile(with_stack=True))
        running[0].start()

def called(number):
    return [number]

def caller(*numbers):
    return [called(each) for each in numbers]

gc.callbacks.append(cut)
gc.set_threshold(5)
while left[0]:
    kept = [caller(1, 2, 3), {}]
gc.callbacks.remove(cut)
running.pop().stop()
print("all cut")
"""


def test_a_recording_is_cut_while_garbage_is_collected() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _CUT_IN_COLLECTIONS],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "all cut\n", "")
