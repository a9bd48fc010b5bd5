"""Rules that need a device fire on live runs on a modelled one, and name the line.

Some wrong scripts run through the command, for `make soak` all; the others and corrected ones in
this process. What is exported of them holds the tree of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidy as package

from ..cli.command import tidy
from ..environment import SOAK
from ..oracle.live_tree import edges_of_trace
from .any_machine import on_any_machine
from .cases import Case
from .compute_cases import COMPUTE_CASES
from .device_cases import CASES, DeviceCase
from .optimizer_cases import OPTIMIZER_CASES
from .parallel_cases import PARALLEL_CASES
from .scripts import recorded_in_steps

_ON_CPU_TIME = Path(__file__).with_name("on_cpu_time.py")
_QUICK = ("TDY103", "TDY501")
_OF_THEIR_OWN = {"loader", "sync-item"}
_FOUND_OTHERWISE = {"own"}  # than what the first of their rule has


def _params() -> Iterator[Any]:
    """The first of each rule and of each way of it to find something, of which a few are in the
    plain suite; all for `make soak`.
    """
    seen = set[str]()
    for each in (*CASES, *COMPUTE_CASES, *OPTIMIZER_CASES, *PARALLEL_CASES):
        if each.case.code in seen and each.name not in _FOUND_OTHERWISE and not SOAK:
            continue
        is_slow = each.case.code not in _QUICK
        marks = [pytest.mark.slow] if is_slow else []
        yield pytest.param(each, marks=marks, id=each.name)
        seen.add(each.case.code)


# In this process what ends a step stands between the script's line and the optimizer's (TDY601);
# recording takes longer than a copy (TDY104); where nothing is too short to be named, lines are
# named that none would look at (TDY505); and what memory is held depends on what else ran (TDY804).
_NOT_IN_ONE_PROCESS = {"TDY104", "TDY505", "TDY601", "TDY804"}


# Of the others a few, of different rules.
_COMMAND_TOO = {
    "attention", "growing", "loader", "norm", "ping-pong", "scalars", "unfused-SGD"
}  # fmt: skip


def _is_by_command(name: str, case: Case) -> bool:
    """Return whether a wrong script runs through the command: where it must, or is named."""
    needs_it = bool(case.options) or case.code in _NOT_IN_ONE_PROCESS
    return SOAK or needs_it or name in _COMMAND_TOO


_BY_COMMAND = [each for each in _params() if _is_by_command(each.id, each.values[0].case)]
_OTHERS = [each for each in _params() if each.id not in {one.id for one in _BY_COMMAND}]


def _places(device_case: DeviceCase, folder: Path) -> list[dict[str, Any] | None]:
    """Where `tidy run` finds what the case is about."""
    options = ("--device", device_case.device, "--framework", "runtime", "--format", "json")
    script = [_ON_CPU_TIME, "script.py"] if device_case.on_cpu_time else ["script.py"]
    # Threads of a product spin while they wait for a processor, which is time of this process.
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = tidy("run", *options, *device_case.case.options, *script, cwd=folder, **one)
    assert done.err == ""
    (report,) = json.loads(done.out)["traces"]
    code = device_case.case.code
    return [each["location"] for each in report["findings"] if each["code"] == code]


@pytest.mark.parametrize("device_case", _BY_COMMAND)
def test_it_names_the_line(device_case: DeviceCase, tmp_path: Path) -> None:
    case = device_case.case
    (tmp_path / "script.py").write_text(case.wrong, "utf-8")
    found = _places(device_case, tmp_path)
    if not device_case.has_place:
        assert found == [None]
        return
    assert {(at["file"], at["line"]) for at in found} == {
        ("script.py", line) for line in case.lines_at_fault()
    }
    assert all(at["is_call_line"] for at in found)


@pytest.mark.parametrize("device_case", _OTHERS)
def test_it_names_the_line_in_one_process(device_case: DeviceCase, tmp_path: Path) -> None:
    case, script = device_case.case, tmp_path / "script.py"
    script.write_text(case.wrong, "utf-8")
    with recorded_in_steps(script, device_case.device) as prof:
        # What recording and other programs take is in these times, unlike in those of the command.
        options = {case.code: on_any_machine(case.code)}
        report = package.check(prof.trace, select=[case.code], savings="off", options=options)
    places = [each.location for each in report.findings]
    if not device_case.has_place:
        assert places == [None]
        return
    assert {at.line for at in places if at is not None} == case.lines_at_fault()
    assert all(at is not None and at.is_call_line and at.file == str(script) for at in places)


_EXAMPLES = Path(__file__).parents[2] / "examples"
_MISTAKES = {  # code -> how the line begins that it names
    "TDY101": "for batch in loader:",
    "TDY103": "inputs = batch[0].to(DEVICE)",
    "TDY104": "scores = model(",
    "TDY201": "noise = torch.randn(",
    "TDY301": "losses.append(loss.item())",
    "TDY501": "scores = model(",
    "TDY601": "optimizer.step()",
}
_MAY_BE_NAMED = {"TDY402": "scores = model("}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mistakes"), [("train_gpu.py", _MISTAKES), ("train_gpu_fixed.py", {})]
)
def test_the_examples(name: str, mistakes: dict[str, str], tmp_path: Path) -> None:
    lines = (_EXAMPLES / name).read_text("utf-8").splitlines()
    report_path = tmp_path / "report.json"
    done = tidy(
        *("run", "--device", "a100", "--format", "json", "--output", report_path),
        _EXAMPLES / name,
    )
    assert (done.code, done.err) == (int(bool(mistakes)), "")
    (report,) = json.loads(report_path.read_text("utf-8"))["traces"]
    named: dict[str, set[str]] = {}
    for found in report["findings"]:
        if found["location"] is None:  # what the whole run has in common
            continue
        assert found["location"]["is_call_line"]
        line = lines[found["location"]["line"] - 1].strip()
        named.setdefault(found["code"], set()).add(line)
    # How much of a step is launching depends on the machine.
    assert named.keys() - _MAY_BE_NAMED.keys() == mistakes.keys()
    for code, named_lines in named.items():
        (line,) = named_lines
        assert line.startswith((mistakes | _MAY_BE_NAMED)[code])
    assert report["not_checked"] == []


def _exported() -> Iterator[Any]:
    """Each third corrected script; wrong ones that leave events which no corrected one has.

    All are for `make soak`.
    """
    for number, each in enumerate(_params()):
        if SOAK or number % 3 == 0:
            name = f"{each.id}-corrected"
            yield pytest.param(*each.values, "corrected", marks=each.marks, id=name)
        if SOAK or each.id in _OF_THEIR_OWN:
            marks = [*each.marks, pytest.mark.slow]
            yield pytest.param(*each.values, "wrong", marks=marks, id=f"{each.id}-wrong")


@pytest.mark.parametrize(("device_case", "form"), list(_exported()))
def test_what_is_exported(device_case: DeviceCase, form: str, tmp_path: Path) -> None:
    case = device_case.case
    (tmp_path / "script.py").write_text(getattr(case, form), "utf-8")
    with recorded_in_steps(tmp_path / "script.py", device_case.device) as prof:
        prof.export_chrome_trace(tmp_path / "trace.json.gz")
        live = prof.trace
    read = package.load(tmp_path / "trace.json.gz")
    live.self_check()
    read.self_check()
    assert edges_of_trace(live) == edges_of_trace(read)
    assert live.forward == read.forward
    assert live.devices == read.devices
    for a, b in zip(live.dfs(), read.dfs(), strict=True):
        assert (a.name, a.device, a.stream, a.correlation) == (
            (b.name, b.device, b.stream, b.correlation)
        )
        assert a.location == b.location
    found, found_again = (
        {finding.code for finding in package.check(trace, savings="off").findings}
        for trace in (live, read)
    )
    assert found == found_again
    # That the wrong one is found is shown above: here what else the machine does is in its times.
    assert form == "wrong" or case.code not in found
