"""Each rule fires on a live run of a small script, and names the line.

The first case of each fourth rule runs through the command, and the others in this process; for
`make soak` the first case of each. That it is quiet on the corrected script is in
test_round_trip.py, where cases are tried on PyTorch, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidy as package
from tidy.profiler import profile

from ..cli.command import tidy
from ..environment import SOAK
from .any_machine import on_any_machine
from .call_cases import CALL_CASES
from .cases import CASES, Case
from .gradient_cases import GRADIENT_CASES
from .input_cases import INPUT_CASES
from .scripts import by_own_time, run_on_runtime

_QUICK = ("loader", "fill", "bias-Conv2d")
_ON_PYTORCH = (*_QUICK, "single-Adagrad", "transposed-copy", "collected", "forward-again-to-log")


# What is in vain, what is done again, and Python's work on numbers take a share of the step that
# depends on the machine.
_DEPENDING = {"TDY414", "TDY704", "TDY710"}
_FIRST = {case.code: case for case in reversed((*CASES, *GRADIENT_CASES, *INPUT_CASES))}
_BY_COMMAND = [_FIRST[code] for code in (sorted(_FIRST) if SOAK else sorted(_FIRST)[::4])]
_OTHERS = [
    case
    for case in (*CASES, *GRADIENT_CASES, *INPUT_CASES)
    if case not in _BY_COMMAND and case.name not in _QUICK
]


def _params() -> Iterator[Any]:
    """On the runtime the first of some rules, and all calls, which the command alone looks at; on
    PyTorch, which takes seconds to start, one of each sort of place. For `make soak` all on both.
    """
    for case in (*CASES, *GRADIENT_CASES, *INPUT_CASES, *CALL_CASES):
        quick = () if case.name in _QUICK else (pytest.mark.slow,)
        if SOAK or case not in _OTHERS:
            yield pytest.param(case, "runtime", marks=quick, id=f"{case.name}-runtime")
        if SOAK or case.name in _ON_PYTORCH:
            marks = (pytest.mark.oracle, *quick)
            yield pytest.param(case, "torch", marks=marks, id=f"{case.name}-torch")


def _findings(case: Case, text: str, framework: str, folder: Path) -> list[dict[str, Any]]:
    """What `tidy run` finds of the case's rule."""
    if framework == "torch":
        pytest.importorskip("torch")
    (folder / "script.py").write_text(text, "utf-8")
    if case.code in _DEPENDING:
        lines = [f"{name} = {value}" for name, value in on_any_machine(case.code).items()]
        (folder / "tidy.toml").write_text("\n".join([f"[rules.{case.code}]", *lines]), "utf-8")
    options = ("--framework", framework, "--format", "json", *case.options)
    done = tidy("run", *options, "script.py", cwd=folder)
    assert done.err == ""
    (report,) = json.loads(done.out)["traces"]
    return [found for found in report["findings"] if found["code"] == case.code]


@pytest.mark.parametrize(("case", "framework"), list(_params()))
def test_it_names_the_line(case: Case, framework: str, tmp_path: Path) -> None:
    found = _findings(case, case.wrong, framework, tmp_path)
    places = {(f["location"]["file"], f["location"]["line"]) for f in found}
    assert places == {("script.py", line) for line in case.lines_at_fault()}
    assert all(f["location"]["is_call_line"] for f in found)


@pytest.mark.slow
@pytest.mark.parametrize("case", _OTHERS, ids=lambda case: case.name)
def test_it_names_the_line_in_one_process(case: Case, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(case.wrong, "utf-8")
    recorder = profile(record_shapes=True, with_stack=True, profile_memory=True)
    with by_own_time(), recorder as prof:
        run_on_runtime(script)
    options = {case.code: on_any_machine(case.code)} if case.code in _DEPENDING else {}
    found = package.check(prof.trace, select=[case.code], savings="off", options=options).findings
    places = [each.location for each in found]
    assert {at.line for at in places if at is not None} == case.lines_at_fault()
    assert all(at is not None and at.is_call_line and at.file == str(script) for at in places)
