"""Rules stay quiet on live runs that look like a mistake and are none."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

import tidy
from tidy import Trace
from tidy.finding import Checked

from ..environment import SOAK
from ..oracle.negative_controls import CONTROLS
from ..patterns.rules import OWN_RULES
from .call_cases import CALL_LOOK_ALIKES
from .checkpoint_cases import CHECKPOINT_LOOK_ALIKES
from .cleared_cases import CLEARED_LOOK_ALIKES
from .device_look_alikes import DEVICE_LOOK_ALIKES
from .evaluation_cases import EVALUATION_LOOK_ALIKES
from .gradient_cases import GRADIENT_LOOK_ALIKES
from .input_cases import INPUT_LOOK_ALIKES, THREAD_LOOK_ALIKES
from .look_alikes import LOOK_ALIKES, LookAlike
from .optimizer_cases import OPTIMIZER_LOOK_ALIKES
from .parallel_look_alikes import PARALLEL_LOOK_ALIKES
from .pytorch_look_alikes import PYTORCH_LOOK_ALIKES
from .scripts import recorded_by_pytorch, recorded_in_steps
from .test_several_devices import RECORDED_LOOK_ALIKES

_ON_A_CPU = (*LOOK_ALIKES, *GRADIENT_LOOK_ALIKES, *INPUT_LOOK_ALIKES)
_ON_THE_RUNTIME = (
    *(*CHECKPOINT_LOOK_ALIKES, *CLEARED_LOOK_ALIKES, *EVALUATION_LOOK_ALIKES, *THREAD_LOOK_ALIKES),
    *(*DEVICE_LOOK_ALIKES, *OPTIMIZER_LOOK_ALIKES, *PARALLEL_LOOK_ALIKES),
)
# The last have a test of their own, which records them with `tidy run`.
_ALL = (*_ON_A_CPU, *_ON_THE_RUNTIME, *PYTORCH_LOOK_ALIKES, *CALL_LOOK_ALIKES)
# Of the project's sources: tests/cli/test_suppressions.py has its look-alikes.
_OF_SOURCES = {"TDY010"}
_FEWEST = 3  # of each rule, recorded traces (tests/oracle/negative_controls.py) and these
_QUICK = ("TDY202", "TDY204")  # where something was said wrongly once


def test_each_rule_has_some() -> None:
    """A rule that is new has to be shown what looks like its mistake and is none."""
    scripts = {(one.code, one.script, one.option) for one in _ALL}
    assert len(scripts) == len({(one.code, one.name) for one in _ALL}) == len(_ALL)
    counts = Counter(code for code, each in CONTROLS.items() for _ in set(each.traces))
    counts.update(one.code for one in (*_ALL, *RECORDED_LOOK_ALIKES))
    assert counts.keys() == {rule.code for rule in OWN_RULES} - _OF_SOURCES
    assert {code: count for code, count in counts.items() if count < _FEWEST} == {}


def _named(chosen: list[LookAlike]) -> pytest.MarkDecorator:
    """A test for each of these, of which those of a few rules are in the plain suite."""
    each = [
        pytest.param(
            one, marks=() if one.code in _QUICK else pytest.mark.slow, id=f"{one.code}-{one.name}"
        )
        for one in chosen
    ]
    return pytest.mark.parametrize("one", each)


def _check(one: LookAlike, trace: Trace) -> None:
    for name, count in one.sees.items():
        assert len(trace.rows_named(name)) >= count, name
    report = tidy.check(trace, select=[one.code], name=one.option, savings="off")
    outcome = report.outcomes[one.code]
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("look_alikes") / "script.py"


@lru_cache(maxsize=1)  # what several rules look at stands one after the other
def _recorded(script: Path, text: str, device: str) -> Trace:
    script.write_text(text, "utf-8")
    with recorded_in_steps(script, device) as prof:
        return prof.trace


@_named([*_ON_A_CPU, *_ON_THE_RUNTIME])
def test_nothing_is_found(one: LookAlike, script: Path) -> None:
    _check(one, _recorded(script, one.script, one.device))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@_named([*(_ON_A_CPU if SOAK else _ON_A_CPU[::6]), *PYTORCH_LOOK_ALIKES])
def test_nothing_is_found_in_a_run_of_pytorch(one: LookAlike, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(one.script, "utf-8")
    _check(one, recorded_by_pytorch(tmp_path / "script.py", tmp_path / "trace.json"))
