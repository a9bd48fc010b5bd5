"""Python and preprocessing between operators, in live runs: TDY401 and TDY407 name the function.

With PyTorch TDY401 names the loop in it that takes the time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import tidy
from ..environment import SOAK

_ON_CPU_TIME = Path(__file__).with_name("on_cpu_time.py")
_SCRIPT = """\
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
inputs = torch.randn(64, 64, device=device)
modulus = 2**8191 - 1

def {name}(number, rounds):
    for _ in range(rounds):
        number = number * number % modulus
    return number

def train():
    number = 3**5000
    for step in range(8):
        number = {name}(number, {rounds})
        model(inputs * (number % 2 + 1)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

train()
"""
_FUNCTION_LINE, _LOOP_LINE = 10, 11
_LONG, _SHORT = 400, 0
_WHERE = [
    pytest.param("runtime", "a100", id="modelled"),
    pytest.param("runtime", "", id="runtime", marks=pytest.mark.slow),
    pytest.param("torch", "", id="torch", marks=pytest.mark.oracle),
]


def _found(text: str, framework: str, device: str, folder: Path) -> list[dict[str, Any]]:
    (folder / "script.py").write_text(text, "utf-8")
    options = ["--framework", framework, "--format", "json"]
    options += ["--device", device] if device else []
    script = [_ON_CPU_TIME, "script.py"] if framework == "runtime" else ["script.py"]
    done = tidy("run", *options, *script, cwd=folder, OPENBLAS_NUM_THREADS="1")
    assert done.err == ""
    (report,) = json.loads(done.out)["traces"]
    wanted = ("TDY401", "TDY407")
    return [each for each in report["findings"] if each["code"] in wanted and each["location"]]


@pytest.mark.parametrize(("framework", "device"), _WHERE)
@pytest.mark.parametrize(("name", "code"), [("churn", "TDY401"), ("tokenize", "TDY407")])
def test_it_names_the_function(
    name: str, code: str, framework: str, device: str, tmp_path: Path
) -> None:
    text = _SCRIPT.format(name=name, rounds=_LONG)
    found = _found(text, framework, device, tmp_path)
    assert [each["code"] for each in found] == [code]
    (location,) = (each["location"] for each in found)
    line = _LOOP_LINE if (code, framework) == ("TDY401", "torch") else _FUNCTION_LINE
    assert (location["file"], location["line"]) == ("script.py", line)
    assert found[0]["severity"] == "warning"


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "device"), _WHERE)
@pytest.mark.parametrize("name", ["churn", "tokenize"] if SOAK else ["tokenize"])
def test_the_same_with_little_to_do(name: str, framework: str, device: str, tmp_path: Path) -> None:
    text = _SCRIPT.format(name=name, rounds=_SHORT)
    assert _found(text, framework, device, tmp_path) == []
