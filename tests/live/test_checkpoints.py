"""TDY710 on PyTorch, which `tidy run` records with memory: how much more would be in use."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy

from ..run.running import record, write_script
from .cases import Case
from .checkpoint_cases import CHECKPOINT_CASES, ON_PYTORCH_ALONE

pytestmark = [pytest.mark.oracle, pytest.mark.slow]


@pytest.mark.parametrize("case", [*CHECKPOINT_CASES, *ON_PYTORCH_ALONE], ids=lambda case: case.name)
def test_it_names_the_line_and_the_memory(case: Case, tmp_path: Path) -> None:
    """Four blocks keep the output of a ReLU each, of 128 x 128 float32; a reentrant one its own."""
    script = write_script(tmp_path, case.wrong)
    trace = record("--framework", "torch", script.name, cwd=tmp_path).trace
    options = {"TDY710": {"worth-a-word": 0}}
    found = tidy.check(trace, select=["TDY710"], savings="off", options=options).findings
    lines = {each.location.line for each in found if each.location is not None}
    assert lines == case.lines_at_fault()
    outputs = 4 * 128 * 64 * 4 * ("reentrant" in case.name)
    nbytes = 4 * 128 * 128 * 4 + outputs
    assert all(f"takes {nbytes // 1024:,} KiB more" in each.message for each in found)
