"""What is recorded of a PyTorch script, and for how long."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
from pathlib import Path

import pytest

import tidy
from tidy.trace import Capability, EventKind

from .running import python, record, tidy_run, write_script

pytestmark = pytest.mark.oracle

_TRAIN = """
import sys, time
import torch
net = torch.nn.Linear(4, 4)
first = torch.optim.SGD(net.parameters())
second = torch.optim.SGD(net.parameters())
done = 0
def train(count, step=0.0):
    global done
    for _ in range(count):
        net(torch.ones(2, 4)).sum().backward()
        first.step()
        second.step()
        done += 1
        time.sleep(step)
"""


def test_steps_of_the_first_optimizer_count(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "train(20); print(done)")
    found = record("--steps", "4", "--warmup", "2", script, cwd=tmp_path)
    assert found.out.startswith("20\n\n")
    trace = found.trace
    assert [step.number for step in trace.steps] == [2, 3, 4, 5]
    # Both optimizers step in each; the recording ends inside the last step of the first.
    assert len(list(trace.named("Optimizer.step#SGD.step"))) == 11
    assert max(e.start_ns for e in trace.of_kind(EventKind.TorchOp)) < trace.steps[-1].end_ns
    for step in trace.steps:
        inside = list(trace.within(step.start_ns, step.end_ns))
        assert sum(event.name == "aten::linear" for event in inside) == 1
    frames = {event.name for event in trace.of_kind(EventKind.PyCall)}
    assert not [name for name in frames if "launch" in name or "sitecustomize" in name]


def test_stop_after_ends_the_script_well(tmp_path: Path) -> None:
    text = _TRAIN + (
        "import atexit; atexit.register(lambda: print(done))\n"
        "try:\n    train(500)\nfinally:\n    print('finally')\nprint('never')"
    )
    script = write_script(tmp_path, text)
    found = record("--steps", "3", "--stop-after", script, cwd=tmp_path)
    assert found.out.startswith("finally\n3\n\n")
    assert (found.code, found.err) == (0, "")
    assert len(found.trace.steps) == 3


def test_it_says_how_much_slower_the_steps_were(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "train(30)")
    found = record("--steps", "5", script, cwd=tmp_path)
    said = re.search(
        r"made the steps (\d+\.\d) times slower \(median of 5 recorded, (\d+)", found.out
    )
    assert said is not None
    assert int(said[2]) == 24
    assert found.header["tidy_recording_slowdown"] == pytest.approx(float(said[1]), abs=0.06)
    script = write_script(tmp_path, _TRAIN + "train(8)")
    found = record("--steps", "5", script, cwd=tmp_path)
    assert "times slower" not in found.out
    assert found.header["tidy_recording_slowdown"] is None


@pytest.mark.parametrize(
    ("option", "missing"),
    [
        ("--no-stack", {Capability.STACKS}),
        ("--no-shapes", {Capability.SHAPES}),
        ("--no-memory", {Capability.MEMORY}),
    ],
)
def test_what_is_not_recorded(option: str, missing: set[Capability], tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "train(5)")
    kinds = {Capability.STACKS, Capability.SHAPES, Capability.MEMORY}
    assert record(option, script, cwd=tmp_path).trace.capabilities & kinds == kinds - missing


def test_without_an_optimizer_it_records_to_the_end(tmp_path: Path) -> None:
    text = "import torch\nfor i in range(50):\n    torch.ones(3).exp()\n"
    script = write_script(tmp_path, text)
    trace = record(script, cwd=tmp_path).trace
    assert len(list(trace.named("aten::exp"))) == 50
    assert trace.steps == ()


@pytest.mark.parametrize("stack", [["--no-stack"], []])
def test_the_time_is_bounded(stack: list[str], tmp_path: Path) -> None:
    text = (
        "import time, torch\nlimit = time.time() + 4\nwhile time.time() < limit:\n"
        "    torch.ones(3).exp()\n    time.sleep(0.01)\n"
    )
    script = write_script(tmp_path, text)
    trace = record("--seconds", "1", *stack, script, cwd=tmp_path).trace
    assert 0.5e9 < trace.span_ns < 3e9


def test_time_over_before_the_first_step_begins_again_there(tmp_path: Path) -> None:
    text = _TRAIN + "for _ in range(100): time.sleep(0.02)\ntrain(20)"
    script = write_script(tmp_path, text)
    trace = record("--seconds", "1", "--steps", "5", script, cwd=tmp_path).trace
    assert [step.number for step in trace.steps] == [1, 2, 3, 4, 5]


def test_pieces_become_one_trace(tmp_path: Path) -> None:
    """Steps of 0.2 s, with a cut after each of the first and then after more and more."""
    script = write_script(tmp_path, _TRAIN + "train(22, 0.2)")
    for _ in range(4):  # PyTorch 2.13 now and then loses a part as it collects frames
        found = record("--steps", "20", script, cwd=tmp_path)
        if "left out" not in found.out:
            break
    trace = found.trace
    assert [step.number for step in trace.steps] == list(range(1, 21)), found.out
    assert len(list(trace.named("aten::linear"))) == 21
    events = json.loads(found.path.read_text("utf-8"))["traceEvents"]
    for name in ("External id", "Ev Idx"):
        ids = [e["args"][name] for e in events if e.get("cat") == "cpu_op"]
        assert len(ids) == len(set(ids))
    backward = list(trace.named("AddmmBackward0"))
    assert len(backward) == 21
    for event in backward:
        assert event.forward is not None
        assert event.forward.name == "aten::addmm"
        assert event.forward.start_ns < event.start_ns


def test_a_profiler_of_its_own_goes_first(tmp_path: Path) -> None:
    text = _TRAIN + (
        "train(2)\n"
        "with torch.profiler.profile() as prof:\n    train(1)\n"
        "print([e.count for e in prof.key_averages() if e.key == 'aten::linear'])\ntrain(1)"
    )
    script = write_script(tmp_path, text)
    expected = python(script, cwd=tmp_path)
    found = record("--warmup", "0", script, cwd=tmp_path)
    assert expected.out == "[1]\n"
    assert found.out.startswith(expected.out)
    assert len(found.trace.steps) == 2
    assert "ended when the script started a profiler of its own" in found.out


def test_nothing_ran(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import torch\nprint('hello')")
    found = tidy_run(script, cwd=tmp_path)
    assert (found.code, found.out) == (2, "hello\n")
    assert found.err == f"tidy: {script}: no op ran while it was recorded: nothing to report\n"


def test_data_loader_workers(tmp_path: Path) -> None:
    text = """
    import torch
    if __name__ == "__main__":
        data = torch.utils.data.TensorDataset(torch.arange(12.0))
        for start in ("fork", "spawn"):
            options = {"num_workers": 2, "multiprocessing_context": start}
            loader = torch.utils.data.DataLoader(data, 4, **options)
            print([batch.sum().item() for (batch,) in loader])
    """
    script = write_script(tmp_path, text)
    expected = python(script, cwd=tmp_path)
    found = tidy_run(script, cwd=tmp_path)
    assert found.out.startswith(expected.out)
    assert (found.code, found.err) == (0, expected.err)


def test_gzip_and_reporting_again(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "train(5)")
    path = tmp_path / "kept.json.gz"
    found = tidy_run("--trace", path, "--format", "json", script, cwd=tmp_path)
    said = json.loads(found.out)
    assert said["traces"][0]["path"] == str(script)
    with gzip.open(path) as file:
        json.load(file)
    again = tidy.check(tidy.load(path)).to_json()
    assert again["findings"] == said["traces"][0]["findings"]


@pytest.mark.skipif(os.name == "nt", reason="gloo under torchrun needs POSIX here")
@pytest.mark.slow
def test_ranks_of_a_distributed_job(tmp_path: Path) -> None:
    text = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(net.parameters())
    for _ in range(6):
        optimizer.zero_grad(set_to_none=False)
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()
    """
    script = write_script(tmp_path, text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = ["--nproc_per_node", "2", "--master_addr", "127.0.0.1", "--master_port", str(port)]
    found = tidy_run(
        *("--trace", "ranks", "-m", "torch.distributed.run", *launch, script),
        cwd=tmp_path,
        OMP_NUM_THREADS="1",
    )
    assert found.code == 1, found.err
    traces = [tidy.load(path) for path in sorted((tmp_path / "ranks").iterdir())]
    assert [(trace.info.rank, trace.info.world_size) for trace in traces] == [(0, 2), (1, 2)]
    assert re.search(r"train\.py, rank 0\n.*train\.py, rank 1\n", found.out)
    assert found.out.count("TDY603") == 1, "what ranks have in common is said once"
    assert "train.py:7" in found.out
    for trace in traces:
        assert len(trace.steps) == 5
