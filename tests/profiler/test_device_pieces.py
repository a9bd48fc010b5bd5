"""`tidy run` on a script with a modelled device: pieces end to end in modelled time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tidy.trace.kinds import EventKind

from ..run.running import record, write_script

# A kernel is launched in 5 us, which really takes 2 ms, and runs for 40 us.
_SCRIPT = """
import time
import tidy.runtime as torch
from tests.profiler.modelled import ModelledDevice, add_device
add_device()
device = ModelledDevice()
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters())
record = None
start = time.perf_counter_ns()
for number in range(160):
    loss = net(torch.ones(2, 4)).sum()
    device.launch(f"kernel_{number}", lasts_ns=40_000, real_ns=2_000_000)
    if record is not None:
        device.wait_for(record, stream=20)
    record = device.call("cudaEventRecord")
    loss.backward()
    device.synchronize()
    optimizer.step()
print(time.perf_counter_ns() - start)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--no-stack"], []], ids=["plain", "stacks"])
def test_pieces_follow_each_other_in_modelled_time(tmp_path: Path, options: list[str]) -> None:
    script = write_script(tmp_path, _SCRIPT)
    count = ("--warmup", "1", "--steps", "150", "--fail-on", "never")  # it does synchronize
    found = record(*options, *count, script, cwd=tmp_path)
    assert (found.code, found.err) == (0, "")
    assert "NVIDIA A100-SXM4-40GB (modelled), 150 steps of " in found.out
    assert "note: device times are modelled, not measured" in found.out
    trace = found.trace
    assert found.header["tidy_modelled_device"] is True
    kernels = list(trace.of_kind(EventKind.Kernel))
    names = [kernel.name for kernel in kernels]
    assert names == [f"kernel_{n}" for n in range(151)]
    assert {kernel.duration_ns for kernel in kernels} == {40_000}
    for a, b in pairwise(kernels):
        assert a.end_ns <= b.start_ns
        assert a.correlation < b.correlation
    records = {e.correlation for e in trace.named("cudaEventRecord")}
    waits = [e["args"] for e in found.header["traceEvents"] if e["name"] == "Stream Wait Event"]
    assert len(waits) == 150
    assert {each["wait_on_cuda_event_record_corr_id"] for each in waits} <= records
    for kernel in kernels:
        assert kernel.parent is not None
        assert kernel.parent.name == "cudaLaunchKernel"
        assert kernel.parent.end_ns <= kernel.start_ns
    # What computing took is not in the steps; waiting for the device is.
    really_ns = int(found.out.splitlines()[0])
    assert sum(step.duration_ns for step in trace.steps) < really_ns - 150 * 1_900_000
    for step in trace.steps:
        inside = [e.name for e in trace.within(step.start_ns, step.end_ns)]
        assert sum(name.startswith("kernel_") for name in inside) == 1
