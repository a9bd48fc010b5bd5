"""How many threads compute stands in a recording, and TDY410 compares it with the processors."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import tidy
from tidy.finding import Checked, NotChecked

from ..cli.command import tidy as command
from ..trace.kineto import op
from ..trace.loader_loop import Loop

_SCRIPT = """\
import torch
{before}
weight = torch.ones({size}, {size}, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-9)
for _ in range(4):
    optimizer.zero_grad()
    (weight @ weight @ weight).sum().backward()
    optimizer.step()
"""
_LARGE, _SMALL = 320, 16
_WHERE = [
    pytest.param("runtime", "", id="runtime"),
    pytest.param("torch", "torch.set_num_threads(1)", id="torch", marks=pytest.mark.oracle),
]


def _recorded(framework: str, before: str, size: int, folder: Path) -> Path:
    if framework == "torch":
        pytest.importorskip("torch")
    (folder / "script.py").write_text(_SCRIPT.format(before=before, size=size), "utf-8")
    options = ("--framework", framework, "--trace", "trace.json.gz")
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    done = command("run", *options, "script.py", cwd=folder, **threads)
    assert done.err == ""
    return folder / "trace.json.gz"


def _on(trace: Path, **said: float) -> bool:
    """Whether the rule finds something in the same run on another machine."""
    with gzip.open(trace) as file:
        document = json.load(file)
    threads = document["tidy_threads"]
    threads.pop("idle", None)  # how busy this machine was
    document["tidy_threads"] = threads | said
    other = trace.with_name("other.json")
    other.write_text(json.dumps(document), "utf-8")
    outcome = tidy.check(tidy.load(other), select=["TDY410"]).outcomes["TDY410"]
    assert isinstance(outcome, Checked)
    return bool(outcome.findings)


@pytest.mark.parametrize(("framework", "before"), _WHERE)
def test_one_thread(framework: str, before: str, tmp_path: Path) -> None:
    trace = _recorded(framework, before, _LARGE, tmp_path)
    said = tidy.load(trace).info.threads
    if framework == "runtime" and not said:
        pytest.skip("numpy's library does not tell its threads")
    assert said["intra_op"] == 1
    assert said["variable"] == "OMP_NUM_THREADS=1"
    assert 1 <= said["processors"] <= (os.cpu_count() or 1)
    assert _on(trace, processors=8, load=1.0)
    assert not _on(trace, processors=8, load=9.0)
    assert not _on(trace, processors=1, load=1.0)
    assert not _on(trace, processors=8, load=1.0, intra_op=8)
    assert _on(trace, processors=8, load=9.0, idle=6.9)
    assert not _on(trace, processors=8, load=1.0, idle=0.5)
    assert _on(trace, processors=4, load=1.0, intra_op=8)
    assert _on(trace, processors=4, load=1.0, processes=8)


@pytest.mark.oracle
def test_the_line_that_sets_the_number_is_named(tmp_path: Path) -> None:
    trace = _recorded("torch", "torch.set_num_threads(1)", _LARGE, tmp_path)
    places = tidy.load(trace).info.header["tidy_made_places"]
    assert places["threads"] == ["script.py", 2, "<module>"]
    _on(trace, processors=8, load=1.0)
    outcome = tidy.check(tidy.load(tmp_path / "other.json"), select=["TDY410"]).outcomes["TDY410"]
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert str(finding.location) == "script.py:2"
    assert finding.message.endswith("; the number of threads is set here")
    assert finding.fix_place is None


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux tells what is idle")
def test_processors_that_had_nothing_to_do(tmp_path: Path) -> None:
    """As many as the system says, and the script's own processor was none of them."""
    trace = _recorded("runtime", "", _LARGE, tmp_path)
    said = tidy.load(trace).info.threads
    if "idle" not in said:
        pytest.skip("the system does not tell of each processor")
    assert 0 <= said["idle"] <= said["processors"] - 0.2


@pytest.mark.parametrize("has_workers", [False, True])
def test_beside_workers_nothing_is_said(has_workers: bool, tmp_path: Path) -> None:
    events = Loop(batch_ms=2, step_ms=20).written()
    inputs = {"Input Dims": [[512, 512]] * 2, "Input type": ["float"] * 2}
    for each in [each for each in events if each["name"].startswith("ProfilerStep#")]:
        events.append(op("aten::mm", each["ts"] + each["dur"] - 19_000, 18_000, args=inputs))
    events = [each for each in events if has_workers or each["cat"] != "dataloader_worker"]
    threads = {"intra_op": 1, "processors": 8, "idle": 6.0}
    document = {"tidy_threads": threads, "record_shapes": 1, "traceEvents": events}
    document["tidy_modelled_device"] = True  # all that a device does is recorded: nothing
    (tmp_path / "trace.json").write_text(json.dumps(document), "utf-8")
    trace = tidy.load(tmp_path / "trace.json")
    outcome = tidy.check(trace, select=["TDY410"]).outcomes["TDY410"]
    assert isinstance(outcome, Checked)
    assert bool(outcome.findings) != has_workers


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "before"), _WHERE)
def test_small_products(framework: str, before: str, tmp_path: Path) -> None:
    trace = _recorded(framework, before, _SMALL, tmp_path)
    if tidy.load(trace).info.threads:
        assert not _on(trace, processors=8, load=1.0)


def test_a_trace_that_does_not_say() -> None:
    from tidy.trace.outline import parse_outline

    trace = parse_outline("aten::mm | float[512, 512], float[512, 512]")
    outcome = tidy.check(trace, select=["TDY410"]).outcomes["TDY410"]
    assert isinstance(outcome, NotChecked)
    assert "tidy run" in outcome.remedy
