"""Where modules are made and where they become float64, which a recording notes by their calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidy.trace.made_places import header_of

from .running import record, tidy_report, write_script

_FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.oracle), "runtime"]

_MODEL = """\
import torch
from torch import nn
import torch.nn.functional as F

def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
    )

class Own(nn.Conv2d):
    def __init__(self, width):
        super().__init__(width, width, 3, padding=1)

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, padding=1)

class Wide(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        small = nn.Conv2d(2, 2, 1)
        self.first = block(2, 32)
        self.both = nn.Sequential(block(32, 2), small, nn.BatchNorm2d(2))
        self.own, self.norm = Own(2), nn.BatchNorm2d(2)
        self.scale = nn.Parameter(torch.ones(2, 1, 1))
        self.wide = Wide(1024)

    def forward(self, x):
        x = self.first(x)
        x = self.both(x)
        x = self.norm(self.own(x))
        x = (x * self.scale).reshape(-1, 1024).to(self.wide.weight.dtype)
        return self.wide(x)
"""
_TRAIN = """\
import torch
from model import Net

model = Net()
if {double}:
    model.wide.to(dtype=torch.float64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(64, 2, 8, 8)
for _ in range(12):
    optimizer.zero_grad()
    model(x).float().sum().backward()
    optimizer.step()
"""


def _recorded(framework: str, folder: Path, train: str) -> tuple[dict[str, Any], dict[int, Any]]:
    """The places in the header, and by code and line the place of the fix of each finding."""
    write_script(folder, _MODEL, "model.py")
    script = write_script(folder, train)
    recorded = record("--framework", framework, "--steps", "6", script.name, cwd=folder)
    done = tidy_report(recorded.path, "--format", "json", cwd=folder)
    found: dict[Any, Any] = {}
    for each in json.loads(done.out)["traces"][0]["findings"]:
        if each["code"] in ("TDY505", "TDY701"):
            place = each["fix_place"]
            where = place and (place["location"]["file"], place["location"]["line"])
            # Warm-up and window have findings of their own.
            found[each["code"], each["location"]["line"]] = place and (place["what"], *where)
    return recorded.trace.info.header["tidy_made_places"], found


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_a_finding_says_where_its_module_is_made(framework: str, tmp_path: Path) -> None:
    places, found = _recorded(framework, tmp_path, _TRAIN.format(double=True))
    modules = {each: place for each, place in places.items() if "optimizer" not in each}
    in_net = ["model.py", 25, "__init__"], ["model.py", 27, "__init__"]
    assert (
        modules.items()
        >= {
            "module Conv2d_0": ["model.py", 7, "block"],
            "module BatchNorm2d_0": ["model.py", 8, "block"],
            "module Sequential_0": ["model.py", 6, "block"],
            "module Conv2d_1": ["model.py", 7, "block"],
            "module Conv2d_2": in_net[0],
            "module BatchNorm2d_2": in_net[1],
            "module Sequential_1": in_net[1],
            "module Own_0": ["model.py", 13, "__init__"],
            "module Wide_0": ["model.py", 20, "__init__"],
            "float64 Wide_0": ["train.py", 6, "<module>"],
        }.items()
    )
    # The script's own class gives itself what it has.
    assert not {"module Net_0", "float64 Net_0", "float64 Conv2d_0"} & places.keys()
    assert found["TDY701", 33] == ("the Conv2d is made", "model.py", 7)
    assert found["TDY701", 34] == ("the costliest Conv2d is made", "model.py", 7)
    # What the script calls in a forward of its own is not of the constructor's making.
    assert found["TDY701", 16] is None
    assert found["TDY505", 37] == ("the Wide is made float64", "train.py", 6)


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_modules_that_a_default_makes_float64(framework: str, tmp_path: Path) -> None:
    train = "import torch\ntorch.set_default_dtype(torch.float64)\n" + _TRAIN.format(double=False)
    places, found = _recorded(framework, tmp_path, train)
    default = ["train.py", 2, "<module>"]
    assert places["float64"] == default
    assert places["float64 Wide_0"] == default
    assert found["TDY505", 37] == ("the Wide is made float64", "train.py", 2)


_PLAIN = """\
import torch
torch.set_default_dtype(torch.float64)
x, weight = torch.ones(256, 256), torch.ones(256, 256, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for _ in range(12):
    optimizer.zero_grad()
    (x @ weight).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_products_of_no_module_that_a_default_makes_float64(framework: str, tmp_path: Path) -> None:
    _, found = _recorded(framework, tmp_path, _PLAIN)
    assert found["TDY505", 7] == ("float64 is made the default", "train.py", 2)


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_a_module_that_is_converted_back_is_not_float64(framework: str, tmp_path: Path) -> None:
    train = _TRAIN.format(double=True).replace("optimizer =", "model = model.float()\noptimizer =")
    places, _ = _recorded(framework, tmp_path, train)
    assert places["module Wide_0"] == ["model.py", 20, "__init__"]
    assert not [each for each in places if each.startswith("float64")]


_SEARCHED = """\
import os
import torch
from torch import nn

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
net = nn.Sequential(nn.Linear(8, 63), nn.BatchNorm1d(63)).bfloat16()
model = nn.parallel.DistributedDataParallel(
    net,
    find_unused_parameters=True,
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.ones(8, 8, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
torch.distributed.destroy_process_group()
"""


@pytest.mark.oracle
def test_modules_around_a_model_and_sizes_in_it(tmp_path: Path) -> None:
    script = write_script(tmp_path, _SEARCHED)
    recorded = record("--steps", "4", script.name, cwd=tmp_path)
    done = tidy_report(recorded.path, "--format", "json", cwd=tmp_path)
    found = {
        (each["code"], each["fix_place"]["what"], each["fix_place"]["location"]["line"])
        for each in json.loads(done.out)["traces"][0]["findings"]
        if each["code"] in ("TDY503", "TDY906", "TDY907")
    }
    assert found == {
        ("TDY503", "the Linear is made", 7),
        ("TDY906", "the DistributedDataParallel is made", 8),
        ("TDY907", "the DistributedDataParallel is made", 8),
    }


def test_of_two_modules_with_one_identity_nothing_is_said() -> None:
    """One is freed, and the next one of its class gets its memory."""
    here, there = ["model/model.py", 3, "make"], ["model/model.py", 9, "make"]
    groups = [
        [here, None, "Linear", [7, 8]],
        [there, None, "Linear", [8]],
        [there, here, "GRU", [7]],
    ]
    header = header_of(
        {"modules": groups},
        lambda file: Path(file).name,
        {"Linear_0": 7, "Linear_1": 8, "GRU_0": 7},
    )
    assert header["tidy_made_places"] == {
        "module Linear_0": ["model.py", 3, "make"],
        "module GRU_0": ["model.py", 9, "make"],
        "float64 GRU_0": ["model.py", 3, "make"],
    }
