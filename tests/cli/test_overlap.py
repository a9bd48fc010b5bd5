"""Files with the same steps in one report: no step is counted twice, and the report says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .command import EXAMPLES, tidy
from .traces import Event, event, loop, rank, write

_WALL_CLOCK = {"baseTimeNanoseconds": 1_790_000_000_000_000_000}


def _steps(*numbers: int) -> list[Event]:
    """Steps of 100 us, each with a loop that TDY404 finds."""
    made = []
    for number in numbers:
        start_us = 200.0 * number
        made.append(event("user_annotation", f"ProfilerStep#{number}", start_us, 100))
        made += [{**each, "ts": each["ts"] + start_us} for each in loop()]
        made.append(event("cpu_op", "aten::mm", start_us + 150, 1))
    return made


def _report(tmp_path: Path, *paths: str) -> tuple[list[dict[str, Any]], list[str], int]:
    result = tidy("report", *paths, "--format", "json", cwd=tmp_path)
    return result.json()["traces"], result.err.splitlines(), result.code


def test_a_copy_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.json", _steps(1, 2, 3), **_WALL_CLOCK)
    write(tmp_path / "b.json.gz", _steps(1, 2, 3), **_WALL_CLOCK)
    traces, said, code = _report(tmp_path, "a.json", "b.json.gz")
    assert ([trace["path"] for trace in traces], code) == (["a.json"], 1)
    assert said == ["tidy: b.json.gz: the same steps as a.json; left out"]


def test_steps_in_two_files_are_counted_once(tmp_path: Path) -> None:
    """Exported after three steps, and again after six: of the second file three steps are left."""
    write(tmp_path / "a.json", _steps(1, 2, 3), **_WALL_CLOCK)
    write(tmp_path / "b.json", _steps(1, 2, 3, 4, 5, 6), **_WALL_CLOCK)
    traces, said, _ = _report(tmp_path, "a.json", "b.json")
    windows = [trace["account"][0]["window"] for trace in traces]
    assert [window["count"] for window in windows] == [3, 3]
    assert [each["step"] for each in windows[1]["left_out"]] == ["step 1", "step 2", "step 3"]
    counts = [
        [found["count"] for found in trace["findings"] if found["in_window"]] for trace in traces
    ]
    assert counts == [[3], [3]]  # one loop a step
    assert said == ["tidy: b.json: 3 of its 6 steps are in a.json too; counted once"]
    text = tidy("report", "a.json", "b.json", cwd=tmp_path).out
    assert "6 steps of which 3 count" in text


def test_other_ranks_and_other_times_are_not_the_same(tmp_path: Path) -> None:
    """Ranks may begin at one time; times that are no dates say nothing."""
    write(tmp_path / "r0.json", _steps(1, 2), **rank(0), **_WALL_CLOCK)
    write(tmp_path / "r1.json", _steps(1, 2), **rank(1), **_WALL_CLOCK)
    write(tmp_path / "c.json", _steps(1, 2))
    write(tmp_path / "d.json", _steps(1, 2))
    traces, said, _ = _report(tmp_path, "r0.json", "r1.json", "c.json", "d.json")
    assert (len(traces), said) == (4, [])


def test_a_recording_without_steps(tmp_path: Path) -> None:
    write(tmp_path / "a.json", loop(), **_WALL_CLOCK)
    write(tmp_path / "b.json", loop(), **_WALL_CLOCK)
    traces, said, _ = _report(tmp_path, "a.json", "b.json")
    assert len(traces) == 1
    assert said == ["tidy: b.json: the same recording as a.json; left out"]


def test_a_recorded_trace_and_its_copy(tmp_path: Path) -> None:
    copied = tmp_path / "copied.json.gz"
    copied.write_bytes(EXAMPLES[0].read_bytes())
    traces, said, _ = _report(tmp_path, str(EXAMPLES[0]), str(copied))
    assert len(traces) == len(said) == 1
