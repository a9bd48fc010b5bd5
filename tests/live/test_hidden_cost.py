"""Host time that a busy device hides is info, and says so; the same time with nothing to hide it
is a warning. Live runs on a modelled device.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..cli.command import tidy

_ON_CPU_TIME = Path(__file__).with_name("on_cpu_time.py")
_OPTIMIZER = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(12))).to("cuda")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
inputs = torch.randn(16, 16, device="cuda")
beside = torch.ones(1024, 1024, dtype=torch.float64, device="cuda")

for _ in range(8):
    model(inputs).square().mean().backward()
    {work}
    optimizer.step()
    optimizer.zero_grad()
"""
_BUSY = "for _ in range(8): beside @ beside"


def _findings(text: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "script.py").write_text(text, "utf-8")
    options = ("--framework", "runtime", "--device", "t4", "--format", "json")
    done = tidy("run", *options, _ON_CPU_TIME, "script.py", cwd=folder, OPENBLAS_NUM_THREADS="1")
    assert done.err == ""
    (report,) = json.loads(done.out)["traces"]
    found = [each for each in report["findings"] if each["code"] == "TDY601"]
    return [each for each in found if each["saving"]]  # the others are outside of the steps


def test_an_optimizer_with_nothing_to_hide_it(tmp_path: Path) -> None:
    (found,) = _findings(_OPTIMIZER.format(work="pass"), tmp_path)
    assert (found["severity"], found["saving"]["hidden"]) == ("warning", False)


def test_an_optimizer_behind_a_busy_device(tmp_path: Path) -> None:
    (found,) = _findings(_OPTIMIZER.format(work=_BUSY), tmp_path)
    assert (found["severity"], found["saving"]["hidden"]) == ("info", True)
