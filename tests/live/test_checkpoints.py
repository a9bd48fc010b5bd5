"""TDY710 on PyTorch, which `tidy run` records with memory: how much more would be in use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy.finding import Checked, NotChecked

from ..run.running import record, write_script
from .cases import Case
from .checkpoint_cases import (
    CHECKPOINT_CASES,
    CHECKPOINT_LOOK_ALIKES,
    ON_PYTORCH_ALONE,
    TWO_MICRO_BATCHES,
)
from .look_alikes import LookAlike
from .scripts import recorded_by_pytorch

pytestmark = [pytest.mark.oracle, pytest.mark.slow]


_KIB = 1024
_NODE = "autograd::engine::evaluate_function: "
_IN_NODES = {"derivatives-of-derivatives": "MmBackward0", "hooks-that-scale": "aten::mul"}
_ANY_SHARE = {"TDY710": {"worth-a-word": 0}}
_OUTPUT_KIB, _HIDDEN_KIB = 128 * 64 * 4 // _KIB, 128 * 128 * 4 // _KIB
# Four blocks keep the output of a ReLU each, a reentrant checkpoint its own; the function keeps
# what it computes of twice the width, but for the product with 2.
_KEPT_KIB = {
    "checkpoints-reentrant": 4 * (_HIDDEN_KIB + _OUTPUT_KIB),
    "checkpoints-by-hooks": 4 * _HIDDEN_KIB,
    "checkpoints-of-a-function": 4 * 3 * _HIDDEN_KIB,
}


def _record(text: str, folder: Path, *options: str) -> tidy.Trace:
    script = write_script(folder, text)
    return record("--framework", "torch", *options, script.name, cwd=folder).trace


@pytest.mark.parametrize("case", [*CHECKPOINT_CASES, *ON_PYTORCH_ALONE], ids=lambda case: case.name)
def test_it_names_the_line_and_the_memory(case: Case, tmp_path: Path) -> None:
    """It adds up the memory of all blocks, whose forwards ran before the backward."""
    trace = _record(case.wrong, tmp_path)
    found = tidy.check(trace, select=["TDY710"], savings="off", options=_ANY_SHARE).findings
    lines = {each.location.line for each in found if each.location is not None}
    assert lines == case.lines_at_fault()
    kept = _KEPT_KIB[case.name]
    texts = f"takes {kept:,} KiB more", f"takes {kept / 1024:g} MiB more"
    assert all(any(text in each.message for text in texts) for each in found)


def test_micro_batches_are_not_added_up(tmp_path: Path) -> None:
    """What one micro-batch would keep is given back before the next one's forward."""
    trace = _record(TWO_MICRO_BATCHES, tmp_path)
    found = tidy.check(trace, select=["TDY710"], savings="off", options=_ANY_SHARE).findings
    assert found
    kept = _KEPT_KIB["checkpoints-reentrant"]
    assert all(f"takes {kept} KiB more" in each.message for each in found)


def test_without_stacks_it_is_not_checked(tmp_path: Path) -> None:
    trace = _record(ON_PYTORCH_ALONE[0].wrong, tmp_path, "--no-stack")
    outcome = tidy.check(trace, select=["TDY710"], savings="off").outcomes["TDY710"]
    assert isinstance(outcome, NotChecked)
    assert "stacks" in outcome.reason


@pytest.mark.parametrize("one", CHECKPOINT_LOOK_ALIKES, ids=lambda one: one.name)
def test_nothing_is_found(one: LookAlike, tmp_path: Path) -> None:
    """Nodes run something that could be a forward, in each of these."""
    script = write_script(tmp_path, one.script)
    trace = recorded_by_pytorch(script, tmp_path / "trace.json", profile_memory=True)
    inside = _IN_NODES.get(one.name, "aten::linear")
    nodes = trace.rows_named(f"{_NODE}*")
    assert any(
        np.any((nodes < row) & (row < trace.subtree_end[nodes]))
        for row in trace.rows_named(inside).tolist()
    )
    options = {} if one.name == "a-checkpoint-that-takes-little" else _ANY_SHARE
    outcome = tidy.check(trace, select=[one.code], savings="off", options=options).outcomes
    assert isinstance(outcome[one.code], Checked)
    assert outcome[one.code].findings == ()
