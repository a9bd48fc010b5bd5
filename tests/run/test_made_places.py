"""Where loaders, optimizers and modes are made, which a recording notes beside their uses."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.run.child.patches import Patches

from .running import record, tidy_report, write_script

_FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.oracle), "runtime"]

_DATA = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

class Mine(DataLoader):
    pass

def loader(count):
    return Mine(
        TensorDataset(torch.ones(count, 8)),
        batch_size=4,
    )
"""
_TRAIN = """\
import torch
from torch import nn
from data import loader

if True:
    torch.autograd.set_detect_anomaly(True)
model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(6)])
optimizer = torch.optim.Adam(
    model.parameters(),
    lr=0.01,
)
batches = loader(80)

def train():
    for (inputs,) in batches:
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()

train()
"""
_TWO = """\
from torch.utils.data import DataLoader, TensorDataset
other = DataLoader(TensorDataset(torch.ones(2, 8)))

def train():
    for each in (other, batches):
        for (inputs,) in each:
            model(inputs)
            torch.optim.SGD(model.parameters(), lr=0.1).step()

train()
"""


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_a_report_says_where_the_fix_is_made(framework: str, tmp_path: Path) -> None:
    write_script(tmp_path, _DATA, "data.py")
    script = write_script(tmp_path, _TRAIN)
    recorded = record("--framework", framework, script.name, cwd=tmp_path)
    places = recorded.trace.info.header["tidy_made_places"]
    assert {each: place for each, place in places.items() if "module" not in each} == {
        "anomaly mode": ["train.py", 6, "<module>"],
        "loader train.py:15": ["data.py", 8, "loader"],
        "optimizer train.py:18": ["train.py", 8, "<module>"],
    }
    for said in (recorded.out, tidy_report(recorded.path, cwd=tmp_path).out):
        words = " ".join(said.split())
        assert "in the training process; the loader is made at data.py:8" in words
        assert "one tensor at a time; the optimizer is made at train.py:8" in words
        assert "it is turned on at train.py:6" in words


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_nothing_is_said_of_one_of_several(framework: str, tmp_path: Path) -> None:
    write_script(tmp_path, _DATA, "data.py")
    script = write_script(tmp_path, _TRAIN.partition("\ndef train")[0] + "\n" + _TWO)
    header = record("--framework", framework, script.name, cwd=tmp_path).trace.info.header
    places = header["tidy_made_places"]
    assert [each for each in places if each.startswith("loader")] == ["loader train.py:19"]
    assert places["loader train.py:19"] is None
    # An optimizer that is made where it steps has no other place.
    assert places["optimizer train.py:21"] == ["train.py", 21, "train"]


_HALF = """\
import torch
from torch import nn

layers = [nn.Linear(160, 160) for _ in range(8)]
model = nn.Sequential(*layers)
never = torch.optim.SGD(layers[5].parameters(), lr=0.01)
if hasattr(nn, "LazyLinear"):
    lazy = torch.optim.SGD(nn.LazyLinear(5).parameters(), lr=0.01)
later = torch.optim.SGD([nn.Parameter(torch.ones(3))], lr=0.01)
optimizer = torch.optim.Adam([*layers[6].parameters(), *layers[7].parameters()])
del later
for _ in range(20):
    optimizer.zero_grad()
    model(torch.ones(256, 160)).square().sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("framework", _FRAMEWORKS)
def test_parameters_are_noted_with_the_optimizers_that_there_are(
    framework: str, tmp_path: Path
) -> None:
    """All layers have the same shapes: counts alone tell how many are trained."""
    script = write_script(tmp_path, _HALF)
    recorded = record("--framework", framework, script.name, cwd=tmp_path)
    assert sorted(recorded.trace.info.header["tidy_parameters"]) == [[[160], 3], [[160, 160], 3]]
    # Calls of a backward, which tell how often a parameter has a gradient, are in PyTorch's alone.
    if framework == "torch":
        # Which share of a step they are depends on the machine.
        any_share = {"TDY704": {"worth-a-word": 0}}
        found = tidy.check(recorded.trace, select="TDY704", options=any_share).findings
        said = "10 gradients are computed for parameters that no optimizer updates"
        assert any(said in each.message for each in found)


def test_a_function_that_is_watched_shows_its_parameters() -> None:
    class Loader:
        def __init__(self, data: list[int], *, size: int = 1) -> None:
            self.given = data, size

    class Own(Loader):
        pass

    before = [inspect.signature(each) for each in (Loader, Own, Loader.__init__)]
    made: list[Any] = []
    patches = Patches()
    patches.call_first(Loader, "__init__", made.append)
    own = Own([1], size=2)
    assert own.given == ([1], 2)
    assert made == [own]
    assert [inspect.signature(each) for each in (Loader, Own, Loader.__init__)] == before
    assert list(inspect.signature(own.__init__).parameters) == ["data", "size"]  # type: ignore[misc]
    Loader.__init__(own, [3])  # whose call it is is not known before its arguments are
    assert own.given == ([3], 1)
    assert made == [own]
    patches.undo()
    assert [inspect.signature(each) for each in (Loader, Own, Loader.__init__)] == before
