"""Memory: what was allocated, less what was freed, while an event ran."""

from __future__ import annotations

from typing import Any

from ..conftest import ReadEvents
from ..trace.kineto import kernel, op
from .test_nesting import by_key


def _memory(ts: float, nbytes: int, *, device: int = -1, name: str = "[memory]") -> dict[str, Any]:
    args = {"Bytes": nbytes, "Device Id": device, "Device Type": 0 if device < 0 else 1}
    where = {"pid": 1, "tid": 1, "ts": ts, "s": "t"}
    return {"ph": "i", "cat": "cpu_instant_event", "name": name, **where, "args": args}


def test_memory_of_an_event_and_of_what_is_in_it(read_events: ReadEvents) -> None:
    events = [
        op("aten::add", 0, 100),
        op("aten::empty", 10, 10),
        _memory(15, 4096),
        _memory(50, -1024),
        _memory(100, 64),  # at its very end
        _memory(60, 500, device=0),
    ]
    averages = read_events(events).key_averages()
    found = by_key(averages)
    add, empty = found["aten::add"], found["aten::empty"]
    assert (add.cpu_memory_usage, add.self_cpu_memory_usage) == (3136, -960)
    assert (empty.cpu_memory_usage, empty.self_cpu_memory_usage) == (4096, 4096)
    assert (add.device_memory_usage, add.self_device_memory_usage) == (500, 500)
    assert "[memory]" not in found


def test_what_no_event_allocated_is_a_row(read_events: ReadEvents) -> None:
    events = [op("aten::add", 0, 10), _memory(5, 100), _memory(20, -30), _memory(30, -40)]
    averages = read_events(events).key_averages()
    assert [each.key for each in averages] == ["aten::add", "[memory]"]
    alone = averages[1]
    assert (alone.count, alone.cpu_memory_usage, alone.self_cpu_memory_usage) == (2, -70, -70)
    assert alone.cpu_time_total == 0


def test_running_out_of_memory_is_a_row(read_events: ReadEvents) -> None:
    events = [op("aten::empty", 0, 10), _memory(5, 1 << 40, device=0, name="[OutOfMemory]")]
    found = by_key(read_events(events).key_averages())
    assert found["[OutOfMemory]"].count == 1
    assert found["aten::empty"].device_memory_usage == 0


def test_columns_of_memory(read_events: ReadEvents) -> None:
    """Those of the device come with memory of the device alone, those of the CPU with any."""
    events = [op("aten::empty", 0, 10), _memory(5, 3 << 19)]
    table = read_events(events).table()
    assert "Self CPU Mem" in table
    assert "1.50 MB" in table
    events = [*events, kernel("k", 1, 1), _memory(6, 5 << 30, device=0)]
    table = read_events(events).table()
    assert "Self CUDA Mem" in table
    assert "5.00 GB" in table
    assert "Mem" not in read_events([op("aten::empty", 0, 10)]).table()
    assert "CPU Mem" in read_events([op("aten::empty", 0, 10)], profile_memory=1).table()
