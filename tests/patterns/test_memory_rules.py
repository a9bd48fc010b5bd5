"""TDY803, TDY804 and TDY805: memory of live runs, and of files that say less."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tidy
import tidy.runtime as rt
from tidy import Finding, Severity, Trace
from tidy.finding import Checked, NotChecked
from tidy.profiler import profile
from tidy.runtime import cuda, nn

from ..conftest import ReadEvents
from ..oracle.recording import record
from ..oracle.shared import path_of, report
from ..trace.kineto import Written, call, kernel, mark, op

_MIB, _GIB = 1 << 20, 1 << 30


def _outcome(trace: Trace, code: str) -> Any:
    return tidy.check(trace, select=[code], savings="off").outcomes[code]


def _found(trace: Trace, code: str) -> list[Finding]:
    outcome = _outcome(trace, code)
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)


@pytest.fixture
def on_t4() -> Iterator[None]:
    cuda.configure("t4", 1)
    yield
    gc.collect()
    cuda.configure(None)


# -- growing ------------------------------------------------------------------------------------


def _steps(torch: Any, keep: Callable[[list[Any], Any], None], *, with_grad: bool = True) -> None:
    """Eight steps in which a validation's loss is handed to `keep`."""
    weight = torch.ones(256, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    batch, kept = torch.ones(2048, 256), list[Any]()
    for _ in range(8):
        optimizer.zero_grad()
        (batch[:8] * weight).sum().backward()
        if with_grad:
            checked = (batch * weight).square().mean()
        else:
            with torch.no_grad():
                checked = (batch * weight).square()
        keep(kept, checked)
        optimizer.step()


def _keep(kept: list[Any], value: Any) -> None:
    kept.append(value)


def _keep_late(kept: list[Any], value: Any) -> None:
    """One step in the middle takes so long that it is left out of the window."""
    kept.append(value)
    if len(kept) == 4:
        time.sleep(0.5)


def _keep_detached(kept: list[Any], value: Any) -> None:
    kept.append(value.detach())


def _keep_the_last(kept: list[Any], value: Any) -> None:
    kept[:] = [value]


def _keep_three(kept: list[Any], value: Any) -> None:
    kept[:] = [*kept[-2:], value]


def _severities(trace: Trace) -> list[Severity]:
    return [finding.severity for finding in _found(trace, "TDY804")]


def _of_runtime(keep: Callable[[list[Any], Any], None], with_grad: bool = True) -> Trace:
    with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        _steps(rt, keep, with_grad=with_grad)
    return prof.trace


@pytest.mark.parametrize("keep", [_keep, _keep_late])
def test_a_graph_that_stays(keep: Callable[[list[Any], Any], None]) -> None:
    trace = _of_runtime(keep)
    (found,) = _found(trace, "TDY804")
    assert found.severity == Severity.WARNING
    assert found.count == len(trace.window.steps) - 1  # of the last it is not known
    grown = "memory grows by 2 MiB a step or more; 2 MiB of it by aten::mul"
    assert found.message == f"{grown}, in a graph kept up to aten::mean"
    assert found.location is not None
    assert found.location.file.endswith("test_memory_rules.py")


@pytest.mark.parametrize("keep", [_keep_detached, _keep_the_last, _keep_three])
def test_what_does_not_stay(keep: Callable[[list[Any], Any], None]) -> None:
    assert _severities(_of_runtime(keep)) == []


def test_outputs_that_are_collected_are_info() -> None:
    assert _severities(_of_runtime(_keep, with_grad=False)) == [Severity.INFO]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (_keep, [Severity.WARNING]),
        (_keep_detached, []),
        (_keep_the_last, []),
        (_keep_three, []),
    ],
)
def test_pytorch(
    keep: Callable[[list[Any], Any], None], said: list[Severity], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    recorded = record(tmp_path, lambda: _steps(torch, keep), profile_memory=True, with_stack=True)
    assert _severities(recorded.trace) == said


def _piece(first: int, *, stays: bool) -> list[Written]:
    """Two steps of a recording whose totals begin anew; what one gives back may go unseen."""
    written, held = list[Written](), 0
    for number in (first, first + 1):
        at = 1000 * number
        written += [mark(f"ProfilerStep#{number}", at, 990), op("aten::mul", at + 10, 100)]
        for address, change in ((number + 1, _MIB), (50, _MIB), (50, -_MIB), (number, -_MIB)):
            is_unseen = change < 0 and (stays or number == first) and address != 50
            held += 0 if is_unseen else change
            if not is_unseen:
                place = {"Addr": address, "Device Type": 0, "Device Id": -1}
                written.append(_memory(at + 20 + len(written), change, allocated=held))
                written[-1]["args"] |= place
    return written


@pytest.mark.parametrize("stays", [True, False])
def test_steps_of_which_memory_went_unseen_do_not_count(
    read_events: ReadEvents, stays: bool
) -> None:
    """The first of each piece gives back what the piece before took."""
    pieces = [each for first in range(0, 8, 2) for each in _piece(first, stays=stays)]
    found = _found(read_events(pieces), "TDY804")
    assert len(found) == stays


# -- short of memory ----------------------------------------------------------------------------


def _memory(ts: float, nbytes: int, **totals: int) -> Written:
    place = {"pid": 1, "tid": 1, "ts": ts, "s": "t", "ph": "i", "cat": "cpu_instant_event"}
    args = {"Bytes": nbytes, "Addr": 7, "Device Type": 1, "Device Id": 0}
    named = {f"Total {name.title()}": value for name, value in totals.items()}
    return {**place, "name": "[memory]", "args": {**args, **named}}


_GPU = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "totalGlobalMem": 10 * _GIB}


