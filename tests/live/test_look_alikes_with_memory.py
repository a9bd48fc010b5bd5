"""Rules stay quiet on look-alikes in PyTorch, whose memory and hooks `tidy run` records."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.finding import Checked

from ..run.running import write_script
from .cleared_cases import CLEARED_LOOK_ALIKES
from .evaluation_cases import EVALUATION_LOOK_ALIKES
from .look_alikes import LookAlike
from .scripts import recorded_by_pytorch

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

# What PyTorch records otherwise than the runtime does.
_NAMES = {
    *("attacked-inputs-after-clearing", "updated-in-a-hook", "summed-in-a-hook"),
    *("joined-with-others", "a-bank", "a-checkpoint", "statistics-of-batch-norm"),
}
_ALIKE = [each for each in (*CLEARED_LOOK_ALIKES, *EVALUATION_LOOK_ALIKES) if each.name in _NAMES]


@pytest.mark.parametrize("one", [pytest.param(each, id=each.name) for each in _ALIKE])
def test_nothing_is_found(one: LookAlike, tmp_path: Path) -> None:
    script = write_script(tmp_path, one.script)
    trace = recorded_by_pytorch(script, tmp_path / "trace.json", profile_memory=True)
    outcome = tidy.check(trace, select=[one.code], savings="off").outcomes[one.code]
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()
