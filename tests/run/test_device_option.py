"""`--device` of `tidy run`, and the variable TIDY_DEVICE."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .running import python, record, tidy_run, write_script

pytestmark = pytest.mark.slow  # each case starts processes

_GPU = """
import torch
from torch import nn
torch.set_float32_matmul_precision("high")
net = nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
for _ in range(4):
    optimizer.zero_grad()
    net(torch.ones(8, 64, device="cuda")).sum().backward()
    optimizer.step()
print(torch.cuda.device_count(), torch.cuda.get_device_name())
"""
_CPU = """
import torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("trained")
"""
_HOW_MANY = """
import tidy.runtime as torch
x = torch.ones(3).to("cuda" if torch.cuda.is_available() else "cpu")
print(torch.cuda.device_count(), x.device, x.sum().item())
"""
_ON_RUNTIME = ("--framework", "runtime")


def assert_one_line(err: str, *parts: str) -> None:
    (line,) = err.splitlines()
    assert line.startswith("tidy: ")
    assert "internal" not in line
    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("nonsense", "no device 'nonsense' is modelled; there are v100, t4"),
        ("a100:none", "expected 1 to 64"),
        ("a100:0", "expected 1 to 64"),
        ("a100:", "expected 1 to 64"),
        ("", "no device ''"),
    ],
)
def test_no_such_device(device: str, said: str, tmp_path: Path) -> None:
    script = write_script(tmp_path, _CPU)
    ended = tidy_run("--device", device, *_ON_RUNTIME, script, cwd=tmp_path)
    assert ended.code == 2
    assert ended.out == ""
    assert_one_line(ended.err, "--device", said)


def test_pytorch_has_the_machines_devices(tmp_path: Path) -> None:
    script = write_script(tmp_path, _CPU)
    ended = tidy_run("--device", "a100", "--framework", "torch", script, cwd=tmp_path)
    assert ended.code == 2
    assert ended.out == ""
    assert_one_line(ended.err, "--device", "--framework runtime")


@pytest.mark.slow
def test_a_script_that_leaves_the_device_alone(tmp_path: Path) -> None:
    script = write_script(tmp_path, _CPU)
    ended = tidy_run("--device", "a100", *_ON_RUNTIME, script, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("trained\n")
    assert "(modelled)" not in ended.out


def test_what_the_report_says_of_it(tmp_path: Path) -> None:
    script = write_script(tmp_path, _GPU)
    ended = record("--device", "h100:2", *_ON_RUNTIME, script, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("2 NVIDIA H100 80GB HBM3 (modelled)\n")
    text = " ".join(ended.out.split())
    assert re.search(r"NVIDIA H100 80GB HBM3 \(modelled\), \d+ steps of", text)
    assert "note: device times are modelled, not measured" in text
    assert ended.header["tidy_modelled_device"] is True
    assert [each.index for each in ended.trace.devices.values()] == [0, 1]
    assert set(ended.trace.devices_used) == {0}


@pytest.mark.slow
def test_what_json_says_of_it(tmp_path: Path) -> None:
    script = write_script(tmp_path, _GPU)
    ended = tidy_run("--device", "t4", *_ON_RUNTIME, "--format", "json", script, cwd=tmp_path)
    (report,) = json.loads(ended.out[ended.out.index("{") :])["traces"]
    assert report["device_is_modelled"] is True
    assert report["devices"] == [{"name": "Tesla T4 (modelled)", "count": 1}]


def test_the_variable_without_tidy_run(tmp_path: Path) -> None:
    script = write_script(tmp_path, _HOW_MANY)
    ended = python(script, cwd=tmp_path, TIDY_DEVICE="a100:3")
    assert (ended.code, ended.out, ended.err) == (0, "3 cuda:0 3.0\n", "")


@pytest.mark.parametrize("value", ["", None])
def test_without_the_variable(value: str | None, tmp_path: Path) -> None:
    script = write_script(tmp_path, _HOW_MANY)
    ended = python(script, cwd=tmp_path, **({} if value is None else {"TIDY_DEVICE": value}))
    assert (ended.code, ended.out, ended.err) == (0, "0 cpu 3.0\n", "")


def test_a_variable_that_makes_no_sense(tmp_path: Path) -> None:
    script = write_script(tmp_path, _HOW_MANY)
    ended = python(script, cwd=tmp_path, TIDY_DEVICE="nonsense")
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(
        "ValueError: TIDY_DEVICE=nonsense: no device 'nonsense' is modelled"
    )


@pytest.mark.slow
def test_the_option_goes_before_the_variable(tmp_path: Path) -> None:
    script = write_script(tmp_path, _HOW_MANY)
    ended = tidy_run("--device", "l4:2", *_ON_RUNTIME, script, cwd=tmp_path, TIDY_DEVICE="a100")
    assert ended.err == ""
    assert ended.out.startswith("2 cuda:0 3.0\n")


def test_a_variable_that_makes_no_sense_under_tidy_run(tmp_path: Path) -> None:
    script = write_script(tmp_path, _HOW_MANY)
    ended = tidy_run(*_ON_RUNTIME, script, cwd=tmp_path, TIDY_DEVICE="nonsense")
    assert ended.code == 2
    assert_one_line(ended.err, "TIDY_DEVICE=nonsense", "no device 'nonsense' is modelled")
