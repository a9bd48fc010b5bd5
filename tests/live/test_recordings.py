"""Rules about the recording, on recordings of a run on a modelled device and of PyTorch.

What a profiler loses, and a clock that is off, is put into the file of a live run: a modelled
device loses nothing, and has the host's clock.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

import tidy
import tidy.runtime as rt
from tidy.profiler import ProfilerAction, capture, profile
from tidy.runtime import cuda, nn
from tidy.runtime.modelled import clock

from ..cli.command import tidy as command
from ..modelled.steady_time import SteadyTime

_STEPS = 4
_SCRIPT = """\
import torch

weight = torch.ones(8, 8, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    (torch.ones(4, 8) @ weight).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("framework", ["runtime", pytest.param("torch", marks=pytest.mark.oracle)])
@pytest.mark.parametrize(("count", "is_found"), [(1, True), (2, False)])
def test_a_single_step(framework: str, count: int, is_found: bool, tmp_path: Path) -> None:
    if framework == "torch":
        pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(_SCRIPT, "utf-8")
    options = ("--framework", framework, "--steps", str(count), "--format", "json")
    done = command("run", *options, "--select", "TDY004", "script.py", cwd=tmp_path)
    (report,) = json.loads(done.out)["traces"]
    assert [each["code"] for each in report["findings"]] == ["TDY004"] * is_found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The file of a few steps, as its JSON; no step is longer because the host had else to do."""
    steady = SteadyTime()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clock, "perf_counter_ns", steady.perf_counter_ns)
        patched.setattr(capture, "clock", steady.perf_counter_ns)
        return _recorded(tmp_path_factory)


def _recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("recorded") / "trace.json"
    cuda.configure("t4")
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(6)]).to("cuda")
    optimizer = rt.optim.SGD(model.parameters(), lr=0.1)
    inputs = rt.ones(16, 64, device="cuda")
    with profile(schedule=lambda _: ProfilerAction.RECORD, record_shapes=True) as prof:
        for _ in range(_STEPS):
            optimizer.zero_grad()
            model(inputs).sum().backward()
            optimizer.step()
            cuda.synchronize()
            prof.step()
    prof.export_chrome_trace(path)
    del model, optimizer, inputs, prof
    gc.collect()
    cuda.configure(None)
    return json.loads(path.read_text("utf-8"))


def _findings(whole: dict[str, Any], events: list[dict[str, Any]], folder: Path) -> dict[str, str]:
    """What rules about recordings say of these events."""
    path = folder / "changed.json"
    path.write_text(json.dumps({**whole, "traceEvents": events}), "utf-8")
    report = tidy.check(tidy.load(path), select=["TDY003", "TDY004", "TDY005", "TDY006"])
    return {each.code: each.message for each in report.findings}


def _is_work(event: dict[str, Any]) -> bool:
    return event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")


def test_a_sound_recording_is_quiet(recorded: dict[str, Any], tmp_path: Path) -> None:
    assert _findings(recorded, recorded["traceEvents"], tmp_path) == {}


def test_kernels_that_were_lost(recorded: dict[str, Any], tmp_path: Path) -> None:
    events = recorded["traceEvents"]
    kernels = [each for each in events if each.get("cat") == "kernel"]
    launches = sum(each.get("name") == "cudaLaunchKernel" for each in events)
    lost = kernels[-len(kernels) // 4 :]  # as where a buffer is full
    found = _findings(recorded, [each for each in events if each not in lost], tmp_path)
    told = f"the profiler lost the kernels of {len(lost)} of {launches} launches"
    assert found == {"TDY005": told}


def test_a_few_kernels_at_the_end_may_be_missing(recorded: dict[str, Any], tmp_path: Path) -> None:
    events = recorded["traceEvents"]
    lost = [each for each in events if each.get("cat") == "kernel"][-3:]
    assert _findings(recorded, [each for each in events if each not in lost], tmp_path) == {}


@pytest.mark.parametrize(("loads_us", "is_found"), [(90_000, True), (1, False)])
def test_a_first_launch(
    recorded: dict[str, Any], loads_us: int, is_found: bool, tmp_path: Path
) -> None:
    """What a launch takes longer that loads its kernel: all that comes later is so much later."""
    events = _of_one_step(recorded["traceEvents"])
    launch = min((e for e in events if e.get("name") == "cudaLaunchKernel"), key=_start_us)
    at = launch["ts"]
    load = {**launch, "name": "cuModuleLoadData", "ts": at + loads_us / 1000, "dur": loads_us}
    load = {key: value for key, value in load.items() if key != "args"}
    later = [_later(each, at, loads_us + 1) for each in events]
    found = _findings(recorded, [*later, load], tmp_path)
    found.pop("TDY004")
    assert found.keys() == ({"TDY003"} if is_found else set())


def _start_us(event: dict[str, Any]) -> float:
    return event["ts"]


def _of_one_step(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the ranges of the steps after the first."""
    steps = [f"ProfilerStep#{number}" for number in range(1, _STEPS + 1)]
    return [each for each in events if each.get("name") not in steps]


def _later(event: dict[str, Any], at_us: float, by_us: float) -> dict[str, Any]:
    """The event where something at a time takes so much longer."""
    if "ts" not in event or event["ts"] + event.get("dur", 0) <= at_us:
        return event
    if event["ts"] >= at_us:
        return {**event, "ts": event["ts"] + by_us}
    return {**event, "dur": event["dur"] + by_us}


@pytest.mark.parametrize(
    ("later_us", "told"),
    [
        (-200, "kernels begin before they are launched"),
        (+500, "the host has waited for the device, which by its own clock works on"),
    ],
)
def test_a_clock_that_is_off(
    recorded: dict[str, Any], later_us: int, told: str, tmp_path: Path
) -> None:
    events = [
        {**each, "ts": each["ts"] + later_us} if _is_work(each) else each
        for each in recorded["traceEvents"]
    ]
    found = _findings(recorded, events, tmp_path)
    assert found.keys() == {"TDY006"}
    assert found["TDY006"].endswith(told)
