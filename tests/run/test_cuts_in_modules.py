"""A recording without steps that is cut while a module is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import record, tidy_report, write_script

_CALLED = """
import sys
import time
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, batch):
        batch = self.first(batch)
        time.sleep(0.02)
        return self.second(batch)

model = Model()
for name in [name for name in sys.modules if "torch.nn" in name or "runtime.nn" in name]:
    del sys.modules[name]  # the recorder has no need of them
with torch.inference_mode():
    for _ in range(30):
        model(torch.ones(2, 4))
"""


@pytest.mark.parametrize("framework", [pytest.param("torch", marks=pytest.mark.oracle), "runtime"])
def test_a_call_that_is_cut_is_one_round(framework: str, tmp_path: Path) -> None:
    """Rounds reach from one call of the outermost module to the next."""
    found = record("--framework", framework, write_script(tmp_path, _CALLED), cwd=tmp_path)
    assert len(list(found.trace.named("nn.Module: Model_0"))) > 30
    for out in (found.out, tidy_report(found.path, cwd=tmp_path).out):
        assert "29 rounds" in " ".join(out.split())
