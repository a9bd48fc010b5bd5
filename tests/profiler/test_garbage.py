"""Collections of garbage in a recording: those that the script asks for."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import FrameType

import pytest

import tidy
import tidy.runtime as rt
from tidy.profiler import garbage, profile
from tidy.trace import Event, EventKind, Trace

_COLLECT = "<built-in function collect>"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = list(gc.callbacks), gc.get_threshold(), gc.isenabled()
    yield
    gc.set_threshold(*before[1])
    assert (gc.callbacks, gc.get_threshold(), gc.isenabled()) == before


def _collections(trace: Trace) -> list[Event]:
    return list(trace.named(_COLLECT))


def _count() -> int:
    """How often Python has collected."""
    return sum(each["collections"] for each in gc.get_stats())


def test_one_has_its_time_and_the_line_that_asks_for_it(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        rt.ones(2)
        gc.collect()
        rt.zeros(2)
    prof.export_chrome_trace(tmp_path / "trace.json")
    for trace in (prof.trace, tidy.load(tmp_path / "trace.json")):
        (found,) = _collections(trace)
        (before,), (after,) = trace.named("aten::ones"), trace.named("aten::zeros")
        assert before.end_ns <= found.start_ns < found.end_ns <= after.start_ns
        assert found.location is not None
        assert before.location is not None
        assert found.location.line == before.location.line + 1
        assert found.kind == EventKind.PyCCall


def test_what_python_collects_by_itself_is_left_out() -> None:
    """Recording has it do so more often."""
    gc.set_threshold(50, 1, 1)
    before = _count()
    with profile(with_stack=True) as prof:
        kept = [[number] for number in range(5_000)]
        rt.ones(len(kept))
        assert _count() > before
    assert _collections(prof.trace) == []


def test_with_the_collector_switched_off_all_are_asked_for() -> None:
    gc.disable()
    try:
        with profile(with_stack=True) as prof:
            kept = [[number] for number in range(5_000)]
            gc.collect()
            rt.ones(len(kept))
    finally:
        gc.enable()
    assert len(_collections(prof.trace)) == 1


def test_one_of_another_thread_is_on_that_thread() -> None:
    def collect() -> None:
        rt.ones(2)
        gc.collect()

    with profile(with_stack=True) as prof:
        thread = Thread(target=collect)
        thread.start()
        thread.join()
    (found,), (op,) = _collections(prof.trace), prof.trace.named("aten::ones")
    assert found.track == op.track


def test_without_stacks_there_are_none() -> None:
    with profile() as prof:
        rt.ones(2)
        gc.collect()
    assert _collections(prof.trace) == []


@pytest.mark.parametrize("number", range(1, 6))
def test_one_is_kept_where_the_recording_is_cut_as_it_begins(number: int) -> None:
    """`tidy run` cuts at any moment, such as in a call of ours on the way to the collection."""
    first = profile(with_stack=True)
    second = profile(with_stack=True)
    calls = 0

    def cut(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += frame.f_code.co_filename == garbage.__file__
        if calls == number:
            sys.settrace(None)
            first.stop()
            second.start()

    first.start()
    rt.ones(2)
    traced = sys.gettrace()
    sys.settrace(cut)
    gc.collect()
    sys.settrace(traced)
    if calls < number:
        first.stop()
        second.start()
    rt.ones(2)
    second.stop()
    assert len([*_collections(first.trace), *_collections(second.trace)]) == 1
