"""The older interface, and what the profiler gives back."""

import pytest

import tidy.runtime as rt
from tidy.errors import UsageError
from tidy.profiler import (
    autograd_profiler,
    current_step,
    profile,
    schedule,
    tensorboard_trace_handler,
)


def _step() -> None:
    x = rt.ones(4, 4, requires_grad=True)
    (x @ x).sum().backward()


def test_the_older_interface():
    with autograd_profiler.profile(use_cpu=True, record_shapes=True) as prof:
        _step()
    averages = {row.key: row.count for row in prof.key_averages()}
    assert averages["aten::mm"] == 3
    assert averages["MmBackward0"] == 1
    assert prof.total_average().count == sum(averages.values())
    assert "aten::mm" in prof.table(sort_by="cpu_time_total", row_limit=-1)
    with pytest.raises(UsageError, match="twice"):
        prof.__enter__()


def test_disabled_it_records_nothing():
    with autograd_profiler.profile(enabled=False) as prof:
        _step()
    with pytest.raises(UsageError, match="nothing has been recorded"):
        prof.key_averages()


def test_one_profiler_at_a_time():
    with profile() as outer:
        with pytest.raises(UsageError, match="running already"):
            profile().start()
        _step()
    assert [e.name for e in outer.trace.named("aten::mm")] == ["aten::mm"] * 3


def test_self_times_sum_to_the_total():
    with profile(record_shapes=True, with_flops=True) as prof:
        _step()
    rows = prof.key_averages(group_by_input_shape=True)
    assert prof.self_cpu_time_total == pytest.approx(sum(r.self_cpu_time_total for r in rows))
    (product,) = [row for row in rows if row.key == "aten::mm"]
    assert product.input_shapes == [[4, 4], [4, 4]]
    assert product.flops == 3 * 2 * 4 * 4 * 4
    assert "<table" in prof._repr_html_()


def test_folded_stacks(tmp_path):
    with profile(with_stack=True) as prof:
        _step()
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    lines = path.read_text("utf-8").splitlines()
    assert any("_step" in line and "aten::mm" in line for line in lines)
    assert all(line.rpartition(" ")[2].isdigit() for line in lines)


def test_tensorboard_folder(tmp_path):
    handler = tensorboard_trace_handler(tmp_path / "runs" / "one", "worker", use_gzip=True)
    with profile(on_trace_ready=handler):
        _step()
    (written,) = (tmp_path / "runs" / "one").iterdir()
    assert written.name.startswith("worker.")
    assert written.name.endswith(".pt.trace.json.gz")
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match="cannot be made"),
        profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "file" / "x")),
    ):
        _step()


def test_an_optimizer_and_the_profiler_make_one_step_together():
    weight = rt.ones(2, requires_grad=True)
    optimizer = rt.optim.SGD([weight], lr=0.1)
    before = current_step()
    with profile(schedule=schedule(wait=0, warmup=0, active=3)) as prof:
        for _ in range(3):
            weight.sum().backward()
            optimizer.step()
            prof.step()
    assert current_step() == before + 3
