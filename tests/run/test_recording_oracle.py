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

from ..environment import SOAK
from .running import python, record, tidy_report, tidy_run, write_script

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
_SLEEPS = ("--fail-on", "never")  # a step that sleeps waits for Python, which is a warning


_OBJECTS = """
import gc, weakref
gc.collect()
gc.disable()
class Batch: pass
def step():
    batch = Batch()
    train(1)
    return weakref.ref(batch)
print(sum(step()() is not None for _ in range(20)), done)
"""


def test_steps_of_the_first_optimizer_count(tmp_path: Path) -> None:
    """Python collects nothing here: a frame in a circle would keep the batch of each step."""
    script = write_script(tmp_path, _TRAIN + _OBJECTS)
    found = record("--steps", "4", "--warmup", "2", script, cwd=tmp_path)
    assert found.out.startswith("0 20\n\n")
    trace = found.trace
    assert [step.number for step in trace.steps] == [2, 3, 4, 5]
    # Both optimizers step in each; the recording ends inside the last step of the first.
    assert len(list(trace.named("Optimizer.step#SGD.step"))) == 11
    assert max(e.start_ns for e in trace.of_kind(EventKind.TorchOp)) < trace.steps[-1].end_ns
    for step in trace.steps:
        inside = list(trace.within(step.start_ns, step.end_ns))
        assert sum(event.name == "aten::linear" for event in inside) == 1
    frames = {event.name for event in trace.of_kind(EventKind.PyCall)}
    assert not [name for name in frames if "tidy/run" in name or "sitecustomize" in name]


def test_stop_after_ends_the_script_well(tmp_path: Path) -> None:
    text = _TRAIN + (
        "import atexit; atexit.register(lambda: print(done))\n"
        "try:\n    train(500)\nfinally:\n    print('finally')\nprint('never')"
    )
    script = write_script(tmp_path, text)
    options = ("--steps", "3", "--stop-after", "--fail-on", "never")
    found = record(*options, script, cwd=tmp_path)
    # 1 + 3 are recorded in full, 1 + 3 lightly, and 1 + 3 are timed; the last is not counted here.
    assert found.out.startswith("finally\n11\n\n")
    assert (found.code, found.err) == (0, "")
    assert len(found.trace.steps) == 3


