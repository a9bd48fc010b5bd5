"""What PyTorch records of compilation (TDY001, 002), garbage (405), lists and arrays (107, 409)."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidy
from tidy import Severity

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
_STEPS = 6


def _findings(step: Callable[[int], Any], code: str, folder: Path) -> list[tidy.Finding]:
    """What is found in steps of a run with Python stacks."""
    from torch.profiler import ProfilerActivity, profile, schedule

    step(0)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=0, active=_STEPS),
        record_shapes=True,
        with_stack=True,
    ) as recorded:
        for number in range(_STEPS):
            step(number)
            if number == _STEPS - 1:
                break
            recorded.step()
    recorded.export_chrome_trace(str(folder / "trace.json"))
    report = tidy.check(tidy.load(folder / "trace.json"), select=[code])
    assert report.crashed == {}
    return [each for each in report.findings if each.in_window]


@pytest.fixture
def torch() -> Any:
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    return torch


@pytest.mark.parametrize("grows", [True, False])
def test_shapes_that_change_compile_anew(torch: Any, grows: bool, tmp_path: Path) -> None:
    layer = torch.nn.Linear(8, 8)
    compiled = torch.compile(lambda x: layer(x).relu().sum(), backend="eager", dynamic=False)
    found = _findings(lambda n: compiled(torch.ones(4 + n * grows, 8)), "TDY001", tmp_path)
    assert bool(found) is grows
    for each in found:
        assert each.severity == Severity.WARNING
        # Those of the steps that count: a step that took unlike the others is left out.
        shapes = [int(rows) for rows in re.findall(r"\((\d+), 8\)", each.message)]
        assert shapes == sorted(set(shapes))
        assert len(shapes) >= 2
        assert set(shapes) <= {5, 6, 7, 8, 9}


@pytest.mark.parametrize("breaks", [True, False])
def test_a_graph_that_breaks(torch: Any, breaks: bool, tmp_path: Path) -> None:
    def forward(x: Any) -> Any:
        x = x * 2
        if breaks:
            sys.stdout.write("")
        return x + 1

    line = forward.__code__.co_firstlineno + 3
    compiled = torch.compile(forward, backend="eager")
    found = _findings(lambda _: compiled(torch.ones(4, 8)), "TDY002", tmp_path)
    places = [
        (Path(each.location.file).name, each.location.line) for each in found if each.location
    ]
    assert places == [(Path(__file__).name, line)] * breaks


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_that_is_collected_in_each_step(torch: Any, collects: bool, tmp_path: Path) -> None:
    looked_through = [[number] for number in range(100_000)]  # which takes a pass its time

    def step(_: int) -> None:
        torch.ones(64, 64).relu()
        if collects:
            gc.collect()

    found = _findings(step, "TDY405", tmp_path)
    # A step that took unlike the others is left out.
    steps = tidy.load(tmp_path / "trace.json").window.steps
    assert [each.count for each in found] == [len(steps)] * collects
    assert len(steps) >= 2
    del looked_through


@pytest.mark.parametrize(
    ("read", "made", "is_found"),
    [
        (lambda x: x.tolist(), lambda torch, values: torch.tensor(values), True),
        (lambda x: x.numpy(), lambda torch, values: torch.tensor(values * 2), True),
        (lambda x: x.numpy(), lambda torch, values: torch.from_numpy(values * 2), False),
        (lambda x: x.tolist(), lambda torch, values: torch.tensor(values[:-1]), False),
        (lambda x: x * 2, lambda torch, values: torch.ones(values.shape), False),
    ],
    ids=["list", "numpy", "from-numpy", "other-length", "no-list"],
)
def test_there_and_back(torch: Any, read: Any, made: Any, is_found: bool, tmp_path: Path) -> None:
    values = torch.ones(32, 16)
    found = _findings(lambda _: made(torch, read(values)).sum(), "TDY409", tmp_path)
    assert bool(found) is is_found


@pytest.mark.parametrize("length", [8, 900])
@pytest.mark.parametrize("as_one", [False, True])
def test_a_batch_of_lists(torch: Any, length: int, as_one: bool, tmp_path: Path) -> None:
    """Of long lists the numbers take longer than the tensors."""
    lists = [[float(number)] * length for number in range(48)]

    def step(_: int) -> None:
        batch = torch.tensor(lists) if as_one else torch.stack([torch.tensor(x) for x in lists])
        batch.sum()

    found = _findings(step, "TDY107", tmp_path)
    assert bool(found) is (length == 8 and not as_one)
    assert all(each.severity == Severity.WARNING for each in found)


def test_a_batch_of_arrays(torch: Any, tmp_path: Path) -> None:
    """`torch.tensor` of a list of arrays would be slower than what is found."""
    arrays = [numpy.arange(8.0) + number for number in range(48)]
    found = _findings(lambda _: torch.stack([torch.tensor(x) for x in arrays]), "TDY107", tmp_path)
    assert [each.message for each in found] == [
        "48 arrays become tensors one by one, to be stacked"
    ]
    assert all("numpy.stack" in each.fix for each in found)
