"""What rules reason with: it knows no rule, and finds PyTorch's and the runtime's own code."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

import pytest

import tidy
from tidy.patterns.evidence.python.frames import EMPTY_CACHE, Owner, is_front_door, owner_by_name
from tidy.patterns.evidence.python.loops import Loop
from tidy.patterns.evidence.python.places import grouped
from tidy.patterns.examples import launch, on_gpu, steps, under
from tidy.profiler.calls import shown_path
from tidy.runtime import cuda
from tidy.trace.location import parse_frame
from tidy.trace.outline import parse_outline

from ..imports import Import, all_imports

_EVIDENCE = "tidy.patterns.evidence"
# Each shelf may import what stands before it.
_SHELVES = ("python", "device", "time", "fixes")


def _imports() -> list[Import]:
    """All that the evidence imports of tidy.patterns, at once or later."""
    of_patterns = [each for each in all_imports() if each.imported.startswith("tidy.patterns")]
    return [each for each in of_patterns if each.importer.startswith(f"{_EVIDENCE}.")]


def _shelf(module: str) -> int:
    return _SHELVES.index(module.removeprefix(f"{_EVIDENCE}.").split(".")[0])


def test_it_knows_no_rule_and_nothing_that_runs_rules() -> None:
    assert (
        Import(f"{_EVIDENCE}.device.copies", f"{_EVIDENCE}.device.launches", "load") in _imports()
    )
    assert [each for each in _imports() if not each.imported.startswith(f"{_EVIDENCE}.")] == []


def test_its_shelves_stand_in_order() -> None:
    on_shelves = [
        each for each in _imports() if each.importer.count(".") > _EVIDENCE.count(".") + 1
    ]
    assert {each.importer.split(".")[3] for each in on_shelves} == set(_SHELVES)
    assert [each for each in on_shelves if _shelf(each.imported) > _shelf(each.importer)] == []


def _frame_of(function: FunctionType) -> str:
    """The frame that the profiler writes for a function of the runtime."""
    code = function.__code__
    return f"{shown_path(code.co_filename, Path.cwd())}({code.co_firstlineno}): {code.co_name}"


@pytest.mark.parametrize(
    "function", [cuda.synchronize, cuda.Stream.synchronize, cuda.Event.synchronize]
)
def test_what_synchronises_the_runtime_is_known_wherever_it_stands(function: FunctionType) -> None:
    location = parse_frame(_frame_of(function))
    assert location is not None
    assert is_front_door(location)


def test_what_empties_the_cache_of_the_runtime_is_known_wherever_it_stands() -> None:
    assert EMPTY_CACHE.fullmatch(_frame_of(cuda.empty_cache))
    for file in ("torch/cuda/memory.py", "/opt/x/torch/accelerator/memory.py"):
        assert EMPTY_CACHE.fullmatch(f"{file}(233): empty_cache")
    for name in ("mine.py(3): empty_cache", "torch/mine.py(3): empty_cache"):
        assert not EMPTY_CACHE.fullmatch(name)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("train.py(3): train", Owner.USER),
        ("Optimizer.step#SGD.step", Owner.OPTIMIZER),
        ("torch/optim/sgd.py(3): step", Owner.OPTIMIZER),
        ("torch/cuda/amp/grad_scaler.py(3): step", Owner.GRAD_SCALER),
        ("torch/amp/grad_scaler.py(3): step", Owner.GRAD_SCALER),
        ("torch/autograd/profiler.py(3): __exit__", Owner.PROFILER),
        ("torch/nn/modules/module.py(3): _call_impl", None),
        ("aten::mm", None),
    ],
)
def test_whose_code_a_name_is(name: str, owner: Owner | None) -> None:
    assert owner_by_name(name) == owner


def test_groups_keep_the_order_in_which_things_came() -> None:
    assert grouped([3, 1, 4, 1, 5, 9], lambda number: number % 2) == [[3, 1, 1, 5, 9], [4]]
    assert grouped([], str) == []


def test_what_repeats_by_place() -> None:
    work = launch("aten::mm", "gemm 9us")
    often, once = under("train.py(3): f", "aten::item"), under("train.py(9): g", "aten::item")
    trace = parse_outline(on_gpu(steps(often, work, count=2), steps(once, count=1)))
    items = list(trace.named("aten::item"))
    (group,) = Loop(trace).by_place(items, lambda event: event)
    assert [str(event.location) for event in group] == ["train.py:3"] * 2
    places = Loop(trace).by_place(items, lambda event: event, enough=1)
    assert [len(each) for each in places] == [2, 1]


@pytest.mark.parametrize(
    ("header", "is_modelled"),
    [
        ("# tidy_modelled_device true\n# device 0 NVIDIA A100 8.0\n", True),
        ("# device 0 NVIDIA A100 (modelled) 8.0\n", True),
        ("# device 0 NVIDIA A100 8.0\n", False),
    ],
)
def test_a_modelled_device_is_told_by_the_header_or_its_name(
    header: str, is_modelled: bool
) -> None:
    work = parse_outline(header + launch("aten::mm", "gemm 9us"))
    assert work.device_is_modelled is is_modelled
    assert parse_outline(header + "aten::mm").device_is_modelled is False
    fetch = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 60us"
    loading = parse_outline(header + steps(fetch, launch("aten::mm", "gemm 9us")))
    report = tidy.check(loading, select=["TDY102"])
    assert ("TDY102" in report.not_checked) is is_modelled
