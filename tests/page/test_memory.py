"""Memory of a page is that of the trace: its peak, and who holds it then."""

from __future__ import annotations

import pytest

import tidy
from tidy.page.memory import memory_to_json
from tidy.trace import EventKind

from ..environment import ROOT
from .making import TRACES, content_of, page_of, unpacked

_WITH_MEMORY = ["cpu", "h100", "modelled"]


@pytest.mark.parametrize("name", _WITH_MEMORY)
def test_the_peak_is_that_of_the_trace(name: str) -> None:
    trace = tidy.load(ROOT / TRACES[name][0])
    (job,) = content_of(page_of(name))["jobs"]
    shown = {each["label"]: each for each in job["ranks"][0]["memory"]}
    assert shown
    window = trace.window
    for device in {event.device for event in trace.of_kind(EventKind.Allocation)}:
        said = [
            int(total)
            for row, total in zip(trace.memory.row, trace.memory.allocated_nbytes, strict=True)
            if trace.device[row] == device
            and window.start_ns <= trace.start_ns[row] < window.end_ns
            and total >= 0
        ]
        if not said:  # nothing changes within the steps
            continue
        each = shown["CPU" if device < 0 else f"GPU {device}"]
        if each["is_known"]:
            assert each["peak_nbytes"] == max(said)
            assert max(nbytes for _, nbytes in each["points"]) == max(said)
        assert sum(holder["nbytes"] for holder in each["holders"]) >= each["peak_nbytes"]


@pytest.mark.parametrize("name", _WITH_MEMORY)
def test_a_step_has_what_is_in_use_in_it(name: str) -> None:
    """On the time axis of its timeline: at each point what the trace says last."""
    trace = tidy.load(ROOT / TRACES[name][0])
    (job,) = content_of(page_of(name))["jobs"]
    seen = 0
    for timeline in job["ranks"][0]["timelines"]:
        begins, ends = timeline["start_ns"], timeline["start_ns"] + timeline["duration_ns"]
        for each in timeline["memory"]:
            device = -1 if each["device"] is None else each["device"]
            said = {
                int(trace.start_ns[row]) - begins: int(total)
                for row, total in zip(trace.memory.row, trace.memory.allocated_nbytes, strict=True)
                if trace.device[row] == device and begins <= trace.start_ns[row] < ends
            }
            if not each["is_known"]:
                continue
            columns = unpacked(each["points"])
            points = dict(zip(columns["at_ns"].tolist(), columns["nbytes"].tolist(), strict=True))
            assert each["peak_nbytes"] == max(points.values()) >= max(said.values(), default=0)
            assert points.keys() <= {0, *said}
            # Each has the most of those that it stands for.
            assert all(nbytes >= said[at] for at, nbytes in points.items() if at in said)
            assert sum(holder["nbytes"] for holder in each["holders"]) >= each["peak_nbytes"]
            seen += 1
    assert seen or name == "cpu"


def test_what_is_in_use_from_the_start_is_drawn() -> None:
    path = ROOT / "tests" / "data" / "packed" / "real"
    (qwen,) = path.glob("tracelens__h100__Qwen*.json.gz")
    trace = tidy.load(qwen)
    (shown, *_) = memory_to_json(tidy.check(trace))
    first_ns, first_nbytes = shown["points"][0]
    assert first_ns == 0
    assert first_nbytes > shown["peak_nbytes"] / 3  # the weights


def test_without_memory_there_is_none() -> None:
    (job,) = content_of(page_of("ranks"))["jobs"]
    assert [rank["memory"] for rank in job["ranks"]] == [[], []]
