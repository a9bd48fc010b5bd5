"""Each rule fires on a live run of a small script, through the command, and names the line.

That it is quiet on the corrected script is in test_round_trip.py, in one process, and there each
case is tried on PyTorch, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import tidy
from ..environment import SOAK
from .call_cases import CALL_CASES
from .cases import CASES, Case
from .gradient_cases import GRADIENT_CASES
from .input_cases import INPUT_CASES

_QUICK = ("loader", "fill", "bias-Conv2d")
_ON_PYTORCH = (*_QUICK, "single-Adagrad", "transposed-copy", "collected", "forward-again-to-log")


def _params() -> Iterator[Any]:
    """All on the runtime; on PyTorch, which takes seconds to start, one of each sort of place."""
    for case in (*CASES, *GRADIENT_CASES, *INPUT_CASES, *CALL_CASES):
        quick = () if case.name in _QUICK else (pytest.mark.slow,)
        yield pytest.param(case, "runtime", marks=quick, id=f"{case.name}-runtime")
        if SOAK or case.name in _ON_PYTORCH:
            marks = (pytest.mark.oracle, *quick)
            yield pytest.param(case, "torch", marks=marks, id=f"{case.name}-torch")


def _findings(case: Case, text: str, framework: str, folder: Path) -> list[dict[str, Any]]:
    """What `tidy run` finds of the case's rule."""
    if framework == "torch":
        pytest.importorskip("torch")
    (folder / "script.py").write_text(text, "utf-8")
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
