"""Exports of the profilers before Kineto are read too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Trace
from tidy.trace import Capability

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def _export(profiler: Any, path: Path) -> Trace:
    profiler.export_chrome_trace(str(path))
    trace = tidy.load(path)
    trace.self_check()
    return trace


def test_the_profiler_of_2020(tmp_path: Path) -> None:
    """A bare list of events without categories, tensors or stacks."""
    torch = pytest.importorskip("torch")
    legacy = pytest.importorskip("torch.autograd.profiler_legacy")
    with legacy.profile() as profiler:
        torch.ones(4, requires_grad=True).mul(2).sum().backward()
    trace = _export(profiler, tmp_path / "legacy.json")
    recorded = sorted(event.name for event in profiler.function_events)
    assert sorted(event.name for event in trace.dfs()) == recorded
    assert trace.capabilities == {Capability.OPS}
    assert tidy.check(trace).crashed == {}


def test_the_autograd_profiler_without_kineto(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with torch.autograd.profiler.profile(use_kineto=False, record_shapes=True) as profiler:
        torch.ones(4, requires_grad=True).mul(2).sum().backward()
    trace = _export(profiler, tmp_path / "trace.json")
    (mul,) = [event for event in trace.named("aten::mul") if event.parent is None]
    assert mul.input_shapes[0] == (4,)
    assert tidy.check(trace).crashed == {}
