"""Recordings by `tidy run` of what a module is called with: what is said, and where nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import tidy
from tidy.finding import Checked, NotChecked

from ..environment import SOAK
from ..run.running import record, write_script
from .call_cases import CALL_CASES, CALL_LOOK_ALIKES
from .cases import Case
from .look_alikes import LookAlike
from .scripts import recorded_in_steps

pytestmark = pytest.mark.slow  # each script is a process

# Those in which PyTorch has a part: counts of writes, memory, generator, buffers, and what it
# calls again by itself. The rest is the same code for both, and PyTorch takes seconds to start: of
# these each fourth one is tried on the runtime.
_OF_PYTORCH = {
    "inputs-written-to", "arrays-written-to", "weights-written-to", "weights-exchanged", "dropout",
    "batch-norm", "checkpoint", "derivative-by-derivative",
}  # fmt: skip


def _on_both(cases: Sequence[Case] | Sequence[LookAlike]) -> pytest.MarkDecorator:
    """Those on PyTorch, some others on the runtime; all on both for `make soak`."""
    others = [one for one in cases if one.name not in _OF_PYTORCH]
    each = [
        pytest.param(one, "runtime", id=f"runtime-{one.name}")
        for one in (cases if SOAK else others[::4])
    ]
    each += [
        pytest.param(one, "torch", marks=pytest.mark.oracle, id=f"torch-{one.name}")
        for one in cases
        if SOAK or one.name in _OF_PYTORCH
    ]
    return pytest.mark.parametrize(("one", "framework"), each)


def _outcome(script: str, framework: str, folder: Path) -> tuple[tidy.Trace, Checked]:
    if framework == "torch":
        pytest.importorskip("torch")
    path = write_script(folder, script)
    trace = record("--framework", framework, path.name, cwd=folder).trace
    outcome = tidy.check(trace, select=["TDY708"], savings="off").outcomes["TDY708"]
    assert isinstance(outcome, Checked)
    return trace, outcome


@_on_both(CALL_CASES)
def test_nothing_is_left_to_say(one: Case, framework: str, tmp_path: Path) -> None:
    _, outcome = _outcome(one.corrected, framework, tmp_path)
    assert outcome.findings == ()


@_on_both(CALL_LOOK_ALIKES)
def test_nothing_is_found(one: LookAlike, framework: str, tmp_path: Path) -> None:
    trace, outcome = _outcome(one.script, framework, tmp_path)
    for name, count in one.sees.items():
        assert len(trace.rows_named(name)) >= count, name
    assert outcome.findings == ()


_WEIGHTS = next(one for one in CALL_LOOK_ALIKES if one.name == "weights-written-to")


@pytest.mark.parametrize(
    ("script", "count"), [(CALL_CASES[0].wrong, 1), (_WEIGHTS.script, 0)], ids=["again", "written"]
)
def test_on_a_device(script: str, count: int, tmp_path: Path) -> None:
    """What a device's memory holds is not looked at; that ops write to a parameter is."""
    text = script.replace("Net()", "Net().cuda()").replace("256, 64)", "256, 64).cuda()")
    path = write_script(tmp_path, text)
    options = ("--framework", "runtime", "--device", "a100")
    trace = record(*options, path.name, cwd=tmp_path).trace
    assert len(tidy.check(trace, select=["TDY708"], savings="off").findings) == count


def test_another_profiler_does_not_tell(tmp_path: Path) -> None:
    path = write_script(tmp_path, CALL_CASES[0].wrong)
    with recorded_in_steps(path) as prof:
        outcome = tidy.check(prof.trace, select=["TDY708"]).outcomes["TDY708"]
    assert isinstance(outcome, NotChecked)
    assert "tidy run" in outcome.remedy
