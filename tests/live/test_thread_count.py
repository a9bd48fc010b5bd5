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
    document["tidy_threads"] |= said
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
    assert 1 <= said["processors"] <= (os.cpu_count() or 1)
    assert _on(trace, processors=8, load=1.0)
    assert not _on(trace, processors=8, load=9.0)
    assert not _on(trace, processors=1, load=1.0)
    assert not _on(trace, processors=8, load=1.0, intra_op=8)
    assert _on(trace, processors=4, load=1.0, intra_op=8)
    assert _on(trace, processors=4, load=1.0, processes=8)


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
