"""`tidy run` on scripts that use tidy.runtime, or that say torch and mean it."""

from __future__ import annotations

import os
import re
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..environment import SOAK
from .endings import ON_THE_RUNTIME, TRAIN, check_ending
from .running import record, tidy_run, write_script

pytest.importorskip("tidy.profiler")

_TRAIN = TRAIN.format(framework="tidy.runtime")
_PLAIN = """
import sys
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
for x, y in DataLoader(data, 4):
    optimizer.zero_grad(set_to_none=False)  #! TDY603
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    t = torch.zeros(12)
    for i in range(12):
        t[i] = i  #! TDY404
print(sys.argv[1:], torch.__name__ != "torch.other")
"""


def test_steps_and_lines(tmp_path: Path) -> None:
    script = write_script(tmp_path, _TRAIN + "steps(30)")
    found = record("--steps", "5", "--seconds", "inf", script, cwd=tmp_path)
    assert found.out.startswith("trained\nat exit\n\n")
    assert (found.code, found.err) == (0, "")
    trace = found.trace
    assert [step.number for step in trace.steps] == [1, 2, 3, 4, 5]
    said = " ".join(found.out.split())
    assert "times are those of 5 lightly recorded steps, scaled to" in said
    linear = [event.location for event in trace.named("aten::linear")]
    assert len(linear) == 6
    assert {(place.line, place.is_call_line) for place in linear if place} == {(8, True)}
    frames = {name for name in trace.names if "tidy/run/" in name or "sitecustomize" in name}
    assert not frames


_QUICK = ("raise", "interrupt", "fork")


@pytest.mark.skipif(os.name == "nt", reason="signals and fork are POSIX's")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow)
        for name in ON_THE_RUNTIME
    ],
)
def test_an_ending(name: str, tmp_path: Path) -> None:
    check_ending("tidy.runtime", name, tmp_path)


_UNTIL_TWO_PIECES = """
import json
from glob import glob
from tempfile import gettempdir
def ends():
    "How many ends of steps are in the pieces that were written."
    written = glob(f"{gettempdir()}/tidy-run-{os.getppid()}-*/piece-*.json")
    return sum(len(json.load(open(each))["steps_ns"]) for each in written)
for taken in range(4, 900):
    if ends() > 1 and glob(f"{gettempdir()}/tidy-run-{os.getppid()}-*/piece-1.json"): break
    steps(1)
    time.sleep(0.01)
"""
# As it stands after a piece has been written and before the next one has begun.
_BETWEEN_PIECES = """
for begun in glob(f"{gettempdir()}/tidy-run-{os.getppid()}-*/piece-*.now"):
    if not os.path.exists(begun[:-3] + "json"): os.remove(begun)
"""
_KILL = "print(taken, ends(), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize("between", ["", _BETWEEN_PIECES], ids=["recording", "between"])
def test_killed(between: str, tmp_path: Path) -> None:
    """The script is killed when two pieces or more were written: what is in them is not lost."""
    script = write_script(tmp_path, _TRAIN + _UNTIL_TWO_PIECES + between + _KILL)
    found = record("--warmup", "0", "--steps", "1000", script, cwd=tmp_path)
    assert (found.code, found.err) == (128 + signal.SIGKILL, "")
    said, said_before, empty = found.out.split("\n")[:3]
    assert (said, empty) == ("trained", "")
    recorded = [step.number for step in found.trace.steps]
    # A piece may be written between the two.
    taken, ended = map(int, said_before.split())
    assert ended <= len(recorded) <= taken
    assert recorded == list(range(len(recorded)))
    said = f"ended by SIGKILL; what ran after step {len(recorded) - 1} is lost"
    assert said in " ".join(found.out.split())


def test_torch_by_another_name(tmp_path: Path) -> None:
    """A plain PyTorch script on the runtime, with findings on their lines."""
    script = write_script(tmp_path, _PLAIN)
    options = ("--framework", "runtime", "--fail-on", "info")
    found = record(*options, script, "a", cwd=tmp_path)
    assert found.err == ""
    assert found.code == 1
    assert found.out.startswith("['a'] True\n")
    for number, line in enumerate(script.read_text("utf-8").splitlines(), 1):
        code = line.partition("#! ")[2]
        if code:
            assert re.search(rf"{code} .*\n  train\.py:{number} ", found.out)


