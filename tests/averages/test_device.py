"""Device time: of kernels, and once more, but no more than once, of what launched them."""

from __future__ import annotations

from ..conftest import ReadEvents
from ..trace.kineto import call, kernel, mark, op, span
from .test_nesting import by_key


def _events() -> list[dict[str, object]]:
    """A step with `linear` that copies (4 us) and multiplies (30 us); 5 us come from no op."""
    return [
        mark("ProfilerStep#1", 0, 200),
        op("aten::linear", 10, 100),
        call("cudaMemcpyAsync", 15, 5, 1),
        op("aten::addmm", 30, 50),
        call("cudaLaunchKernel", 40, 10, 2),
        span("gpu_memcpy", "Memcpy HtoD", 20, 4, pid=0, tid=7, args={"correlation": 1}),
        kernel("gemm", 60, 30, correlation=2),
        kernel("lost", 95, 5),
        span("gpu_user_annotation", "ProfilerStep#1", 20, 80, pid=0, tid=7),
    ]


def test_totals_come_from_self_times(read_events: ReadEvents) -> None:
    averages = read_events(_events()).key_averages()
    found = {each.key: each for each in averages if not each.is_user_annotation}
    times = {k: (e.self_device_time_total, e.device_time_total) for k, e in found.items()}
    assert times == {
        "aten::linear": (4, 34),
        "aten::addmm": (30, 30),
        "cudaMemcpyAsync": (0, 0),
        "cudaLaunchKernel": (0, 0),
        "Memcpy HtoD": (4, 4),
        "gemm": (30, 30),
        "lost": (5, 5),
    }
    assert averages.self_device_time_total == 39
    on_host = sum(e.self_device_time_total for e in averages if e.device_type == "cpu")
    assert on_host == 34


def test_a_range_has_a_row_on_the_host_and_one_on_the_device(read_events: ReadEvents) -> None:
    steps = [e for e in read_events(_events()).key_averages() if e.key == "ProfilerStep*"]
    rows = [(e.device_type, e.cpu_time_total, e.device_time_total) for e in steps]
    assert rows == [("cpu", 200, 34), ("cuda", 0, 80)]


def test_waiting_is_no_device_time(read_events: ReadEvents) -> None:
    sync = span("cuda_sync", "Stream Sync", 0, 500, pid=0, tid=7, args={"correlation": 9})
    averages = read_events([*_events(), sync]).key_averages()
    assert "Stream Sync" not in by_key(averages)
    assert averages.self_device_time_total == 39


def test_kernels_of_an_only_child_count_for_its_parent(read_events: ReadEvents) -> None:
    events = [
        op("aten::mul", 0, 50),
        call("cudaLaunchKernel", 2, 3, 1),
        op("aten::mul", 10, 30),
        call("cudaLaunchKernel", 12, 3, 2),
        kernel("first", 60, 5, correlation=1),
        kernel("second", 70, 6, correlation=2),
    ]
    # The call before it is a child too, so both are rows; without it there is one.
    found = by_key(read_events(events).key_averages())
    assert (found["aten::mul"].count, found["aten::mul"].self_device_time_total) == (2, 11)
    assert found["aten::mul"].device_time_total == 11 + 6
    found = by_key(read_events([events[0], *events[2:4], events[5]]).key_averages())
    assert (found["aten::mul"].count, found["aten::mul"].device_time_total) == (1, 6)


def test_kernels_of_what_is_not_listed_count_for_what_is_around_it(
    read_events: ReadEvents,
) -> None:
    events = [
        op("aten::add", 0, 50),
        op("aten::output_nr", 10, 30),
        call("cudaLaunchKernel", 12, 3, 1),
        kernel("k", 60, 5, correlation=1),
    ]
    assert by_key(read_events(events).key_averages())["aten::add"].self_device_time_total == 5


def test_columns_of_devices(read_events: ReadEvents) -> None:
    table = read_events(_events()).table(sort_by="cuda_time_total")
    titles = table.splitlines()[1]
    for title in ("Self CUDA  ", "Self CUDA %", "CUDA total", "CUDA time avg"):
        assert title in titles
    assert table.splitlines()[-1] == "Self CUDA time total: 39.000us"
    (gemm,) = (line for line in table.splitlines() if line.strip().startswith("gemm"))
    assert gemm.split()[5:10] == ["0.000us", "30.000us", "76.92%", "30.000us", "30.000us"]
    host_only = read_events([op("aten::mm", 0, 5)]).table()
    assert "CUDA" not in host_only