def _calls(*names: str, ops: int = 1, **totals: int) -> list[Written]:
    """Four steps in which an op calls for memory; one op, or one for each call."""
    written: list[Written] = []
    for step in range(4):
        at = step * 1000
        written += [mark(f"ProfilerStep#{step}", at + 1, 990), kernel("gemm", at + 500, 400)]
        size = 200 // ops
        written += [op("aten::empty", at + 100 + size * n, size - 1) for n in range(ops)]
        written += [
            call(name, at + 105 + 40 * number, 30, at + number) for number, name in enumerate(names)
        ]
        written += [_memory(at + 290, 512, **totals)]
    return written


_FULL = {"allocated": 9 * _GIB, "reserved": 10 * _GIB - 4096}
_RETRY = "cudaFree", "cudaMalloc"


def test_retries(read_events: ReadEvents) -> None:
    trace = read_events(_calls(*_RETRY, **_FULL), deviceProperties=[_GPU])
    (found,) = _found(trace, "TDY803")
    assert (found.severity, found.count) == (Severity.WARNING, 8)
    assert "it holds 10 GiB of the GPU's 10 GiB, and at most 9 GiB are in use" in found.message
    assert "smaller batch" in found.fix
    assert _found(trace, "TDY801") == []


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (_calls("cudaMalloc", "cudaFree", **_FULL), "memory is given back after it is taken"),
        (_calls(*_RETRY, ops=5, **_FULL), "one op gives back, another takes"),
        (_calls("cudaMalloc", **_FULL), "the pool grows"),
        (_calls(*_RETRY, allocated=9, reserved=0), "nothing is cached"),
        (_calls(allocated=9 * _GIB, reserved=10 * _GIB), "it is merely full"),
        (_calls(allocated=2 * _GIB, reserved=3 * _GIB), "a third more than is in use"),
    ],
)
def test_no_retries(read_events: ReadEvents, events: list[Written], why: str) -> None:
    assert _found(read_events(events, deviceProperties=[_GPU]), "TDY803") == [], why


def test_blocks_that_do_not_fit(read_events: ReadEvents) -> None:
    trace = read_events(
        _calls(*_RETRY, allocated=4 * _GIB, reserved=10 * _GIB), deviceProperties=[_GPU]
    )
    (found,) = _found(trace, "TDY803")
    assert "expandable_segments" in found.fix


def test_caching_that_is_off(read_events: ReadEvents) -> None:
    trace = read_events(
        _calls("cudaMalloc", "cudaFree", allocated=512, reserved=0), deviceProperties=[_GPU]
    )
    (found,) = _found(trace, "TDY801")
    assert found.message.startswith("the caching allocator is switched off: ")
    assert "PYTORCH_NO_CUDA_MEMORY_CACHING" in found.fix


def test_caching_that_is_on(read_events: ReadEvents) -> None:
    for totals in ({"allocated": 512, "reserved": 2 << 20}, {}):  # the second says nothing of it
        trace = read_events(_calls("cudaMalloc", "cudaFree", **totals), deviceProperties=[_GPU])
        (found,) = _found(trace, "TDY801")
        assert "switched off" not in found.message


def test_files_that_do_not_say_enough() -> None:
    early = path_of("kineto__resnet50_num_workers_0")  # PyTorch 1.9
    not_checked = report(early).not_checked
    for code in ("TDY803", "TDY804", "TDY805"):
        assert isinstance(not_checked[code], NotChecked)
        assert not_checked[code].remedy == "record with a newer PyTorch"


@pytest.mark.parametrize(
    "start",
    [
        "misc__particle_transformer",
        "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat",
        "tracelens__mi300__Falconsai_nsfw_image_detection",
        "train_sched_good_cycle0",
    ],
)
def test_recorded_memory_that_is_no_problem(start: str) -> None:
    codes = {finding.code for finding in report(path_of(start)).findings}
    assert not codes & {"TDY803", "TDY804", "TDY805"}


# -- activations --------------------------------------------------------------------------------


def _deep(width: int, batch: int, *, backward: bool = True) -> None:
    layers = [nn.Linear(width, width), nn.Tanh()] * 6
    model = nn.Sequential(*layers).to("cuda")
    optimizer = rt.optim.SGD(model.parameters(), lr=0.01)
    inputs = rt.ones(batch, width, device="cuda")
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(inputs).sum()
        if backward:
            loss.backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("width", "batch", "backward", "spare", "found"),
    [
        (64, 4096, True, 1.05, 1),
        (64, 4096, True, 2.0, 0),  # half of the memory is free
        (512, 16, True, 1.05, 0),  # parameters and gradients fill it
        (64, 4096, False, 1.05, 0),  # nothing is given back in a backward
    ],
)
def test_activations(
    width: int, batch: int, backward: bool, spare: float, found: int, tmp_path: Path, on_t4: None
) -> None:
    """The memory of the GPU is set to what the run takes, and some to spare."""
    with profile(profile_memory=True) as prof:
        _deep(width, batch, backward=backward)
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    reserved = int(prof.trace.memory.reserved_nbytes.max())
    (properties,) = document["deviceProperties"]
    properties["totalGlobalMem"] = int(reserved * spare)
    (tmp_path / "trace.json").write_text(json.dumps(document), "utf-8")
    findings = _found(tidy.load(tmp_path / "trace.json"), "TDY805")
    assert len(findings) == found
    assert all(each.severity == Severity.INFO for each in findings)