_OFFER = "not in tidy.runtime (docs/runtime.md lists what is); --framework torch runs on PyTorch\n"


_LACKS = [
    ("torch.no_such_function(x)", "torch.no_such_function"),
    ("x.no_such_method()", "torch.Tensor.no_such_method"),
    ("import torch.fx", "torch.fx"),
    ("from torch import nested", "torch.nested"),
    ("torch.nn.NoSuchLayer(3)", "torch.nn.NoSuchLayer"),
    ("from torch.nn import NoSuchLayer", "torch.nn.NoSuchLayer"),
    ("from torch.utils.mobile_optimizer import Lint", "torch.utils.mobile_optimizer"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "missing"), _LACKS if SOAK else _LACKS[:4])
def test_what_the_runtime_lacks(line: str, missing: str, tmp_path: Path) -> None:
    text = f"import torch\nx = torch.ones(3)\ndef f():\n    {line}\nf()\n"
    script = write_script(tmp_path, text)
    found = tidy_run("--framework", "runtime", script, cwd=tmp_path)
    assert found.code == 1
    assert found.err == f"tidy: train.py:4: {missing} is {_OFFER}"


_LACKING = """
import torch
import torch.nn as nn; torch.ones(3)
from torch.nn import functional as F, NoSuchLayer
from torch.no_such_module import Thing
print("not reached")
"""
_RUNS = """
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
if torch.ones(1).sum() < 0:
    nn.NoSuchLayer(3), torch.no_such.deeper(4), nn.Linear(2, 2).no_such, torch.nn.functional.nope
    torch.no_such.other
print("trained", torch.nn.Linear.__name__, torch.utils.data.DataLoader.__name__)
"""


@pytest.mark.slow
def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    script = write_script(tmp_path, _LACKING)
    found = tidy_run("--framework", "runtime", script, cwd=tmp_path)
    assert found.code == 1
    assert found.err == (
        "tidy: train.py:4: torch.nn.NoSuchLayer, train.py:5: torch.no_such_module are " + _OFFER
    )


@pytest.mark.slow
def test_what_is_missing_is_said_before_the_script_trains(tmp_path: Path) -> None:
    script = write_script(tmp_path, _RUNS)
    found = tidy_run("--framework", "runtime", script, cwd=tmp_path)
    assert found.out.startswith("trained Linear DataLoader\n")
    assert found.err == (
        "tidy: train.py:6: torch.nn.NoSuchLayer, train.py:6: torch.nn.functional.nope,"
        " train.py:6: torch.no_such are " + _OFFER
    )


def test_other_errors_are_pythons_to_tell(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import torch\nx = torch.ones(3)\n1 / 0\n")
    found = tidy_run("--framework", "runtime", script, cwd=tmp_path)
    assert found.code == 1
    lines = found.err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{script}", line 3, in <module>'
    assert lines[-1] == "ZeroDivisionError: division by zero"


_OWN_PROFILER = """
import torch
weight = torch.ones(3, 3, requires_grad=True)
(weight @ weight).sum().backward()
with torch.profiler.profile(record_shapes=True) as prof:
    (weight @ weight).sum().backward()
print(sum(row.count for row in prof.key_averages() if row.key == "aten::mm"))
with torch.autograd.profiler.profile() as prof:
    weight.exp()
print(prof.total_average().count)
"""


def test_a_profiler_of_the_scripts_own(tmp_path: Path) -> None:
    script = write_script(tmp_path, _OWN_PROFILER)
    found = record("--framework", "runtime", script, cwd=tmp_path)
    assert found.out.startswith("3\n1\n")
    assert (found.code, found.err) == (0, "")
    assert "started a profiler of its own" in found.out
    assert [event.location.line for event in found.trace.named("aten::matmul")] == [4]


@pytest.mark.skipif(find_spec("torch") is not None, reason="there is a torch")
def test_without_torch_it_says_what_would_do(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import torch\ntorch.ones(3).exp()\n")
    found = tidy_run(script, cwd=tmp_path)
    assert found.code == 1
    assert found.err.splitlines()[-1].startswith(f"tidy: {script}: this Python has no torch")
    assert tidy_run("--framework", "runtime", script, cwd=tmp_path).code == 0