def test_it_says_how_much_slower_the_steps_were(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "train(30)")
    found = record("--steps", "5", script, cwd=tmp_path)
    said = re.search(
        r"full recording made the steps (\d+\.\d) times slower"
        r"(, light recording (?:\d+\.\d\d times|did not))?; times are those of 5 lightly recorded"
        r" steps, scaled to those of (\d+) steps with nothing recorded",
        " ".join(found.out.split()),
    )
    assert said is not None, found.out
    bare = 30 - 6 - 6 - 1
    # On a busy machine the quickest fifth of them, and light steps are not compared.
    assert int(said[3]) == (bare if said[2] else bare // 5)
    assert found.header["tidy_recording_slowdown"] == pytest.approx(float(said[1]), abs=0.06)
    again = tidy_report(found.path, cwd=tmp_path)
    assert again.out.split("\n", 1)[1] == found.out.split(f"{script}\n", 1)[1]


_KINDS = {
    "--no-stack": Capability.STACKS,
    "--no-shapes": Capability.SHAPES,
    "--no-memory": Capability.MEMORY,
}


@pytest.mark.parametrize("options", [*([each] for each in _KINDS if SOAK), list(_KINDS)])
def test_what_is_not_recorded(options: list[str], tmp_path: Path) -> None:
    """Nor how much slower the steps are, of which there are too few."""
    script = write_script(tmp_path, _TRAIN + "train(8)")
    found = record("--steps", "5", *options, script, cwd=tmp_path)
    recorded, kinds = found.trace.capabilities, {*_KINDS.values()}
    assert recorded & kinds == kinds - {_KINDS[option] for option in options}
    assert "times slower" not in found.out
    assert found.header["tidy_recording_slowdown"] is None


def test_without_an_optimizer_it_records_to_the_end(tmp_path: Path) -> None:
    text = "import torch\nfor i in range(50):\n    torch.ones(3).exp()\n"
    script = write_script(tmp_path, text)
    trace = record(script, cwd=tmp_path).trace
    assert len(list(trace.named("aten::exp"))) == 50
    assert trace.steps == ()


@pytest.mark.parametrize("stack", [["--no-stack"], []] if SOAK else [[]])
def test_the_time_is_bounded(stack: list[str], tmp_path: Path) -> None:
    text = (
        "import time, torch\nlimit = time.time() + 4\nwhile time.time() < limit:\n"
        "    torch.ones(3).exp()\n    time.sleep(0.01)\n"
    )
    script = write_script(tmp_path, text)
    trace = record("--seconds", "1", *stack, script, cwd=tmp_path).trace
    assert 0.5e9 < trace.span_ns < 3e9


def test_time_over_before_the_first_step_begins_again_there(tmp_path: Path) -> None:
    # Six steps fit into the time also where others use the machine.
    text = _TRAIN + "for _ in range(220): time.sleep(0.02)\ntrain(20)"
    script = write_script(tmp_path, text)
    trace = record("--seconds", "4", "--steps", "5", script, cwd=tmp_path).trace
    assert [step.number for step in trace.steps] == [1, 2, 3, 4, 5]


def test_pieces_become_one_trace(tmp_path: Path) -> None:
    """Steps of 0.2 s, with a cut after each of the first and then after more and more."""
    script = write_script(tmp_path, _TRAIN + "train(22, 0.2)")
    found = record(*_SLEEPS, "--steps", "20", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, ""), found.out
    trace = found.trace
    assert [step.number for step in trace.steps] == list(range(1, 21)), found.out
    for op in trace.named("aten::linear"):
        above = [event.name for event in op.ancestors() if event.name.startswith("train.py(")]
        assert [name.partition(": ")[2] for name in above] == ["train", "<module>"]
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


def test_ranges_that_are_open_at_cuts(tmp_path: Path) -> None:
    """Each shows once, up to the first cut in it, and closes well when its time comes."""
    text = _TRAIN + (
        "with torch.profiler.record_function('outer') as outer:\n"
        "    with torch.profiler.record_function('inner'): train(5, 0.1)\n"
        "    train(1)\n"
        "with torch.profiler.record_function('after'): train(1)\n"
    )
    script = write_script(tmp_path, text)
    found = record(*_SLEEPS, "--warmup", "0", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, "")
    trace = found.trace
    (outer,), (inner,), (after,) = (list(trace.named(n)) for n in ("outer", "inner", "after"))
    assert outer.start_ns <= inner.start_ns < inner.end_ns <= outer.end_ns < after.start_ns
    assert len(trace.steps) == 7


def test_a_profiler_of_its_own_goes_first(tmp_path: Path) -> None:
    text = _TRAIN + (
        "train(2)\n"
        "with torch.profiler.profile() as prof:\n    train(1)\n"
        "print([e.count for e in prof.key_averages() if e.key == 'aten::linear'])\ntrain(1)"
    )
    script = write_script(tmp_path, text)
    found = record("--warmup", "0", script, cwd=tmp_path)
    assert found.out.startswith("[1]\n\n")
    assert len(found.trace.steps) == 2
    assert "ended when the script started a profiler of its own" in found.out


def test_nothing_ran(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import torch\nprint('hello')")
    found = tidy_run(script, cwd=tmp_path)
    assert (found.code, found.out) == (2, "hello\n")
    assert found.err == f"tidy: {script}: no op ran while it was recorded: nothing to report\n"


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


_OF_TWO_RANKS = """
import time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(net.parameters())
for _ in range(60):
    optimizer.zero_grad(set_to_none=False)
    loss = net(torch.ones(2, 64)).sum()
    if dist.get_rank():
        time.sleep(0.02)
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.skipif(os.name == "nt", reason="gloo under torchrun needs POSIX here")
@pytest.mark.slow
def test_ranks_of_a_distributed_job_of_which_one_sleeps(tmp_path: Path) -> None:
    """The other one waits in its backward, on a thread of Gloo's."""
    script = write_script(tmp_path, _OF_TWO_RANKS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = ["--nproc_per_node", "2", "--master_addr", "127.0.0.1", "--master_port", str(port)]
    found = tidy_run(
        *("--fail-on", "info", "--trace", "ranks", "-m", "torch.distributed.run", *launch, script),
        cwd=tmp_path,
        OMP_NUM_THREADS="1",
    )
    assert found.code == 1, found.err
    assert re.search(r"train\.py, rank 0\n.*train\.py, rank 1\n", found.out)
    assert found.out.count("TDY603") == 1, "what ranks have in common is said once"

    paths = sorted((tmp_path / "ranks").iterdir())
    traces = [tidy.load(path) for path in paths]
    assert [(trace.info.rank, trace.info.world_size) for trace in traces] == [(0, 2), (1, 2)]
    assert [len(trace.steps) for trace in traces] == [10, 10]

    again = tidy_report("--format", "json", *paths, cwd=tmp_path)
    first, second = json.loads(again.out)["traces"]
    for each in (first, second):
        lines = {one["location"]["line"] for one in each["findings"] if one["code"] == "TDY603"}
        assert lines == {8}
    (late,) = (each for each in first["findings"] if each["code"] == "TDY902")
    assert late["message"].startswith("rank 0 waits for rank 1, which comes last")
    assert late["severity"] == "warning"
    assert late["fix_place"]["location"]["line"] == 11
    assert late["saving"]["high_ns"] > 10_000_000
    assert not any(each["code"] == "TDY401" for each in first["findings"])
    assert "TDY401" in [each["code"] for each in second["findings"]]


_PYTHON_IN_OPS = """
import time
import torch
from torch.utils._python_dispatch import TorchDispatchMode

longest = 0.0

def wait(x):
    global longest
    began = time.monotonic()
    while time.monotonic() < began + 0.15:
        time.sleep(0.002)
    longest = max(longest, time.monotonic() - began)
    return x

class Waits(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return wait(function(*args, **(kwargs or {})))

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return wait(x * 2)
    @staticmethod
    def backward(ctx, grad):
        return wait(grad * 2)

weight = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for _ in range(2):
    with Waits():
        torch.ones(4, 4) @ torch.ones(4, 4)
    with torch.autograd.graph.saved_tensors_hooks(wait, lambda x: x):
        loss = Doubled.apply(weight * weight).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(weight.sum().item())
with open("longest", "w") as file:
    file.write(str(longest))
"""


def test_operators_that_call_python_are_whole(tmp_path: Path) -> None:
    """Also those that take longer than a piece: no piece is written while one of them is open.

    PyTorch's profiler must not be stopped there: the operator writes its end into memory that was
    freed, which crashes some processes, or is the end of what began there since.
    """
    script = write_script(tmp_path, _PYTHON_IN_OPS)
    expected = python(script, cwd=tmp_path)
    found = record("--warmup", "0", script, cwd=tmp_path)
    assert (found.code, found.err) == (0, expected.err), found.out
    assert found.out.startswith(expected.out)
    assert len(list(found.trace.named("Doubled"))) == 2
    assert all(event.duration_ns >= 140_000_000 for event in found.trace.named("Doubled"))
    longest_ns = float((tmp_path / "longest").read_text("utf-8")) * 1e9
    products_ns = [event.duration_ns for event in found.trace.named("aten::mm")]
    assert sum(each >= 140_000_000 for each in products_ns) == 2
    assert max(products_ns) < longest_ns + 100_000_000
