"""Rules about the work of a GPU have nothing to say of runs without one."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.finding import NotApplicable, NotChecked

from ..conftest import ReadEvents
from ..oracle.shared import ON_A_CPU, load, report
from ..trace.kineto import op

_OF_A_GPU = (
    "TDY102",
    "TDY202",
    "TDY304",
    "TDY402",
    "TDY602",
    "TDY801",
    "TDY802",
    "TDY901",
    "TDY903",
)


def test_padding_is_for_tensor_cores(read_events: ReadEvents) -> None:
    """What has none is not told to pad, but what padding is for."""
    inputs = {"Input type": ["c10::Half"] * 2, "Input Dims": [[64, 63], [63, 64]]}
    trace = read_events([op("aten::mm", 0, 90, args=inputs)])
    (found,) = tidy.check(trace, select=["TDY503"]).findings
    assert found.fix.startswith("on Tensor Cores: pad the sizes")
    assert "Tensor Cores alone" in found.correction.why_no_edit


@pytest.mark.parametrize("path", ON_A_CPU, ids=lambda path: path.name)
def test_nothing_is_said_of_a_cpu_run(path: Path) -> None:
    """The profiler lists the devices it knows, here none; without the list it cannot tell."""
    outcomes = {code: report(path).outcomes[code] for code in _OF_A_GPU}
    wanted = NotApplicable if load(path).is_cpu_run else NotChecked
    silent = {code for code, outcome in outcomes.items() if isinstance(outcome, wanted)}
    if len(load(path).rows_named("enumerate(DataLoader)#_Multi*")):
        # What its workers did would tell; here nobody recorded it.
        assert isinstance(outcomes["TDY102"], NotChecked)
        silent.add("TDY102")
    assert silent == set(_OF_A_GPU)
