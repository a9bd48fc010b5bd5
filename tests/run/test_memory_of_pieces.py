"""`tidy run` keeps what PyTorch says of memory, in its own trace and in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import record, write_script

pytestmark = pytest.mark.oracle

_SCRIPT = """
import torch
weight = torch.ones(64, 64, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for step in range(8):
    optimizer.zero_grad()
    (torch.ones(8, 64) @ weight).square().mean().backward()
    optimizer.step()
"""


def test_addresses_reach_the_rules_and_the_file(tmp_path: Path) -> None:
    script = write_script(tmp_path, _SCRIPT)
    recorded = record("--framework", "torch", "--format", "json", script, cwd=tmp_path)
    (report,) = json.loads(recorded.out)["traces"]
    assert "TDY804" in report["checked"]  # without addresses it says that it cannot tell
    memory = recorded.trace.memory
    events = json.loads(recorded.path.read_text("utf-8"))["traceEvents"]
    written = [event["args"]["Addr"] for event in events if event["name"] == "[memory]"]
    assert len(written) > 20
    assert sorted(memory.address.tolist()) == sorted(written)
